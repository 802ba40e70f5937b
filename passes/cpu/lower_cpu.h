// lower_cpu.h -- contractions as code for the processor, in the object itself.
//
// A function that is named after the types and the epilogue gets sizes, strides
// and addresses in one array of 8-byte slots:
//
//     tensors         addresses of in0, in1, out and the epilogue's extras
//     limits          what the sums of those of in0, then of in1, start with:
//                     of elements for which one is below zero, nothing is read;
//                     then of the result's, if it has one: such are not there
//     accumulate      0 or 1; on the way to code that cuts what is not packed
//                     along K, twice the steps of a block more
//     parts           what of the code is of this product only: see CpuPart
//     axis counts     of the roles C, M, N, K
//     axes            by role, outermost first: extent, stride of each tensor,
//                     step of each limit
//
// Like the function that stands before it (lower_cpu_nest.cpp), it is a weak
// declaration at first, whose attribute says what it computes.  DefineCpuPass
// gives both their code at the end of the pipeline, so that no other pass sees
// it: it is written as the code generator shall have it.  Blocks and
// instruction sets come from teir's table of processors.
#ifndef NPUTEIR_LOWER_CPU_H
#define NPUTEIR_LOWER_CPU_H

#include "ir_code.h"

extern "C" {
#include "recognizer.h"
#include "teir_cpu.h"
}

#include <functional>
#include <optional>

namespace nputeir {

// Of a text, the same in every run.
uint64_t stableHash(llvm::StringRef Text);

// How an operand of the epilogue moves along the innermost axis of N.
enum class CpuExtra { Number, Splat, Vector, Other };

// Along what an input's elements are adjacent, if that is known: along M or N,
// or along K.
enum class CpuLies { Any, Rows, Steps };

// Extents, and strides in bytes.
struct CpuFixed {
  int64_t M, N, K, In0Row, In0K, In1Column, In1K, OutRow, Adds;
  static constexpr int64_t CpuFixed::*Each[] = {
      &CpuFixed::M,      &CpuFixed::N,      &CpuFixed::K,
      &CpuFixed::In0Row, &CpuFixed::In0K,   &CpuFixed::In1Column,
      &CpuFixed::In1K,   &CpuFixed::OutRow, &CpuFixed::Adds};
};

// What a function computes, whatever the sizes.
struct CpuWork {
  dtype In[2], Out, Sum;
  const calc *Tail = nullptr;
  struct Extra {
    dtype Type;
    CpuExtra Moves;
  };
  llvm::SmallVector<Extra, 4> Extras;
  unsigned Limits[2] = {0, 0}; // of in0 and in1
  bool Partial = false; // of the result, too, which moves by one with each
  bool Plain = false;   // each role has one axis
  CpuLies Lies[2] = {CpuLies::Any, CpuLies::Any}; // Rows, Steps: Plain
  // Which of the extras counts as an element that limits leave out; -1: zero.
  int Fills[2] = {-1, -1};
  // Whether sizes may be large, and may be small; for the latter, whether in1
  // lies across the columns.
  bool Packed = true, Direct = false, Turned = false;
  // Small: it may be Exchanged, with in1 along the columns and a result that is
  // adjacent along the rows.
  bool Spreads = false, Exchanged = false;
  bool Aside = false;  // little of the work: code need not be each processor's
  bool Finite = false; // floats are neither infinite nor NaN; asked with a tail
  teir_cpu_vector Vector = CPU_VECTOR_NO;
  // If it turns out to have one row, or one column.
  teir_cpu_vector Row = CPU_VECTOR_NO, Column = CPU_VECTOR_NO;
  // Of a small product, if all is known: then the slots hold addresses only.
  std::optional<CpuFixed> Fixed;

