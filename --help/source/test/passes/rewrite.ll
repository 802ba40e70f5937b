; The guarded call: sizes are known, so nothing is asked but whether the runtime
; is linked; the loop stays as the other side, and is never taken again.
; RUN: %opt -passes='nputeir<device=npu1,min-macs=5>' -verify-each -S %s | FileCheck %s
; RUN: %opt -passes='nputeir<min-macs=0>,nputeir<min-macs=0>,cgscc(inline),nputeir<min-macs=0>' -verify-each -S %s | FileCheck %s --check-prefix=ONCE
; RUN: %opt -passes='nputeir<min-macs=0>,default<O3>' -verify-each -S %s | FileCheck %s --check-prefix=ONCE
; RUN: env NPUTEIR_OPTIONS=min-macs=0 %opt -passes='print<nputeir>' -disable-output %s | FileCheck %s --check-prefix=PRINT
; RUN: %opt -passes='print<nputeir>' -S %s -o - | FileCheck %s --check-prefix=KEPT
; RUN: %opt -passes='function(nputeir)' -opt-bisect-limit=0 -S %s -o - 2>/dev/null | FileCheck %s --check-prefix=KEPT
; RUN: not %opt -passes='nputeir<devise=npu1>' -S %s 2>&1 | FileCheck %s --check-prefix=WRONG
; RUN: env NPUTEIR_OPTIONS=min-macs=0 %opt -passes='default<O2>' -print-after=nputeir -disable-output %s 2>&1 | FileCheck %s --check-prefix=AFTER

; CHECK: @nputeir.options = private unnamed_addr constant [23 x i8] c"device=npu1,min-macs=5\00"
; CHECK: @nputeir.teir = private unnamed_addr constant {{.*}}Contraction
; CHECK: @nputeir.where = private unnamed_addr constant {{.*}} gemm\00"
; CHECK-LABEL: @gemm(
; CHECK: br i1 %nputeir.linked, label %nputeir.size, label %nputeir.kept
; CHECK: nputeir.front:
; CHECK: br i1 {{.*}}, label %nputeir.offer, label %nputeir.kept
; CHECK: nputeir.offer:
; CHECK: %nputeir.status = call i32 @nputeir_call_1(ptr @nputeir.teir, ptr @nputeir.options, ptr @nputeir.where, ptr null, i64 0, ptr %nputeir.tensors, i64 3)
; CHECK: %nputeir.done = icmp eq i32 %nputeir.status, 0
; CHECK: br i1 %nputeir.done, label %exit, label %nputeir.kept
; CHECK: nputeir.size:
; CHECK: %nputeir.least = load atomic i64, ptr @nputeir_least_macs_1 unordered, align 8
; CHECK: %[[ALL:.*]] = icmp eq i64 %nputeir.least, 0
; CHECK: %[[LEAST:.*]] = select i1 %[[ALL]], i64 %nputeir.least, i64 5
; CHECK: %[[ENOUGH:.*]] = icmp uge i64 {{.*}}, %[[LEAST]]
; CHECK: br i1 %[[ENOUGH]], label %nputeir.front, label %nputeir.kept
; CHECK: nputeir.kept:
; CHECK: %nputeir.asked = phi i32 [ 0, %nputeir.front ], [ 0, %entry ], [ 0, %nputeir.size ], [ %nputeir.status, %nputeir.offer ]
; CHECK: store i32 {{.*}} !nputeir.kept
; CHECK: %[[ASKED:.*]] = call i32 asm "", "=r,0"(i32 %nputeir.asked)
; CHECK: %[[COMPARES:.*]] = icmp ugt i32 %[[ASKED]], 1
; CHECK: br i1 %[[COMPARES]], label %nputeir.compare, label %[[JOIN:.*]]
; CHECK: nputeir.compare:
; CHECK-NEXT: call void @nputeir_compare_1(i32 %nputeir.asked)
; CHECK-NEXT: br label %[[JOIN]]
; CHECK: declare extern_weak i32 @nputeir_call_1(ptr, ptr, ptr, ptr, i64, ptr, i64)
; CHECK: !{!"nputeir.kept", i32 1}
; ONCE-COUNT-1: call i32 @nputeir_call_1(
; ONCE-NOT: call i32 @nputeir_call_1(
; PRINT: nest in gemm: mk,kn->mn with m=4 n=8 k=16
; PRINT: axis i extent 4 stride in0=16 out=32
; KEPT-NOT: nputeir_call_1
; WRONG: error: nputeir: nputeir<...>: there is no option 'devise='
; AFTER: IR Dump After {{.*}}Offload
; AFTER: call i32 @nputeir_call_1

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

define void @gemm(ptr %C, ptr %A, ptr %B) {
entry:
  br label %i.head
i.head:
  %i = phi i64 [ 0, %entry ], [ %i.next, %i.latch ]
  %i.more = icmp slt i64 %i, 4
  br i1 %i.more, label %j.head, label %exit
j.head:
  %j = phi i64 [ %j.next, %j.latch ], [ 0, %i.head ]
  %j.more = icmp slt i64 %j, 8
  br i1 %j.more, label %k.head, label %i.latch
k.head:
  %k = phi i64 [ %k.next, %body ], [ 0, %j.head ]
  %k.more = icmp slt i64 %k, 16
  br i1 %k.more, label %body, label %j.latch
body:
  %a.at = getelementptr [16 x i8], ptr %A, i64 %i, i64 %k
  %a = load i8, ptr %a.at
  %a.wide = sext i8 %a to i32
  %b.at = getelementptr [8 x i8], ptr %B, i64 %k, i64 %j
  %b = load i8, ptr %b.at
  %b.wide = sext i8 %b to i32
  %product = mul i32 %a.wide, %b.wide
  %c.at = getelementptr [8 x i32], ptr %C, i64 %i, i64 %j
  %c = load i32, ptr %c.at
  %sum = add i32 %c, %product
  store i32 %sum, ptr %c.at
  %k.next = add i64 %k, 1
  br label %k.head
j.latch:
  %j.next = add i64 %j, 1
  br label %j.head
i.latch:
  %i.next = add i64 %i, 1
  br label %i.head
exit:
  ret void
}
