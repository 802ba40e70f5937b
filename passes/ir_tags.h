// ir_tags.h -- what the metadata of an access says in all iterations.
#ifndef NPUTEIR_IR_TAGS_H
#define NPUTEIR_IR_TAGS_H

#include "llvm/IR/Instruction.h"

namespace nputeir {

// Scopes of `restrict` say nothing of other iterations.
inline llvm::AAMDNodes typeTags(const llvm::Instruction &I) {
  llvm::AAMDNodes Tags = I.getAAMetadata();
  Tags.Scope = Tags.NoAlias = nullptr;
  return Tags;
}

} // namespace nputeir

#endif