  unsigned tensors() const { return TENSORS + (unsigned)Extras.size(); }
  // Of IN0 or IN1; to what follows axes, a limit is one more tensor.
  unsigned firstLimit(int T) const {
    return tensors() + (T == IN1 ? Limits[IN0] : 0);
  }
  unsigned resultLimit() const { return firstLimit(IN1) + Limits[IN1]; }
  unsigned moved() const { return resultLimit() + Partial; }
  // Products of which this is the same have all but their parts in common.
  std::string kind() const;
  // .. of which this is, what is done to sums.
  std::string epilogue() const;
  std::string print() const;
  static bool parse(arena *A, llvm::StringRef Text, CpuWork &W);
};
constexpr const char *NestName = "nputeir.nest."; // what a nest calls
constexpr const char *CpuAttribute = "nputeir-cpu";

// What differs where code that has no vectors is shared, in a table that the
// slot before the axis counts points to.  Functions: what stores sums, what
// packs panels of both inputs, and those of in1 where only it is packed, as
// wide as a kernel or half as wide; what packs runs across panels; what writes
// the start of a panel's sums; kernels of a packed product, by height; those of
// vectors, where there is one row and where there are few columns; what
// multiplies these as rows, without packed panels; what finds the factors of
// isScaled.
// Of vectors: one, by some steps or rows; one step, or several vectors; all
// steps, of a matrix that is near.
enum CpuVectorPart {
  CpuVectorMany,
  CpuVectorOther,
  CpuVectorAll,
  CpuVectorParts
};
enum CpuPart {
  CpuStore,
  CpuPack0,
  CpuPack1,
  CpuTurned,
  CpuNarrow,
  CpuCross,
  CpuStart,
  CpuKernels,
  CpuVector = CpuKernels + TEIR_CPU_HEIGHTS,
  CpuColumn = CpuVector + CpuVectorParts,
  CpuExchanged = CpuColumn + CpuVectorParts,
  CpuScale,
  CpuParts
};
// Numbers behind the functions: rows of the kernels, and of teir's blocks.
enum CpuNumber {
  CpuHeights,
  CpuColumns = CpuHeights + TEIR_CPU_HEIGHTS,
  CpuBlockM,
  CpuBlockN,
  CpuBlockK,
  CpuKeptN,
  CpuSumsM,
  CpuSumsN,
  CpuNumbers
};
// Places in the slots, if so many tensors and limits move.
constexpr int64_t cpuPartsSlot(int64_t Moved) { return Moved + 1; }
constexpr int64_t cpuCountsSlot(int64_t Moved) { return Moved + 2; }
constexpr int64_t cpuAxesSlot(int64_t Moved) { return Moved + 2 + AXIS_ROLES; }

// ---- lower_cpu_calc.cpp ----
// Elements in memory and in registers: halves are computed with as floats.
llvm::Type *storedType(llvm::LLVMContext &X, dtype T);
llvm::Type *computedType(llvm::LLVMContext &X, dtype T);
// All values are scalars, or all are vectors of one length.
llvm::Value *fromStored(Code &C, dtype T, llvm::Value *V);
llvm::Value *toStored(Code &C, dtype T, llvm::Value *V);
llvm::Value *convert(Code &C, dtype From, dtype To, llvm::Value *V);
// Can the epilogue be computed with what follows?
bool canCompute(const calc *X);
llvm::Value *compute(Code &C, const calc *X,
                     llvm::ArrayRef<llvm::Value *> Input);

// ---- lower_cpu_unit.cpp ----
// A function of which a program needs one copy: its name must tell what it is
// in all objects.
llvm::Function *sharedFunction(llvm::Module &M, llvm::FunctionType *T,
                               const std::string &Name);
// What M has under that name and others may call, too.  Link-time optimization
// makes functions M's own, and changes them by what their callers pass: such a
// one gives its name away.
llvm::Function *madeBefore(llvm::Module &M, llvm::StringRef Name);
// The functions for one processor in a module.
class CpuUnit {
  const llvm::Function &Like;
  const teir_cpu &Without;
  bool AddFeatures;
  llvm::Module &M;
  std::string Suffix;
  llvm::AttrBuilder Attributes;

public:
  const teir_cpu &Cpu;
  // Where several processors are meant, of all of them: what has no vectors;
  // of those whose vectors are as long: what multiplies single elements.
  CpuUnit *Common = this, *Elements = this;

