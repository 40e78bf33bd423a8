//===- Stock.c - Our lowering against MLIR's own ------------------*- C -*-===//
// shard-ops-stock DIRECTORY MLIR_BIN PROGRAM...  Runs each program unsharded by shard-run and by
// mlir-opt and mlir-runner, on arguments that are computed inside, and compares. What stock MLIR
// does not lower is said and skipped. SHARD_ONLY=TEXT: only functions with it in their name.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "Programs.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static void print(MlirStringRef text, void *file) { fwrite(text.data, 1, text.length, file); }
static void printType(FILE *file, MlirType type) { mlirTypePrint(type, print, file); }

static bool isKnown(MlirType type) {
  if (!mlirTypeIsARankedTensor(type) || mlirShapedTypeGetRank(type) == 0)
    return false;
  MlirType element = mlirShapedTypeGetElementType(type);
  return mlirTypeIsAF32(element) || mlirTypeIsAF64(element) || mlirTypeIsAInteger(element);
}

static void printMap(FILE *file, intptr_t rank, bool scalar) {
  fputs("affine_map<(", file);
  for (intptr_t d = 0; d < rank; ++d)
    fprintf(file, "%sd%td", d ? ", " : "", d);
  fputs(") -> (", file);
  for (intptr_t d = 0; !scalar && d < rank; ++d)
    fprintf(file, "%sd%td", d ? ", " : "", d);
  fputs(")>", file);
}

/// %a<i>: small numbers that depend on the place and on the argument.
static void writeArgument(FILE *file, intptr_t i, MlirType type) {
  MlirType element = mlirShapedTypeGetElementType(type);
  intptr_t rank = mlirShapedTypeGetRank(type);
  bool isFloat = mlirTypeIsAFloat(element);
  unsigned width = isFloat ? 0 : mlirIntegerTypeGetWidth(element);
  fprintf(file, "  %%b%td = tensor.empty() : ", i);
  printType(file, type);
  fprintf(file, "\n  %%a%td = linalg.generic {indexing_maps = [", i);
  printMap(file, rank, false);
  fputs("], iterator_types = [", file);
  for (intptr_t d = 0; d < rank; ++d)
    fprintf(file, "%s\"parallel\"", d ? ", " : "");
  fprintf(file, "]} outs(%%b%td : ", i);
  printType(file, type);
  fputs(") {\n  ^bb0(%o: ", file);
  printType(file, element);
  fprintf(file, "):\n    %%n0 = arith.constant %td : index\n", 3 * i + 1);
  for (intptr_t d = 0; d < rank; ++d)
    fprintf(file,
            "    %%i%td = linalg.index %td : index\n    %%f%td = arith.constant %td : index\n"
            "    %%m%td = arith.muli %%i%td, %%f%td : index\n"
            "    %%n%td = arith.addi %%n%td, %%m%td : index\n",
            d, d, d, 2 * d + 5, d, d, d, d + 1, d, d);
  fprintf(file,
          "    %%c = arith.constant %d : index\n    %%r = arith.remui %%n%td, %%c : index\n"
          "    %%l = arith.index_cast %%r : index to i64\n",
          isFloat      ? 17
          : width == 1 ? 2
                       : 4,
          rank);
  if (isFloat) {
    fputs("    %x = arith.sitofp %l : i64 to ", file);
    printType(file, element);
    fputs("\n    %h = arith.constant 0.125 : ", file);
    printType(file, element);
    fputs("\n    %e1 = arith.constant 1.0625 : ", file);
    printType(file, element);
    fputs("\n    %y = arith.mulf %x, %h : ", file);
    printType(file, element);
    fputs("\n    %z = arith.subf %y, %e1 : ", file);
    printType(file, element);
  } else if (width < 64) {
    fprintf(file, "    %%z = arith.trunci %%l : i64 to i%u", width);
  } else {
    fputs("    %z = arith.ori %l, %l : i64", file);
  }
  fputs("\n    linalg.yield %z : ", file);
  printType(file, element);
  fputs("\n  } -> ", file);
  printType(file, type);
  fputs("\n", file);
}

