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

int64_t shardGemmScratchBytes(const ShardLowering *lowering, MlirType c, int64_t k) {
  bool isDouble = mlirTypeIsAF64(c);
  Tile tile = tileOf(lowering, isDouble);
  return (isDouble ? 8 : 4) * tile.nr * (shardGemmBlockK(c, k) + tile.mr);
}

/// One vector (or scalar) of `narrow` at a pointer as `t`.
static void addLoad(Text *s, const char *result, const char *pointer, int64_t n, const char *narrow,
                    const char *t, int64_t alignment) {
  char type[48], wide[48];
  if (n == 1) {
    snprintf(type, sizeof(type), "%s", narrow);
    snprintf(wide, sizeof(wide), "%s", t);
  } else {
    snprintf(type, sizeof(type), "vector<%" PRId64 "x%s>", n, narrow);
    snprintf(wide, sizeof(wide), "vector<%" PRId64 "x%s>", n, t);
  }
  bool same = !strcmp(narrow, t);
  add(s, "%%%s%s = llvm.load %%%s {alignment = %" PRId64 " : i64} : !llvm.ptr -> %s\n", result,
      same ? "" : "_n", pointer, alignment, type);
  if (!same)
    add(s, "%%%s = arith.extf %%%s_n : %s to %s\n", result, result, type, wide);
}

static int64_t bytesOf(const char *type) {
  return !strcmp(type, "f64") ? 8 : !strcmp(type, "f32") ? 4 : 2;
}