  // Like: its target attributes are kept; Features are added.  Without: the row
  // whose code there is beside that in tiles, or the same one.
  CpuUnit(const llvm::Function &Like, const teir_cpu &Cpu,
          const teir_cpu &Without, bool AddFeatures);
  // For what needs no tiles, so that there is one copy of it.
  CpuUnit plain() const { return {Like, Without, Without, AddFeatures}; }
  llvm::LLVMContext &context() { return M.getContext(); }
  llvm::Module &module() { return M; }
  // A function of integers and pointers: 'i' and 'p' in Arguments.  IsNew: it
  // has no code yet.
  llvm::Function *function(const llvm::Twine &Name, llvm::Type *Result,
                           llvm::StringRef Arguments, bool &IsNew);
  llvm::FunctionType *type(llvm::Type *Result, llvm::StringRef Arguments);
  llvm::VectorType *vector(llvm::Type *Element, unsigned Lanes);
  // Runs so seldom that the time in which its code is generated counts more.
  static void compileFast(llvm::Function &F);
};

// teir's formulas as code.
teir_cpu_math cpuMath(Code &C);

// Steps of a kernel, K of them (at least one), some at a time: First is what
// the first one gets, each gives what the next one gets.
Code::Values
unrolled(Code &C, const teir_cpu &Cpu, llvm::Value *K,
         const Code::Values &First,
         llvm::function_ref<Code::Values(llvm::ArrayRef<llvm::Value *>)> Step);

// To + X * Y.
llvm::Value *multiplyAdd(Code &C, const teir_cpu &Cpu, llvm::Value *X,
                         llvm::Value *Y, llvm::Value *To);
// Factors of scaled sums: see lower_cpu_scale.cpp.
enum CpuFactor { CpuAlpha, CpuBeta, CpuFurther, CpuFactors = 2 * CpuFurther };

struct CpuScaling {
  const teir_cpu &Cpu;
  llvm::Value *Factors; // CpuAlpha and CpuBeta, adjacent
};

// Ends a kernel, whose rows' sums these vectors are: multiplyFunction tells its
// arguments.  By: sums, and what they are added to, are multiplied by these
// factors first.
void storeBlock(Code &C, llvm::ArrayRef<llvm::Value *> Sums, int Height,
                const CpuScaling *By = nullptr);

// ---- lower_cpu_kernel.cpp ----
// void (k, in0, in1, out, out_stride_bytes, add, ahead, ahead_bytes):
// out[i][..] = the sum, or +=, of Height rows, over k groups.  in0 is packed by
// the most rows of a block, in1 by its columns, behind what a column's sum
// starts with if there is an offset.  What lies at `ahead`, so many bytes
// further with each group, is needed later; it may lie anywhere.  Tiles get
// in0's strides in the place of both, of rows and of steps, in bytes.
// Scales: by factors, whose address is behind these arguments.
llvm::Function *multiplyFunction(CpuUnit &U, const teir_cpu_dot &D, dtype Sum,
                                 int Height, bool Scales = false);
llvm::FunctionType *multiplyType(CpuUnit &U, const teir_cpu_dot &D,
                                 bool Scales = false);

// ---- lower_cpu_outer.cpp ----
// The code of such a function, by outer products.
void defineOuterKernel(CpuUnit &U, const teir_cpu_dot &D, dtype Sum, int Height,
                       llvm::Function &F);

// ---- lower_cpu_square.cpp ----
// By products of 2 rows and 2 columns.
void defineSquareKernel(CpuUnit &U, const teir_cpu_dot &D, dtype Sum,
                        int Height, llvm::Function &F);

// ---- lower_cpu_tiles.cpp ----
// The code of such a function, by products of tiles.
void defineTileKernel(CpuUnit &U, const teir_cpu_dot &D, dtype Sum, int Height,
                      llvm::Function &F);
// Body calls such functions.
void withTiles(Code &C, llvm::function_ref<void()> Body);

// ---- lower_cpu_dot.cpp ----
// What multiplies such inputs where they are packed.
teir_cpu_dot dotOf(const CpuUnit &U, const CpuWork &W);
// To + X of in0 times Y of in1, which are vectors of packed groups.
llvm::Value *dotAdd(Code &C, const teir_cpu &Cpu, const teir_cpu_dot &D,
                    llvm::Value *X, llvm::Value *Y, llvm::Value *To);
// void (panel, k): the first row of a panel of in1 becomes what its columns'
// sums start with.
llvm::Function *startFunction(CpuUnit &U, const teir_cpu_dot &D);
llvm::FunctionType *startType(CpuUnit &U);

// ---- lower_cpu_pack.cpp ----
struct CpuPanel {
  int Rows;
  dtype From, To;      // elements are converted
  int Group = 1;       // neighbouring columns, packed as one of 32 or 64 bits
  bool Flips = false;  // 128 is added, which is the same as subtracted
  int Limits = 0;      // conditions under which an element is read
  bool Filled = false; // elsewhere it is not zero
  // All that it packs: rows and columns have one run each then.
  CpuLies Lies = CpuLies::Any;

