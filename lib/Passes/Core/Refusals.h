//===- Refusals.h - Every error message, and why ------------------*- C -*-===//
// The one list of what the passes say when they stop. A refusal is a model or layout that means
// something and is not taken: it has a reason, and the nearest form that is. Anything else is a
// mistake in what was given. Tests compare the list with the messages in the code.
//===----------------------------------------------------------------------===//
#ifndef SHARD_CORE_REFUSALS_H
#define SHARD_CORE_REFUSALS_H

#include <stdint.h>

typedef struct ShardMessage {
  const char *text;    // as in the code, an ellipsis for each conversion
  const char *reason;  // null: a mistake in what was given
  const char *nearest; // null with `reason`
} ShardMessage;

intptr_t shardMessageCount(void);
const ShardMessage *shardMessageGet(intptr_t index); // refusals first

#endif // SHARD_CORE_REFUSALS_H
