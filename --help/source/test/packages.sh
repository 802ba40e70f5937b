#!/bin/bash
# packages.sh BUILD CLANG MATMUL.c -- the Debian packages of a build: what is in
# them, what they depend on, and that they work unpacked.  With
# NPUTEIR_TEST_INSTALL=1, as root, dpkg installs them into a folder of their own
# and removes them without a trace.
set -u
build=$(readlink -f "$1") clang=$2 source=$(readlink -f "$3")
for needed in dpkg-deb cpack; do
  command -v $needed >/dev/null || { echo "skipped: no $needed"; exit 77; }
done
. "$(dirname "$(readlink -f "$0")")/check.sh"
cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/packages" >log 2>&1 ||
  { tail -n 30 log; exit 1; }
for deb in packages/*.deb; do
  name=$(dpkg-deb --field "$deb" Package)
  mv "$deb" "$name.deb"
  dpkg-deb --contents "$name.deb" | sed 's/ -> .*//' |
    awk '$1 !~ /^d/ { print substr($6, 2) }' >"$name.files"
  dpkg-deb --field "$name.deb" Depends >"$name.depends"
  case $(dpkg-deb --field "$name.deb" Version) in
  "$("$build/bin/nputeir" --version | cut -d' ' -f2)") ;;
  *) fail "$name: another version than the tool's" ;;
  esac
done
major=$(ls nputeir-plugin-*.deb | head -n 1 | tr -dc 0-9)
has() { # has PACKAGE PATH..
  local name=$1
  shift
  for path; do
    grep -qE -- "^$path\$" "$name.files" || fail "$name lacks $path"
  done
}
has libnputeir-rt0 '/usr/lib/libnputeir-rt.so.0' '/usr/lib/libnputeir-rt.so.0.*' \
  /usr/share/man/man7/nputeir.7 /usr/share/doc/libnputeir-rt0/copyright
has "nputeir-plugin-$major" "/usr/lib/nputeir/llvm-$major/libnputeir.so"
has nputeir /usr/bin/nputeir /usr/bin/nputeir-cc /usr/bin/nputeir-c++ \
  /usr/lib/libnputeir-rt.so /usr/lib/libnputeir-rt.a /usr/lib/libnputeir.so \
  /usr/include/nputeir-rt.h /usr/lib/pkgconfig/nputeir.pc \
  /usr/lib/cmake/nputeir/nputeirConfig.cmake /usr/share/man/man1/nputeir.1 \
  /usr/share/man/man1/nputeir-nest.1 /usr/share/man/man5/teir.5 \
  /usr/share/bash-completion/completions/nputeir \
  /usr/share/zsh/site-functions/_nputeir /usr/share/doc/nputeir/CHANGELOG.md
grep -q '^libnputeir-rt0 (= ' nputeir.depends ||
  grep -q ', libnputeir-rt0 (= ' nputeir.depends ||
  fail "nputeir depends on: $(cat nputeir.depends)"
grep -q "nputeir-plugin-" nputeir.depends || fail "nputeir without a plugin"
grep -q "clang-$major" "nputeir-plugin-$major.depends" ||
  fail "the plugin without its clang"
if command -v dpkg-shlibdeps >/dev/null; then
  grep -q 'libc6 (>= ' libnputeir-rt0.depends || fail "the library without libc"
fi
sort ./*.files | uniq -d >both
[ ! -s both ] || fail "in two packages: $(cat both)"
grep -hv '^/usr/' ./*.files && fail "files outside of /usr"

# Unpacked, they find each other.
for deb in ./*.deb; do
  dpkg-deb -x "$deb" root
done
grep -q '^prefix=/usr$' root/usr/lib/pkgconfig/nputeir.pc ||
  fail "nputeir.pc: $(head -n 1 root/usr/lib/pkgconfig/nputeir.pc)"
root/usr/bin/nputeir nest "$source" | grep -q '^2 of 2 nests taken$' ||
  fail "the unpacked tool does not find its plugin"
NPUTEIR_CC=$clang root/usr/bin/nputeir-cc -O2 -ffast-math "$source" -o program ||
  fail "the unpacked nputeir-cc does not compile"
[ "$(NPUTEIR_DEVICE=sim NPUTEIR_TRACE=1 ./program 20 30 40 2>&1 |
  grep -c status=done)" = 2 ] || fail "what it compiles does not run"

if [ "${NPUTEIR_TEST_INSTALL:-}" = 1 ] && [ "$(id -u)" = 0 ]; then
  mkdir -p bare/var/lib/dpkg/updates bare/var/lib/dpkg/info
  touch bare/var/lib/dpkg/status
  (cd bare && find . -path ./var -prune -o -print) | sort >before
  # Dependencies are the host's.
  run_dpkg() {
    dpkg --root="$work/bare" --force-depends --force-script-chrootless "$@" \
      >log 2>&1 || { cat log; fail "dpkg $*"; }
  }
  run_dpkg -i ./*.deb
  [ -x bare/usr/bin/nputeir ] || fail "nothing is installed"
  run_dpkg --purge nputeir "nputeir-plugin-$major" libnputeir-rt0
  (cd bare && find . -path ./var -prune -o -print) | sort >after
  diff before after || fail "left behind"
else
  echo "not tried without root and NPUTEIR_TEST_INSTALL=1: installing"
fi
exit $((failures > 0))