  int bytes() const { return Group * dtype_bytes(To); }
  const char *lies() const { // in names
    return Lies == CpuLies::Rows    ? ".rows"
           : Lies == CpuLies::Steps ? ".steps"
                                    : "";
  }
  const char *fills() const { return Filled ? ".filled" : ""; }
};
// void (to, from, row_offsets, row_runs, column_offsets, column_runs, columns,
//       row_stride, column_stride): a panel, its rows adjacent.  A last group
// is filled up with zero.  The strides are those in all runs; row_stride is 0
// where rows have no runs.  The runs of rows behind the last one are below 1.
// With limits also (row_parts, rows_apart, column_parts, columns_apart,
// starts): an element for which start + row's part + column's part of a limit
// is below zero is zero, or what stands behind these arguments; parts of the
// next limit lie so many bytes apart.
llvm::Function *packFunction(CpuUnit &U, const CpuPanel &P);
llvm::FunctionType *packType(CpuUnit &U, const CpuPanel &P);
const char *packArguments(const CpuPanel &P); // as of CpuUnit::function
// Bytes that a panel's last store may write behind it.
enum { PackSlack = 64 };
// Vector J holds row J of some squares; gives the squares' columns.
llvm::SmallVector<llvm::Value *, 4> transposed(Code &C,
                                               llvm::ArrayRef<llvm::Value *> V);

// ---- lower_cpu_lines.cpp ----
// The same, for in0 of products of tiles; P is what packFunction needs to pack
// groups.
llvm::Function *linesFunction(CpuUnit &U, const CpuPanel &P);

// ---- lower_cpu_cross.cpp ----
// i64 (panels, panel_bytes, from, offsets, runs, count, step_offsets, steps):
// how many columns were packed from the first one on, which may be none; the
// tables are those of the columns from there on, of which count are left.
llvm::Function *crossFunction(CpuUnit &U, const CpuPanel &P);
llvm::FunctionType *crossType(CpuUnit &U);

// ---- lower_cpu_store.cpp ----
// void (sums, sums_stride_bytes, rows, columns, tensors, row_offsets,
//       row_capacity, column_offsets, column_capacity, column_runs,
//       accumulate): the epilogue
llvm::Function *storeFunction(CpuUnit &U, const CpuWork &W);
llvm::FunctionType *storeType(CpuUnit &U);

// ---- lower_cpu_spread.cpp ----
// void (sums, sums_stride_bytes, rows, columns, out, out_column_bytes, add):
// out[j][i] = (or +=) sums[i][j]; rows of the buffer are there up to a multiple
// of four, and whole vectors of the columns.
llvm::Function *spreadFunction(CpuUnit &U, dtype Sum);

// Calls one of a product's parts.
llvm::Value *callPart(Code &C, llvm::Value *Parts, int Part,
                      llvm::FunctionType *T,
                      llvm::ArrayRef<llvm::Value *> Arguments);

// ---- lower_cpu_threads.cpp ----
// i64 (slots, memory): all of a product; gives 0.  Needs: of memory, so many
// bytes as it gives where that is null.
struct CpuCode {
  llvm::Function *Run;
  bool Needs;
};
// i32: 0 when out is written, else nothing was.  On several threads, if the
// runtime has them.
llvm::Value *computeOnThreads(Code &C, CpuUnit &U, const CpuWork &W,
                              const CpuCode &By, llvm::Value *Slots);

// ---- lower_cpu_scale.cpp ----
// Is its epilogue alpha * sum + beta * out, with numbers that are the same for
// all elements, and may each part of a sum be multiplied by alpha?
bool isScaled(const CpuWork &W);
// .. and do kernels of packed products do that?
bool isScaledPacked(CpuUnit &U, const CpuWork &W);
// Of such a one, where what is in memory are further steps' sums, too.
const calc *scaleOf(const CpuWork &W, arena *A);
// i64 (tensors, to): puts these factors, of the type of the sums, for the first
// steps of a product and (CpuFurther) for others; 0 if out is not read.  Null:
// it is not scaled.
llvm::Function *scaleFunction(CpuUnit &U, const CpuWork &W);
llvm::FunctionType *scaleType(CpuUnit &U);

// ---- lower_cpu_direct.cpp, lower_cpu_direct_kernel.cpp ----
// void (k, in0, in0_row, in0_k, in1, in1_k, out, out_row, rows, columns, add):
// out[i][..] = the sum, or +=, of the type of what is multiplied.  Strides are
// in bytes; Height rows and Vectors vectors of columns are multiplied, of which
// there may be fewer.
llvm::Function *directKernel(CpuUnit &U, dtype Sum, int Height, int Vectors,
                             bool Scales);
llvm::FunctionType *directType(CpuUnit &U, bool Scales);
// i32 (slots): 0 when out is written, 1 when the product is no small one.
// IsOld: by few kernels.
llvm::Function *directFunction(CpuUnit &U, const CpuWork &W,
                               llvm::StringRef Name, bool IsOld);
// Those that pack in1's columns where only it is packed: Narrow: half as many.
CpuPanel turnedPanel(CpuUnit &U, const CpuWork &W, bool Narrow);

// ---- lower_cpu_vector.cpp ----
// Its kind, and whether there are near kernels: the same code calls these.
std::string vectorKind(const CpuWork &W);
CpuCode vectorCode(CpuUnit &U, const CpuWork &W);
// ---- lower_cpu_vector_kernel.cpp ----
// A kernel of W.Vector.  Null: it has none.
llvm::Function *vectorKernel(CpuUnit &U, const CpuWork &W, CpuVectorPart Part);
// ---- lower_cpu_thin.cpp ----
// Of a product of matrices: what it is with one row, and with few columns.
CpuWork cpuOneRow(const CpuWork &W);
CpuWork cpuFewColumns(const CpuWork &W);
// Of those whose in0 lies along the rows: a product of few rows.
CpuWork cpuExchanged(const CpuWork &W);
// Have both the same code, as kernels do not tell the inputs from each other?
bool cpuIsUniform(const CpuWork &W);

// ---- lower_cpu_thin.cpp ----
// i32 (slots): 0 when out is written, 1 when the product has too many rows and
// columns, or strides that code for a vector cannot have.
llvm::Function *thinFunction(CpuUnit &U, const CpuWork &W);
// The vectors, the axes of their number and of the rows they are multiplied by,
// and the stride of their elements, in bytes, with which none must be gathered.
struct CpuThinStride {
  int Tensor;
  axis_role Vectors, Rows;
  int Bytes;     // 0: any one
  int MostBytes; // of a step of all vectors that are gathered
};
CpuThinStride cpuRowStride(const CpuWork &W);
CpuThinStride cpuColumnStride(const CpuWork &W);

// ---- lower_cpu_offsets.cpp ----
// void (axes, count, start, n, capacity, table, runs): offsets of elements
// start .. of a role in all tensors, the last one repeated up to the capacity.
llvm::Function *offsetsFunction(CpuUnit &U, const CpuWork &W);
// Do packers ask where each step lies?  If not, they have the first one and the
// stride.
bool tablesSteps(CpuUnit &U, const CpuWork &W);

// ---- lower_cpu_driver.cpp ----
// One for all processors that pack alike.
CpuCode driverCode(CpuUnit &U, const CpuWork &W);
// What it has in the table: kernels by the number of their height, and numbers.
// May it pack runs across panels?
llvm::Function *driverKernel(CpuUnit &U, const CpuWork &W, int Height);
llvm::SmallVector<int64_t, CpuNumbers> driverNumbers(CpuUnit &U,
                                                     const CpuWork &W);
bool driverCrosses(CpuUnit &U, const CpuWork &W);
// A panel of an input.
CpuPanel driverPanel(CpuUnit &U, const CpuWork &W, int T);

// ---- lower_cpu_define.cpp ----
// Functions of checks and of rows get their code; false: there is none.
bool defineChecks(llvm::Module &M);
// All declarations of a module get their code.
struct DefineCpuPass : llvm::PassInfoMixin<DefineCpuPass> {
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &);
};

