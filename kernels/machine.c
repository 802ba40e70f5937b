/* machine.c -- the instruction sets that kernels are made for, from insn.def
 * and mem.def. */
#include "kernel_trace.h"

/* clang-format off */
static const struct kernel_machine machine[] = { /* by isa_number */
  {
    .isa = "aie2",
    .insn = {
#define ROLE(does, aie2, aie2p) [KERNEL_##does] = INSN_##aie2,
#include "insn.def"
    },
    .form = {
#define MEM(kind, base, two_d, ...)                                            \
  [MEM_##kind] = {INSN_##base##_POST, INSN_##base##_INC, INSN_##two_d},
#include "mem.def"
#undef MEM
    },
    .access_bytes = 32,
    .rounding = "crRnd",
    .saturation = "crSat",
    .srs_sign = "crSRSSign",
    .ups_sign = "crUPSSign",
  },
  {
    .isa = "aie2p",
    .insn = {
#define ROLE(does, aie2, aie2p) [KERNEL_##does] = AIE2P_##aie2p,
#include "insn.def"
    },
    .form = {
#define MEM(kind, base2, two_d2, base, two_d)                                  \
  [MEM_##kind] = {AIE2P_##base##_POST, AIE2P_##base##_INC, AIE2P_##two_d},
#include "mem.def"
#undef MEM
    },
    .access_bytes = 64,
    .rounding = "crrnd",
    .saturation = "crsat",
    .srs_mode = "crsrsmode",
    .ups_mode = "crupsmode",
    .few_sums = true,
    .branches = true,
  },
};
/* clang-format on */

const struct kernel_machine *kernel_machine(const struct isa *isa) {
  size_t i = isa ? (size_t)isa_number(isa) : 0;
  return i < sizeof machine / sizeof *machine ? &machine[i] : NULL;
}
