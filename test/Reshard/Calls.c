//===- Calls.c - The public calls of the reshard engine -----------*- C -*-===//
// Wrong arguments, each with its message, and plans that can be told by hand.
//===----------------------------------------------------------------------===//

#include "shard/Reshard.h"

#include <stdio.h>
#include <string.h>

static int nFailures;

static void expect(bool holds, const char *what) {
  if (holds)
    return;
  printf("FAIL: %s\n", what);
  ++nFailures;
}

static ShardReshardPlacement onePiece(int64_t size, int32_t nAxes, uint8_t first, uint8_t second) {
  return (ShardReshardPlacement){
      .nPieces = 1, .pieces = {{.nAxes = nAxes, .axes = {first, second}, .size = size}}};
}

static void expectRefused(const ShardReshardMesh *mesh, const ShardReshardPlacement *from,
                          const ShardReshardPlacement *to, const char *message) {
  ShardReshardPlan *plan = NULL;
  const char *said = "";
  ShardRtStatus status = shardReshardPlanCreate(mesh, 4, from, to, NULL, &plan, &said);
  expect(status == SHARD_RT_INVALID_ARGUMENT && !plan && !strcmp(said, message), message);
  if (plan)
    shardReshardPlanDestroy(plan);
}

static void testRefusals(void) {
  const ShardReshardMesh mesh = {.nAxes = 2, .sizes = {2, 4}};
  ShardReshardPlacement whole = onePiece(8, 0, 0, 0), bad = onePiece(8, 1, 2, 0);
  expectRefused(&mesh, &bad, &whole, "a piece names an axis that the mesh does not have");
  bad = onePiece(8, 2, 1, 1);
  expectRefused(&mesh, &whole, &bad, "a placement names an axis twice");
  bad = onePiece(9, 0, 0, 0);
  expectRefused(&mesh, &whole, &bad, "the two placements are not of one shape");
  bad = onePiece(0, 0, 0, 0);
  expectRefused(&mesh, &bad, &bad, "a piece has no steps or too many axes");
  bad = onePiece(8, 1, 1, 0);
  bad.pieces[0].chunk = 1;
  expectRefused(&mesh, &bad, &whole, "the chunks of a piece do not reach its end");
  bad = onePiece(8, 1, 1, 0);
  bad.partial[1] = SHARD_RESHARD_SUM;
  expectRefused(&mesh, &bad, &whole, "a placement is cut and partial over one axis");
  bad = whole;
  bad.partial[0] = SHARD_RESHARD_SUM;
  bad.partial[1] = SHARD_RESHARD_MAX;
  expectRefused(&mesh, &bad, &whole, "a placement has two combiners");
  bad = whole;
  bad.nPieces = 2;
  bad.pieces[0].dim = 1;
  bad.pieces[1] = (ShardReshardPiece){.dim = 0, .size = 1};
  expectRefused(&mesh, &bad, &whole, "the dimensions of the pieces do not ascend");
  bad.nPieces = SHARD_RESHARD_MAX_PIECES + 1;
  expectRefused(&mesh, &bad, &whole, "a placement has too many pieces");
  const ShardReshardMesh empty = {.nAxes = 1, .sizes = {0}};
  expectRefused(&empty, &whole, &whole, "an axis of the mesh has no devices");
  expectRefused(NULL, &whole, &whole, "a null pointer or an element of no bytes");
}

// Plans between two placements, by their kinds and bytes.
static void expectPlan(const ShardReshardMesh *mesh, const ShardReshardPlacement *from,
                       const ShardReshardPlacement *to, const ShardReshardOptions *options,
                       const char *kinds, int64_t sentBytes, const char *what) {
  static const char letters[] = "sEgaxRr"; // in the order of ShardReshardStepKind
  ShardReshardPlan *plan = NULL;
  char text[64] = "";
  if (shardReshardPlanCreate(mesh, 4, from, to, options, &plan, NULL) == SHARD_RT_OK) {
    for (int32_t k = 0; k < plan->nSteps && k < 63; ++k)
      text[k] = letters[plan->steps[k].kind];
    if (strcmp(text, kinds) != 0 || plan->sentBytes != sentBytes)
      printf("%s: '%s' sends %lld bytes\n", what, text, (long long)plan->sentBytes);
    expect(!strcmp(text, kinds) && plan->sentBytes == sentBytes, what);
  } else {
    expect(false, what);
  }
  shardReshardPlanDestroy(plan);
}

