#!/usr/bin/env python3
"""tutorial.py TUTORIAL.md BUILD [--accept] -- runs the tutorial as written.

A block fenced as c is the file gemm.c.  Blocks fenced as console hold commands
behind "$ ", run one after the other in one empty folder, and what they print;
a line of three dots stands for any lines.  In blocks fenced as "console
measured" a number may be another one: cycles and sizes change with every better
schedule.  --accept writes what is printed today into the file.
"""
import os
import re
import subprocess
import sys
import tempfile

path, build = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
accept = sys.argv[3:] == ["--accept"]
text = open(path).read()
folder = tempfile.TemporaryDirectory()
environment = {k: v for k, v in os.environ.items()
               if not k.startswith("NPUTEIR_")}
environment["PATH"] = build + "/bin:" + environment["PATH"]
environment["LC_ALL"] = "C.UTF-8"
commands = failures = 0


def run(command):
    global commands
    commands += 1
    result = subprocess.run(["bash", "-c", command], cwd=folder.name,
                            env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, timeout=300)
    return result.returncode, result.stdout.decode().rstrip("\n")


def pattern(wanted, measured):
    def one(line):
        if line == "...":
            return None
        parts = re.split(r"(\d+(?:\.\d+)?)", line) if measured else [line]
        return "".join(r"\d+(?:\.\d+)?" if i % 2 else re.escape(p)
                       for i, p in enumerate(parts))
    out, lines = "", [one(line) for line in wanted.splitlines()]
    for line in lines:
        out += r"(?:.*\n)*" if line is None else line + r"\n"
    return out


def shown(wanted, printed):
    """What is printed, cut where the text has three dots."""
    if "..." not in wanted.splitlines():
        return printed
    head = wanted.splitlines().index("...")
    tail = len(wanted.splitlines()) - head - 1
    lines = printed.splitlines()
    return "\n".join(lines[:head] + ["..."] + lines[len(lines) - tail:])


def block(match):
    global failures
    measured, body = match.group(1), match.group(2)
    out = []
    for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
        command, _, wanted = part.partition("\n")
        while command.endswith("\\"):
            more, _, wanted = wanted.partition("\n")
            command += "\n" + more
        wanted = wanted.rstrip("\n")
        status, printed = run(command)
        if status or not re.fullmatch(pattern(wanted, measured),
                                      printed + "\n" if printed else ""):
            if status or not accept:
                failures += 1
                print(f"status {status} of: {command}\n{printed}\n"
                      f"--- the tutorial has\n{wanted}")
        printed = shown(wanted, printed)
        out.append(f"$ {command}\n" + (printed + "\n" if printed else ""))
    return f"```console{measured}\n" + "".join(out) + "```"


source = re.search(r"^```c\n(.*?)^```", text, re.S | re.M).group(1)
open(folder.name + "/gemm.c", "w").write(source)
new = re.sub(r"^```console( measured|)\n(.*?)^```", block, text,
             flags=re.S | re.M)
if accept:
    open(path, "w").write(new)
print(f"tutorial: {commands} commands, {failures} failed")
sys.exit(failures > 0 or commands < 10)
