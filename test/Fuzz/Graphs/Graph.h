//===- Graph.h - Random programs from the rows of the op table ----*- C -*-===//
// A program is drawn as a list of small choices. The same list gives the same program, and a list
// with parts left out or made smaller gives a smaller program: that is how a failing one is reduced
// (as in MacIver and Donaldson, "Test-Case Reduction via Test-Case Generation", 2020).
//===----------------------------------------------------------------------===//
#ifndef SHARD_FUZZ_GRAPH_H
#define SHARD_FUZZ_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// Choices made, and where one op's begin and end, so that whole ops can be left out.
typedef struct Draws {
  uint64_t state;           // of SplitMix64, when not replayed
  const uint32_t *replayed; // [nReplayed]; past the end every choice is 0, the simplest
  size_t nReplayed;
  bool replaying;
  uint32_t *made;
  size_t nMade, capacity;
  size_t *spans; // [nSpans] the choice at which each op begins
  size_t nSpans, spanCapacity;
} Draws;

/// A number in [0, n). 0 is what a reduced program should have.
int draw(Draws *draws, int n);
bool drawChance(Draws *draws, int percent); // false is simpler
void drawSpan(Draws *draws);                // an op begins
void drawsRelease(Draws *draws);

//===----------------------------------------------------------------------===//
// A program being written
//===----------------------------------------------------------------------===//

enum { MAX_RANK = 6, MAX_VALUES = 1024, MAX_AXES = 4, MAX_ROWS = 512, MAX_ELEMENTS = 4096 };

typedef enum Element { F32, F64, BF16, F16, I64, I32, I1, I8 } Element;

typedef struct Type {
  int rank;
  int64_t shape[MAX_RANK];
  Element element;
} Type;

typedef struct Value {
  Type type;
  int id;
  double bound; // of the magnitude, times the binary places
  bool fuzzy;   // its last bits depend on the order of sums
  bool shared;  // an empty or a fill: never returned
  int uses;
} Value;

typedef struct Text {
  char *data;
  size_t length, capacity;
} Text;

/// A function, or a region of one: its lines and what they may use.
typedef struct Scope {
  Text lines;
  int firstValue; // in Program.values
  bool closed;    // no arguments can be added
  bool silent;    // no annotations either
} Scope;

typedef struct Callee {
  int number, nOperands, nResults;
  Type operands[4], results[4];
  double operandBounds[4], resultBounds[4];
  bool fuzzyOperands[4], fuzzyResults;
} Callee;

typedef struct Program {
  Draws *draws;
  // What it is made for.
  bool exact;  // no op whose bits depend on an order
  bool uneven; // sizes need not be multiples of the axes
  Element element;
  double cap; // bound that sums keep to
  int nAxes, axisSizes[MAX_AXES];
  const char *axisNames[MAX_AXES];
  int nExtents, extents[8];
  // What it has.
  Value values[MAX_VALUES];
  int nValues, nextId, nArguments, nOps, nAnnotations, nCallees;
  Callee callees[8];
  Scope *scope;
  Text arguments, functions, module, plain;
  char degrees[64];
  bool used[MAX_ROWS]; // rows of the op table
  bool hasCall, hasLoop, failed;
  bool brief;   // compared once, for reduction
  bool planted; // rank 0's values are changed in the run that is compared: it must be found
} Program;

/// Writes a program. `release` it after use.
void programCreate(Draws *draws, bool allowUneven, Program *out);
void programRelease(Program *program);
/// Copies `from` without the lines and attributes that say how values lie.
void stripShardings(Text *out, const char *from);

/// Number of the row of the op table with this name; -1: none.
int rowOf(const char *name);
const char *rowName(int row);
int rowCount(void);
/// Whether a maker of ops stands behind the row.
bool rowIsMade(int row);

//===----------------------------------------------------------------------===//
// For makers of ops
//===----------------------------------------------------------------------===//

void textAppend(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void textRelease(Text *text);
void lineAdd(Program *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// "tensor<4x6xf32>", and the element type alone. Valid for the next 31 calls.
const char *typeText(const Type *type);
const char *elementText(Element element);
int64_t typeElements(const Type *type);
bool typeEqual(const Type *a, const Type *b);
bool elementIsReal(Element element);
/// The type with other sizes; the type without dimension d.
Type typeOf(Element element, int rank, const int64_t *shape);
Type typeDrop(Type type, int d);

int drawExtent(Program *p);
/// A value of the program's float type, of rank in [least, most]; values not used yet are
/// preferred. May reshape one. -1: none.
int valuePick(Program *p, int least, int most);
/// A value of exactly this type with this bound: an old one, an argument or a fill.
int valueNeed(Program *p, Type type, double bound);
/// `value` clamped where its magnitude is larger than `bound`.
int valueBound(Program *p, int value, double bound);
/// A new value, the result of an op that has been or will be written; maybe annotated by the
/// caller.
int valueAdd(Program *p, Type type, double bound, bool fuzzy);
int idOf(Program *p, int value); // counts a use
void valueAnnotate(Program *p, int value);
/// A tensor.empty, and a fill with a number written as MLIR writes it.
int valueEmpty(Program *p, Type type);
int valueFill(Program *p, Type type, const char *number, double bound);
/// Fills where a sum, a maximum (1) or a minimum (2) starts.
int valueStart(Program *p, Type type, int kind);
/// A scalar constant "%c12 = ..." of the type; its id.
int scalarConstant(Program *p, Element element, const char *number);
/// A new argument. -1: there are enough, or this is no place for one.
int argumentAdd(Program *p, Type type, const char *attributes);
void used(Program *p, const char *row);
/// Text of one value's sharding, [["tp"],[]], or of upstream's, [[1],[]]; null: none was drawn.
const char *drawSharding(Program *p, const Type *type, bool upstream, char *out, size_t outBytes);
/// Some linalg.generic, which has more to it than other rows. False: none could be made here.
bool makeForm(Program *p);
/// One op of a random row. False: none could be made here.
bool opMake(Program *p);

/// Ops in the scope until there are n more, or it is no use. The last value made from number `made`
/// on; -1: none.
int opsMake(Program *p, int n, int made);
/// A value like `carried` within the bound: the last one made from number `made` on, or a sum.
int valueBack(Program *p, int carried, int made, double bound);
/// Layers.c: as many calls of one function as there are stages, or more.
void makeLayers(Program *p, int nStages);

/// Makers. `row` names the op. False: not here.
bool makeGeneric(Program *p, const char *row);
bool makeContraction(Program *p, const char *row);
bool makeWindow(Program *p, const char *row);
bool makeDivUnsigned(Program *p, const char *row);
bool makeScalar(Program *p, const char *row);
/// Sequences.c: forms of the row linalg.generic; and a loop over rows of `value`.
bool makeRunningSum(Program *p);
bool makeTurned(Program *p);
bool makeTruth(Program *p);
bool makeSumOfProducts(Program *p);
void makeRowLoop(Program *p, int value);
bool isContraction(const char *row);

#endif // SHARD_FUZZ_GRAPH_H
