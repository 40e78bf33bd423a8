//===- Gemm.c - The matrix product that contractions call ----------*- C -*-===//
// One function per triple of element types and program: C[m,n] (+)= A[m,k] B[k,n] with any strides.
// Blocked as in Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008):
// a panel of B, KC x NR, is packed (transposed on the way if it must be), and every MR rows of A
// meet it in registers. A is read in place: a row beyond the last is the last one again, and its
// results are dropped. Accumulates in f32 (f64 for f64).
//===----------------------------------------------------------------------===//

#include "Gemm.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Text {
  ShardArena *arena;
  char *data;
  size_t size, capacity;
} Text;

__attribute__((format(printf, 2, 3))) static void add(Text *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char line[512];
  int n = vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  assert(n >= 0 && (size_t)n < sizeof(line));
  text->data = shardArenaGrow(text->arena, text->data, text->size, &text->capacity,
                              text->size + (size_t)n + 1, 1);
  memcpy(text->data + text->size, line, (size_t)n + 1);
  text->size += (size_t)n;
}

static const char *typeName(MlirType type) {
  return mlirTypeIsAF32(type)    ? "f32"
         : mlirTypeIsAF64(type)  ? "f64"
         : mlirTypeIsABF16(type) ? "bf16"
         : mlirTypeIsAF16(type)  ? "f16"
                                 : NULL;
}

bool shardGemmSupports(MlirType a, MlirType b, MlirType c) {
  const char *names[] = {typeName(a), typeName(b), typeName(c)};
  int nDouble = 0;
  for (int i = 0; i < 3; ++i) {
    if (!names[i])
      return false;
    nDouble += !strcmp(names[i], "f64");
  }
  return nDouble == 0 || nDouble == 3;
}

/// So few tiles of rows read a panel of B that need not be packed in place.
enum { FEW_TILES = 2 };

/// Sizes of the register tile and of the blocks, in elements.
typedef struct Tile {
  int64_t w, nv, nr, mr, mc;
} Tile;

static Tile tileOf(const ShardLowering *lowering, bool isDouble) {
  Tile tile;
  tile.w = lowering->target.vectorBytes / (isDouble ? 8 : 4);
  if (tile.w < 2)
    tile.w = 2;
  tile.nv = 2;
  tile.nr = tile.w * tile.nv;
  // nv x mr accumulators, nv vectors of B and one of A in the registers.
  tile.mr = lowering->target.manyRegisters ? 8 : 6;
  tile.mc = 256;
  tile.mc = tile.mc / tile.mr * tile.mr;
  return tile;
}

int64_t shardGemmBlockK(MlirType c, int64_t k) {
  // A narrow C would round at each block.
  bool wide = mlirTypeIsAF32(c) || mlirTypeIsAF64(c);
  return wide && k > 384 ? 256 : k > 0 ? k : 1;
}

ShardGemmScratch shardGemmGetScratch(const ShardLowering *lowering, const ShardGemmSizes *sizes) {
  bool isDouble = mlirTypeIsAF64(sizes->c);
  int64_t bytes = isDouble ? 8 : 4;
  Tile tile = tileOf(lowering, isDouble);
  ShardGemmScratch scratch = {0, 0};
  if (!sizes->m || !sizes->n || !sizes->k)
    return scratch;
  bool sameB = mlirTypeEqual(sizes->b, isDouble ? lowering->f64 : lowering->f32);
  bool sameC = mlirTypeEqual(sizes->c, isDouble ? lowering->f64 : lowering->f32);
  // As the code of shardGemmGet decides: panels read in place, tiles stored as vectors.
  bool direct =
      sameB && sizes->columnB == 1 && sizes->n % tile.nr == 0 && sizes->m < FEW_TILES * tile.mr;
  bool whole = sameC && sizes->columnC == 1 && sizes->n % tile.nr == 0 && sizes->m % tile.mr == 0;
  scratch.tileOffset = direct ? 0 : bytes * tile.nr * shardGemmBlockK(sizes->c, sizes->k);
  scratch.bytes = scratch.tileOffset + (whole ? 0 : bytes * tile.nr * tile.mr);
  return scratch;
}

