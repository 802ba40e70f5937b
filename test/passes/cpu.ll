; Code for the processor: in place of the call, or where the runtime declines.
; RUN: %opt -passes='nputeir<device=cpu,min-macs=0>' -verify-each -S %s | FileCheck %s
; RUN: sed 's/%%i, 4$/%%i, 4000/;s/%%j, 8$/%%j, 8000/;s/%%k, 16$/%%k, 1600/;s/\[16 x/[1600 x/;s/\[8 x/[8000 x/' %s | %opt -passes='nputeir<device=cpu>' -verify-each -S - | FileCheck %s --check-prefix=LARGE
; Tiles do not depend on passes of the code generator, and are for Linux.
; RUN: sed 's/%%i, 4$/%%i, 4000/;s/%%j, 8$/%%j, 8000/;s/%%k, 16$/%%k, 1600/;s/\[16 x/[1600 x/;s/\[8 x/[8000 x/' %s >%t.ll
; RUN: %opt -passes='nputeir<device=cpu>' %t.ll | llc -O0 | FileCheck %s --check-prefix=TILES
; RUN: %opt -passes='nputeir<device=cpu>' %t.ll | llc -O2 | FileCheck %s --check-prefix=TILES
; RUN: %opt -mattr=+avx512vl,+avx512dq,+avx512bw,+avx512vnni,+avx512bf16,+amx-tile,+amx-int8,+amx-bf16 -passes='nputeir<device=cpu>' -verify-each -S %t.ll | FileCheck %s --check-prefix=OWN
; RUN: sed 's/pc-linux-gnu/apple-macosx/' %t.ll | %opt -passes='nputeir<device=cpu>' -S - | FileCheck %s --check-prefix=ELSEWHERE
; RUN: %opt -passes='nputeir<cpu=on,min-macs=0>' -verify-each -S %s | FileCheck %s --check-prefix=BOTH
; RUN: env NPUTEIR_OPTIONS= %opt -passes='nputeir<min-macs=0>' -verify-each -S %s | FileCheck %s --check-prefix=BOTH
; RUN: %opt -passes='nputeir<cpu=off,min-macs=0>' -S %s | FileCheck %s --check-prefix=OFF
; RUN: env NPUTEIR_OPTIONS= %opt -passes='nputeir<device=sim>' -S %s | FileCheck %s --check-prefix=OFF
; RUN: env NPUTEIR_OPTIONS= %opt -passes='nputeir<require>' -S %s | FileCheck %s --check-prefix=OFF
; RUN: sed 's/^\(define void @gemm(.*)\) /\1 optsize /' %s | env NPUTEIR_OPTIONS= %opt -passes='nputeir<min-macs=0>' -S - | FileCheck %s --check-prefix=OFF
; RUN: %opt -passes='function(nputeir<device=cpu;min-macs=0>)' -verify-each -S %s | FileCheck %s --check-prefix=DECLARED
; RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %opt -passes='default<O3>' -verify-each -S %s | FileCheck %s --check-prefix=LAST
; RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %opt -mcpu=x86-64-v4 -passes='default<O1>' -verify-each -S %s -o /dev/null

