#!/usr/bin/env python3
"""Writes compile_commands.json for clangd and clang-tidy, from what Bazel would run.

Usage: tools/compdb.py [TARGET...]      (default: //...)
Bazel is asked and builds nothing: build first, so that generated headers exist.
"""
import json
import os
import subprocess
import sys

# What gcc knows and clang does not.
GCC_ONLY = {"-fno-canonical-system-headers", "-Wno-free-nonheap-object",
            "-Wunused-but-set-parameter", "-Wno-maybe-uninitialized"}
# Flags that say where files are written or what is found beside them.
OUTPUT_WITH_VALUE = {"-o", "-MF"}
OUTPUT = {"-MD", "-MMD"}


def bazel(root, *args):
    result = subprocess.run(["bazel", *args], cwd=root, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit("compdb: bazel %s failed:\n%s" % (args[0], result.stderr))
    return result.stdout


def absolute(path, root, info):
    """Bazel's paths start in its execution root, whose links come and go; these stay."""
    first = path.split("/")[0]
    if first == "bazel-out":
        return os.path.join(info["output_path"], *path.split("/")[1:])
    if first == "external":
        return os.path.join(info["output_base"], path)
    return root if path == "." else os.path.join(root, path)


def command(arguments, root, info):
    """clang's version of one compilation's arguments."""
    out = []
    previous = ""
    for argument in arguments:
        if previous in ("-I", "-iquote", "-isystem", "-c"):
            argument = absolute(argument, root, info)
        elif argument.startswith("-I") and len(argument) > 2:
            argument = "-I" + absolute(argument[2:], root, info)
        elif argument in GCC_ONLY | OUTPUT or previous in OUTPUT_WITH_VALUE:
            argument, previous = None, ""
        elif argument in OUTPUT_WITH_VALUE:
            argument, previous = None, argument
        if argument is not None:
            out.append(argument)
            previous = argument
    return out


def entries(root, targets):
    info = dict(line.split(": ", 1) for line in bazel(root, "info").splitlines())
    query = 'mnemonic("CppCompile", deps(set(%s)))' % " ".join(targets)
    graph = json.loads(bazel(root, "aquery", "--output=jsonproto", "--include_artifacts=false",
                             "--noimplicit_deps", query))
    for action in graph.get("actions", []):
        arguments = action["arguments"]
        source = arguments[arguments.index("-c") + 1]
        if not source.startswith(("external/", "bazel-out/")):
            yield {"directory": root, "file": os.path.join(root, source),
                   "arguments": command(arguments, root, info)}


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    by_file = {e["file"]: e for e in entries(root, sys.argv[1:] or ["//..."])}
    path = os.path.join(root, "compile_commands.json")
    with open(path + ".new", "w", encoding="utf-8") as f:
        json.dump([by_file[name] for name in sorted(by_file)], f, indent=1)
    os.replace(path + ".new", path)
    print("compile_commands.json: %d files" % len(by_file))


if __name__ == "__main__":
    main()
