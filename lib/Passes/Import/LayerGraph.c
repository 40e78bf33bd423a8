//===- LayerGraph.c - A function body as a graph of tokens --------*- C -*-===//

#include "LayerGraph.h"

#include "../Core/IR.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <stdlib.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// Interning: a vector of words gets a dense number, equal vectors the same one.
//===----------------------------------------------------------------------===//

typedef struct Interned {
  const uintptr_t *words;
  size_t nWords;
  uint64_t hash;
} Interned;

typedef struct Interner {
  ShardArena *arena;
  Interned *entries;
  size_t nEntries, entryCapacity;
  int32_t *slots; // entry + 1, 0 when free
  size_t nSlots;
  uintptr_t *words; // the vector being built
  size_t nWords, wordCapacity;
} Interner;

static void push(Interner *in, uintptr_t word) {
  if (in->nWords == in->wordCapacity)
    in->words = shardArenaGrow(in->arena, in->words, in->nWords, &in->wordCapacity, in->nWords + 1,
                               sizeof *in->words);
  in->words[in->nWords++] = word;
}

static uint64_t hashWords(const uintptr_t *words, size_t nWords) {
  uint64_t hash = nWords;
  for (size_t i = 0; i < nWords; ++i) { // splitmix64's finaliser
    hash = (hash ^ (uint64_t)words[i]) + UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ (hash >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ (hash >> 27)) * UINT64_C(0x94d049bb133111eb);
    hash ^= hash >> 31;
  }
  return hash;
}

static void rehash(Interner *in) {
  in->nSlots = in->nSlots ? in->nSlots * 2 : 256;
  in->slots = SHARD_ARENA_ARRAY(in->arena, int32_t, in->nSlots);
  for (size_t i = 0; i < in->nEntries; ++i) {
    size_t slot = in->entries[i].hash & (in->nSlots - 1);
    while (in->slots[slot])
      slot = (slot + 1) & (in->nSlots - 1);
    in->slots[slot] = (int32_t)i + 1;
  }
}

