//===- MlirOpt.cpp - Everything that stock mlir-opt does --------*- C++ -*-===//
// mlir::MlirOptMain has no C entry. The parts that it would do with its own words (options, opening
// files) are done here, so that errors have one form and outputs appear only on success.
//===----------------------------------------------------------------------===//
#include "MlirOpt.h"

extern "C" {
#include "../common/InputFile.h"
#include "../common/OutputFile.h"
#include "Options.h"
}
#include "shard/Passes.h"

#include "mlir-c/RegisterEverything.h"
#include "mlir/CAPI/IR.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

static int parse(int argc, char **argv, mlir::DialectRegistry &registry, std::string &input,
                 std::string &output) {
  static cl::opt<std::string> inputName(cl::Positional, cl::desc("<input file>"), cl::init("-"));
  static cl::opt<std::string> outputName("o", cl::desc("Output filename"),
                                         cl::value_desc("filename"), cl::init("-"));
  mlirRegisterAllDialects(wrap(&registry));
  mlirRegisterAllPasses();
  shardPassesRegister();
  std::string header = mlir::registerCLIOptions("shard-opt", registry), errors;
  raw_string_ostream errorStream(errors);
  if (!cl::ParseCommandLineOptions(argc, argv, header, &errorStream)) {
    shardOptPrintOptionError(errorStream.str().c_str());
    return 1;
  }
  input = inputName;
  output = outputName;
  return -1;
}

extern "C" int shardMlirOptCheck(int argc, char **argv) {
  mlir::DialectRegistry registry;
  std::string input, output;
  return parse(argc, argv, registry, input, output);
}

extern "C" int shardMlirOptMain(int argc, char **argv, ShardInputFile *given) {
  mlir::DialectRegistry registry;
  std::string input, output;
  int status = parse(argc, argv, registry, input, output);
  if (status >= 0)
    return status;
  mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects()) {
    for (StringRef name : registry.getDialectNames())
      outs() << name << '\n';
    return 0;
  }
  if (config.shouldListPasses()) {
    mlir::printRegisteredPasses();
    return 0;
  }
  char message[512];
  ShardInputFile file;
  ShardOutputFile out;
  if (given)
    file = *given;
  else
    shardOptWarnTerminal(input.c_str());
  if ((!given && !shardInputFileRead(input.c_str(), &file, message, sizeof message)) ||
      !shardOutputFileOpen(output.c_str(), &out, message, sizeof message)) {
    errs() << "shard-opt: error: " << message << '\n';
    return 1;
  }
  bool ok;
  {
    raw_fd_ostream stream(fileno(out.stream), /*shouldClose=*/false);
    auto buffer = MemoryBuffer::getMemBuffer(StringRef(file.bytes, file.sizeBytes),
                                             input == "-" ? "<stdin>" : input);
    ok = mlir::succeeded(mlir::MlirOptMain(stream, std::move(buffer), registry, config));
    stream.flush();
    if (stream.has_error()) {
      errs() << "shard-opt: error: cannot write '" << output << "': " << stream.error().message()
             << '\n';
      stream.clear_error();
      ok = false;
    }
  }
  shardInputFileRelease(&file);
  if (!ok) {
    shardOutputFileAbandon(&out);
    return 1;
  }
  if (shardOutputFileCommit(&out, message, sizeof message))
    return 0;
  errs() << "shard-opt: error: " << message << '\n';
  return 1;
}
