#!/usr/bin/env python3
"""projects.py NPUTEIR-CC [DIRECTORY] [WORD] -- what is taken of public projects.

projects.txt names them.  Their sources are taken from the folder that
NPUTEIR_PROJECTS names (one folder for each, OWNER+NAME), or else fetched into
DIRECTORY; what is there is not fetched again, and nothing there is written.
Each file is compiled, and each program of a project built and run without the
plugin and with it, on the interpreter and on the simulator.  With a WORD, only
projects in whose name it occurs.

One line a file: nests seen, how many of them sum products over matrices, taken,
and the rules by which others keep their code.  One line a program: calls done
by the device, and what differs.  Exit status 1 where more or fewer are seen or
taken than the list says, a file does not compile, or a program's output
differs; 77 where no project could be had.
"""
import collections
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "projects.txt")
OPTIONS = "min-macs=0,f32=bf16x3"
FLAGS = ["-O2", "-ffast-math", "-w", "-gline-tables-only"]
# Verdicts on loops that multiply no matrices.
NO_PRODUCTS = {"NoProduct", "NotProductSum"}
VECTORS = {"TooFewAxes", "AxisRoles"}  # and element-wise ones
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


class Project:
    def __init__(self, name, commit):
        self.name, self.commit = name, commit
        self.setup, self.files, self.runs = [], [], []


def read_list(name):
    """Projects in the order of the list."""
    projects = []
    flags, build = "", None
    with open(name) as lines:
        for at, line in enumerate(lines, 1):
            word, _, rest = line.strip().partition(" ")
            rest = rest.strip()
            if not word or word.startswith("#"):
                continue
            if word == "project":
                projects.append(Project(*rest.split()))
                flags, build = "", None
            elif word == "setup":
                projects[-1].setup.append(rest)
            elif word == "flags":
                flags = rest
            elif word == "nests":
                seen, taken, file = rest.split()
                row = int(seen), int(taken), file, flags
                projects[-1].files.append(row)
            elif word == "build":
                build = rest
            elif word == "run":
                calls, command = rest.split(None, 1)
                projects[-1].runs.append((int(calls), command, build))
            else:
                sys.exit(f"{name}:{at}: no such line: {word}")
    return projects


def fetch(project, directory):
    """The folder of the repository; None: it cannot be had."""
    name = project.name.replace("/", "+")
    if os.environ.get("NPUTEIR_PROJECTS"):
        folder = os.path.join(os.environ["NPUTEIR_PROJECTS"], name)
        return folder if os.path.isdir(folder) else None
    folder = os.path.join(directory, name)
    if os.path.isdir(folder):
        return folder
    new = folder + ".new"
    shutil.rmtree(new, ignore_errors=True)
    os.makedirs(directory, exist_ok=True)
    url = "https://github.com/" + project.name
    git = ["git", "-c", "advice.detachedHead=false", "-C", new]
    environment = dict(os.environ, GIT_TERMINAL_PROMPT="0")
    for command in (["git", "init", "-q", new],
                    git + ["fetch", "-q", "--depth", "1", url, project.commit],
                    git + ["checkout", "-q", "FETCH_HEAD"]):
        try:
            if subprocess.run(command, env=environment, timeout=300,
                              stderr=subprocess.DEVNULL).returncode != 0:
                return None
        except (OSError, subprocess.TimeoutExpired):
            return None
    os.rename(new, folder)
    return folder