/// The number of the words pushed since the last call; empties the vector.
static int32_t intern(Interner *in) {
  if (2 * (in->nEntries + 1) > in->nSlots)
    rehash(in);
  uint64_t hash = hashWords(in->words, in->nWords);
  size_t slot = hash & (in->nSlots - 1);
  for (; in->slots[slot]; slot = (slot + 1) & (in->nSlots - 1)) {
    const Interned *entry = &in->entries[in->slots[slot] - 1];
    if (entry->hash == hash && entry->nWords == in->nWords &&
        (in->nWords == 0 || memcmp(entry->words, in->words, in->nWords * sizeof *in->words) == 0)) {
      in->nWords = 0;
      return in->slots[slot] - 1;
    }
  }
  uintptr_t *copy = SHARD_ARENA_ARRAY(in->arena, uintptr_t, in->nWords + 1);
  if (in->nWords)
    memcpy(copy, in->words, in->nWords * sizeof *copy);
  if (in->nEntries == in->entryCapacity)
    in->entries = shardArenaGrow(in->arena, in->entries, in->nEntries, &in->entryCapacity,
                                 in->nEntries + 1, sizeof *in->entries);
  in->entries[in->nEntries] = (Interned){copy, in->nWords, hash};
  in->slots[slot] = (int32_t)++in->nEntries;
  in->nWords = 0;
  return (int32_t)in->nEntries - 1;
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

typedef struct Builder {
  ShardArena *arena;
  ShardLayerGraph *graph;
  Interner *interner;
  ShardPointerMap *values; // top-level values -> value index
  ShardPointerMap *nested; // values inside regions -> number within their top-level op
  int64_t nNested;
  int32_t *operands; // of the op at hand
  size_t nOperands, operandCapacity;
  ShardPointerMap *namesOf; // op name -> index of its attributes' names
  struct AttributeNames *names;
  size_t nNames, namesCapacity;
} Builder;

/// Attributes of other tools carry no meaning here; ours are user annotations, and two layers that
/// are annotated differently are different. Inherent attributes have no dot in their names.
static bool isPartOfToken(MlirStringRef name) {
  if (memchr(name.data, '.', name.length) == NULL)
    return true;
  return shardNameHasDialect(name, "spmd") && !shardStringIs(name, "spmd.origin");
}

/// Each question for all attributes of an op with properties makes MLIR build a dictionary, one by
/// name does not. So the names are kept with the op's name; ops that have as many have the same
/// ones as a rule.
typedef struct AttributeNames {
  intptr_t count;
  MlirIdentifier *names;
} AttributeNames;

static void pushAttributes(Builder *b, MlirOperation op) {
  intptr_t count = mlirOperationGetNumAttributes(op);
  if (count == 0)
    return;
  const void *key = mlirOperationGetName(op).ptr;
  int64_t at = shardPointerMapGetOr(b->namesOf, key, -1);
  if (at >= 0 && b->names[at].count == count) {
    const AttributeNames *known = &b->names[at];
    size_t begin = b->interner->nWords;
    intptr_t i = 0;
    for (; i < count; ++i) {
      MlirAttribute attribute =
          mlirOperationGetAttributeByName(op, mlirIdentifierStr(known->names[i]));
      if (mlirAttributeIsNull(attribute))
        break;
      if (!isPartOfToken(mlirIdentifierStr(known->names[i])))
        continue;
      push(b->interner, (uintptr_t)known->names[i].ptr);
      push(b->interner, (uintptr_t)attribute.ptr);
    }
    if (i == count)
      return;
    b->interner->nWords = begin;
  }
  AttributeNames fresh = {count, SHARD_ARENA_ARRAY(b->arena, MlirIdentifier, count)};
  for (intptr_t i = 0; i < count; ++i) {
    MlirNamedAttribute named = mlirOperationGetAttribute(op, i);
    fresh.names[i] = named.name;
    if (!isPartOfToken(mlirIdentifierStr(named.name)))
      continue;
    push(b->interner, (uintptr_t)named.name.ptr);
    push(b->interner, (uintptr_t)named.attribute.ptr);
  }
  if (b->nNames == b->namesCapacity)
    b->names = shardArenaGrow(b->arena, b->names, b->nNames, &b->namesCapacity, b->nNames + 1,
                              sizeof *b->names);
  shardPointerMapSet(b->namesOf, key, (int64_t)b->nNames);
  b->names[b->nNames++] = fresh;
}

/// Appends an operand that is defined outside the regions of the op at hand.
static void addOperand(Builder *b, MlirValue value) {
  int64_t index = shardPointerMapGetOr(b->values, value.ptr, -1);
  if (b->nOperands == b->operandCapacity)
    b->operands = shardArenaGrow(b->arena, b->operands, b->nOperands, &b->operandCapacity,
                                 b->nOperands + 1, sizeof *b->operands);
  b->operands[b->nOperands++] = (int32_t)index;
  int32_t node = b->graph->values[index].node;
  bool leaf = node >= 0 && b->graph->nodes[node].kind == SHARD_LAYER_LEAF;
  push(b->interner, (uintptr_t)mlirValueGetType(value).ptr);
  push(b->interner, leaf ? (uintptr_t)b->graph->nodes[node].token + 1 : 0);
}

static void pushNested(Builder *b, MlirOperation op) {
  for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); ++r) {
    MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
    for (; !mlirBlockIsNull(block); block = mlirBlockGetNextInRegion(block)) {
      push(b->interner, UINTPTR_MAX); // a block begins
      for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); ++i) {
        MlirValue argument = mlirBlockGetArgument(block, i);
        shardPointerMapSet(b->nested, argument.ptr, b->nNested++);
        push(b->interner, (uintptr_t)mlirValueGetType(argument).ptr);
      }
      MlirOperation inner = mlirBlockGetFirstOperation(block);
      for (; !mlirOperationIsNull(inner); inner = mlirOperationGetNextInBlock(inner)) {
        push(b->interner, (uintptr_t)mlirOperationGetName(inner).ptr);
        pushAttributes(b, inner);
        push(b->interner, (uintptr_t)mlirOperationGetNumSuccessors(inner));
        for (intptr_t i = 0; i < mlirOperationGetNumOperands(inner); ++i) {
          MlirValue operand = mlirOperationGetOperand(inner, i);
          int64_t number;
          if (shardPointerMapGet(b->nested, operand.ptr, &number))
            push(b->interner, (uintptr_t)number + 1);
          else if (shardPointerMapGet(b->values, operand.ptr, &number))
            addOperand(b, operand);
          else // defined further down in a graph of blocks: by identity, so never equal
            push(b->interner, (uintptr_t)operand.ptr);
        }
        for (intptr_t i = 0; i < mlirOperationGetNumResults(inner); ++i) {
          MlirValue result = mlirOperationGetResult(inner, i);
          shardPointerMapSet(b->nested, result.ptr, b->nNested++);
          push(b->interner, (uintptr_t)mlirValueGetType(result).ptr);
        }
        pushNested(b, inner);
      }
      push(b->interner, UINTPTR_MAX - 1); // and ends
    }
  }
}

