// rewrite.cpp -- a recognised nest -> a guarded call, the old loop kept as the
// other side of the branch:
//
//     entry:  is the runtime linked, and the work enough for a call?
//     front:  sizes and addresses are computed; may other code run at all?
//     offer:  nputeir_call_1(...) == 0 ? after the nest : cpu, or kept
//     cpu:    code for this processor, where it is faster and nothing that it
//             reads overlaps the result
//     kept:   the nest as it was
//     ended:  nputeir_compare_1, if the call returned more than 1
//
// The call is made only when the runtime is linked (the references are weak),
// and for no fewer multiply-adds than it asks for at that moment
// (nputeir_least_macs_1): small products cost a few instructions more than
// their loops.  With code for the processor, both is asked behind the front.
// The call is made, and the processor's code runs, only when every loop has
// work, conditions that do not change in the nest take the side
// that was described, no check inside it would fail, no two iterations write
// one place of the result, what is read behind a store to the result is not the
// result, and limits leave no element of a factor out of all products.
#include "rewrite.h"
#include "checks.h"
#include "lower_cpu.h"
#include "whole_factors.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace nputeir {

// int (const char *teir, const char *options, const char *where,
//      const int64_t *value, uint64_t value_count,
//      void *const *tensor, uint64_t tensor_count)
static FunctionCallee declareCall(Module &M) {
  LLVMContext &X = M.getContext();
  Type *P = bytePointer(X), *I64 = Type::getInt64Ty(X);
  FunctionCallee Call = M.getOrInsertFunction(
      CallName,
      FunctionType::get(Type::getInt32Ty(X), {P, P, P, P, I64, P, I64}, false));
  auto *F = cast<Function>(Call.getCallee());
  F->setLinkage(GlobalValue::ExternalWeakLinkage);
  F->setDoesNotThrow();
  return Call;
}

// void (int status)
static FunctionCallee declareCompare(Module &M) {
  LLVMContext &X = M.getContext();
  FunctionCallee Compare = M.getOrInsertFunction(
      CompareName,
      FunctionType::get(Type::getVoidTy(X), {Type::getInt32Ty(X)}, false));
  auto *F = cast<Function>(Compare.getCallee());
  F->setLinkage(GlobalValue::ExternalWeakLinkage);
  F->setDoesNotThrow();
  return Compare;
}

// uint64_t: 0 while every call is to be made.
static GlobalVariable *declareLeast(Module &M) {
  auto *Least = cast<GlobalVariable>(
      M.getOrInsertGlobal(LeastName, Type::getInt64Ty(M.getContext())));
  Least->setLinkage(GlobalValue::ExternalWeakLinkage);
  return Least;
}

// Small work stays with its loop unless somebody asks for the call.
static bool mayBeSmall(const options &O) {
  StringRef Device = O.device ? O.device : "";
  return !O.require && O.min_macs != 0 && Device != "sim" && Device != "host";
}

static Constant *text(Module &M, StringRef Text, const Twine &Name) {
  Constant *Data = ConstantDataArray::getString(M.getContext(), Text);
  auto *G = new GlobalVariable(M, Data->getType(), true,
                               GlobalValue::PrivateLinkage, Data, Name);
  G->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
  G->setAlignment(Align(1));
  return ConstantExpr::getPointerCast(G, bytePointer(M.getContext()));
}

static std::string whereText(const Region &Old, StringRef Function) {
  std::string Where = Old.First->getModule()->getSourceFileName();
  if (DebugLoc DL = Old.At)
    Where = cast<DIScope>(DL.getScope())->getFilename().str() + ":" +
            std::to_string(DL.getLine()) + ":" + std::to_string(DL.getCol());
  return Where + " " + Function.str();
}

