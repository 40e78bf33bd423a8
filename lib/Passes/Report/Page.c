//===- Page.c - A report as one page of HTML ----------------------*- C -*-===//
// The page holds the report's JSON and draws its tables and charts from it. What the first screen
// says is written here, so that it is read without JavaScript too: each number is a `data` element
// with its exact value and its place in the JSON (RFC 6901).
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Report.h"

#include "../Core/Units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void writeEscaped(FILE *out, const char *text) {
  for (; *text; ++text)
    switch (*text) {
    case '&':
      fputs("&amp;", out);
      break;
    case '<':
      fputs("&lt;", out);
      break;
    case '>':
      fputs("&gt;", out);
      break;
    case '"':
      fputs("&quot;", out);
      break;
    case '\'':
      fputs("&#39;", out);
      break;
    default:
      fputc(*text, out);
    }
}

/// Inside of a script element only "<" can end it or begin a comment; it stands in texts alone.
static void writeJson(FILE *out, const char *json) {
  for (; *json; ++json)
    if (*json == '<')
      fputs("\\u003c", out);
    else
      fputc(*json, out);
}

static const json_t *at(const json_t *root, const char *key, const char *inner) {
  return json_object_get(json_object_get(root, key), inner);
}

static void writeTime(FILE *out, double ps) {
  static const char *const prefixes[] = {"p", "n", "µ", "m", ""};
  char text[SHARD_SCALED_TEXT];
  fputs(shardScaledText(text, ps, 4, prefixes, 5, "s"), out);
}

static void writeBytes(FILE *out, double bytes) {
  char text[SHARD_SCALED_TEXT];
  fputs(shardBytesText(text, bytes, 4), out);
}

static void writePercent(FILE *out, double fraction) { fprintf(out, "%.1f %%", 100 * fraction); }

static void writePlain(FILE *out, double value) { fprintf(out, "%.15g", value); }

/// The number at `path` ("/headline/stepPs") as `write` shows it.
static void writeNumber(FILE *out, const json_t *value, const char *path,
                        void (*write)(FILE *, double)) {
  if (json_is_integer(value))
    fprintf(out, "<data value=\"%" JSON_INTEGER_FORMAT "\" data-path=\"%s\">",
            json_integer_value(value), path);
  else
    fprintf(out, "<data value=\"%.15g\" data-path=\"%s\">", json_real_value(value), path);
  write(out, json_number_value(value));
  fputs("</data>", out);
}

static void openCard(FILE *out, const char *title) {
  fprintf(out, "<div class=\"card\"><h2>%s</h2><p class=\"big\">", title);
}

/// The length of an axis' name without the number of a part, "tp" of "tp.1".
static size_t wholeLength(const char *name) { return strcspn(name, "."); }

/// Parts of one axis are its degree as a product: "tp 2·2".
static void writeDegrees(FILE *out, const json_t *root) {
  const json_t *axes = at(root, "mesh", "axes");
  const char *last = NULL;
  openCard(out, "Degrees");
  for (size_t i = 0; i < json_array_size(axes); ++i) {
    const json_t *axis = json_array_get(axes, i);
    char path[64];
    snprintf(path, sizeof(path), "/mesh/axes/%zu/size", i);
    const char *name = json_string_value(json_object_get(axis, "name"));
    size_t length = wholeLength(name);
    bool part = last && wholeLength(last) == length && memcmp(last, name, length) == 0;
    fputs(part ? "·" : i ? " × " : "", out);
    if (!part) {
      char whole[32];
      snprintf(whole, sizeof(whole), "%.*s ", (int)length, name);
      writeEscaped(out, whole);
    }
    last = name;
    writeNumber(out, json_object_get(axis, "size"), path, writePlain);
  }
  fputs("</p><p>", out);
  writeNumber(out, at(root, "mesh", "devices"), "/mesh/devices", writePlain);
  bool one = json_integer_value(at(root, "mesh", "devices")) == 1;
  fprintf(out, " device%s in %zu stage%s", one ? "" : "s",
          json_array_size(json_object_get(root, "stages")),
          json_array_size(json_object_get(root, "stages")) == 1 ? "" : "s");
  const json_t *idle = at(root, "headline", "idleDevices");
  if (json_integer_value(idle) > 0) {
    fputs("; ", out);
    writeNumber(out, idle, "/headline/idleDevices", writePlain);
    fputs(" of the cluster idle: the degrees have no use for more", out);
  }
  fputs("</p></div>\n", out);
}

