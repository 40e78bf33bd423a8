//===- Options.c - The one option parser --------------------------*- C -*-===//
#include "Registry.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const ShardOption *shardPassOptionFind(const ShardPassInfo *info, MlirStringRef name) {
  for (size_t i = 0; i < info->nOptions; ++i)
    if (shardStringIs(name, info->options[i].name))
      return &info->options[i];
  return NULL;
}

// Is `value` one of "a|b|c"?
static bool isChoice(const char *choices, const char *value) {
  size_t length = strlen(value);
  for (const char *p = choices;; ++p) {
    const char *end = strchr(p, '|');
    size_t n = end ? (size_t)(end - p) : strlen(p);
    if (n == length && memcmp(p, value, n) == 0)
      return true;
    if (!end)
      return false;
    p = end;
  }
}

static bool parseInt64(const char *text, int64_t *outValue) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (end == text || *end || errno == ERANGE || isspace((unsigned char)*text))
    return false;
  *outValue = value;
  return true;
}

// "1..", "0..8", "..5"
static bool isInRange(const char *range, int64_t value) {
  const char *dots = strstr(range, "..");
  if (!dots)
    return true;
  if (dots != range && value < strtoll(range, NULL, 10))
    return false;
  return !dots[2] || value <= strtoll(dots + 2, NULL, 10);
}

static bool setOption(const ShardPassInfo *info, const ShardOption *option, const char *value,
                      void *options, ShardArena *arena, const char **outMessage) {
  void *field = (char *)options + option->offset;
  switch (option->kind) {
  case SHARD_OPTION_INT64: {
    int64_t number;
    if (!parseInt64(value, &number)) {
      *outMessage = shardArenaFormat(arena, "option '%s' of '%s' takes an integer, not '%s'",
                                     option->name, info->argument, value);
      return false;
    }
    if (!isInRange(option->range, number)) {
      *outMessage = shardArenaFormat(arena, "option '%s' of '%s' is %" PRId64 ", outside %s",
                                     option->name, info->argument, number, option->range);
      return false;
    }
    *(int64_t *)field = number;
    return true;
  }
  case SHARD_OPTION_BOOL: {
    bool yes = !*value || strcmp(value, "true") == 0 || strcmp(value, "1") == 0;
    if (!yes && strcmp(value, "false") != 0 && strcmp(value, "0") != 0) {
      *outMessage = shardArenaFormat(arena, "option '%s' of '%s' takes true or false, not '%s'",
                                     option->name, info->argument, value);
      return false;
    }
    *(bool *)field = yes;
    return true;
  }
  case SHARD_OPTION_STRING:
    if (*option->range && !isChoice(option->range, value)) {
      *outMessage = shardArenaFormat(arena, "option '%s' of '%s' is '%s', not one of %s",
                                     option->name, info->argument, value, option->range);
      return false;
    }
    *(const char **)field = value;
    return true;
  }
  return false;
}

// Cuts the next "name", "name=value", "name={..}" or "name='..'" off `*cursor`. Returns 1, 0 at the
// end, -1 when a quote or brace is not closed.
static int nextOption(const char **cursor, const char *end, MlirStringRef *outName,
                      MlirStringRef *outValue) {
  const char *p = *cursor;
  while (p < end && isspace((unsigned char)*p))
    ++p;
  if (p == end)
    return 0;
  const char *name = p;
  while (p < end && *p != '=' && !isspace((unsigned char)*p))
    ++p;
  *outName = mlirStringRefCreate(name, (size_t)(p - name));
  *outValue = mlirStringRefCreate(p, 0);
  if (p < end && *p == '=') {
    const char *value = ++p;
    if (p < end && (*p == '\'' || *p == '"' || *p == '{')) {
      char open = *p, close = open == '{' ? '}' : open;
      int depth = 0;
      for (value = ++p; p < end && (*p != close || depth); ++p)
        depth += open == '{' ? (*p == '{') - (*p == '}') : 0;
      if (p == end)
        return -1;
      *outValue = mlirStringRefCreate(value, (size_t)(p - value));
      ++p;
    } else {
      while (p < end && !isspace((unsigned char)*p))
        ++p;
      *outValue = mlirStringRefCreate(value, (size_t)(p - value));
    }
  }
  *cursor = p;
  return 1;
}

static MlirStringRef stripBraces(MlirStringRef text) {
  while (text.length && isspace((unsigned char)text.data[0]))
    text = mlirStringRefCreate(text.data + 1, text.length - 1);
  while (text.length && isspace((unsigned char)text.data[text.length - 1]))
    --text.length;
  if (text.length >= 2 && text.data[0] == '{' && text.data[text.length - 1] == '}')
    return mlirStringRefCreate(text.data + 1, text.length - 2);
  return text;
}

bool shardPassOptionSet(const ShardPassInfo *info, const char *name, const char *value,
                        void *options, ShardArena *arena, const char **outMessage) {
  const ShardOption *option = shardPassOptionFind(info, mlirStringRefCreateFromCString(name));
  return setOption(info, option, shardArenaCopyString(arena, value, strlen(value)), options, arena,
                   outMessage);
}