static void writeCall(FILE *file, const char *name, MlirType function) {
  intptr_t nInputs = mlirFunctionTypeGetNumInputs(function);
  intptr_t nResults = mlirFunctionTypeGetNumResults(function);
  for (intptr_t i = 0; i < nInputs; ++i)
    writeArgument(file, i, mlirFunctionTypeGetInput(function, i));
  fputs("  ", file);
  for (intptr_t r = 0; r < nResults; ++r)
    fprintf(file, "%s%%r%td", r ? ", " : "", r);
  fprintf(file, " = func.call @%s(", name);
  for (intptr_t i = 0; i < nInputs; ++i)
    fprintf(file, "%s%%a%td", i ? ", " : "", i);
  fputs(") : ", file);
  printType(file, function);
  fputs("\n", file);
}

/// Our side: @main returns what the program does.
static void writeOurs(const char *path, const char *program, const char *name, MlirType function) {
  FILE *file = fopen(path, "w");
  if (!file)
    stop("cannot write", path);
  intptr_t n = mlirFunctionTypeGetNumResults(function);
  fprintf(file, "%s\nfunc.func @main_of_stock(%%one: tensor<1xf32>) -> (", program);
  for (intptr_t r = 0; r < n; ++r) {
    fputs(r ? ", " : "", file);
    printType(file, mlirFunctionTypeGetResult(function, r));
  }
  fputs(") {\n", file);
  writeCall(file, name, function);
  fputs("  return ", file);
  for (intptr_t r = 0; r < n; ++r)
    fprintf(file, "%s%%r%td", r ? ", " : "", r);
  for (intptr_t r = 0; r < n; ++r) {
    fputs(r ? ", " : " : ", file);
    printType(file, mlirFunctionTypeGetResult(function, r));
  }
  fputs("\n}\n", file);
  fclose(file);
}

/// The elements of an .npy file as text of a dense constant; false when there is none.
static bool writeNpy(FILE *out, const char *path, MlirType type) {
  FILE *file = fopen(path, "rb");
  unsigned char head[10];
  if (!file || fread(head, 1, 10, file) != 10)
    return false;
  fseek(file, 10 + head[8] + 256 * head[9], SEEK_SET);
  MlirType element = mlirShapedTypeGetElementType(type);
  int64_t count = 1;
  for (intptr_t d = 0; d < mlirShapedTypeGetRank(type); ++d)
    count *= mlirShapedTypeGetDimSize(type, d);
  bool isFloat = mlirTypeIsAFloat(element);
  unsigned bits = isFloat ? mlirFloatTypeGetWidth(element) : mlirIntegerTypeGetWidth(element);
  size_t bytes = bits < 8 ? 1 : bits / 8;
  bool ok = true;
  for (int64_t i = 0; i < count && ok; ++i) {
    union {
      float f;
      double d;
      int64_t l;
      uint32_t w;
    } v = {.l = 0};
    ok = fread(&v, bytes, 1, file) == 1;
    fputs(i ? ", " : "", out);
    if (isFloat)
      fprintf(out, bytes == 4 ? "0x%08" PRIX64 : "0x%016" PRIX64, v.l);
    else
      fprintf(out, "%" PRId64, (int64_t)((uint64_t)v.l << (64 - 8 * bytes)) >> (64 - 8 * bytes));
  }
  fclose(file);
  return ok;
}