// ---- lower_cpu.cpp ----
void defineCpu(llvm::Function &F, const CpuWork &W);
// A processor in the table has the target of F.
bool hasCpu(const llvm::Function &F);
// By what code and loops are compared: code is that of the processor that F is
// compiled for; where several are meant, of all but the weakest one, whose
// vectors the loops have.
struct CpuPrices {
  const teir_cpu *Code;
  int LoopBytes; // of vectors that compilers make of loops
  bool AreOld;   // loops have SSE2 alone
};
CpuPrices pricedCpus(const llvm::Function &F);
// The row of what a function's nests are computed by; `Others`: or others of
// the architecture.
const teir_cpu *meantCpu(const llvm::Function &F, bool &Others);

// What is passed to the code.
struct CpuOperands {
  llvm::SmallVector<llvm::Value *, 8> Tensor; // in0, in1, out, extras
  std::function<llvm::Value *(value)> Number;
};

// ---- lower_cpu_price.cpp ----
// Asked at the end of the builder's block.  Is there work enough: LeastMacs
// multiply-adds, or, where that is below zero, as many as may make the code
// faster?
llvm::Value *cpuIsWork(const llvm::IRBuilder<> &At, const contraction &C,
                       const CpuOperands &X, int64_t LeastMacs);
// Is the code faster than the loops?  Surely: so much that few numbers tell;
// null: no sizes are known for which it is.
llvm::Value *cpuSurelyPays(const llvm::IRBuilder<> &At, const contraction &C,
                           const CpuOperands &X);
