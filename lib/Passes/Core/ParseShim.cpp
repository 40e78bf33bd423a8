//===- ParseShim.cpp - Parse a module under a file name ---------*- C++ -*-===//
// The C API names the source "-" when a module comes from memory.
//===----------------------------------------------------------------------===//
#include "ParseShim.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

extern "C" MlirModule shardParseNamed(MlirContext context, MlirStringRef text, MlirStringRef name) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(
      unwrap(text), mlir::ParserConfig(unwrap(context)), unwrap(name));
  return wrap(module.release());
}
