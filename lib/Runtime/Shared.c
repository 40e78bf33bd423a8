//===- Shared.c - Memory and locks that all ranks reach -----------*- C -*-===//
// Ranks that are threads have malloc. Ranks that are forked processes have one shared mapping, made
// before the fork, so that an address means the same in all of them. A process may be killed at any
// instruction: its locks are robust, and who waits sleeps on a number (futex), not on a condition
// variable, which a dead waiter can block for good.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Runtime.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { alignment = 64, nClasses = 48 };

/// Before each block. Blocks have sizes of two to the power of their class.
typedef struct Header {
  struct Header *next; // of a free block
  uint32_t class;
  char padding[alignment - sizeof(void *) - sizeof(uint32_t)];
} Header;

struct ShardRtArena {
  pthread_mutex_t mutex;
  size_t sizeBytes, used;
  Header *free[nClasses];
};

bool shardRtMutexInit(pthread_mutex_t *mutex, bool isolated) {
  pthread_mutexattr_t attributes;
  if (!isolated)
    return !pthread_mutex_init(mutex, NULL);
  if (pthread_mutexattr_init(&attributes))
    return false;
  bool good = !pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) &&
              !pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) &&
              !pthread_mutex_init(mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  return good;
}

void shardRtLock(pthread_mutex_t *mutex) {
  if (pthread_mutex_lock(mutex) != EOWNERDEAD)
    return;
  // The owner died with it, and what it guards may be half changed. Once the parent of the ranks
  // has told the world, nobody builds on it any more: let the parent be first.
  pthread_mutex_consistent(mutex);
  usleep(200000);
}

//===----------------------------------------------------------------------===//
// Gates
//===----------------------------------------------------------------------===//

bool shardRtGateInit(ShardRtGate *gate, bool isolated) {
  gate->isolated = isolated;
  gate->nWaiting = 0;
  atomic_init(&gate->epoch, 0);
  return shardRtMutexInit(&gate->mutex, isolated);
}

void shardRtGateDestroy(ShardRtGate *gate) { pthread_mutex_destroy(&gate->mutex); }

static long futex(ShardRtGate *gate, int operation, uint32_t value,
                  const struct timespec *timeout) {
  operation |= gate->isolated ? 0 : FUTEX_PRIVATE_FLAG;
  return syscall(SYS_futex, &gate->epoch, operation, value, timeout, NULL, 0);
}

bool shardRtGateWait(ShardRtGate *gate, int64_t timeoutNs) {
  uint32_t epoch = atomic_load(&gate->epoch);
  struct timespec timeout = {.tv_sec = (time_t)(timeoutNs / 1000000000),
                             .tv_nsec = (long)(timeoutNs % 1000000000)};
  ++gate->nWaiting;
  pthread_mutex_unlock(&gate->mutex);
  bool timedOut = false;
  if (timeoutNs < 0)
    futex(gate, FUTEX_WAIT, epoch, NULL);
  else
    timedOut = futex(gate, FUTEX_WAIT, epoch, &timeout) < 0 && errno == ETIMEDOUT;
  shardRtLock(&gate->mutex);
  --gate->nWaiting;
  return !timedOut;
}

void shardRtGateBroadcast(ShardRtGate *gate) {
  atomic_fetch_add(&gate->epoch, 1);
  if (gate->nWaiting > 0)
    futex(gate, FUTEX_WAKE, INT32_MAX, NULL);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

ShardRtArena *shardRtArenaCreate(void) {
  // Room, not memory: pages come with their first use. Where room is short, less of it.
  for (size_t bytes = (size_t)1 << 40; bytes >= (size_t)1 << 26; bytes /= 4) {
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
      continue;
    ShardRtArena *arena = base;
    arena->sizeBytes = bytes;
    arena->used = (sizeof(*arena) + alignment - 1) / alignment * alignment;
    if (shardRtMutexInit(&arena->mutex, true))
      return arena;
    munmap(base, bytes);
    return NULL;
  }
  return NULL;
}

void shardRtArenaDestroy(ShardRtArena *arena) {
  if (arena)
    munmap(arena, arena->sizeBytes);
}

bool shardRtArenaHolds(const ShardRtArena *arena, const void *memory) {
  return (const char *)memory >= (const char *)arena &&
         (const char *)memory < (const char *)arena + arena->sizeBytes;
}

void *shardRtAllocate(ShardRtArena *arena, size_t bytes) {
  if (!arena) {
    size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void *memory = rounded < bytes ? NULL : aligned_alloc(alignment, rounded ? rounded : alignment);
    return memory ? memset(memory, 0, bytes) : NULL;
  }
  uint32_t class = 7; // a header and a line
  while (class < nClasses && ((size_t)1 << class) - sizeof(Header) < bytes)
    ++class;
  if (class == nClasses)
    return NULL;
  shardRtLock(&arena->mutex);
  Header *block = arena->free[class];
  bool used = block != NULL;
  if (used) {
    arena->free[class] = block->next;
  } else if ((size_t)1 << class <= arena->sizeBytes - arena->used) {
    block = (Header *)((char *)arena + arena->used);
    arena->used += (size_t)1 << class;
  }
  pthread_mutex_unlock(&arena->mutex);
  if (!block)
    return NULL;
  block->class = class;
  return used ? memset(block + 1, 0, bytes) : block + 1; // new pages are zero
}

void shardRtRelease(ShardRtArena *arena, void *memory) {
  if (!arena || !memory) {
    free(memory);
    return;
  }
  Header *block = (Header *)memory - 1;
  shardRtLock(&arena->mutex);
  block->next = arena->free[block->class];
  arena->free[block->class] = block;
  pthread_mutex_unlock(&arena->mutex);
}
