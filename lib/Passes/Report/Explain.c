//===- Explain.c - Each collective, why, and what else there was --*- C -*-===//
// Written from `spmd.sites` alone, which stays on the module through every later pass.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "shard/Report.h"

#include "../Core/Collectives.h"
#include "../Core/Diagnostics.h"
#include "../Core/IR.h"

#include "mlir-c/BuiltinAttributes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static MlirAttribute get(MlirAttribute row, const char *name) {
  return mlirAttributeIsADictionary(row)
             ? mlirDictionaryAttrGetElementByName(row, mlirStringRefCreateFromCString(name))
             : mlirAttributeGetNull();
}

static MlirStringRef text(MlirAttribute row, const char *name) {
  MlirAttribute value = get(row, name);
  return mlirAttributeIsNull(value) || !mlirAttributeIsAString(value)
             ? mlirStringRefCreate("", 0)
             : mlirStringAttrGetValue(value);
}

static double number(MlirAttribute row, const char *name) {
  MlirAttribute value = get(row, name);
  return mlirAttributeIsNull(value) || !mlirAttributeIsAFloat(value)
             ? 0
             : mlirFloatAttrGetValueDouble(value);
}

static intptr_t listCount(MlirAttribute list) {
  return mlirAttributeIsNull(list) || !mlirAttributeIsAArray(list)
             ? 0
             : mlirArrayAttrGetNumElements(list);
}

static void writeText(FILE *out, const char *label, MlirStringRef value) {
  if (value.length)
    fprintf(out, "  %s%.*s\n", label, (int)value.length, value.data);
}

static void writeSite(FILE *out, MlirAttribute row) {
  MlirAttribute calls = get(row, "calls"), ways = get(row, "otherwise"), axes = get(row, "axes");
  MlirStringRef kind = text(row, "kind"), value = text(row, "value");
  intptr_t nCalls = listCount(calls);
  int64_t site = 0;
  if (!mlirAttributeIsNull(get(row, "site")))
    shardAttrGetI64(get(row, "site"), &site);
  fprintf(out, "site %" PRId64 ": %.*s over ", site, (int)kind.length, kind.data);
  for (intptr_t i = 0; i < listCount(axes); ++i) {
    MlirAttribute axis = mlirArrayAttrGetElement(axes, i);
    MlirStringRef name =
        mlirAttributeIsAString(axis) ? mlirStringAttrGetValue(axis) : mlirStringRefCreate("?", 1);
    fprintf(out, "%s%.*s", i ? "," : "", (int)name.length, name.data);
  }
  int64_t times = shardSiteCallCount(calls);
  fprintf(out, ", %.0f bytes x %" PRId64 " call%s\n", number(row, "bytes"), times,
          times == 1 ? "" : "s");
  writeText(out, "at:        ", text(row, "op"));
  writeText(out, "cause:     ", text(row, "cause"));
  if (value.length) {
    MlirStringRef from = text(row, "from"), to = text(row, "to");
    fprintf(out, "  moves:     %.*s\n  from:      %.*s\n  to:        %.*s\n", (int)value.length,
            value.data, (int)from.length, from.data, (int)to.length, to.data);
    fprintf(out, "  asked for: %s\n",
            mlirAttributeIsNull(get(row, "implicit")) ? "by the user" : "by no annotation");
  }
  for (intptr_t i = 0; i < listCount(ways); ++i) {
    MlirAttribute way = mlirArrayAttrGetElement(ways, i);
    MlirStringRef how = text(way, "how");
    if (i == 0)
      fprintf(out, "  the move:  %.0f bytes in all\n", number(row, "moved"));
    fprintf(out, "  otherwise: %.0f bytes: %.*s\n", number(way, "bytes"), (int)how.length,
            how.data);
  }
  for (intptr_t i = 0; i < nCalls; ++i) {
    MlirAttribute call = mlirArrayAttrGetElement(calls, i);
    MlirStringRef op = text(call, "op");
    int64_t times = 1;
    shardAttrGetI64(get(call, "times"), &times);
    if (times == 1)
      writeText(out, "call:      ", op);
    else
      fprintf(out, "  call:      %.*s, %" PRId64 " times\n", (int)op.length, op.data, times);
  }
}

MlirLogicalResult shardModuleExplain(MlirOperation module, MlirStringCallback callback,
                                     void *userData) {
  MlirAttribute sites = shardOpGetAttribute(module, "spmd.sites");
  if (mlirAttributeIsNull(sites) || !mlirAttributeIsAArray(sites))
    return shardEmitError(module, "no 'spmd.sites' on the module: it is no sharded program");
  char *all = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&all, &length);
  if (!out)
    return shardEmitError(module, "out of memory");
  intptr_t n = listCount(sites);
  double total = 0;
  for (intptr_t i = 0; i < n; ++i) {
    MlirAttribute row = mlirArrayAttrGetElement(sites, i);
    total += number(row, "bytes") * (double)shardSiteCallCount(get(row, "calls"));
    writeSite(out, row);
  }
  fprintf(out, "%td site%s, %.0f bytes sent by a rank in a step, mean over ranks\n", n,
          n == 1 ? "" : "s", total);
  fclose(out);
  callback(mlirStringRefCreate(all, length), userData);
  free(all);
  return mlirLogicalResultSuccess();
}
