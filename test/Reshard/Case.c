//===- Case.c - Pairs of placements, from the definitions ---------*- C -*-===//

#include "Case.h"

#include <stdio.h>
#include <string.h>

int axesSize(const Mesh *mesh, int n, const int *axes) {
  int size = 1;
  for (int k = 0; k < n; ++k)
    size *= mesh->sizes[axes[k]];
  return size;
}

int storageOf(const Place *place) {
  int count = 1;
  for (int p = 0; p < place->nPieces; ++p)
    count *= place->pieces[p].chunk;
  return count;
}

int placeOf(const Mesh *mesh, const Place *place, int rank, int e) {
  int local = 0, scale = 1;
  for (int p = place->nPieces - 1; p >= 0; --p) {
    const Piece *piece = &place->pieces[p];
    int step = e % piece->size, index = 0;
    e /= piece->size;
    for (int k = 0; k < piece->nAxes; ++k)
      index = index * mesh->sizes[piece->axes[k]] + mesh->coordinates[rank][piece->axes[k]];
    int begin = index * piece->chunk;
    if (step < begin || step >= begin + piece->chunk)
      return -1;
    local += (step - begin) * scale;
    scale *= piece->chunk;
  }
  return local;
}

void placeText(const Mesh *mesh, const Place *place, char *text, size_t size) {
  size_t at = 0;
  for (int p = 0; p < place->nPieces && at < size; ++p) {
    const Piece *piece = &place->pieces[p];
    at += (size_t)snprintf(text + at, size - at, "%s%d",
                           p == 0                                   ? ""
                           : piece->dim == place->pieces[p - 1].dim ? "*"
                                                                    : " x ",
                           piece->size);
    for (int k = 0; k < piece->nAxes && at < size; ++k)
      at += (size_t)snprintf(text + at, size - at, "%c%c", k ? ',' : '/', 'a' + piece->axes[k]);
  }
  for (int a = 0; a < mesh->nAxes && at < size; ++a)
    if (place->partial >> a & 1)
      at += (size_t)snprintf(text + at, size - at, " partial %c", 'a' + a);
}
