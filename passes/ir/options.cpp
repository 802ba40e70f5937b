// options.cpp -- gathers the option texts of the four sources, from the weakest
// to the one nearest to the code, and hands each to the one parser.
#include "options.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"

#include <cstdlib>

using namespace llvm;

static cl::opt<std::string>
    Words("nputeir-options", cl::value_desc("options"),
          cl::desc("options of the nputeir plugin, as in nputeir<...>"));

namespace nputeir {

bool parseSources(const OptionSources &D, arena *A, options &O, diag *Problem) {
  O = options_default();
  const char *Environment = std::getenv("NPUTEIR_OPTIONS");
  return (!Environment ||
          options_parse(&O, A, "NPUTEIR_OPTIONS", Environment, Problem)) &&
         options_parse(&O, A, "-nputeir-options", Words.c_str(), Problem) &&
         options_parse(&O, A, "nputeir<...>", D.Pass.c_str(), Problem);
}

// The text of an annotation that is ours, else an empty one.
static StringRef annotationText(const ConstantStruct *Row) {
  const auto *Text =
      dyn_cast<GlobalVariable>(Row->getOperand(1)->stripPointerCasts());
  if (!Text || !Text->hasInitializer())
    return {};
  const auto *Data = dyn_cast<ConstantDataSequential>(Text->getInitializer());
  if (!Data || !Data->isCString())
    return {};
  StringRef Words = Data->getAsCString();
  return Words.consume_front("nputeir:") ? Words : StringRef();
}

bool addAnnotations(const Function &F, arena *A, options &O, diag *Problem) {
  const GlobalVariable *All =
      F.getParent()->getGlobalVariable("llvm.global.annotations");
  if (!All || !All->hasInitializer())
    return true;
  for (const Use &U : All->getInitializer()->operands()) {
    const auto *Row = dyn_cast<ConstantStruct>(U);
    if (!Row || Row->getNumOperands() < 2 ||
        Row->getOperand(0)->stripPointerCasts() != &F)
      continue;
    StringRef Text = annotationText(Row);
    if (!Text.empty() &&
        !options_parse(&O, A, ("annotation of " + F.getName()).str().c_str(),
                       Text.str().c_str(), Problem))
      return false;
  }
  return true;
}

} // namespace nputeir
