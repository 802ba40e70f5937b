// lower_cpu_tiles.cpp -- the block of registers where the processor multiplies
// tiles (x86's AMX): two by two tiles of sums, of 16 rows by 16 columns each,
// or one by two.  A step takes 64 bytes of K: a tile of in0 is 16 rows of them,
// a tile of in1 has them along its rows, a group of 32 bits of each column.
//
// Tiles are named by their numbers, in LLVM's intrinsics for that.  The others,
// on values of a type of their own, leave numbers and configuration to passes
// of the code generator, which put a configuration of theirs into each function
// (around each kernel, that is), and which are different ones without
// optimisation; what is emitted late, as this is, must not depend on them.
// Here the driver configures all eight tiles once, and its kernels, which are
// not inlined, rely on that.  It leaves the configuration as it was: by the
// calling convention tiles are lost in a call, and a program that uses them
// itself need not expect that its configuration is.
#include "lower_cpu.h"

#include "llvm/IR/IntrinsicsX86.h"

using namespace llvm;

namespace nputeir {

namespace {

constexpr int TileRows = TEIR_CPU_TILE_ROWS, TileBytes = TEIR_CPU_TILE_BYTES;

class TileKernel {
  const teir_cpu_dot &D;
  int Rows, Columns; // in tiles
  Code C;
  Value *Out, *Stride;

  // The tiles: sums by row and column, then in0's and in1's.
  int sum(int I, int J) { return I * Columns + J; }
  int in0(int I) { return 4 + I; }
  int in1(int J) { return 6 + J; }

public:
  TileKernel(CpuUnit &U, const teir_cpu_dot &D, dtype Sum, int Height,
             Function &F)
      : D(D), Rows(Height / TileRows), C(F), Out(C.argument(3)),
        Stride(C.argument(4)) {
    struct teir_cpu_blocks Blocks = teir_cpu_blocks(&U.Cpu, Sum);
    Columns = Blocks.vectors;
    assert(Height % TileRows == 0 && Rows <= 2 && Columns == 2);
    assert(Blocks.columns * 4 == Columns * TileBytes);
  }

  void emit() {
    C.when(
        C.CreateICmpNE(C.argument(5), C.number(0)),
        [&] { each(Intrinsic::x86_tileloadd64); },
        [&] {
          for (int T = 0; T < Rows * Columns; T++)
            call(Intrinsic::x86_tilezero, {C.getInt8((uint8_t)T)});
        });
    C.carry(
        C.number(0), C.argument(0), C.number(1), {C.argument(1), C.argument(2)},
        [&](Value *, ArrayRef<Value *> Now) { return step(Now[0], Now[1]); });
    each(Intrinsic::x86_tilestored64);
    C.CreateRetVoid();
  }

private:
  void call(Intrinsic::ID Id, ArrayRef<Value *> Operands) {
    C.CreateIntrinsic(Id, {}, Operands);
  }

  void move(Intrinsic::ID Id, int Tile, Value *Place, Value *Apart) {
    call(Id, {C.getInt8((uint8_t)Tile), Place, Apart});
  }

  // The sums, and where they lie in the result.
  void each(Intrinsic::ID Id) {
    for (int I = 0; I < Rows; I++)
      for (int J = 0; J < Columns; J++)
        move(Id, sum(I, J),
             C.at(C.at(Out, C.times(Stride, I * TileRows)), J * TileBytes),
             Stride);
  }

  Intrinsic::ID product() {
    switch (D.op) {
    case CPU_OP_TDPBF16PS:
      return Intrinsic::x86_tdpbf16ps;
    case CPU_OP_TDPBSSD:
      return Intrinsic::x86_tdpbssd;
    case CPU_OP_TDPBSUD:
      return Intrinsic::x86_tdpbsud;
    case CPU_OP_TDPBUSD:
      return Intrinsic::x86_tdpbusd;
    case CPU_OP_TDPBUUD:
      return Intrinsic::x86_tdpbuud;
    default:
      llvm_unreachable("no product of tiles");
    }
  }

  void multiply(int I, int J) {
    call(product(), {C.getInt8((uint8_t)sum(I, J)), C.getInt8((uint8_t)in0(I)),
                     C.getInt8((uint8_t)in1(J))});
  }

  // Each tile is loaded just before it is used.
  Code::Values step(Value *In0, Value *In1) {
    Value *In0Row = C.argument(6), *In1Row = C.number(Columns * TileBytes);
    for (int I = 0; I < Rows; I++)
      for (int J = 0; J < Columns; J++) {
        if (I == 0)
          move(Intrinsic::x86_tileloadd64, in1(J), C.at(In1, J * TileBytes),
               In1Row);
        if (J == 0)
          move(Intrinsic::x86_tileloadd64, in0(I),
               C.at(In0, C.times(In0Row, I * TileRows)), In0Row);
        multiply(I, J);
      }
    return {C.at(In0, C.argument(7)),
            C.at(In1, Columns * TileRows * TileBytes)};
  }
};

} // namespace

void defineTileKernel(CpuUnit &U, const teir_cpu_dot &D, dtype Sum, int Height,
                      Function &F) {
  TileKernel(U, D, Sum, Height, F).emit();
}

void withTiles(Code &C, function_ref<void()> Body) {
  enum { ConfigBytes = 64, Palette = 0, RowBytes = 16, RowCounts = 48 };
  Value *Before = C.frame(C.getInt8Ty(), ConfigBytes, ConfigBytes);
  Value *Config = C.frame(C.getInt8Ty(), ConfigBytes, ConfigBytes);
  C.CreateIntrinsic(Intrinsic::x86_sttilecfg, {}, {Before});
  C.CreateMemSet(Config, C.getInt8(0), ConfigBytes, Align(ConfigBytes));
  C.put(C.getInt8(1), C.at(Config, Palette));
  for (int T = 0; T < TEIR_CPU_TILES; T++) {
    C.put(C.getInt16(TileBytes), C.at(Config, RowBytes + 2 * T));
    C.put(C.getInt8(TileRows), C.at(Config, RowCounts + T));
  }
  C.CreateIntrinsic(Intrinsic::x86_ldtilecfg, {}, {Config});
  Body();
  C.CreateIntrinsic(Intrinsic::x86_ldtilecfg, {}, {Before}); // none: releases
}

} // namespace nputeir
