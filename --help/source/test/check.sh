# check.sh -- for test scripts, which source it first: an empty folder, $work, in
# which the script is from here on and which goes at its end, no option of the
# environment, and a count of failures.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset NPUTEIR_DEVICE NPUTEIR_OPTIONS NPUTEIR_REPORT NPUTEIR_TRACE
failures=0
fail() {
  echo "${0##*/}: $1"
  failures=$((failures + 1))
}
