//===- CostAnswers.h - Questions of --explain-cost ----------------*- C -*-===//
#ifndef SHARD_OPT_COST_ANSWERS_H
#define SHARD_OPT_COST_ANSWERS_H

#include "shard/Cluster.h"

#include <stdio.h>

/// What is asked: the values of a question's fields, in their order.
typedef struct CostAsked {
  FILE *out;
  const ShardCluster *cluster;
  int32_t question; // its place in the table; collectives come first
  const double *values;
} CostAsked;

typedef enum CostFieldKind {
  COST_COUNT,   // a whole number
  COST_NUMBER,  // any number
  COST_SECONDS, // the same
  COST_TYPE     // an element type
} CostFieldKind;

typedef struct CostField {
  const char *name;
  CostFieldKind kind;
  double least, most;
  double otherwise; // when it is not given; NAN: it must be
} CostField;
#define COST_MAX_FIELDS 8

/// A question: its fields, and what writes the answer (false after one error).
typedef struct CostQuestion {
  const char *name, *help;
  CostField fields[COST_MAX_FIELDS];
  bool (*answer)(const CostAsked *asked);
} CostQuestion;
extern const CostQuestion costQuestions[];
extern const int32_t nCostQuestions;

#endif // SHARD_OPT_COST_ANSWERS_H