namespace {

class Rewriter {
  const Region &Old;
  const IRNest &Nest;
  const Plan &P;
  LoopInfo &LI;
  DominatorTree &DT;
  Function &F;
  Module &M;
  ScalarEvolution &SE;
  struct Operands {
    SmallVector<Value *, 8> Symbol; // i64, frozen
    SmallVector<Value *, 8> Tensor; // of the call; null: a number's slot
  };
  Operands Npu, Cpu;
  DebugLoc DL;
  BasicBlock *Kept = nullptr;
  PHINode *Asked = nullptr; // what the runtime returned, in Kept
  CallInst *Status = nullptr;
  SmallVector<BasicBlock *, 2> Doing; // from which a branch leads past the nest

public:
  Rewriter(const Region &Old, LoopInfo &LI, ScalarEvolution &SE,
           DominatorTree &DT, const IRNest &Nest, const Plan &P)
      : Old(Old), Nest(Nest), P(P), LI(LI), DT(DT), F(*Old.First->getParent()),
        M(*F.getParent()), SE(SE) {}

  PHINode *run(const options &O, const std::string &TEIR, StringRef Where) {
    Instruction *End = Old.Entry->getTerminator();
    assert(End->getNumSuccessors() == 1 && End->getSuccessor(0) == Old.First);
    assert(DT.dominates(Old.Entry, Old.First));
    assert(P.Npu || P.Cpu);
    DL = Old.At ? Old.At : End->getDebugLoc();
    bool Sized = P.Npu && mayBeSmall(O), Early = Sized && !P.Cpu;
    BasicBlock *Front =
        Early ? SplitBlock(Old.Entry, End, &DT, &LI) : Old.Entry;
    if (Early)
      Front->setName("nputeir.front");
    Checks In(Nest, SE, End);
    if (P.Npu)
      expandAll(In, *P.Npu, Npu);
    if (P.Cpu)
      expandAll(In, *P.Cpu, Cpu);

    LLVMContext &X = F.getContext();
    Kept = BasicBlock::Create(X, "nputeir.kept", &F, Old.First);
    Asked = PHINode::Create(Type::getInt32Ty(X), 2, "nputeir.asked", Kept);
    keepFrom(Front);
    if (P.Npu)
      compare(Asked);
    IRBuilder<> B(End);
    B.SetCurrentDebugLocation(DL);
    BasicBlock *Ask = P.Npu && P.Cpu ? add("nputeir.ask", Front) : nullptr;
    BasicBlock *First = Ask ? Ask : Front;
    BasicBlock *Offer = P.Npu ? add("nputeir.offer", First) : nullptr;
    BasicBlock *Processor = P.Cpu ? add("nputeir.cpu", First) : nullptr;
    Value *Linked = P.Npu && !Sized ? isLinked(End) : nullptr;
    Value *May = P.Npu ? mayRun(In, *P.Npu, Npu, P.Cpu ? nullptr : Linked)
                       : mayRun(In, *P.Cpu, Cpu, nullptr);
    B.CreateCondBr(May, Ask ? Ask : Offer ? Offer : Processor, Kept);
    if (Early) {
      Old.Entry->getTerminator()->eraseFromParent();
      askSize(Old.Entry, O, Front, Kept);
    } else if (Sized) {
      askSize(Ask, O, Offer, Processor);
    } else if (Ask) {
      B.SetInsertPoint(Ask);
      B.CreateCondBr(Linked, Offer, Processor);
    }
    if (Offer)
      offer(Offer, Processor, O, TEIR, Where);
    End->eraseFromParent();
    if (P.Cpu)
      process(Processor);
    B.SetInsertPoint(Kept);
    B.CreateBr(Old.First);
    if (!P.Npu) {
      Asked->eraseFromParent();
      Asked = nullptr;
    }
    Old.First->replacePhiUsesWith(Front, Kept);
    DT.addNewBlock(Kept, Old.Entry);
    if (Loop *Around = LI.getLoopFor(Old.Entry))
      Around->addBasicBlockToLoop(Kept, LI);
    DT.changeImmediateDominator(Old.First, Kept);
    // Not only After gets a way past the nest: what a failed check leads to may
    // be reached from behind the nest, too.
    for (BasicBlock *Done : Doing)
      DT.insertEdge(Done, next());
    return Asked;
  }

private:
  BasicBlock *next() const { return Old.Done ? Old.Done : Old.After; }

