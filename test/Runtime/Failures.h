//===- Failures.h - What the cases of failing ranks share ---------*- C -*-===//
#ifndef SHARD_TEST_RUNTIME_FAILURES_H
#define SHARD_TEST_RUNTIME_FAILURES_H

#include "shard/Program.h"
#include "shard/Runtime.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { nSites = 4 };
extern const ShardProgramSite sites[nSites];
extern bool isolated; // ranks are processes

/// Counts a check, and a failure under `name` if it does not hold.
void check(bool good, const char *name);
void sleepMs(long ms);
/// Stays outside of the runtime until another rank has failed, for at most 20 s.
void awaitFailure(ShardRtContext *context);

typedef struct Run {
  atomic_int statuses[8]; // what shardRtInvoke or the body gave on each rank
} Run;

/// Runs the body on a world, and compares status, failed rank and message. `other`: NULL, or the
/// text if another rank comes first.
void expect(const char *name, int32_t nAxes, const int64_t *axes, int64_t timeoutNs,
            ShardRtRankBody body, ShardRtStatus status, const char *text, const char *other);

extern float in[8][64], out[8][512]; // a rank's buffers
/// Runs one program body and returns what RunRanks shall see: OK, since the world has its message.
int invoke(ShardRtContext *context, void *userData, ShardRtProgramBody body);
/// A body that rank 2 of three ends with an assertion that fails; `userData` is a Run.
int asserting(ShardRtContext *context, void *userData);

#define UNUSED ((void)dims, (void)args, (void)results, (void)workspace)
#define RANK shardRtContextGetRank(context)
void allReduce(ShardRtContext *context, int32_t site, int32_t mask, void *const *args,
               void *const *results, int64_t count);

/// Worlds that are reset, aborted, misused and run by threads of the caller's; FailureCases.c.
void checkThreads(void);
/// Ranks as processes, which are killed.
void checkProcesses(int nRounds);
/// Ranks that fail while others are at work on their buffers.
void checkStorm(int nRounds);

#endif // SHARD_TEST_RUNTIME_FAILURES_H