llvm::Value *cpuPays(const llvm::IRBuilder<> &At, const contraction &C,
                     const CpuOperands &X);
// What is known of the tensors: nothing; that they are apart; that they are
// arrays which only the function has.
enum class CpuPlaces { Any, Apart, Own };
// Sizes are known, and neither may hold.
bool cpuNeverPays(const llvm::Function &F, const contraction &C,
                  int64_t LeastMacs, CpuPlaces Places);
// Loops may keep all sums in registers.
bool cpuFitsRegisters(const llvm::Function &F, const contraction &C);
// Multiply-adds from which code for a vector is as fast as loops that the
// source has several of in a row; fitted to four rows, and four columns, of 4
// to 64.
constexpr int64_t CpuLeastWrittenOut = 1024;
// A matrix is multiplied by a vector.
bool cpuIsOfVector(const contraction &C);
// Sums that other code reads from an array are so short that compilers write
// them out where they are used.
bool cpuSumsNeverPay(const llvm::Function &F, const contraction &C);

// ---- lower_cpu_call.cpp ----
// False and *Why when there is no code for the contraction.
bool cpuTakes(const contraction &C, const char **Why);
// Of a function that gives 0 where the work is done, for the target of another.
llvm::Function *cpuDeclare(const llvm::Function &Like, llvm::StringRef Prefix,
                           llvm::StringRef Attribute, const std::string &Text,
                           llvm::ArrayRef<llvm::Type *> Arguments);
