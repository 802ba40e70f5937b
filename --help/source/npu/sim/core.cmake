# The processor of one compute tile, for npu/sim/CMakeLists.txt to include.
nputeir_module(simcore SOURCES
  core.c core_decode.c core_state.c core_strict.c
  sem_scalar.c sem_memory.c sem_vector.c sem_convert.c sem_multiply.c
  sem_stream.c core_block.c sem_wide.c sem_wide_convert.c sem_wide_multiply.c
  arith_float.c arith_int.c arith_shuffle.c arith_block.c arith_best.c
  arith_avx2.c arith_avx512.c
  USES base isa array)
