// lower_cpu_nest.cpp -- what stands between a nest and the code for the
// processor: a function that asks whether the code is faster than the loops and
// whether its result is apart from what it reads, and calls it.
//
// It gets the tensors' addresses and behind them the numbers that are known at
// run time only.  Until the end of the pipeline it is a weak declaration whose
// attribute describes the rest: the compiler's passes see a call in front of
// the nest and nothing else, and nests of one shape share it.
#include "arena_scope.h"
#include "lower_cpu_form.h"

#include "llvm/IR/Module.h"

using namespace llvm;

namespace nputeir {
namespace {

constexpr const char *NestAttribute = "nputeir-nest";

// A contraction whose symbols are numbered as arguments follow the addresses.
struct CpuNest {
  contraction C = {};
  bool Priced = false;   // are the loops the faster code?
  unsigned Overlaps = 0; // a bit for each tensor that out may overlap
};

// ---- the description ----

class Printer {
  const contraction &C;
  SmallVectorImpl<int> &Symbols; // in the order of their first use
  struct text T = {};

public:
  Printer(const contraction &C, SmallVectorImpl<int> &Symbols)
      : C(C), Symbols(Symbols) {}
  ~Printer() { text_free(&T); }

  std::string print(bool Priced, unsigned Overlaps) {
    text_printf(&T, "%d %u", Priced, Overlaps);
    for (dtype Type : C.type)
      text_printf(&T, " %s", dtype_name(Type));
    text_printf(&T, " %s %d %d %d %d", dtype_name(C.acc), C.accumulate,
                (int)extras().size(), C.axis_count, C.limit_count);
    for (const contraction_extra &E : extras())
      text_printf(&T, " %s %d", dtype_name(E.type), E.tensor >= 0);
    for (int I = 0; I < C.axis_count; I++) {
      text_printf(&T, " %d", (int)C.axis[I].role);
      put(C.axis[I].extent);
      for (unsigned M = 0; M < tensorsOf(C); M++)
        put(strideOf(C, I, M));
    }
    for (int L = 0; L < C.limit_count; L++) {
      text_printf(&T, " %d", C.limit[L].below);
      put(C.limit[L].start);
      for (int I = 0; I < C.axis_count; I++)
        put(C.limit[L].step[I]);
    }
    text_printf(&T, " %d", !!C.map[IN0] | !!C.map[IN1] << 1);
    SmallVector<std::string, 8> Names = {"sum", "out"};
    for (size_t I = 0; I < extras().size(); I++)
      Names.push_back("x" + std::to_string(I));
    if (C.tail)
      put(C.tail, Names);
    Names.erase(Names.begin());
    Names[MAP_ELEMENT] = "e";
    for (const calc *Map : C.map)
      if (Map)
        put(Map, Names);
    return text_string(&T);
  }

private:
  ArrayRef<contraction_extra> extras() const {
    return {C.extra, tensorsOf(C) - TENSORS};
  }

  // 0 and a constant, or 1 and the number of an argument.
  void put(value V) {
    if (V.symbol < 0) {
      text_printf(&T, " 0 %lld", (long long)V.constant);
      return;
    }
    size_t At = find(Symbols, V.symbol) - Symbols.begin();
    if (At == Symbols.size())
      Symbols.push_back(V.symbol);
    text_printf(&T, " 1 %zu", At);
  }

  void put(const calc *X, ArrayRef<std::string> Names) {
    SmallVector<const char *, 8> Name;
    for (const std::string &N : Names)
      Name.push_back(N.c_str());
    text_puts(&T, " ");
    calc_print(X, Name.data(), &T);
  }
};

class Parser {
  arena *A;
  scan S;
  bool Good = true;

public:
  Parser(arena *A, StringRef Text)
      : A(A), S(scan_open("", arena_string(A, Text.str().c_str()))) {}

  bool parse(CpuNest &N) {
    contraction &C = N.C;
    N.Priced = number(1);
    N.Overlaps = (unsigned)number(INT32_MAX);
    for (dtype &Type : C.type)
      Type = type();
    C.acc = type();
    C.accumulate = number(1);
    C.extra_count = (int)number(CALC_INPUTS - TAIL_EXTRA);
    C.axis_count = (int)number(AxesMax);
    C.limit_count = (int)number(AxesMax);
    C.extra = array<contraction_extra>(C.extra_count);
    C.axis = array<contraction_axis>(C.axis_count);
    C.limit = array<affine_guard>(C.limit_count);
    for (int E = 0; E < C.extra_count; E++) {
      C.extra[E].type = type();
      C.extra[E].tensor = number(1) ? 0 : -1;
      C.extra[E].stride_bytes = array<value>(C.axis_count);
    }
    for (int I = 0; I < C.axis_count; I++) {
      C.axis[I].role = (axis_role)number(AXIS_ROLES - 1);
      C.axis[I].extent = get();
      for (value &Stride : C.axis[I].stride_bytes)
        Stride = get();
      for (int E = 0; E < C.extra_count; E++)
        C.extra[E].stride_bytes[I] = get();
    }
    for (int L = 0; L < C.limit_count; L++) {
      C.limit[L].below = number(1);
      C.limit[L].start = get();
      C.limit[L].step = array<value>(C.axis_count);
      for (int I = 0; I < C.axis_count; I++)
        C.limit[L].step[I] = get();
    }
    int64_t Maps = number(3);
    if (Good && !scan_end_of_line(&S))
      C.tail = get(C, {{"sum", C.acc}, {"out", C.type[OUT]}});
    for (int I : {IN0, IN1})
      if (Maps >> I & 1)
        C.map[I] = get(C, {{"e", C.type[I]}});
    return Good;
  }

private:
  enum { AxesMax = 64 };