// The declaration of the code.  Fills (of C's inputs) and Aside as in CpuWork.
llvm::Function *cpuFunction(const llvm::Function &Like, const contraction &C,
                            const int (&Fills)[2] = {-1, -1},
                            bool Aside = false);
// What the code gets.
struct CpuSlots {
  llvm::Value *Place;
  llvm::SmallVector<llvm::Value *, 64> Axes; // of all roles
  unsigned Record;                           // numbers of an axis
  llvm::Value *AxesPlace;                    // null: all are constants
  bool Exchanged;                            // in1 stands before in0
  // The place of a tensor's stride in an axis.
  unsigned strideOf(unsigned T) const {
    return 1 + (Exchanged && T <= IN1 ? IN0 + IN1 - T : T);
  }
};
CpuSlots cpuFillSlots(llvm::IRBuilder<> &B, const contraction &C,
                      const CpuOperands &X);

// ---- lower_cpu_overlap.cpp ----
// What is read, and not known to be another object than out: a bit per tensor.
unsigned cpuMayOverlap(const contraction &C, const CpuOperands &X);
// May the code run: are the result and these tensors apart in memory?
class CpuOverlap {
  const contraction &C;
  struct Read {
    unsigned Tensor;
    llvm::Value *IsApart, *Distance; // in bytes, from the result
  };
  llvm::SmallVector<Read, 4> Reads;

public:
  CpuOverlap(llvm::IRBuilder<> &B, const contraction &C, const CpuOperands &X,
             unsigned Tensors);
  llvm::Value *isApart(llvm::IRBuilder<> &B) const;
  // Where ranges overlap: does the result lie beside what is read in the same
  // array?  That needs a function, which is declared; it has its code where
  // cpuFunction's have it.
  llvm::Value *isBeside(llvm::IRBuilder<> &B, const CpuSlots &Slots) const;
};
constexpr const char *BesideName = "nputeir.beside";
void defineBeside(llvm::Function &F);

// ---- lower_cpu_maps.cpp ----
// Is something made of elements before they are multiplied, and is there code
// for that?
bool cpuHasMaps(const contraction &C);
bool cpuTakesMaps(const contraction &C);

// ---- lower_cpu_sums.cpp ----
// Of a contraction with maps, at the end of B's block: the status.
llvm::Value *cpuComputeMapped(arena *A, Code &B, const contraction &C,
                              const CpuOperands &X, const llvm::Function &Like,
                              unsigned Overlaps);

// ---- lower_cpu_nest.cpp ----
// A function that asks whether the code may do a nest, and calls it.
struct CpuNestCode {
  llvm::Function *Code;
  llvm::SmallVector<int, 8> Symbols; // of the contraction, that it gets
};
// Priced: it asks, too, whether the code is faster than the loops.
CpuNestCode cpuNest(const llvm::Function &Like, const contraction &C,
                    const CpuOperands &X, bool Priced);
// The call; true when the result is there.
llvm::Value *cpuCall(llvm::IRBuilder<> &B, const CpuNestCode &N,
                     const CpuOperands &X);
// Such a declaration gets its code; false: it is not ours.
bool cpuIsNest(const llvm::Function &F);
bool cpuDefineNest(llvm::Function &F);

} // namespace nputeir

#endif
