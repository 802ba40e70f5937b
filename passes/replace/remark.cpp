// remark.cpp -- a finding becomes an optimisation remark, a line of the report
// file, or text for people.  The rule's name is the remark's name, so that
// filters and tests need not read prose.
#include "remark.h"
#include "rewrite.h"

#include "ir_marks.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <system_error>

using namespace llvm;

namespace nputeir {

static constexpr const char *PassName = "nputeir";

// A place in another file, such as a header, is named with it.
static bool isElsewhere(const DebugLoc &Of, const loc &At) {
  return At.line > 0 && At.file && Of &&
         cast<DIScope>(Of.getScope())->getFilename() != At.file;
}

static void addPlace(DiagnosticInfoOptimizationBase &R, const DebugLoc &Of,
                     const loc &At) {
  if (At.line <= 0)
    return;
  if (isElsewhere(Of, At))
    R << " (" << ore::NV("File", StringRef(At.file)) << ":";
  else
    R << " (line ";
  R << ore::NV("Line", At.line) << ")";
}

static void explain(OptimizationRemarkEmitter &ORE, const BasicBlock *Region,
                    const Finding &N) {
  if (N.V.rule == RULE_TAKEN)
    ORE.emit([&] {
      return OptimizationRemarkAnalysis(PassName, "Contraction", N.At, Region)
             << "the nest as a contraction:\n"
             << ore::NV("Contraction", N.Contraction);
    });
  if (N.V.macs > 0)
    ORE.emit([&] {
      OptimizationRemarkAnalysis R(PassName, "Cost", N.At, Region);
      R << ore::NV("MACs", N.V.macs) << " multiply-accumulates on "
        << ore::NV("Bytes", N.V.bytes) << " bytes";
      if (N.MinMacs >= 0)
        R << ", min-macs is " << ore::NV("MinMACs", N.MinMacs);
      return R;
    });
  if (N.Around.diag.kind != DIAG_NONE)
    ORE.emit([&] {
      OptimizationRemarkAnalysis R(PassName, "LoopAround", N.At, Region);
      R << "the loop around is no part of the nest ["
        << ore::NV("Rule", rule_name(N.Around.rule))
        << "]: " << ore::NV("Reason", N.Around.diag.text);
      addPlace(R, N.At, N.Around.diag.at);
      return R;
    });
}

// As where the NPU multiplies no floats, and the loops are faster, too.
static bool hasOwnReason(const verdict &OnCpu, const verdict &V) {
  return OnCpu.diag.kind != DIAG_NONE && OnCpu.rule != V.rule;
}

void remark(Function &F, const Finding &N) {
  OptimizationRemarkEmitter ORE(&F);
  const BasicBlock *Region = &F.getEntryBlock();
  explain(ORE, Region, N);
  const char *Rule = rule_name(N.V.rule);
  if (N.V.rule == RULE_TAKEN) {
    ORE.emit([&] {
      return OptimizationRemark(PassName, Rule, N.At, Region)
             << N.What << " replaced by " << N.By << ": "
             << ore::NV("Einsum", N.Einsum) << " with "
             << ore::NV("Sizes", N.Sizes);
    });
    return;
  }
  ORE.emit([&] {
    OptimizationRemarkMissed R(PassName, Rule, N.At, Region);
    R << N.What << " kept [" << ore::NV("Rule", Rule)
      << "]: " << ore::NV("Reason", N.V.diag.text);
    addPlace(R, N.At, N.V.diag.at);
    if (const char *Advice = rule_advice(N.V.rule))
      R << "; " << ore::NV("Advice", Advice);
    if (hasOwnReason(N.OnCpu, N.V))
      R << "; no code for the processor [" << rule_name(N.OnCpu.rule)
        << "]: " << ore::NV("Processor", N.OnCpu.diag.text);
    return R;
  });
}

// A file, or in a folder, which a slash at the end makes, the file nests.json.
static std::string reportPath() {
  const char *Path = std::getenv("NPUTEIR_REPORT");
  if (!Path || !*Path)
    return "";
  if (StringRef(Path).back() == '/')
    sys::fs::create_directory(Path); // where it fails, the file cannot be made
  if (sys::fs::is_directory(Path))
    return std::string(Path) + "/nests.json";
  return Path;
}

static bool isWanted() {
  const char *Path = std::getenv("NPUTEIR_REPORT");
  return Path && *Path;
}

// One write to a file opened for appending: compilers run side by side.
static std::error_code append(json::Object Line) {
  std::string Text;
  raw_string_ostream(Text) << json::Value(std::move(Line)) << "\n";
  std::error_code Failure;
  raw_fd_ostream Out(reportPath(), Failure, sys::fs::OF_Append);
  if (Failure)
    return Failure;
  Out.SetUnbuffered(); // else a long line is written in parts
  Out << Text;
  Failure = Out.error();
  Out.clear_error(); // which would end the compilation
  return Failure;
}

bool isWeak(rule R) {
  return R == RULE_ROLES || R == RULE_VECTOR || R == RULE_NO_PRODUCT ||
         R == RULE_LIVE_OUT;
}

void demand(Function &F, ArrayRef<Finding> Found) {
  std::string Where = " of function '" + F.getName().str() + "' ";
  bool Any = false;
  for (const Finding &N : Found) {
    if (isWeak(N.V.rule))
      continue;
    Any = true;
    std::string Line = N.At ? " in line " + std::to_string(N.At.getLine()) : "";
    if (N.V.rule != RULE_TAKEN)
      F.getContext().emitError(
          "nputeir: the " + N.What + Line + Where +
          "is kept, which nputeir:require forbids: " + N.V.diag.text);
  }
  if (!Any)
    F.getContext().emitError("nputeir: no nest" + Where +
                             "is replaced, which nputeir:require demands" +
                             (Found.empty() ? "" : ": ") +
                             (Found.empty() ? "" : Found[0].V.diag.text));
}

Report::~Report() {
  if (!Seen || Unwritten || !isWanted())
    return;
  json::Object Rules;
  for (int R = 0; R < RULE_COUNT; R++)
    if (Declined[R])
      Rules[rule_name((rule)R)] = Declined[R];
  json::Object Line{{"module", File}, {"seen", Seen}, {"taken", Taken}};
  Line["declined"] = std::move(Rules);
  append(std::move(Line));
}

void Report::add(const Function &F, const Finding &N) {
  if (!isWanted())
    return;
  File = F.getParent()->getSourceFileName();
  Seen++;
  (N.V.rule == RULE_TAKEN ? Taken : Declined[N.V.rule])++;
  json::Object Line{{"function", F.getName()},
                    {"taken", N.V.rule == RULE_TAKEN},
                    {"rule", rule_name(N.V.rule)},
                    {"depth", N.Depth}};
  Line["file"] = F.getParent()->getSourceFileName();
  if (N.What != Finding().What)
    Line["what"] = N.What;
  if (N.At) {
    Line["file"] = cast<DIScope>(N.At.getScope())->getFilename();
    Line["folder"] = cast<DIScope>(N.At.getScope())->getDirectory();
    Line["line"] = N.At.getLine();
    Line["column"] = N.At.getCol();
    if (N.EndLine >= N.At.getLine())
      Line["end_line"] = N.EndLine;
  }
  if (N.V.rule == RULE_TAKEN) {
    if (N.By != Finding().By)
      Line["by"] = N.By;
    Line["einsum"] = N.Einsum;
    Line["sizes"] = N.Sizes;
    Line["contraction"] = N.Contraction;
    if (!N.TEIR.empty())
      Line["teir"] = N.TEIR;
    if (!N.Options.empty())
      Line["options"] = N.Options;
  } else {
    Line["reason"] = std::string(N.V.diag.text);
    if (N.V.diag.at.line > 0)
      Line["reason_line"] = N.V.diag.at.line;
    if (isElsewhere(N.At, N.V.diag.at))
      Line["reason_file"] = N.V.diag.at.file;
    if (const char *Advice = rule_advice(N.V.rule))
      Line["advice"] = Advice;
  }
  if (Unwritten)
    return;
  std::error_code Failure = append(std::move(Line));
  Unwritten = !!Failure;
  if (Failure)
    F.getContext().emitError(Twine("nputeir: NPUTEIR_REPORT: cannot write '") +
                             reportPath() + "': " + Failure.message());
}

void print(const Function &F, const Finding &N, raw_ostream &Out) {
  Out << N.What << " in " << F.getName();
  if (N.At)
    Out << " at line " << N.At.getLine();
  Out << ": ";
  if (N.V.rule == RULE_TAKEN)
    Out << N.Einsum << " with " << N.Sizes << "\n" << N.Contraction;
  else
    Out << "declined [" << rule_name(N.V.rule) << "] " << N.V.diag.text << "\n";
  if (!N.TEIR.empty())
    Out << "teir:\n" << N.TEIR;
  if (!N.Nest.empty())
    Out << "nest:\n" << N.Nest;
}

} // namespace nputeir