  // Behind the loop, before anything that follows it: a call if the runtime
  // said that it waits for the loop's end.  Where LLVM knew where a 0 comes
  // from, it would have the loop twice, once for each way to it.
  void compare(Value *Asked) {
    SmallVector<BasicBlock *, 4> Exits;
    for (BasicBlock *Exit : predecessors(Old.After))
      if (DT.dominates(Old.First, Exit)) // others lead from the other code
        Exits.push_back(Exit);
    BasicBlock *Ended =
        SplitBlockPredecessors(Old.After, Exits, ".nputeir", &DT, &LI);
    BasicBlock *Join = SplitBlock(Ended, Ended->getTerminator(), &DT, &LI);
    auto *Ask = BasicBlock::Create(F.getContext(), "nputeir.compare", &F, Join);
    FunctionCallee Compare = declareCompare(M);
    Instruction *End = Ended->getTerminator();
    IRBuilder<> B(End);
    B.SetCurrentDebugLocation(DL);
    Value *Waits = B.CreateICmpUGT(unknown(B, Asked), B.getInt32(1));
    B.CreateCondBr(Waits, Ask, Join);
    End->eraseFromParent();
    B.SetInsertPoint(Ask);
    B.CreateCall(Compare, {Asked});
    B.CreateBr(Join);
    addBlock(Ask, Ended);
  }

  // V, of which LLVM knows nothing; no instruction.
  static Value *unknown(IRBuilder<> &B, Value *V) {
    auto *Type = FunctionType::get(V->getType(), {V->getType()}, false);
    return B.CreateCall(InlineAsm::get(Type, "", "=r,0", false), {V});
  }

  void addBlock(BasicBlock *New, BasicBlock *Dominator) {
    DT.addNewBlock(New, Dominator);
    if (Loop *Around = LI.getLoopFor(Dominator))
      Around->addBasicBlockToLoop(New, LI);
  }

  BasicBlock *add(const char *Name, BasicBlock *Dominator) {
    auto *New = BasicBlock::Create(F.getContext(), Name, &F, Kept);
    addBlock(New, Dominator);
    return New;
  }

  // From where the runtime was not asked.
  void keepFrom(BasicBlock *From) {
    Asked->addIncoming(ConstantInt::get(Asked->getType(), 0), From);
  }

  // From the end of From, where the runtime is there and asks for as much work.
  void askSize(BasicBlock *From, const options &O, BasicBlock *Enough,
               BasicBlock *Else) {
    BasicBlock *Size = add("nputeir.size", From);
    GlobalVariable *Word = declareLeast(M);
    IRBuilder<> B(From);
    B.SetCurrentDebugLocation(DL);
    B.CreateCondBr(B.CreateIsNotNull(Word, "nputeir.linked"), Size, Else);
    B.SetInsertPoint(Size);
    LoadInst *Least = B.CreateLoad(B.getInt64Ty(), Word, "nputeir.least");
    Least->setAtomic(AtomicOrdering::Unordered);
    Least->setAlignment(Align(8));
    auto *End = B.CreateBr(Enough);
    Value *Macs = macs(*P.Npu, End);
    B.SetInsertPoint(End);
    Value *Needed = Least;
    if (O.min_macs > 0)
      Needed = B.CreateSelect(B.CreateIsNull(Least), Least,
                              B.getInt64((uint64_t)O.min_macs));
    B.CreateCondBr(B.CreateICmpUGE(Macs, Needed), Enough, Else);
    End->eraseFromParent();
    if (DT.getNode(Enough))
      DT.changeImmediateDominator(Enough, Size);
    if (Else == Kept) {
      keepFrom(From);
      keepFrom(Size);
    }
  }

