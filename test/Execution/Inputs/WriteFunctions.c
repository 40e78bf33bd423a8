//===- WriteFunctions.c - Elementary functions by libm in double ---*- C -*-===//
// write-functions FOLDER writes arg000.npy, out000.npy ... and args.json for functions.mlir of
// functions.test: exp, tanh, erf, sin, cos, log, rsqrt, pow, cbrt of f32, computed in double.
//===----------------------------------------------------------------------===//
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 4099 }; // no multiple of a vector

static double inverseRoot(double x) { return 1 / sqrt(x); }
static double cube(double x) { return x * x * x; }
static double minusTwo(double x) { return 1 / (x * x); }
static double powerHalf(double x) { return pow(x, 0.5); }

static const struct {
  const char *name;
  double (*function)(double);
} table[] = {{"exp", exp},
             {"tanh", tanh},
             {"erf", erf},
             {"sin", sin},
             {"cos", cos},
             {"log", log},
             {"rsqrt", inverseRoot},
             {"cube", cube},
             {"minus two", minusTwo},
             {"power half", powerHalf},
             {"cbrt", cbrt}};
enum { FUNCTIONS = sizeof(table) / sizeof(table[0]) };

static int writeArray(const char *folder, const char *name, int number, const float *values) {
  char path[1024], header[128];
  snprintf(path, sizeof(path), "%s/%s%03d.npy", folder, name, number);
  FILE *file = fopen(path, "wb");
  if (!file)
    return 1;
  memset(header, ' ', sizeof(header));
  memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
  int n = sprintf(header + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", COUNT);
  header[10 + n] = ' ';
  header[127] = '\n';
  fwrite(header, 1, sizeof(header), file);
  fwrite(values, sizeof(float), COUNT, file);
  return fclose(file);
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 1;
  static float in[COUNT], out[COUNT];
  for (int i = 0; i < COUNT; ++i)
    in[i] = 0.001f + (float)i * (9.5f / COUNT);
  int failed = writeArray(argv[1], "arg", 0, in);
  char path[1024];
  snprintf(path, sizeof(path), "%s/args.json", argv[1]);
  FILE *json = fopen(path, "w");
  if (!json)
    return 1;
  fprintf(json,
          "{\"entry\": \"main\", \"args\": [{\"index\": 0, \"name\": \"x\", \"shape\": [%d], "
          "\"dtype\": \"float32\", \"role\": \"input\", \"file\": \"arg000.npy\"}],\n"
          "\"results\": [",
          COUNT);
  for (int f = 0; f < FUNCTIONS; ++f) {
    for (int i = 0; i < COUNT; ++i) {
      // exp, tanh and erf also on negative numbers: the program negates every second element.
      double x = f < 3 && i % 2 ? -(double)in[i] : (double)in[i];
      out[i] = (float)table[f].function(x);
    }
    failed |= writeArray(argv[1], "out", f, out);
    fprintf(json,
            "%s{\"index\": %d, \"shape\": [%d], \"dtype\": \"float32\", \"file\": \"out%03d.npy\"}",
            f ? ", " : "", f, COUNT, f);
  }
  fprintf(json, "]}\n");
  return failed | fclose(json);
}
