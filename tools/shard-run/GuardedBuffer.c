//===- GuardedBuffer.c - Buffers between two guard zones ----------*- C -*-===//
#define _GNU_SOURCE

#include "Ranks.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { GUARD_BYTES = 256, GUARD_PATTERN = 0xa5 };

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
  memset(buffer.base, GUARD_PATTERN, GUARD_BYTES);
  memset(buffer.data + sizeBytes, GUARD_PATTERN, buffer.totalBytes - GUARD_BYTES - sizeBytes);
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

static bool isGuard(const char *bytes, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if ((unsigned char)bytes[i] != GUARD_PATTERN)
      return false;
  return true;
}

bool bufferGuardsHold(const Buffer *buffer) {
  return isGuard(buffer->base, GUARD_BYTES) &&
         isGuard(buffer->data + buffer->sizeBytes,
                 buffer->totalBytes - GUARD_BYTES - buffer->sizeBytes);
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