static void collectCaptured(MlirOperation op, MlirBlock outer, int32_t capacity,
                            ShardLayerOperand *out, int32_t *count) {
  for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); ++r) {
    MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
    for (; !mlirBlockIsNull(block); block = mlirBlockGetNextInRegion(block)) {
      MlirOperation inner = mlirBlockGetFirstOperation(block);
      for (; !mlirOperationIsNull(inner); inner = mlirOperationGetNextInBlock(inner)) {
        for (intptr_t i = 0; i < mlirOperationGetNumOperands(inner); ++i) {
          MlirValue operand = mlirOperationGetOperand(inner, i);
          MlirBlock home = mlirValueIsABlockArgument(operand)
                               ? mlirBlockArgumentGetOwner(operand)
                               : mlirOperationGetBlock(mlirOpResultGetOwner(operand));
          if (!mlirBlockEqual(home, outer))
            continue;
          if (*count < capacity)
            out[*count] = (ShardLayerOperand){inner, i};
          ++*count;
        }
        collectCaptured(inner, outer, capacity, out, count);
      }
    }
  }
}

int32_t shardLayerCollectOperands(MlirOperation op, MlirBlock outer, int32_t capacity,
                                  ShardLayerOperand *out) {
  int32_t count = 0;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i, ++count)
    if (count < capacity)
      out[count] = (ShardLayerOperand){op, i};
  collectCaptured(op, outer, capacity, out, &count);
  return count;
}

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

static bool startsWith(MlirStringRef text, const char *prefix) {
  size_t length = strlen(prefix);
  return text.length >= length && memcmp(text.data, prefix, length) == 0;
}

static bool isOneOf(MlirStringRef name, size_t count, const char *const *names) {
  for (size_t i = 0; i < count; ++i)
    if (shardStringIs(name, names[i]))
      return true;
  return false;
}

/// A body that multiplies and accumulates over a reduced dimension, or a named op that does.
static bool isContraction(MlirOperation op, MlirStringRef name) {
  static const char *const named[] = {"matmul",     "matvec",          "vecmat", "mmt4d",
                                      "linalg.dot", "linalg.contract", "conv",   "fully_connected"};
  for (size_t i = 0; i < sizeof named / sizeof *named; ++i) {
    size_t length = strlen(named[i]);
    for (size_t at = 0; at + length <= name.length; ++at)
      if (memcmp(name.data + at, named[i], length) == 0 && !startsWith(name, "arith."))
        return true;
  }
  if (!shardStringIs(name, "linalg.generic"))
    return false;
  // A contraction ends in the sum of its last argument and a product.
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
  MlirOperation yield = mlirBlockGetTerminator(block);
  intptr_t nArguments = mlirBlockGetNumArguments(block);
  if (mlirOperationIsNull(yield) || mlirOperationGetNumOperands(yield) != 1 || nArguments < 3)
    return false;
  MlirValue yielded = mlirOperationGetOperand(yield, 0);
  if (!mlirValueIsAOpResult(yielded))
    return false;
  MlirOperation add = mlirOpResultGetOwner(yielded);
  if (!shardOpIs(add, "arith.addf") && !shardOpIs(add, "arith.addi"))
    return false;
  MlirValue accumulator = mlirBlockGetArgument(block, nArguments - 1);
  int accumulates = mlirValueEqual(mlirOperationGetOperand(add, 0), accumulator)   ? 0
                    : mlirValueEqual(mlirOperationGetOperand(add, 1), accumulator) ? 1
                                                                                   : -1;
  if (accumulates < 0)
    return false;
  MlirValue product = mlirOperationGetOperand(add, 1 - accumulates);
  if (!mlirValueIsAOpResult(product))
    return false;
  MlirOperation multiply = mlirOpResultGetOwner(product);
  return (shardOpIs(multiply, "arith.mulf") || shardOpIs(multiply, "arith.muli")) &&
         !mlirValueEqual(mlirOperationGetOperand(multiply, 0),
                         mlirOperationGetOperand(multiply, 1)); // a square is of a norm
}