/// Counts elements of result r that differ from ours: integers by a bit, floats by 1e-5 of 1 +
/// |ours|.
static void writeComparison(FILE *file, intptr_t r, MlirType type, const char *directory) {
  MlirType element = mlirShapedTypeGetElementType(type);
  intptr_t rank = mlirShapedTypeGetRank(type);
  int64_t count = 1;
  for (intptr_t d = 0; d < rank; ++d)
    count *= mlirShapedTypeGetDimSize(type, d);
  char path[700];
  snprintf(path, sizeof path, "%s/out/out%03td.npy", directory, r);
  MlirType flat = mlirRankedTensorTypeGet(1, &count, element, mlirAttributeGetNull());
  fprintf(file, "  %%flat%td = arith.constant dense<[", r);
  if (!writeNpy(file, path, type))
    stop("cannot read", path);
  fputs("]> : ", file);
  printType(file, flat);
  fprintf(file, "\n  %%ours%td = tensor.expand_shape %%flat%td [[", r, r);
  for (intptr_t d = 0; d < rank; ++d)
    fprintf(file, "%s%td", d ? ", " : "", d);
  fputs("]] output_shape [", file);
  for (intptr_t d = 0; d < rank; ++d)
    fprintf(file, "%s%" PRId64, d ? ", " : "", mlirShapedTypeGetDimSize(type, d));
  fputs("] : ", file);
  printType(file, flat);
  fputs(" into ", file);
  printType(file, type);
  fprintf(file, "\n  %%d%td = linalg.generic {indexing_maps = [", r);
  printMap(file, rank, false);
  fputs(", ", file);
  printMap(file, rank, false);
  fputs(", ", file);
  printMap(file, rank, true);
  fputs("], iterator_types = [", file);
  for (intptr_t d = 0; d < rank; ++d)
    fprintf(file, "%s\"reduction\"", d ? ", " : "");
  fprintf(file, "]} ins(%%r%td, %%ours%td : ", r, r);
  printType(file, type);
  fputs(", ", file);
  printType(file, type);
  fputs(") outs(%zero : tensor<i64>) {\n  ^bb0(%x: ", file);
  printType(file, element);
  fputs(", %y: ", file);
  printType(file, element);
  fputs(", %n: i64):\n", file);
  char *name = NULL;
  size_t length = 0;
  FILE *memory = open_memstream(&name, &length);
  printType(memory, element);
  fclose(memory);
  if (mlirTypeIsAFloat(element))
    fprintf(file,
            "    %%df = arith.subf %%x, %%y : %s\n    %%ab = math.absf %%df : %s\n"
            "    %%ay = math.absf %%y : %s\n    %%one = arith.constant 1.0 : %s\n"
            "    %%sc = arith.addf %%ay, %%one : %s\n    %%ep = arith.constant 1.0e-5 : %s\n"
            "    %%bar = arith.mulf %%sc, %%ep : %s\n    %%gt = arith.cmpf ugt, %%ab, %%bar : %s\n"
            "    %%ne = arith.cmpf une, %%x, %%y : %s\n    %%nx = arith.cmpf uno, %%x, %%x : %s\n"
            "    %%ny = arith.cmpf uno, %%y, %%y : %s\n    %%nn = arith.andi %%nx, %%ny : i1\n"
            "    %%both = arith.andi %%gt, %%ne : i1\n    %%true = arith.constant true\n"
            "    %%some = arith.xori %%nn, %%true : i1\n    %%c = arith.andi %%both, %%some : i1\n",
            name, name, name, name, name, name, name, name, name, name, name);
  else
    fprintf(file, "    %%c = arith.cmpi ne, %%x, %%y : %s\n", name);
  free(name);
  fprintf(file,
          "    %%i = arith.extui %%c : i1 to i64\n    %%s = arith.addi %%n, %%i : i64\n"
          "    linalg.yield %%s : i64\n  } -> tensor<i64>\n"
          "  %%v%td = tensor.extract %%d%td[] : tensor<i64>\n"
          "  func.call @printI64(%%v%td) : (i64) -> ()\n  func.call @printNewline() : () -> ()\n",
          r, r, r);
}

static void writeStock(const char *path, const char *program, const char *name, MlirType function,
                       const char *directory) {
  FILE *file = fopen(path, "w");
  if (!file)
    stop("cannot write", path);
  fprintf(file,
          "%s\nfunc.func private @printI64(i64)\nfunc.func private @printNewline()\n"
          "func.func @entry() {\n  %%zero64 = arith.constant 0 : i64\n"
          "  %%zero = tensor.from_elements %%zero64 : tensor<i64>\n",
          program);
  writeCall(file, name, function);
  for (intptr_t r = 0; r < mlirFunctionTypeGetNumResults(function); ++r)
    writeComparison(file, r, mlirFunctionTypeGetResult(function, r), directory);
  fputs("  return\n}\n", file);
  fclose(file);
}

