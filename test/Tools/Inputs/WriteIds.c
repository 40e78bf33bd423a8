//===- WriteIds.c - Values for embedding.mlir, one id out of range *- C -*-===//
// usage: write-ids DIR
//===----------------------------------------------------------------------===//

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int write(const char *folder, const char *name, const char *type, const char *shape,
                 const void *data, size_t bytes) {
  char path[4096], header[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  if (!file)
    return 1;
  memset(header, ' ', sizeof header);
  memcpy(header, "\x93NUMPY\1\0\x76\0", 10);
  int length = snprintf(header + 10, sizeof header - 10,
                        "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
  header[10 + length] = ' ';
  header[127] = '\n';
  fwrite(header, 1, sizeof header, file);
  fwrite(data, 1, bytes, file);
  return fclose(file);
}

int main(int argc, char **argv) {
  float table[6][8] = {{0}};
  int64_t ids[64] = {0};
  ids[37] = 6;
  if (argc != 2)
    return 1;
  char path[4096];
  snprintf(path, sizeof path, "%s/args.json", argv[1]);
  FILE *file = fopen(path, "w");
  if (!file)
    return 1;
  fputs(
      "{\"args\": [{\"index\": 0, \"name\": \"table\", \"shape\": [6, 8], \"dtype\": \"float32\", "
      "\"role\": \"weight\", \"file\": \"arg000.npy\"},\n"
      "{\"index\": 1, \"name\": \"ids\", \"shape\": [64], \"dtype\": \"int64\", \"role\": "
      "\"input\", \"file\": \"arg001.npy\"}], \"results\": []}\n",
      file);
  return fclose(file) || write(argv[1], "arg000.npy", "<f4", "(6, 8)", table, sizeof table) ||
         write(argv[1], "arg001.npy", "<i8", "(64,)", ids, sizeof ids);
}
