; A counter in memory that is read and written by way of addresses of its own,
; which are computed in the loop: what reads it in front of the loop has one that
; is known there.
; RUN: %opt -passes='nputeir<device=npu1>' -verify-each -S %s | FileCheck %s
; RUN: %opt -passes='print<nputeir>' -disable-output %s | FileCheck %s --check-prefix=PRINT

; PRINT: nest in nested: mk,kn->mn

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

%counts = type { i32, i32, i32 }

; CHECK-LABEL: @nested(
; CHECK: %[[AT:.*]] = getelementptr inbounds %counts, ptr %p, i64 0, i32 2
; CHECK: load i32, ptr %[[AT]]
; CHECK: call i32 @nputeir_call_1
define void @nested(ptr noalias %p, i64 %n, ptr noalias %a, ptr noalias %b, ptr noalias %c) {
entry:
  br label %i
i:
  %x = phi i64 [ 0, %entry ], [ %x.next, %i.end ]
  %row = mul nsw i64 %x, %n
  br label %j
j:
  %y = phi i64 [ 0, %i ], [ %y.next, %j.end ]
  %c.index = add nsw i64 %row, %y
  %c.at = getelementptr inbounds i32, ptr %c, i64 %c.index
  br label %k
k:
  %z = phi i64 [ 0, %j ], [ %z.next, %k ]
  %inner = getelementptr inbounds i8, ptr %p, i64 4
  %read.at = getelementptr inbounds i8, ptr %inner, i64 4
  %old = load i32, ptr %read.at
  %new = add nsw i32 %old, 1
  %a.index = add nsw i64 %row, %z
  %a.at = getelementptr inbounds i32, ptr %a, i64 %a.index
  %a.value = load i32, ptr %a.at
  %b.row = mul nsw i64 %z, %n
  %b.index = add nsw i64 %b.row, %y
  %b.at = getelementptr inbounds i32, ptr %b, i64 %b.index
  %b.value = load i32, ptr %b.at
  %product = mul nsw i32 %a.value, %b.value
  %sum = load i32, ptr %c.at
  %sum.next = add nsw i32 %sum, %product
  store i32 %sum.next, ptr %c.at
  %write.at = getelementptr inbounds %counts, ptr %p, i64 0, i32 2
  store i32 %new, ptr %write.at
  %z.next = add nuw nsw i64 %z, 1
  %z.more = icmp slt i64 %z.next, %n
  br i1 %z.more, label %k, label %j.end
j.end:
  %y.next = add nuw nsw i64 %y, 1
  %y.more = icmp slt i64 %y.next, %n
  br i1 %y.more, label %j, label %i.end
i.end:
  %x.next = add nuw nsw i64 %x, 1
  %x.more = icmp slt i64 %x.next, %n
  br i1 %x.more, label %i, label %out
out:
  ret void
}
