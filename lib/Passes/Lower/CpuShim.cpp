//===- CpuShim.cpp - Whether LLVM knows a CPU -------------------*- C++ -*-===//
// LLVM's C API takes any name; an unknown one is only a warning on stderr, and a CPU without 64
// bits ends the process.
//===----------------------------------------------------------------------===//
#include "CpuShim.h"

#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/TargetParser/Triple.h"

#include <memory>

extern "C" int shardCpuIsKnown(const char *triple, const char *cpu) {
  std::string error;
  llvm::Triple parsed(triple);
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(parsed, error);
  if (!target)
    return false;
  std::unique_ptr<llvm::MCSubtargetInfo> any(target->createMCSubtargetInfo(parsed, "", ""));
  if (!any || !any->isCPUStringValid(cpu))
    return false;
  if (parsed.getArch() != llvm::Triple::x86_64)
    return true;
  std::unique_ptr<llvm::MCSubtargetInfo> info(target->createMCSubtargetInfo(parsed, cpu, ""));
  return llvm::StringRef(cpu) == "generic" || info->checkFeatures("+64bit");
}
