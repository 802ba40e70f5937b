#!/usr/bin/env python3
"""mutants.py FOLDER [MODULE..] -- puts one bug of mutants.list after the other
into a copy of the sources, builds the tests that should catch it, runs them, and
names those that survived.  --check only looks whether the list fits the sources:
every text occurs once, and every module has five bugs and more.  CMAKE_FLAGS are
options for the copy's configuration."""
import json
import os
import re
import shutil
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIST = os.path.join(SOURCE, "test", "mutants.list")
MODULES = """base recognizer teir passes npu/elf npu/isa npu/asm kernels npu/array
npu/image npu/map npu/design npu/sim npu/check npu/run npu/tool""".split()
LEAST, SECONDS = 5, 300


class Mutant:
    def __init__(self, line, file, tests):
        self.line, self.file, self.tests = line, file, tests
        self.module = max((m for m in MODULES if file.startswith(m + "/")),
                          key=len, default=None)
        self.old = self.new = ""


def read_list():
    mutants = []
    for number, line in enumerate(open(LIST), 1):
        text = line.rstrip("\n")
        if text.startswith("#") or not text:
            continue
        if text.startswith("- "):
            mutants[-1].old += text[2:] + "\n"
        elif text.startswith("+ "):
            mutants[-1].new += text[2:] + "\n"
        else:
            mutants.append(Mutant(number, *text.split(None, 1)))
    for m in mutants:
        m.old, m.new = m.old.strip("\n"), m.new.strip("\n")
    return mutants


def problems(mutants):
    for m in mutants:
        path = os.path.join(SOURCE, m.file)
        count = open(path).read().count(m.old) if os.path.exists(path) else 0
        if not m.module or not m.old or m.old == m.new or count != 1:
            yield "mutants.list:%d: %s has the text %d times, not once" % (
                m.line, m.file, count)
    for module in MODULES:
        count = sum(m.module == module for m in mutants)
        if count < LEAST:
            yield "%s has %d mutants, not %d" % (module, count, LEAST)


def copy_sources(to):
    """What has not changed keeps its time, so that it is not built again; what
    is gone, or has another name, goes, too."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=SOURCE, check=True,
                           stdout=subprocess.PIPE).stdout.decode().split("\0")
    for folder, _, files in os.walk(to):
        for file in files:
            path = os.path.join(folder, file)
            name = os.path.relpath(path, to)
            if name not in names or not os.path.isfile(os.path.join(SOURCE, name)):
                os.remove(path)
    for name in filter(None, names):
        old, new = os.path.join(SOURCE, name), os.path.join(to, name)
        if not os.path.isfile(old):
            continue
        os.makedirs(os.path.dirname(new), exist_ok=True)
        if not os.path.exists(new) or open(old, "rb").read() != open(new, "rb").read():
            shutil.copy(old, new)
    rules = os.path.join(to, "CMakeLists.txt")
    text = open(rules).read()  # a bug may leave something that nobody uses
    open(rules, "w").write(text.replace(" -Werror", ""))


def run(command, log):
    log.write("\n== %s\n" % " ".join(command))
    log.flush()
    return subprocess.run(command, stdout=log, stderr=log).returncode == 0


def tests_of(build, regex):
    out = subprocess.run(["ctest", "--test-dir", build, "-R", regex,
                          "--show-only=json-v1"], stdout=subprocess.PIPE).stdout
    return [t["name"] for t in json.loads(out)["tests"]]


def targets_of(build, tests):
    known = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"],
                           stdout=subprocess.PIPE).stdout.decode()
    known = set(re.findall(r"^([\w-]+): phony", known, re.M))
    units = [t for t in tests if t in known]
    if len(units) == len(tests):
        return units
    rest = ["nputeir", "nputeir-rt", "nputeir-rt-static", "nputeir-plugin",
            "nputeir-test-runtime"]
    return units + [t for t in rest if t in known]


def verdict(m, copy, build, log):
    tests = tests_of(build, m.tests)
    if not tests:
        return "no test is called " + m.tests
    path = os.path.join(copy, m.file)
    good = open(path).read()
    try:
        open(path, "w").write(good.replace(m.old, m.new))
        if not run(["ninja", "-C", build] + targets_of(build, tests), log):
            return "does not build"
        passed = run(["ctest", "--test-dir", build, "-R", m.tests, "--timeout",
                      str(SECONDS), "--stop-on-failure"], log)
        return "SURVIVED" if passed else "caught"
    finally:
        open(path, "w").write(good)


def main():
    args = sys.argv[1:]
    if args != ["--check"] and (not args or args[0].startswith("-")):
        print(__doc__)
        return 0 if args in (["-h"], ["--help"]) else 2
    mutants = read_list()
    stale = list(problems(mutants))
    print("\n".join(stale) if stale else "%d mutants" % len(mutants))
    if stale or args == ["--check"]:
        return 1 if stale else 0
    folder, modules = args[0], args[1:] or MODULES
    unknown = [m for m in modules if m not in MODULES]
    if unknown:
        print("mutants: there is no module '%s'; there are %s" % (
            unknown[0], ", ".join(MODULES)))
        return 2
    copy, build = os.path.join(folder, "source"), os.path.join(folder, "build")
    copy_sources(copy)
    flags = os.environ.get("CMAKE_FLAGS", "").split()
    counts = {}
    with open(os.path.join(folder, "log.txt"), "w") as log:
        if not run(["cmake", "-G", "Ninja", "-S", copy, "-B", build] + flags, log):
            print("cmake failed; see", log.name)
            return 1
        for m in (m for m in mutants if m.module in modules):
            found = verdict(m, copy, build, log)
            counts[found] = counts.get(found, 0) + 1
            if found != "caught":
                print("%s: mutants.list:%d %s: %s -> %s" % (
                    found, m.line, m.file, m.old.strip(), m.new.strip()))
            sys.stdout.flush()
    print(", ".join("%d %s" % (n, found) for found, n in sorted(counts.items())))
    return 0 if set(counts) <= {"caught"} else 1


sys.exit(main())