static void writeStepTime(FILE *out, const json_t *root) {
  openCard(out, "Step time");
  writeNumber(out, at(root, "headline", "stepPs"), "/headline/stepPs", writeTime);
  fputs("</p><p>simulated on ", out);
  writeEscaped(out, json_string_value(at(root, "cluster", "name")));
  const json_t *loops = at(root, "simulation", "loopsOnce");
  if (json_integer_value(loops) > 0) {
    fputs("; <strong>one turn</strong> counted of each loop of unknown bounds: ", out);
    writeNumber(out, loops, "/simulation/loopsOnce", writePlain);
  }
  fputs("</p></div>\n", out);
}

/// A plan's peak is what a rank has, to the byte; another is an estimate, and says why.
static void writeEstimate(FILE *out, const json_t *root) {
  const json_t *stages = at(root, "simulation", "stages");
  json_int_t peakStage = json_integer_value(at(root, "headline", "peakStage"));
  const json_t *stage = json_array_get(stages, (size_t)peakStage);
  const char *because = json_string_value(json_object_get(stage, "estimatedBecause"));
  if (!because)
    return;
  fputs("</p><p><strong>estimated</strong>, as the program has no memory plan: ", out);
  writeEscaped(out, because);
}

static void writeMemory(FILE *out, const json_t *root) {
  double limit = json_real_value(at(root, "headline", "limitBytes"));
  bool fits = json_is_true(at(root, "headline", "fits"));
  openCard(out, "Memory per device");
  writeNumber(out, at(root, "headline", "peakBytes"), "/headline/peakBytes", writeBytes);
  fputs("</p><p>of ", out);
  writeNumber(out, at(root, "headline", "limitBytes"), "/headline/limitBytes", writeBytes);
  fprintf(out, " that may be used: it %s; stage ", fits ? "fits" : "<strong>does not fit</strong>");
  writeNumber(out, at(root, "headline", "peakStage"), "/headline/peakStage", writePlain);
  writeEstimate(out, root);
  fprintf(out,
          "</p><meter min=\"0\" max=\"%.15g\" high=\"%.15g\" value=\"%.15g\" aria-label=\"memory "
          "in use\"></meter></div>\n",
          limit, 0.9 * limit, json_number_value(at(root, "headline", "peakBytes")));
}

static void writeBinding(FILE *out, const json_t *root) {
  openCard(out, "What binds");
  writeEscaped(out, json_string_value(at(root, "headline", "binds")));
  fputs("</p><p>step: ", out);
  static const char *const parts[] = {"busy", "communication", "wait", "bubble"};
  for (int i = 0; i < 4; ++i) {
    char path[64];
    snprintf(path, sizeof(path), "/simulation/%s", parts[i]);
    fprintf(out, "%s%s ", i ? ", " : "", parts[i]);
    writeNumber(out, at(root, "simulation", parts[i]), path, writePercent);
  }
  fputs("</p></div>\n", out);
}

static void writeHeadline(FILE *out, const json_t *root) {
  writeDegrees(out, root);
  if (!json_object_get(root, "headline")) {
    openCard(out, "Step time, memory, what binds");
    fputs("not known</p><p>They depend on the machine: give shard-opt "
          "<code>--cluster=FILE|PRESET[:DEVICES]</code> too.</p></div>\n",
          out);
    return;
  }
  writeStepTime(out, root);
  writeMemory(out, root);
  writeBinding(out, root);
}

char *shardReportFormatPage(const json_t *root, const char *json) {
  static const char headline[] = "<!--headline-->", data[] = "<!--json-->";
  const char *end = shardReportPage + shardReportPageBytes;
  const char *first = memmem(shardReportPage, shardReportPageBytes, headline, strlen(headline));
  const char *second = memmem(shardReportPage, shardReportPageBytes, data, strlen(data));
  char *text = NULL;
  size_t length = 0;
  FILE *out = first && second ? open_memstream(&text, &length) : NULL;
  if (!out)
    return NULL;
  fwrite(shardReportPage, 1, (size_t)(first - shardReportPage), out);
  writeHeadline(out, root);
  first += strlen(headline);
  fwrite(first, 1, (size_t)(second - first), out);
  writeJson(out, json);
  second += strlen(data);
  fwrite(second, 1, (size_t)(end - second), out);
  fclose(out);
  return text;
}
