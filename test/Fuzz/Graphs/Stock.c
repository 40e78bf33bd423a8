//===- Stock.c - A program with values, for MLIR's own tools ------*- C -*-===//
#define _GNU_SOURCE

#include "Stock.h"
#include "../../../tools/model/Element.h"
#include "../../../tools/shard-run/Memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT_ELEMENTS = 20000 };

/// "dense<[1.0, 2.0]> : tensor<2xf32>", flat, and the shape beside it.
static void writeConstant(FILE *file, const char *name, const ShardProgramValue *value,
                          const void *data) {
  const char *type = elementName(value->element);
  size_t count = valueGlobalCount(value);
  fprintf(file, "  %s_flat = arith.constant dense<[", name);
  for (size_t i = 0; i < count; ++i) {
    if (elementIsFloat(value->element))
      fprintf(file, "%s%.17e", i ? ", " : "", elementRead(value->element, data, i));
    else if (value->element == SHARD_RT_I1)
      fprintf(file, "%s%s", i ? ", " : "",
              elementReadInteger(value->element, data, i) ? "true" : "false");
    else
      fprintf(file, "%s%" PRId64, i ? ", " : "", elementReadInteger(value->element, data, i));
  }
  fprintf(file, "]> : tensor<%zux%s>\n  %s_shape = arith.constant dense<[", count, type, name);
  for (int32_t d = 0; d < value->rank; ++d)
    fprintf(file, "%s%" PRId64, d ? ", " : "", value->globalShape[d]);
  char text[256];
  valuesFormatType(value, text, sizeof text);
  fprintf(file,
          "]> : tensor<%" PRId32
          "xindex>\n  %s = tensor.reshape %s_flat(%s_shape) : (tensor<%zux%s>, "
          "tensor<%" PRId32 "xindex>) -> tensor<%s>\n",
          value->rank, name, name, name, count, type, value->rank, text);
}

/// Counts elements of %rK that are not those of %eK into %dK.
static void writeComparison(FILE *file, int32_t k, const ShardProgramValue *value, double bar) {
  char text[256];
  const char *type = elementName(value->element);
  valuesFormatType(value, text, sizeof text);
  fprintf(file, "  %%d%" PRId32 " = linalg.generic {indexing_maps = [", k);
  for (int i = 0; i < 3; ++i) {
    fprintf(file, "%saffine_map<(", i ? ", " : "");
    for (int32_t d = 0; d < value->rank; ++d)
      fprintf(file, "%sd%" PRId32, d ? ", " : "", d);
    fprintf(file, ") -> (");
    for (int32_t d = 0; d < value->rank && i < 2; ++d)
      fprintf(file, "%sd%" PRId32, d ? ", " : "", d);
    fprintf(file, ")>");
  }
  fprintf(file, "], iterator_types = [");
  for (int32_t d = 0; d < value->rank; ++d)
    fprintf(file, "%s\"reduction\"", d ? ", " : "");
  fprintf(file,
          "]} ins(%%r%" PRId32 ", %%e%" PRId32
          " : tensor<%s>, tensor<%s>) outs(%%zero : tensor<i64>) {\n"
          "  ^bb0(%%x: %s, %%y: %s, %%n: i64):\n",
          k, k, text, text, type, type);
  if (elementIsFloat(value->element)) {
    fprintf(file,
            "    %%df = arith.subf %%x, %%y : %s\n    %%ab = math.absf %%df : %s\n"
            "    %%bar = arith.constant %.17e : %s\n    %%c = arith.cmpf ugt, %%ab, %%bar : %s\n",
            type, type, bar, type, type);
  } else {
    fprintf(file, "    %%c = arith.cmpi ne, %%x, %%y : %s\n", type);
  }
  fprintf(file, "    %%i = arith.extui %%c : i1 to i64\n    %%s = arith.addi %%n, %%i : i64\n"
                "    linalg.yield %%s : i64\n  } -> tensor<i64>\n");
}