def shell(command, folder, environment):
    """(status, stdout, stderr) of a command in the project's folder."""
    try:
        done = subprocess.run(["sh", "-ec", command], cwd=folder, timeout=600,
                              env=dict(os.environ, HERE=HERE, **environment),
                              stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace")
    except subprocess.TimeoutExpired:
        return "time", "", ""
    return done.returncode, done.stdout, done.stderr


def compile_file(compiler, folder, scratch, file, flags):
    """Findings of the report; None: the compiler failed."""
    report = os.path.join(scratch, "report")
    if os.path.exists(report):
        os.remove(report)
    words = " ".join([f'"{compiler}"', *FLAGS, flags, "-c", file])
    status, _, _ = shell(f'{words} -o "$S/object"', folder, {
        "S": scratch, "NPUTEIR_REPORT": report, "NPUTEIR_OPTIONS": OPTIONS})
    if status != 0:
        return None
    if not os.path.exists(report):
        return []
    with open(report) as lines:
        findings = [json.loads(line) for line in lines]
    return one_of_sides([f for f in findings if "function" in f])


def one_of_sides(findings):
    """A nest that is taken with either side of a condition counts once."""
    seen = set()
    once = []
    for f in findings:
        place = tuple(f.get(key) for key in ("function", "file", "line",
                                             "column"))
        if ", on " in f.get("by", "") and "line" in f:
            if place in seen:
                continue
            seen.add(place)
        once.append(f)
    return once


def same(expected, got):
    """Whether two outputs have the same words, and numbers that differ by no
    more than splitting floats into two of bf16 explains."""
    if NUMBER.sub("#", expected) != NUMBER.sub("#", got):
        return False
    pairs = list(zip(NUMBER.findall(expected), NUMBER.findall(got)))
    largest = max((abs(float(a)) for a, _ in pairs), default=0)
    return all(a == b or close(a, b, largest) for a, b in pairs)


def close(a, b, largest):
    """Whole numbers do not differ; the last of the decimals may."""
    decimals = re.search(r"\.(\d+)", a)
    if not decimals:
        return False
    last = 0 if "e" in a.lower() else 1.01 * 10.0**-len(decimals.group(1))
    return math.isclose(float(a), float(b), rel_tol=1e-3,
                        abs_tol=max(last, 1e-5 * largest))


def build_program(command, folder, environment):
    """What is wrong with it; None: nothing, or it has been built before."""
    if os.path.isdir(environment["S"]):
        return None
    os.mkdir(environment["S"])
    status, _, errors = shell(command, folder, environment)
    return f"does not build: {errors.strip()[:200]}" if status != 0 else None


def run_program(compilers, folder, scratch, calls, command, build):
    """What is wrong with a program's runs, and how many calls were done."""
    plain, plugin = compilers
    outputs, least = {}, None
    for device, compiler in (("none", plain), ("host", plugin),
                             ("sim", plugin)):
        built = f"{build}\n{compiler}".encode()
        environment = {"S": os.path.join(scratch, f"{zlib.crc32(built):x}"),
                       "CC": compiler, "CFLAGS": " ".join(FLAGS),
                       "NPUTEIR_OPTIONS": OPTIONS}
        wrong = build_program(build, folder, environment)
        if wrong:
            return [wrong], 0
        if device != "none":
            environment.update(NPUTEIR_DEVICE=device,
                               NPUTEIR_TRACE="summary")
        status, output, errors = shell(command, folder, environment)
        if status != 0:
            return [f"{device}: exit status {status}"], 0
        output += errors
        summary = re.search(r"summary calls=\d+ done=(\d+)", output)
        done = int(summary.group(1)) if summary else 0
        if device != "none":
            least = done if least is None else min(least, done)
        outputs[device] = "".join(line for line in output.splitlines(True)
                                  if not line.startswith("nputeir:"))
    wrong = [f"{device}: another output" for device in ("host", "sim")
             if not same(outputs["none"], outputs[device])]
    if least < calls:
        wrong.append(f"NOT {calls} calls")
    return wrong, least


class Table:
    def __init__(self):
        self.rules = collections.Counter()
        self.seen = self.products = self.taken = 0
        self.wrong = self.runs = self.projects = 0

    def file(self, project, row, found):
        seen, taken, file, flags = row
        name = f"{project.name} {file} {flags}".strip()
        if found is None:
            print(f"{name}: does not compile")
            self.wrong += 1
            return
        declined = collections.Counter(
            f["rule"] for f in found if f["rule"] != "ContractionReplaced")
        products = len(found) - sum(
            n for r, n in declined.items() if r in NO_PRODUCTS | VECTORS)
        here = len(found) - sum(declined.values())
        listed = len(found) == seen and here == taken
        self.wrong += not listed
        note = "" if listed else f"  NOT {seen} seen, {taken} taken"
        why = ", ".join(f"{n} {r}" for r, n in declined.most_common())
        print(f"{len(found):5}{products:6}{here:6}  {name}  {why}{note}",
              flush=True)
        self.seen += len(found)
        self.products += products
        self.taken += here
        self.rules.update(declined)

    def run(self, project, command, wrong, calls):
        self.runs += 1
        self.wrong += bool(wrong)
        what = "; ".join(wrong) if wrong else "same output"
        print(f"{calls:17}  {project.name}: {command}  {what}", flush=True)

    def end(self):
        why = ", ".join(f"{n} {r}" for r, n in self.rules.most_common())
        print(f"{self.seen:5}{self.products:6}{self.taken:6}  in "
              f"{self.projects} projects; {why}")
        print(f"{self.runs} programs run, {self.wrong} lines above are wrong")


def main():
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    compiler = shutil.which(sys.argv[1])
    if not compiler:
        sys.exit(f"projects.py: there is no compiler {sys.argv[1]}")
    compiler = os.path.abspath(compiler)
    release = subprocess.run([compiler, "-dumpversion"], text=True, check=True,
                             stdout=subprocess.PIPE).stdout.split(".")[0]
    plain = os.environ.get("NPUTEIR_CC", f"clang-{release}")
    directory = os.path.abspath(sys.argv[2] if len(sys.argv) > 2
                                else "projects")
    word = sys.argv[3] if len(sys.argv) > 3 else ""
    table = Table()
    print(" seen products taken")
    for project in read_list(LIST):
        if word not in project.name:
            continue
        folder = fetch(project, directory)
        if not folder:
            print(f"skipped: {project.name} cannot be had")
            continue
        table.projects += bool(project.files)
        with tempfile.TemporaryDirectory() as scratch:
            for command in project.setup:
                status, _, errors = shell(command, folder, {"S": scratch})
                if status != 0:
                    print(f"{project.name}: {command}: {errors.strip()}")
                    table.wrong += 1
            for row in project.files:
                table.file(project, row, compile_file(compiler, folder,
                                                      scratch, *row[2:]))
            for calls, command, build in project.runs:
                table.run(project, command, *run_program(
                    (plain, compiler), folder, scratch, calls, command, build))
    if not table.projects:
        sys.exit(77)
    table.end()
    sys.exit(1 if table.wrong else 0)


if __name__ == "__main__":
    main()
