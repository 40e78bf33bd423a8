//===- Schema.c - The part of JSON Schema that ours uses ----------*- C -*-===//
// Draft 2020-12: https://json-schema.org/draft/2020-12
//===----------------------------------------------------------------------===//
#include "Schema.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool hasType(const json_t *value, const char *type) {
  return (strcmp(type, "object") == 0 && json_is_object(value)) ||
         (strcmp(type, "array") == 0 && json_is_array(value)) ||
         (strcmp(type, "string") == 0 && json_is_string(value)) ||
         (strcmp(type, "number") == 0 && json_is_number(value)) ||
         (strcmp(type, "integer") == 0 && json_is_number(value) &&
          json_number_value(value) == floor(json_number_value(value))) ||
         (strcmp(type, "boolean") == 0 && json_is_boolean(value));
}

static const json_t *resolve(const json_t *root, const char *reference) {
  static const char prefix[] = "#/$defs/";
  const json_t *found =
      strncmp(reference, prefix, strlen(prefix)) == 0
          ? json_object_get(json_object_get(root, "$defs"), reference + strlen(prefix))
          : NULL;
  if (!found) {
    fprintf(stderr, "schema: no '%s'\n", reference);
    exit(2);
  }
  return found;
}

static bool acceptsProperties(const json_t *root, const json_t *schema, const json_t *value) {
  const json_t *properties = json_object_get(schema, "properties");
  bool closed = json_is_false(json_object_get(schema, "additionalProperties"));
  const char *key;
  json_t *field;
  json_object_foreach((json_t *)value, key, field) {
    const json_t *rule = json_object_get(properties, key);
    if (rule ? !schemaAccepts(root, rule, field) : closed)
      return false;
  }
  return true;
}

static bool acceptsItems(const json_t *root, const json_t *schema, const json_t *value) {
  const json_t *first = json_object_get(schema, "prefixItems"),
               *rest = json_object_get(schema, "items");
  bool unique = json_is_true(json_object_get(schema, "uniqueItems"));
  for (size_t i = 0; i < json_array_size(value); ++i) {
    const json_t *rule = i < json_array_size(first) ? json_array_get(first, i) : rest;
    if (rule && !schemaAccepts(root, rule, json_array_get(value, i)))
      return false;
    for (size_t k = 0; unique && k < i; ++k)
      if (json_equal(json_array_get(value, i), json_array_get(value, k)))
        return false;
  }
  return true;
}

static bool hasControl(const char *text) {
  for (; *text; ++text)
    if ((unsigned char)*text < ' ')
      return true;
  return false;
}

static bool acceptsKeyword(const json_t *root, const json_t *schema, const json_t *value,
                           const char *key, json_t *rule) {
  double number = json_number_value(value), bound = json_number_value(rule);
  bool isNumber = json_is_number(value), isArray = json_is_array(value);
  bool isObject = json_is_object(value), isText = json_is_string(value);
  if (strcmp(key, "$ref") == 0)
    return schemaAccepts(root, resolve(root, json_string_value(rule)), value);
  if (strcmp(key, "type") == 0)
    return hasType(value, json_string_value(rule));
  if (strcmp(key, "const") == 0)
    return json_is_number(rule) ? isNumber && number == bound : json_equal((json_t *)value, rule);
  if (strcmp(key, "minimum") == 0)
    return !isNumber || number >= bound;
  if (strcmp(key, "exclusiveMinimum") == 0)
    return !isNumber || number > bound;
  if (strcmp(key, "maximum") == 0)
    return !isNumber || number <= bound;
  if (strcmp(key, "minItems") == 0)
    return !isArray || (double)json_array_size(value) >= bound;
  if (strcmp(key, "maxItems") == 0)
    return !isArray || (double)json_array_size(value) <= bound;
  if (strcmp(key, "minLength") == 0)
    return !isText || (double)json_string_length(value) >= bound;
  if (strcmp(key, "minProperties") == 0)
    return !isObject || (double)json_object_size(value) >= bound;
  if (strcmp(key, "pattern") == 0 && strcmp(json_string_value(rule), "^[^\\u0000-\\u001f]+$") == 0)
    return !isText || !hasControl(json_string_value(value));
  if (strcmp(key, "enum") == 0 || strcmp(key, "anyOf") == 0) {
    for (size_t i = 0; i < json_array_size(rule); ++i)
      if (key[0] == 'e' ? json_equal(json_array_get(rule, i), (json_t *)value)
                        : schemaAccepts(root, json_array_get(rule, i), value))
        return true;
    return false;
  }
  if (strcmp(key, "required") == 0) {
    for (size_t i = 0; isObject && i < json_array_size(rule); ++i)
      if (!json_object_get(value, json_string_value(json_array_get(rule, i))))
        return false;
    return true;
  }
  if (strcmp(key, "properties") == 0 || strcmp(key, "additionalProperties") == 0)
    return !isObject || acceptsProperties(root, schema, value);
  if (strcmp(key, "items") == 0 || strcmp(key, "prefixItems") == 0 ||
      strcmp(key, "uniqueItems") == 0)
    return !isArray || acceptsItems(root, schema, value);
  static const char *const notes[] = {"$schema", "$id", "title", "description", "default", "$defs"};
  for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); ++i)
    if (strcmp(key, notes[i]) == 0)
      return true;
  fprintf(stderr, "schema: keyword '%s' is not known to the checker\n", key);
  exit(2);
}

bool schemaAccepts(const json_t *root, const json_t *schema, const json_t *value) {
  const char *key;
  json_t *rule;
  json_object_foreach((json_t *)schema, key, rule) {
    if (!acceptsKeyword(root, schema, value, key, rule))
      return false;
  }
  return true;
}
