//===- PlacementOrder.c - Which items come first ------------------*- C -*-===//

#include "PlacementInternal.h"

#include <stdlib.h>

static uint64_t draw(uint64_t item, uint64_t seed) {
  uint64_t x = item * UINT64_C(0x9e3779b97f4a7c15) + seed * UINT64_C(0xbf58476d1ce4e5b9);
  for (int k = 0; k < 3; ++k)
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
  return x ^ x >> 32;
}

static double keyOf(const Item *item, OrderKey key) {
  double size = (double)item->size;
  int32_t width = item->last - item->first;
  for (int32_t k = 0; k < item->nGaps; ++k)
    width -= item->gaps[k].last - item->gaps[k].first;
  switch (key) {
  case ORDER_SIZE:
    return size;
  case ORDER_WIDTH:
    return (double)width;
  case ORDER_DURATION:
    return item->duration;
  case ORDER_AREA:
    return (double)width * size;
  case ORDER_BULK:
    return item->duration * size;
  case ORDER_TOTAL:
    return 1;
  case ORDER_NONE:
    break;
  }
  return 0;
}

void placementOrderWeigh(const Part *part, const Order *order, uint32_t spread, uint32_t seed,
                         double *outWeights) {
  for (int32_t i = 0; i < part->nItems; ++i)
    for (int32_t k = 0; k < N_ORDER_KEYS; ++k) {
      uint64_t more = draw((uint64_t)i, (uint64_t)seed * N_ORDER_KEYS + (uint64_t)k);
      double factor = 1 + (double)(spread ? more % (spread + 1) : 0) / 1024;
      outWeights[i * N_ORDER_KEYS + k] = keyOf(&part->items[i], order->keys[k]) * factor;
    }
}

static int compareRows(const void *a, const void *b) {
  const OrderRow *x = a, *y = b;
  for (int k = 0; k < N_ORDER_KEYS; ++k)
    if (x->keys[k] != y->keys[k])
      return x->keys[k] > y->keys[k] ? -1 : 1;
  return x->item - y->item;
}

bool placementOrderUsesTotals(const Order *order) {
  for (int k = 0; k < N_ORDER_KEYS; ++k)
    if (order->keys[k] == ORDER_TOTAL)
      return true;
  return false;
}

void placementOrderSort(const Part *part, const Order *order, const double *weights,
                        const int64_t *totals, int32_t nItems, int32_t *items, OrderRow *scratch) {
  bool usesTotals = placementOrderUsesTotals(order);
  for (int32_t k = 0; k < nItems; ++k) {
    const Item *item = &part->items[items[k]];
    int64_t total = 0;
    for (int32_t c = item->first; usesTotals && c < item->last; ++c)
      total = totals[c] > total && placementItemCovers(item, c) ? totals[c] : total;
    scratch[k].item = items[k];
    for (int key = 0; key < N_ORDER_KEYS; ++key)
      scratch[k].keys[key] = weights[items[k] * N_ORDER_KEYS + key] *
                             (order->keys[key] == ORDER_TOTAL ? (double)total : 1);
  }
  qsort(scratch, (size_t)nItems, sizeof(*scratch), compareRows);
  for (int32_t k = 0; k < nItems; ++k)
    items[k] = scratch[k].item;
}
