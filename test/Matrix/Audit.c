//===- Audit.c - Counts what an emitted program sends, holds and computes -----*- C -*-===//
// shard-audit cells                            every cell: MODEL FILE DEGREES RANKS must|may
// shard-audit fits MODEL DEGREES            must or may, as above
// shard-audit sent SHARDED.mlir                bytes a rank, by kind, and calls
// shard-audit parameters ARGS SHARDED          each parameter element lies where its sharding says
// shard-audit cell MODEL DEGREES ORIGINAL ARGS SHARDED
// The last is one cell of the matrix: contraction flops, weights and bytes against Models.c.
// Everything is counted on the text that shard-opt wrote, with no code of the compiler. ARGS is an
// args.json. MODEL is one of Models.c or what gen-decoder printed. Exit 1 when something does not
// hold, each fault on a line of its own.
//===----------------------------------------------------------------------===//
#include "Count.h"
#include "ReadIr.h"

#include "mlir-c/RegisterEverything.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void printCell(const Model *model, const char *file, const char *degrees) {
  Degrees parsed;
  degreesParse(degrees, &parsed);
  printf("%s %s %s %" PRId64 " %s\n", model->name, file, degrees, degreesRanks(parsed),
         modelFits(model, parsed) ? "must" : "may");
}

static void listCells(void) {
  static const char *const degrees[] = {
      "tp1", "tp2", "tp3", "tp4",     "tp6",     "tp8",     "dp2",     "dp3",     "sp2",
      "sp4", "pp2", "pp3", "tp2,sp2", "tp3,sp2", "dp3,tp2", "dp2,sp3", "tp2,pp2", "dp2,tp2,pp2"};
  static const char *const expertDegrees[] = {"ep2", "ep4", "dp2,ep2", "ep2,tp2"};
  static const char *const files[] = {"model.linalg.mlir", "model.tosa.mlir",
                                      "embedded.linalg.mlir", "raw.linalg.generic.mlir",
                                      "raw.tosa.mlir"};
  for (int m = 0; m < nModels; ++m)
    for (int f = 0; f < 5; ++f) {
      const bool present[] = {true, true, models[m].embedded, models[m].rawLinalg,
                              models[m].rawTosa};
      if (!present[f])
        continue;
      for (size_t d = 0; d < sizeof(degrees) / sizeof(degrees[0]); ++d)
        printCell(&models[m], files[f], degrees[d]);
      for (size_t d = 0; models[m].experts && d < sizeof(expertDegrees) / sizeof(expertDegrees[0]);
           ++d)
        printCell(&models[m], files[f], expertDegrees[d]);
    }
}

static ShardArgsJson *readArgs(const char *path) {
  char message[512];
  ShardArgsJson *args = shardArgsJsonReadFile(path, message, sizeof(message));
  if (!args)
    die("%s", message);
  return args;
}

static MlirContext createContext(void) {
  MlirContext context = mlirContextCreateWithThreading(false);
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirRegisterAllDialects(registry);
  mlirContextAppendDialectRegistry(context, registry);
  mlirDialectRegistryDestroy(registry);
  mlirContextLoadAllAvailableDialects(context);
  mlirContextSetAllowUnregisteredDialects(context, true); // tm_tensor in originals
  return context;
}

