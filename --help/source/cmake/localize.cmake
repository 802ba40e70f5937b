# Makes one object of all modules in which only the public symbols are global, so
# that the static library cannot collide with names of the program it is linked
# into.  cmake -DLD=.. -DOBJCOPY=.. -DOUT=.. -DEXPORTS=.. -DARCHIVES=a;b -P ...
string(REPLACE "," ";" ARCHIVES "${ARCHIVES}")
execute_process(COMMAND ${LD} -r -o ${OUT} --whole-archive ${ARCHIVES}
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${OBJCOPY} --keep-global-symbols=${EXPORTS} ${OUT}
  COMMAND_ERROR_IS_FATAL ANY)