static const char *optionNames(const ShardPassInfo *info, ShardArena *arena) {
  if (!info->nOptions)
    return "it has none";
  const char *names = "its options are";
  for (size_t i = 0; i < info->nOptions; ++i)
    names = shardArenaFormat(arena, "%s%s '%s'", names, i ? "," : "", info->options[i].name);
  return names;
}

bool shardPassOptionsParse(const ShardPassInfo *info, MlirStringRef text, void *options,
                           ShardArena *arena, const char **outMessage) {
  for (size_t i = 0; i < info->nOptions; ++i)
    if (!setOption(info, &info->options[i], info->options[i].defaultText, options, arena,
                   outMessage))
      return false;
  text = stripBraces(text);
  const char *cursor = text.data, *end = text.data + text.length;
  for (;;) {
    MlirStringRef name, value;
    int found = nextOption(&cursor, end, &name, &value);
    if (found == 0)
      return true;
    if (found < 0) {
      *outMessage = shardArenaFormat(arena, "option '%.*s' of '%s' has an open quote or brace",
                                     (int)name.length, name.data, info->argument);
      return false;
    }
    const ShardOption *option = shardPassOptionFind(info, name);
    if (!option) {
      *outMessage = shardArenaFormat(arena, "pass '%s' has no option '%.*s'; %s", info->argument,
                                     (int)name.length, name.data, optionNames(info, arena));
      return false;
    }
    if (!setOption(info, option, shardArenaCopyString(arena, value.data, value.length), options,
                   arena, outMessage))
      return false;
  }
}

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

// The pass at or after place `*index` of the table that is part of `info`; steps behind it.
static bool nextPassOf(const ShardPipelineInfo *info, intptr_t *index,
                       const ShardPassInfo **outPass) {
  while (*index < shardPassInfoCount() && !shardPassInfoIsInPipeline(*index))
    ++*index;
  if (*index >= shardPassInfoCount())
    return false;
  *outPass = shardPassInfoGet((*index)++);
  if (strcmp((*outPass)->argument, info->last) == 0)
    *index = shardPassInfoCount();
  return true;
}

bool shardPipelineExpand(const ShardPipelineInfo *info, MlirStringRef options, ShardArena *arena,
                         void (*add)(void *user, const ShardPassInfo *pass, MlirStringRef options),
                         void *user, const char **outMessage) {
  typedef struct Given {
    MlirStringRef name, value;
    bool used;
  } Given;
  MlirStringRef text = stripBraces(options), stopAfter = {NULL, 0};
  Given *given = SHARD_ARENA_ARRAY(arena, Given, text.length / 2 + 1);
  size_t nGiven = 0;
  const char *cursor = text.data, *end = text.data + text.length;
  for (int found; (found = nextOption(&cursor, end, &given[nGiven].name, &given[nGiven].value));) {
    if (found < 0) {
      *outMessage =
          shardArenaFormat(arena, "option '%.*s' of '%s' has an open quote or brace",
                           (int)given[nGiven].name.length, given[nGiven].name.data, info->argument);
      return false;
    }
    if (shardStringIs(given[nGiven].name, "stop-after"))
      stopAfter = given[nGiven].value;
    else
      ++nGiven;
  }
  // Check first, so that nothing is added on a mistake.
  const ShardPassInfo *pass;
  intptr_t index = 0;
  bool stopFound = !stopAfter.length;
  const char *names = "";
  while (nextPassOf(info, &index, &pass)) {
    stopFound |= shardStringIs(stopAfter, pass->argument);
    for (size_t i = 0; i < nGiven; ++i)
      given[i].used |= shardPassOptionFind(pass, given[i].name) != NULL;
    names = shardArenaFormat(arena, "%s%s'%s'", names, *names ? ", " : "", pass->argument);
  }
  if (!stopFound) {
    *outMessage = shardArenaFormat(arena, "'%.*s' is no pass of '%s'; its passes are %s",
                                   (int)stopAfter.length, stopAfter.data, info->argument, names);
    return false;
  }
  for (size_t i = 0; i < nGiven; ++i)
    if (!given[i].used) {
      *outMessage = shardArenaFormat(arena, "no pass of '%s' has an option '%.*s'", info->argument,
                                     (int)given[i].name.length, given[i].name.data);
      return false;
    }
  index = 0;
  while (nextPassOf(info, &index, &pass)) {
    const char *part = "";
    for (size_t i = 0; i < nGiven; ++i)
      if (shardPassOptionFind(pass, given[i].name))
        part = shardArenaFormat(arena, "%s%s%.*s={%.*s}", part, *part ? " " : "",
                                (int)given[i].name.length, given[i].name.data,
                                (int)given[i].value.length, given[i].value.data);
    add(user, pass, mlirStringRefCreateFromCString(part));
    if (shardStringIs(stopAfter, pass->argument))
      break;
  }
  return true;
}
