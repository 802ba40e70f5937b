// ir_tags.h -- what the metadata of an access says in all iterations.
#ifndef NPUTEIR_IR_TAGS_H
#define NPUTEIR_IR_TAGS_H

#include "llvm/IR/Instruction.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Metadata.h"

namespace nputeir {

constexpr const char *TypeMark = "nputeir.tbaa";

// I is moved to where the source may not reach it, which its metadata must not
// say anything of.  Its type is kept for those that ask what the source does.
inline void keepTypeAlone(llvm::Instruction &I) {
  llvm::MDNode *Type = I.getMetadata(llvm::LLVMContext::MD_tbaa);
  I.dropUnknownNonDebugMetadata();
  I.setMetadata(TypeMark, Type);
}

// Scopes of `restrict` say nothing of other iterations.
inline llvm::AAMDNodes typeTags(const llvm::Instruction &I) {
  llvm::AAMDNodes Tags = I.getAAMetadata();
  if (!Tags.TBAA)
    Tags.TBAA = I.getMetadata(TypeMark);
  Tags.Scope = Tags.NoAlias = nullptr;
  return Tags;
}

} // namespace nputeir

#endif
