// sides.cpp -- which way conditions go that do not change in a nest.
//
// Given is a place, and what is asked there. A condition that asks the same of
// the same numbers elsewhere goes the same way.
#include "sides.h"

#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace nputeir {

static const Value *conditionAt(const Instruction &At) {
  if (const auto *Branch = dyn_cast<BranchInst>(&At))
    return Branch->getCondition();
  return cast<SelectInst>(At).getCondition();
}

// Whether X is Y, or its opposite; nothing: neither.
static std::optional<bool> compare(const Value *X, const Value *Y,
                                   ScalarEvolution &SE) {
  if (X == Y)
    return true;
  const auto *C = dyn_cast<ICmpInst>(X), *D = dyn_cast<ICmpInst>(Y);
  if (!C || !D || !SE.isSCEVable(C->getOperand(0)->getType()) ||
      C->getOperand(0)->getType() != D->getOperand(0)->getType())
    return std::nullopt;
  for (unsigned I = 0; I < 2; I++)
    if (SE.getSCEV(C->getOperand(I)) != SE.getSCEV(D->getOperand(I)))
      return std::nullopt;
  if (C->getPredicate() == D->getPredicate())
    return true;
  if (C->getPredicate() == D->getInversePredicate())
    return false;
  return std::nullopt;
}

Sides::Sides(const Sides &Before, const Instruction &At, bool Side)
    : Given(Before.Given) {
  assert(!Before.isFull());
  Given.push_back({&At, Side});
}

std::optional<bool> Sides::of(const Instruction &At,
                              ScalarEvolution &SE) const {
  for (const auto *List : {&Given, &Taken})
    for (const Choice &C : *List)
      if (auto Same = compare(conditionAt(*C.At), conditionAt(At), SE))
        return *Same == C.Side;
  return std::nullopt;
}

std::string Sides::text() const {
  std::string Text;
  for (const auto *List : {&Given, &Taken})
    for (const Choice &C : *List) {
      Text += Text.empty() ? "," : " and";
      Text += C.Side ? " on one side of" : " on the other side of";
      Text += Text.find("condition") == Text.npos ? " the condition" : " that";
      if (DebugLoc At = C.At->getDebugLoc())
        Text += " in line " + std::to_string(At.getLine());
    }
  return Text;
}

void Sides::meet(const Instruction &At) {
  if (!Open)
    Open = &At;
}

} // namespace nputeir