; CHECK-NOT: nputeir_call_1
; CHECK-LABEL: @gemm(
; CHECK: br i1 {{.*}}, label %nputeir.cpu, label %nputeir.kept
; CHECK: nputeir.cpu:
; CHECK: br i1 {{.*}}, label %nputeir.run, label %nputeir.kept
; CHECK: nputeir.run:
; CHECK: %nputeir.computed = call i32 @nputeir.nest.[[NEST:[0-9]+]](ptr %{{[^,]*}}, ptr %{{[^,]*}}, ptr %{{[^,]*}})
; CHECK: %[[DONE:.*]] = icmp eq i32 %nputeir.computed, 0
; CHECK: br i1 %[[DONE]], label %exit, label %nputeir.kept
; CHECK: nputeir.kept:
; CHECK: store float {{.*}} !nputeir.kept
; What is asked before the code runs is no part of the program's function.
; CHECK: define internal i32 @nputeir.nest.[[NEST]](
; CHECK: icmp ule i64
; CHECK: call i1 @nputeir.beside.
; CHECK-NOT: call i32 @nputeir.cpu.
; A small product is not packed.
; CHECK-NOT: @nputeir.driver
; CHECK: define linkonce_odr hidden i32 @nputeir.small.cpu.[[ID:[0-9]+]].avx512
; CHECK: call <16 x float> @llvm.fma.v16f32(
; CHECK: define linkonce_odr hidden i32 @nputeir.small.cpu.[[ID]].avx2
; CHECK: define linkonce_odr hidden i32 @nputeir.small.cpu.[[ID]].sse2
; LARGE-NOT: @nputeir.small
; LARGE: call i32 @nputeir.detect.
; LARGE: call i32 @nputeir.permit.
; LARGE: define linkonce_odr hidden i32 @nputeir.permit.
; LARGE: call i64 asm sideeffect "syscall", {{.*}}(i64 158, i64 4131, i64 18)
; LARGE: define linkonce_odr hidden void @nputeir.lines.bf16.32.steps.avx512bf16.
; LARGE: call void @llvm.x86.tdpbf16ps(i8 0, i8 4, i8 6)
; LARGE: define linkonce_odr hidden i64 @nputeir.driver.3.bf16.bf16.f32.f32.0.0.amx.
; LARGE: call void @llvm.x86.sttilecfg(ptr %[[BEFORE:.*]])
; LARGE: call void @llvm.x86.ldtilecfg(ptr
; LARGE: call void @llvm.x86.ldtilecfg(ptr %[[BEFORE]])
; Threads are asked for by one function for all processors.
; LARGE: store ptr @nputeir_threads_1
; LARGE: call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(
; What packs pairs has one for all processors that do.
; LARGE: define linkonce_odr hidden i64 @nputeir.driver.bf16.bf16.step2.3.bf16.bf16.f32.f32.0.0.sse2
; LARGE: define linkonce_odr hidden void @nputeir.multiply.f32.14.avx512.
; LARGE: call <16 x float> @llvm.fma.v16f32(
; Loops stand as they shall be: nobody looks for induction variables.
; LARGE: freeze ptr
; LARGE: freeze i64
; What multiplies element by element has one driver for all processors.
; LARGE: define linkonce_odr hidden i64 @nputeir.driver.any.3.bf16.bf16.f32.f32.0.0.straight.sse2
; LARGE: define linkonce_odr hidden void @nputeir.multiply.f32.6.avx2.
; LARGE-NOT: @nputeir.multiply.{{.*}}.sse2.
; LARGE-NOT: @nputeir.driver
; LARGE-NOT: store ptr @nputeir_threads_1
; LARGE-NOT: @nputeir.small
; LARGE: attributes {{.*}} "tune-cpu"="generic"
; The kernel finds the tiles as its caller wants them.
; TILES: {{^}}nputeir.multiply.{{.*}}.amx.{{.*}}:
; TILES-NOT: ldtilecfg
; TILES-COUNT-4: tdpbf16ps
; TILES-NOT: ldtilecfg
; TILES: {{^}}.Lfunc_end
; OWN-NOT: .avx512.
; OWN: call i32 @nputeir.detect.
; OWN: call i32 @nputeir.permit.
; OWN: @nputeir.driver.3.bf16.bf16.f32.f32.0.0.amx.
; OWN: @nputeir.driver.bf16.bf16.step2.3.bf16.bf16.f32.f32.0.0.avx512bf16.
; OWN-NOT: .avx512.
; ELSEWHERE-NOT: .amx.
; BOTH: %nputeir.linked = icmp ne ptr @nputeir_call_1, null
; BOTH: nputeir.ask:
; BOTH-NEXT: br i1 %nputeir.linked, label %nputeir.offer, label %nputeir.cpu
; BOTH: nputeir.offer:
; BOTH: br i1 %nputeir.done, label %exit, label %nputeir.cpu
; BOTH: nputeir.cpu:
; BOTH-NEXT: %nputeir.said = phi i32 {{.*}}%nputeir.status, %nputeir.offer
; BOTH: %nputeir.asked = phi i32 [ 0, %entry ], [ %nputeir.said, %nputeir.cpu ], [ %nputeir.said, %nputeir.run ]
; OFF-NOT: nputeir.cpu
; Without the pass that defines it, the reference is null, and the loop runs.
; DECLARED: declare extern_weak i32 @nputeir.nest.{{[0-9]+}}(ptr, ptr, ptr)
; LAST: define internal i32 @nputeir.nest.

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
  %a.at = getelementptr [16 x bfloat], ptr %A, i64 %i, i64 %k
  %a = load bfloat, ptr %a.at
  %a.wide = fpext bfloat %a to float
  %b.at = getelementptr [8 x bfloat], ptr %B, i64 %k, i64 %j
  %b = load bfloat, ptr %b.at
  %b.wide = fpext bfloat %b to float
  %product = fmul fast float %a.wide, %b.wide
  %c.at = getelementptr [8 x float], ptr %C, i64 %i, i64 %j
  %c = load float, ptr %c.at
  %sum = fadd fast float %c, %product
  store float %sum, ptr %c.at
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
