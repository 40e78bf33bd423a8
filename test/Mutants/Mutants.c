//===- Mutants.c - Seeded bugs of the partitioner -----------------*- C -*-===//
// Each is a mistake that shard-spmdize could make, made at every place in the program where it can
// be: what it emits is changed right after the pass. Compiled only with SHARD_MUTANTS.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Mutation.h"

bool shardMutantIs(const char *name) {
  const char *wanted = getenv("SHARD_MUTANT");
  return wanted && !strcmp(wanted, name);
}

static MlirLogicalResult collect(void *user, MlirOperation op) {
  Mutation *m = user;
  if (shardOpIs(op, "shard.grid"))
    m->grid = op;
  if (m->nOps < MAX_OPS)
    m->ops[m->nOps++] = op;
  return mlirLogicalResultSuccess();
}

static bool isAmong(MlirOperation op, const char *names) {
  char list[200], *rest = NULL;
  snprintf(list, sizeof list, "%s", names);
  for (char *name = strtok_r(list, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
    if (shardOpIs(op, name))
      return true;
  return false;
}

static void apply(Mutation *m, const Mutant *mutant) {
  // Places first: a mutation may take later ops away or add its own.
  MlirOperation places[MAX_OPS];
  int n = 0;
  for (int i = 0; i < m->nOps; ++i)
    if (isAmong(m->ops[i], mutant->ops))
      places[n++] = m->ops[i];
  for (int i = 0; i < n; ++i)
    mutant->mutate(m, places[i]);
  if (m->nDone)
    fprintf(stderr, "mutant: %d places\n", m->nDone);
}

void shardMutantApply(MlirOperation module) {
  static const Mutant *const tables[] = {collectiveMutants, placeMutants, wasteMutants};
  Mutation *m = calloc(1, sizeof *m);
  if (!m)
    abort();
  m->module = module;
  m->context = mlirOperationGetContext(module);
  shardWalk(module, NULL, collect, m);
  int64_t devices = 1;
  for (intptr_t i = 0; m->grid.ptr && i < gridRank(m); ++i)
    devices *= gridSize(m, i);
  // The original is on one device and stays right.
  for (size_t t = 0; devices > 1 && t < sizeof tables / sizeof *tables; ++t)
    for (const Mutant *mutant = tables[t]; mutant->name; ++mutant)
      if (shardMutantIs(mutant->name))
        apply(m, mutant);
  free(m);
}
