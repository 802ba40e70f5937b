# packages.cmake -- Debian packages, by `cpack -G DEB`: the library that programs
# link (libnputeir-rt0), the plugin for each LLVM (nputeir-plugin-19, ..), and
# the tool with all that developers need (nputeir).
get_property(majors GLOBAL PROPERTY NPUTEIR_PLUGINS)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME nputeir)
set(CPACK_PACKAGE_VENDOR "nputeir")
set(CPACK_PACKAGE_CONTACT "nputeir's authors <nputeir@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "unmodified C on an AMD XDNA NPU")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_STRIP_FILES ON)
set(CPACK_SET_DESTDIR ON) # nputeir.pc names its prefix
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
find_program(SHLIBDEPS dpkg-shlibdeps)
if(SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
set(CPACK_COMPONENTS_ALL runtime tool)

# nputeir_package(<component> <package> <section> <summary> <depends>)
macro(nputeir_package component package section summary depends)
  string(TOUPPER "${component}" upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${summary}")
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}")
  install(FILES ${CMAKE_SOURCE_DIR}/LICENSE COMPONENT ${component}
    EXCLUDE_FROM_ALL DESTINATION share/doc/${package} RENAME copyright)
endmacro()

set(same "(= ${PROJECT_VERSION})")
nputeir_package(runtime libnputeir-rt0 libs
  "runs matrix products of programs compiled with nputeir on an AMD XDNA NPU" "")
set(tool_depends "libnputeir-rt0 ${same}")
foreach(major IN LISTS majors)
  list(APPEND CPACK_COMPONENTS_ALL plugin-${major})
  nputeir_package(plugin-${major} nputeir-plugin-${major} devel
    "clang-${major}'s plugin that moves matrix products to an AMD XDNA NPU"
    "clang-${major}")
  if(major EQUAL NPUTEIR_LLVM_MAJOR)
    string(APPEND tool_depends ", nputeir-plugin-${major} ${same}")
  endif()
endforeach()
nputeir_package(tool nputeir devel
  "compiles unmodified C for an AMD XDNA NPU, simulates it, and shows why"
  "${tool_depends}")
set(CPACK_DEBIAN_TOOL_PACKAGE_RECOMMENDS libopenblas0) # loaded when asked for
install(FILES ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${CMAKE_SOURCE_DIR}/README.md
  COMPONENT tool DESTINATION ${CMAKE_INSTALL_DOCDIR})
include(CPack)
