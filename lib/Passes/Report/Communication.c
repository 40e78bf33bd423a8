//===- Communication.c - Bytes by axis and cause ------------------*- C -*-===//
#include "Report.h"

#include <string.h>

static const char *textOf(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

/// Each boundary between stages has its own cause; here they are one.
static const char *causeOf(const json_t *site) {
  return strcmp(textOf(site, "kind"), "send") == 0 ? "values that later stages use"
                                                   : textOf(site, "cause");
}

static json_t *findRow(const json_t *rows, const json_t *site) {
  for (size_t i = 0; i < json_array_size(rows); ++i) {
    json_t *row = json_array_get(rows, i);
    if (strcmp(textOf(row, "collective"), textOf(site, "kind")) == 0 &&
        strcmp(textOf(row, "cause"), causeOf(site)) == 0 &&
        json_equal(json_object_get(row, "axes"), json_object_get(site, "axes")))
      return row;
  }
  return NULL;
}

json_t *shardReportCommunication(const json_t *collectives) {
  json_t *rows = json_array();
  for (size_t i = 0; i < json_array_size(collectives); ++i) {
    json_t *site = json_array_get(collectives, i);
    json_t *row = findRow(rows, site);
    if (!row) {
      row = json_pack("{s:O, s:s, s:s, s:i, s:f, s:[]}", "axes", json_object_get(site, "axes"),
                      "collective", textOf(site, "kind"), "cause", causeOf(site), "calls", 0,
                      "sentBytes", 0.0, "sites");
      json_array_append_new(rows, row);
    }
    json_int_t calls = json_integer_value(json_object_get(site, "count"));
    json_object_set_new(row, "calls",
                        json_integer(json_integer_value(json_object_get(row, "calls")) + calls));
    json_object_set_new(row, "sentBytes",
                        json_real(json_real_value(json_object_get(row, "sentBytes")) +
                                  json_real_value(json_object_get(site, "bytes")) * (double)calls));
    json_array_append(json_object_get(row, "sites"), json_object_get(site, "site"));
  }
  return rows;
}
