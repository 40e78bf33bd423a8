//===- Arena.c - Memory that dies with a run ----------------------*- C -*-===//
#include "Arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Chunk {
  struct Chunk *next;
  size_t used, capacity; // bytes of `data`
  bool zeroed;           // all of it; else each piece is as it is given out
  _Alignas(max_align_t) unsigned char data[];
} Chunk;

struct ShardArena {
  Chunk *chunks; // the first one is being filled
};

// Many arenas live for one small task: less than what makes malloc tidy up. Large chunks come
// zeroed by the system, page by page.
enum { firstChunkBytes = 768, zeroedChunkBytes = 256 * 1024, largestChunkBytes = 4 * 1024 * 1024 };

_Noreturn static void stopOutOfMemory(void) {
  fputs("shard: error: out of memory\n", stderr);
  exit(1);
}

static Chunk *addChunk(ShardArena *arena, size_t neededBytes) {
  size_t capacity = arena->chunks ? arena->chunks->capacity * 2 : firstChunkBytes;
  if (capacity > largestChunkBytes)
    capacity = largestChunkBytes;
  if (capacity < neededBytes)
    capacity = neededBytes;
  if (capacity > SIZE_MAX - sizeof(Chunk))
    stopOutOfMemory();
  bool zeroed = capacity >= zeroedChunkBytes;
  size_t bytes = sizeof(Chunk) + capacity;
  Chunk *chunk = zeroed ? calloc(1, bytes) : malloc(bytes);
  if (!chunk)
    stopOutOfMemory();
  chunk->used = 0;
  chunk->zeroed = zeroed;
  chunk->capacity = capacity;
  chunk->next = arena->chunks;
  arena->chunks = chunk;
  return chunk;
}

ShardArena *shardArenaCreate(void) {
  ShardArena *arena = malloc(sizeof(ShardArena));
  if (!arena)
    stopOutOfMemory();
  arena->chunks = NULL;
  return arena;
}

void shardArenaDestroy(ShardArena *arena) {
  if (!arena)
    return;
  for (Chunk *chunk = arena->chunks, *next; chunk; chunk = next) {
    next = chunk->next;
    free(chunk);
  }
  free(arena);
}

void *shardArenaAllocate(ShardArena *arena, size_t sizeBytes) {
  const size_t alignment = _Alignof(max_align_t);
  if (sizeBytes > SIZE_MAX - 2 * alignment)
    stopOutOfMemory();
  size_t rounded = (sizeBytes + alignment - 1) / alignment * alignment;
  if (rounded == 0)
    rounded = alignment;
  Chunk *chunk = arena->chunks;
  if (!chunk || chunk->capacity - chunk->used < rounded)
    chunk = addChunk(arena, rounded);
  void *memory = chunk->data + chunk->used;
  chunk->used += rounded;
  if (!chunk->zeroed)
    memset(memory, 0, rounded);
  return memory;
}

void *shardArenaAllocateArray(ShardArena *arena, size_t count, size_t elementBytes) {
  if (elementBytes && count > SIZE_MAX / elementBytes)
    stopOutOfMemory();
  return shardArenaAllocate(arena, count * elementBytes);
}

char *shardArenaCopyString(ShardArena *arena, const char *text, size_t length) {
  if (length == SIZE_MAX)
    stopOutOfMemory();
  char *copy = shardArenaAllocate(arena, length + 1);
  if (length)
    memcpy(copy, text, length);
  return copy;
}

char *shardArenaFormat(ShardArena *arena, const char *format, ...) {
  char brief[256]; // most fit
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = vsnprintf(brief, sizeof(brief), format, arguments);
  va_end(arguments);
  char *text = shardArenaAllocate(arena, length < 0 ? 1 : (size_t)length + 1);
  if (length >= (int)sizeof(brief))
    vsnprintf(text, (size_t)length + 1, format, again);
  else if (length >= 0)
    memcpy(text, brief, (size_t)length + 1);
  va_end(again);
  return text;
}

void *shardArenaGrow(ShardArena *arena, void *array, size_t count, size_t *capacity,
                     size_t neededCount, size_t elementBytes) {
  if (neededCount <= *capacity)
    return array;
  size_t newCapacity = *capacity ? *capacity : 8;
  while (newCapacity < neededCount) {
    if (newCapacity > SIZE_MAX / 2)
      stopOutOfMemory();
    newCapacity *= 2;
  }
  void *grown = shardArenaAllocateArray(arena, newCapacity, elementBytes);
  if (count)
    memcpy(grown, array, count * elementBytes);
  *capacity = newCapacity;
  return grown;
}
