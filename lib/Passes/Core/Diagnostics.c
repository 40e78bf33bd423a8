//===- Diagnostics.c - One error a failure, at the op -------------*- C -*-===//
#include "Diagnostics.h"

#include "DiagnosticsShim.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void emitFormatted(MlirLocation location, MlirDiagnosticSeverity severity,
                          const char *format, va_list arguments) {
  char buffer[512];
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(buffer, sizeof buffer, format, arguments);
  if (length >= 0 && (size_t)length < sizeof buffer) {
    shardDiagnosticEmit(location, severity, mlirStringRefCreate(buffer, (size_t)length), location,
                        NULL);
  } else if (length >= 0) {
    ShardArena *arena = shardArenaCreate();
    char *text = shardArenaAllocate(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    shardDiagnosticEmit(location, severity, mlirStringRefCreate(text, (size_t)length), location,
                        NULL);
    shardArenaDestroy(arena);
  }
  va_end(again);
}

MlirLogicalResult shardEmitError(MlirOperation op, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  emitFormatted(mlirOperationGetLocation(op), MlirDiagnosticError, format, arguments);
  va_end(arguments);
  return mlirLogicalResultFailure();
}

MlirLogicalResult shardEmitErrorAt(MlirLocation location, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  emitFormatted(location, MlirDiagnosticError, format, arguments);
  va_end(arguments);
  return mlirLogicalResultFailure();
}

MlirLogicalResult shardEmitErrorWithNote(MlirLocation location, const char *text,
                                         MlirLocation noteLocation, const char *note) {
  shardDiagnosticEmit(location, MlirDiagnosticError, mlirStringRefCreateFromCString(text),
                      noteLocation, note);
  return mlirLogicalResultFailure();
}

static MlirLogicalResult keepFirstError(MlirDiagnostic diagnostic, void *user) {
  ShardFirstError *first = user;
  if (mlirDiagnosticGetSeverity(diagnostic) != MlirDiagnosticError || first->text.data)
    return mlirLogicalResultSuccess();
  mlirDiagnosticPrint(diagnostic, shardTextAppend, &first->text);
  first->location = mlirDiagnosticGetLocation(diagnostic);
  return mlirLogicalResultSuccess();
}

void shardFirstErrorBegin(ShardFirstError *first, MlirOperation op, ShardArena *arena) {
  *first = (ShardFirstError){.context = mlirOperationGetContext(op),
                             .location = mlirOperationGetLocation(op),
                             .text = {.arena = arena}};
  first->handler = mlirContextAttachDiagnosticHandler(first->context, keepFirstError, first, NULL);
}

const char *shardFirstErrorEnd(ShardFirstError *first) {
  mlirContextDetachDiagnosticHandler(first->context, first->handler);
  return first->text.data;
}

void shardEmitRemark(MlirOperation op, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  emitFormatted(mlirOperationGetLocation(op), MlirDiagnosticRemark, format, arguments);
  va_end(arguments);
}

void shardEmitWarning(MlirOperation op, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  emitFormatted(mlirOperationGetLocation(op), MlirDiagnosticWarning, format, arguments);
  va_end(arguments);
}
