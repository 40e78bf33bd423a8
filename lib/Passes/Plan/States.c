//===- States.c - Where a value lies along one mesh axis ----------*- C -*-===//

#include "States.h"

#include "../Core/Numbers.h"

void shardStatesFill(ShardState *states, int32_t n, ShardState state) {
  for (int32_t i = 0; i < n; ++i)
    states[i] = state;
}

/// The first of the `span` + 1 factors from `head` in a port, if they stand together in one
/// dimension there; -1: none of them is in it; -2: otherwise.
static int32_t findRun(const ShardRules *rules, const ShardPort *port, int32_t head, int32_t span) {
  const ShardValueInfo *value = &rules->values[port->value];
  int32_t first = -1, found = 0;
  for (int32_t a = 0; a < value->nAtoms; ++a) {
    int32_t f = port->factors[a];
    if (f < head || f > head + span)
      continue;
    if (found == 0 && f == head)
      first = a;
    else if (found == 0 || f != head + found || a != first + found ||
             value->atoms[a].dim != value->atoms[first].dim)
      return -2;
    ++found;
  }
  return found == 0 ? -1 : found == span + 1 ? first : -2;
}

ShardState shardStateOfChoice(const ShardRules *rules, const ShardPort *port, ShardState choice) {
  int32_t head = shardStateHead(choice), span = shardStateSpan(choice);
  if (span) {
    int32_t first = findRun(rules, port, head, span);
    return first < 0 ? SHARD_STATE_WHOLE : shardStateMake(first, span);
  }
  int32_t n = rules->values[port->value].nAtoms;
  for (int32_t a = 0; a < n; ++a)
    if (port->factors[a] == head)
      return (ShardState)a;
  return SHARD_STATE_WHOLE;
}

ShardState shardChoiceOfState(const ShardRules *rules, const ShardOpRule *rule,
                              const ShardPort *port, ShardState state) {
  int32_t head = port->factors[shardStateHead(state)], span = shardStateSpan(state);
  if (head < 0)
    return SHARD_CHOICE_NONE;
  if (!span)
    return (ShardState)head;
  if (!shardStateCanBe(head, span) || head + span >= rule->nFactors ||
      findRun(rules, port, head, span) != shardStateHead(state))
    return SHARD_CHOICE_NONE;
  for (int32_t k = 1; k <= span; ++k)
    if (rule->factors[head + k].kind != rule->factors[head].kind ||
        rule->factors[head + k].loop != rule->factors[head].loop ||
        rule->factors[head + k].combiner != rule->factors[head].combiner)
      return SHARD_CHOICE_NONE;
  for (int32_t p = 0; p < rule->nOperands; ++p)
    if (findRun(rules, &rule->operands[p], head, span) == -2)
      return SHARD_CHOICE_NONE;
  for (int32_t r = 0; r < rule->nResults; ++r)
    if (findRun(rules, &rule->results[r], head, span) == -2)
      return SHARD_CHOICE_NONE;
  return shardStateMake(head, span);
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// How many steps a state splits.
static int64_t stateSize(const ShardValueInfo *value, ShardState state) {
  int64_t size = 1;
  for (int32_t a = shardStateHead(state), end = a + shardStateSpan(state); a <= end; ++a)
    size *= value->atoms[a].size;
  return size;
}

static int64_t ceilDivide(int64_t a, int64_t b) { return a / b + (a % b != 0); }

int64_t shardStateLocalBytes(const ShardValueInfo *value, int64_t bytes, int64_t n,
                             ShardState state) {
  if (state < 0)
    return bytes / n;
  int64_t size = stateSize(value, state);
  return size % n == 0 ? bytes / n : bytes * (size / n + 1) / size;
}

/// Of rank i, the steps that it holds out of `size`.
static int64_t heldSteps(int64_t size, int64_t n, int64_t i) {
  int64_t c = ceilDivide(size, n), begin = i * c;
  return begin >= size ? 0 : size - begin < c ? size - begin : c;
}

/// The part of a value, as a fraction of `*outParts`, that lies on another rank than it should.
static int64_t misplacedParts(const ShardValueInfo *value, int64_t n, ShardState from,
                              ShardState to, int64_t *outParts) {
  int32_t fromHead = shardStateHead(from), fromEnd = fromHead + shardStateSpan(from) + 1;
  int32_t toHead = shardStateHead(to), toEnd = toHead + shardStateSpan(to) + 1;
  int64_t fromSize = stateSize(value, from), toSize = stateSize(value, to), misplaced = 0;
  if (fromEnd <= toHead || toEnd <= fromHead) { // they do not overlap: any combination occurs
    *outParts = fromSize * toSize;
    for (int64_t i = 0; i < n; ++i)
      misplaced += heldSteps(toSize, n, i) * (fromSize - heldSteps(fromSize, n, i));
    return misplaced;
  }
  int32_t low = fromHead < toHead ? fromHead : toHead, high = fromEnd > toEnd ? fromEnd : toEnd;
  int64_t fromBlock = ceilDivide(fromSize, n), toBlock = ceilDivide(toSize, n);
  // In units of the last atom that no block cuts.
  int64_t unit = value->atoms[high - 1].size;
  if (fromEnd == high)
    unit = shardGreatestDivisor(unit, fromBlock);
  if (toEnd == high)
    unit = shardGreatestDivisor(unit, toBlock);
  int64_t parts = 1, fromMinor = 1, toMinor = 1;
  for (int32_t a = low; a < high; ++a) {
    int64_t size = a == high - 1 ? value->atoms[a].size / unit : value->atoms[a].size;
    parts *= size;
    fromMinor *= a >= fromEnd ? size : 1;
    toMinor *= a >= toEnd ? size : 1;
  }
  if (fromEnd == high)
    fromSize /= unit, fromBlock /= unit;
  if (toEnd == high)
    toSize /= unit, toBlock /= unit;
  for (int64_t i = 0; i < parts; ++i)
    misplaced += i / fromMinor % fromSize / fromBlock != i / toMinor % toSize / toBlock;
  *outParts = parts;
  return misplaced;
}

int64_t shardStateReshardBytes(const ShardValueInfo *value, int64_t n, ShardState from,
                               ShardState to) {
  if (from == to || from == SHARD_STATE_WHOLE)
    return 0;
  int64_t bytes = value->bytes, part = shardStateLocalBytes(value, bytes, n, from) * (n - 1);
  if (from == SHARD_STATE_PARTIAL)
    return to == SHARD_STATE_WHOLE ? 2 * part : shardStateLocalBytes(value, bytes, n, to) * (n - 1);
  if (to < 0)
    return part;
  if (from < SHARD_STATE_BLOCK && to < SHARD_STATE_BLOCK)
    return shardStateLocalBytes(value, part, n, to); // all-to-all
  int64_t parts, misplaced = misplacedParts(value, n, from, to, &parts);
  return bytes / parts * misplaced / n;
}
