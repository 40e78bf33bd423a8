//===- InputFile.c - A whole input, unpacked ----------------------*- C -*-===//
#define _GNU_SOURCE
#include "InputFile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static bool fail(char *message, size_t messageBytes, const char *what, const char *path,
                 const char *why) {
  snprintf(message, messageBytes, "cannot %s '%s': %s", what, path, why);
  return false;
}

// Reads to the end of `fd`, with a zero after it. `hint`: the expected size.
static char *readAll(int fd, size_t hint, size_t *outSize) {
  size_t capacity = hint + 4096, size = 0;
  char *bytes = malloc(capacity);
  while (bytes) {
    if (size + 1 >= capacity) {
      char *grown = capacity > SIZE_MAX / 2 ? NULL : realloc(bytes, capacity * 2);
      if (!grown)
        break;
      bytes = grown;
      capacity *= 2;
    }
    ssize_t n = read(fd, bytes + size, capacity - size - 1);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0) {
      free(bytes);
      return NULL;
    }
    if (n == 0) {
      bytes[size] = 0;
      *outSize = size;
      return bytes;
    }
    size += (size_t)n;
  }
  free(bytes);
  errno = ENOMEM;
  return NULL;
}

// Unpacks one or more gzip members. Null: `*outWhy`.
static char *unpack(const char *packed, size_t packedSize, size_t *outSize, const char **outWhy) {
  size_t capacity = packedSize * 8 + 4096, size = 0;
  char *bytes = malloc(capacity);
  z_stream stream = {0};
  if (!bytes || inflateInit2(&stream, 15 + 16) != Z_OK) {
    free(bytes);
    *outWhy = "out of memory";
    return NULL;
  }
  *outWhy = "the gzip data is damaged";
  size_t taken = 0;
  int status = Z_OK;
  for (;;) {
    if (size + 1 >= capacity) {
      char *grown = capacity > SIZE_MAX / 2 ? NULL : realloc(bytes, capacity * 2);
      if (!grown) {
        *outWhy = "out of memory";
        break;
      }
      bytes = grown;
      capacity *= 2;
    }
    size_t in = packedSize - taken, room = capacity - size - 1;
    stream.next_in = (Bytef *)(packed + taken);
    stream.avail_in = in > UINT_MAX ? UINT_MAX : (uInt)in;
    stream.next_out = (Bytef *)(bytes + size);
    stream.avail_out = room > UINT_MAX ? UINT_MAX : (uInt)room;
    uInt inBefore = stream.avail_in, outBefore = stream.avail_out;
    status = inflate(&stream, Z_NO_FLUSH);
    taken += inBefore - stream.avail_in;
    size += outBefore - stream.avail_out;
    if (status == Z_STREAM_END) {
      if (packedSize - taken >= 2 && (unsigned char)packed[taken] == 0x1f &&
          (unsigned char)packed[taken + 1] == 0x8b && inflateReset(&stream) == Z_OK)
        continue;
      inflateEnd(&stream);
      bytes[size] = 0;
      *outSize = size;
      return bytes;
    }
    if (status == Z_BUF_ERROR && taken == packedSize && size + 1 < capacity) {
      *outWhy = "the gzip data ends too early";
      break;
    }
    if (status != Z_OK && status != Z_BUF_ERROR)
      break;
    if (taken == packedSize && inBefore == 0 && outBefore == stream.avail_out) {
      *outWhy = "the gzip data ends too early";
      break;
    }
  }
  inflateEnd(&stream);
  free(bytes);
  return NULL;
}

bool shardInputFileRead(const char *path, ShardInputFile *out, char *message, size_t messageBytes) {
  *out = (ShardInputFile){0};
  bool standardInput = strcmp(path, "-") == 0;
  int fd = standardInput ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return fail(message, messageBytes, "open", path, strerror(errno));
  struct stat status;
  bool regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  if (!regular && S_ISDIR(status.st_mode)) {
    if (!standardInput)
      close(fd);
    return fail(message, messageBytes, "read", path, strerror(EISDIR));
  }
  size_t size = regular && status.st_size > 0 ? (size_t)status.st_size : 0;
  const char *bytes = NULL;
  bool mapped = false;
  // A mapping ends with zeros only when the file does not fill its last page.
  if (!standardInput && size && size % (size_t)sysconf(_SC_PAGESIZE)) {
    void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    mapped = map != MAP_FAILED;
    bytes = mapped ? map : NULL;
  }
  if (!mapped)
    bytes = readAll(fd, size, &size);
  int error = errno;
  if (!standardInput)
    close(fd);
  if (!bytes)
    return fail(message, messageBytes, "read", path, strerror(error));
  *out = (ShardInputFile){bytes, size, mapped};
  if (size < 2 || (unsigned char)bytes[0] != 0x1f || (unsigned char)bytes[1] != 0x8b)
    return true;
  const char *why;
  size_t unpackedSize = 0;
  char *unpacked = unpack(bytes, size, &unpackedSize, &why);
  shardInputFileRelease(out);
  if (!unpacked)
    return fail(message, messageBytes, "unpack", path, why);
  *out = (ShardInputFile){unpacked, unpackedSize, false};
  return true;
}

void shardInputFileRelease(ShardInputFile *file) {
  if (file->mapped)
    munmap((void *)file->bytes, file->sizeBytes);
  else
    free((void *)file->bytes);
  *file = (ShardInputFile){0};
}
