//===- EmitFiles.c - Objects and shared objects as files -----------*- C -*-===//
#define _GNU_SOURCE
#include "EmitInternal.h"
#include "shard/Emit.h"

#include "../../../tools/common/OutputFile.h"
#include "../Core/Diagnostics.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

MlirLogicalResult shardEmitObjectToMemory(MlirOperation module, const char *mcpu, void **outBytes,
                                          size_t *outSizeBytes) {
  LLVMMemoryBufferRef buffer = shardEmitBuffer(module, mcpu);
  if (!buffer)
    return mlirLogicalResultFailure();
  size_t size = LLVMGetBufferSize(buffer);
  void *bytes = malloc(size);
  if (bytes) {
    memcpy(bytes, LLVMGetBufferStart(buffer), size);
    *outBytes = bytes;
    *outSizeBytes = size;
  }
  LLVMDisposeMemoryBuffer(buffer);
  return bytes ? mlirLogicalResultSuccess() : shardEmitError(module, "out of memory");
}

/// Writes and releases `buffer`: everything, or nothing. `runs`: a new file may be executed.
static MlirLogicalResult writeBuffer(MlirOperation module, const char *path, bool runs,
                                     LLVMMemoryBufferRef buffer) {
  ShardOutputFile file;
  char message[512];
  bool ok = shardOutputFileOpen(path, &file, message, sizeof message);
  if (ok) {
    struct stat status;
    if (runs && file.tempPath && fstat(fileno(file.stream), &status) == 0)
      (void)!fchmod(fileno(file.stream), (status.st_mode & 07777) | (status.st_mode & 0444) >> 2);
    fwrite(LLVMGetBufferStart(buffer), 1, LLVMGetBufferSize(buffer), file.stream);
    ok = shardOutputFileCommit(&file, message, sizeof message);
  }
  LLVMDisposeMemoryBuffer(buffer);
  return ok ? mlirLogicalResultSuccess() : shardEmitError(module, "%s", message);
}

MlirLogicalResult shardEmitObject(MlirOperation module, const char *mcpu, const char *path) {
  LLVMMemoryBufferRef buffer = shardEmitBuffer(module, mcpu);
  return buffer ? writeBuffer(module, path, false, buffer) : mlirLogicalResultFailure();
}

/// A new folder of ours, for `folder` of that size, to be removed with what is in it.
static bool makeFolder(char *folder, size_t capacity) {
  const char *under = getenv("TMPDIR");
  int n = snprintf(folder, capacity, "%s/shard.XXXXXX", under && *under ? under : P_tmpdir);
  errno = ENAMETOOLONG;
  return n > 0 && (size_t)n < capacity && mkdtemp(folder);
}

/// Links `object` to `shared` by `cc`. `path`: what the loader and errors call it.
static MlirLogicalResult linkShared(MlirOperation module, const char *path, char *object,
                                    char *shared) {
  const char *slash = strrchr(path, '/');
  char soname[4096];
  snprintf(soname, sizeof(soname), "-Wl,-soname,%s", slash ? slash + 1 : path);
  char *arguments[] = {"cc", "-shared", soname, "-o", shared, "-x", "none", object, "-lm", NULL};
  pid_t child;
  int error = posix_spawnp(&child, "cc", NULL, NULL, arguments, environ);
  if (error)
    return error == ENOENT ? shardEmitError(module, "'cc' is not on PATH; it links shared objects")
                           : shardEmitError(module, "'cc' did not start: %s", strerror(error));
  int status;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  if (!WIFEXITED(status) || WEXITSTATUS(status))
    return shardEmitError(module, "'cc -shared' failed to link '%s'", path);
  return mlirLogicalResultSuccess();
}

MlirLogicalResult shardEmitShared(MlirOperation module, const char *mcpu, const char *path) {
  LLVMMemoryBufferRef buffer = shardEmitBuffer(module, mcpu);
  if (!buffer)
    return mlirLogicalResultFailure();
  char folder[2048], object[2064], shared[2064];
  if (!makeFolder(folder, sizeof folder)) {
    int error = errno;
    LLVMDisposeMemoryBuffer(buffer);
    return shardEmitError(module, "cannot write '%s': %s", folder, strerror(error));
  }
  snprintf(object, sizeof object, "%s/object.o", folder);
  snprintf(shared, sizeof shared, "%s/shared.so", folder);
  MlirLogicalResult result = writeBuffer(module, object, false, buffer);
  if (mlirLogicalResultIsSuccess(result))
    result = linkShared(module, path, object, shared);
  char *message = NULL;
  if (mlirLogicalResultIsSuccess(result) &&
      LLVMCreateMemoryBufferWithContentsOfFile(shared, &buffer, &message)) {
    result = shardEmitError(module, "'cc -shared' failed to link '%s'", path);
    LLVMDisposeMessage(message);
  }
  unlink(object);
  unlink(shared);
  rmdir(folder);
  return mlirLogicalResultIsSuccess(result) ? writeBuffer(module, path, true, buffer) : result;
}
