//===- Check.c - A report's page and trace against its JSON -------*- C -*-===//
// shard-report-check SCHEMA plan.json [plan.html...]: the JSON is valid, each page holds the same
// JSON, and every number it shows, a `data` element with a value and a path, stands there in it.
// shard-report-check --trace t.json plan.json: what the trace's events add up to is in the report.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "ReadJson.h"
#include "Schema.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int nFailures;

__attribute__((format(printf, 1, 2))) static void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("FAIL: ", stdout);
  vprintf(format, arguments);
  fputc('\n', stdout);
  va_end(arguments);
  ++nFailures;
}

static char *readText(const char *path) {
  FILE *in = fopen(path, "rb");
  long length = in && fseek(in, 0, SEEK_END) == 0 ? ftell(in) : -1;
  char *text = length < 0 ? NULL : calloc((size_t)length + 1, 1);
  if (text)
    rewind(in);
  if (!text || fread(text, 1, (size_t)length, in) != (size_t)length) {
    fprintf(stderr, "%s: cannot be read\n", path);
    exit(1);
  }
  fclose(in);
  return text;
}

/// The JSON between the tags of a page, which must be the only script of its kind.
static void checkData(const char *path, const char *text, const json_t *plan) {
  static const char open[] = "<script type=\"application/json\" id=\"report\">";
  const char *begin = strstr(text, open), *end = begin ? strstr(begin, "</script") : NULL;
  if (!end) {
    fail("%s holds no data", path);
    return;
  }
  begin += strlen(open);
  json_t *held = json_loadb(begin, (size_t)(end - begin), 0, NULL);
  if (!held || !json_equal(held, plan))
    fail("%s: the data is not the report's", path);
  json_decref(held);
}

/// Every `data` element of a page. Returns how many there are.
static int checkNumbers(const char *path, const char *text, const json_t *plan) {
  static const char open[] = "<data value=\"", between[] = "\" data-path=\"";
  int n = 0;
  for (const char *at = text; (at = strstr(at, open)) != NULL; ++n) {
    char *after;
    double value = strtod(at + strlen(open), &after);
    if (strncmp(after, between, strlen(between)) != 0) {
      at += strlen(open); // the script that makes them
      --n;
      continue;
    }
    after += strlen(between);
    char *name = strndup(after, strcspn(after, "\""));
    const json_t *there = resolveJson(plan, name);
    if (!json_is_number(there) || json_number_value(there) != value)
      fail("%s: %s is shown as %.15g", path, name, value);
    free(name);
    at = after;
  }
  return n;
}

/// What a rank of a stage holds at the peak, class by class, and what it has of weights.
static void checkSums(const json_t *plan) {
  const json_t *memory = json_object_get(plan, "memory"), *device;
  for (size_t i = 0; i < json_array_size(memory); ++i) {
    const json_t *row = json_array_get(memory, i), *value;
    const char *class;
    double sum = 0, peak = json_number_value(json_object_get(row, "peakBytes"));
    json_object_foreach(json_object_get(row, "atPeak"), class, value) sum +=
        json_number_value(value);
    if (sum != peak)
      fail("stage %zu: %.0f bytes by class, %.0f in all", i, sum, peak);
  }
  size_t d;
  json_array_foreach(json_object_get(plan, "devices"), d, device) {
    double bytes = json_number_value(json_object_get(device, "parameterBytes"));
    for (size_t i = 0; i < json_array_size(memory); ++i) {
      const json_t *weights = resolveJson(json_array_get(memory, i), "/atPeak/weight");
      if (json_number_value(weights) == bytes)
        bytes = 0;
    }
    if (memory && bytes != 0)
      fail("rank %zu: no stage has its %.0f bytes of weights", d, bytes);
  }
}

/// What lives by class is what lives in all; where the most does, gaps between buffers come to it.
static void checkMemoryByClass(const json_t *plan) {
  const json_t *stages = resolveJson(plan, "/simulation/stages"), *stage;
  size_t s, i;
  json_array_foreach(stages, s, stage) {
    const json_t *point, *list;
    json_int_t peak = json_integer_value(json_object_get(stage, "peakBytes"));
    if (!json_is_true(json_object_get(stage, "planned"))) {
      fail("stage %zu has no memory plan", s);
      continue;
    }
    json_array_foreach(json_object_get(stage, "memory"), i, point) {
      json_int_t sum = 0, bytes = json_integer_value(json_array_get(point, 1));
      const char *class;
      json_object_foreach((json_t *)json_object_get(stage, "memoryByClass"), class, list) sum +=
          json_integer_value(json_array_get(list, i));
      if (sum > bytes || (sum < bytes && bytes != peak))
        fail("stage %zu: %lld bytes by class at point %zu, %lld in all", s, (long long)sum, i,
             (long long)bytes);
    }
  }
}

static void checkPlan(int nPages, char **pages, const json_t *schema, const json_t *plan) {
  if (!schemaAccepts(schema, schema, plan))
    fail("the report is not valid under the schema");
  checkMemoryByClass(plan);
  checkSums(plan);
  for (int i = 0; i < nPages; ++i) {
    char *text = readText(pages[i]);
    checkData(pages[i], text, plan);
    if (strstr(text, "src=") || strstr(text, "href=") || strstr(text, "@import"))
      fail("%s: another file is asked for", pages[i]);
    printf("%d numbers\n", checkNumbers(pages[i], text, plan));
    free(text);
  }
}

