//===- shard/Cluster.h - The machine that a plan is for -----------*- C -*-===//
// A cluster file as data: kinds of devices, the tree of links between them, memory below them.
// Plain C, no MLIR. Fields and their meaning: python-free-docs/design/cost.md.
//===----------------------------------------------------------------------===//
#ifndef SHARD_CLUSTER_H
#define SHARD_CLUSTER_H

#include "shard/Support.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A number of the file. `source` is "" where the file names none.
typedef struct ShardFigure {
  double value;
  bool given, measured;
  const char *source;
} ShardFigure;

/// A rate: what the maker promises, and what is reached. At least one is given.
typedef struct ShardRate {
  ShardFigure peak, achieved;
} ShardRate;

/// Efficiency over size: `sizes` ascend, `fractions` are above 0, and at most 1 but for memory's,
/// which caches may exceed. No points: 1 everywhere.
typedef struct ShardCurve {
  intptr_t nPoints;
  const double *sizes, *fractions;
  const char *source;
} ShardCurve;

/// Efficiency of contractions over their shape: `fractions`, in (0, 1], of each m, n and k that is
/// listed, k fastest. No sizes: unknown.
typedef struct ShardShapeGrid {
  intptr_t nSizes[3];      // of m, n, k
  const double *sizes[3];  // each ascends
  const double *fractions; // [nM * nN * nK]
  const char *source;
} ShardShapeGrid;

/// What one evaluation of costs more than an operation, or other than it.
typedef enum ShardFunction {
  SHARD_FUNCTION_DIVIDE = 0,
  SHARD_FUNCTION_SQRT = 1, // and its reciprocal
  SHARD_FUNCTION_EXP = 2,  // and exp2
  SHARD_FUNCTION_TANH = 3,
  SHARD_FUNCTION_ERF = 4,
  SHARD_FUNCTION_OTHER = 5, // sine, logarithm, power, ...
  SHARD_FUNCTION_REDUCE = 6 // one more element of a row combined into one value
} ShardFunction;
#define SHARD_N_FUNCTIONS 7

/// What a device computes in. Rates of types that a kind does not list are unknown.
typedef enum ShardRateType {
  SHARD_RATE_F64 = 0,
  SHARD_RATE_F32 = 1,
  SHARD_RATE_F16 = 2,
  SHARD_RATE_BF16 = 3,
  SHARD_RATE_F8 = 4,
  SHARD_RATE_F4 = 5,
  SHARD_RATE_I8 = 6
} ShardRateType;
#define SHARD_N_RATE_TYPES 7

/// Contractions in fewer than 32 bits are cut into tiles of the result, so many at a time: the last
/// turn, and tiles that reach over the edge, cost as full ones do. No units: not known.
#define SHARD_MAX_TILES 8
typedef struct ShardTiles {
  int64_t units; // that compute a tile each
  int32_t nSizes;
  int64_t sizes[SHARD_MAX_TILES][2]; // rows and columns; the library takes the best
  const char *source;
} ShardTiles;

/// What a device still reaches when `devices` of its node work at the same time; between one and
/// so many, a straight line. No devices: they do not slow each other.
typedef struct ShardBusy {
  int64_t devices;
  double flops;                // part of the rates of contractions and everything else
  ShardCurve memoryEfficiency; // in place of the device's own; no points: the same
} ShardBusy;

typedef struct ShardDeviceKind {
  const char *name;
  ShardFigure memoryBytes;
  ShardRate memoryBytesPerSecond;
  ShardCurve memoryEfficiency; // over the bytes that an op moves; above 1 where caches hold them
  bool hasFlops[SHARD_N_RATE_TYPES], hasVectorFlops[SHARD_N_RATE_TYPES];
  ShardRate flops[SHARD_N_RATE_TYPES];       // of contractions
  ShardCurve efficiency[SHARD_N_RATE_TYPES]; // over the flops of a contraction
  ShardShapeGrid shapes[SHARD_N_RATE_TYPES]; // over its shape, in place of that where it is known
  ShardRate vectorFlops[SHARD_N_RATE_TYPES]; // of everything else
  /// Evaluations a second by [type][function]; where not given, they are operations like others.
  bool hasFunctions[SHARD_N_RATE_TYPES][SHARD_N_FUNCTIONS];
  ShardRate functions[SHARD_N_RATE_TYPES][SHARD_N_FUNCTIONS];
  ShardTiles tiles;
  ShardBusy allBusy;          // what is left of that when neighbours work too
  ShardFigure launchSeconds;  // before an op starts
  ShardFigure failuresPerDay; // of one device with its share of the node
  bool hasPort;               // the first link is faster or slower for this kind
  ShardRate portBytesPerSecond;
} ShardDeviceKind;

