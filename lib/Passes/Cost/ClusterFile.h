//===- ClusterFile.h - Parts of the cluster file's reader ---------*- C -*-===//
#ifndef SHARD_COST_CLUSTER_FILE_H
#define SHARD_COST_CLUSTER_FILE_H

#include "Cluster.h"
#include "JsonReader.h"

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))
#define MAX_BYTES 1e30
#define MAX_SECONDS 1e6
#define MAX_LIST 4096

/// `devices`: the kinds of devices, into the reader's arena. False: an error stands in the reader.
bool clusterReadDevices(JsonReader *r, const JsonPath *path, json_t *value, ShardCluster *out);

#endif // SHARD_COST_CLUSTER_FILE_H
