//===- TraceCheck.c - The rules of the trace event format ---------*- C -*-===//
// shard-trace-check t.json: every event has what its phase asks for ("Trace Event Format", Duca and
// Sinclair 2016), and what Perfetto asks for besides: no process or thread 0, which it takes for
// the idle one; names for all; slices of a thread one after the other; each arrow with one
// beginning and one later end, each in a slice; counters whose times ascend.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include <jansson.h>

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int nFailures;

__attribute__((format(printf, 2, 3))) static void fail(size_t event, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf("FAIL: event %zu: ", event);
  vprintf(format, arguments);
  putchar('\n');
  va_end(arguments);
  ++nFailures;
}

typedef struct Slice {
  size_t event;
  json_int_t pid, tid;
  double begin, end;
} Slice;

typedef struct Slices {
  size_t n;
  Slice *slices; // by thread, then time
} Slices;

static const char *textOf(const json_t *event, const char *key) {
  const char *text = json_string_value(json_object_get(event, key));
  return text ? text : "";
}

/// A time in microseconds that is there, whole or not, and not before the step.
static double timeOf(size_t i, const json_t *event, const char *key) {
  const json_t *value = json_object_get(event, key);
  double time = json_number_value(value);
  if (!json_is_number(value) || !isfinite(time) || time < 0)
    fail(i, "'%s' is no time", key);
  return time;
}

static void checkIds(size_t i, const json_t *event, bool thread) {
  const char *const keys[] = {"pid", "tid"};
  for (int k = 0; k < 1 + thread; ++k) {
    const json_t *id = json_object_get(event, keys[k]);
    if (!json_is_integer(id) || json_integer_value(id) < 1)
      fail(i, "'%s' is no number from 1", keys[k]);
  }
}

static void checkMetadata(size_t i, const json_t *event) {
  const json_t *arguments = json_object_get(event, "args");
  bool sorted = strcmp(textOf(event, "name"), "process_sort_index") == 0 ||
                strcmp(textOf(event, "name"), "thread_sort_index") == 0;
  bool named = strcmp(textOf(event, "name"), "process_name") == 0 ||
               strcmp(textOf(event, "name"), "thread_name") == 0;
  if (sorted ? !json_is_integer(json_object_get(arguments, "sort_index"))
             : !named || !*textOf(arguments, "name"))
    fail(i, "metadata '%s' without what it names", textOf(event, "name"));
}

static void checkCounter(size_t i, const json_t *event) {
  const json_t *arguments = json_object_get(event, "args"), *value;
  const char *key;
  timeOf(i, event, "ts");
  if (json_object_size(arguments) == 0)
    fail(i, "a counter without a series");
  json_object_foreach((json_t *)arguments, key,
                      value) if (!json_is_number(value) || json_number_value(value) < 0)
      fail(i, "series '%s' is no number from 0", key);
}

static int compareSlices(const void *a, const void *b) {
  const Slice *x = a, *y = b;
  if (x->pid != y->pid)
    return x->pid < y->pid ? -1 : 1;
  if (x->tid != y->tid)
    return x->tid < y->tid ? -1 : 1;
  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return x->event < y->event ? -1 : x->event > y->event;
}

/// One after the other, in the file as in time. Sums of two doubles differ in the last digits.
static void checkSlices(const Slices *all) {
  for (size_t k = 1; k < all->n; ++k) {
    const Slice *last = &all->slices[k - 1], *slice = &all->slices[k];
    if (slice->pid != last->pid || slice->tid != last->tid)
      continue;
    if (slice->begin < last->end - 1e-12 * last->end - 1e-9)
      fail(slice->event, "begins at %.15g, event %zu of the same thread ends at %.15g",
           slice->begin, last->event, last->end);
    if (slice->event < last->event)
      fail(slice->event, "stands before event %zu, which is earlier", last->event);
  }
}

static bool isInSlice(const Slices *all, json_int_t pid, json_int_t tid, double time) {
  for (size_t k = 0; k < all->n; ++k)
    if (all->slices[k].pid == pid && all->slices[k].tid == tid && all->slices[k].begin <= time &&
        time <= all->slices[k].end)
      return true;
  return false;
}

/// Whether another event names the process or thread of this one.
static bool isNamed(const json_t *events, const json_t *event, const char *what) {
  const json_t *other;
  size_t i;
  json_array_foreach(
      (json_t *)events, i,
      other) if (strcmp(textOf(other, "ph"), "M") == 0 &&
                 strcmp(textOf(other, "name"), what) == 0 &&
                 json_equal(json_object_get(other, "pid"), json_object_get(event, "pid")) &&
                 (*what == 'p' || json_equal(json_object_get(other, "tid"),
                                             json_object_get(event, "tid")))) return true;
  return false;
}

