//===- CheckComm.c - What a user does not want to be sent ---------*- C -*-===//
// Reads: collectives of L3 and their rows of `spmd.sites`. Writes: nothing. Fails: at the first
// collective that is forbidden, or that no annotation asks for; at the one that sends most when all
// together send too much.
//===----------------------------------------------------------------------===//

#include "../Core/Collectives.h"
#include "../Core/Pass.h"

#include "mlir-c/BuiltinAttributes.h"

#include <inttypes.h>
#include <string.h>

typedef struct CheckCommOptions {
  const char *forbid;
  int64_t maxBytes;
  bool implicit;
} CheckCommOptions;

static const ShardOption optionTable[] = {
    SHARD_OPTION(CheckCommOptions, forbid, "forbid", "", "",
                 "Kinds that are errors, KIND or KIND:AXIS, separated by commas"),
    SHARD_OPTION(CheckCommOptions, maxBytes, "max-bytes", "-1", "",
                 "Bytes that a rank may send in a step, mean over ranks; -1: any"),
    SHARD_OPTION(CheckCommOptions, implicit, "implicit", "true", "",
                 "Allow collectives that no annotation asks for"),
};

typedef struct Check {
  const CheckCommOptions *options;
  ShardArena *arena;
  MlirAttribute sites;
  MlirOperation heaviest; // the collective that sends most
  MlirAttribute heaviestRow;
  double heaviestBytes;
} Check;

static MlirAttribute get(MlirAttribute row, const char *name) {
  return mlirDictionaryAttrGetElementByName(row, mlirStringRefCreateFromCString(name));
}

static const char *text(const Check *check, MlirAttribute row, const char *name,
                        const char *other) {
  MlirAttribute value = get(row, name);
  if (mlirAttributeIsNull(value) || !mlirAttributeIsAString(value))
    return other;
  MlirStringRef string = mlirStringAttrGetValue(value);
  return shardArenaCopyString(check->arena, string.data, string.length);
}

static MlirAttribute rowOf(const Check *check, MlirOperation op) {
  int64_t number, site;
  MlirAttribute none = mlirAttributeGetNull();
  MlirAttribute attribute = shardOpGetAttribute(op, "spmd.site");
  if (mlirAttributeIsNull(attribute) || !shardAttrGetI64(attribute, &site))
    return none;
  for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(check->sites); ++i) {
    MlirAttribute row = mlirArrayAttrGetElement(check->sites, i);
    if (mlirAttributeIsADictionary(row) && !mlirAttributeIsNull(get(row, "site")) &&
        shardAttrGetI64(get(row, "site"), &number) && number == site)
      return row;
  }
  return none;
}

/// Bytes of a step: those of a call times its calls.
static double bytesOf(MlirAttribute row) {
  MlirAttribute bytes = get(row, "bytes"), calls = get(row, "calls");
  if (mlirAttributeIsNull(bytes) || !mlirAttributeIsAFloat(bytes))
    return 0;
  return mlirFloatAttrGetValueDouble(bytes) * (double)shardSiteCallCount(calls);
}

/// Whether `name` is `wanted` or a sub-axis of it, tp.0 of tp.
static bool isAxis(MlirStringRef name, const char *wanted, size_t length) {
  return name.length >= length && memcmp(name.data, wanted, length) == 0 &&
         (name.length == length || name.data[length] == '.');
}

static bool runsOver(MlirAttribute row, const char *axis, size_t length) {
  MlirAttribute axes = get(row, "axes");
  for (intptr_t i = 0; !mlirAttributeIsNull(axes) && mlirAttributeIsAArray(axes) &&
                       i < mlirArrayAttrGetNumElements(axes);
       ++i)
    if (isAxis(mlirStringAttrGetValue(mlirArrayAttrGetElement(axes, i)), axis, length))
      return true;
  return false;
}

/// The entry of --forbid that a collective meets; null: none.
static const char *findForbidden(const Check *check, MlirAttribute row) {
  const char *kind = text(check, row, "kind", "");
  for (const char *at = check->options->forbid; *at;) {
    size_t length = strcspn(at, ","), name = strcspn(at, ":,");
    if (strlen(kind) == name && memcmp(kind, at, name) == 0 &&
        (name == length || runsOver(row, at + name + 1, length - name - 1)))
      return shardArenaCopyString(check->arena, at, length);
    at += length + (at[length] == ',');
  }
  return NULL;
}

static const char *axesText(const Check *check, MlirAttribute row) {
  MlirAttribute axes = get(row, "axes");
  const char *joined = "";
  for (intptr_t i = 0; !mlirAttributeIsNull(axes) && mlirAttributeIsAArray(axes) &&
                       i < mlirArrayAttrGetNumElements(axes);
       ++i) {
    MlirStringRef name = mlirStringAttrGetValue(mlirArrayAttrGetElement(axes, i));
    joined = shardArenaFormat(check->arena, "%s%s%.*s", joined, i ? "," : "", (int)name.length,
                              name.data);
  }
  return joined;
}

