//===- shard/Report.h - What a sharded program does ---------------*- C -*-===//
// Every number is counted on the emitted program (L3), none on a plan of it.
//===----------------------------------------------------------------------===//
#ifndef SHARD_REPORT_H
#define SHARD_REPORT_H

#include "shard/Simulate.h"
#include "shard/Support.h"

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Thread-compatible; apart from any context once created.
typedef struct ShardReport ShardReport;

/// Reads `module`, a program as the pass shard-spmdize leaves it; it is not changed.
/// `warnings` [nWarnings] are copied into the report. Returns a report to be destroyed; null after
/// one error diagnostic: the module is no sharded program. Thread-compatible per context.
SHARD_EXPORTED ShardReport *shardReportCreate(MlirOperation module, intptr_t nWarnings,
                                              const char *const *warnings);
SHARD_EXPORTED void shardReportDestroy(ShardReport *report); // null is fine

/// Adds what depends on the machine: times, memory against its limit, what binds. `simulation` is
/// of the report's program on `cluster`; both are read only here. Before the first text is asked
/// for, and once. Cannot fail.
SHARD_EXPORTED void shardReportAddTimes(ShardReport *report, const ShardCluster *cluster,
                                        const ShardSimulation *simulation);

/// The report as JSON, as tables of text, and as one screen. Owned by the report. Cannot fail.
SHARD_EXPORTED MlirStringRef shardReportGetJson(ShardReport *report);
SHARD_EXPORTED MlirStringRef shardReportGetText(ShardReport *report);
SHARD_EXPORTED MlirStringRef shardReportGetSummary(ShardReport *report);
/// As a page of HTML that needs no other file and no network; it holds the JSON.
SHARD_EXPORTED MlirStringRef shardReportGetPage(ShardReport *report);
/// In the trace event format that Perfetto and Chrome open; empty without times.
SHARD_EXPORTED MlirStringRef shardReportGetTrace(ShardReport *report);

/// Sends to `callback`, in one text, for each collective of `module` its place, kind, axes, bytes
/// and calls, its cause, the value that it moves with the placements before and after, whether an
/// annotation asks for it, and other ways with their bytes. All of it stands in `spmd.sites` and so
/// stays through every later pass: `module` is a sharded program at any level, the LLVM dialect
/// included. Fails, with one error diagnostic, when it is none. Thread-compatible per context.
SHARD_EXPORTED MlirLogicalResult shardModuleExplain(MlirOperation module,
                                                    MlirStringCallback callback, void *userData);

#ifdef __cplusplus
}
#endif
#endif // SHARD_REPORT_H
