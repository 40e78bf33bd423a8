//===- ParseShim.cpp - Parse a module under a file name ---------*- C++ -*-===//
// The C API names the source "-" when a module comes from memory. Some text brings MLIR's parser
// down, after its error or without one (`linalg.reduce ... dimensions = [?]`): that is contained.
//===----------------------------------------------------------------------===//
#include "ParseShim.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CrashRecoveryContext.h"

extern "C" MlirModule shardParseNamed(MlirContext context, MlirStringRef text, MlirStringRef name) {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::CrashRecoveryContext::Enable();
  {
    llvm::CrashRecoveryContext recovery;
    recovery.RunSafely([&] {
      module = mlir::parseSourceString<mlir::ModuleOp>(
          unwrap(text), mlir::ParserConfig(unwrap(context)), unwrap(name));
    });
  }
  llvm::CrashRecoveryContext::Disable();
  return wrap(module.release());
}
