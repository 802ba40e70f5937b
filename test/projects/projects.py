#!/usr/bin/env python3
"""projects.py NPUTEIR-CC [DIRECTORY] -- what the plugin takes of public projects.

Fetches the commits that projects.txt names into DIRECTORY (one folder for each
repository, OWNER+NAME; what is there is not fetched again), compiles the files
and prints one table: nests seen, taken, declined by rule.  Exit status 1 where
more or fewer are seen or taken than the list says, or a file does not compile;
77 where nothing could be fetched.  Results are not compared: a project's own
tests do that.
"""
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "projects.txt")


def rows():
    with open(LIST) as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                repository, commit, file, seen, taken, *flags = line.split()
                yield repository, commit, file, int(seen), int(taken), flags


def fetch(repository, commit, directory):
    """The folder of the repository; None: the network does not allow it."""
    folder = os.path.join(directory, repository.replace("/", "+"))
    if os.path.isdir(folder):
        return folder
    new = folder + ".new"
    url = "https://github.com/" + repository
    git = ["git", "-c", "advice.detachedHead=false", "-C", new]
    environment = dict(os.environ, GIT_TERMINAL_PROMPT="0")
    for command in (["git", "init", "-q", new],
                    git + ["fetch", "-q", "--depth", "1", url, commit],
                    git + ["checkout", "-q", "FETCH_HEAD"]):
        try:
            if subprocess.run(command, env=environment, timeout=300,
                              stderr=subprocess.DEVNULL).returncode != 0:
                return None
        except subprocess.TimeoutExpired:
            return None
    os.rename(new, folder)
    return folder


def compile_file(compiler, folder, file, flags):
    """Findings of the report; None: the compiler failed."""
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "report")
        environment = dict(os.environ, NPUTEIR_REPORT=report,
                           NPUTEIR_OPTIONS="min-macs=0,f32=bf16x3")
        command = [compiler, "-O2", "-ffast-math", "-w", *flags, "-c", file,
                   "-o", os.path.join(scratch, "object")]
        if subprocess.run(command, cwd=folder, env=environment, timeout=600,
                          stderr=subprocess.DEVNULL).returncode != 0:
            return None
        if not os.path.exists(report):
            return []
        with open(report) as lines:
            findings = [json.loads(line) for line in lines]
        return [f for f in findings if "function" in f]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    compiler = sys.argv[1]
    if not shutil.which(compiler):
        sys.exit(f"projects.py: there is no compiler {compiler}")
    directory = os.path.abspath(sys.argv[2] if len(sys.argv) > 2
                                else "projects")
    os.makedirs(directory, exist_ok=True)
    missing, wrong, compiled = set(), 0, 0
    all_seen = all_taken = 0
    rules = collections.Counter()
    for repository, commit, file, seen, taken, flags in rows():
        folder = None
        if repository not in missing:
            folder = fetch(repository, commit, directory)
        if not folder:
            if repository not in missing:
                print(f"skipped: {repository} cannot be fetched")
            missing.add(repository)
            continue
        compiled += 1
        found = compile_file(compiler, folder, file, flags)
        name = f"{repository} {file} {' '.join(flags)}".strip()
        if found is None:
            print(f"{name}: does not compile")
            wrong += 1
            continue
        declined = collections.Counter(
            f["rule"] for f in found if f["rule"] != "ContractionReplaced")
        here = len(found) - sum(declined.values())
        as_listed = len(found) == seen and here == taken
        wrong += not as_listed
        note = "" if as_listed else f"  NOT {seen} seen, {taken} taken"
        why = ", ".join(f"{n} {r}" for r, n in declined.most_common())
        print(f"{len(found):4} {here:4}  {name}  {why}{note}")
        all_seen += len(found)
        all_taken += here
        rules.update(declined)
    if not compiled:
        sys.exit(77)
    why = ", ".join(f"{n} {r}" for r, n in rules.most_common())
    print(f"{all_seen:4} {all_taken:4}  seen and taken in all; {why}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
