//===- WriteSafetensors.c - A small .safetensors, and what is in one -*- C -*-===//
// write FILE: the tensors below. write --print FILE: metadata and tensors of any file of f32, in
// its order. write --index: the same in two files, with model.safetensors.index.json. write --spoil
// FILE: adds 1 to the last element. Its own reader and writer, so that ours is not its own judge.
//===----------------------------------------------------------------------===//
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name, *shape;
  int count, first;
} tensors[] = {{"rows", "13,2", 26, 0},
               {"heads", "2,6", 12, 100},
               {"few", "2", 2, 200},
               {"shared", "2", 2, 300},
               {"extra", "1", 1, 400}};
enum { nTensors = sizeof tensors / sizeof tensors[0] };

static void writeFile(const char *path, int begin, int end) {
  char header[2048];
  size_t n = 0;
  int at = 0;
  for (int i = begin; i < end; ++i) {
    n += (size_t)snprintf(header + n, sizeof header - n,
                          "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[%d,%d]}",
                          i == begin ? "{" : ",", tensors[i].name, tensors[i].shape, at,
                          at + 4 * tensors[i].count);
    at += 4 * tensors[i].count;
  }
  n += (size_t)snprintf(header + n, sizeof header - n, "}");
  FILE *file = fopen(path, "wb");
  if (!file)
    exit(2);
  uint64_t length = n;
  fwrite(&length, 8, 1, file);
  fwrite(header, 1, n, file);
  for (int i = begin; i < end; ++i)
    for (int k = 0; k < tensors[i].count; ++k) {
      float value = (float)(tensors[i].first + k);
      fwrite(&value, 4, 1, file);
    }
  if (fclose(file))
    exit(2);
}

/// Unquotes a JSON string in place; returns what follows it.
static char *unquote(char *at, char **outText) {
  char *to = *outText = ++at;
  for (; *at != '"'; ++at) {
    if (*at == '\\')
      ++at;
    *to++ = *at;
  }
  *to = 0;
  return at + 1;
}

static void printFile(const char *path) {
  FILE *file = fopen(path, "rb");
  uint64_t length = 0;
  if (!file || fread(&length, 8, 1, file) != 1 || length > 1 << 20)
    exit(2);
  char *header = calloc(length + 1, 1), *name, *key, *value;
  if (fread(header, 1, length, file) != length)
    exit(2);
  // Our own headers: {"name":{"dtype":"F32","shape":[a,b],"data_offsets":[b,e]},...}, in data
  // order.
  for (char *at = header + 1; *at == '"' || *at == ',';) {
    at = unquote(at + (*at == ','), &name) + 2; // past ":{"
    if (strcmp(name, "__metadata__") == 0) {
      while (*at != '}') {
        at = unquote(at + (*at == ','), &key) + 1;
        at = unquote(at, &value);
        printf("%s = %s\n", key, value);
      }
      ++at;
      continue;
    }
    at = strstr(at, "[") + 1;
    printf("%s f32 ", name);
    int count = 1;
    while (*at != ']') {
      long size = strtol(at, &at, 10);
      count *= (int)size;
      printf("%ld", size);
      if (*at == ',') {
        ++at;
        printf("x");
      }
    }
    printf(":");
    for (int i = 0; i < count; ++i) {
      float element;
      if (fread(&element, 4, 1, file) != 1)
        exit(2);
      printf(" %g", element);
    }
    printf("\n");
    at = strchr(strstr(at, "data_offsets"), '}') + 1;
  }
  if (fgetc(file) != EOF)
    exit(2);
  free(header);
  fclose(file);
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "--print") == 0) {
    printFile(argv[2]);
  } else if (argc == 3 && strcmp(argv[1], "--spoil") == 0) {
    FILE *file = fopen(argv[2], "r+b");
    float value;
    if (!file || fseek(file, -4, SEEK_END) || fread(&value, 4, 1, file) != 1)
      return 2;
    value += 1;
    if (fseek(file, -4, SEEK_END) || fwrite(&value, 4, 1, file) != 1 || fclose(file))
      return 2;
  } else if (argc == 2 && strcmp(argv[1], "--index") == 0) {
    writeFile("model-00001-of-00002.safetensors", 0, 2);
    writeFile("model-00002-of-00002.safetensors", 2, nTensors);
    FILE *file = fopen("model.safetensors.index.json", "w");
    fprintf(file, "{\"metadata\": {\"total_size\": 172}, \"weight_map\": {");
    for (int i = 0; i < nTensors; ++i)
      fprintf(file, "%s\"%s\": \"model-0000%d-of-00002.safetensors\"", i ? ", " : "",
              tensors[i].name, 1 + (i >= 2));
    fprintf(file, "}}\n");
    fclose(file);
  } else if (argc == 3 && strcmp(argv[1], "--raw") == 0) {
    char text[4096];
    size_t n = fread(text, 1, sizeof text, stdin);
    char *end = memchr(text, '\n', n);
    uint64_t length = end ? (uint64_t)(end - text) : n;
    FILE *file = fopen(argv[2], "wb");
    if (!file || fwrite(&length, 8, 1, file) != 1 || fwrite(text, 1, length, file) != length ||
        (end && fwrite(end + 1, 1, n - length - 1, file) != n - length - 1) || fclose(file))
      return 2;
  } else if (argc == 2) {
    writeFile(argv[1], 0, nTensors);
  } else {
    return 2;
  }
  return 0;
}
