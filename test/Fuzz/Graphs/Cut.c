//===- Cut.c - Smaller programs from a failing one ----------------*- C -*-===//
#define _GNU_SOURCE

#include "Cut.h"

#include "../../../lib/Passes/Core/IR.h"
#include "shard/Pipelines.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Diagnostics.h"
#include "mlir-c/IR.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPS = 2048 };

static MlirLogicalResult ignore(MlirDiagnostic diagnostic, void *user) {
  (void)diagnostic;
  (void)user;
  return mlirLogicalResultSuccess();
}

static MlirContext sharedContext(void) {
  static MlirContext context; // one thread, so that children can be forked
  if (mlirContextIsNull(context)) {
    context = mlirContextCreateWithThreading(false);
    shardContextPrepare(context);
    mlirContextAttachDiagnosticHandler(context, ignore, NULL, NULL);
  }
  return context;
}

typedef struct Cut {
  MlirModule module;
  MlirOperation func, end;
  MlirBlock body;
} Cut;

static bool cutOpen(const char *text, Cut *out) {
  out->module = shardModuleParse(sharedContext(), mlirStringRefCreateFromCString(text), "cut");
  if (mlirModuleIsNull(out->module))
    return false;
  out->func = shardModuleLookup(mlirModuleGetOperation(out->module),
                                mlirStringRefCreateFromCString("main"));
  out->body = shardFuncGetBody(out->func);
  out->end = mlirBlockGetTerminator(out->body);
  return true;
}

static bool isUnused(MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    if (!mlirOpOperandIsNull(mlirValueGetFirstUse(mlirOperationGetResult(op, i))))
      return false;
  return true;
}

/// A shard.shard of a value that nothing else uses says nothing.
static bool isIdle(MlirOperation op) {
  if (!shardOpIs(op, "shard.shard"))
    return isUnused(op);
  MlirValue value = mlirOperationGetOperand(op, 0);
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use))
    if (!shardOpIs(mlirOpOperandGetOwner(use), "shard.shard"))
      return false;
  return true;
}

/// Ops of @main in order, the return left out.
static int opsOf(const Cut *cut, MlirOperation *ops) {
  int n = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(cut->body);
       !mlirOperationIsNull(op) && !mlirOperationEqual(op, cut->end) && n < MAX_OPS;
       op = mlirOperationGetNextInBlock(op))
    ops[n++] = op;
  return n;
}

/// The attributes of arguments or results without entry `index`, or one more ("-1") at the end.
static void changeList(const Cut *cut, const char *name, intptr_t n, intptr_t index) {
  MlirAttribute list = shardOpGetAttribute(cut->func, name), entries[512];
  MlirAttribute empty = mlirDictionaryAttrGet(sharedContext(), 0, NULL);
  intptr_t kept = 0;
  for (intptr_t i = 0; i < n && kept < 511; ++i)
    if (i != index)
      entries[kept++] = mlirAttributeIsNull(list) ? empty : mlirArrayAttrGetElement(list, i);
  if (index < 0)
    entries[kept++] = empty;
  shardOpSetAttribute(cut->func, name, mlirArrayAttrGet(sharedContext(), kept, entries));
}

static void dropResult(const Cut *cut, intptr_t index) {
  intptr_t n = mlirOperationGetNumOperands(cut->end), kept = 0;
  MlirValue operands[512];
  for (intptr_t i = 0; i < n && kept < 512; ++i)
    if (i != index)
      operands[kept++] = mlirOperationGetOperand(cut->end, i);
  changeList(cut, "res_attrs", n, index);
  mlirOperationSetOperands(cut->end, kept, operands);
}

/// Whether the results of `op` can come from outside; then they do.
static bool replaceByArguments(const Cut *cut, MlirOperation op) {
  intptr_t n = mlirOperationGetNumResults(op);
  if (n == 0 || shardOpIs(op, "shard.sharding") || shardOpIs(op, "shard.shard") ||
      shardOpIs(op, "tensor.empty") || shardOpIs(op, "arith.constant"))
    return false;
  for (intptr_t i = 0; i < n; ++i)
    if (!mlirTypeIsARankedTensor(mlirValueGetType(mlirOperationGetResult(op, i))))
      return false;
  for (intptr_t i = 0; i < n; ++i) {
    MlirValue result = mlirOperationGetResult(op, i);
    if (mlirOpOperandIsNull(mlirValueGetFirstUse(result)))
      continue;
    changeList(cut, "arg_attrs", mlirBlockGetNumArguments(cut->body), -1);
    MlirValue argument =
        mlirBlockAddArgument(cut->body, mlirValueGetType(result), mlirOperationGetLocation(op));
    mlirValueReplaceAllUsesOfWith(result, argument);
  }
  mlirOperationDestroy(op);
  return true;
}

