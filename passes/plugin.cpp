// plugin.cpp -- registration and nothing else.
//
// In clang's own pipelines the pass runs at the end of each step of the
// call-graph walk: callees have been inlined, and the function's own loops have
// not been rotated, unrolled or vectorised yet.  opt reaches it by name, with
// options: -passes='nputeir<device=npu1>', -passes='print<nputeir>'.
#include "inline_helpers.h"
#include "lower_cpu.h"
#include "offload.h"
#include "options.h"
#include "switch_off.h"

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#if LLVM_VERSION_MAJOR >= 22
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <link.h>

using namespace llvm;
using namespace nputeir;

namespace {

// LLVM splits a pipeline at commas, also those between our options, and hands
// us the parts one by one: the pass is made at the first, and later parts are
// added to what it was asked.
class Parser {
  std::shared_ptr<OptionSources> Open; // its '>' has not been seen

public:
  // Null: the name is not ours.  *IsNew: a pass is to be made.
  std::shared_ptr<OptionSources> parse(StringRef Name, bool &IsNew) {
    IsNew = true;
    if (Name == "nputeir" || Name == "print<nputeir>") {
      auto D = std::make_shared<OptionSources>();
      D->Print = Name != "nputeir";
      return D;
    }
    if (Name.consume_front("nputeir<"))
      Open = std::make_shared<OptionSources>();
    else if (Open)
      IsNew = false;
    else
      return nullptr;
    std::shared_ptr<OptionSources> D = Open;
    if (Name.consume_back(">"))
      Open = nullptr;
    D->Pass += (D->Pass.empty() ? "" : ",") + Name.str();
    return D;
  }
};

void registerAll(PassBuilder &PB) {
  PB.registerPipelineStartEPCallback(
      [](ModulePassManager &PM, OptimizationLevel Level) {
        if (Level != OptimizationLevel::O0)
          PM.addPass(createModuleToFunctionPassAdaptor(SwitchOffPass()));
      });
  PB.registerCGSCCOptimizerLateEPCallback(
      [](CGSCCPassManager &PM, OptimizationLevel Level) {
        if (Level != OptimizationLevel::O0)
          PM.addPass(createCGSCCToFunctionPassAdaptor(
              OffloadPass(std::make_shared<OptionSources>())));
      });
  auto Define = [](ModulePassManager &PM) { PM.addPass(DefineCpuPass()); };
  auto Inline = [](ModulePassManager &PM, OptimizationLevel Level) {
    if (Level != OptimizationLevel::O0)
      PM.addPass(InlineHelpersPass());
  };
#if LLVM_VERSION_MAJOR >= 20
  PB.registerPipelineEarlySimplificationEPCallback(
      [Inline](ModulePassManager &PM, OptimizationLevel Level,
               ThinOrFullLTOPhase) { Inline(PM, Level); });
  PB.registerOptimizerLastEPCallback(
      [Define](ModulePassManager &PM, OptimizationLevel, ThinOrFullLTOPhase) {
        Define(PM);
      });
#else
  PB.registerPipelineEarlySimplificationEPCallback(Inline);
  PB.registerOptimizerLastEPCallback(
      [Define](ModulePassManager &PM, OptimizationLevel) { Define(PM); });
#endif
  auto Names = std::make_shared<Parser>();
  PB.registerPipelineParsingCallback(
      [Names](StringRef Name, FunctionPassManager &PM,
              ArrayRef<PassBuilder::PipelineElement>) {
        bool IsNew;
        std::shared_ptr<OptionSources> D = Names->parse(Name, IsNew);
        if (D && IsNew) {
          D->IsAlone = true;
          PM.addPass(OffloadPass(D));
        }
        return D != nullptr;
      });
  PB.registerPipelineParsingCallback(
      [Names](StringRef Name, ModulePassManager &PM,
              ArrayRef<PassBuilder::PipelineElement>) {
        bool IsNew;
        std::shared_ptr<OptionSources> D = Names->parse(Name, IsNew);
        if (D && IsNew)
          PM.addPass(createModuleToFunctionPassAdaptor(OffloadPass(D)));
        if (D && IsNew)
          PM.addPass(DefineCpuPass());
        return D != nullptr;
      });
  if (PassInstrumentationCallbacks *PIC = PB.getPassInstrumentationCallbacks())
    PIC->addClassToPassName(OffloadPass::name(), "nputeir");
}

// The release of the LLVM that has loaded us, by the name of its library
// (libLLVM-14.so.1, libLLVM.so.19.1); 0: it does not say.  Nothing of LLVM may
// be called before this is known to be our own.
unsigned hostMajor() {
  const char *Name = nullptr;
  dl_iterate_phdr(
      [](dl_phdr_info *Object, size_t, void *Name) {
        auto Place = (ElfW(Addr))&llvm::errs;
        for (int I = 0; I < Object->dlpi_phnum; I++) {
          const ElfW(Phdr) &P = Object->dlpi_phdr[I];
          if (P.p_type == PT_LOAD &&
              Place - Object->dlpi_addr - P.p_vaddr < P.p_memsz) {
            *(const char **)Name = strstr(Object->dlpi_name, "libLLVM");
            return 1;
          }
        }
        return 0;
      },
      &Name);
  return Name && (Name = strpbrk(Name, "0123456789"))
             ? (unsigned)strtoul(Name, nullptr, 10)
             : 0;
}

} // namespace

extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  unsigned Host = hostMajor();
  if (Host && Host != LLVM_VERSION_MAJOR) {
    fprintf(stderr,
            "nputeir: this plugin is for LLVM %d and cannot be loaded "
            "into LLVM %u; take nputeir/llvm-%u/libnputeir.so\n",
            LLVM_VERSION_MAJOR, Host, Host);
    return {0, "nputeir", LLVM_VERSION_STRING, nullptr};
  }
  return {LLVM_PLUGIN_API_VERSION, "nputeir", LLVM_VERSION_STRING, registerAll};
}
