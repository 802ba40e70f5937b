// options.h -- what the plugin is asked to do, from all sources.
#ifndef NPUTEIR_OPTIONS_H
#define NPUTEIR_OPTIONS_H

extern "C" {
#include "recognizer.h"
}

#include "llvm/IR/Function.h"

#include <string>

namespace nputeir {

// What one pass was asked to do by name, beside the sources that are open to
// all.
struct OptionSources {
  std::string Pass;   // -passes=nputeir<...>
  bool Print = false; // print<nputeir>: say what would be done, change nothing
  bool IsAlone = false;  // DefineCpuPass does not follow
  bool Reported = false; // a wrong word is one error
};

// What F's annotations add to O; false and *Problem when a word is wrong.
bool addAnnotations(const llvm::Function &F, arena *A, options &O,
                    diag *Problem);
// The sources that do not depend on a function.
bool parseSources(const OptionSources &D, arena *A, options &O, diag *Problem);

} // namespace nputeir

#endif
