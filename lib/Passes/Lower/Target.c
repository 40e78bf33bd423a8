//===- Target.c - The CPU that code is made for --------------------*- C -*-===//
#define _GNU_SOURCE
#include "Target.h"

#include "CpuShim.h"

#include "llvm-c/Core.h"
#include "llvm-c/Target.h"

#include <pthread.h>
#include <string.h>

static bool isHost(const char *mcpu) {
  return !mcpu || !*mcpu || !strcmp(mcpu, "host") || !strcmp(mcpu, "native");
}

static bool hasFeature(const char *features, const char *name) {
  size_t length = strlen(name);
  for (const char *p = features; (p = strstr(p, name)); p += length)
    if (p > features && p[-1] == '+' && (p[length] == ',' || p[length] == 0))
      return true;
  return false;
}

ShardTarget shardTargetGet(const char *mcpu, int64_t vectorBits) {
  ShardTarget target = {.vectorBytes = 16};
  if (isHost(mcpu)) {
    char *features = LLVMGetHostCPUFeatures();
    if (hasFeature(features, "avx512f") && hasFeature(features, "avx512vl")) {
      target.vectorBytes = 64;
      target.manyRegisters = true;
    } else if (hasFeature(features, "avx")) {
      target.vectorBytes = 32;
    } else if (hasFeature(features, "neon")) {
      target.manyRegisters = true;
    }
    LLVMDisposeMessage(features);
  }
  if (vectorBits >= 64)
    for (target.vectorBytes = 8; target.vectorBytes * 16 <= vectorBits;) // a power of two
      target.vectorBytes *= 2;
  return target;
}

static void initializeTarget(void) {
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
}

/// LLVM's table of targets is the process's: compilations on two threads fill it once.
static void initializeTargetOnce(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, initializeTarget);
}

bool shardTargetIsKnown(const char *mcpu) {
  if (isHost(mcpu))
    return true;
  initializeTargetOnce();
  char *triple = LLVMGetDefaultTargetTriple();
  bool known = shardCpuIsKnown(triple, mcpu);
  LLVMDisposeMessage(triple);
  return known;
}

LLVMTargetMachineRef shardTargetMachineCreate(const char *mcpu, char **outMessage) {
  initializeTargetOnce();
  if (!shardTargetIsKnown(mcpu)) {
    *outMessage = LLVMCreateMessage("no CPU of this architecture has the name given for mcpu");
    return NULL;
  }
  char *triple = LLVMGetDefaultTargetTriple();
  LLVMTargetRef target;
  if (LLVMGetTargetFromTriple(triple, &target, outMessage)) {
    LLVMDisposeMessage(triple);
    return NULL;
  }
  bool host = isHost(mcpu);
  char *cpu = host ? LLVMGetHostCPUName() : NULL;
  char *features = host ? LLVMGetHostCPUFeatures() : NULL;
  LLVMTargetMachineRef machine =
      LLVMCreateTargetMachine(target, triple, host ? cpu : mcpu, host ? features : "",
                              LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
  if (host) {
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
  }
  LLVMDisposeMessage(triple);
  return machine;
}
