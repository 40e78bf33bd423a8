//===- Arena.h - Memory that dies with a run ----------------------*- C -*-===//
#ifndef SHARD_CORE_ARENA_H
#define SHARD_CORE_ARENA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Bump allocator. Everything taken from it is freed by shardArenaDestroy at once. Allocation never
/// returns null: out of memory stops the compiler here, with one message. Thread-compatible.
typedef struct ShardArena ShardArena;

ShardArena *shardArenaCreate(void);
void shardArenaDestroy(ShardArena *arena); // null is fine

/// `sizeBytes` zeroed bytes, aligned for any type. Zero bytes give a valid pointer.
void *shardArenaAllocate(ShardArena *arena, size_t sizeBytes);
/// A zeroed array of `count` elements of `elementBytes`; the product is checked for overflow.
void *shardArenaAllocateArray(ShardArena *arena, size_t count, size_t elementBytes);
/// A copy of `length` bytes with a terminating zero.
char *shardArenaCopyString(ShardArena *arena, const char *text, size_t length);
/// printf into the arena.
char *shardArenaFormat(ShardArena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/// Grows an array in place of realloc: returns one of at least `neededCount` elements that begins
/// with the old `count`; updates `*capacity`.
void *shardArenaGrow(ShardArena *arena, void *array, size_t count, size_t *capacity,
                     size_t neededCount, size_t elementBytes);

#define SHARD_ARENA_NEW(arena, Type) ((Type *)shardArenaAllocate((arena), sizeof(Type)))
#define SHARD_ARENA_ARRAY(arena, Type, n)                                                          \
  ((Type *)shardArenaAllocateArray((arena), (size_t)(n), sizeof(Type)))

#ifdef __cplusplus
}
#endif
#endif // SHARD_CORE_ARENA_H