  // Multiply-adds, or the largest number if there are more.
  Value *macs(const contraction &C, Instruction *At) {
    Checks In(Nest, SE, At);
    IRBuilder<> &B = In.B;
    Value *Sum = nullptr;
    for (const contraction *Step : {&C, C.first}) {
      if (!Step)
        continue;
      Value *Macs = B.getInt64(1), *Beyond = B.getFalse();
      for (int I = 0; I < Step->axis_count; I++) {
        Value *Next =
            B.CreateBinaryIntrinsic(Intrinsic::smul_with_overflow, Macs,
                                    In.number(Step->axis[I].extent));
        Macs = B.CreateExtractValue(Next, 0);
        Beyond = B.CreateOr(Beyond, B.CreateExtractValue(Next, 1));
      }
      Macs = B.CreateSelect(Beyond, B.getInt64(UINT64_MAX), Macs);
      Sum =
          Sum ? B.CreateBinaryIntrinsic(Intrinsic::uadd_sat, Sum, Macs) : Macs;
    }
    return Sum;
  }

  // From the end of Done past the nest, if the work is done.
  void leave(IRBuilder<> &B, Value *IsDone, BasicBlock *Else) {
    BasicBlock *Done = B.GetInsertBlock();
    B.CreateCondBr(IsDone, next(), Else);
    for (PHINode &Phi : next()->phis()) // of loop-invariant values only
      Phi.addIncoming(Phi.getIncomingValue(0), Done);
    Doing.push_back(Done);
  }

  void offer(BasicBlock *Offer, BasicBlock *Processor, const options &O,
             const std::string &TEIR, StringRef Where) {
    IRBuilder<> B(Offer);
    B.SetCurrentDebugLocation(DL);
    Status = B.CreateCall(declareCall(M), arguments(B, O, TEIR, Where),
                          "nputeir.status");
    Value *Done = B.CreateICmpEQ(Status, B.getInt32(0), "nputeir.done");
    leave(B, Done, Processor ? Processor : Kept);
    if (!Processor)
      Asked->addIncoming(Status, Offer);
  }

  // What the runtime returned, 0 if it was not asked, goes on to the loop. With
  // more than 1 it asks for the loop itself, to compare with.
  void process(BasicBlock *Processor) {
    IRBuilder<> B(Processor);
    B.SetCurrentDebugLocation(DL);
    Value *Before = B.getInt32(0);
    if (P.Npu) {
      PHINode *Said = B.CreatePHI(B.getInt32Ty(), 2, "nputeir.said");
      for (BasicBlock *From : predecessors(Processor))
        Said->addIncoming(From == Status->getParent() ? Status : Before, From);
      Before = Said;
    }
    CpuOperands X;
    fillSlots(B, *P.Cpu, Cpu);
    for (size_t T = 0; T < Cpu.Tensor.size(); T++)
      if (T < TENSORS || T > TENSORS)
        X.Tensor.push_back(Cpu.Tensor[T]);
    X.Tensor.truncate(TENSORS + (size_t)P.Cpu->extra_count); // without maps
    X.Number = [&](value V) -> Value * {
      return V.symbol < 0 ? B.getInt64((uint64_t)V.constant)
                          : Cpu.Symbol[(size_t)V.symbol];
    };
    CpuNestCode Code = cpuNest(F, *P.Cpu, X, P.CpuLeastMacs < 0);
    // Small sizes go on at once.
    Value *May = cpuIsWork(B, *P.Cpu, X, P.CpuLeastMacs);
    if (P.Npu)
      May = B.CreateAnd(May, B.CreateICmpULE(Before, B.getInt32(1)));
    May = B.CreateAnd(B.CreateIsNotNull(Code.Code), May);
    BasicBlock *Run = add("nputeir.run", Processor);
    B.CreateCondBr(May, Run, Kept);
    Asked->addIncoming(Before, Processor);
    B.SetInsertPoint(Run);
    leave(B, cpuCall(B, Code, X), Kept);
    Asked->addIncoming(Before, Run);
  }