//===----------------------------------------------------------------------===//
// Lines of code
//===----------------------------------------------------------------------===//

static int64_t bytesOf(const char *type) {
  return !strcmp(type, "f64") ? 8 : !strcmp(type, "f32") ? 4 : 2;
}

/// "vector<8xf32>"; the element type alone for one.
static void formatVector(char (*out)[48], int64_t n, const char *element) {
  if (n == 1)
    snprintf(*out, sizeof(*out), "%s", element);
  else
    snprintf(*out, sizeof(*out), "vector<%" PRId64 "x%s>", n, element);
}

/// Lines in which `i` stands for each '$' and `type` for each '~'.
static void addLines(Text *s, int64_t i, const char *type, const char *lines) {
  for (const char *at = lines; *at;) {
    size_t n = strcspn(at, "$~");
    add(s, "%.*s", (int)n, at);
    at += n;
    if (*at == '$')
      add(s, "%" PRId64, i);
    else if (*at == '~')
      add(s, "%s", type);
    at += *at != 0;
  }
}

/// %NAMEi = value.
static void addConstant(Text *s, const char *name, int64_t i, int64_t value) {
  add(s, "%%%s%" PRId64 " = arith.constant %" PRId64 " : i64\n", name, i, value);
}

/// %result = `n` elements of `narrow` at %pointer as `t`: a vector, or a scalar for one. In names
/// '$' is i.
static void addLoad(Text *s, int64_t i, const char *result, const char *pointer, int64_t n,
                    const char *narrow, const char *t) {
  char type[48], wide[48], line[160];
  formatVector(&type, n, narrow);
  formatVector(&wide, n, t);
  bool same = !strcmp(narrow, t);
  snprintf(line, sizeof(line),
           "%%%s%s = llvm.load %%%s {alignment = %" PRId64 " : i64} : !llvm.ptr -> ~\n", result,
           same ? "" : "_n", pointer, bytesOf(narrow));
  addLines(s, i, type, line);
  if (same)
    return;
  snprintf(line, sizeof(line), "%%%s = arith.extf %%%s_n : %s to ~\n", result, result, type);
  addLines(s, i, wide, line);
}

