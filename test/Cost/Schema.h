//===- Schema.h - The part of JSON Schema that ours uses ----------*- C -*-===//
#ifndef SHARD_TEST_COST_SCHEMA_H
#define SHARD_TEST_COST_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>

/// Whether `value` is valid under `schema`, part of `root`. A keyword that the checker does not
/// know ends the program: it would be a check that passes silently.
bool schemaAccepts(const json_t *root, const json_t *schema, const json_t *value);

#endif // SHARD_TEST_COST_SCHEMA_H
