//===- Memory.c - shard-opt --memory-plan, --memory-limit ---------*- C -*-===//
#include "Memory.h"

#include "Cluster.h"

#include "shard/MemoryPlan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t shardOptParseMemory(const char *text) {
  static const struct {
    const char *name;
    double bytes;
  } units[] = {{"", 1},
               {"B", 1},
               {"kB", 1e3},
               {"KB", 1e3},
               {"MB", 1e6},
               {"GB", 1e9},
               {"TB", 1e12},
               {"KiB", 1024},
               {"MiB", 1048576},
               {"GiB", 1073741824},
               {"TiB", 1099511627776}};
  char *end;
  double number = strtod(text, &end);
  if (*text < '0' || *text > '9' || strpbrk(text, "xX"))
    return -1;
  for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); ++i)
    if (strcmp(end, units[i].name) == 0) {
      double bytes = number * units[i].bytes;
      if (units[i].bytes == 1 && number != floor(number)) // a part of a byte
        return -1;
      return bytes >= 1 && bytes <= 1e18 ? (int64_t)bytes : -1;
    }
  return -1;
}

bool shardOptCheckMemoryPlan(const ShardOptOptions *options) {
  const char *other = options->simulate  ? "simulate"
                      : options->analyse ? "analyse"
                                         : shardOptProgramOption(options);
  return !other || shardOptFail("'--memory-plan' writes the plan, not the program; it does not go "
                                "with --%s",
                                other);
}

bool shardOptMemoryPlan(const ShardOptOptions *options, MlirOperation module) {
  ShardMemoryPlan *plan = shardMemoryPlanCreate(module, options->mcpu);
  bool ok = plan && shardOptWriteText(options, strcmp(options->memoryPlan, "json") == 0
                                                   ? shardMemoryPlanFormatJson(plan)
                                                   : shardMemoryPlanFormatText(plan));
  shardMemoryPlanDestroy(plan);
  return ok;
}

bool shardOptCheckMemoryLimit(const ShardOptOptions *options, MlirOperation module) {
  ShardMemoryPlan *plan = shardMemoryPlanCreate(module, options->mcpu);
  bool ok =
      plan && mlirLogicalResultIsSuccess(shardMemoryPlanCheck(plan, module, options->memoryLimit));
  shardMemoryPlanDestroy(plan);
  return ok;
}
