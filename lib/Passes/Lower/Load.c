//===- Load.c - A program in this process --------------------------*- C -*-===//
#define _GNU_SOURCE
#include "shard/Load.h"
#include "EmitInternal.h"

#include "../Core/Diagnostics.h"

#include "llvm-c/Error.h"
#include "llvm-c/LLJIT.h"
#include "llvm-c/Orc.h"
#include "llvm-c/Target.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ShardLoaded {
  const ShardProgram *program;
  LLVMOrcLLJITRef jit; // or
  void *library;
};

static ShardLoaded *failWith(MlirOperation module, LLVMErrorRef error, LLVMOrcLLJITRef jit) {
  char *text = LLVMGetErrorMessage(error);
  shardEmitError(module, "the program does not load: %s", text);
  LLVMDisposeErrorMessage(text);
  if (jit) {
    error = LLVMOrcDisposeLLJIT(jit);
    if (error)
      LLVMConsumeError(error);
  }
  return NULL;
}

ShardLoaded *shardLoadModule(MlirOperation module, const char *mcpu) {
  LLVMMemoryBufferRef object = shardEmitBuffer(module, mcpu);
  if (!object)
    return NULL;
  LLVMOrcLLJITRef jit = NULL;
  LLVMErrorRef error = LLVMOrcCreateLLJIT(&jit, NULL);
  if (error) {
    LLVMDisposeMemoryBuffer(object);
    return failWith(module, error, NULL);
  }
  LLVMOrcJITDylibRef dylib = LLVMOrcLLJITGetMainJITDylib(jit);
  // The runtime, libc and libm are found in the process.
  LLVMOrcDefinitionGeneratorRef process;
  error = LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
      &process, LLVMOrcLLJITGetGlobalPrefix(jit), NULL, NULL);
  if (error) {
    LLVMDisposeMemoryBuffer(object);
    return failWith(module, error, jit);
  }
  LLVMOrcJITDylibAddGenerator(dylib, process);
  error = LLVMOrcLLJITAddObjectFile(jit, dylib, object); // takes `object`
  if (error)
    return failWith(module, error, jit);
  LLVMOrcExecutorAddress address;
  error = LLVMOrcLLJITLookup(jit, &address, "shardProgram");
  if (error)
    return failWith(module, error, jit);
  ShardLoaded *loaded = calloc(1, sizeof(*loaded));
  if (!loaded) {
    shardEmitError(module, "out of memory");
    error = LLVMOrcDisposeLLJIT(jit);
    if (error)
      LLVMConsumeError(error);
    return NULL;
  }
  loaded->jit = jit;
  ShardProgramGetter getter;
  uintptr_t bits = (uintptr_t)address;
  memcpy(&getter, &bits, sizeof(getter));
  loaded->program = getter();
  return loaded;
}

static void setError(char **outError, const char *text, const char *path) {
  size_t size = strlen(text) + strlen(path) + 16;
  *outError = malloc(size);
  if (*outError)
    snprintf(*outError, size, "'%s': %s", path, text);
}

ShardLoaded *shardLoadShared(const char *path, char **outError) {
  *outError = NULL;
  // dlopen looks on a search path unless the name holds a slash.
  char *name = malloc(strlen(path) + 3);
  if (!name)
    return NULL;
  sprintf(name, "%s%s", strchr(path, '/') ? "" : "./", path);
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  free(name);
  if (!library) {
    const char *text = dlerror();
    setError(outError, text ? text : "cannot be opened", path);
    return NULL;
  }
  ShardProgramGetter getter;
  void *symbol = dlsym(library, "shardProgram");
  if (!symbol) {
    setError(outError, "is not a program: it does not export shardProgram", path);
    dlclose(library);
    return NULL;
  }
  memcpy(&getter, &symbol, sizeof(getter));
  const ShardProgram *program = getter();
  if (!program || program->abiVersion != SHARD_PROGRAM_ABI_VERSION) {
    char text[96];
    snprintf(text, sizeof(text), "has interface version %u; expected %u",
             program ? program->abiVersion : 0, SHARD_PROGRAM_ABI_VERSION);
    setError(outError, text, path);
    dlclose(library);
    return NULL;
  }
  ShardLoaded *loaded = calloc(1, sizeof(*loaded));
  if (!loaded) {
    dlclose(library);
    return NULL;
  }
  loaded->library = library;
  loaded->program = program;
  return loaded;
}

const ShardProgram *shardLoadedGetProgram(const ShardLoaded *loaded) { return loaded->program; }

void shardLoadedDestroy(ShardLoaded *loaded) {
  if (!loaded)
    return;
  if (loaded->jit) {
    LLVMErrorRef error = LLVMOrcDisposeLLJIT(loaded->jit);
    if (error)
      LLVMConsumeError(error);
  }
  if (loaded->library)
    dlclose(loaded->library);
  free(loaded);
}
