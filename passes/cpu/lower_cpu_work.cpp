// lower_cpu_work.cpp -- what a product computes, as the text that its
// declaration carries, and as a name for what products alike share.
#include "lower_cpu.h"

using namespace llvm;

namespace nputeir {

static const char *const MovesLetter = "nsvo"; // in the order of CpuExtra
static const char *const LiesLetter = "ars";   // of CpuLies

static void putExtras(const CpuWork &W, text *T) {
  SmallVector<std::string, 8> Names = {"sum", "out"};
  for (const CpuWork::Extra &X : W.Extras) {
    text_printf(T, " %s %c", dtype_name(X.Type), MovesLetter[(int)X.Moves]);
    Names.push_back("x" + std::to_string(Names.size() - TAIL_EXTRA));
  }
  SmallVector<const char *, 8> Name;
  for (const std::string &N : Names)
    Name.push_back(N.c_str());
  if (W.Tail) {
    text_puts(T, " ");
    calc_print(W.Tail, Name.data(), T);
  }
}

std::string CpuWork::print() const {
  struct text T = {};
  int Ways = Packed | Direct << 1 | Turned << 2 | (int)Vector << 3 |
             Fixed.has_value() << 5 | Plain << 6 | (int)Row << 7 |
             (int)Column << 9 | Aside << 11 | Finite << 12 | Partial << 13;
  text_printf(&T, "%s %s %s %s %d", dtype_name(In[0]), dtype_name(In[1]),
              dtype_name(Out), dtype_name(Sum), Ways);
  for (int64_t CpuFixed::*X : CpuFixed::Each)
    if (Fixed)
      text_printf(&T, " %lld", (long long)((*Fixed).*X));
  text_printf(&T, " %u %u %d %d %c %c %d", Limits[IN0], Limits[IN1],
              Fills[IN0] + 1, Fills[IN1] + 1, LiesLetter[(int)Lies[IN0]],
              LiesLetter[(int)Lies[IN1]], (int)Extras.size());
  putExtras(*this, &T);
  std::string S = text_string(&T);
  text_free(&T);
  return S;
}

std::string CpuWork::epilogue() const {
  if (!Tail)
    return (dtype_name(Out) + Twine(".") + Twine(moved())).str();
  struct text T = {};
  text_printf(&T, "%s %s %d", dtype_name(Out), dtype_name(Sum), Finite);
  putExtras(*this, &T);
  std::string S = std::to_string(stableHash(text_string(&T)));
  text_free(&T);
  return S;
}

std::string CpuWork::kind() const {
  struct text T = {};
  text_printf(&T, "%u.%s.%s.%s.%s.%u.%u%s%s%s", moved(), dtype_name(In[0]),
              dtype_name(In[1]), dtype_name(Sum), dtype_name(Out), Limits[IN0],
              Limits[IN1], Tail ? ".kept" : "", Plain ? "" : ".many",
              Partial ? ".partial" : "");
  for (int I : {IN0, IN1})
    if (Fills[I] >= 0)
      text_printf(&T, ".fill%d.%d", I, Fills[I]);
  std::string S = text_string(&T);
  text_free(&T);
  return S;
}

static bool readType(arena *A, scan *S, dtype &T) {
  const char *Name = scan_name(S, A);
  return Name && dtype_parse(Name, &T);
}

static bool readFixed(scan *S, bool Is, std::optional<CpuFixed> &X) {
  if (!Is)
    return true;
  X = CpuFixed();
  for (int64_t CpuFixed::*Number : CpuFixed::Each)
    if (!scan_int(S, &((*X).*Number)))
      return false;
  return X->M > 0 && X->N > 0 && X->K > 0;
}

// Of in0 and in1, as they are printed.
static bool readPair(scan *S, int64_t Most, int64_t (&Pair)[2]) {
  for (int64_t &N : Pair)
    if (!scan_int(S, &N) || N < 0 || N > Most)
      return false;
  return true;
}

static bool readLies(arena *A, scan *S, CpuLies (&Lies)[2]) {
  for (CpuLies &L : Lies) {
    const char *Name = scan_name(S, A);
    const char *Letter = Name ? strchr(LiesLetter, *Name) : nullptr;
    if (!Letter || !*Letter)
      return false;
    L = (CpuLies)(Letter - LiesLetter);
  }
  return true;
}

bool CpuWork::parse(arena *A, StringRef Text, CpuWork &W) {
  diag D = {};
  std::string Copy = Text.str();
  scan S = scan_open("", arena_string(A, Copy.c_str()));
  enum { LimitsMax = 64 };
  int64_t Ways, Count, Limits[2], Fills[2];
  if (!readType(A, &S, W.In[0]) || !readType(A, &S, W.In[1]) ||
      !readType(A, &S, W.Out) || !readType(A, &S, W.Sum) ||
      !scan_int(&S, &Ways) || Ways < 0 || Ways >= 16384 ||
      !readFixed(&S, Ways & 32, W.Fixed) || !readPair(&S, LimitsMax, Limits) ||
      !readPair(&S, CALC_INPUTS, Fills) || !readLies(A, &S, W.Lies) ||
      !scan_int(&S, &Count) || Count < std::max(Fills[IN0], Fills[IN1]) ||
      Count > CALC_INPUTS - TAIL_EXTRA)
    return false;
  for (int T : {IN0, IN1}) {
    W.Limits[T] = (unsigned)Limits[T];
    W.Fills[T] = (int)Fills[T] - 1;
  }
  W.Packed = Ways & 1;
  W.Direct = Ways & 2;
  W.Turned = Ways & 4;
  W.Plain = Ways & 64;
  W.Vector = (teir_cpu_vector)(Ways >> 3 & 3);
  W.Row = (teir_cpu_vector)(Ways >> 7 & 3);
  W.Column = (teir_cpu_vector)(Ways >> 9 & 3);
  W.Aside = Ways & 2048;
  W.Finite = Ways & 4096;
  W.Partial = Ways & 8192;
  const char *Name[CALC_INPUTS] = {"sum", "out"};
  dtype Type[CALC_INPUTS] = {W.Sum, W.Out};
  for (int I = 0; I < (int)Count; I++) {
    Extra X;
    const char *Moves = nullptr;
    if (!readType(A, &S, X.Type) || !(Moves = scan_name(&S, A)) ||
        !strchr(MovesLetter, *Moves))
      return false;
    X.Moves = (CpuExtra)(strchr(MovesLetter, *Moves) - MovesLetter);
    W.Extras.push_back(X);
    Name[TAIL_EXTRA + I] = arena_printf(A, "x%d", I);
    Type[TAIL_EXTRA + I] = X.Type;
  }
  if (scan_end_of_line(&S))
    return Count == 0;
  W.Tail = calc_parse(A, &S, Name, Type, TAIL_EXTRA + (int)Count, &D);
  return W.Tail != nullptr;
}

} // namespace nputeir