static void auditCell(const char *modelName, const char *degreesText, MlirModule original,
                      const ShardArgsJson *args, MlirModule sharded) {
  const Model *model = modelFind(modelName);
  Model parsed;
  Degrees degrees;
  if (!model && modelParse(modelName, &parsed))
    model = &parsed;
  if (!model)
    die("no model '%s' in Models.c", modelName);
  if (!degreesParse(degreesText, &degrees))
    die("bad degrees '%s'", degreesText);
  bool embedded = false; // weights as constants have no names in the file: count all contractions
  {
    MlirBlock body = mlirModuleGetBody(original);
    for (MlirOperation op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op);
         op = mlirOperationGetNextInBlock(op))
      if (isPublicFunction(op))
        embedded = (size_t)mlirBlockGetNumArguments(bodyOf(op)) < args->nArguments;
  }
  Count before = {
      .module = original, .model = embedded ? NULL : model, .laidOut = model, .degrees = degrees};
  Count after = {.module = sharded, .model = embedded ? NULL : model, .degrees = degrees};
  countModule(&before, args);
  countModule(&after, args);
  if (after.ranks != degreesRanks(degrees))
    fault("the grid has %" PRId64 " ranks, the degrees make %" PRId64, after.ranks,
          degreesRanks(degrees));
  bool wholeParts = embedded && degrees.tp > 1; // then what is kept whole cannot be told apart
  double ratio = before.flops > 0 ? after.flops / before.flops : 0;
  double least = before.flops > 0 ? before.uneven.least / before.flops : 0;
  double most = before.flops > 0 ? before.uneven.most / before.flops : 0;
  printf("flops: %.0f, of the unsharded program's %.4f, with padding %.4f to %.4f; left out as "
         "whole %.0f and %.0f\n",
         after.flops, ratio, least, most, after.leftOut, before.leftOut);
  bool mixes = model->mixesRows && (degrees.dp > 1 || degrees.sp > 1);
  if (!mixes) {
    // Of a fused weight with copies of key/value heads the copies cannot be told from the queries.
    bool copies = model->unevenFused && model->keyValueHeads % degrees.tp != 0;
    if (ratio < least - 0.02 || (ratio > most + 0.02 && !wholeParts && !copies))
      fault("contraction flops of all ranks are %.4f of the unsharded program's, expected %.4f to "
            "%.4f",
            ratio, least, most);
  }
  if (!embedded)
    checkWeights(&after, args);
  countPrintSent(&after);
  ByteRange range = modelBytes(model, degrees);
  double sent = 0;
  for (int kind = 0; kind < N_KINDS; ++kind)
    sent += after.bytes[kind];
  printf("expected: %.1f to %.1f bytes a rank%s\n", range.least, range.most,
         mixes ? " (not enforced: rows mix)" : "");
  if (!mixes && (sent < 0.95 * range.least || sent > 1.05 * range.most))
    fault("a rank sends %.1f bytes, expected %.1f to %.1f", sent, range.least, range.most);
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "cells") == 0) {
    listCells();
    return 0;
  }
  if (argc == 4 && strcmp(argv[1], "fits") == 0) {
    const Model *model = modelFind(argv[2]);
    Model parsed;
    Degrees degrees;
    if (!model && modelParse(argv[2], &parsed))
      model = &parsed;
    if (!model || !degreesParse(argv[3], &degrees))
      die("bad model '%s' or degrees '%s'", argv[2], argv[3]);
    printf("%s %" PRId64 "\n", modelFits(model, degrees) ? "must" : "may", degreesRanks(degrees));
    return 0;
  }
  MlirContext context = createContext();
  if (argc == 3 && strcmp(argv[1], "sent") == 0) {
    Count count = {.module = parseFile(context, argv[2])};
    countModule(&count, NULL);
    countPrintSent(&count);
    printf("flops: %.0f\n", count.flops + count.leftOut);
    mlirModuleDestroy(count.module);
  } else if (argc == 4 && strcmp(argv[1], "parameters") == 0) {
    ShardArgsJson *args = readArgs(argv[2]);
    Count count = {.module = parseFile(context, argv[3])};
    countModule(&count, NULL);
    checkWeights(&count, args);
    countPrintSent(&count);
    shardArgsJsonDestroy(args);
    mlirModuleDestroy(count.module);
  } else if (argc == 7 && strcmp(argv[1], "cell") == 0) {
    ShardArgsJson *args = readArgs(argv[5]);
    MlirModule original = parseFile(context, argv[4]), sharded = parseFile(context, argv[6]);
    auditCell(argv[2], argv[3], original, args, sharded);
    mlirModuleDestroy(original);
    mlirModuleDestroy(sharded);
    shardArgsJsonDestroy(args);
  } else {
    die("usage: shard-audit cells | fits MODEL DEGREES | sent SHARDED | parameters ARGS SHARDED "
        "| cell MODEL DEGREES "
        "ORIGINAL ARGS SHARDED");
  }
  mlirContextDestroy(context);
  return faultCount() ? 1 : 0;
}