/// The timeline of a stage has no more spans than a screen has columns; they are in order, apart
/// and inside of the step, and where they are exact they add up to the busy time.
static void checkTimeline(size_t s, const json_t *stage, double step, double busy) {
  const json_t *spans = json_object_get(stage, "timeline");
  double part = json_number_value(json_object_get(stage, "timelinePartPs")), last = 0, compute = 0;
  for (size_t i = 0; i < json_array_size(spans); ++i) {
    const json_t *span = json_array_get(spans, i);
    double begin = json_number_value(json_array_get(span, 1));
    double end = json_number_value(json_array_get(span, 2));
    if (begin < last || end <= begin || end > step + part)
      fail("stage %zu: span %zu from %.0f to %.0f", s, i, begin, end);
    last = end;
    if (strcmp(json_string_value(json_array_get(span, 0)), "compute") == 0)
      compute += end - begin;
  }
  if (json_array_size(spans) > 2049 || (part == 0 && compute != busy))
    fail("stage %zu: %zu spans, %.0f ps busy of %.0f", s, json_array_size(spans), compute, busy);
}

/// Time of each stage's events: without gaps they and the waits end when its first class does.
static void checkTrace(const json_t *trace, const json_t *plan) {
  const json_t *stages = resolveJson(plan, "/simulation/stages");
  for (size_t s = 0; s < json_array_size(stages); ++s) {
    const json_t *events = json_object_get(trace, "traceEvents"), *event;
    double end = 0, compute = 0, moved = 0, peak = 0;
    size_t i;
    json_array_foreach(events, i, event) {
      if (json_integer_value(json_object_get(event, "pid")) != (json_int_t)s + 1)
        continue;
      const char *kind = json_string_value(json_object_get(event, "ph"));
      double bytes = json_number_value(resolveJson(event, "/args/bytes"));
      peak = strcmp(kind, "C") == 0 && bytes > peak ? bytes : peak;
      bool beside = json_integer_value(json_object_get(event, "tid")) != (json_int_t)s + 1;
      if (strcmp(kind, "X") != 0 || beside)
        continue;
      double ps = json_number_value(json_object_get(event, "dur")) * 1e6;
      end = fmax(end, json_number_value(json_object_get(event, "ts")) * 1e6 + ps);
      if (strcmp(json_string_value(json_object_get(event, "cat")), "compute") == 0)
        compute += ps;
      else if (strcmp(json_string_value(json_object_get(event, "cat")), "wait") != 0)
        moved += ps;
    }
    const json_t *class = NULL, *classes = resolveJson(plan, "/simulation/classes");
    for (size_t c = 0; !class && c < json_array_size(classes); ++c)
      if (json_integer_value(resolveJson(json_array_get(classes, c), "/stage")) == (json_int_t)s)
        class = json_array_get(classes, c);
    double busy = json_number_value(json_object_get(class, "busyPs"));
    double last = json_number_value(json_object_get(class, "endPs"));
    checkTimeline(s, json_array_get(stages, s),
                  json_number_value(resolveJson(plan, "/simulation/stepPs")), busy);
    double exposed = json_number_value(json_object_get(class, "communicationPs"));
    double idle = json_number_value(json_object_get(class, "waitPs")) +
                  json_number_value(json_object_get(class, "bubblePs"));
    double step = json_number_value(resolveJson(plan, "/simulation/stepPs"));
    if (fabs(moved - exposed) > 1e-9 * step + 1 ||
        fabs(step - compute - moved - idle) > 1e-9 * step + 1)
      fail("stage %zu: communication %.0f ps, idle %.0f; the report has %.0f and %.0f", s, moved,
           step - compute - moved, exposed, idle);
    if (fabs(compute - busy) > 1e-9 * busy + 1 || fabs(end - last) > 1e-9 * last + 1)
      fail("stage %zu: busy %.0f ps, end %.0f; the report has %.0f and %.0f", s, compute, end, busy,
           last);
    double reported = json_number_value(json_object_get(json_array_get(stages, s), "peakBytes"));
    if (peak != reported)
      fail("stage %zu: %.0f bytes at most, the report has %.0f", s, peak, reported);
  }
  printf("%zu stages\n", json_array_size(stages));
}

int main(int argc, char **argv) {
  if (argc < 3 || (strcmp(argv[1], "--trace") == 0 && argc != 4)) {
    fprintf(stderr, "usage: shard-report-check SCHEMA plan.json [plan.html...]\n"
                    "       shard-report-check --trace t.json plan.json\n");
    return 2;
  }
  bool traced = strcmp(argv[1], "--trace") == 0;
  json_t *first = readJson(argv[traced ? 2 : 1]), *plan = readJson(argv[traced ? 3 : 2]);
  if (traced)
    checkTrace(first, plan);
  else
    checkPlan(argc - 3, argv + 3, first, plan);
  json_decref(first);
  json_decref(plan);
  printf("%d failures\n", nFailures);
  return nFailures != 0;
}
