//===- AllocationCount.c - Allocations of a thread ----------------*- C -*-===//
// Functions of the executable come before those of libraries, so that every library's calls of
// malloc and mmap arrive here, be it loaded now or later, and go on to glibc's own. A sanitizer has
// put itself there already; it is asked to tell.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "AllocationCount.h"

#include <stddef.h>

static _Thread_local bool counting;
static _Thread_local uint64_t nCalls;

static inline void countCall(void) { nCalls += counting; }

void allocationCountBegin(void) {
  nCalls = 0;
  counting = true;
}

uint64_t allocationCountEnd(void) {
  counting = false;
  return nCalls;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNDER_SANITIZER
#endif
#endif

#ifdef UNDER_SANITIZER

// Of sanitizer/allocator_interface.h, which Debian's gcc comes without.
int __sanitizer_install_malloc_and_free_hooks(void (*mallocHook)(const volatile void *, size_t),
                                              void (*freeHook)(const volatile void *));

static void hearMalloc(const volatile void *memory, size_t size) {
  (void)memory, (void)size;
  countCall();
}
static void hearFree(const volatile void *memory) {
  (void)memory;
  countCall();
}

bool allocationCountWorks(void) {
  static bool installed;
  if (!installed)
    installed = __sanitizer_install_malloc_and_free_hooks(hearMalloc, hearFree) != 0;
  return installed;
}

#elif defined(__GLIBC__)

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

bool allocationCountWorks(void) { return true; }

#pragma GCC visibility push(default) // for libraries to find them

// The names under which glibc has its own, for those that put theirs in their place.
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

void *malloc(size_t size) {
  countCall();
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  countCall();
  return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
  countCall();
  return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
  countCall();
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  countCall();
  return __libc_memalign(alignment, size);
}

void *valloc(size_t size) {
  countCall();
  return __libc_memalign((size_t)sysconf(_SC_PAGESIZE), size);
}

void *pvalloc(size_t size) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), whole;
  countCall();
  if (__builtin_add_overflow(size, page - 1, &whole)) {
    errno = ENOMEM;
    return NULL;
  }
  return __libc_memalign(page, whole / page * page);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
  countCall();
  if (alignment % sizeof(void *) || !alignment || (alignment & (alignment - 1)))
    return EINVAL;
  void *memory = __libc_memalign(alignment, size);
  if (!memory)
    return ENOMEM;
  *out = memory;
  return 0;
}

void free(void *memory) {
  if (!memory)
    return; // nothing is given back
  countCall();
  __libc_free(memory);
}

void *mmap(void *address, size_t length, int protection, int flags, int file, off_t offset) {
  countCall();
  return (void *)syscall(SYS_mmap, address, length, protection, flags, file, offset);
}

void *mmap64(void *address, size_t length, int protection, int flags, int file, off64_t offset) {
  return mmap(address, length, protection, flags, file, offset);
}

int munmap(void *address, size_t length) {
  countCall();
  return (int)syscall(SYS_munmap, address, length);
}

void *mremap(void *address, size_t oldLength, size_t newLength, int flags, ...) {
  countCall();
  va_list arguments;
  va_start(arguments, flags);
  void *newAddress = flags & MREMAP_FIXED ? va_arg(arguments, void *) : NULL;
  va_end(arguments);
  return (void *)syscall(SYS_mremap, address, oldLength, newLength, flags, newAddress);
}

#pragma GCC visibility pop

#else

bool allocationCountWorks(void) { return false; }

#endif
