//===- Decoder.h - A decoder-only Transformer as text -------------*- C -*-===//
#ifndef SHARD_TEST_DECODER_H
#define SHARD_TEST_DECODER_H

#include "DecoderOps.h"

/// Writes head, sizes, constants, body and args.json's list, from `g->options`.
void writeDecoder(Generator *g);

#endif // SHARD_TEST_DECODER_H
