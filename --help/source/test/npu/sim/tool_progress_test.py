#!/usr/bin/env python3
"""tool_progress_test.py NPUTEIR FOLDER -- a long simulation on a terminal shows
how far it has come, and Ctrl-C ends it with what was measured; a pipe gets
neither."""
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

nputeir, folder = sys.argv[1:]
LONG = "4096x4096x4096"  # far longer than this test waits


def run(words, terminal, seconds):
    """Interrupts after so many seconds of progress, or of anything; returns
    status, standard output, standard error."""
    ours, theirs = pty.openpty() if terminal else os.pipe()
    child = subprocess.Popen([nputeir] + words, stdout=subprocess.PIPE,
                             stderr=theirs)
    os.close(theirs)
    errors, start, interrupted = b"", time.time(), False
    while True:
        ready, _, _ = select.select([ours], [], [], 0.05)
        try:
            more = os.read(ours, 4096) if ready else None
        except OSError:  # the terminal's other end was closed
            more = b""
        if more == b"":
            break
        errors += more or b""
        shown = not terminal or b"%" in errors
        if not interrupted and time.time() - start > seconds and shown:
            child.send_signal(signal.SIGINT)
            interrupted = True
        if time.time() - start > 60:
            child.kill()
    out = child.stdout.read().decode()
    return child.wait(), out, errors.decode()


def check(condition, *what):
    if not condition:
        print(*what)
        sys.exit(1)


status, out, errors = run(["sim", LONG], True, 2.5)
check(status == 1, "sim: status", status, errors)
check(re.search(r"\r.*\d+ %  cycle \d+", errors), "no progress:", errors)
check(re.search(r"error: stopped in cycle \d+, at transaction op", errors),
      "no reason:", errors)
check(re.search(r"^cycles=[1-9]\d*$", out, re.M), "no report:", out)
check("right=" not in out, "results of half a run are right:", out)

status, out, errors = run(["profile", LONG, "-o", folder], False, 2.5)
check(status == 1, "profile: status", status, errors)
check("%  cycle" not in errors, "progress in a pipe:", errors)
check("limit: Not finished: stopped in cycle" in out, "no profile:", out)
page = open(os.path.join(folder, "profile.html")).read()
check("Not finished: stopped in cycle" in page, "no page")
