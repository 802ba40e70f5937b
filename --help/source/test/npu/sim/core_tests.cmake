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
  nputeir_test(core_aie2p_test SOURCES core_aie2p_test.c USES simcore asm m)
  nputeir_test(core_convert_test SOURCES core_convert_test.c USES simcore asm m)
  nputeir_test(core_strict_test SOURCES core_strict_test.c USES simcore asm)
  nputeir_test(core_forms_test SOURCES core_forms_test.c USES simcore asm)
endif()
if(TARGET nputeir)
  add_test(NAME core_tool_test COMMAND
    ${CMAKE_CURRENT_SOURCE_DIR}/core_tool_test.sh $<TARGET_FILE:nputeir>
    ${CMAKE_CURRENT_BINARY_DIR}/core_tool)
endif()
