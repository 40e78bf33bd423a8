//===- Npy.c - NumPy's .npy files ---------------------------------*- C -*-===//
#define _GNU_SOURCE

#include "Npy.h"
#include "Message.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
  const char *name;
  const char *descr; // what we write
  int64_t sizeBytes;
} typeTable[] = {
    [SHARD_NPY_BOOL] = {"bool", "|b1", 1},
    [SHARD_NPY_I8] = {"int8", "|i1", 1},
    [SHARD_NPY_I16] = {"int16", "<i2", 2},
    [SHARD_NPY_I32] = {"int32", "<i4", 4},
    [SHARD_NPY_I64] = {"int64", "<i8", 8},
    [SHARD_NPY_U8] = {"uint8", "|u1", 1},
    [SHARD_NPY_U16] = {"uint16", "<u2", 2},
    [SHARD_NPY_U32] = {"uint32", "<u4", 4},
    [SHARD_NPY_U64] = {"uint64", "<u8", 8},
    [SHARD_NPY_F16] = {"float16", "<f2", 2},
    [SHARD_NPY_BF16] = {"bfloat16", "<V2", 2},
    [SHARD_NPY_F32] = {"float32", "<f4", 4},
    [SHARD_NPY_F64] = {"float64", "<f8", 8},
    [SHARD_NPY_F8E4M3FN] = {"float8_e4m3fn", "|u1", 1},
    [SHARD_NPY_F8E5M2] = {"float8_e5m2", "|u1", 1},
};
#define N_TYPES (sizeof(typeTable) / sizeof(typeTable[0]))

const char *shardNpyTypeName(ShardNpyType type) { return typeTable[type].name; }

int64_t shardNpyTypeBytes(ShardNpyType type) { return typeTable[type].sizeBytes; }

bool shardNpyTypeFromName(const char *name, size_t length, ShardNpyType *outType) {
  for (size_t i = 0; i < N_TYPES; ++i)
    if (strlen(typeTable[i].name) == length && memcmp(typeTable[i].name, name, length) == 0) {
      *outType = (ShardNpyType)i;
      return true;
    }
  return false;
}

bool shardNpyTypeHolds(ShardNpyType stored, ShardNpyType wanted) {
  bool byte = stored == SHARD_NPY_U8 || stored == SHARD_NPY_I8;
  return stored == wanted || (stored == SHARD_NPY_U16 && wanted == SHARD_NPY_BF16) ||
         (byte && (wanted == SHARD_NPY_F8E4M3FN || wanted == SHARD_NPY_F8E5M2));
}

//===----------------------------------------------------------------------===//
// The header: a Python dictionary literal with exactly three keys
//===----------------------------------------------------------------------===//

typedef struct HeaderParser {
  const char *at, *end;
  char *message;
  size_t messageBytes;
} HeaderParser;

#define FAIL(p, ...) shardFail((ShardMessage){(p)->message, (p)->messageBytes}, __VA_ARGS__)

static void skipSpace(HeaderParser *p) {
  while (p->at < p->end && (*p->at == ' ' || *p->at == '\t'))
    ++p->at;
}

static bool take(HeaderParser *p, char wanted) {
  skipSpace(p);
  if (p->at == p->end || *p->at != wanted)
    return false;
  ++p->at;
  return true;
}

static bool expect(HeaderParser *p, char wanted) {
  return take(p, wanted) || FAIL(p, "malformed .npy header: expected '%c'", wanted);
}

/// A quoted string without escapes; `*outText` points into the header.
static bool parseString(HeaderParser *p, const char **outText, size_t *outLength) {
  skipSpace(p);
  if (p->at == p->end || (*p->at != '\'' && *p->at != '"'))
    return FAIL(p, "malformed .npy header: expected a quoted string");
  char quote = *p->at++;
  const char *start = p->at;
  while (p->at < p->end && *p->at != quote) {
    unsigned char c = (unsigned char)*p->at;
    if (c == '\\' || c < 0x20 || c >= 0x7f)
      return FAIL(p, "malformed .npy header: unexpected character in a string");
    ++p->at;
  }
  if (p->at == p->end)
    return FAIL(p, "malformed .npy header: unterminated string");
  *outText = start;
  *outLength = (size_t)(p->at++ - start);
  return true;
}