/// @shard_pack_TB: a panel of B, kk x nn, to dst[kk][NR]; columns beyond nn are zero.
static void addPack(Text *s, const char *name, const Tile *tile, const char *tb, const char *t) {
  int64_t w = tile->w, nr = tile->nr;
  add(s,
      "func.func private @%s(%%b: !llvm.ptr, %%rsb: i64, %%csb: i64, %%kk: i64, %%nn: i64, "
      "%%dst: !llvm.ptr) {\n",
      name);
  add(s, "%%c0 = arith.constant 0 : i64\n%%c1 = arith.constant 1 : i64\n");
  add(s, "%%cW = arith.constant %" PRId64 " : i64\n%%cNR = arith.constant %" PRId64 " : i64\n", w,
      nr);
  add(s, "%%zero = arith.constant 0.0 : %s\n", t);
  add(s, "%%full = arith.cmpi eq, %%nn, %%cNR : i64\n");
  add(s,
      "%%unitC = arith.cmpi eq, %%csb, %%c1 : i64\n%%unitR = arith.cmpi eq, %%rsb, %%c1 : i64\n");
  add(s, "%%rows = arith.andi %%full, %%unitC : i1\n%%columns = arith.andi %%full, %%unitR : i1\n");
  // Rows are contiguous: copy.
  add(s, "scf.if %%rows {\nscf.for %%k = %%c0 to %%kk step %%c1 : i64 {\n");
  add(s, "%%so = arith.muli %%k, %%rsb : i64\n%%do = arith.muli %%k, %%cNR : i64\n");
  for (int64_t v = 0; v < tile->nv; ++v) {
    char value[32], pointer[32];
    snprintf(value, sizeof(value), "v%" PRId64, v);
    snprintf(pointer, sizeof(pointer), "sp%" PRId64, v);
    add(s, "%%ov%" PRId64 " = arith.constant %" PRId64 " : i64\n", v, v * w);
    add(s, "%%s%" PRId64 " = arith.addi %%so, %%ov%" PRId64 " : i64\n", v, v);
    add(s, "%%d%" PRId64 " = arith.addi %%do, %%ov%" PRId64 " : i64\n", v, v);
    add(s,
        "%%sp%" PRId64 " = llvm.getelementptr %%b[%%s%" PRId64
        "] : (!llvm.ptr, i64) -> !llvm.ptr, %s\n",
        v, v, tb);
    addLoad(s, value, pointer, w, tb, t, bytesOf(tb));
    add(s,
        "%%dp%" PRId64 " = llvm.getelementptr %%dst[%%d%" PRId64
        "] : (!llvm.ptr, i64) -> !llvm.ptr, %s\n",
        v, v, t);
    add(s,
        "llvm.store %%v%" PRId64 ", %%dp%" PRId64 " {alignment = %" PRId64
        " : i64} : vector<%" PRId64 "x%s>, !llvm.ptr\n",
        v, v, bytesOf(t), w, t);
  }
  add(s, "}\n} else {\n");
  // Columns are contiguous: W x W blocks through registers (Eklundh 1972), the rest by elements.
  add(s, "%%rem = arith.remui %%kk, %%cW : i64\n%%whole = arith.subi %%kk, %%rem : i64\n");
  add(s, "%%start = arith.select %%columns, %%whole, %%c0 : i64\n");
  add(s, "scf.for %%k = %%c0 to %%start step %%cW : i64 {\n");
  add(s, "scf.for %%j = %%c0 to %%cNR step %%cW : i64 {\n");
  for (int64_t i = 0; i < w; ++i) {
    char value[32], pointer[32];
    snprintf(value, sizeof(value), "r0_%" PRId64, i);
    snprintf(pointer, sizeof(pointer), "rp%" PRId64, i);
    add(s, "%%ri%" PRId64 " = arith.constant %" PRId64 " : i64\n", i, i);
    add(s, "%%rj%" PRId64 " = arith.addi %%j, %%ri%" PRId64 " : i64\n", i, i);
    add(s, "%%rm%" PRId64 " = arith.muli %%rj%" PRId64 ", %%csb : i64\n", i, i);
    add(s, "%%ro%" PRId64 " = arith.addi %%rm%" PRId64 ", %%k : i64\n", i, i);
    add(s,
        "%%rp%" PRId64 " = llvm.getelementptr %%b[%%ro%" PRId64
        "] : (!llvm.ptr, i64) -> !llvm.ptr, %s\n",
        i, i, tb);
    addLoad(s, value, pointer, w, tb, t, bytesOf(tb));
  }
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
  for (int64_t i = 0; i < w; ++i) {
    add(s, "%%tk%" PRId64 " = arith.addi %%k, %%ri%" PRId64 " : i64\n", i, i);
    add(s, "%%tm%" PRId64 " = arith.muli %%tk%" PRId64 ", %%cNR : i64\n", i, i);
    add(s, "%%to%" PRId64 " = arith.addi %%tm%" PRId64 ", %%j : i64\n", i, i);
    add(s,
        "%%tp%" PRId64 " = llvm.getelementptr %%dst[%%to%" PRId64
        "] : (!llvm.ptr, i64) -> !llvm.ptr, %s\n",
        i, i, t);
    add(s,
        "llvm.store %%r%d_%" PRId64 ", %%tp%" PRId64 " {alignment = %" PRId64
        " : i64} : vector<%" PRId64 "x%s>, !llvm.ptr\n",
        round, i, i, bytesOf(t), w, t);
  }
  add(s, "}\n}\n");
  add(s, "scf.for %%j = %%c0 to %%nn step %%c1 : i64 {\n");
  add(s, "%%jo = arith.muli %%j, %%csb : i64\n");
  add(s, "scf.for %%k = %%start to %%kk step %%c1 : i64 {\n");
  add(s, "%%ko = arith.muli %%k, %%rsb : i64\n%%so = arith.addi %%jo, %%ko : i64\n");
  add(s, "%%sp = llvm.getelementptr %%b[%%so] : (!llvm.ptr, i64) -> !llvm.ptr, %s\n", tb);
  addLoad(s, "e", "sp", 1, tb, t, bytesOf(tb));
  add(s, "%%dm = arith.muli %%k, %%cNR : i64\n%%do = arith.addi %%dm, %%j : i64\n");
  add(s, "%%dp = llvm.getelementptr %%dst[%%do] : (!llvm.ptr, i64) -> !llvm.ptr, %s\n", t);
  add(s, "llvm.store %%e, %%dp : %s, !llvm.ptr\n}\n}\n", t);
  add(s, "scf.for %%k = %%c0 to %%kk step %%c1 : i64 {\n%%dm = arith.muli %%k, %%cNR : i64\n");
  add(s, "scf.for %%j = %%nn to %%cNR step %%c1 : i64 {\n%%do = arith.addi %%dm, %%j : i64\n");
  add(s, "%%dp = llvm.getelementptr %%dst[%%do] : (!llvm.ptr, i64) -> !llvm.ptr, %s\n", t);
  add(s, "llvm.store %%zero, %%dp : %s, !llvm.ptr\n}\n}\n", t);
  add(s, "}\nfunc.return\n}\n");
}