static bool isTensorConstantWithData(MlirOperation op, MlirStringRef name) {
  if (!shardStringIs(name, "arith.constant") && !shardStringIs(name, "tosa.const"))
    return false;
  MlirAttribute value =
      shardOpGetAttribute(op, shardStringIs(name, "tosa.const") ? "values" : "value");
  return !mlirAttributeIsNull(value) && mlirAttributeIsAElements(value) &&
         !(mlirAttributeIsADenseElements(value) && mlirDenseElementsAttrIsSplat(value));
}

/// A linalg.generic that hands on one scalar, or one constant, and does nothing else.
static bool isPlainFill(MlirOperation op) {
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
  MlirOperation first = mlirBlockGetFirstOperation(body);
  if (!shardOpIs(first, "linalg.yield") || mlirOperationGetNumOperands(first) != 1)
    return false;
  MlirValue input = mlirOperationGetOperand(op, 0);
  return !mlirTypeIsAShaped(mlirValueGetType(input)) ||
         (mlirValueIsAOpResult(input) && shardOpIs(mlirOpResultGetOwner(input), "arith.constant"));
}

/// Cheap and made of leaves alone. A chain of elementwise ops over an iota (a rotary table, a
/// causal mask) is work and no leaf.
static bool isLeaf(const Builder *b, MlirOperation op, MlirStringRef name) {
  for (size_t i = 0; i < b->nOperands; ++i) {
    int32_t node = b->graph->values[b->operands[i]].node;
    if (node < 0 || b->graph->nodes[node].kind != SHARD_LAYER_LEAF)
      return false;
  }
  if (mlirOperationGetNumResults(op) == 0)
    return false;
  static const char *const leaves[] = {
      "arith.constant", "tosa.const",           "tosa.const_shape", "tensor.empty",
      "tensor.splat",   "tensor.expand_shape",  "linalg.fill",      "tensor.collapse_shape",
      "tensor.cast",    "tensor.from_elements", "linalg.index",     "shard.sharding"};
  if (isOneOf(name, sizeof leaves / sizeof *leaves, leaves))
    return true;
  if (shardStringIs(name, "linalg.generic")) // an iota, or a fill spelled out
    return mlirOperationGetNumOperands(op) == mlirOperationGetNumResults(op) || isPlainFill(op);
  if (!startsWith(name, "arith.") && !startsWith(name, "math."))
    return false;
  return !mlirTypeIsAShaped(mlirValueGetType(mlirOperationGetResult(op, 0)));
}

//===----------------------------------------------------------------------===//
// Uses and order
//===----------------------------------------------------------------------===//

static bool isOrdered(const ShardLayerNode *node) {
  return node->kind == SHARD_LAYER_COMPUTE || node->kind == SHARD_LAYER_FIXED;
}

static int32_t producer(const ShardLayerGraph *graph, const ShardLayerNode *node, int32_t operand) {
  int32_t at = graph->values[node->operands[operand]].node;
  return at >= 0 && isOrdered(&graph->nodes[at]) ? at : -1;
}