/// "all-gather over tp takes linalg.matmul at ... from [["tp"],[]] to whole: split ... wanted ...".
static const char *describe(const Check *check, MlirAttribute row) {
  return shardArenaFormat(
      check->arena, "%s over %s takes %s from %s to %s: %s", text(check, row, "kind", "collective"),
      axesText(check, row), text(check, row, "value", "a value"),
      text(check, row, "from", "where it lies"), text(check, row, "to", "where it is wanted"),
      text(check, row, "cause", "no cause is known"));
}

static MlirLogicalResult checkOp(void *user, MlirOperation op) {
  Check *check = user;
  MlirAttribute row = rowOf(check, op);
  if (mlirAttributeIsNull(row) || shardOpIs(op, "shard.recv"))
    return mlirLogicalResultSuccess();
  const char *forbidden = findForbidden(check, row);
  if (forbidden)
    return shardEmitError(op, "'%s' is forbidden: %s", forbidden, describe(check, row));
  if (!check->options->implicit && !mlirAttributeIsNull(get(row, "implicit")))
    return shardEmitError(op, "no annotation asks for this communication: %s",
                          describe(check, row));
  double bytes = bytesOf(row);
  if (bytes > check->heaviestBytes) {
    check->heaviest = op;
    check->heaviestRow = row;
    check->heaviestBytes = bytes;
  }
  return mlirLogicalResultSuccess();
}

/// Spelling mistakes must not forbid nothing.
static MlirLogicalResult checkForbid(const ShardPassRun *run, const char *forbid) {
  MlirLocation nowhere = mlirLocationUnknownGet(run->context);
  for (const char *at = forbid; *at;) {
    size_t length = strcspn(at, ","), name = strcspn(at, ":,");
    bool known = false;
    for (int i = 0; i < SHARD_RT_BARRIER; ++i) {
      const char *kind = shardCollectiveKindName((ShardRtKind)i);
      known |= strlen(kind) == name && memcmp(kind, at, name) == 0;
    }
    if (!known)
      return shardEmitErrorAt(nowhere,
                              "--forbid: '%.*s' is no kind of collective; expected all-reduce, "
                              "all-gather, reduce-scatter, all-to-all, permute, broadcast or send",
                              (int)name, at);
    static const char *const axes[] = {"pp", "dp", "ep", "sp", "tp"};
    bool axisKnown = name == length;
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; ++i)
      axisKnown |= length - name >= 3 && memcmp(at + name + 1, axes[i], 2) == 0 &&
                   (length - name == 3 || at[name + 3] == '.');
    if (!axisKnown)
      return shardEmitErrorAt(nowhere, "--forbid: '%.*s' is no axis; expected pp, dp, ep, sp or tp",
                              (int)(length - name - 1), at + name + 1);
    at += length + (at[length] == ',');
  }
  return mlirLogicalResultSuccess();
}

static MlirLogicalResult runCheckComm(ShardPassRun *run) {
  const CheckCommOptions *options = run->options;
  MlirAttribute sites = shardOpGetAttribute(run->op, "spmd.sites");
  if (mlirAttributeIsNull(sites) || !mlirAttributeIsAArray(sites))
    return shardEmitError(run->op, "no 'spmd.sites' on the module: it is no sharded program");
  if (mlirLogicalResultIsFailure(checkForbid(run, options->forbid)))
    return mlirLogicalResultFailure();
  Check check = {.options = options, .arena = run->arena, .sites = sites};
  if (mlirLogicalResultIsFailure(shardWalk(run->op, NULL, checkOp, &check)))
    return mlirLogicalResultFailure();
  double total = 0;
  for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(sites); ++i)
    if (mlirAttributeIsADictionary(mlirArrayAttrGetElement(sites, i)))
      total += bytesOf(mlirArrayAttrGetElement(sites, i));
  if (options->maxBytes < 0 || total <= (double)options->maxBytes)
    return mlirLogicalResultSuccess();
  if (mlirOperationIsNull(check.heaviest))
    return shardEmitError(
        run->op, "%.0f bytes are sent in a step, mean over ranks; at most %" PRId64 " are allowed",
        total, options->maxBytes);
  return shardEmitError(check.heaviest,
                        "%.0f bytes are sent in a step, mean over ranks; at most %" PRId64
                        " are allowed; %.0f of them here: %s",
                        total, options->maxBytes, check.heaviestBytes,
                        describe(&check, check.heaviestRow));
}

const ShardPassInfo shardCheckCommPass = {
    .argument = "shard-check-comm",
    .summary = "Reject collectives that are forbidden, not asked for, or too many",
    .anchor = "builtin.module",
    SHARD_PASS_OPTIONS(CheckCommOptions, optionTable),
    .run = runCheckComm,
};