  template <class T> T *array(int Count) {
    return new (arena_alloc(A, (size_t)(Count + 1) * sizeof(T))) T[Count + 1]();
  }

  int64_t number(int64_t Most) {
    int64_t N = 0;
    Good = Good && scan_int(&S, &N) && N >= 0 && N <= Most;
    return Good ? N : 0;
  }

  dtype type() {
    dtype T = DTYPE_F32;
    const char *Name = Good ? scan_name(&S, A) : nullptr;
    Good = Name && dtype_parse(Name, &T);
    return T;
  }

  value get() {
    if (number(1))
      return {0, (int)number(INT32_MAX)};
    value V = {0, -1};
    Good = Good && scan_int(&S, &V.constant);
    return V;
  }

  // Of such inputs, and behind them the extras.
  const calc *get(const contraction &C,
                  SmallVector<std::pair<const char *, dtype>, CALC_INPUTS> Of) {
    for (int E = 0; E < C.extra_count; E++)
      Of.push_back({arena_printf(A, "x%d", E), C.extra[E].type});
    SmallVector<const char *, CALC_INPUTS> Name;
    SmallVector<dtype, CALC_INPUTS> Type;
    for (auto [N, T] : Of) {
      Name.push_back(N);
      Type.push_back(T);
    }
    diag D = {};
    const calc *X =
        Good ? calc_parse(A, &S, Name.data(), Type.data(), (int)Of.size(), &D)
             : nullptr;
    Good = X != nullptr;
    return X;
  }
};

// ---- the function ----

class NestCode {
  arena *A;
  const CpuNest &N;
  Code B;
  CpuOperands X;

public:
  NestCode(arena *A, Function &F, const CpuNest &N) : A(A), N(N), B(F) {
    unsigned Tensors = tensorsOf(N.C);
    for (unsigned T = 0; T < Tensors; T++)
      X.Tensor.push_back(B.argument(T));
    X.Number = [this, Tensors](value V) -> Value * {
      return V.symbol < 0 ? B.number(V.constant)
                          : B.argument(Tensors + (unsigned)V.symbol);
    };
  }

  void emit(const Function &Like) {
    if (N.Priced)
      askPrice();
    if (cpuHasMaps(N.C)) {
      B.CreateRet(cpuComputeMapped(A, B, N.C, X, Like, N.Overlaps));
      return;
    }
    CpuSlots Slots = cpuFillSlots(B, N.C, X);
    if (N.Overlaps) {
      CpuOverlap Overlap(B, N.C, X, N.Overlaps);
      B.when(B.CreateNot(Overlap.isApart(B)),
             [&] { require(Overlap.isBeside(B, Slots)); });
    }
    B.CreateRet(B.CreateCall(cpuFunction(Like, N.C), {Slots.Place}));
  }

private:
  void askPrice() {
    auto Ask = [&] { require(cpuPays(B, N.C, X)); };
    if (Value *Surely = cpuSurelyPays(B, N.C, X))
      B.when(B.CreateNot(Surely), Ask);
    else
      Ask();
  }

  // Else the loops run.
  void require(Value *Holds) {
    B.when(B.CreateNot(Holds), [&] { B.CreateRet(B.getInt32(1)); });
  }
};

} // namespace

// ---- the call ----

CpuNestCode cpuNest(const Function &Like, const contraction &C,
                    const CpuOperands &X, bool Priced) {
  CpuNestCode N;
  std::string Text = Printer(C, N.Symbols).print(Priced, cpuMayOverlap(C, X));
  LLVMContext &Context = Like.getContext();
  SmallVector<Type *, 16> Arguments(X.Tensor.size(), bytePointer(Context));
  Arguments.append(N.Symbols.size(), Type::getInt64Ty(Context));
  N.Code = cpuDeclare(Like, NestName, NestAttribute, Text, Arguments);
  return N;
}

Value *cpuCall(IRBuilder<> &B, const CpuNestCode &N, const CpuOperands &X) {
  SmallVector<Value *, 16> Values(X.Tensor.begin(), X.Tensor.end());
  for (int Symbol : N.Symbols)
    Values.push_back(X.Number({0, Symbol}));
  Value *Status = B.CreateCall(N.Code, Values, "nputeir.computed");
  return B.CreateICmpEQ(Status, B.getInt32(0));
}

bool cpuIsNest(const Function &F) { return F.hasFnAttribute(NestAttribute); }

bool cpuDefineNest(Function &F) {
  ArenaScope Scope;
  CpuNest N;
  if (!Parser(Scope.A, F.getFnAttribute(NestAttribute).getValueAsString())
           .parse(N))
    return false; // not ours: it stays null, and the loops run
  F.removeFnAttr(NestAttribute);
  F.addFnAttr(Attribute::NoInline);
  CpuUnit::compileFast(F);
  NestCode(Scope.A, F, N).emit(F);
  return true;
}

} // namespace nputeir
