//===- States.h - Where a value lies along one mesh axis ----------*- C -*-===//
#ifndef SHARD_PLAN_STATES_H
#define SHARD_PLAN_STATES_H

#include "../Analysis/Rules.h"

/// State of a value along one axis: the number of the atom that it is split on, a block of atoms of
/// one dimension (Sharding.h), or one of the names below. An op's choice is written the same way,
/// in its factors.
typedef int16_t ShardState;
enum {
  SHARD_STATE_WHOLE = -1,
  SHARD_STATE_PARTIAL = -2,
  SHARD_STATE_AS_PRODUCED = -3,
  SHARD_STATE_FREE = -128, // of a pin or a demand: there is none
  SHARD_STATE_BLOCK = 1024 // and up
};
enum { SHARD_CHOICE_NONE = -1, SHARD_CHOICE_PASS = -2 };

/// The atom or factor `head`, or the block of it and the `span` ones after it.
static inline ShardState shardStateMake(int32_t head, int32_t span) {
  return (ShardState)(span ? SHARD_STATE_BLOCK + head * 32 + span : head);
}
static inline int32_t shardStateHead(ShardState state) {
  return state < SHARD_STATE_BLOCK ? state : (state - SHARD_STATE_BLOCK) / 32;
}
static inline int32_t shardStateSpan(ShardState state) {
  return state < SHARD_STATE_BLOCK ? 0 : (state - SHARD_STATE_BLOCK) % 32;
}
/// Whether a block of `span` atoms after `head` can be written as a state.
static inline bool shardStateCanBe(int32_t head, int32_t span) { return head < 900 && span < 32; }

void shardStatesFill(ShardState *states, int32_t n, ShardState state);

/// State of a port when its op splits what `choice` says (>= 0); WHOLE where it has none of it.
ShardState shardStateOfChoice(const ShardRules *rules, const ShardPort *port, ShardState choice);
/// The choice of an op under which a port is split as `state` (>= 0) says; NONE if there is none:
/// factors of a block must stand together in one dimension of every operand and result, or be in
/// none of it.
ShardState shardChoiceOfState(const ShardRules *rules, const ShardOpRule *rule,
                              const ShardPort *port, ShardState state);

/// Of `bytes` of a value, what one rank stores when it is split over n ranks: padding counts.
int64_t shardStateLocalBytes(const ShardValueInfo *value, int64_t bytes, int64_t n,
                             ShardState state);
/// Bytes that one rank sends, mean over ranks, to bring a value from one state to another.
int64_t shardStateReshardBytes(const ShardValueInfo *value, int64_t n, ShardState from,
                               ShardState to);

#endif // SHARD_PLAN_STATES_H
