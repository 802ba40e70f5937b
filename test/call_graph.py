#!/usr/bin/env python3
"""call_graph.py BUILD [--arcs] -- which files of a module need which others.

The files of a module form layers: a driver calls its parts, and parts never
call back.  `nm` over the objects in BUILD tells what each file defines and what
it takes from others; files that need each other in a circle are an error.

--arcs prints every arc instead, as `module: one.c -> another.c`."""
import os
import re
import subprocess
import sys

def objects(build):
    """{module: {source: object}}; a module is one target of the build"""
    found = {}
    with open(os.path.join(build, "build.ninja")) as f:
        made = set(re.findall(r"^build (\S+\.o):", f.read(), re.M))
    for folder, _, files in os.walk(build):
        if "/CMakeFiles/" not in folder or ".dir" not in folder:
            continue
        place, rest = folder[len(build):].strip("/").split("/CMakeFiles/", 1)
        target = place if rest.startswith("dir") else rest.split(".dir")[0]
        module = (place, target)
        inside = rest.split(".dir", 1)[1].strip("/")
        for f in files:
            if f.endswith((".c.o", ".cpp.o")):
                source = os.path.join(inside, f[:-2])
                if os.path.relpath(os.path.join(folder, f), build) not in made:
                    continue  # of an earlier build
                found.setdefault(module, {})[source] = os.path.join(folder, f)
    return {place if not any(p == place and t < target for p, t in found)
            else "%s (%s)" % (place, target): files
            for (place, target), files in sorted(found.items())
            if not place.startswith("test")
            and not re.search(r"-\d+$", target)}  # the same for another LLVM


def arcs(files):
    """{source: sources that it needs}"""
    home, needs = {}, {}
    source_of = {path: source for source, path in files.items()}
    text = subprocess.run(["nm", "-Ag"] + sorted(source_of), check=True,
                          capture_output=True, text=True).stdout
    for line in text.splitlines():
        path, symbol = line.split(":", 1)
        kind, name = symbol[17:].split(" ", 1)
        if kind == "U":
            needs.setdefault(source_of[path], set()).add(name)
        elif kind in "TDBRG":
            home[name] = source_of[path]
    return {s: {home[n] for n in needs.get(s, ()) if n in home} - {s}
            for s in files}


def circles(graph):
    """the strongly connected components of more than one file (Tarjan)"""
    order, low, stack, found = {}, {}, [], []

    def visit(v):
        order[v] = low[v] = len(order)
        stack.append(v)
        for w in sorted(graph[v]):
            if w not in order:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], order[w])
        if low[v] == order[v]:
            at = stack.index(v)
            if len(stack) - at > 1:
                found.append(frozenset(stack[at:]))
            del stack[at:]

    for v in sorted(graph):
        if v not in order:
            visit(v)
    return found


def main():
    sys.setrecursionlimit(10000)
    graphs = {m: arcs(files) for m, files in objects(sys.argv[1]).items()}
    if "--arcs" in sys.argv:
        for module, graph in graphs.items():
            for s in sorted(graph):
                for t in sorted(graph[s]):
                    print("%s: %s -> %s" % (module, s, t))
        return 0
    found = 0
    for module, graph in graphs.items():
        for circle in circles(graph):
            found += 1
            print("%s: these files need each other: %s"
                  % (module, " ".join(sorted(circle))))
            for s in sorted(circle):
                print("  %s -> %s" % (s, " ".join(sorted(graph[s] & circle))))
    print("%d modules, %d files, %d circles"
          % (len(graphs), sum(map(len, graphs.values())), found))
    return 1 if found else 0


sys.exit(main())
