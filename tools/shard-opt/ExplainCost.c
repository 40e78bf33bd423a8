//===- ExplainCost.c - shard-opt --explain-cost=QUESTION:NAME=N,... -------===//
// Questions and answers are in CostAnswers.c, one table for parsing, ranges, help and reference.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "ExplainCost.h"

#include "Cluster.h"
#include "CostAnswers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool isName(const char *name, const char *text, size_t length) {
  return strlen(name) == length && memcmp(name, text, length) == 0;
}

static int countFields(const CostQuestion *question) {
  int n = 0;
  while (n < COST_MAX_FIELDS && question->fields[n].name)
    ++n;
  return n;
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

static int findQuestion(const char *text, size_t length) {
  char names[512] = "";
  for (int i = 0; i < nCostQuestions; ++i) {
    if (isName(costQuestions[i].name, text, length))
      return i;
    size_t used = strlen(names);
    snprintf(names + used, sizeof(names) - used, "%s, ", costQuestions[i].name);
  }
  shardOptFail("'--explain-cost': no question '%.*s'; expected one of %shelp", (int)length, text,
               names);
  return -1;
}

static bool parseType(const char *text, size_t length, double *out) {
  for (int t = 0; t < SHARD_N_RATE_TYPES; ++t)
    if (isName(shardRateTypeName((ShardRateType)t), text, length)) {
      *out = t;
      return true;
    }
  return false;
}

/// A number in the field's range, 25e9 as well; whole where it counts.
static bool parseValue(const CostField *field, const char *text, size_t length, double *out) {
  char copy[32], *end;
  if (field->kind == COST_TYPE)
    return parseType(text, length, out);
  if (length >= sizeof(copy) || length == 0 || text[0] == '-' || text[0] == '+')
    return false;
  memcpy(copy, text, length);
  copy[length] = 0;
  if (strspn(copy, "0123456789.eE+-") != length)
    return false; // nor hexadecimal, nor infinite
  *out = strtod(copy, &end);
  bool whole = field->kind != COST_COUNT || *out == floor(*out);
  return !*end && whole && *out >= field->least && *out <= field->most;
}

static bool failField(const CostQuestion *question, const char *text, size_t length) {
  char names[256] = "";
  int n = countFields(question);
  for (int i = 0; i < n; ++i) {
    size_t used = strlen(names);
    snprintf(names + used, sizeof(names) - used, "%s%s",
             i == 0       ? ""
             : i + 1 == n ? " or "
                          : ", ",
             question->fields[i].name);
  }
  return shardOptFail("'--explain-cost': unknown '%.*s'; %s takes %s", (int)length, text,
                      question->name, names);
}

static bool failValue(const CostField *field, const char *text, size_t length) {
  if (field->kind == COST_TYPE)
    return shardOptFail("'--explain-cost': '%.*s' is no type; expected f64, f32, f16, bf16, f8, f4 "
                        "or i8",
                        (int)length, text);
  return shardOptFail("'--explain-cost': '%.*s' is not a %snumber from %g to %g", (int)length, text,
                      field->kind == COST_COUNT ? "whole " : "", field->least, field->most);
}

/// The fields of one question from "bytes=25e9,ranks=8".
static bool parseFields(const CostQuestion *question, const char *text, double *values) {
  bool given[COST_MAX_FIELDS] = {false};
  int n = countFields(question);
  for (const char *p = text; *p;) {
    size_t length = strcspn(p, ","), name = strcspn(p, "=,");
    int which = 0;
    while (which < n && !isName(question->fields[which].name, p, name))
      ++which;
    if (which == n)
      return failField(question, p, name);
    const CostField *field = &question->fields[which];
    if (given[which])
      return shardOptFail("'--explain-cost': '%s' is given twice", field->name);
    if (name == length || !parseValue(field, p + name + 1, length - name - 1, &values[which]))
      return failValue(field, p, length);
    given[which] = true;
    p += length + (p[length] == ',');
  }
  for (int i = 0; i < n; ++i) {
    if (!given[i] && isnan(question->fields[i].otherwise))
      return shardOptFail("'--explain-cost': '%s' needs %s; see --explain-cost=help",
                          question->name, question->fields[i].name);
    values[i] = given[i] ? values[i] : question->fields[i].otherwise;
  }
  return true;
}

bool shardOptExplainCost(const ShardOptOptions *options, const ShardCluster *cluster) {
  double values[COST_MAX_FIELDS];
  const char *text = options->explainCost, *colon = strchrnul(text, ':');
  int which = findQuestion(text, (size_t)(colon - text));
  if (which < 0 || !parseFields(&costQuestions[which], *colon ? colon + 1 : "", values))
    return false;
  char *answer = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&answer, &length);
  if (!out)
    return shardOptFail("out of memory");
  bool ok = costQuestions[which].answer(&(CostAsked){out, cluster, which, values});
  fclose(out);
  if (ok)
    return shardOptWriteText(options, answer);
  free(answer);
  return false;
}

//===----------------------------------------------------------------------===//
// Help
//===----------------------------------------------------------------------===//

static void writeField(FILE *out, const CostField *field, bool first) {
  bool needed = isnan(field->otherwise);
  fprintf(out, "%s%s%s%s=", needed ? "" : "[", first ? "" : ",", field->name, "");
  fputs(field->kind == COST_TYPE ? "TYPE" : field->kind == COST_SECONDS ? "SECONDS" : "N", out);
  fputs(needed ? "" : "]", out);
}

static void writeForm(FILE *out, const CostQuestion *question) {
  fprintf(out, "%s:", question->name);
  int n = countFields(question);
  for (int i = 0; i < n; ++i)
    writeField(out, &question->fields[i], i == 0);
}

bool shardOptListsCosts(const ShardOptOptions *options) {
  return options->explainCost && strcmp(options->explainCost, "help") == 0;
}

void shardOptPrintCosts(void) {
  printf(
      "\n## Questions of --explain-cost\n\nWith `--cluster=C`; counts, bytes and flops may be "
      "written as 25e9, what is in brackets left out. The textbook's forms stand\nbeside the "
      "answers where they differ ([why](design/cost.md)).\n\n| question | answer |\n|---|---|\n");
  for (int i = 0; i < nCostQuestions; ++i) {
    printf("| `");
    writeForm(stdout, &costQuestions[i]);
    printf("` | %s |\n", costQuestions[i].help);
  }
}

bool shardOptWriteCostHelp(const ShardOptOptions *options) {
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  if (!out)
    return shardOptFail("out of memory");
  for (int i = 0; i < nCostQuestions; ++i) {
    writeForm(out, &costQuestions[i]);
    fprintf(out, "\n    %s\n", costQuestions[i].help);
  }
  fclose(out);
  return shardOptWriteText(options, text);
}
