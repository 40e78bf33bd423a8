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
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
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

/// Whether an ELF file ends before what its headers say it holds: dlopen would map the rest and die
/// of SIGBUS.
static bool isCutShort(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file)
    return false; // dlopen says why
  Elf64_Ehdr header;
  bool cut = false;
  if (fread(&header, sizeof(header), 1, file) == 1 && !memcmp(header.e_ident, ELFMAG, SELFMAG) &&
      header.e_ident[EI_CLASS] == ELFCLASS64 && !fseek(file, 0, SEEK_END)) {
    uint64_t size = (uint64_t)ftell(file);
    cut = header.e_shoff > size ||
          (uint64_t)header.e_shnum * header.e_shentsize > size - header.e_shoff;
    for (size_t i = 0; i < header.e_phnum && !cut; ++i) {
      Elf64_Phdr segment;
      cut = fseek(file, (long)(header.e_phoff + i * header.e_phentsize), SEEK_SET) != 0 ||
            fread(&segment, sizeof(segment), 1, file) != 1 || segment.p_offset > size ||
            segment.p_filesz > size - segment.p_offset;
    }
  }
  fclose(file);
  return cut;
}

/// Whether a file is an object that no linker has made a shared one.
static bool isObject(const char *path) {
  FILE *file = fopen(path, "rb");
  Elf64_Ehdr header;
  bool object = file && fread(&header, sizeof(header), 1, file) == 1 &&
                !memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_type == ET_REL;
  if (file)
    fclose(file);
  return object;
}

ShardLoaded *shardLoadShared(const char *path, char **outError) {
  *outError = NULL;
  if (isCutShort(path)) {
    setError(outError, "the file is cut short", path);
    return NULL;
  }
  if (isObject(path)) {
    setError(outError, "an object is not loaded; expected what --emit=shared writes", path);
    return NULL;
  }
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
