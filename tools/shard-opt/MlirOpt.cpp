//===- MlirOpt.cpp - Everything that stock mlir-opt does --------*- C++ -*-===//
#include "MlirOpt.h"

#include "shard/Passes.h"

#include "mlir-c/RegisterEverything.h"
#include "mlir/CAPI/IR.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

extern "C" int shardMlirOptMain(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlirRegisterAllDialects(wrap(&registry));
  mlirRegisterAllPasses();
  shardPassesRegister();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "shard-opt", registry));
}
