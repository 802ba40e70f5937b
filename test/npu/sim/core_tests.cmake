# Unit tests of the core (npu/sim/core.h).
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(JANSSON QUIET IMPORTED_TARGET jansson)
endif()
if(TARGET PkgConfig::JANSSON)
  nputeir_test(core_arith_test SOURCES core_arith_test.c
    USES simcore PkgConfig::JANSSON m)
endif()
if(TARGET asm)
  nputeir_test(core_test SOURCES core_test.c USES simcore asm)
  nputeir_test(core_strict_test SOURCES core_strict_test.c USES simcore asm)
  nputeir_test(core_forms_test SOURCES core_forms_test.c USES simcore asm)
endif()