  PointerType *pointer() { return bytePointer(F.getContext()); }

  void expandAll(Checks &Front, const contraction &C, Operands &X) {
    for (size_t I = 0; I < Nest.Symbol.size(); I++)
      X.Symbol.push_back(Front.number({0, (int)I}));
    for (int I = 0; I < C.product_count; I++)
      X.Symbol.push_back(
          Front.B.CreateMul(number(Front, X, C.product[I].factor[0]),
                            number(Front, X, C.product[I].factor[1])));
    for (int T = 0; T < TENSORS; T++)
      X.Tensor.push_back(operand(Front, X, C, T));
    if (C.tail)
      addTail(Front, C, X);
    for (int T = IN0; C.first && T <= IN1; T++)
      X.Tensor.push_back(operand(Front, X, *C.first, T));
    assert(X.Symbol.size() == (size_t)C.symbol_count);
  }

  // Of the nest or of the contraction.
  Value *number(Checks &Front, const Operands &X, value V) {
    return V.symbol < 0 ? Front.number(V) : X.Symbol[V.symbol];
  }

  void addTail(Checks &Front, const contraction &C, Operands &X) {
    X.Tensor.push_back(nullptr); // the sum
    for (int I = 0; I < C.extra_count; I++) {
      const contraction_extra &E = C.extra[I];
      X.Tensor.push_back(
          E.tensor < 0 ? nullptr
                       : address(Front, X, E.tensor, E.offset_bytes, E.rows));
    }
    for (const calc *Map : C.map) // what it gives lies in the runtime
      if (Map)
        X.Tensor.push_back(ConstantPointerNull::get(pointer()));
  }

  // The runtime has an intermediate's address.
  Value *operand(Checks &Front, const Operands &X, const contraction &Step,
                 int T) {
    return Step.tensor[T] < 0 ? ConstantPointerNull::get(pointer())
                              : address(Front, X, Step.tensor[T],
                                        Step.offset_bytes[T], Step.rows[T]);
  }

  Value *address(Checks &Front, const Operands &X, int T, int64_t Offset,
                 int64_t Rows) {
    assert(T < (int)Nest.Tensor.size());
    assert(!Rows || Nest.N->pitch[T] >= 0);
    Value *Place = Front.frozen(Nest.Tensor[T], pointer());
    IRBuilder<> &B = Front.B;
    if (Rows)
      Place = B.CreateGEP(
          B.getInt8Ty(), Place,
          B.CreateMul(X.Symbol[Nest.N->pitch[T]], B.getInt64((uint64_t)Rows)));
    return Offset ? B.CreateConstGEP1_64(B.getInt8Ty(), Place, (uint64_t)Offset)
                  : Place;
  }

  static bool isExtent(const contraction &C, int Symbol) {
    return any_of(
        ArrayRef(C.axis, (size_t)C.axis_count),
        [&](const contraction_axis &X) { return X.extent.symbol == Symbol; });
  }

  // Linked: the first condition; null: there is none.
  Value *mayRun(Checks &Front, const contraction &C, const Operands &X,
                Value *Linked) {
    IRBuilder<> &B = Front.B;
    Value *May = Linked ? Linked : B.getTrue();
    auto Require = [&](Value *Holds) { May = B.CreateAnd(May, Holds); };
    for (const contraction *Step : {&C, C.first})
      for (int I = 0; Step && I < Step->axis_count; I++) {
        value Extent = Step->axis[I].extent;
        if (Extent.symbol >= 0 || Extent.constant <= 0)
          Require(Front.isPositive(Extent));
      }
    for (int I = 0; I < Nest.N->multiple_count; I++)
      if (isExtent(C, Nest.N->multiple[I].symbol))
        Require(Front.isPositive({0, Nest.N->multiple[I].of}));
    Nest.eachCondition([&](const auto &X) { Require(Front.holds(X)); });
    for (Value *V : Nest.NonZero)
      Require(
          B.CreateFCmpUNE(B.CreateFreeze(V), ConstantFP::get(V->getType(), 0)));
    for (int I = 0; I < C.guard_count; I++)
      Require(Front.holds(C.guard[I]));
    for (int I = 0; C.tail && I < C.extra_count; I++)
      if (C.extra[I].not_out)
        Require(B.CreateICmpNE(X.Tensor[TENSORS + 1 + I], X.Tensor[OUT]));
    for (const contraction_guard &G : Nest.Guards)
      Require(Front.holds(G));
    Require(
        areFactorsWhole(B, C, [&](value V) { return number(Front, X, V); }));
    return May;
  }

