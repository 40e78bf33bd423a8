//===- WriteData.c - Values and results for Program.c -------------*- C -*-===//
// usage: write-data DIR: args.json, arg000.npy ..., out000.npy ... Values are small whole numbers.
//===----------------------------------------------------------------------===//

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *folder;

static FILE *create(const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  if (!file)
    exit(1);
  return file;
}

static void write(const char *name, const char *type, int rows, int columns, const void *data,
                  size_t bytes) {
  FILE *file = create(name);
  char text[119], shape[32];
  snprintf(shape, sizeof shape, columns ? "(%d, %d)" : "(%d,)", rows, columns);
  int length = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                        type, shape);
  memset(text + length, ' ', sizeof text - 1 - (size_t)length);
  text[sizeof text - 2] = '\n';
  fwrite("\x93NUMPY\1\0\x76\0", 1, 10, file);
  fwrite(text, 1, 118, file);
  fwrite(data, 1, bytes, file);
  fclose(file);
}

int main(int argc, char **argv) {
  enum { M = 4, K = 6, N = 8 };
  float x[M][K], w[K][N], y[M][N] = {{0}};
  int64_t ids[M] = {3, 1, 0, 2};
  if (argc != 2)
    return 1;
  folder = argv[1];
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k)
      x[i][k] = (float)((i * 5 + k * 3) % 7 - 3);
  for (int k = 0; k < K; ++k)
    for (int j = 0; j < N; ++j)
      w[k][j] = (float)((k * 4 + j * 5) % 9 - 4);
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k)
      for (int j = 0; j < N; ++j)
        y[i][j] += x[i][k] * w[k][j];
  write("arg000.npy", "<f4", M, K, x, sizeof x);
  write("arg001.npy", "<f4", K, N, w, sizeof w);
  write("arg002.npy", "<i8", M, 0, ids, sizeof ids);
  write("out000.npy", "<f4", M, N, y, sizeof y);
  write("out001.npy", "<f4", M, N, y, sizeof y);
  write("out002.npy", "<i8", M, 0, ids, sizeof ids);
  FILE *file = create("args.json");
  fputs("{\"args\": [\n"
        " {\"index\": 0, \"name\": \"x\", \"shape\": [4, 6], \"dtype\": \"float32\", \"role\": "
        "\"input\", \"file\": \"arg000.npy\"},\n"
        " {\"index\": 1, \"name\": \"w\", \"shape\": [6, 8], \"dtype\": \"float32\", \"role\": "
        "\"weight\", \"file\": \"arg001.npy\"},\n"
        " {\"index\": 2, \"name\": \"ids\", \"shape\": [4], \"dtype\": \"int64\", \"role\": "
        "\"input\", \"file\": \"arg002.npy\"}],\n"
        " \"results\": [\n"
        " {\"index\": 0, \"shape\": [4, 8], \"dtype\": \"float32\", \"file\": \"out000.npy\"},\n"
        " {\"index\": 1, \"shape\": [4, 8], \"dtype\": \"float32\", \"file\": \"out001.npy\"},\n"
        " {\"index\": 2, \"shape\": [4], \"dtype\": \"int64\", \"file\": \"out002.npy\"}]}\n",
        file);
  return fclose(file);
}
