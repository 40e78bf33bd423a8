//===- Template.h - Ops written as text ---------------------------*- C -*-===//
#ifndef SHARD_IMPORT_TEMPLATE_H
#define SHARD_IMPORT_TEMPLATE_H

#include "../Core/Text.h"
#include "ImportParts.h"

/// Adds `format`, in which # is an intptr_t, ~ a MlirType, $ a C string; and * an intptr_t n and
/// then intptr_t first: "d<first>, d<first + 1>, ..." of n loops.
void shardTextAdd(ShardText *text, const char *format, ...);
/// Parses a function of the op's operands and puts what it does in place of the op, which has one
/// result. Fails, after one diagnostic, when the text is no function.
MlirLogicalResult shardReplaceByText(MlirOperation op, const ShardText *text);
/// A named linalg op of one result as linalg.generic, with the same body. Returns it.
MlirOperation shardGeneralise(MlirOperation op, ShardArena *arena);

#endif // SHARD_IMPORT_TEMPLATE_H
