#!/bin/bash
# object_test.sh NPUTEIR -- `nputeir kernel --object`: relocatable objects of the
# AIE machine with one global function, which keeps what Peano's callers keep
# (lr is read by its return only), and a prototype.
nputeir=$1
. "$(dirname "$(readlink -f "$0")")/../../check.sh"
try() { # try PROTOTYPE WORDS..
  local prototype=$1
  shift
  "$nputeir" kernel "$@" --name mine --object k.o >out 2>err ||
    { fail "kernel $*: $(cat err)"; return; }
  [ "$(cat out)" = "void mine($prototype);" ] || fail "kernel $*: $(cat out)"
  [ "$(od -An -tx1 -N4 k.o | tr -d ' ')" = 7f454c46 ] || fail "$*: no ELF"
  # e_type 1: relocatable; e_machine 264: AIE
  [ "$(od -An -tu2 -j16 -N4 k.o | xargs)" = "1 264" ] || fail "$*: ELF kind"
  "$nputeir" dis k.o >text || fail "$*: not read back"
  grep -q '\.globl mine$' text || fail "$*: the function is not global"
  # A register that callers keep is saved first and restored last.
  sed 's|//.*||' text >code
  for register in p6 p7 sp r16 r17 r18 r19 r20 r21 r22 r23; do
    grep -w "$register" code >mentions || continue
    saved=$(sed -n "1s/.*mov \(r[0-9]*\), $register\b.*/\1/p" mentions)
    tail -n 1 mentions | grep -q "mov $register, ${saved:-nowhere}\b" ||
      fail "$*: $register, which its caller keeps, is not restored"
  done
  [ "$(sed 's|//.*||' text | grep -cw lr)" = 1 ] || fail "$*: lr"
  grep -qw 'ret lr' text || fail "$*: does not return"
}
gemm='const void *a, const void *b, void *c'
try "$gemm" gemm --m 64 --k 64 --n 64
try "$gemm" gemm --m 32 --k 32 --n 32 --types i8,i8,i32 --tall
try "$gemm" gemm --m 64 --k 64 --n 64 --types i8,i8,i8 --out srs=8
try "$gemm" gemm --m 20 --k 24 --n 28 --ta --tb
try "$gemm" gemm --m 16 --k 16 --n 16 --types f32,f32,f32
try "$gemm" gemm --m 64 --k 80 --n 64 --types bf16,bf16,bf16 --out conv --relu
try "$gemm" gemm --m 32 --k 32 --n 32 --types i16,i16,i64 --tc
try 'void *out' zero --bytes 4096
try 'const void *in, void *out' copy --rows 32 --columns 32 --block 4x8
try 'const void *a, const void *b, void *out' add --bytes 1024 --type f32
"$nputeir" kernel gemm --m 64 --k 64 --n 64 --steps 2 --object k.o 2>err
[ $? = 2 ] || fail "an object of several steps"
exit $((failures > 0))
