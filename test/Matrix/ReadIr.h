//===- ReadIr.h - What shard-audit asks of a program ---------------*- C -*-===//
#ifndef SHARD_TEST_READIR_H
#define SHARD_TEST_READIR_H

#include "mlir-c/IR.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What cannot be audited: exits with 2.
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/// What does not hold: one line each, counted.
void fault(const char *format, ...) __attribute__((format(printf, 1, 2)));
int faultCount(void);
void *allocate(size_t count, size_t bytes); // zeroed; free with free()

MlirStringRef ref(const char *text);
bool is(MlirOperation op, const char *name);
MlirAttribute attributeOf(MlirOperation op, const char *name); // null if absent
MlirAttribute argumentAttribute(MlirOperation func, intptr_t index, const char *name);
char *textOf(MlirAttribute string);  // null if it is none; free with free()
int64_t elementCount(MlirType type); // -1: no static shape
double typeBytes(MlirType type);
MlirModule parseFile(MlirContext context, const char *path);
MlirOperation lookup(MlirModule module, MlirStringRef name); // null if there is none
bool isPublicFunction(MlirOperation op);
MlirBlock bodyOf(MlirOperation func);

#endif // SHARD_TEST_READIR_H