static bool run(const char *command) {
  int status = system(command);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static const char pipeline[] =
    "builtin.module(func.func(tosa-to-linalg-named,tosa-to-linalg,"
    "tosa-to-arith{include-apply-rescale=true},tosa-to-tensor),"
    "func.func(convert-elementwise-to-linalg,linalg-generalize-named-ops),"
    "empty-tensor-to-alloc-tensor,one-shot-bufferize{bufferize-function-boundaries=1 "
    "allow-return-allocs-from-loops=1},func.func(convert-linalg-to-loops),"
    "expand-strided-metadata,lower-affine,convert-scf-to-cf,arith-expand{include-bf16=1},"
    "func.func(math-expand-ops{ops=rsqrt,ipowi,fpowi,sincos,roundeven}),convert-math-to-llvm,"
    "convert-math-to-libm,convert-arith-to-llvm,convert-cf-to-llvm,"
    "convert-index-to-llvm,finalize-memref-to-llvm,convert-func-to-llvm,"
    "reconcile-unrealized-casts)";

static long passed, failed, skipped;

static void runProgram(const char *directory, const char *bin, const char *program,
                       const char *name, MlirType function) {
  char command[4000], ours[600], stock[600];
  snprintf(ours, sizeof ours, "%s/ours.mlir", directory);
  snprintf(stock, sizeof stock, "%s/stock.mlir", directory);
  writeOurs(ours, program, name, function);
  snprintf(command, sizeof command,
           "mkdir -p %s/out && rm -f %s/out/* && shard-run %s --auto-shard=tp1 "
           "--function=main_of_stock --save=%s/out --quiet 2>%s/error.txt",
           directory, directory, ours, directory, directory);
  if (!run(command)) {
    printf("@%s: shard-run failed: ", name);
    fflush(stdout);
    snprintf(command, sizeof command, "head -n 1 %s/error.txt", directory);
    run(command);
    ++failed;
    return;
  }
  writeStock(stock, program, name, function, directory);
  snprintf(command, sizeof command,
           "%s/mlir-opt '--pass-pipeline=%s' %s -o %s/lowered.mlir 2>%s/error.txt && "
           "%s/mlir-runner -e entry --entry-point-result=void -O1 "
           "--shared-libs=%s/../lib/libmlir_c_runner_utils.so,%s/../lib/libmlir_runner_utils.so "
           "%s/lowered.mlir >%s/counts.txt 2>%s/error.txt",
           bin, pipeline, stock, directory, directory, bin, bin, bin, directory, directory,
           directory);
  if (!run(command)) {
    ++skipped;
    printf("skipped: @%s: stock MLIR does not lower it\n", name);
    return;
  }
  snprintf(command, sizeof command,
           "grep -q '^[0-9]' %s/counts.txt && ! grep -q '^[1-9]' %s/counts.txt", directory,
           directory);
  if (run(command)) {
    ++passed;
    return;
  }
  ++failed;
  printf("@%s: elements that differ from mlir-runner's, by result:\n", name);
  fflush(stdout);
  snprintf(command, sizeof command, "cat %s/counts.txt", directory);
  run(command);
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fputs("usage: shard-ops-stock DIRECTORY MLIR_BIN PROGRAM...\n", stderr);
    return 1;
  }
  const char *only = getenv("SHARD_ONLY");
  MlirContext context = createContext();
  for (int i = 3; i < argc; ++i) {
    char *rest = readFile(argv[i]);
    for (char *program; (program = nextProgram(&rest));) {
      MlirModule module = mlirModuleCreateParse(context, mlirStringRefCreateFromCString(program));
      if (mlirModuleIsNull(module))
        stop("a program does not parse in", argv[i]);
      MlirOperation func = mlirBlockGetFirstOperation(mlirModuleGetBody(module));
      MlirStringRef symbol = mlirStringAttrGetValue(
          mlirOperationGetAttributeByName(func, mlirStringRefCreateFromCString("sym_name")));
      char name[200];
      snprintf(name, sizeof name, "%.*s", (int)symbol.length, symbol.data);
      MlirType type = mlirTypeAttrGetValue(
          mlirOperationGetAttributeByName(func, mlirStringRefCreateFromCString("function_type")));
      bool known = !only || strstr(name, only);
      for (intptr_t k = 0; k < mlirFunctionTypeGetNumInputs(type); ++k)
        known &= isKnown(mlirFunctionTypeGetInput(type, k));
      for (intptr_t k = 0; k < mlirFunctionTypeGetNumResults(type); ++k)
        known &= isKnown(mlirFunctionTypeGetResult(type, k));
      if (known)
        runProgram(argv[1], argv[2], program, name, type);
      mlirModuleDestroy(module);
    }
  }
  printf("stock: %ld passed, %ld failed, %ld skipped\n", passed, failed, skipped);
  return failed != 0 || passed == 0;
}
