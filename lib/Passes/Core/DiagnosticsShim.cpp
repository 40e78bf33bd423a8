//===- DiagnosticsShim.cpp - Remarks, warnings and notes --------*- C++ -*-===//
// The C API emits errors only, and without notes.
//===----------------------------------------------------------------------===//
#include "DiagnosticsShim.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

extern "C" void shardDiagnosticEmit(MlirLocation location, MlirDiagnosticSeverity severity,
                                    MlirStringRef text, MlirLocation noteLocation,
                                    const char *note) {
  Location where = unwrap(location);
  InFlightDiagnostic diagnostic = severity == MlirDiagnosticError     ? emitError(where)
                                  : severity == MlirDiagnosticWarning ? emitWarning(where)
                                                                      : emitRemark(where);
  diagnostic << unwrap(text);
  if (note)
    diagnostic.attachNote(unwrap(noteLocation)) << note;
}