static void testPlans(void) {
  const ShardReshardMesh mesh = {.nAxes = 2, .sizes = {2, 4}}, four = {.nAxes = 1, .sizes = {4}};
  ShardReshardPlacement whole = onePiece(8, 0, 0, 0), cut = onePiece(8, 2, 0, 1),
                        swapped = onePiece(8, 2, 1, 0), major = onePiece(8, 1, 0, 0);
  expectPlan(&mesh, &whole, &whole, NULL, "", 0, "nothing to do");
  expectPlan(&mesh, &whole, &cut, NULL, "s", 0, "a slice sends nothing");
  expectPlan(&mesh, &cut, &whole, NULL, "g", 7 * 8 * 4, "one gather over two axes");
  expectPlan(&mesh, &cut, &major, NULL, "g", 3 * 8 * 4, "the minor axis is gathered");
  expectPlan(&mesh, &cut, &swapped, NULL, "x", 6 * 4, "another order of axes: six ranks send one");
  // Five rows over four are 2, 2, 1, 0: what ranks lack, or one gather that sends padding.
  ShardReshardPlacement rows = onePiece(5, 1, 0, 0), all = onePiece(5, 0, 0, 0);
  ShardReshardOptions latency = {.messageBytes = 1000};
  expectPlan(&four, &rows, &all, NULL, "x", (3 + 3 + 4 + 5) * 4, "an exchange sends no padding");
  expectPlan(&four, &rows, &all, &latency, "g", 4 * 3 * 2 * 4, "one message is worth the padding");
  // Blocks of 96 to heads of 64: 2, 2, 2 and none.
  ShardReshardPlacement blocks = onePiece(384, 1, 0, 0), heads = onePiece(6, 1, 0, 0);
  heads.nPieces = 2;
  heads.pieces[1] = (ShardReshardPiece){.size = 64};
  expectPlan(&four, &blocks, &heads, NULL, "x", (32 + 64 + 96) * 4, "blocks to heads");
  // A partial value on both axes, wanted split over one.
  ShardReshardPlacement sum = whole;
  sum.partial[0] = sum.partial[1] = SHARD_RESHARD_SUM;
  expectPlan(&mesh, &sum, &major, NULL, "rR", (8 * 4 + 8 * 6) * 4,
             "one axis scattered, one reduced");
  // What is cut becomes partial for nothing.
  ShardReshardPlacement partial = whole;
  partial.partial[0] = SHARD_RESHARD_SUM;
  expectPlan(&mesh, &major, &partial, NULL, "E", 0, "a cut value enters a sum");
}

// Chunks that neither are the smallest nor the target's: shares of fewer ranks meet what is wanted.
static void testChunks(void) {
  // 80 columns over four, wanted 32, 32, 16 and none: three shares of 27 are reduced, not four
  // of 20.
  const ShardReshardMesh mesh = {.nAxes = 2, .sizes = {2, 4}};
  ShardReshardPlacement sum = {
      .nPieces = 3,
      .pieces = {{.size = 80}, {.dim = 1, .size = 16}, {.dim = 2, .size = 80}},
      .partial = {SHARD_RESHARD_PRODUCT}};
  ShardReshardPlacement blocks = sum;
  blocks.partial[0] = SHARD_RESHARD_NONE;
  blocks.pieces[0] = (ShardReshardPiece){.size = 80, .nAxes = 1, .axes = {0}, .chunk = 48};
  blocks.pieces[2] =
      (ShardReshardPiece){.dim = 2, .size = 80, .nAxes = 1, .axes = {1}, .chunk = 32};
  expectPlan(&mesh, &sum, &blocks, NULL, "srx", 663040, "three of four share a reduction");
  // Of a piece that other axes cut further: 67 rows over c in 40, over c and a in 20, all three
  // in 10.
  const ShardReshardMesh cube = {.nAxes = 3, .sizes = {2, 2, 2}};
  ShardReshardPlacement from = onePiece(67, 0, 0, 0), to = onePiece(67, 2, 2, 1);
  from.partial[1] = to.partial[0] = SHARD_RESHARD_AND;
  expectPlan(&cube, &from, &to, NULL, "ssrxE", 460, "chunks that are cut twice more");
}

int main(void) {
  testRefusals();
  testPlans();
  testChunks();
  printf("%d failures\n", nFailures);
  return nFailures != 0;
}
