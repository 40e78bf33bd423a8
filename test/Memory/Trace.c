//===- Trace.c - A program on buffers, step by step ---------------*- C -*-===//
// No analysis: the program runs in thought. Each value that is a memref or a pointer stands for the
// buffers that it may be, each buffer notes the moments at which an op touches it. A buffer whose
// op runs again is another one, at the same place; if the first is still in use then, they clash.
//===----------------------------------------------------------------------===//
#include "Trace.h"

#include "../Matrix/ReadIr.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS_OF_A_LOOP = 3 };

typedef struct Set {
  size_t n;
  size_t *numbers; // of instances
} Set;

typedef struct Entry {
  const void *value;
  Set set;
} Entry;

typedef struct Tracer {
  MlirModule module;
  Trace *out;
  Entry *entries; // a hash table with open addressing
  size_t nEntries, capacity;
  unsigned choices;
  size_t activation; // of the running function
  uint64_t calls;    // of the running function: a hash of the calls around
  int64_t base;      // of the running function's workspace
  int repeats;       // loops around of which this is a later step
} Tracer;

//===----------------------------------------------------------------------===//
// What values stand for
//===----------------------------------------------------------------------===//

static Entry *find(Tracer *t, const void *value) {
  size_t at = ((uintptr_t)value >> 4) * 0x9e3779b97f4a7c15u % t->capacity;
  while (t->entries[at].value && t->entries[at].value != value)
    at = (at + 1) % t->capacity;
  return &t->entries[at];
}

static void grow(Tracer *t) {
  Entry *old = t->entries;
  size_t n = t->capacity;
  t->capacity = n ? 2 * n : 1024;
  t->entries = allocate(t->capacity, sizeof(Entry));
  for (size_t i = 0; i < n; ++i)
    if (old[i].value)
      *find(t, old[i].value) = old[i];
  free(old);
}

static Set get(Tracer *t, MlirValue value) {
  Entry *entry = find(t, value.ptr);
  return entry->value ? entry->set : (Set){0, NULL};
}

static Set unite(Set a, Set b) {
  Set both = {a.n, allocate(a.n + b.n + 1, sizeof(size_t))};
  if (a.n)
    memcpy(both.numbers, a.numbers, a.n * sizeof(size_t));
  for (size_t i = 0; i < b.n; ++i) {
    size_t k = 0;
    while (k < both.n && both.numbers[k] != b.numbers[i])
      ++k;
    if (k == both.n)
      both.numbers[both.n++] = b.numbers[i];
  }
  return both;
}

static void bind(Tracer *t, MlirValue value, Set set) {
  if (2 * (t->nEntries + 1) > t->capacity)
    grow(t);
  Entry *entry = find(t, value.ptr);
  if (!entry->value)
    ++t->nEntries;
  *entry = (Entry){value.ptr, unite(set, (Set){0, NULL})}; // sets live until the program ends
}

static void bindAll(Tracer *t, MlirBlock block, intptr_t from, MlirOperation op, intptr_t operand) {
  for (intptr_t i = from; i < mlirBlockGetNumArguments(block); ++i)
    bind(t, mlirBlockGetArgument(block, i),
         get(t, mlirOperationGetOperand(op, operand + i - from)));
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

static int64_t integerOf(MlirOperation op, const char *name) {
  MlirAttribute attribute = attributeOf(op, name);
  if (mlirAttributeIsNull(attribute) || !mlirAttributeIsAInteger(attribute))
    die("an op without '%s'", name);
  return mlirIntegerAttrGetValueInt(attribute);
}

static size_t addInstance(Tracer *t, MlirOperation op) {
  Trace *out = t->out;
  if (out->nInstances == out->capacity) {
    out->capacity = out->capacity ? 2 * out->capacity : 256;
    out->instances = realloc(out->instances, out->capacity * sizeof(Instance));
    if (!out->instances)
      die("out of memory");
  }
  Instance *instance = &out->instances[out->nInstances];
  *instance = (Instance){.op = op,
                         .activation = t->activation,
                         .calls = t->calls,
                         .offset = t->base + integerOf(op, "spmd.offset"),
                         .bytes = integerOf(op, "spmd.bytes"),
                         .first = INT64_MAX,
                         .last = -1,
                         .repeated = t->repeats > 0};
  char *class_ = textOf(attributeOf(op, "spmd.class"));
  if (!class_)
    die("a buffer without a class");
  strncpy(instance->class_, class_, sizeof(instance->class_) - 1);
  free(class_);
  return out->nInstances++;
}

static void touch(Tracer *t, Set set) {
  for (size_t i = 0; i < set.n; ++i) {
    Instance *instance = &t->out->instances[set.numbers[i]];
    if (t->out->nMoments < instance->first)
      instance->first = t->out->nMoments;
    instance->last = t->out->nMoments;
  }
}

/// All operands, and those of ops inside.
static void touchOperands(Tracer *t, MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    touch(t, get(t, mlirOperationGetOperand(op, i)));
  for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); ++r)
    for (MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
         !mlirBlockIsNull(block); block = mlirBlockGetNextInRegion(block))
      for (MlirOperation inner = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(inner);
           inner = mlirOperationGetNextInBlock(inner))
        touchOperands(t, inner);
}

static Set operandsOf(Tracer *t, MlirOperation op) {
  Set all = {0, NULL};
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    all = unite(all, get(t, mlirOperationGetOperand(op, i)));
  return all;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static MlirOperation runBlock(Tracer *t, MlirBlock block); // its terminator

static void bindResults(Tracer *t, MlirOperation op, MlirOperation from, intptr_t operand) {
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    bind(t, mlirOperationGetResult(op, i), get(t, mlirOperationGetOperand(from, operand + i)));
}

static MlirBlock regionOf(MlirOperation op, intptr_t number) {
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(op, number));
}