/// The register tile: nv x mr accumulators over kk, then into C.
static void addMicroKernel(Text *s, const Tile *tile, const char *ta, const char *tc,
                           const char *t) {
  int64_t w = tile->w, nv = tile->nv, mr = tile->mr, n = nv * mr;
  char vector[48];
  snprintf(vector, sizeof(vector), "vector<%" PRId64 "x%s>", w, t);
  add(s, "%%last = arith.subi %%mr, %%c1 : i64\n");
  for (int64_t i = 0; i < mr; ++i) {
    add(s, "%%i%" PRId64 " = arith.constant %" PRId64 " : i64\n", i, i);
    add(s, "%%row%" PRId64 " = arith.minsi %%i%" PRId64 ", %%last : i64\n", i, i);
    add(s, "%%ao%" PRId64 " = arith.muli %%row%" PRId64 ", %%rsa : i64\n", i, i);
    add(s,
        "%%ar%" PRId64 " = llvm.getelementptr %%at[%%ao%" PRId64
        "] : (!llvm.ptr, i64) -> !llvm.ptr, %s\n",
        i, i, ta);
  }
  add(s, "%%acc:%" PRId64 " = scf.for %%q = %%c0 to %%kk step %%c1 iter_args(", n);
  for (int64_t i = 0; i < n; ++i)
    add(s, "%s%%x%" PRId64 " = %%vzero", i ? ", " : "", i);
  add(s, ") -> (");
  for (int64_t i = 0; i < n; ++i)
    add(s, "%s%s", i ? ", " : "", vector);
  add(s, ") : i64 {\n%%bo = arith.muli %%q, %%ldb : i64\n");
  for (int64_t v = 0; v < nv; ++v) {
    char value[32], pointer[32];
    snprintf(value, sizeof(value), "bv%" PRId64, v);
    snprintf(pointer, sizeof(pointer), "bq%" PRId64, v);
    add(s, "%%bj%" PRId64 " = arith.constant %" PRId64 " : i64\n", v, v * w);
    add(s, "%%bi%" PRId64 " = arith.addi %%bo, %%bj%" PRId64 " : i64\n", v, v);
    add(s,
        "%%bq%" PRId64 " = llvm.getelementptr %%bp[%%bi%" PRId64
        "] : (!llvm.ptr, i64) -> !llvm.ptr, %s\n",
        v, v, t);
    addLoad(s, value, pointer, w, t, t, bytesOf(t));
  }
  add(s, "%%aq = arith.muli %%q, %%csa : i64\n");
  for (int64_t i = 0; i < mr; ++i) {
    char value[32], pointer[32];
    snprintf(value, sizeof(value), "av%" PRId64, i);
    snprintf(pointer, sizeof(pointer), "ap%" PRId64, i);
    add(s,
        "%%ap%" PRId64 " = llvm.getelementptr %%ar%" PRId64
        "[%%aq] : (!llvm.ptr, i64) -> !llvm.ptr, %s\n",
        i, i, ta);
    addLoad(s, value, pointer, 1, ta, t, bytesOf(ta));
    add(s, "%%as%" PRId64 " = vector.broadcast %%av%" PRId64 " : %s to %s\n", i, i, t, vector);
    for (int64_t v = 0; v < nv; ++v) {
      int64_t k = i * nv + v;
      add(s,
          "%%p%" PRId64 " = arith.mulf %%as%" PRId64 ", %%bv%" PRId64 " fastmath<contract> : %s\n",
          k, i, v, vector);
      add(s, "%%y%" PRId64 " = arith.addf %%p%" PRId64 ", %%x%" PRId64 " fastmath<contract> : %s\n",
          k, k, k, vector);
    }
  }
  add(s, "scf.yield ");
  for (int64_t i = 0; i < n; ++i)
    add(s, "%s%%y%" PRId64, i ? ", " : "", i);
  add(s, " : ");
  for (int64_t i = 0; i < n; ++i)
    add(s, "%s%s", i ? ", " : "", vector);
  add(s, "\n}\n");

  // A whole tile of a C of the computing type goes out by vectors.
  bool wide = !strcmp(tc, t);
  add(s,
      "%%wholeM = arith.cmpi eq, %%mr, %%cMR : i64\n%%unit = arith.cmpi eq, %%csc, %%c1 : i64\n");
  add(s, "%%wholeN = arith.cmpi eq, %%nn, %%cNR : i64\n%%whole0 = arith.andi %%wholeM, %%wholeN : "
         "i1\n");
  add(s, "%%whole1 = arith.andi %%whole0, %%unit : i1\n%%may = arith.constant %s\n",
      wide ? "true" : "false");
  add(s, "%%whole = arith.andi %%whole1, %%may : i1\nscf.if %%whole {\n");
  if (wide)
    for (int accumulate = 1; accumulate >= 0; --accumulate) {
      add(s, accumulate ? "scf.if %%add {\n" : "} else {\n");
      for (int64_t i = 0; i < mr; ++i) {
        add(s, "%%co%" PRId64 " = arith.muli %%i%" PRId64 ", %%rsc : i64\n", i, i);
        for (int64_t v = 0; v < nv; ++v) {
          int64_t k = i * nv + v;
          add(s, "%%cj%" PRId64 " = arith.constant %" PRId64 " : i64\n", k, v * w);
          add(s, "%%ci%" PRId64 " = arith.addi %%co%" PRId64 ", %%cj%" PRId64 " : i64\n", k, i, k);
          add(s,
              "%%cq%" PRId64 " = llvm.getelementptr %%ct[%%ci%" PRId64
              "] : (!llvm.ptr, i64) -> !llvm.ptr, %s\n",
              k, k, tc);
          if (accumulate) {
            add(s,
                "%%cv%" PRId64 " = llvm.load %%cq%" PRId64 " {alignment = %" PRId64
                " : i64} : !llvm.ptr -> %s\n",
                k, k, bytesOf(tc), vector);
            add(s, "%%cs%" PRId64 " = arith.addf %%cv%" PRId64 ", %%acc#%" PRId64 " : %s\n", k, k,
                k, vector);
            add(s,
                "llvm.store %%cs%" PRId64 ", %%cq%" PRId64 " {alignment = %" PRId64
                " : i64} : %s, !llvm.ptr\n",
                k, k, bytesOf(tc), vector);
          } else {
            add(s,
                "llvm.store %%acc#%" PRId64 ", %%cq%" PRId64 " {alignment = %" PRId64
                " : i64} : %s, !llvm.ptr\n",
                k, k, bytesOf(tc), vector);
          }
        }
      }
    }
  if (wide)
    add(s, "}\n");
  add(s, "} else {\n");
  for (int64_t k = 0; k < n; ++k) {
    add(s, "%%tc%" PRId64 " = arith.constant %" PRId64 " : i64\n", k, k * w);
    add(s,
        "%%tq%" PRId64 " = llvm.getelementptr %%tile[%%tc%" PRId64
        "] : (!llvm.ptr, i64) -> !llvm.ptr, %s\n",
        k, k, t);
    add(s,
        "llvm.store %%acc#%" PRId64 ", %%tq%" PRId64 " {alignment = %" PRId64
        " : i64} : %s, !llvm.ptr\n",
        k, k, bytesOf(t), vector);
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
  addLoad(s, "old", "cp", 1, tc, t, bytesOf(tc));
  add(s,
      "%%sum = arith.addf %%old, %%e : %s\nscf.yield %%sum : %s\n} else {\nscf.yield %%e : %s\n}\n",
      t, t, t);
  if (wide) {
    add(s, "llvm.store %%f, %%cp : %s, !llvm.ptr\n", t);
  } else {
    add(s, "%%g = arith.truncf %%f : %s to %s\n", t, tc);
    add(s, "llvm.store %%g, %%cp : %s, !llvm.ptr\n", tc);
  }
  add(s, "}\n}\n}\n");
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
      "%%kc: i64, %%accumulate: i1, %%scratch: !llvm.ptr) {\n",
      name);
  add(s, "%%c0 = arith.constant 0 : i64\n%%c1 = arith.constant 1 : i64\n");
  add(s, "%%cMR = arith.constant %" PRId64 " : i64\n%%cNR = arith.constant %" PRId64 " : i64\n",
      tile.mr, tile.nr);
  add(s, "%%cMC = arith.constant %" PRId64 " : i64\n%%few = arith.constant %" PRId64 " : i64\n",
      tile.mc, 2 * tile.mr);
  add(s, "%%vzero = arith.constant dense<0.0> : vector<%" PRId64 "x%s>\n", tile.w, t);
  add(s, "%%panel = arith.muli %%kc, %%cNR : i64\n");
  add(s, "%%tile = llvm.getelementptr %%scratch[%%panel] : (!llvm.ptr, i64) -> !llvm.ptr, %s\n", t);
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
