// lower_cpu_work.cpp -- what a product computes, as the text that its
// declaration carries, and as a name for what products alike share.
#include "lower_cpu.h"

using namespace llvm;

namespace nputeir {

static const char *const MovesLetter = "nsvo"; // in the order of CpuExtra
static const char *const LiesLetter = "ars";   // of CpuLies

std::string CpuWork::print() const {
  struct text T = {};
  int Ways = Packed | Direct << 1 | Turned << 2 | (int)Vector << 3 |
             Fixed.has_value() << 5 | Plain << 6 | (int)Row << 7 |
             (int)Column << 9;
  text_printf(&T, "%s %s %s %s %d", dtype_name(In[0]), dtype_name(In[1]),
              dtype_name(Out), dtype_name(Sum), Ways);
  for (int64_t CpuFixed::*X : CpuFixed::Each)
    if (Fixed)
      text_printf(&T, " %lld", (long long)((*Fixed).*X));
  text_printf(&T, " %u %u %c %c %d", Limits[IN0], Limits[IN1],
              LiesLetter[(int)Lies[IN0]], LiesLetter[(int)Lies[IN1]],
              (int)Extras.size());
  SmallVector<std::string, 8> Names = {"sum", "out"};
  for (const Extra &X : Extras) {
    text_printf(&T, " %s %c", dtype_name(X.Type), MovesLetter[(int)X.Moves]);
    Names.push_back("x" + std::to_string(Names.size() - TAIL_EXTRA));
  }
  SmallVector<const char *, 8> Name;
  for (const std::string &N : Names)
    Name.push_back(N.c_str());
  if (Tail) {
    text_puts(&T, " ");
    calc_print(Tail, Name.data(), &T);
  }
  std::string S = text_string(&T);
  text_free(&T);
  return S;
}

std::string CpuWork::kind() const {
  struct text T = {};
  text_printf(&T, "%u.%s.%s.%s.%s.%u.%u%s%s", moved(), dtype_name(In[0]),
              dtype_name(In[1]), dtype_name(Sum), dtype_name(Out), Limits[IN0],
              Limits[IN1], Tail ? ".kept" : "", Plain ? "" : ".many");
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

static bool readLimits(scan *S, unsigned (&Limits)[2]) {
  enum { LimitsMax = 64 };
  for (unsigned &L : Limits) {
    int64_t N;
    if (!scan_int(S, &N) || N < 0 || N > LimitsMax)
      return false;
    L = (unsigned)N;
  }
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
  int64_t Ways, Count;
  if (!readType(A, &S, W.In[0]) || !readType(A, &S, W.In[1]) ||
      !readType(A, &S, W.Out) || !readType(A, &S, W.Sum) ||
      !scan_int(&S, &Ways) || Ways < 0 || Ways >= 2048 ||
      !readFixed(&S, Ways & 32, W.Fixed) || !readLimits(&S, W.Limits) ||
      !readLies(A, &S, W.Lies) || !scan_int(&S, &Count) || Count < 0 ||
      Count > CALC_INPUTS - TAIL_EXTRA)
    return false;
  W.Packed = Ways & 1;
  W.Direct = Ways & 2;
  W.Turned = Ways & 4;
  W.Plain = Ways & 64;
  W.Vector = (teir_cpu_vector)(Ways >> 3 & 3);
  W.Row = (teir_cpu_vector)(Ways >> 7 & 3);
  W.Column = (teir_cpu_vector)(Ways >> 9 & 3);
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
