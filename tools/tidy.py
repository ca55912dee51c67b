#!/usr/bin/env python3
"""Runs clang-tidy (.clang-tidy) over what compile_commands.json lists.

Usage: tools/compdb.py && tools/tidy.py [--record] [FILE...]
Without FILEs, tests and what includes LibTorch are left out: GoogleTest's macros and LibTorch's
headers would take most of the time. A file that tools/tidy_clean.txt lists with the digest that it
has now (of itself, the repository's headers that it includes, its flags and .clang-tidy) was found
clean as it is, and is not looked at again. --record lists there what has been found clean; a file
named as FILE is always looked at. Prints the findings and ends with 1 if there are any.
"""
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import time

SECONDS_MAX = 300  # for one file
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


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


class Digests:
    """Of files with all of the repository's text that clang-tidy reads through them."""

    def __init__(self, root):
        self.root = root
        self.texts = {}

    def text(self, path):
        if path not in self.texts:
            try:
                with open(os.path.join(self.root, path), encoding="utf-8") as f:
                    self.texts[path] = f.read()
            except FileNotFoundError:
                self.texts[path] = None  # not the repository's
        return self.texts[path]

    def closure(self, path):
        seen, todo = set(), [path]
        while todo:
            current = todo.pop()
            if current in seen:
                continue
            # A generated header says what its .proto says.
            source = re.sub(r"(\.grpc)?\.pb\.h$", ".proto", current)
            text = self.text(source)
            if text is None:
                continue
            seen.add(source)
            seen.add(current)
            todo += INCLUDE.findall(text)
            todo += re.findall(r'^import "([^"]+)"', text, re.MULTILINE)
        return sorted(p for p in seen if self.text(p) is not None)

    def of(self, entry):
        path = os.path.relpath(entry["file"], self.root)
        flags = [a for a in entry["arguments"] if "/" not in a]
        parts = [self.text(".clang-tidy"), " ".join(flags)]
        parts += ["%s\n%s" % (p, self.text(p)) for p in self.closure(path)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def read_clean(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as f:
        return dict(reversed(line.split()) for line in f if line.strip())


def write_clean(path, clean):
    with open(path, "w", encoding="utf-8") as f:
        f.writelines("%s %s\n" % (clean[name], name) for name in sorted(clean))


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with open(os.path.join(root, "compile_commands.json"), encoding="utf-8") as f:
        database = json.load(f)
    arguments = [a for a in sys.argv[1:] if a != "--record"]
    wanted = {os.path.abspath(p) for p in arguments}
    entries = [e for e in database if (e["file"] in wanted if wanted else in_default(e))]
    digests = Digests(root)
    clean_path = os.path.join(root, "tools", "tidy_clean.txt")
    clean = read_clean(clean_path)
    now = {os.path.relpath(e["file"], root): digests.of(e) for e in entries}
    paths = [p for p in now if wanted or clean.get(p) != now[p]]
    found = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, (seconds, findings) in zip(paths, pool.map(lambda p: check(root, p), paths)):
            clean.pop(path, None)
            if findings.strip():
                found += 1
                print(findings, end="", flush=True)
            else:
                clean[path] = now[path]
            if sys.stdout.isatty():
                print("tidy: %s %.1f s" % (path, seconds), file=sys.stderr)
    if "--record" in sys.argv:
        write_clean(clean_path, {p: d for p, d in clean.items() if digests.text(p) is not None})
    print("tidy: %d files, %d of them found clean before as they are, %d with findings" %
          (len(entries), len(entries) - len(paths), found))
    return 1 if found or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
