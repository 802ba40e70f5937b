#!/bin/sh
# assertions.sh NM [MODULE OBJECTS]..: do the objects of each module, one word
# with blanks between the files, call what reports a failed assertion?
nm=$1
status=0
shift
while [ $# -ge 2 ]; do
  # shellcheck disable=SC2086
  if ! "$nm" -u $2 2>/dev/null | grep -q __assert_fail; then
    echo "$1 was compiled without assertions"
    status=1
  fi
  shift 2
done
exit $status