/// Levels of the tree, from the leaves up.
typedef enum ShardClusterLevel {
  SHARD_LEVEL_DEVICE = 0,
  SHARD_LEVEL_NODE = 1,
  SHARD_LEVEL_RACK = 2,
  SHARD_LEVEL_POD = 3,
  SHARD_LEVEL_CORE = 4
} ShardClusterLevel;
#define SHARD_CLUSTER_MAX_LINKS 4

/// Plain links take their latency from the file; the others have the latencies of NCCL's protocols.
typedef enum ShardLinkKind {
  SHARD_LINK_PLAIN = 0,
  SHARD_LINK_NVLINK = 1,
  SHARD_LINK_PCIE = 2,
  SHARD_LINK_NETWORK = 3
} ShardLinkKind;

typedef enum ShardCollectiveKind {
  SHARD_COLLECTIVE_ALL_REDUCE = 0,
  SHARD_COLLECTIVE_REDUCE_SCATTER = 1,
  SHARD_COLLECTIVE_ALL_GATHER = 2,
  SHARD_COLLECTIVE_ALL_TO_ALL = 3,
  SHARD_COLLECTIVE_BROADCAST = 4,
  SHARD_COLLECTIVE_REDUCE = 5,
  SHARD_COLLECTIVE_PERMUTE = 6,
  SHARD_COLLECTIVE_SEND = 7
} ShardCollectiveKind;
#define SHARD_N_COLLECTIVE_KINDS 8

/// How a collective can be run (shard/Cost.h).
typedef enum ShardAlgorithm {
  SHARD_ALGORITHM_RING = 0,
  SHARD_ALGORITHM_TREE = 1,
  SHARD_ALGORITHM_RECURSIVE = 2,
  SHARD_ALGORITHM_HIERARCHICAL = 3,
  SHARD_ALGORITHM_IN_SWITCH = 4,
  SHARD_ALGORITHM_DIRECT = 5,  // each rank to each: all-to-all, permute, send
  SHARD_ALGORITHM_MEASURED = 6 // the file's own numbers
} ShardAlgorithm;
#define SHARD_N_ALGORITHMS 7

/// A collective as measured among `ranks` ranks below one vertex of a link's upper level.
typedef struct ShardMeasuredCollective {
  ShardCollectiveKind kind;
  int64_t ranks;
  double latencySeconds;
  double bytesPerSecond; // message bytes (shard/Cost.h) over time
} ShardMeasuredCollective;

/// The links of all vertices of level `from` into their parents of level `to`.
typedef struct ShardClusterLink {
  ShardClusterLevel from, to;
  int64_t count; // of `from` below one `to`, at most
  ShardLinkKind kind;
  ShardRate bytesPerSecond;   // of one rail, each direction
  ShardFigure latencySeconds; // of a message whose highest link this is, start to arrival
  int64_t rails;              // uplinks of each `from`
  bool shared;                // any device below may use all rails; else the one of its position
  bool inSwitch;              // the switch above reduces and multicasts
  double inSwitchEfficiency;
  intptr_t nMeasured; // by kind, then ranks
  const ShardMeasuredCollective *measured;
} ShardClusterLink;

/// Nodes in a row, in the order of device numbers.
typedef struct ShardClusterNodes {
  int32_t kind; // of deviceKinds
  int64_t count;
  int64_t devicesPerNode;
  int64_t firstNode, firstDevice;
} ShardClusterNodes;

/// Memory below a device's own, fastest first.
typedef struct ShardMemoryTier {
  const char *name;        // "host", "nvme", "object"
  ShardClusterLevel owner; // one such memory for each vertex of this level
  ShardFigure bytes;       // of one owner
  ShardRate bytesPerSecond;
  bool hasDeviceRate; // one device cannot take more
  ShardRate deviceBytesPerSecond;
  ShardFigure latencySeconds;
} ShardMemoryTier;

