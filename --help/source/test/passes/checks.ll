; The checks that Rust puts into a nest: every index of a slice, and in a debug
; build every sum and product of indices.  Each is a way out that never returns.
; RUN: %opt -passes='nputeir' -verify-each -S %s | FileCheck %s
; RUN: %opt -passes='print<nputeir>' -disable-output %s | FileCheck %s --check-prefix=PRINT

; PRINT: nest in indices: mk,kn->mn
; PRINT: nest in arithmetic: mk,kn->mn
; PRINT: nest in sums: declined [BoundsCheck] whether a check inside the nest

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

declare void @panic(i64, i64) noreturn
declare void @overflow() noreturn
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)
declare { i64, i1 } @llvm.uadd.with.overflow.i64(i64, i64)
declare { i32, i1 } @llvm.sadd.with.overflow.i32(i32, i32)

; Every extent is asked for, and the largest index against every length; the
; loop that is kept still checks.
; CHECK-LABEL: @indices(
; CHECK-DAG: call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %{{.*}}, i64 %{{.*}})
; CHECK: nputeir.offer:
; CHECK: nputeir.kept:
; CHECK: icmp ult i64 %{{.*}}, %a.length
; CHECK: icmp ult i64 %{{.*}}, %b.length
; CHECK: call void @panic(
define void @indices(i64 %m, i64 %n, i64 %k, ptr %a, i64 %a.length, ptr %b, i64 %b.length, ptr %c) {
start:
  br label %i.head
i.head:
  %i = phi i64 [ 0, %start ], [ %i.next, %j.done ]
  %i.more = icmp ult i64 %i, %m
  br i1 %i.more, label %j.before, label %done
j.before:
  %i.next = add nuw i64 %i, 1
  %a.row = mul i64 %i, %k
  %c.row = mul i64 %i, %n
  br label %j.head
j.head:
  %j = phi i64 [ 0, %j.before ], [ %j.next, %l.done ]
  %j.more = icmp ult i64 %j, %n
  br i1 %j.more, label %l.before, label %j.done
l.before:
  %j.next = add nuw i64 %j, 1
  br label %l.head
l.head:
  %l = phi i64 [ 0, %l.before ], [ %l.next, %body ]
  %sum = phi i32 [ 0, %l.before ], [ %sum.next, %body ]
  %l.more = icmp ult i64 %l, %k
  br i1 %l.more, label %check.a, label %l.done
check.a:
  %l.next = add nuw i64 %l, 1
  %a.at = add i64 %a.row, %l
  %a.in = icmp ult i64 %a.at, %a.length
  br i1 %a.in, label %check.b, label %panic
check.b:
  %b.row = mul i64 %l, %n
  %b.at = add i64 %b.row, %j
  %b.in = icmp ult i64 %b.at, %b.length
  br i1 %b.in, label %body, label %panic
body:
  %a.place = getelementptr inbounds i8, ptr %a, i64 %a.at
  %a.byte = load i8, ptr %a.place
  %a.wide = sext i8 %a.byte to i32
  %b.place = getelementptr inbounds i8, ptr %b, i64 %b.at
  %b.byte = load i8, ptr %b.place
  %b.wide = sext i8 %b.byte to i32
  %product = mul i32 %a.wide, %b.wide
  %sum.next = add i32 %sum, %product
  br label %l.head
l.done:
  %c.at = add i64 %c.row, %j
  %c.place = getelementptr inbounds i32, ptr %c, i64 %c.at
  store i32 %sum, ptr %c.place
  br label %j.head
j.done:
  br label %i.head
done:
  ret void
panic:
  %at = phi i64 [ %a.at, %check.a ], [ %b.at, %check.b ]
  %length = phi i64 [ %a.length, %check.a ], [ %b.length, %check.b ]
  call void @panic(i64 %at, i64 %length)
  unreachable
}

; CHECK-LABEL: @arithmetic(
; CHECK: nputeir.offer:
; CHECK: nputeir.kept:
; CHECK: call { i64, i1 } @llvm.umul.with.overflow.i64(
; CHECK: call void @overflow(
define void @arithmetic(i64 %m, i64 %n, i64 %k, ptr %a, ptr %b, ptr %c) {
start:
  br label %i.head
i.head:
  %i = phi i64 [ 0, %start ], [ %i.next, %j.done ]
  %i.more = icmp ult i64 %i, %m
  br i1 %i.more, label %j.before, label %done
j.before:
  %i.next = add nuw i64 %i, 1
  br label %j.head
j.head:
  %j = phi i64 [ 0, %j.before ], [ %j.next, %l.done ]
  %j.more = icmp ult i64 %j, %n
  br i1 %j.more, label %l.before, label %j.done
l.before:
  %j.next = add nuw i64 %j, 1
  br label %l.head
l.head:
  %l = phi i64 [ 0, %l.before ], [ %l.next, %body ]
  %l.more = icmp ult i64 %l, %k
  br i1 %l.more, label %a.row, label %l.done
a.row:
  %l.next = add nuw i64 %l, 1
  %a.times = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %i, i64 %k)
  %a.over = extractvalue { i64, i1 } %a.times, 1
  br i1 %a.over, label %overflow, label %a.add
a.add:
  %a.first = extractvalue { i64, i1 } %a.times, 0
  %a.sum = call { i64, i1 } @llvm.uadd.with.overflow.i64(i64 %a.first, i64 %l)
  %a.far = extractvalue { i64, i1 } %a.sum, 1
  br i1 %a.far, label %overflow, label %b.row
b.row:
  %a.at = extractvalue { i64, i1 } %a.sum, 0
  %b.times = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %l, i64 %n)
  %b.over = extractvalue { i64, i1 } %b.times, 1
  br i1 %b.over, label %overflow, label %b.add
b.add:
  %b.first = extractvalue { i64, i1 } %b.times, 0
  %b.sum = call { i64, i1 } @llvm.uadd.with.overflow.i64(i64 %b.first, i64 %j)
  %b.far = extractvalue { i64, i1 } %b.sum, 1
  br i1 %b.far, label %overflow, label %body
body:
  %b.at = extractvalue { i64, i1 } %b.sum, 0
  %a.place = getelementptr inbounds i8, ptr %a, i64 %a.at
  %a.byte = load i8, ptr %a.place
  %a.wide = sext i8 %a.byte to i32
  %b.place = getelementptr inbounds i8, ptr %b, i64 %b.at
  %b.byte = load i8, ptr %b.place
  %b.wide = sext i8 %b.byte to i32
  %product = mul i32 %a.wide, %b.wide
  %c.row = mul i64 %i, %n
  %c.at = add i64 %c.row, %j
  %c.place = getelementptr inbounds i32, ptr %c, i64 %c.at
  %c.old = load i32, ptr %c.place
  %c.new = add i32 %c.old, %product
  store i32 %c.new, ptr %c.place
  br label %l.head
l.done:
  br label %j.head
j.done:
  br label %i.head
done:
  ret void
overflow:
  call void @overflow()
  unreachable
}

; Whether a sum of products overflows is not known before they are summed.
; CHECK-LABEL: @sums(
; CHECK-NOT: nputeir.kept
; CHECK: declare extern_weak
define void @sums(ptr %a, ptr %b, ptr %c) {
start:
  br label %i.head
i.head:
  %i = phi i64 [ 0, %start ], [ %i.next, %j.done ]
  %i.more = icmp ult i64 %i, 16
  br i1 %i.more, label %j.head, label %done
j.head:
  %j = phi i64 [ 0, %i.head ], [ %j.next, %l.done ]
  %j.more = icmp ult i64 %j, 16
  br i1 %j.more, label %l.head, label %j.done
l.head:
  %l = phi i64 [ 0, %j.head ], [ %l.next, %next ]
  %sum = phi i32 [ 0, %j.head ], [ %sum.next, %next ]
  %l.more = icmp ult i64 %l, 16
  br i1 %l.more, label %body, label %l.done
body:
  %a.place = getelementptr inbounds [16 x i8], ptr %a, i64 %i, i64 %l
  %a.byte = load i8, ptr %a.place
  %a.wide = sext i8 %a.byte to i32
  %b.place = getelementptr inbounds [16 x i8], ptr %b, i64 %l, i64 %j
  %b.byte = load i8, ptr %b.place
  %b.wide = sext i8 %b.byte to i32
  %product = mul i32 %a.wide, %b.wide
  %plain = add i32 %sum, %product
  %checked = call { i32, i1 } @llvm.sadd.with.overflow.i32(i32 %sum, i32 %product)
  %over = extractvalue { i32, i1 } %checked, 1
  br i1 %over, label %overflow, label %next
next:
  %sum.next = phi i32 [ %plain, %body ]
  %l.next = add nuw i64 %l, 1
  br label %l.head
l.done:
  %c.place = getelementptr inbounds [16 x i32], ptr %c, i64 %i, i64 %j
  store i32 %sum, ptr %c.place
  %j.next = add nuw i64 %j, 1
  br label %j.head
j.done:
  %i.next = add nuw i64 %i, 1
  br label %i.head
done:
  ret void
overflow:
  call void @overflow()
  unreachable
}
