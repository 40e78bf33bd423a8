//===- Npz.c - NumPy's .npz files ---------------------------------*- C -*-===//
// Zip as in PKWARE's APPNOTE 6.3.10, method 0 (stored), with the 64-bit fields throughout, as NumPy
// itself writes: members over 4 GiB are ordinary here.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "Npz.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

typedef struct Member {
  char *name;
  uint64_t sizeBytes, offset;
  uint32_t crc;
} Member;

struct ShardNpzWriter {
  FILE *file;
  char *path, *temporary;
  uint64_t offset;
  size_t n, capacity;
  Member *members;
  bool failed;
};

typedef struct Record {
  unsigned char bytes[128];
  size_t n;
} Record;

static void put(Record *record, int bytes, uint64_t value) {
  for (int i = 0; i < bytes; ++i)
    record->bytes[record->n++] = (unsigned char)(value >> (8 * i));
}

static bool writeBytes(ShardNpzWriter *writer, const void *data, size_t sizeBytes) {
  writer->offset += sizeBytes;
  writer->failed |= sizeBytes > 0 && fwrite(data, 1, sizeBytes, writer->file) != sizeBytes;
  return !writer->failed;
}

static bool fail(ShardNpzWriter *writer, const char *path, char *message, size_t messageBytes) {
  if (writer)
    writer->failed = true;
  snprintf(message, messageBytes, "%s: %s", path, strerror(errno ? errno : EIO));
  return false;
}

ShardNpzWriter *shardNpzWriterCreate(const char *path, char *message, size_t messageBytes) {
  ShardNpzWriter *writer = calloc(1, sizeof(*writer));
  size_t length = strlen(path);
  if (!writer || !(writer->path = strdup(path)) || !(writer->temporary = malloc(length + 32))) {
    errno = ENOMEM;
    fail(writer, path, message, messageBytes);
    shardNpzWriterAbandon(writer);
    return NULL;
  }
  snprintf(writer->temporary, length + 32, "%s.%ld.tmp", path, (long)getpid());
  int descriptor = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  writer->file = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
  if (!writer->file) {
    fail(writer, path, message, messageBytes);
    if (descriptor >= 0) {
      close(descriptor);
      unlink(writer->temporary);
    }
    shardNpzWriterAbandon(writer);
    return NULL;
  }
  return writer;
}

static void putSizes(Record *record, const Member *member) {
  put(record, 4, member->crc);
  put(record, 4, 0xffffffff); // both sizes stand in the 64-bit extra field
  put(record, 4, 0xffffffff);
}

bool shardNpzWriterAdd(ShardNpzWriter *writer, const char *name, ShardNpyType type, int32_t rank,
                       const int64_t *shape, const void *data, char *message, size_t messageBytes) {
  size_t sizeBytes = (size_t)shardNpyTypeBytes(type);
  for (int32_t d = 0; d < rank; ++d)
    if (__builtin_mul_overflow(sizeBytes, (size_t)shape[d], &sizeBytes)) {
      errno = EFBIG;
      return fail(writer, writer->path, message, messageBytes);
    }
  size_t nameLength = strlen(name) + 4;
  if (writer->n == writer->capacity) {
    size_t larger = writer->capacity ? 2 * writer->capacity : 64;
    Member *grown = realloc(writer->members, larger * sizeof(*grown));
    if (!grown)
      return fail(writer, writer->path, message, messageBytes);
    writer->members = grown;
    writer->capacity = larger;
  }
  Member *member = &writer->members[writer->n];
  *member = (Member){.name = malloc(nameLength + 1), .offset = writer->offset};
  if (!member->name || nameLength > 0xffff) {
    free(member->name);
    errno = member->name ? ENAMETOOLONG : ENOMEM;
    return fail(writer, writer->path, message, messageBytes);
  }
  ++writer->n;
  snprintf(member->name, nameLength + 1, "%s.npy", name);

  char header[256 + SHARD_NPY_MAX_RANK * 24];
  size_t headerBytes = shardNpyFormatHeader(type, rank, shape, header, sizeof(header));
  member->sizeBytes = headerBytes + sizeBytes;
  uLong crc = crc32_z(crc32_z(0, NULL, 0), (const Bytef *)header, headerBytes);
  member->crc = (uint32_t)(sizeBytes ? crc32_z(crc, data, sizeBytes) : crc);
  Record local = {.n = 0};
  put(&local, 4, 0x04034b50);
  put(&local, 2, 45);         // version needed: 64-bit fields
  put(&local, 2, 0x0800);     // the name is UTF-8
  put(&local, 2, 0);          // stored
  put(&local, 4, 0x00210000); // 1980-01-01: equal input gives equal bytes
  putSizes(&local, member);
  put(&local, 2, nameLength);
  put(&local, 2, 20);
  Record extra = {.n = 0};
  put(&extra, 2, 1);
  put(&extra, 2, 16);
  put(&extra, 8, member->sizeBytes);
  put(&extra, 8, member->sizeBytes);
  errno = 0;
  if (!writeBytes(writer, local.bytes, local.n) || !writeBytes(writer, member->name, nameLength) ||
      !writeBytes(writer, extra.bytes, extra.n) || !writeBytes(writer, header, headerBytes) ||
      !writeBytes(writer, data, sizeBytes))
    return fail(writer, writer->path, message, messageBytes);
  return true;
}

