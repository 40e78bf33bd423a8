//===- Case.h - Pairs of placements, from the definitions ---------*- C -*-===//
// Nothing here is shared with the engine: what a rank holds is worked out from FORMATS' rule (rank
// i of n holds rows [min(i c, d), min((i + 1) c, d)), c = ceil(d / n)).
//===----------------------------------------------------------------------===//
#ifndef TEST_RESHARD_CASE_H
#define TEST_RESHARD_CASE_H

#include "shard/Reshard.h"

#include <stdbool.h>

enum { maxAxes = 4, maxPieces = 7, maxRanks = 16 };

typedef struct Mesh {
  int nAxes, nRanks;
  int sizes[maxAxes];
  int coordinates[maxRanks][maxAxes];
} Mesh;

/// One piece: cut over axes in order. chunk is the storage.
typedef struct Piece {
  int size, chunk, nAxes, dim;
  int axes[maxAxes];
} Piece;

typedef struct Place {
  int nPieces;
  Piece pieces[maxPieces];
  int partial; // bit mask of axes
} Place;

typedef struct Case {
  const Mesh *mesh;
  Place from, to;
  int fromCombiner, toCombiner; // ShardReshardCombiner
  int count;                    // elements of the tensor
  bool sameView;                // the pieces have the same sizes
  bool isHard;                  // uneven, partial, or over some of the axes only
} Case;

int axesSize(const Mesh *mesh, int n, const int *axes);
/// Where rank `rank` keeps element `e` (row-major number), -1: nowhere.
int placeOf(const Mesh *mesh, const Place *place, int rank, int e);
int storageOf(const Place *place);
void placeText(const Mesh *mesh, const Place *place, char *text, size_t size);

/// Fewest bytes (of elements, over all ranks) from one placement to the other by the moves of
/// BruteForce.c; those that cost more than `limit` are not looked at. -1: none.
/// Both placements have the same pieces.
long fewestElements(const Case *c, long limit);
/// Elements that all ranks together lack.
long lackedElements(const Case *c);

/// Writes a module with a result for each of the cases, which have one mesh, no views, sources
/// partial by sum, max or min only, and whole targets. False: the file cannot be written.
bool writeProgram(const char *path, int n, const Case *cases);

#endif // TEST_RESHARD_CASE_H