/// The one other end of an arrow, later than its beginning, each of them in a slice.
static void checkFlow(size_t i, const json_t *events, const json_t *event, const Slices *slices) {
  double time = timeOf(i, event, "ts");
  bool begins = strcmp(textOf(event, "ph"), "s") == 0;
  int nBegin = 0, nEnd = 0;
  const json_t *other;
  size_t k;
  json_array_foreach((json_t *)events, k, other) {
    const char *phase = textOf(other, "ph");
    if ((strcmp(phase, "s") != 0 && strcmp(phase, "f") != 0) ||
        !json_equal(json_object_get(other, "id"), json_object_get(event, "id")))
      continue;
    nBegin += *phase == 's';
    nEnd += *phase == 'f';
    if (begins && *phase == 'f' && json_number_value(json_object_get(other, "ts")) < time)
      fail(i, "an arrow that goes back in time");
  }
  if (!json_is_integer(json_object_get(event, "id")) || nBegin != 1 || nEnd != 1)
    fail(i, "an arrow with %d beginnings and %d ends", nBegin, nEnd);
  if (!begins && strcmp(textOf(event, "bp"), "e") != 0)
    fail(i, "the end of an arrow goes to the next slice");
  if (!isInSlice(slices, json_integer_value(json_object_get(event, "pid")),
                 json_integer_value(json_object_get(event, "tid")), time))
    fail(i, "an arrow's end at %.15g lies in no slice", time);
}

static void checkEvent(size_t i, const json_t *event, Slices *slices) {
  const char *phase = textOf(event, "ph");
  checkIds(i, event, strcmp(phase, "C") != 0);
  if (!*textOf(event, "name"))
    fail(i, "no name");
  if (strcmp(phase, "M") == 0) {
    checkMetadata(i, event);
  } else if (strcmp(phase, "C") == 0) {
    checkCounter(i, event);
  } else if (strcmp(phase, "X") == 0) {
    double begin = timeOf(i, event, "ts"), length = timeOf(i, event, "dur");
    if (!*textOf(event, "cat") || !json_is_object(json_object_get(event, "args")))
      fail(i, "a slice without category or arguments");
    slices->slices[slices->n++] =
        (Slice){i, json_integer_value(json_object_get(event, "pid")),
                json_integer_value(json_object_get(event, "tid")), begin, begin + length};
  } else if (strcmp(phase, "s") != 0 && strcmp(phase, "f") != 0) {
    fail(i, "phase '%s'", phase);
  }
}

/// Counters of one process and name stand in the order of time.
static void checkCounterOrder(const json_t *events) {
  const json_t *event, *last = NULL;
  size_t i;
  json_array_foreach((json_t *)events, i, event) {
    if (strcmp(textOf(event, "ph"), "C") != 0)
      continue;
    if (last && json_equal(json_object_get(last, "pid"), json_object_get(event, "pid")) &&
        strcmp(textOf(last, "name"), textOf(event, "name")) == 0 &&
        json_number_value(json_object_get(event, "ts")) <=
            json_number_value(json_object_get(last, "ts")))
      fail(i, "a counter that goes back in time");
    last = event;
  }
}

int main(int argc, char **argv) {
  json_error_t error;
  json_t *root = argc == 2 ? json_load_file(argv[1], JSON_REJECT_DUPLICATES, &error) : NULL;
  const json_t *events = json_object_get(root, "traceEvents"), *event;
  size_t i, n = json_array_size(events);
  Slices slices = {0, calloc(n + 1, sizeof(Slice))};
  int nArrows = 0;
  if (!json_is_array(events) || !slices.slices) {
    fprintf(stderr, "usage: shard-trace-check t.json\n");
    return 2;
  }
  json_array_foreach((json_t *)events, i, event) checkEvent(i, event, &slices);
  qsort(slices.slices, slices.n, sizeof(Slice), compareSlices);
  checkSlices(&slices);
  checkCounterOrder(events);
  json_array_foreach((json_t *)events, i, event) {
    const char *phase = textOf(event, "ph");
    bool arrow = strcmp(phase, "s") == 0 || strcmp(phase, "f") == 0;
    nArrows += *phase == 's';
    if (arrow)
      checkFlow(i, events, event, &slices);
    if (!isNamed(events, event, "process_name") ||
        (strcmp(phase, "C") != 0 && !isNamed(events, event, "thread_name")))
      fail(i, "its process or thread has no name");
  }
  printf("%zu slices, %d arrows, %d failures\n", slices.n, nArrows, nFailures);
  free(slices.slices);
  json_decref(root);
  return nFailures != 0;
}