static bool writeDirectory(ShardNpzWriter *writer) {
  uint64_t start = writer->offset;
  for (size_t i = 0; i < writer->n; ++i) {
    const Member *member = &writer->members[i];
    Record entry = {.n = 0};
    put(&entry, 4, 0x02014b50);
    put(&entry, 2, 0x032d); // made on Unix, version 4.5
    put(&entry, 2, 45);
    put(&entry, 2, 0x0800);
    put(&entry, 2, 0);
    put(&entry, 4, 0x00210000);
    putSizes(&entry, member);
    put(&entry, 2, strlen(member->name));
    put(&entry, 2, 28);
    put(&entry, 2, 0);                    // comment
    put(&entry, 2, 0);                    // disk
    put(&entry, 2, 0);                    // internal attributes
    put(&entry, 4, UINT64_C(0644) << 16); // a file, rw-r--r--
    put(&entry, 4, 0xffffffff);           // offset, in the extra field
    Record extra = {.n = 0};
    put(&extra, 2, 1);
    put(&extra, 2, 24);
    put(&extra, 8, member->sizeBytes);
    put(&extra, 8, member->sizeBytes);
    put(&extra, 8, member->offset);
    if (!writeBytes(writer, entry.bytes, entry.n) ||
        !writeBytes(writer, member->name, strlen(member->name)) ||
        !writeBytes(writer, extra.bytes, extra.n))
      return false;
  }
  uint64_t end = writer->offset;
  Record tail = {.n = 0};
  put(&tail, 4, 0x06064b50); // end of central directory, 64-bit
  put(&tail, 8, 44);
  put(&tail, 2, 45);
  put(&tail, 2, 45);
  put(&tail, 4, 0);
  put(&tail, 4, 0);
  put(&tail, 8, writer->n);
  put(&tail, 8, writer->n);
  put(&tail, 8, end - start);
  put(&tail, 8, start);
  put(&tail, 4, 0x07064b50); // its locator
  put(&tail, 4, 0);
  put(&tail, 8, end);
  put(&tail, 4, 1);
  put(&tail, 4, 0x06054b50); // the plain one
  put(&tail, 2, 0);
  put(&tail, 2, 0);
  uint64_t n16 = writer->n < 0xffff ? writer->n : 0xffff;
  put(&tail, 2, n16);
  put(&tail, 2, n16);
  put(&tail, 4, end - start < 0xffffffff ? end - start : 0xffffffff);
  put(&tail, 4, start < 0xffffffff ? start : 0xffffffff);
  put(&tail, 2, 0);
  return writeBytes(writer, tail.bytes, tail.n);
}

bool shardNpzWriterFinish(ShardNpzWriter *writer, char *message, size_t messageBytes) {
  errno = 0;
  bool ok = !writer->failed && writeDirectory(writer);
  ok = fclose(writer->file) == 0 && ok;
  writer->file = NULL;
  if (!ok || rename(writer->temporary, writer->path) != 0) {
    ok = fail(writer, writer->path, message, messageBytes);
    unlink(writer->temporary);
  }
  shardNpzWriterAbandon(writer);
  return ok;
}

void shardNpzWriterAbandon(ShardNpzWriter *writer) {
  if (!writer)
    return;
  if (writer->file) {
    fclose(writer->file);
    unlink(writer->temporary);
  }
  for (size_t i = 0; i < writer->n; ++i)
    free(writer->members[i].name);
  free(writer->members);
  free(writer->temporary);
  free(writer->path);
  free(writer);
}
