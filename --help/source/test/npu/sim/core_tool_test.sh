#!/bin/sh
# nputeir core: figures, memory in and out, symbols, objects, trace, and exit
# statuses.  Arguments: the tool, a folder to work in.
tool=$1
mkdir -p "$2" && cd "$2" || exit 1
failed=0
expect() { # what, wanted, got
  [ "$2" = "$3" ] && return
  echo "$1: wanted '$2', got '$3'"
  failed=1
}
status() { # wanted exit status, words
  wanted=$1
  shift
  "$tool" core "$@" >out.txt 2>err.txt
  expect "status of core $*" "$wanted" $?
}
field() { sed -n "s/^$1=//p" out.txt; }

cat >add.s <<'END'
  .globl add
  .p2align 4
add:
  movxm r2, #step
  lda r1, [p0], #4
  nop
  nop
  nop
  nop
  nop
  nop
  add r1, r1, r2
  ret lr
  st r1, [p1], #4
  nop
  nop
  nop
  nop
END
printf '\005\000\000\000' >in.bin
words="--call add --define step=37 --set p0=0x70000 --set p1=0x74000
  --load 0x70000=in.bin --dump 0x74000:4=out.bin"

status 0 add.s $words
expect bundles 15 "$(field bundles)"
expect cycles 15 "$(field cycles)"
expect use_lda 0.0667 "$(field use_lda)"
expect result 42 "$(od -An -td4 out.bin | tr -d ' ')"

# The same program as an object, with the symbol left open.
"$tool" as add.s -o add.o || failed=1
rm out.bin
status 0 add.o $words --strict
expect "result of the object" 42 "$(od -An -td4 out.bin | tr -d ' ')"

# A line per cycle, before the figures.
status 0 add.s $words --trace
expect "trace lines" 15 "$(grep -c '^ ' out.txt)"

# A load and a store in one bank, and a lock.
cat >stall.s <<'END'
  mova r0, #-1
  acq #48, r0
  nop
  nop
  nop
  nop
  movxm p0, #0x70000
  vlda wl0, [p0, #0]; vst wl1, [p0, #64]
  nop
  nop
  nop
  nop
  nop
  nop
  done
END
status 0 stall.s --lock 48=1
expect stall_lock 1 "$(field stall_lock)"
expect stall_memory 1 "$(field stall_memory)"
status 1 stall.s
grep -q 'waits at 0x.* for lock 48' err.txt || { cat err.txt; failed=1; }

status 1 nowhere.s
status 1 add.s --call add # step is not defined
status 1 add.s --call sub --define step=1
status 1 add.s $words --set x0=1
status 1 add.s $words --cycles 3
status 1 add.s $words --load 0x90000=in.bin
status 2 add.s --bogus
status 2 add.s --set p0
status 2 add.s --cycles many
status 2 add.s --call
status 2
exit $failed
