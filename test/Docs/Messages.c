//===- Messages.c - The list of refusals against the code ---------*- C -*-===//
// shard-messages code REFERENCE FILE.c...   Fails on an error message in the code that the
// reference
//     lists neither as a refusal nor as a mistake, and on one that it lists and no code says.
// shard-messages match REFERENCE MESSAGE    Exits with 0 if the reference lists a refusal of that
// text.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *readFile(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    fprintf(stderr, "shard-messages: error: cannot read '%s'\n", path);
    exit(1);
  }
  char *text = NULL;
  size_t length = 0;
  FILE *memory = open_memstream(&text, &length);
  for (int c; (c = fgetc(file)) != EOF;)
    fputc(c, memory);
  fclose(memory);
  fclose(file);
  return text;
}

typedef struct Messages {
  char **items;
  size_t n;
} Messages;

static void add(Messages *list, char *text) {
  for (size_t i = 0; i < list->n; ++i)
    if (strcmp(list->items[i], text) == 0)
      return;
  list->items = realloc(list->items, (list->n + 1) * sizeof *list->items);
  list->items[list->n++] = text;
}

static bool has(const Messages *list, const char *text) {
  for (size_t i = 0; i < list->n; ++i)
    if (strcmp(list->items[i], text) == 0)
      return true;
  return false;
}

/// What stands between the first two backquotes of the lines of a section that begin with `prefix`.
static void readSection(const char *text, const char *heading, const char *prefix, Messages *out) {
  const char *p = strstr(text, heading);
  for (p = p ? p + strlen(heading) - 1 : NULL; p && strncmp(p, "\n## ", 4) != 0;
       p = strchr(p + 1, '\n')) {
    const char *line = p + 1;
    if (strncmp(line, prefix, strlen(prefix)) != 0)
      continue;
    const char *begin = line + strlen(prefix), *end = strstr(begin, "` |");
    const char *newline = strchr(begin, '\n');
    if (!end || end > newline)
      end = memrchr(begin, '`', (size_t)(newline - begin));
    if (end)
      add(out, strndup(begin, (size_t)(end - begin)));
  }
}

//===----------------------------------------------------------------------===//
// Messages in C
//===----------------------------------------------------------------------===//

/// Copies a string literal's text from after its quote; returns the place after the closing one.
static const char *readLiteral(const char *p, FILE *out) {
  for (; *p && *p != '"'; ++p) {
    if (*p == '\\' && p[1]) {
      ++p;
      fputc(*p == 'n' ? '\n' : *p, out);
    } else {
      fputc(*p, out);
    }
  }
  return *p ? p + 1 : p;
}

/// Conversions become an ellipsis.
static char *withoutConversions(const char *format) {
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  while (*format) {
    if (*format != '%' || format[1] == '%') {
      format += *format == '%';
      fputc(*format++, out);
      continue;
    }
    format += 1 + strspn(format + 1, "-+ #0123456789.*hlzjtL");
    format += *format != 0;
    fputs("…", out);
  }
  fclose(out);
  return text;
}

static const char *skipSpace(const char *p) {
  while (isspace((unsigned char)*p))
    ++p;
  return p;
}

/// The formats of one call, from its opening parenthesis: the literals of the second argument, both
/// of a condition. PRId64 and its kin count as a conversion.
static void readCall(const char *p, Messages *out) {
  int depth = 0, argument = 0;
  for (++p; *p && !(depth == 0 && *p == ')');) {
    if (*p == '"') {
      char *format = NULL;
      size_t length = 0;
      FILE *stream = open_memstream(&format, &length);
      for (bool more = true; more;) {
        p = skipSpace(readLiteral(p + 1, stream));
        if (strncmp(p, "PRI", 3) == 0) {
          while (isalnum((unsigned char)*p))
            ++p;
          fputc('d', stream);
          p = skipSpace(p);
        }
        more = *p == '"';
      }
      fclose(stream);
      if (depth == 0 && argument == 1 && *format)
        add(out, withoutConversions(format));
      free(format);
      continue;
    }
    depth += *p == '(' || *p == '[' || *p == '{';
    depth -= *p == ')' || *p == ']' || *p == '}';
    argument += depth == 0 && *p == ',';
    ++p;
  }
}

static void readCode(const char *text, Messages *out) {
  static const char *const calls[] = {"shardEmitError", "shardEmitErrorAt",
                                      "shardEmitErrorWithNote"};
  for (size_t k = 0; k < sizeof calls / sizeof calls[0]; ++k)
    for (const char *p = text; (p = strstr(p, calls[k]));) {
      p += strlen(calls[k]);
      if (*p == '(')
        readCall(p, out);
    }
}

static int checkCode(int n, char **arguments) {
  char *reference = readFile(arguments[0]);
  Messages listed = {0}, said = {0};
  readSection(reference, "\n## Refusals\n", "| `", &listed);
  size_t nRefusals = listed.n;
  readSection(reference, "\n## Mistakes\n", "- `", &listed);
  for (int i = 1; i < n; ++i)
    readCode(readFile(arguments[i]), &said);
  int failures = 0;
  for (size_t i = 0; i < said.n; ++i)
    if (!has(&listed, said.items[i])) {
      printf("not in the list (lib/Passes/Core/Refusals.c): %s\n", said.items[i]);
      ++failures;
    }
  for (size_t i = 0; i < listed.n; ++i)
    if (!has(&said, listed.items[i])) {
      printf("in the list, and no code says it: %s\n", listed.items[i]);
      ++failures;
    }
  printf("%zu messages, %zu of them refusals; %d failures\n", listed.n, nRefusals, failures);
  return failures != 0 || nRefusals == 0;
}

//===----------------------------------------------------------------------===//
// A message against the list
//===----------------------------------------------------------------------===//

static bool matches(const char *pattern, const char *text) {
  static const char ellipsis[] = "…";
  const size_t length = sizeof ellipsis - 1;
  while (*pattern) {
    if (strncmp(pattern, ellipsis, length) == 0) {
      for (pattern += length;; ++text) {
        if (matches(pattern, text))
          return true;
        if (!*text)
          return false;
      }
    }
    if (*pattern++ != *text++)
      return false;
  }
  return !*text;
}

static int matchMessage(const char *path, const char *message) {
  Messages refusals = {0};
  readSection(readFile(path), "\n## Refusals\n", "| `", &refusals);
  const char *text = strstr(message, "error: ");
  text = text ? text + strlen("error: ") : message;
  for (size_t i = 0; i < refusals.n; ++i)
    if (matches(refusals.items[i], text)) {
      printf("%s\n", refusals.items[i]);
      return 0;
    }
  printf("no refusal of the reference reads so: %s\n", text);
  return 1;
}

int main(int argc, char **argv) {
  if (argc > 3 && strcmp(argv[1], "code") == 0)
    return checkCode(argc - 2, argv + 2);
  if (argc == 4 && strcmp(argv[1], "match") == 0)
    return matchMessage(argv[2], argv[3]);
  fputs("usage: shard-messages code REFERENCE FILE.c...\n"
        "       shard-messages match REFERENCE MESSAGE\n",
        stderr);
  return 1;
}