static bool parseDescr(HeaderParser *p, ShardNpyType *outType) {
  skipSpace(p);
  if (p->at < p->end && *p->at == '[')
    return FAIL(p, "structured element types are not supported");
  const char *text;
  size_t length;
  if (!parseString(p, &text, &length))
    return false;
  if (length < 3)
    return FAIL(p, "unknown element type '%.*s'", (int)length, text);
  bool oneByte = length == 3 && text[2] == '1';
  if (text[0] == '>' && !oneByte)
    return FAIL(p, "element type '%.*s' is big-endian; little-endian expected", (int)length, text);
  for (size_t i = 0; i < N_TYPES; ++i) {
    const char *descr = typeTable[i].descr;
    if (strlen(descr + 1) != length - 1 || memcmp(descr + 1, text + 1, length - 1) != 0)
      continue;
    // Byte order does not matter to a single byte, nor to opaque bytes ("V2").
    if (text[0] == '<' || text[0] == '=' || ((oneByte || text[1] == 'V') && text[0] == '|') ||
        (oneByte && text[0] == '>')) {
      *outType = (ShardNpyType)i;
      return true;
    }
  }
  return FAIL(p, "element type '%.*s' is not supported", (int)(length < 40 ? length : 40), text);
}

static bool parseWord(HeaderParser *p, const char *word) {
  size_t length = strlen(word);
  skipSpace(p);
  if ((size_t)(p->end - p->at) < length || memcmp(p->at, word, length) != 0)
    return false;
  p->at += length;
  return true;
}

static bool parseDim(HeaderParser *p, int64_t *out) {
  skipSpace(p);
  if (p->at < p->end && *p->at == '-')
    return FAIL(p, "negative dimension in the shape");
  if (p->at == p->end || *p->at < '0' || *p->at > '9')
    return FAIL(p, "malformed .npy header: expected a dimension");
  int64_t value = 0;
  while (p->at < p->end && *p->at >= '0' && *p->at <= '9') {
    if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
        __builtin_add_overflow(value, (int64_t)(*p->at - '0'), &value))
      return FAIL(p, "dimension out of range in the shape");
    ++p->at;
  }
  *out = value;
  return true;
}

static bool parseShape(HeaderParser *p, ShardNpyArray *out) {
  if (!expect(p, '('))
    return false;
  out->rank = 0;
  bool comma = true;
  while (!take(p, ')')) {
    if (!comma)
      return FAIL(p, "malformed .npy header: expected ',' or ')' in the shape");
    if (out->rank == SHARD_NPY_MAX_RANK)
      return FAIL(p, "more than %d dimensions", SHARD_NPY_MAX_RANK);
    if (!parseDim(p, &out->shape[out->rank]))
      return false;
    ++out->rank;
    comma = take(p, ',');
  }
  if (out->rank == 1 && !comma) // "(3)" is a number in Python, not a tuple
    return FAIL(p, "malformed .npy header: the shape is not a tuple");
  return true;
}

static bool parseDictionary(HeaderParser *p, ShardNpyArray *out) {
  bool seen[3] = {false, false, false};
  static const char *const keys[3] = {"descr", "fortran_order", "shape"};
  if (!expect(p, '{'))
    return false;
  bool comma = true;
  while (!take(p, '}')) {
    const char *key;
    size_t length;
    if (!comma)
      return FAIL(p, "malformed .npy header: expected ',' or '}'");
    if (!parseString(p, &key, &length))
      return false;
    int which = 0;
    while (which < 3 && (strlen(keys[which]) != length || memcmp(keys[which], key, length) != 0))
      ++which;
    if (which == 3)
      return FAIL(p, "malformed .npy header: unknown key '%.*s'", (int)(length < 40 ? length : 40),
                  key);
    if (seen[which])
      return FAIL(p, "malformed .npy header: key '%s' twice", keys[which]);
    seen[which] = true;
    if (!expect(p, ':'))
      return false;
    if (which == 0) {
      if (!parseDescr(p, &out->type))
        return false;
    } else if (which == 2) {
      if (!parseShape(p, out))
        return false;
    } else if (parseWord(p, "True")) {
      return FAIL(p, "the array is in Fortran order; C order expected");
    } else if (!parseWord(p, "False")) {
      return FAIL(p, "malformed .npy header: 'fortran_order' is neither True nor False");
    }
    comma = take(p, ',');
  }
  for (int i = 0; i < 3; ++i)
    if (!seen[i])
      return FAIL(p, "malformed .npy header: no key '%s'", keys[i]);
  skipSpace(p);
  if (p->at < p->end && *p->at == '\n')
    ++p->at;
  if (p->at != p->end)
    return FAIL(p, "malformed .npy header: text after the dictionary");
  return true;
}

