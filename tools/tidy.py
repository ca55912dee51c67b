#!/usr/bin/env python3
"""Runs clang-tidy (.clang-tidy) over what compile_commands.json lists.

Usage: tools/compdb.py && tools/tidy.py [FILE...]
Without FILEs, tests and what includes LibTorch are left out: GoogleTest's macros and LibTorch's
headers would take most of the time. Prints the findings and ends with 1 if there are any.
"""
import concurrent.futures
import json
import os
import subprocess
import sys
import time

SECONDS_MAX = 300  # for one file


def check(root, path):
    """Returns (seconds, findings) of one file."""
    start = time.monotonic()
    try:
        result = subprocess.run(["clang-tidy-14", "--quiet", "-p", root, path], cwd=root, check=False,
                                capture_output=True, text=True, timeout=SECONDS_MAX)
        # Without findings it still counts the warnings in system headers on stderr.
        findings = result.stdout if result.returncode == 0 else result.stdout + result.stderr
    except subprocess.TimeoutExpired:
        findings = "%s: clang-tidy took more than %d s\n" % (path, SECONDS_MAX)
    return time.monotonic() - start, findings


def in_default(entry):
    return not (entry["file"].endswith("_test.cc")
                or any("/external/torch/" in a for a in entry["arguments"]))


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with open(os.path.join(root, "compile_commands.json"), encoding="utf-8") as f:
        database = json.load(f)
    wanted = {os.path.abspath(p) for p in sys.argv[1:]}
    paths = [e["file"] for e in database
             if (e["file"] in wanted if wanted else in_default(e))]
    found = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, (seconds, findings) in zip(paths, pool.map(lambda p: check(root, p), paths)):
            if findings.strip():
                found += 1
                print(findings, end="", flush=True)
            if sys.stdout.isatty():
                print("tidy: %s %.1f s" % (os.path.relpath(path, root), seconds), file=sys.stderr)
    print("tidy: %d files, %d of them with findings" % (len(paths), found))
    return 1 if found or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
