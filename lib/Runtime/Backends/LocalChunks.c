//===- LocalChunks.c - Moving the bytes of a collective ------------*- C -*-===//
// A collective is a set of independent chunks, each of which reads and writes the buffers of all
// ranks that it needs.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Local.h"

#include <string.h>

enum {
  chunkBytes = 128 << 10,    // what a thread takes at a time
  tileBytes = 16 << 10,      // stays in the first-level cache while it is copied n times
  packedBytes = 32 << 10,    // narrow columns of all ranks side by side
  streamBytes = 4 << 20,     // from here outputs bypass the caches
  streamTileBytes = 1 << 10, // short turns of reading and writing keep the memory busiest
};

static size_t minimum(size_t a, size_t b) { return a < b ? a : b; }

/// Copies rows of `bytes` bytes each between places of given row strides in bytes.
static void copyRows(char *to, size_t toStride, const char *from, size_t fromStride, size_t nRows,
                     size_t bytes, bool streams) {
  if (to == from && (nRows == 1 || toStride == fromStride))
    return;
  if (toStride == bytes && fromStride == bytes) {
    bytes *= nRows;
    nRows = 1;
  }
  if (nRows == 1) {
    if (streams)
      shardRtStreamCopy(to, from, bytes);
    else
      memcpy(to, from, bytes);
    return;
  }
#define COPY_ROWS(BYTES)                                                                           \
  case BYTES:                                                                                      \
    for (size_t row = 0; row < nRows; ++row)                                                       \
      memcpy(to + row * toStride, from + row * fromStride, BYTES);                                 \
    return;
  switch (bytes) { // sizes of one or two elements become moves
    COPY_ROWS(1)
    COPY_ROWS(2)
    COPY_ROWS(4)
    COPY_ROWS(8)
    COPY_ROWS(16)
  default:
    for (size_t row = 0; row < nRows; ++row)
      memcpy(to + row * toStride, from + row * fromStride, bytes);
  }
#undef COPY_ROWS
}

/// Elements [begin, end) of all operands, into all outputs.
static void allReduceRange(LocalOp *op, int32_t n, const void **sources, size_t begin, size_t end) {
  _Alignas(64) char tile[SHARD_RT_TILE * 8];
  const ShardRtCollective *c = &op->posts[0].collective;
  size_t size = shardRtElementSize(c->element);
  bool inPlace = c->send == c->recv; // and most likely so for the other ranks
  size_t step = op->streams && !inPlace ? streamTileBytes / size : SHARD_RT_TILE / 4;
  for (size_t at = begin; at < end; at += step) {
    size_t count = minimum(step, end - at);
    for (int32_t i = 0; i < n; ++i)
      sources[i] = (const char *)op->posts[i].collective.send + at * size;
    shardRtReduce(c->element, c->reduction, n, sources, count, tile);
    for (int32_t i = 0; i < n; ++i) {
      const ShardRtCollective *mine = &op->posts[i].collective;
      copyRows((char *)mine->recv + at * size, 0, tile, 0, 1, count * size,
               op->streams && mine->recv != mine->send);
    }
  }
}

/// Elements [begin, end) of rank `source`'s [outer, chunk], into all outputs.
static void allGatherRange(LocalOp *op, int32_t n, int32_t source, size_t begin, size_t end) {
  const ShardRtCollective *c = &op->posts[source].collective;
  size_t size = shardRtElementSize(c->element), chunk = c->chunk;
  size_t tile = (op->streams ? streamTileBytes : tileBytes) / size;
  while (begin < end) {
    size_t row = begin / chunk, column = begin % chunk;
    size_t nRows = 1, count = minimum(minimum(chunk - column, end - begin), tile);
    if (count == chunk)
      nRows = minimum((end - begin) / chunk, tile / chunk);
    for (int32_t i = 0; i < n; ++i) {
      char *to = (char *)op->posts[i].collective.recv +
                 ((row * (size_t)n + (size_t)source) * chunk + column) * size;
      copyRows(to, (size_t)n * chunk * size, (const char *)c->send + begin * size, chunk * size,
               nRows, count * size, op->streams);
    }
    begin += nRows * count;
  }
}