/// Thread-safe to read. Numbers are as in the file: shardRateEffective applies the derating.
typedef struct ShardCluster {
  const char *name, *description;
  double derating; // of rates that nobody measured
  double reserve;  // part of device memory that stays free
  int32_t nDeviceKinds;
  const ShardDeviceKind *deviceKinds;
  int32_t nNodeRuns;
  const ShardClusterNodes *nodeRuns;
  int64_t nNodes, nDevices;
  int32_t nLinks; // from the devices up; each begins where the one before ends
  ShardClusterLink links[SHARD_CLUSTER_MAX_LINKS];
  int32_t nTiers;
  const ShardMemoryTier *tiers;
  bool algorithms[SHARD_N_ALGORITHMS]; // that the communication library has
  void *memory;                        // private
} ShardCluster;

/// Reads `spec`: a preset's name or a file, either followed by ":DEVICES" to scale its nodes. A
/// file whose own name ends so wins. Returns a cluster to be destroyed; null after a failure: then
/// `*outError` is a message "FILE:LINE:COLUMN: error: 'devices[1].flops.f16' ..." or a text
/// without a place, to be freed with free(). Thread-safe.
SHARD_EXPORTED ShardCluster *shardClusterCreate(const char *spec, char **outError);
/// The same from `length` bytes of JSON; `path` names them in messages. `nDevices` 0: as they say.
SHARD_EXPORTED ShardCluster *shardClusterParse(const char *path, const char *text, size_t length,
                                               int64_t nDevices, char **outError);
SHARD_EXPORTED void shardClusterDestroy(ShardCluster *cluster); // null is fine

/// The bundled clusters, in a fixed order. Thread-safe.
SHARD_EXPORTED intptr_t shardClusterPresetGetCount(void);
SHARD_EXPORTED const char *shardClusterPresetGetName(intptr_t index); // null: out of range

/// The cluster as tables of text, or as a file that shardClusterParse reads back. To be freed with
/// free(). Thread-safe.
SHARD_EXPORTED char *shardClusterFormatText(const ShardCluster *cluster);
SHARD_EXPORTED char *shardClusterFormatJson(const ShardCluster *cluster);

/// The names that the file has for them. Null: out of range. Thread-safe.
SHARD_EXPORTED const char *shardRateTypeName(ShardRateType type);
SHARD_EXPORTED const char *shardFunctionName(ShardFunction function);
SHARD_EXPORTED const char *shardClusterLevelName(ShardClusterLevel level);
SHARD_EXPORTED const char *shardLinkKindName(ShardLinkKind kind);
SHARD_EXPORTED const char *shardClusterCollectiveName(ShardCollectiveKind kind);
SHARD_EXPORTED const char *shardAlgorithmName(ShardAlgorithm algorithm);

/// What to count on: the achieved rate, a measured peak, or the peak times the derating.
SHARD_EXPORTED double shardRateEffective(const ShardCluster *cluster, const ShardRate *rate);
/// Linear between points over the logarithm of the size; beyond the ends as at them.
SHARD_EXPORTED double shardCurveEvaluate(const ShardCurve *curve, double size);
/// The same in three sizes, m, n and k; 1 for a grid without sizes.
SHARD_EXPORTED double shardShapeGridEvaluate(const ShardShapeGrid *grid, const double *sizes);

/// The kind of a device; null when `device` is not in [0, nDevices).
SHARD_EXPORTED const ShardDeviceKind *shardClusterDeviceKind(const ShardCluster *cluster,
                                                             int64_t device);
/// The number of the vertex of level `level` above a device, -1 when it has none: a level that no
/// link names, or a device out of range. Vertices of a level count from 0 in device order.
SHARD_EXPORTED int64_t shardClusterVertexOf(const ShardCluster *cluster, int64_t device,
                                            ShardClusterLevel level);
/// Distance of the textbook's placement cost: 0 itself, 1 in a node, 10 in a rack, 100 beyond.
SHARD_EXPORTED int64_t shardClusterDistance(const ShardCluster *cluster, int64_t a, int64_t b);
/// Device memory that a plan may use: the bytes without the reserve, of a kind.
SHARD_EXPORTED double shardClusterUsableBytes(const ShardCluster *cluster,
                                              const ShardDeviceKind *kind);
/// Failures of all devices together, a day; devices of kinds without a rate count as none.
SHARD_EXPORTED double shardClusterFailuresPerDay(const ShardCluster *cluster);

#ifdef __cplusplus
}
#endif
#endif // SHARD_CLUSTER_H