/// Backward list scheduling from the terminator: an op is ready when all its users are placed; of
/// those that become ready together the one with the least work above it goes first, then the first
/// operand. What all layers share (masks, rotary tables) therefore comes out last.
static void orderNodes(ShardLayerGraph *graph, ShardArena *arena) {
  int32_t n = graph->nNodes;
  int32_t *pending = SHARD_ARENA_ARRAY(arena, int32_t, n);
  int32_t *height = SHARD_ARENA_ARRAY(arena, int32_t, n);
  int32_t *stack = SHARD_ARENA_ARRAY(arena, int32_t, n);
  int32_t *order = SHARD_ARENA_ARRAY(arena, int32_t, n);
  int32_t nStack = 0, nOrdered = 0;
  for (int32_t i = 0; i < n; ++i) {
    ShardLayerNode *node = &graph->nodes[i];
    node->position = -1;
    if (!isOrdered(node))
      continue;
    for (int32_t j = 0; j < node->nOperands; ++j) {
      int32_t p = producer(graph, node, j);
      if (p < 0)
        continue;
      ++pending[p];
      if (height[p] >= height[i])
        height[i] = height[p] + 1;
    }
  }
  for (int32_t i = 0; i < n; ++i) // the terminator is last and so on top
    if (isOrdered(&graph->nodes[i]) && pending[i] == 0)
      stack[nStack++] = i;
  while (nStack > 0) {
    int32_t i = stack[--nStack];
    ShardLayerNode *node = &graph->nodes[i];
    node->position = nOrdered;
    order[nOrdered++] = i;
    int32_t base = nStack;
    for (int32_t j = node->nOperands - 1; j >= 0; --j) {
      int32_t p = producer(graph, node, j);
      if (p < 0 || --pending[p] > 0)
        continue;
      int32_t at = nStack++; // insertion sort, tallest at the bottom
      for (; at > base && height[stack[at - 1]] < height[p]; --at)
        stack[at] = stack[at - 1];
      stack[at] = p;
    }
  }
  graph->order = order;
  graph->nOrdered = nOrdered;
}

static void collectUses(ShardLayerGraph *graph, ShardArena *arena) {
  size_t total = 0;
  for (int32_t i = 0; i < graph->nNodes; ++i)
    if (isOrdered(&graph->nodes[i]))
      for (int32_t j = 0; j < graph->nodes[i].nOperands; ++j, ++total)
        ++graph->values[graph->nodes[i].operands[j]].nUses;
  ShardLayerUse *uses = SHARD_ARENA_ARRAY(arena, ShardLayerUse, total);
  ShardLayerUse **next = SHARD_ARENA_ARRAY(arena, ShardLayerUse *, graph->nValues);
  for (int32_t v = 0; v < graph->nValues; ++v) {
    graph->values[v].uses = next[v] = uses;
    uses += graph->values[v].nUses;
  }
  for (int32_t at = 0; at < graph->nOrdered; ++at) {
    int32_t i = graph->order[at];
    for (int32_t j = 0; j < graph->nodes[i].nOperands; ++j)
      *next[graph->nodes[i].operands[j]]++ = (ShardLayerUse){i, j};
  }
}

ShardLayerGraph *shardLayerGraphCreate(MlirOperation func, const char *fixedAttribute,
                                       ShardArena *arena) {
  ShardLayerGraph *graph = SHARD_ARENA_NEW(arena, ShardLayerGraph);
  MlirBlock body = shardFuncGetBody(func);
  int32_t nArguments = (int32_t)mlirBlockGetNumArguments(body);
  int32_t nNodes = 0, nValues = nArguments;
  MlirOperation op = mlirBlockGetFirstOperation(body);
  for (; !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    ++nNodes;
    nValues += (int32_t)mlirOperationGetNumResults(op);
  }
  graph->nodes = SHARD_ARENA_ARRAY(arena, ShardLayerNode, nNodes);
  graph->values = SHARD_ARENA_ARRAY(arena, ShardLayerValue, nValues);
  Interner interner = {.arena = arena};
  Builder b = {.arena = arena, .graph = graph, .interner = &interner};
  b.values = shardPointerMapCreate(arena, (size_t)nValues);
  b.namesOf = shardPointerMapCreate(arena, 64);
  b.nested = shardPointerMapCreate(arena, (size_t)nNodes * 8);
  for (int32_t i = 0; i < nArguments; ++i) {
    graph->values[i] = (ShardLayerValue){.value = mlirBlockGetArgument(body, i), .node = -1};
    shardPointerMapSet(b.values, graph->values[i].value.ptr, i);
  }
  graph->nValues = nArguments;
  op = mlirBlockGetFirstOperation(body);
  for (; !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    ShardLayerNode *node = &graph->nodes[graph->nNodes];
    MlirStringRef name = shardOpGetName(op);
    node->op = op;
    b.nOperands = 0;
    b.nNested = 0;
    push(&interner, (uintptr_t)mlirOperationGetName(op).ptr);
    pushAttributes(&b, op);
    node->firstResult = graph->nValues;
    node->nResults = (int32_t)mlirOperationGetNumResults(op);
    for (int32_t i = 0; i < node->nResults; ++i)
      push(&interner, (uintptr_t)mlirValueGetType(mlirOperationGetResult(op, i)).ptr);
    for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
      addOperand(&b, mlirOperationGetOperand(op, i));
    pushNested(&b, op);
    node->token = intern(&interner);
    int32_t *operands = SHARD_ARENA_ARRAY(arena, int32_t, b.nOperands);
    if (b.nOperands)
      memcpy(operands, b.operands, b.nOperands * sizeof *operands);
    node->operands = operands;
    node->nOperands = (int32_t)b.nOperands;
    bool fixed = mlirOperationIsNull(mlirOperationGetNextInBlock(op)) ||
                 !mlirAttributeIsNull(shardOpGetAttribute(op, fixedAttribute));
    node->kind = fixed                                ? SHARD_LAYER_FIXED
                 : isTensorConstantWithData(op, name) ? SHARD_LAYER_SOURCE
                 : isLeaf(&b, op, name)               ? SHARD_LAYER_LEAF
                                                      : SHARD_LAYER_COMPUTE;
    if (node->kind == SHARD_LAYER_COMPUTE) {
      ++graph->nCompute;
      node->contraction = isContraction(op, name);
    }
    for (int32_t i = 0; i < node->nResults; ++i) {
      MlirValue result = mlirOperationGetResult(op, i);
      shardPointerMapSet(b.values, result.ptr, graph->nValues);
      graph->values[graph->nValues++] = (ShardLayerValue){.value = result, .node = graph->nNodes};
    }
    ++graph->nNodes;
  }
  orderNodes(graph, arena);
  collectUses(graph, arena);
  return graph;
}