/// Stores the vector %value of elements `t` to %pointer. In names '$' is i.
static void addStore(Text *s, int64_t i, const char *value, const char *pointer, const char *vector,
                     const char *t) {
  char line[160];
  snprintf(line, sizeof(line),
           "llvm.store %%%s, %%%s {alignment = %" PRId64 " : i64} : ~, !llvm.ptr\n", value, pointer,
           bytesOf(t));
  addLines(s, i, vector, line);
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Rows of the panel are contiguous: a copy.
static void addPackRows(Text *s, const Tile *tile, const char *tb, const char *t) {
  char vector[48];
  formatVector(&vector, tile->w, t);
  add(s, "scf.for %%k = %%c0 to %%kk step %%c1 : i64 {\n");
  add(s, "%%so = arith.muli %%k, %%rsb : i64\n%%do = arith.muli %%k, %%cNR : i64\n");
  for (int64_t v = 0; v < tile->nv; ++v) {
    addConstant(s, "ov", v, v * tile->w);
    addLines(s, v, tb,
             "%s$ = arith.addi %so, %ov$ : i64\n%d$ = arith.addi %do, %ov$ : i64\n"
             "%sp$ = llvm.getelementptr %b[%s$] : (!llvm.ptr, i64) -> !llvm.ptr, ~\n");
    addLoad(s, v, "v$", "sp$", tile->w, tb, t);
    addLines(s, v, t, "%dp$ = llvm.getelementptr %dst[%d$] : (!llvm.ptr, i64) -> !llvm.ptr, ~\n");
    addStore(s, v, "v$", "dp$", vector, t);
  }
  add(s, "}\n");
}

/// Transposes a W x W block in registers, rows %r0_i (Eklundh 1972). Returns N: they are %rN_i
/// then.
static int addTranspose(Text *s, int64_t w, const char *t) {
  int round = 0;
  for (int64_t step = 1; step < w; step *= 2, ++round)
    for (int64_t i = 0; i < w; ++i) {
      if (i & step)
        continue;
      for (int half = 0; half < 2; ++half) {
        add(s, "%%r%d_%" PRId64 " = vector.shuffle %%r%d_%" PRId64 ", %%r%d_%" PRId64 " [",
            round + 1, i + (half ? step : 0), round, i, round, i + step);
        for (int64_t lane = 0; lane < w; ++lane) {
          int64_t from = half ? ((lane & step) ? lane + w : lane + step)
                              : ((lane & step) ? lane - step + w : lane);
          add(s, "%s%" PRId64, lane ? ", " : "", from);
        }
        add(s, "] : vector<%" PRId64 "x%s>, vector<%" PRId64 "x%s>\n", w, t, w, t);
      }
    }
  return round;
}

/// Columns are contiguous: W x W blocks through registers, up to row %start.
static void addPackColumns(Text *s, const Tile *tile, const char *tb, const char *t) {
  int64_t w = tile->w;
  char vector[48], row[16];
  formatVector(&vector, w, t);
  add(s, "%%rem = arith.remui %%kk, %%cW : i64\n%%whole = arith.subi %%kk, %%rem : i64\n");
  add(s, "%%start = arith.select %%columns, %%whole, %%c0 : i64\n");
  add(s, "scf.for %%k = %%c0 to %%start step %%cW : i64 {\n");
  add(s, "scf.for %%j = %%c0 to %%cNR step %%cW : i64 {\n");
  for (int64_t i = 0; i < w; ++i) {
    addConstant(s, "ri", i, i);
    addLines(s, i, tb,
             "%rj$ = arith.addi %j, %ri$ : i64\n%rm$ = arith.muli %rj$, %csb : i64\n"
             "%ro$ = arith.addi %rm$, %k : i64\n"
             "%rp$ = llvm.getelementptr %b[%ro$] : (!llvm.ptr, i64) -> !llvm.ptr, ~\n");
    addLoad(s, i, "r0_$", "rp$", w, tb, t);
  }
  snprintf(row, sizeof(row), "r%d_$", addTranspose(s, w, t));
  for (int64_t i = 0; i < w; ++i) {
    addLines(s, i, t,
             "%tk$ = arith.addi %k, %ri$ : i64\n%tm$ = arith.muli %tk$, %cNR : i64\n"
             "%to$ = arith.addi %tm$, %j : i64\n"
             "%tp$ = llvm.getelementptr %dst[%to$] : (!llvm.ptr, i64) -> !llvm.ptr, ~\n");
    addStore(s, i, row, "tp$", vector, t);
  }
  add(s, "}\n}\n");
}

/// The rows from %start on by elements, and zeros in the columns beyond nn.
static void addPackRest(Text *s, const char *tb, const char *t) {
  add(s, "scf.for %%j = %%c0 to %%nn step %%c1 : i64 {\n");
  add(s, "%%jo = arith.muli %%j, %%csb : i64\n");
  add(s, "scf.for %%k = %%start to %%kk step %%c1 : i64 {\n");
  add(s, "%%ko = arith.muli %%k, %%rsb : i64\n%%so = arith.addi %%jo, %%ko : i64\n");
  add(s, "%%sp = llvm.getelementptr %%b[%%so] : (!llvm.ptr, i64) -> !llvm.ptr, %s\n", tb);
  addLoad(s, 0, "e", "sp", 1, tb, t);
  add(s, "%%dm = arith.muli %%k, %%cNR : i64\n%%do = arith.addi %%dm, %%j : i64\n");
  static const char put[] =
      "%dp = llvm.getelementptr %dst[%do] : (!llvm.ptr, i64) -> !llvm.ptr, ~\n";
  addLines(s, 0, t, put);
  add(s, "llvm.store %%e, %%dp : %s, !llvm.ptr\n}\n}\n", t);
  add(s, "scf.for %%k = %%c0 to %%kk step %%c1 : i64 {\n%%dm = arith.muli %%k, %%cNR : i64\n");
  add(s, "scf.for %%j = %%nn to %%cNR step %%c1 : i64 {\n%%do = arith.addi %%dm, %%j : i64\n");
  addLines(s, 0, t, put);
  add(s, "llvm.store %%zero, %%dp : %s, !llvm.ptr\n}\n}\n", t);
}

/// @shard_pack_TB: a panel of B, kk x nn, to dst[kk][NR]; columns beyond nn are zero.
static void addPack(Text *s, const char *name, const Tile *tile, const char *tb, const char *t) {
  add(s,
      "func.func private @%s(%%b: !llvm.ptr, %%rsb: i64, %%csb: i64, %%kk: i64, %%nn: i64, "
      "%%dst: !llvm.ptr) {\n",
      name);
  add(s, "%%c0 = arith.constant 0 : i64\n%%c1 = arith.constant 1 : i64\n");
  add(s, "%%cW = arith.constant %" PRId64 " : i64\n%%cNR = arith.constant %" PRId64 " : i64\n",
      tile->w, tile->nr);
  add(s, "%%zero = arith.constant 0.0 : %s\n", t);
  add(s, "%%full = arith.cmpi eq, %%nn, %%cNR : i64\n");
  add(s,
      "%%unitC = arith.cmpi eq, %%csb, %%c1 : i64\n%%unitR = arith.cmpi eq, %%rsb, %%c1 : i64\n");
  add(s, "%%rows = arith.andi %%full, %%unitC : i1\n%%columns = arith.andi %%full, %%unitR : i1\n");
  add(s, "scf.if %%rows {\n");
  addPackRows(s, tile, tb, t);
  add(s, "} else {\n");
  addPackColumns(s, tile, tb, t);
  addPackRest(s, tb, t);
  add(s, "}\nfunc.return\n}\n");
}

//===----------------------------------------------------------------------===//
// The register tile
//===----------------------------------------------------------------------===//

static void addList(Text *s, int64_t n, const char *item) {
  for (int64_t i = 0; i < n; ++i) {
    add(s, "%s", i ? ", " : "");
    addLines(s, i, "", item);
  }
}

/// %acc: nv x mr accumulators over kk.
static void addAccumulate(Text *s, const Tile *tile, const char *ta, const char *t) {
  int64_t w = tile->w, nv = tile->nv, mr = tile->mr, n = nv * mr;
  char vector[48];
  formatVector(&vector, w, t);
  add(s, "%%last = arith.subi %%mr, %%c1 : i64\n");
  for (int64_t i = 0; i < mr; ++i) {
    addConstant(s, "i", i, i);
    addLines(s, i, ta,
             "%row$ = arith.minsi %i$, %last : i64\n%ao$ = arith.muli %row$, %rsa : i64\n"
             "%ar$ = llvm.getelementptr %at[%ao$] : (!llvm.ptr, i64) -> !llvm.ptr, ~\n");
  }
  add(s, "%%acc:%" PRId64 " = scf.for %%q = %%c0 to %%kk step %%c1 iter_args(", n);
  addList(s, n, "%x$ = %vzero");
  add(s, ") -> (");
  addList(s, n, vector);
  add(s, ") : i64 {\n%%bo = arith.muli %%q, %%ldb : i64\n");
  for (int64_t v = 0; v < nv; ++v) {
    addConstant(s, "bj", v, v * w);
    addLines(s, v, t,
             "%bi$ = arith.addi %bo, %bj$ : i64\n"
             "%bq$ = llvm.getelementptr %bp[%bi$] : (!llvm.ptr, i64) -> !llvm.ptr, ~\n");
    addLoad(s, v, "bv$", "bq$", w, t, t);
  }
  add(s, "%%aq = arith.muli %%q, %%csa : i64\n");
  for (int64_t i = 0; i < mr; ++i) {
    addLines(s, i, ta, "%ap$ = llvm.getelementptr %ar$[%aq] : (!llvm.ptr, i64) -> !llvm.ptr, ~\n");
    addLoad(s, i, "av$", "ap$", 1, ta, t);
    add(s, "%%as%" PRId64 " = vector.broadcast %%av%" PRId64 " : %s to %s\n", i, i, t, vector);
    for (int64_t v = 0; v < nv; ++v) {
      int64_t k = i * nv + v;
      add(s,
          "%%p%" PRId64 " = arith.mulf %%as%" PRId64 ", %%bv%" PRId64 " fastmath<contract> : %s\n",
          k, i, v, vector);
      addLines(s, k, vector, "%y$ = arith.addf %p$, %x$ fastmath<contract> : ~\n");
    }
  }
  add(s, "scf.yield ");
  addList(s, n, "%y$");
  add(s, " : ");
  addList(s, n, vector);
  add(s, "\n}\n");
}

/// A whole tile into a C of the computing type, by vectors.
static void addVectorsToC(Text *s, const Tile *tile, bool accumulate, const char *t) {
  char vector[48];
  formatVector(&vector, tile->w, t);
  for (int64_t i = 0; i < tile->mr; ++i) {
    addLines(s, i, t, "%co$ = arith.muli %i$, %rsc : i64\n");
    for (int64_t v = 0; v < tile->nv; ++v) {
      int64_t k = i * tile->nv + v;
      addConstant(s, "cj", k, v * tile->w);
      add(s, "%%ci%" PRId64 " = arith.addi %%co%" PRId64 ", %%cj%" PRId64 " : i64\n", k, i, k);
      addLines(s, k, t, "%cq$ = llvm.getelementptr %ct[%ci$] : (!llvm.ptr, i64) -> !llvm.ptr, ~\n");
      if (accumulate) {
        addLoad(s, k, "cv$", "cq$", tile->w, t, t);
        addLines(s, k, vector, "%cs$ = arith.addf %cv$, %acc#$ : ~\n");
      }
      addStore(s, k, accumulate ? "cs$" : "acc#$", "cq$", vector, t);
    }
  }
}

/// Any tile into C, by way of %tile, element by element.
static void addElementsToC(Text *s, const Tile *tile, const char *tc, const char *t) {
  char vector[48];
  formatVector(&vector, tile->w, t);
  for (int64_t k = 0; k < tile->nv * tile->mr; ++k) {
    addConstant(s, "tc", k, k * tile->w);
    addLines(s, k, t, "%tq$ = llvm.getelementptr %tile[%tc$] : (!llvm.ptr, i64) -> !llvm.ptr, ~\n");
    addStore(s, k, "acc#$", "tq$", vector, t);
  }
  add(s, "scf.for %%i = %%c0 to %%mr step %%c1 : i64 {\nscf.for %%j = %%c0 to %%nn step %%c1 : i64 "
         "{\n");
  add(s, "%%to = arith.muli %%i, %%cNR : i64\n%%tj = arith.addi %%to, %%j : i64\n");
  add(s, "%%tp = llvm.getelementptr %%tile[%%tj] : (!llvm.ptr, i64) -> !llvm.ptr, %s\n", t);
  add(s, "%%e = llvm.load %%tp : !llvm.ptr -> %s\n", t);
  add(s, "%%cr = arith.muli %%i, %%rsc : i64\n%%cc = arith.muli %%j, %%csc : i64\n");
  add(s, "%%ce = arith.addi %%cr, %%cc : i64\n");
  add(s, "%%cp = llvm.getelementptr %%ct[%%ce] : (!llvm.ptr, i64) -> !llvm.ptr, %s\n", tc);
  add(s, "%%f = scf.if %%add -> (%s) {\n", t);
  addLoad(s, 0, "old", "cp", 1, tc, t);
  addLines(s, 0, t,
           "%sum = arith.addf %old, %e : ~\nscf.yield %sum : ~\n} else {\nscf.yield %e : ~\n}\n");
  if (!strcmp(tc, t)) {
    add(s, "llvm.store %%f, %%cp : %s, !llvm.ptr\n", t);
  } else {
    add(s, "%%g = arith.truncf %%f : %s to %s\n", t, tc);
    add(s, "llvm.store %%g, %%cp : %s, !llvm.ptr\n", tc);
  }
  add(s, "}\n}\n");
}

static void addMicroKernel(Text *s, const Tile *tile, const char *ta, const char *tc,
                           const char *t) {
  addAccumulate(s, tile, ta, t);
  bool wide = !strcmp(tc, t);
  add(s,
      "%%wholeM = arith.cmpi eq, %%mr, %%cMR : i64\n%%unit = arith.cmpi eq, %%csc, %%c1 : i64\n");
  add(s, "%%wholeN = arith.cmpi eq, %%nn, %%cNR : i64\n%%whole0 = arith.andi %%wholeM, %%wholeN : "
         "i1\n");
  add(s, "%%whole1 = arith.andi %%whole0, %%unit : i1\n%%may = arith.constant %s\n",
      wide ? "true" : "false");
  add(s, "%%whole = arith.andi %%whole1, %%may : i1\nscf.if %%whole {\n");
  if (wide) {
    add(s, "scf.if %%add {\n");
    addVectorsToC(s, tile, true, t);
    add(s, "} else {\n");
    addVectorsToC(s, tile, false, t);
    add(s, "}\n");
  }
  add(s, "} else {\n");
  addElementsToC(s, tile, tc, t);
  add(s, "}\n");
}

const char *shardGemmGet(ShardLowering *lowering, MlirType a, MlirType b, MlirType c) {
  const char *ta = typeName(a), *tb = typeName(b), *tc = typeName(c);
  const char *t = mlirTypeIsAF64(a) ? "f64" : "f32";
  char *name = shardArenaFormat(lowering->arena, "shard_gemm_%s_%s_%s", ta, tb, tc);
  if (!mlirOperationIsNull(
          shardModuleLookup(lowering->module, mlirStringRefCreateFromCString(name))))
    return name;
  Tile tile = tileOf(lowering, mlirTypeIsAF64(a));
  char *pack = shardArenaFormat(lowering->arena, "shard_pack_%s", tb);
  if (mlirOperationIsNull(
          shardModuleLookup(lowering->module, mlirStringRefCreateFromCString(pack)))) {
    Text packText = {.arena = lowering->arena};
    addPack(&packText, pack, &tile, tb, t);
    shardParseIntoModule(lowering, packText.data);
  }
  Text text = {.arena = lowering->arena}, *s = &text;
  // The parser wants to see the callee: both stand in one module and are moved out of it.
  add(s, "module {\nfunc.func private @%s(!llvm.ptr, i64, i64, i64, i64, !llvm.ptr)\n", pack);
  add(s,
      "func.func private @%s(%%a: !llvm.ptr, %%rsa: i64, %%csa: i64, %%b: !llvm.ptr, %%rsb: i64, "
      "%%csb: i64, %%c: !llvm.ptr, %%rsc: i64, %%csc: i64, %%m: i64, %%n: i64, %%k: i64, "
      "%%kc: i64, %%accumulate: i1, %%scratch: !llvm.ptr, %%tile: !llvm.ptr) {\n",
      name);
  add(s, "%%c0 = arith.constant 0 : i64\n%%c1 = arith.constant 1 : i64\n");
  add(s, "%%cMR = arith.constant %" PRId64 " : i64\n%%cNR = arith.constant %" PRId64 " : i64\n",
      tile.mr, tile.nr);
  add(s, "%%cMC = arith.constant %" PRId64 " : i64\n%%few = arith.constant %" PRId64 " : i64\n",
      tile.mc, FEW_TILES * tile.mr);
  add(s, "%%vzero = arith.constant dense<0.0> : vector<%" PRId64 "x%s>\n", tile.w, t);
  add(s, "%%true = arith.constant true\n%%sameB = arith.constant %s\n",
      strcmp(tb, t) ? "false" : "true");
  add(s, "scf.for %%pc = %%c0 to %%k step %%kc : i64 {\n");
  add(s, "%%kleft = arith.subi %%k, %%pc : i64\n%%kk = arith.minsi %%kleft, %%kc : i64\n");
  add(s,
      "%%later = arith.cmpi ne, %%pc, %%c0 : i64\n%%add = arith.ori %%later, %%accumulate : i1\n");
  add(s, "scf.for %%ic = %%c0 to %%m step %%cMC : i64 {\n");
  add(s, "%%mleft = arith.subi %%m, %%ic : i64\n%%mm = arith.minsi %%mleft, %%cMC : i64\n");
  add(s, "scf.for %%jr = %%c0 to %%n step %%cNR : i64 {\n");
  add(s, "%%nleft = arith.subi %%n, %%jr : i64\n%%nn = arith.minsi %%nleft, %%cNR : i64\n");
  add(s, "%%bk = arith.muli %%pc, %%rsb : i64\n%%bn = arith.muli %%jr, %%csb : i64\n");
  add(s, "%%bi = arith.addi %%bk, %%bn : i64\n");
  add(s, "%%bs = llvm.getelementptr %%b[%%bi] : (!llvm.ptr, i64) -> !llvm.ptr, %s\n", tb);
  // Few rows: a panel that can be read in place is.
  add(s, "%%d0 = arith.cmpi eq, %%nn, %%cNR : i64\n%%d1 = arith.cmpi eq, %%csb, %%c1 : i64\n");
  add(s, "%%d2 = arith.cmpi slt, %%mm, %%few : i64\n%%d3 = arith.andi %%d0, %%d1 : i1\n");
  add(s, "%%d4 = arith.andi %%d2, %%d3 : i1\n%%direct = arith.andi %%d4, %%sameB : i1\n");
  add(s, "%%ldb = arith.select %%direct, %%rsb, %%cNR : i64\n");
  add(s, "%%bp = arith.select %%direct, %%bs, %%scratch : !llvm.ptr\n");
  add(s, "%%packed = arith.xori %%direct, %%true : i1\nscf.if %%packed {\n");
  add(s,
      "func.call @%s(%%bs, %%rsb, %%csb, %%kk, %%nn, %%scratch) : (!llvm.ptr, i64, i64, i64, "
      "i64, !llvm.ptr) -> ()\n}\n",
      pack);
  add(s, "scf.for %%ir = %%c0 to %%mm step %%cMR : i64 {\n");
  add(s, "%%rleft = arith.subi %%mm, %%ir : i64\n%%mr = arith.minsi %%rleft, %%cMR : i64\n");
  add(s, "%%r = arith.addi %%ic, %%ir : i64\n%%am = arith.muli %%r, %%rsa : i64\n");
  add(s, "%%ak = arith.muli %%pc, %%csa : i64\n%%ai = arith.addi %%am, %%ak : i64\n");
  add(s, "%%at = llvm.getelementptr %%a[%%ai] : (!llvm.ptr, i64) -> !llvm.ptr, %s\n", ta);
  add(s, "%%cm = arith.muli %%r, %%rsc : i64\n%%cn = arith.muli %%jr, %%csc : i64\n");
  add(s, "%%cx = arith.addi %%cm, %%cn : i64\n");
  add(s, "%%ct = llvm.getelementptr %%c[%%cx] : (!llvm.ptr, i64) -> !llvm.ptr, %s\n", tc);
  addMicroKernel(s, &tile, ta, tc, t);
  add(s, "}\n}\n}\n}\nfunc.return\n}\n}\n");
  MlirOperation holder =
      mlirOperationCreateParse(lowering->context, mlirStringRefCreate(text.data, text.size),
                               mlirStringRefCreateFromCString("shard_gemm"));
  assert(!mlirOperationIsNull(holder) && "text written by this code");
  MlirOperation function =
      mlirOperationGetNextInBlock(mlirBlockGetFirstOperation(shardOpBody(holder)));
  mlirOperationRemoveFromParent(function);
  mlirBlockAppendOwnedOperation(shardOpBody(lowering->module), function);
  mlirOperationDestroy(holder);
  return name;
}
