//===- GuardedBuffer.c - Buffers between two guard zones ----------*- C -*-===//
#define _GNU_SOURCE

#include "Ranks.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { GUARD_BYTES = 256 };

/// Bytes 8i to 8i + 7 of a pattern that has no period, or what is left of it in each byte when its
/// bits are turned: a byte that was written differs from one of the two. The mix is
/// SplitMix64's (Steele, Lea and Flood 2014).
static uint64_t patternWord(uint64_t i, bool turned) {
  uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  return turned ? ~x : x;
}

static void fillPattern(const Buffer *buffer, size_t begin, size_t end) {
  for (size_t i = begin / 8; i * 8 < end; ++i) {
    uint64_t word = patternWord(i, buffer->turned);
    size_t from = i * 8 < begin ? begin : i * 8, to = i * 8 + 8 < end ? i * 8 + 8 : end;
    memcpy(buffer->base + from, (char *)&word + from % 8, to - from);
  }
}

/// One past the last byte in [begin, end) of the buffer's memory that is not the pattern's; `begin`
/// if all are.
static size_t findWritten(const Buffer *buffer, size_t begin, size_t end) {
  for (size_t i = (end + 7) / 8; i > begin / 8;) {
    uint64_t word = patternWord(--i, buffer->turned);
    size_t from = i * 8 < begin ? begin : i * 8, to = i * 8 + 8 < end ? i * 8 + 8 : end;
    if (!memcmp(buffer->base + from, (char *)&word + from % 8, to - from))
      continue;
    while (buffer->base[to - 1] == ((char *)&word)[(to - 1) % 8])
      --to;
    return to;
  }
  return begin;
}

static size_t bufferTotal(size_t sizeBytes) {
  return (sizeBytes + 2 * GUARD_BYTES + 4095) / 4096 * 4096;
}

void runAbort(Run *run, const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  shardRtWorldAbort(run->world, text);
}

bool bufferCreate(Run *run, size_t sizeBytes, Buffer *out) {
  Buffer buffer = {.sizeBytes = sizeBytes, .totalBytes = bufferTotal(sizeBytes)};
  if (run->options->isolated)
    buffer.base =
        shardRtWorldAllocate(run->world, buffer.totalBytes); // others read and write it directly
  else
    buffer.base =
        mmap(NULL, buffer.totalBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!buffer.base || buffer.base == MAP_FAILED) {
    runAbort(run, "out of memory: %zu bytes for a buffer", sizeBytes);
    return false;
  }
#ifdef MADV_HUGEPAGE
  if (sizeBytes >= (size_t)1 << 21)
    madvise(buffer.base, buffer.totalBytes, MADV_HUGEPAGE); // advice only
#endif
  buffer.data = buffer.base + GUARD_BYTES;
  fillPattern(&buffer, 0, GUARD_BYTES);
  fillPattern(&buffer, GUARD_BYTES + sizeBytes, buffer.totalBytes);
  *out = buffer;
  return true;
}

void bufferRelease(Run *run, Buffer *buffer) {
  if (buffer->base && run->options->isolated)
    shardRtWorldRelease(run->world, buffer->base);
  else if (buffer->base)
    munmap(buffer->base, buffer->totalBytes);
  *buffer = (Buffer){0};
}

bool bufferGuardsHold(const Buffer *buffer) {
  size_t end = GUARD_BYTES + buffer->sizeBytes;
  return findWritten(buffer, 0, GUARD_BYTES) == 0 &&
         findWritten(buffer, end, buffer->totalBytes) == end;
}

void bufferFill(Buffer *buffer, bool turned) {
  buffer->turned = turned;
  fillPattern(buffer, 0, buffer->totalBytes);
}

void bufferTurnGuards(Buffer *buffer) {
  buffer->turned = !buffer->turned;
  fillPattern(buffer, 0, GUARD_BYTES);
  fillPattern(buffer, GUARD_BYTES + buffer->sizeBytes, buffer->totalBytes);
}

size_t bufferFindWritten(const Buffer *buffer) {
  return findWritten(buffer, GUARD_BYTES, GUARD_BYTES + buffer->sizeBytes) - GUARD_BYTES;
}

/// FNV-1a over words (Fowler, Noll, Vo), enough to see that an argument was written.
uint64_t bufferHash(const Buffer *buffer) {
  uint64_t hash = 0xcbf29ce484222325u, word;
  size_t i = 0;
  for (; i + 8 <= buffer->sizeBytes; i += 8) {
    memcpy(&word, buffer->data + i, 8);
    hash = (hash ^ word) * 0x100000001b3u;
  }
  for (; i < buffer->sizeBytes; ++i)
    hash = (hash ^ (unsigned char)buffer->data[i]) * 0x100000001b3u;
  return hash;
}
