// plugin.cpp -- registration and nothing else.
//
// In clang's own pipelines the pass runs at the end of each step of the
// call-graph walk: callees have been inlined, and the function's own loops have
// not been rotated, unrolled or vectorised yet.  opt reaches it by name, with
// options: -passes='nputeir<device=npu1>', -passes='print<nputeir>'.
#include "passes.h"

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"

using namespace llvm;
using namespace nputeir;

namespace {

// A wrong option is one error per compilation, whether or not there is a loop.
class CheckDoorsPass : public PassInfoMixin<CheckDoorsPass> {
  Doors D;

public:
  explicit CheckDoorsPass(Doors D) : D(std::move(D)) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    diag Problem = {};
    if (!checkDoors(D, &Problem))
      M.getContext().emitError(Problem.text);
    return PreservedAnalyses::all();
  }
};

bool parseName(StringRef Name, Doors &D) {
  if (Name == "print<nputeir>") {
    D.Print = true;
    return true;
  }
  if (Name.consume_front("nputeir<") && Name.consume_back(">")) {
    D.Pass = Name.str();
    return true;
  }
  return Name == "nputeir";
}

void registerAll(PassBuilder &PB) {
  PB.registerPipelineStartEPCallback(
      [](ModulePassManager &PM, OptimizationLevel) {
        diag Problem = {};
        if (!checkDoors(Doors(), &Problem))
          PM.addPass(CheckDoorsPass(Doors()));
      });
  PB.registerCGSCCOptimizerLateEPCallback(
      [](CGSCCPassManager &PM, OptimizationLevel Level) {
        diag Problem = {};
        if (Level != OptimizationLevel::O0 && checkDoors(Doors(), &Problem))
          PM.addPass(createCGSCCToFunctionPassAdaptor(OffloadPass(Doors())));
      });
  PB.registerPipelineParsingCallback(
      [](StringRef Name, FunctionPassManager &PM,
         ArrayRef<PassBuilder::PipelineElement>) {
        Doors D;
        if (!parseName(Name, D))
          return false;
        PM.addPass(OffloadPass(D));
        return true;
      });
  PB.registerPipelineParsingCallback(
      [](StringRef Name, ModulePassManager &PM,
         ArrayRef<PassBuilder::PipelineElement>) {
        Doors D;
        if (!parseName(Name, D))
          return false;
        diag Problem = {};
        if (!checkDoors(D, &Problem))
          PM.addPass(CheckDoorsPass(D));
        else
          PM.addPass(createModuleToFunctionPassAdaptor(OffloadPass(D)));
        return true;
      });
  if (PassInstrumentationCallbacks *PIC = PB.getPassInstrumentationCallbacks())
    PIC->addClassToPassName(OffloadPass::name(), "nputeir");
}

} // namespace

extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "nputeir", LLVM_VERSION_STRING, registerAll};
}
