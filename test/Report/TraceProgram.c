//===- TraceProgram.c - A trace's events from the program's text --*- C -*-===//
// shard-trace-program program.mlir cluster.json t.json: the program is run again, op by op, starts
// and waits too, by code that shares nothing with the simulator; each communication and wait of the
// trace, on the thread of its stage or beside it, is one of those: from when to when, bytes, axes,
// cause, op. Computing is compared as one time for each stretch. Times are those of a cluster where
// only contractions, rings and messages take any; what would meet on a link is not counted here.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "ReadJson.h"
#include "ReadProgram.h"

#include "shard/Pipelines.h"

enum { MAX_EVENTS = 4096, MAX_TOKENS = 256 };

typedef struct Event {
  int stage;
  bool beside; // the ops of the stage
  double begin, end;
  const char *what; // "compute", "collective", "send", "receive", "wait"
  double bytes;
  char axes[32], cause[256], op[64];
} Event;

typedef struct Events {
  size_t n;
  Event events[MAX_EVENTS];
} Events;

/// What a start began.
typedef struct Token {
  MlirValue value;
  Event event;
  bool waited;
} Token;

typedef struct Message {
  bool sent;
  double from, begins, arrives; // sent, on its way, there
} Message;

typedef struct Rerun {
  MlirOperation module;
  ProgramMesh mesh;
  double flopsPerSecond, bytesPerSecond;
  int stage; // that is run
  double clock, streams[MAX_SETS];
  size_t nTokens;
  Token tokens[MAX_TOKENS];
  Message messages[MAX_CHANNELS];
  Events expected, found;
} Rerun;

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

static void add(Events *events, Event event) {
  if (event.end <= event.begin)
    return;
  if (events->n == MAX_EVENTS)
    stop("more events than are counted here");
  events->events[events->n++] = event;
}

static unsigned axesOf(const Rerun *r, MlirOperation op, double *outRanks) {
  MlirAttribute axes = attributeOf(op, "grid_axes");
  unsigned set = 0;
  *outRanks = 1;
  for (intptr_t i = 0; i < mlirDenseArrayGetNumElements(axes); ++i) {
    int16_t axis = mlirDenseI16ArrayGetElement(axes, i);
    set |= 1U << axis;
    *outRanks *= (double)r->mesh.sizes[axis];
  }
  return set;
}

/// The row of `spmd.sites` that an op names.
static void readCause(const Rerun *r, MlirOperation op, Event *out) {
  int64_t site = integerOf(op, "spmd.site");
  MlirAttribute rows = attributeOf(r->module, "spmd.sites");
  for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(rows); ++i) {
    MlirAttribute row = mlirArrayAttrGetElement(rows, i);
    MlirAttribute number = mlirDictionaryAttrGetElementByName(row, ref("site"));
    if (mlirIntegerAttrGetValueInt(number) != site)
      continue;
    MlirStringRef cause =
        mlirStringAttrGetValue(mlirDictionaryAttrGetElementByName(row, ref("cause")));
    snprintf(out->cause, sizeof(out->cause), "%.*s", (int)cause.length, cause.data);
    return;
  }
  stop("a site without a cause");
}

static bool endsWith(MlirStringRef name, const char *end) {
  size_t n = strlen(end);
  return name.length > n && memcmp(name.data + name.length - n, end, n) == 0;
}

/// When a communication of an op goes from when to when if its rank does not wait for it.
static Event begin(Rerun *r, MlirOperation op, bool starts) {
  double ranks;
  unsigned set = axesOf(r, op, &ranks);
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  MlirType type = mlirValueGetType(mlirOperationGetOperand(op, 0));
  Event event = {.stage = r->stage, .beside = starts, .what = "collective", .bytes = bytesOf(type)};
  snprintf(event.op, sizeof(event.op), "%.*s at ", (int)name.length, name.data);
  for (int a = 0; a < r->mesh.nAxes; ++a)
    if (set >> a & 1)
      snprintf(event.axes + strlen(event.axes), sizeof(event.axes) - strlen(event.axes), "%s%s",
               *event.axes ? "," : "", r->mesh.names[a]);
  readCause(r, op, &event);
  bool sends = memmem(name.data, name.length, ".send", 5) != NULL;
  bool receives = memmem(name.data, name.length, ".recv", 5) != NULL;
  if (sends || receives) {
    Message *message = &r->messages[integerOf(op, "spmd.channel") % MAX_CHANNELS];
    event.what = sends ? "send" : "receive";
    if (sends == message->sent)
      stop(sends ? "two messages on a channel" : "a message is received that nobody sent");
    if (sends)
      *message = (Message){true, r->clock, r->clock,
                           r->clock + picoseconds(event.bytes / r->bytesPerSecond)};
    event.begin = message->begins;
    event.end = message->arrives;
    return event;
  }
  bool gathers = memmem(name.data, name.length, ".all_gather", 11) != NULL;
  double seconds =
      (starts ? ringBytes(op, ranks, "spmd.", "_start") : ringBytes(op, ranks, "shard.", "")) /
      r->bytesPerSecond;
  event.bytes *= gathers ? ranks : 1;
  event.begin = fmax(r->clock, r->streams[set]);
  event.end = r->streams[set] = event.begin + picoseconds(seconds);
  return event;
}