  Value *frame(Type *T, const Twine &Name) {
    BasicBlock &Entry = F.getEntryBlock();
    return IRBuilder<>(&Entry, Entry.getFirstInsertionPt())
        .CreateAlloca(T, nullptr, Name);
  }

  // The call reads and writes numbers through slots in the frame.
  void fillSlots(IRBuilder<> &B, const contraction &C, Operands &X) {
    if (!C.tail)
      return;
    assert(X.Tensor.size() > (size_t)(TENSORS + C.extra_count));
    X.Tensor[TENSORS] =
        B.CreatePointerCast(frame(B.getInt64Ty(), "nputeir.sum"), pointer());
    for (int I = 0; I < C.extra_count; I++) {
      if (C.extra[I].tensor >= 0)
        continue;
      Value *Number = B.CreateFreeze(Nest.Outside[C.extra[I].outside]);
      if (Number->getType()->isIntegerTy(1))
        Number = B.CreateZExt(Number, B.getInt8Ty());
      Value *Slot = frame(Number->getType(), "nputeir.number");
      B.CreateStore(Number, Slot);
      X.Tensor[TENSORS + 1 + I] = B.CreatePointerCast(Slot, pointer());
    }
  }

  // An array of values in the frame, filled here.
  Value *array(IRBuilder<> &B, Type *T, ArrayRef<Value *> Values,
               const Twine &Name) {
    assert(all_of(Values, [&](Value *V) { return V->getType() == T; }));
    if (Values.empty())
      return ConstantPointerNull::get(pointer());
    auto *Array = ArrayType::get(T, Values.size());
    Value *Place = frame(Array, Name);
    for (size_t I = 0; I < Values.size(); I++)
      B.CreateStore(Values[I],
                    B.CreateConstInBoundsGEP2_64(Array, Place, 0, I));
    return B.CreatePointerCast(Place, pointer());
  }

  SmallVector<Value *, 7> arguments(IRBuilder<> &B, const options &O,
                                    const std::string &TEIR, StringRef Where) {
    struct text Words = {};
    options_print(&O, &Words);
    Value *Options = text(M, text_string(&Words), "nputeir.options");
    text_free(&Words);
    fillSlots(B, *P.Npu, Npu);
    Value *Values = array(B, B.getInt64Ty(), Npu.Symbol, "nputeir.values");
    Value *Tensors = array(B, pointer(), Npu.Tensor, "nputeir.tensors");
    return {text(M, TEIR, "nputeir.teir"),
            Options,
            text(M, whereText(Old, Where), "nputeir.where"),
            Values,
            B.getInt64(Npu.Symbol.size()),
            Tensors,
            B.getInt64(Npu.Tensor.size())};
  }
};

} // namespace

PHINode *rewriteNest(const Region &Old, LoopInfo &LI, ScalarEvolution &SE,
                     DominatorTree &DT, const IRNest &I, const Plan &P,
                     const options &O, const std::string &TEIR,
                     StringRef Where) {
  return Rewriter(Old, LI, SE, DT, I, P).run(O, TEIR, Where);
}

Value *isLinked(Instruction *At) {
  Value *Call = declareCall(*At->getModule()).getCallee();
  return IRBuilder<>(At).CreateIsNotNull(Call, "nputeir.linked");
}

} // namespace nputeir