int32_t *shardLayerTokens(intptr_t nOps, const MlirOperation *ops, const char *ignored,
                          ShardArena *arena) {
  Interner interner = {.arena = arena};
  ShardLayerGraph none = {0};
  Builder b = {.arena = arena, .graph = &none, .interner = &interner};
  b.values = shardPointerMapCreate(arena, 1);
  b.namesOf = shardPointerMapCreate(arena, 64);
  b.nested = shardPointerMapCreate(arena, 1024);
  int32_t *tokens = SHARD_ARENA_ARRAY(arena, int32_t, nOps);
  for (intptr_t i = 0; i < nOps; ++i) {
    b.nNested = 0;
    push(&interner, (uintptr_t)mlirOperationGetName(ops[i]).ptr);
    for (intptr_t a = 0; a < mlirOperationGetNumAttributes(ops[i]); ++a) {
      MlirNamedAttribute named = mlirOperationGetAttribute(ops[i], a);
      MlirStringRef name = mlirIdentifierStr(named.name);
      if (!isPartOfToken(name) || shardStringIs(name, ignored))
        continue;
      push(&interner, (uintptr_t)named.name.ptr);
      push(&interner, (uintptr_t)named.attribute.ptr);
    }
    pushNested(&b, ops[i]);
    tokens[i] = intern(&interner);
  }
  return tokens;
}

int32_t *shardLayerGraphRefine(const ShardLayerGraph *graph, const int32_t *color,
                               int32_t *outCount, ShardArena *arena) {
  int32_t *next = SHARD_ARENA_ARRAY(arena, int32_t, graph->nNodes);
  if (!color) {
    *outCount = 0;
    for (int32_t i = 0; i < graph->nNodes; ++i) {
      next[i] = graph->nodes[i].token;
      if (next[i] >= *outCount)
        *outCount = next[i] + 1;
    }
    return next;
  }
  Interner interner = {.arena = arena};
  for (int32_t i = 0; i < graph->nNodes; ++i) {
    const ShardLayerNode *node = &graph->nodes[i];
    push(&interner, (uintptr_t)node->token);
    for (int32_t j = 0; j < node->nOperands; ++j) {
      const ShardLayerValue *value = &graph->values[node->operands[j]];
      bool inner = value->node >= 0 && graph->nodes[value->node].kind == SHARD_LAYER_COMPUTE;
      uintptr_t number =
          inner ? (uintptr_t)(node->operands[j] - graph->nodes[value->node].firstResult) : 0;
      push(&interner, inner ? (((uintptr_t)color[value->node] + 1) << 8 | (number & 255)) : 0);
    }
    next[i] = intern(&interner);
  }
  *outCount = (int32_t)interner.nEntries;
  return next;
}