/// The rank stands still for what has begun: first for a message that is not on its way yet.
static void standStill(Rerun *r, Event event, const char *op) {
  double from = r->clock;
  if (strcmp(event.what, "receive") == 0 && event.begin > from) {
    add(&r->expected,
        (Event){.stage = r->stage, .begin = from, .end = event.begin, .what = "wait"});
    from = event.begin;
  }
  event.beside = false;
  event.begin = from;
  snprintf(event.op, sizeof(event.op), "%s", op);
  add(&r->expected, event);
  r->clock = fmax(r->clock, event.end);
}

static void communicate(Rerun *r, MlirOperation op, MlirStringRef name) {
  if (endsWith(name, "_start")) {
    if (r->nTokens == MAX_TOKENS)
      stop("more tokens than are counted here");
    r->tokens[r->nTokens++] = (Token){mlirOperationGetResult(op, 0), begin(r, op, true), false};
    return;
  }
  if (!endsWith(name, "_done") && !endsWith(name, ".wait")) {
    Event event = begin(r, op, false);
    standStill(r, event, event.op);
    return;
  }
  for (size_t i = 0; i < r->nTokens; ++i)
    if (mlirValueEqual(r->tokens[i].value, mlirOperationGetOperand(op, 0))) {
      char text[64];
      snprintf(text, sizeof(text), "%.*s at ", (int)name.length, name.data);
      r->tokens[i].waited = true;
      add(&r->expected, r->tokens[i].event);
      standStill(r, r->tokens[i].event, text);
      return;
    }
  stop("a wait for nothing");
}

static void runBlock(Rerun *r, MlirBlock block) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
    bool scheduled = memmem(name.data, name.length, "spmd.", 5) != NULL;
    if (isOp(op, "func.call")) {
      MlirAttribute callee = attributeOf(op, "callee");
      runBlock(r, blockOf(findFunction(r->module, mlirFlatSymbolRefAttrGetValue(callee))));
    } else if (name.length > 4 && memcmp(name.data, "scf.", 4) == 0) {
      stop("loops are not counted here");
    } else if (scheduled || (!mlirAttributeIsNull(attributeOf(op, "grid_axes")) &&
                             !isOp(op, "shard.all_slice"))) {
      communicate(r, op, name);
    } else {
      double end = r->clock + picoseconds(flopsOf(op) / r->flopsPerSecond);
      add(&r->expected,
          (Event){.stage = r->stage, .begin = r->clock, .end = end, .what = "compute"});
      r->clock = end;
    }
  }
}

static void runProgram(Rerun *r) {
  for (r->stage = 0; r->stage < r->mesh.nStages; ++r->stage) {
    r->clock = 0;
    memset(r->streams, 0, sizeof(r->streams));
    r->nTokens = 0;
    runBlock(r, blockOf(stageFunction(r->module, &r->mesh, r->stage)));
    for (size_t i = 0; i < r->nTokens; ++i)
      if (!r->tokens[i].waited)
        add(&r->expected, r->tokens[i].event);
  }
}

//===----------------------------------------------------------------------===//
// The trace
//===----------------------------------------------------------------------===//

static void copyText(char *out, size_t size, const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  snprintf(out, size, "%s", text ? text : "");
}

static void readTrace(Rerun *r, const json_t *trace) {
  const json_t *list = json_object_get(trace, "traceEvents"), *event;
  size_t i;
  json_array_foreach(list, i, event) {
    if (strcmp(json_string_value(json_object_get(event, "ph")), "X") != 0)
      continue;
    const json_t *arguments = json_object_get(event, "args");
    json_int_t pid = json_integer_value(json_object_get(event, "pid"));
    double from = json_number_value(json_object_get(event, "ts")) * 1e6;
    Event found = {.stage = (int)pid - 1,
                   .beside = json_integer_value(json_object_get(event, "tid")) != pid,
                   .begin = round(from),
                   .end = round(from + json_number_value(json_object_get(event, "dur")) * 1e6),
                   .what = json_string_value(json_object_get(event, "cat")),
                   .bytes = json_number_value(json_object_get(arguments, "bytes"))};
    copyText(found.axes, sizeof(found.axes), arguments, "axes");
    copyText(found.cause, sizeof(found.cause), arguments, "cause");
    if (json_object_get(arguments, "bytes")) // op
      copyText(found.op, sizeof(found.op), event, "name");
    add(&r->found, found);
  }
}

