//===- RegisteredOps.cpp - Names of the ops that dialects register ===//
// C++ because the C API has no list of registered ops. Prints them, a name a line.
//===----------------------------------------------------------------------===//
#include "mlir/CAPI/IR.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OperationSupport.h"

#include "mlir-c/RegisterEverything.h"

#include <cstdio>
#include <set>
#include <string>

int main() {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirRegisterAllDialects(registry);
  MlirContext context = mlirContextCreateWithRegistry(registry, false);
  static const char *const names[] = {"arith", "linalg", "math", "scf", "tensor", "tosa"};
  for (const char *name : names)
    mlirContextGetOrLoadDialect(context, mlirStringRefCreateFromCString(name));
  std::set<std::string> wanted(std::begin(names), std::end(names));
  std::set<std::string> ops;
  for (mlir::RegisteredOperationName op : unwrap(context)->getRegisteredOperations())
    if (wanted.count(op.getDialectNamespace().str()))
      ops.insert(op.getStringRef().str());
  for (const std::string &op : ops)
    std::puts(op.c_str());
  mlirContextDestroy(context);
  return 0;
}
