//===- shard/Support.h - Export macro -----------------------------*- C -*-===//
#ifndef SHARD_SUPPORT_H
#define SHARD_SUPPORT_H

#if defined(_WIN32)
#define SHARD_EXPORTED
#else
#define SHARD_EXPORTED __attribute__((visibility("default")))
#endif

#endif // SHARD_SUPPORT_H