static void dropIdle(const Cut *cut) {
  MlirOperation ops[MAX_OPS];
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = opsOf(cut, ops); i-- > 0;)
      if (isIdle(ops[i])) {
        mlirOperationDestroy(ops[i]);
        changed = true;
      }
  }
  for (intptr_t i = mlirBlockGetNumArguments(cut->body); i-- > 0;)
    if (mlirOpOperandIsNull(mlirValueGetFirstUse(mlirBlockGetArgument(cut->body, i)))) {
      changeList(cut, "arg_attrs", mlirBlockGetNumArguments(cut->body), i);
      mlirBlockEraseArgument(cut->body, (unsigned)i);
    }
  // Functions that nobody calls.
  MlirOperation module = mlirModuleGetOperation(cut->module), next;
  for (MlirOperation op = mlirBlockGetFirstOperation(mlirModuleGetBody(cut->module));
       !mlirOperationIsNull(op); op = next) {
    next = mlirOperationGetNextInBlock(op);
    if (!shardOpIs(op, "func.func") || mlirOperationEqual(op, cut->func))
      continue;
    MlirStringRef name = mlirStringAttrGetValue(shardOpGetAttribute(op, "sym_name"));
    char callee[64];
    snprintf(callee, sizeof callee, "%.*s", (int)name.length, name.data);
    bool called = false;
    for (int i = opsOf(cut, ops); i-- > 0;) {
      MlirAttribute target = shardOpIs(ops[i], "func.call") ? shardOpGetAttribute(ops[i], "callee")
                                                            : (MlirAttribute){NULL};
      called |= !mlirAttributeIsNull(target) &&
                shardStringIs(mlirFlatSymbolRefAttrGetValue(target), callee);
      // A call inside of a region keeps every function.
      called |= mlirOperationGetNumRegions(ops[i]) > 0 && shardOpIs(ops[i], "scf.for");
    }
    if (!called)
      mlirOperationDestroy(op);
  }
  (void)module;
}

/// Takes the annotation of one argument (number < arguments) or result away; false: it has none.
static bool dropSharding(const Cut *cut, intptr_t number) {
  intptr_t nArguments = mlirBlockGetNumArguments(cut->body);
  bool argument = number < nArguments;
  intptr_t index = argument ? number : number - nArguments;
  MlirAttribute list = shardOpGetAttribute(cut->func, argument ? "arg_attrs" : "res_attrs");
  if (mlirAttributeIsNull(list) || index >= mlirArrayAttrGetNumElements(list))
    return false;
  MlirAttribute entry = mlirArrayAttrGetElement(list, index);
  if (mlirAttributeIsNull(mlirDictionaryAttrGetElementByName(
          entry, mlirStringRefCreateFromCString("spmd.sharding"))))
    return false;
  if (argument)
    shardFuncSetArgumentAttribute(cut->func, index, "spmd.sharding", (MlirAttribute){NULL});
  else
    shardFuncSetResultAttribute(cut->func, index, "spmd.sharding", (MlirAttribute){NULL});
  return true;
}

static void appendText(MlirStringRef part, void *user) {
  textAppend(user, "%.*s", (int)part.length, part.data);
}

int cutResultCount(const char *text) {
  Cut cut;
  if (!cutOpen(text, &cut))
    return 0;
  int n = (int)mlirOperationGetNumOperands(cut.end);
  mlirModuleDestroy(cut.module);
  return n;
}

/// Step `number` in place. *exists: whether there are as many steps; the return: whether it did
/// anything.
static bool takeStep(const Cut *cut, int number, bool *exists) {
  MlirOperation ops[MAX_OPS];
  int n = opsOf(cut, ops);
  intptr_t nResults = mlirOperationGetNumOperands(cut->end);
  intptr_t nShardings = mlirBlockGetNumArguments(cut->body) + nResults;
  *exists = number < n + nResults + nShardings;
  if (number < nResults) {
    if (nResults == 1)
      return false;
    dropResult(cut, number);
    return true;
  }
  number -= (int)nResults;
  if (number < n) { // the last ops first: what they need goes with them
    MlirOperation op = ops[n - 1 - number];
    if (!shardOpIs(op, "shard.shard"))
      return replaceByArguments(cut, op);
    mlirOperationDestroy(op);
    return true;
  }
  return number - n < nShardings && dropSharding(cut, number - n);
}

bool cutProgram(const char *text, int keepResult, int number, Text *out) {
  Cut cut;
  if (!cutOpen(text, &cut))
    return false;
  bool exists = true, changed = true;
  if (keepResult >= 0)
    for (intptr_t i = mlirOperationGetNumOperands(cut.end); i-- > 0;) {
      if (i != keepResult)
        dropResult(&cut, i);
    }
  else
    changed = takeStep(&cut, number, &exists);
  if (changed) {
    dropIdle(&cut);
    shardFuncUpdateType(cut.func);
    mlirOperationPrint(mlirModuleGetOperation(cut.module), appendText, out);
    textAppend(out, "\n");
  }
  mlirModuleDestroy(cut.module);
  return exists;
}
