// What --measure reads weights from, on machines that are not at hand.
#include "../../../tools/shard-run/ColdMemory.h"

#include <stdio.h>

static int failures;

static void expect(const char *machine, Caches caches, int nRanks, size_t least, size_t mib) {
  size_t bytes = coldBytesOfRank(caches, nRanks, least);
  if (bytes == mib << 20)
    return;
  printf("%s: %zu bytes a rank, expected %zu MiB\n", machine, bytes, mib);
  ++failures;
}

static void expectSizes(const char *machine, int nRanks, double memoryBytes, int n) {
  int fit = sizesThatFit(8, 12 * 1024, nRanks, memoryBytes);
  if (fit == n)
    return;
  printf("%s: %d sizes, expected %d\n", machine, fit, n);
  ++failures;
}

int main(void) {
  const size_t mib = 1 << 20;
  Caches here = cachesGet();
  expect("128 cores, one cache of 256 MiB", (Caches){2 * mib, 256 * mib, 1}, 128, mib, 4);
  expect("of that, one rank", (Caches){2 * mib, 256 * mib, 1}, 1, mib, 512);
  expect("64 cores, 8 caches of 32 MiB", (Caches){mib, 32 * mib, 8}, 64, mib, 8);
  expect("of that, one rank", (Caches){mib, 32 * mib, 8}, 1, mib, 64);
  expect("a core's own cache", (Caches){4 * mib, 32 * mib, 1}, 64, mib, 8);
  expect("an operand that is larger", (Caches){mib, 32 * mib, 1}, 64, 6 * mib - 1, 6);
  expect("nothing known", (Caches){0, 0, 1}, 2, 1, 32);
  expect("larger than is worth filling", (Caches){mib, 1024 * mib, 1}, 2, 1, 256);
  // 12 KiB up to 192 MiB: 8 sizes.
  expectSizes("128 cores, 512 GB", 128, 512e9, 8);
  expectSizes("128 cores, 64 GB", 128, 64e9, 7);
  expectSizes("2 cores, 2 GB", 2, 2e9, 8);
  expectSizes("2 cores, 1 kB", 2, 1e3, 1);
  if (here.nShared < 1)
    printf("here: %d shared caches\n", (int)here.nShared), ++failures;
  printf("%d failed\n", failures);
  return failures != 0;
}