static bool sizeArray(ShardNpyArray *array, char *message, size_t messageBytes) {
  // A zero dimension makes the count zero whatever the others are; they still must not overflow.
  int64_t product = 1;
  bool empty = false;
  for (int32_t i = 0; i < array->rank; ++i) {
    if (array->shape[i] == 0)
      empty = true;
    else if (__builtin_mul_overflow(product, array->shape[i], &product))
      return shardFail((ShardMessage){message, messageBytes}, "the shape has too many elements");
  }
  int64_t sizeBytes;
  if (__builtin_mul_overflow(product, typeTable[array->type].sizeBytes, &sizeBytes) ||
      (uint64_t)sizeBytes > SIZE_MAX - 4096)
    return shardFail((ShardMessage){message, messageBytes}, "the shape has too many elements");
  array->count = empty ? 0 : product;
  array->sizeBytes = empty ? 0 : (size_t)sizeBytes;
  return true;
}

bool shardNpyParseHeader(const void *bytes, size_t nBytes, uint64_t totalBytes, ShardNpyArray *out,
                         size_t *outDataOffset, char *message, size_t messageBytes) {
  const unsigned char *b = bytes;
  memset(out, 0, sizeof(*out));
  if (nBytes < 10 || memcmp(b, "\x93NUMPY", 6) != 0)
    return shardFail((ShardMessage){message, messageBytes}, "not a .npy file");
  if (b[6] < 1 || b[6] > 3 || b[7] != 0)
    return shardFail((ShardMessage){message, messageBytes}, "unknown .npy format version %d.%d",
                     b[6], b[7]);
  size_t start = b[6] == 1 ? 10 : 12;
  if (nBytes < start)
    return shardFail((ShardMessage){message, messageBytes}, "truncated .npy header");
  size_t length = (size_t)b[8] | (size_t)b[9] << 8;
  if (b[6] > 1)
    length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
  if (length > nBytes - start)
    return shardFail((ShardMessage){message, messageBytes}, "truncated .npy header");
  HeaderParser parser = {(const char *)b + start, (const char *)b + start + length, message,
                         messageBytes};
  if (!parseDictionary(&parser, out) || !sizeArray(out, message, messageBytes))
    return false;
  uint64_t dataBytes = totalBytes - (start + length);
  if (dataBytes != out->sizeBytes)
    return shardFail((ShardMessage){message, messageBytes},
                     "the shape needs %zu bytes of data, the file has %" PRIu64, out->sizeBytes,
                     dataBytes);
  *outDataOffset = start + length;
  return true;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static bool readFully(FILE *file, void *buffer, size_t count) {
  return count == 0 || fread(buffer, 1, count, file) == count;
}

bool shardNpyReadFile(const char *path, ShardNpyArray *out, char *message, size_t messageBytes) {
  memset(out, 0, sizeof(*out));
  FILE *file = fopen(path, "rb");
  if (!file)
    return shardFail((ShardMessage){message, messageBytes}, "%s: %s", path, strerror(errno));
  char *header = NULL;
  char detail[256] = "";
  bool ok = false;
  struct stat info;
  if (fstat(fileno(file), &info) != 0) {
    shardFail((ShardMessage){detail, sizeof(detail)}, "%s", strerror(errno));
    goto done;
  }
  if (!S_ISREG(info.st_mode)) {
    shardFail((ShardMessage){detail, sizeof(detail)}, "not a regular file");
    goto done;
  }
  // Only the header is parsed, so only the header is read first: never more than the file has.
  unsigned char prefix[12] = {0};
  uint64_t total = (uint64_t)info.st_size;
  size_t prefixBytes = total < sizeof(prefix) ? (size_t)total : sizeof(prefix);
  if (!readFully(file, prefix, prefixBytes)) {
    shardFail((ShardMessage){detail, sizeof(detail)}, "read error");
    goto done;
  }
  uint64_t headerBytes = prefixBytes;
  if (prefixBytes == sizeof(prefix))
    headerBytes = prefix[6] == 1 ? 10 + (uint64_t)(prefix[8] | prefix[9] << 8)
                                 : 12 + ((uint64_t)prefix[8] | (uint64_t)prefix[9] << 8 |
                                         (uint64_t)prefix[10] << 16 | (uint64_t)prefix[11] << 24);
  if (headerBytes > total)
    headerBytes = total;
  if (headerBytes < prefixBytes)
    headerBytes = prefixBytes;
  header = malloc((size_t)headerBytes + 1);
  if (!header) {
    shardFail((ShardMessage){detail, sizeof(detail)}, "out of memory");
    goto done;
  }
  memcpy(header, prefix, prefixBytes);
  if (!readFully(file, header + prefixBytes, (size_t)headerBytes - prefixBytes)) {
    shardFail((ShardMessage){detail, sizeof(detail)}, "read error");
    goto done;
  }
  size_t offset;
  if (!shardNpyParseHeader(header, (size_t)headerBytes, total, out, &offset, detail,
                           sizeof(detail)))
    goto done;
  out->data = aligned_alloc(64, out->sizeBytes / 64 * 64 + 64);
  if (!out->data) {
    shardFail((ShardMessage){detail, sizeof(detail)}, "out of memory");
    goto done;
  }
  if (fseek(file, (long)offset, SEEK_SET) != 0 || !readFully(file, out->data, out->sizeBytes)) {
    shardFail((ShardMessage){detail, sizeof(detail)}, "read error");
    goto done;
  }
  ok = true;
done:
  free(header);
  fclose(file);
  if (!ok) {
    shardNpyRelease(out);
    shardFail((ShardMessage){message, messageBytes}, "%s: %s", path, detail);
  }
  return ok;
}

void shardNpyRelease(ShardNpyArray *array) {
  if (!array)
    return;
  free(array->data);
  memset(array, 0, sizeof(*array));
}

size_t shardNpyFormatHeader(ShardNpyType type, int32_t rank, const int64_t *shape, char *header,
                            size_t headerBytes) {
  assert(rank >= 0 && rank <= SHARD_NPY_MAX_RANK);
  char text[128 + SHARD_NPY_MAX_RANK * 24];
  int n = snprintf(text, sizeof(text), "{'descr': '%s', 'fortran_order': False, 'shape': (",
                   typeTable[type].descr);
  for (int32_t i = 0; i < rank; ++i)
    n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%" PRId64, i ? ", " : "", shape[i]);
  n += snprintf(text + n, sizeof(text) - (size_t)n, "%s), }", rank == 1 ? "," : "");
  size_t total = (10 + (size_t)n + 1 + 63) / 64 * 64;
  if (!header)
    return total;
  assert(headerBytes >= total);
  (void)headerBytes;
  memcpy(header, "\x93NUMPY\x01\x00", 8);
  header[8] = (char)((total - 10) & 0xff);
  header[9] = (char)((total - 10) >> 8);
  memset(header + 10, ' ', total - 10);
  memcpy(header + 10, text, (size_t)n);
  header[total - 1] = '\n';
  return total;
}

bool shardNpyWriteFile(const char *path, ShardNpyType type, int32_t rank, const int64_t *shape,
                       const void *data, char *message, size_t messageBytes) {
  if (rank > SHARD_NPY_MAX_RANK)
    return shardFail((ShardMessage){message, messageBytes}, "%s: more than %d dimensions", path,
                     SHARD_NPY_MAX_RANK);
  size_t sizeBytes = (size_t)typeTable[type].sizeBytes;
  for (int32_t i = 0; i < rank; ++i)
    if (__builtin_mul_overflow(sizeBytes, (size_t)shape[i], &sizeBytes))
      return shardFail((ShardMessage){message, messageBytes}, "%s: the shape has too many elements",
                       path);
  char header[256 + SHARD_NPY_MAX_RANK * 24];
  size_t headerBytes = shardNpyFormatHeader(type, rank, shape, header, sizeof(header));
  size_t pathLength = strlen(path);
  char *temporary = malloc(pathLength + 32);
  if (!temporary)
    return shardFail((ShardMessage){message, messageBytes}, "%s: out of memory", path);
  snprintf(temporary, pathLength + 32, "%s.%ld.tmp", path, (long)getpid());
  int descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
  if (!file) {
    shardFail((ShardMessage){message, messageBytes}, "%s: %s", path, strerror(errno));
    if (descriptor >= 0) {
      close(descriptor);
      unlink(temporary);
    }
    free(temporary);
    return false;
  }
  bool ok = fwrite(header, 1, headerBytes, file) == headerBytes &&
            (sizeBytes == 0 || fwrite(data, 1, sizeBytes, file) == sizeBytes);
  int error = errno;
  if (fclose(file) != 0 && ok) {
    ok = false;
    error = errno;
  }
  if (ok && rename(temporary, path) != 0) {
    ok = false;
    error = errno;
  }
  if (!ok) {
    unlink(temporary);
    shardFail((ShardMessage){message, messageBytes}, "%s: %s", path, strerror(error));
  }
  free(temporary);
  return ok;
}