static void runFor(Tracer *t, MlirOperation op) {
  MlirBlock body = regionOf(op, 0);
  bindAll(t, body, 1, op, 3);
  for (int step = 0; step < STEPS_OF_A_LOOP; ++step) {
    t->repeats += step > 0;
    MlirOperation yield = runBlock(t, body);
    t->repeats -= step > 0;
    bindAll(t, body, 1, yield, 0);
    bindResults(t, op, yield, 0);
  }
}

static void runWhile(Tracer *t, MlirOperation op) {
  MlirBlock before = regionOf(op, 0), after = regionOf(op, 1);
  bindAll(t, before, 0, op, 0);
  for (int step = 0; step < STEPS_OF_A_LOOP; ++step) {
    t->repeats += step > 0;
    MlirOperation condition = runBlock(t, before);
    bindAll(t, after, 0, condition, 1);
    bindResults(t, op, condition, 1);
    if (step + 1 < STEPS_OF_A_LOOP)
      bindAll(t, before, 0, runBlock(t, after), 0);
    t->repeats -= step > 0;
  }
}

/// One of its regions.
static void runBranch(Tracer *t, MlirOperation op) {
  intptr_t n = mlirOperationGetNumRegions(op);
  intptr_t choice = t->choices >> t->out->nBranches++ % TRACE_CHOICES & 1;
  MlirBlock block = regionOf(op, choice < n ? choice : n - 1);
  if (!mlirBlockIsNull(block)) // no else
    bindResults(t, op, runBlock(t, block), 0);
}

static size_t addActivation(Tracer *t) {
  Trace *out = t->out;
  if (out->nActivations == out->activationCapacity) {
    out->activationCapacity = out->activationCapacity ? 2 * out->activationCapacity : 64;
    out->activations =
        realloc(out->activations, out->activationCapacity * sizeof(*out->activations));
    if (!out->activations)
      die("out of memory");
  }
  out->activations[out->nActivations] =
      (Activation){.first = out->nMoments, .last = out->nMoments, .caller = t->activation};
  return out->nActivations++;
}

static void runCall(Tracer *t, MlirOperation op) {
  MlirOperation callee =
      lookup(t->module, mlirFlatSymbolRefAttrGetValue(attributeOf(op, "callee")));
  if (mlirOperationIsNull(callee) || mlirBlockIsNull(regionOf(callee, 0))) {
    touchOperands(t, op);
    return;
  }
  int64_t base = t->base;
  uint64_t calls = t->calls;
  t->calls = (calls ^ (uintptr_t)op.ptr) * UINT64_C(0x9e3779b97f4a7c15);
  if (!mlirAttributeIsNull(attributeOf(op, "spmd.workspace"))) {
    if (integerOf(op, "spmd.bytes") != integerOf(callee, "spmd.workspace"))
      fault("a call has %lld bytes for a workspace of %lld", (long long)integerOf(op, "spmd.bytes"),
            (long long)integerOf(callee, "spmd.workspace"));
    t->base += integerOf(op, "spmd.offset");
  }
  size_t caller = t->activation;
  t->activation = addActivation(t);
  bindAll(t, regionOf(callee, 0), 0, op, 0);
  bindResults(t, op, runBlock(t, regionOf(callee, 0)), 0);
  t->base = base;
  t->calls = calls;
  t->out->activations[t->activation].last = t->out->nMoments;
  t->activation = caller;
}

static void runOp(Tracer *t, MlirOperation op) {
  ++t->out->nMoments;
  if (is(op, "memref.alloc")) {
    size_t number = addInstance(t, op);
    bind(t, mlirOperationGetResult(op, 0), (Set){1, &number});
  } else if (is(op, "scf.for")) {
    runFor(t, op);
  } else if (is(op, "scf.while")) {
    runWhile(t, op);
  } else if (is(op, "scf.if") || is(op, "scf.index_switch") || is(op, "scf.execute_region")) {
    runBranch(t, op);
  } else if (is(op, "func.call")) {
    runCall(t, op);
  } else {
    MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
    intptr_t nResults = mlirOperationGetNumResults(op);
    bool passes = nResults || is(op, "scf.yield") || is(op, "scf.condition");
    for (intptr_t i = 0; i < nResults; ++i) {
      MlirType type = mlirValueGetType(mlirOperationGetResult(op, i));
      passes &= !mlirTypeIsAInteger(type) && !mlirTypeIsAIndex(type) && !mlirTypeIsAFloat(type);
    }
    if (name.length > 4 && !memcmp(name.data, "scf.", 4) && mlirOperationGetNumRegions(op))
      die("an op '%.*s', which this count does not know", (int)name.length, name.data);
    if (!passes)
      touchOperands(t, op);
    Set all = passes ? operandsOf(t, op) : (Set){0, NULL};
    for (intptr_t i = 0; passes && i < nResults; ++i)
      bind(t, mlirOperationGetResult(op, i), all);
    if (!mlirAttributeIsNull(attributeOf(op, "spmd.contraction"))) {
      size_t panel = addInstance(t, op);
      touch(t, (Set){1, &panel});
    }
  }
}

static MlirOperation runBlock(Tracer *t, MlirBlock block) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    runOp(t, op);
  return mlirBlockGetTerminator(block);
}

void traceStage(MlirModule module, MlirOperation stage, unsigned choices, Trace *out) {
  *out = (Trace){0};
  Tracer tracer = {.module = module, .out = out, .choices = choices};
  grow(&tracer);
  addActivation(&tracer);
  runBlock(&tracer, regionOf(stage, 0));
  out->activations[0].last = out->nMoments++;
  free(tracer.entries);
}

void traceFree(Trace *trace) {
  free(trace->instances);
  free(trace->activations);
}
