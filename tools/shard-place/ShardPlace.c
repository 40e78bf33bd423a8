//===- ShardPlace.c - Place the buffers of a file -----------------*- C -*-===//

#include "../common/InputFile.h"
#include "../common/OutputFile.h"
#include "BufferFile.h"

#include "shard/Version.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn static void stop(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn static void stop(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("shard-place: error: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

typedef struct Options {
  const char *input, *output;
  bool isQuiet;
  ShardPlacementOptions placement;
} Options;

static void printHelp(void) {
  printf(
      "usage: shard-place FILE.csv [options]\n"
      "\n"
      "Gives buffers offsets so that those alive at one time do not overlap, as low as can be.\n"
      "FILE has the columns id, lower, upper, size (alive on [lower, upper)), maybe alignment;\n"
      "- for standard input; .gz is unpacked. It is written again with a column offset; verdict,\n"
      "height and a proved lower bound go to standard error. Exits with 1 if no placement within\n"
      "the capacity was found.\n"
      "\n"
      "  --capacity=BYTES     the height allowed (any)\n"
      "  --stop-at-capacity   any placement within the capacity will do\n"
      "  --effort=N           of the exact search, in about microseconds; 0: none (%" PRId64 ")\n"
      "  --time-limit=MS      end early, and maybe with another result (never)\n"
      "  -o FILE              where to write (standard output)\n"
      "  --quiet              print only errors\n"
      "  --help, --version\n",
      SHARD_PLACEMENT_DEFAULT_EFFORT);
}

static int64_t parseWhole(const char *option, const char *text, int64_t least) {
  int64_t value = 0;
  bool isWhole = *text;
  for (const char *at = text; isWhole && *at; ++at) {
    isWhole = *at >= '0' && *at <= '9' && value <= (INT64_MAX - (*at - '0')) / 10;
    value = isWhole ? value * 10 + (*at - '0') : 0;
  }
  if (!isWhole || value < least)
    stop("%s=%s: expected a whole number from %" PRId64, option, text, least);
  return value;
}

/// The value of "NAME=VALUE", or NULL if the argument is another one.
static const char *valueOf(const char *argument, const char *name) {
  size_t length = strlen(name);
  if (strncmp(argument, name, length) != 0 || (argument[length] && argument[length] != '='))
    return NULL;
  if (!argument[length])
    stop("%s needs a value", name);
  return argument + length + 1;
}

static bool parseOption(Options *out, const char *argument) {
  const char *value;
  if ((value = valueOf(argument, "--capacity")))
    out->placement.capacityBytes = parseWhole("--capacity", value, 1);
  else if ((value = valueOf(argument, "--effort")))
    out->placement.maxEffort =
        parseWhole("--effort", value, 0) ? parseWhole("--effort", value, 0) : -1;
  else if ((value = valueOf(argument, "--time-limit")))
    out->placement.timeLimitMs = parseWhole("--time-limit", value, 1);
  else if (!strcmp(argument, "--stop-at-capacity"))
    out->placement.stopAtCapacity = true;
  else if (!strcmp(argument, "--quiet"))
    out->isQuiet = true;
  else
    return false;
  return true;
}

static Options parseOptions(int argc, char **argv) {
  Options options = {.output = "-"};
  for (int i = 1; i < argc; ++i) {
    const char *argument = argv[i];
    if (!strcmp(argument, "--help") || !strcmp(argument, "-h")) {
      printHelp();
      exit(0);
    } else if (!strcmp(argument, "--version")) {
      printf("shard-place %s\n", SHARD_VERSION_STRING);
      exit(0);
    } else if (!strcmp(argument, "-o")) {
      if (++i == argc)
        stop("-o needs a value");
      options.output = argv[i];
    } else if (argument[0] == '-' && argument[1]) {
      if (!parseOption(&options, argument))
        stop("unknown option '%s' (see shard-place --help)", argument);
    } else if (options.input) {
      stop("two files are given, '%s' and '%s'", options.input, argument);
    } else {
      options.input = argument;
    }
  }
  if (!options.input)
    stop("no file given (see shard-place --help)");
  if (options.placement.stopAtCapacity && !options.placement.capacityBytes)
    stop("--stop-at-capacity without --capacity");
  return options;
}

static void writePlacement(const char *path, const BufferFile *file, const int64_t *offsets) {
  ShardOutputFile output;
  char message[1024];
  if (!shardOutputFileOpen(path, &output, message, sizeof message))
    stop("%s", message);
  fprintf(output.stream, "id,lower,upper,size,%soffset\n", file->isAligned ? "alignment," : "");
  for (int64_t i = 0; i < file->n; ++i) {
    const ShardPlacementBuffer *buffer = &file->buffers[i];
    fwrite(file->ids[i].text, 1, file->ids[i].length, output.stream);
    fprintf(output.stream, ",%" PRId64 ",%" PRId64 ",%" PRId64, buffer->lower, buffer->upper,
            buffer->sizeBytes);
    if (file->isAligned)
      fprintf(output.stream, ",%" PRId64, buffer->alignment);
    fprintf(output.stream, ",%" PRId64 "\n", offsets[i]);
  }
  if (!shardOutputFileCommit(&output, message, sizeof message))
    stop("%s", message);
}

static void printResult(int64_t nBuffers, const ShardPlacementResult *result) {
  static const char *const verdicts[] = {"optimal", "feasible", "infeasible", "unknown"};
  double ratio = result->boundBytes ? (double)result->heightBytes / (double)result->boundBytes : 1;
  fprintf(stderr,
          "%s: %" PRId64 " buffers, height %" PRId64 ", bound %" PRId64 " (%.4f), max live %" PRId64
          ", %" PRId64 " nodes\n",
          verdicts[result->verdict], nBuffers, result->heightBytes, result->boundBytes, ratio,
          result->maxLiveBytes, result->nNodes);
}

int main(int argc, char **argv) {
  shardOutputFilesGuard();
  Options options = parseOptions(argc, argv);
  ShardInputFile input;
  BufferFile file;
  char message[1024];
  if (!shardInputFileRead(options.input, &input, message, sizeof message))
    stop("%s", message);
  if (!bufferFileParse(options.input, input.bytes, input.sizeBytes, &file, message,
                       sizeof message)) {
    fprintf(stderr, "%s\n", message);
    exit(1);
  }
  int64_t *offsets = malloc((size_t)(file.n + 1) * sizeof(*offsets)), which;
  if (!offsets)
    stop("out of memory");
  ShardPlacementResult result;
  const char *fault;
  if (!shardPlacementSolve(file.n, file.buffers, &options.placement, offsets, &result, &fault,
                           &which)) {
    fprintf(stderr, "%s:%" PRId64 ":1: error: %s\n", options.input,
            which < 0 ? 1 : file.lines[which], fault);
    exit(1);
  }
  if (!options.isQuiet)
    printResult(file.n, &result);
  int64_t capacity = options.placement.capacityBytes;
  if (result.verdict == SHARD_PLACEMENT_INFEASIBLE)
    stop("no placement within %" PRId64 " bytes: at least %" PRId64 " are needed", capacity,
         result.boundBytes);
  if (result.verdict == SHARD_PLACEMENT_UNKNOWN)
    stop("no placement within %" PRId64 " bytes was found: the lowest takes %" PRId64
         ", and at least %" PRId64 " are needed",
         capacity, result.heightBytes, result.boundBytes);
  writePlacement(options.output, &file, offsets);
  free(offsets);
  bufferFileRelease(&file);
  shardInputFileRelease(&input);
  return 0;
}
