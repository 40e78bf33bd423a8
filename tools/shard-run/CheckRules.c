//===- CheckRules.c - Whether a user's rules hold -----------------*- C -*-===//
#define _GNU_SOURCE

#include "CheckRules.h"

#include "Execute.h"
#include "Memory.h"

#include "shard/Pipelines.h"

#include "mlir-c/BuiltinAttributes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char function[] = "shard.rule_checks";

/// What a result of the program of checks must be equal to.
typedef struct Clause {
  MlirStringRef text, op; // null: a whole result
  int64_t result, whole;
} Clause;

static int64_t numberOf(MlirAttribute dictionary, const char *name) {
  MlirAttribute number =
      mlirDictionaryAttrGetElementByName(dictionary, mlirStringRefCreateFromCString(name));
  return mlirAttributeIsNull(number) ? -1 : mlirIntegerAttrGetValueInt(number);
}

static MlirStringRef textOf(MlirAttribute dictionary, const char *name) {
  MlirAttribute text =
      mlirDictionaryAttrGetElementByName(dictionary, mlirStringRefCreateFromCString(name));
  return mlirAttributeIsNull(text) ? (MlirStringRef){NULL, 0} : mlirStringAttrGetValue(text);
}

/// [*outCount], by result, to be freed with free(); texts belong to the context.
static Clause *readClauses(MlirModule module, size_t *outCount) {
  MlirOperation func = mlirBlockGetFirstOperation(mlirModuleGetBody(module));
  MlirAttribute results =
      mlirOperationGetAttributeByName(func, mlirStringRefCreateFromCString("res_attrs"));
  *outCount = mlirAttributeIsNull(results) ? 0 : (size_t)mlirArrayAttrGetNumElements(results);
  Clause *clauses = memoryZeroed((*outCount + 1) * sizeof *clauses);
  for (size_t i = 0; i < *outCount; ++i) {
    MlirAttribute entry = mlirArrayAttrGetElement(results, (intptr_t)i);
    clauses[i].text = textOf(entry, "spmd.clause");
    clauses[i].op = textOf(entry, "spmd.op");
    clauses[i].result = numberOf(entry, "spmd.op_result");
    clauses[i].whole = numberOf(entry, "spmd.whole");
  }
  return clauses;
}

/// Line of the file of rules that begins with the op's name; 1 if none does.
static int lineOf(const char *path, MlirStringRef op) {
  FILE *file = fopen(path, "r");
  char *line = NULL;
  size_t capacity = 0;
  int number = 0, found = 0;
  while (file && !found && getline(&line, &capacity, file) >= 0) {
    ++number;
    const char *at = line + strspn(line, " \t");
    if (!strncmp(at, op.data, op.length) && strchr(" \t:@\n", at[op.length]))
      found = number;
  }
  free(line);
  if (file)
    fclose(file);
  return found ? found : 1;
}

static _Noreturn void stopAtClause(const Compiler *compiler, const Clause *clause,
                                   const ShardProgramValue *value, const ResultCheck *check) {
  char place[256], *text;
  valuesFormatPlace(value, check->first.at, place, sizeof place);
  if (asprintf(&text,
               "%s:%d:1: error: rule: '%.*s' does not hold: in two parts '%.*s' gives %.9g at %s "
               "of result %" PRId64 ", as a whole %.9g",
               compiler->options->rules, lineOf(compiler->options->rules, clause->op),
               (int)clause->text.length, clause->text.data, (int)clause->op.length, clause->op.data,
               check->first.got, place, clause->result, check->first.expected) < 0)
    stop("out of memory");
  stopWithText(text);
}

static void runChecks(const Compiler *compiler, const Compiled *compiled, const Clause *clauses,
                      size_t nClauses) {
  const Options *options = compiler->options;
  const ShardProgram *program = compiled->program;
  ValueOptions valueOptions = {.seeded = options->seeded,
                               .seed = options->seed,
                               .distributions = compiled->distributions,
                               .nDistributions = compiled->nDistributions};
  ValueSet values;
  valuesCreate(program, &valueOptions, &values);
  ExecuteOptions execute = {.iterations = 1, .keepResults = true};
  Execution whole, parts;
  executeProgram(program, &values, &execute, &whole);
  const void **expected = memoryZeroed((whole.nResults + 1) * sizeof *expected);
  for (size_t i = 0; i < whole.nResults; ++i)
    expected[i] =
        whole.results[i < nClauses && clauses[i].text.data ? (size_t)clauses[i].whole : i];
  Reference reference = {.what = "the whole",
                         .nResults = whole.nResults,
                         .values = expected,
                         .tolerance = -1,
                         .own = true};
  execute = (ExecuteOptions){.iterations = 1, .nReferences = 1, .references = &reference};
  executeProgram(program, &values, &execute, &parts);
  for (size_t i = 0; i < parts.nChecks; ++i) {
    const ResultCheck *check = &parts.checks[i];
    if (check->what && !check->held)
      stopAtClause(compiler, &clauses[check->index], &program->results[check->index], check);
  }
  executionRelease(&parts);
  executionRelease(&whole);
  free(expected);
  valuesRelease(&values);
}

static void sayClauses(const Clause *clauses, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const Clause *clause = &clauses[i], *before = i ? &clauses[i - 1] : NULL;
    if (!clause->text.data ||
        (before && before->text.data && mlirStringRefEqual(before->text, clause->text)))
      continue;
    printf("rule of %.*s: '%.*s' holds\n", (int)clause->op.length, clause->op.data,
           (int)clause->text.length, clause->text.data);
  }
}

void checkRules(Compiler *compiler, MlirOperation imported) {
  MlirModule module = shardModuleCreateRuleChecks(imported, function);
  if (mlirModuleIsNull(module))
    return;
  size_t nClauses;
  Clause *clauses = readClauses(module, &nClauses);
  Compiled compiled = {0};
  compileRuleChecks(compiler, module, function, &compiled);
  runChecks(compiler, &compiled, clauses, nClauses);
  if (!compiler->options->quiet)
    sayClauses(clauses, nClauses);
  compiledRelease(&compiled);
  mlirModuleDestroy(module);
  free(clauses);
}
