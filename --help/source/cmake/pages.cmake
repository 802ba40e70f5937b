# pages.cmake -- manual pages of nputeir and its commands, and what bash and zsh
# complete, as the tool prints them.  TOOL; COMMANDS, the list of commands; OUT,
# a folder.
function(print file)
  execute_process(COMMAND ${TOOL} help ${ARGN} OUTPUT_FILE ${OUT}/${file}
    RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "nputeir help ${ARGN}: status ${status}")
  endif()
endfunction()

file(REMOVE_RECURSE ${OUT})
file(MAKE_DIRECTORY ${OUT})
file(STRINGS ${COMMANDS} rows REGEX "^COMMAND\\(")
foreach(row IN LISTS rows)
  string(REGEX REPLACE "COMMAND\\((.*)\\)" "\\1" name "${row}")
  print(nputeir-${name}.1 --man ${name})
endforeach()
print(nputeir.bash --completion bash)
print(_nputeir --completion zsh)
print(nputeir.1 --man)
