//===- Passes.c - The passes, by name -----------------------------*- C -*-===//
#include "shard/Passes.h"

#include "../Analysis/Rules.h"
#include "../Core/Refusals.h"
#include "../Core/Registry.h"

#include <stdio.h>

void shardPassesRegister(void) { shardRegistryRegister(); }

intptr_t shardPassesGetCount(void) { return shardPassInfoCount(); }

const char *shardPassesGetArgument(intptr_t index) { return shardPassInfoGet(index)->argument; }

const char *shardPassesGetSummary(intptr_t index) { return shardPassInfoGet(index)->summary; }

const char *shardPassesGetAnchor(intptr_t index) { return shardPassInfoGet(index)->anchor; }

intptr_t shardPassesGetOptionCount(intptr_t index) {
  return (intptr_t)shardPassInfoGet(index)->nOptions;
}

ShardPassesOption shardPassesGetOption(intptr_t index, intptr_t option) {
  static const char *const types[] = {
      [SHARD_OPTION_INT64] = "int", [SHARD_OPTION_BOOL] = "bool", [SHARD_OPTION_STRING] = "string"};
  const ShardOption *row = &shardPassInfoGet(index)->options[option];
  return (ShardPassesOption){.name = row->name,
                             .type = types[row->kind],
                             .defaultText = row->defaultText,
                             .range = row->range,
                             .help = row->help};
}

MlirPass shardPassesCreate(MlirStringRef argument, MlirStringRef options, char *message,
                           size_t messageBytes) {
  const ShardPassInfo *info = shardPassInfoFind(argument);
  if (!info) {
    snprintf(message, messageBytes, "no pass is named '%.*s'", (int)argument.length, argument.data);
    return (MlirPass){NULL};
  }
  return shardPassCreate(info, options, message, messageBytes);
}

intptr_t shardOpsGetCount(void) { return shardOpEntryCount(); }
const char *shardOpsGetName(intptr_t index) { return shardOpEntryName(index); }
const char *shardOpsGetSummary(intptr_t index) { return shardOpEntrySummary(index); }

intptr_t shardRefusedOpsGetCount(void) { return shardOpRefusalCount(); }
ShardRefusal shardRefusedOpsGet(intptr_t index) {
  const ShardOpRefusal *row = shardOpRefusalGet(index);
  return (ShardRefusal){row->name, row->reason, row->nearest};
}

intptr_t shardMessagesGetCount(void) { return shardMessageCount(); }
ShardRefusal shardMessagesGet(intptr_t index) {
  const ShardMessage *row = shardMessageGet(index);
  return (ShardRefusal){row->text, row->reason, row->nearest};
}