/// Elements [begin, end) of rank `target`'s [outer, chunk].
static void reduceScatterRange(LocalOp *op, int32_t n, int32_t target, const void **sources,
                               size_t begin, size_t end) {
  _Alignas(64) char tile[SHARD_RT_TILE * 8];
  _Alignas(64) char packed[packedBytes];
  const ShardRtCollective *c = &op->posts[target].collective;
  size_t size = shardRtElementSize(c->element), chunk = c->chunk, stride = (size_t)n * chunk;
  size_t nPacked = minimum(packedBytes / size / (size_t)n, SHARD_RT_TILE); // elements a rank
  while (begin < end) {
    size_t row = begin / chunk, column = begin % chunk;
    size_t nRows = 1, count = minimum(minimum(chunk - column, end - begin), SHARD_RT_TILE);
    if (count == chunk && chunk * 2 <= nPacked)
      nRows = minimum((end - begin) / chunk, nPacked / chunk);
    size_t offset = (row * stride + (size_t)target * chunk + column) * size;
    for (int32_t i = 0; i < n; ++i) {
      sources[i] = (const char *)op->posts[i].collective.send + offset;
      if (nRows > 1) {
        char *to = packed + (size_t)i * nPacked * size;
        copyRows(to, chunk * size, sources[i], stride * size, nRows, chunk * size, false);
        sources[i] = to;
      }
    }
    shardRtReduce(c->element, c->reduction, n, sources, nRows * count, tile);
    copyRows((char *)c->recv + begin * size, 0, tile, 0, 1, nRows * count * size, false);
    begin += nRows * count;
  }
}

static size_t laneCount(ShardRtKind kind, size_t n) {
  switch (kind) {
  case SHARD_RT_ALL_REDUCE:
  case SHARD_RT_BROADCAST:
    return 1;
  case SHARD_RT_ALL_GATHER:
  case SHARD_RT_REDUCE_SCATTER:
  case SHARD_RT_PERMUTE:
    return n;
  case SHARD_RT_ALL_TO_ALL:
    return n * n;
  default:
    return 0; // a barrier
  }
}

size_t shardRtLocalBytes(const ShardRtCollective *c, int32_t n) {
  return c->outer * c->chunk * shardRtElementSize(c->element) * laneCount(c->kind, (size_t)n);
}

void shardRtLocalCut(LocalOp *op, int32_t n) {
  const ShardRtCollective *c = &op->posts[0].collective;
  op->ready = true;
  size_t nLanes = laneCount(c->kind, (size_t)n);
  if (!nLanes) {
    op->complete = true;
    return;
  }
  size_t size = shardRtElementSize(c->element), elements = c->outer * c->chunk;
  op->pieceElements = chunkBytes / size;
  op->nPieces = (elements + op->pieceElements - 1) / op->pieceElements;
  op->nChunks = nLanes * op->nPieces;
  op->streams = elements * size >= streamBytes;
}

void shardRtLocalRunChunk(LocalOp *op, int32_t n, const void **sources, size_t index) {
  const ShardRtCollective *c = &op->posts[0].collective;
  size_t size = shardRtElementSize(c->element), lane = index / op->nPieces;
  size_t begin = index % op->nPieces * op->pieceElements;
  size_t end = minimum(begin + op->pieceElements, c->outer * c->chunk);
  size_t bytes = (end - begin) * size, at = begin * size;
  switch (c->kind) {
  case SHARD_RT_ALL_REDUCE:
    allReduceRange(op, n, sources, begin, end);
    break;
  case SHARD_RT_ALL_GATHER:
    allGatherRange(op, n, (int32_t)lane, begin, end);
    break;
  case SHARD_RT_REDUCE_SCATTER:
    reduceScatterRange(op, n, (int32_t)lane, sources, begin, end);
    break;
  case SHARD_RT_ALL_TO_ALL: {
    size_t from = lane / (size_t)n, to = lane % (size_t)n, block = c->chunk * size;
    copyRows((char *)op->posts[to].collective.recv + from * block + at, 0,
             (const char *)op->posts[from].collective.send + to * block + at, 0, 1, bytes,
             op->streams);
    break;
  }
  case SHARD_RT_BROADCAST: {
    const char *from = (const char *)op->posts[c->parameter].collective.send + at;
    size_t tile = op->streams ? streamTileBytes : tileBytes;
    for (size_t done = 0; done < bytes; done += tile)
      for (int32_t i = 0; i < n; ++i)
        copyRows((char *)op->posts[i].collective.recv + at + done, 0, from + done, 0, 1,
                 minimum(tile, bytes - done), op->streams);
    break;
  }
  case SHARD_RT_PERMUTE: {
    int64_t to = ((int64_t)lane + c->parameter % n + n) % n;
    copyRows((char *)op->posts[to].collective.recv + at, 0,
             (const char *)op->posts[lane].collective.send + at, 0, 1, bytes, op->streams);
    break;
  }
  default:
    break;
  }
}