static int compareEvents(const void *a, const void *b) {
  const Event *x = a, *y = b;
  if (x->stage != y->stage)
    return x->stage < y->stage ? -1 : 1;
  if (x->beside != y->beside)
    return x->beside < y->beside ? -1 : 1;
  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  if (x->end != y->end)
    return x->end < y->end ? -1 : 1;
  return strcmp(x->cause, y->cause);
}

/// In order, and each stretch of computing one.
static void sortEvents(Events *events) {
  size_t n = 0;
  qsort(events->events, events->n, sizeof(Event), compareEvents);
  for (size_t i = 0; i < events->n; ++i) {
    const Event *event = &events->events[i];
    Event *last = n ? &events->events[n - 1] : NULL;
    bool compute = strcmp(event->what, "compute") == 0;
    if (last && compute && strcmp(last->what, "compute") == 0 && last->stage == event->stage &&
        last->end == event->begin)
      last->end = event->end;
    else
      events->events[n++] = *event;
  }
  events->n = n;
}

/// Two of one stage that are under way at once, along different axes, would share its link.
static void checkApart(const Events *events) {
  for (size_t i = 0; i < events->n; ++i)
    for (size_t k = i + 1; k < events->n; ++k) {
      const Event *x = &events->events[i], *y = &events->events[k];
      if (x->stage == y->stage && *x->axes && *y->axes && strcmp(x->axes, y->axes) != 0 &&
          x->begin < y->end && y->begin < x->end)
        stop("communications that meet on a link are not counted here");
    }
}

static bool same(const Event *x, const Event *found) {
  return x->stage == found->stage && x->beside == found->beside && x->begin == found->begin &&
         x->end == found->end && strcmp(x->what, found->what) == 0 && x->bytes == found->bytes &&
         strcmp(x->axes, found->axes) == 0 && strcmp(x->cause, found->cause) == 0 &&
         strncmp(x->op, found->op, strlen(x->op)) == 0;
}

static void print(const char *label, const Event *event) {
  printf("  %s: %s%s of stage %d from %.0f to %.0f ps, %.0f bytes along '%s', %s; %s\n", label,
         event->what, event->beside ? " beside" : "", event->stage, event->begin, event->end,
         event->bytes, event->axes, event->cause, event->op);
}

int main(int argc, char **argv) {
  static Rerun r;
  if (argc != 4)
    stop("usage: program.mlir cluster.json t.json");
  MlirContext context = mlirContextCreateWithThreading(false);
  shardContextPrepare(context);
  mlirContextSetAllowUnregisteredDialects(context, true);
  MlirModule module = shardModuleParseFile(context, argv[1]);
  if (mlirModuleIsNull(module))
    return 2;
  json_t *cluster = readJson(argv[2]), *trace = readJson(argv[3]);
  r.module = mlirModuleGetOperation(module);
  r.mesh = readMesh(r.module);
  r.flopsPerSecond = json_number_value(resolveJson(cluster, "/devices/0/flops/f32/achieved/value"));
  r.bytesPerSecond =
      json_number_value(resolveJson(cluster, "/links/0/bytesPerSecond/achieved/value"));
  runProgram(&r);
  checkApart(&r.expected);
  readTrace(&r, trace);
  sortEvents(&r.expected);
  sortEvents(&r.found);
  size_t nFailures = 0, nBeside = 0;
  for (size_t i = 0; i < r.expected.n && i < r.found.n; ++i) {
    nBeside += r.expected.events[i].beside;
    if (same(&r.expected.events[i], &r.found.events[i]))
      continue;
    printf("FAIL: event %zu\n", i);
    print("expected", &r.expected.events[i]);
    print("in the trace", &r.found.events[i]);
    ++nFailures;
  }
  nFailures += r.expected.n != r.found.n;
  printf("%zu events, %zu in the trace, %zu beside ops, %zu failures\n", r.expected.n, r.found.n,
         nBeside, nFailures);
  json_decref(cluster);
  json_decref(trace);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  return nFailures != 0;
}
