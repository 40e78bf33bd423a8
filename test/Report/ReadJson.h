//===- ReadJson.h - JSON in tests ---------------------------------*- C -*-===//
#ifndef SHARD_TEST_REPORT_READ_JSON_H
#define SHARD_TEST_REPORT_READ_JSON_H

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// The file, owned by the caller; ends the test if it is no JSON.
static inline json_t *readJson(const char *path) {
  json_error_t error;
  json_t *root = json_load_file(path, 0, &error);
  if (!root) {
    fprintf(stderr, "%s:%d: %s\n", path, error.line, error.text);
    exit(1);
  }
  return root;
}

/// What `path` ("/mesh/axes/0/size") names; null: nothing.
static inline const json_t *resolveJson(const json_t *root, const char *path) {
  while (root && *path == '/') {
    size_t length = strcspn(++path, "/");
    char key[256];
    snprintf(key, sizeof(key), "%.*s", (int)length, path);
    root = json_is_array(root) ? json_array_get(root, strtoul(key, NULL, 10))
                               : json_object_get(root, key);
    path += length;
  }
  return root;
}

#endif // SHARD_TEST_REPORT_READ_JSON_H