void stockWrite(const char *path, const char *module, const ShardProgram *program,
                const ValueSet *values, const Execution *run, const bool *exact) {
  size_t total = 0;
  for (int32_t i = 0; i < program->nArguments; ++i)
    total += valueGlobalCount(&program->arguments[i]);
  for (int32_t i = 0; i < program->nResults; ++i) {
    total += valueGlobalCount(&program->results[i]);
    if (valueGlobalCount(&program->results[i]) == 0 || program->results[i].rank == 0)
      return;
  }
  for (int32_t i = 0; i < program->nArguments; ++i)
    if (program->arguments[i].constant || valueGlobalCount(&program->arguments[i]) == 0)
      return; // the text has it already
  FILE *file = total <= MAX_TEXT_ELEMENTS ? fopen(path, "w") : NULL;
  if (!file)
    return;
  fprintf(file,
          "%s\nfunc.func private @printI64(i64)\nfunc.func private @printNewline()\nfunc.func "
          "@entry() {\n"
          "  %%zero64 = arith.constant 0 : i64\n  %%zero = tensor.from_elements %%zero64 : "
          "tensor<i64>\n",
          module);
  char name[32];
  for (int32_t i = 0; i < program->nArguments; ++i) {
    const ShardProgramValue *value = &program->arguments[i];
    const ValueSource *source = &values->sources[value->index];
    Placement placement = {
        .nDims = 1, .globalCount = valueGlobalCount(value), .localCount = valueGlobalCount(value)};
    placement.view[0] = placement.local[0] = placement.extent[0] = (int64_t)valueGlobalCount(value);
    void *data = memoryZeroed(valueGlobalCount(value) * elementBytes(value->element));
    valuesFill(source, value->element, &placement, data);
    snprintf(name, sizeof name, "%%a%" PRId32, value->index);
    writeConstant(file, name, value, data);
    free(data);
  }
  for (int32_t i = 0; i < program->nResults; ++i) {
    snprintf(name, sizeof name, "%%e%" PRId32, program->results[i].index);
    writeConstant(file, name, &program->results[i], run->results[program->results[i].index]);
  }
  fprintf(file, "  ");
  for (int32_t i = 0; i < program->nResults; ++i)
    fprintf(file, "%s%%r%" PRId32, i ? ", " : "", i);
  fprintf(file, " = func.call @main(");
  char text[256];
  for (int32_t i = 0; i < program->nArguments; ++i)
    fprintf(file, "%s%%a%" PRId32, i ? ", " : "", i);
  fprintf(file, ") : (");
  for (int32_t i = 0; i < program->nArguments; ++i)
    for (int32_t k = 0; k < program->nArguments; ++k)
      if (program->arguments[k].index == i) {
        valuesFormatType(&program->arguments[k], text, sizeof text);
        fprintf(file, "%stensor<%s>", i ? ", " : "", text);
      }
  fprintf(file, ") -> (");
  for (int32_t i = 0; i < program->nResults; ++i)
    for (int32_t k = 0; k < program->nResults; ++k)
      if (program->results[k].index == i) {
        valuesFormatType(&program->results[k], text, sizeof text);
        fprintf(file, "%stensor<%s>", i ? ", " : "", text);
      }
  fprintf(file, ")\n");
  for (int32_t i = 0; i < program->nResults; ++i) {
    const ShardProgramValue *value = &program->results[i];
    double largest = 0;
    for (size_t k = 0; k < valueGlobalCount(value) && elementIsFloat(value->element); ++k)
      largest = fmax(largest, fabs(elementRead(value->element, run->results[value->index], k)));
    writeComparison(file, value->index, value, exact[value->index] ? 0 : 1e-9 * largest);
    fprintf(file,
            "  %%t%" PRId32 " = tensor.extract %%d%" PRId32 "[] : tensor<i64>\n"
            "  func.call @printI64(%%t%" PRId32
            ") : (i64) -> ()\n  func.call @printNewline() : () -> ()\n",
            value->index, value->index, value->index);
  }
  fprintf(file, "  return\n}\n");
  fclose(file);
}
