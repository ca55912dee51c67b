#!/usr/bin/env python3
"""Checks the rules of this repository that no general tool knows.

Usage: tools/lint.py [FILE...]      (default: every file that git tracks or would track)
Prints one line for each finding, `file:line: [rule] what is wrong`, and ends with 1 if there are any.
Each rule is one small function below; EXCEPTIONS names the places where one does not hold, and why.
"""
import os
import re
import subprocess
import sys

LINES_MAX = {"file": 500, "function": 70}

# (rule, path) -> why that rule does not hold there.
EXCEPTIONS = {
    ("clock", "core/clock.cc"): "it is the clock",
    ("clock", "bench/peers/peer_loop.h"): "built without our libraries, where a peer's package is",
    ("clock", "bench/ps/process_costs.cc"): "processes' CPU time, which no Clock tells",
    ("clock", "os/wall_time.cc"): "the time of day, for names and dates",
    ("clock", "tests/wrong_clock.cc"): "makes the time of day wrong",
    ("todo", "tools/lint.py"): "spells the words it looks for",
    ("whitespace", "third_party/uplot/LICENSE"): "as its authors made it",
    ("whitespace", "third_party/uplot/uPlot.min.css"): "as its authors made it",
}

# Folder -> folders whose headers it may include (docs/ARCHITECTURE.md). Folders that are not named
# (bench, tests) stand on top and may include anything.
MAY_INCLUDE = {
    "proto": ["proto"],
    "core": ["core", "proto"],
    "os": ["os", "core", "proto"],
    "net": ["net", "os", "core", "proto"],
    "lab": ["lab", "os", "core", "proto"],
    "process": ["process", "net", "os", "core", "proto"],
    "ps": ["ps", "process", "net", "os", "core", "proto"],
    "allreduce": ["allreduce", "net", "os", "core", "proto"],
    "worker": ["worker", "ps", "process", "allreduce", "net", "os", "core", "proto"],
    "experiments": ["experiments", "worker/data", "lab", "net", "os", "core", "proto"],
}

CLOCK = re.compile(
    r"\b(clock_gettime|gettimeofday|timespec_get|clock_nanosleep|nanosleep|usleep|sleep"
    r"|gpr_now|gpr_sleep_until|absl::Now|absl::SleepFor|std::time)\s*\("
    r"|\b(sleep_for|sleep_until|_clock::now)\b|\w+_clock::now\b|\btime\((nullptr|NULL|0)\)")
MACHINE_PATH = re.compile(r"(?<![\w.$}/-])/(work|root)/")
LITERAL_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|//.*')


class File:
    """One file: its path from the root, its lines, and the lines without strings and comments."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.splitlines()
        self.is_header = path.endswith(".h")
        self.is_cpp = path.endswith((".h", ".cc"))
        self.is_test = path.endswith("_test.cc")
        self.code = [
            LITERAL_OR_COMMENT.sub(lambda m: '""' if m[0][0] == '"' else "", line)
            for line in self.lines] if self.is_cpp else []

    def includes(self):
        for number, line in enumerate(self.lines, 1):
            match = re.match(r'\s*#\s*include\s+["<]([^">]+)[">]', line)
            if match:
                yield number, match[1]


def each_file(check):
    """Makes a rule over all files from one over a single file that yields (line, message)."""
    def rule(files):
        for file in files:
            for line, message in check(file):
                yield file.path, line, message
    rule.__name__ = check.__name__
    return rule


@each_file
def clock(file):
    for number, line in enumerate(file.code, 1):
        match = CLOCK.search(line)
        if match:
            yield number, "%s: only core/clock.cc asks for the time or sleeps; take a Clock" % match[0]


def getenv(files):
    """Each binary reads its environment in one file, whose name says so."""
    readers = {}
    for file in files:
        for number, line in enumerate(file.code, 1):
            if not re.search(r"\b(secure_)?getenv\s*\(", line) or file.is_test:
                continue
            if not file.path.endswith("environment.cc"):
                yield file.path, number, "getenv outside a *environment.cc: pass the value in"
            folder = file.path.split("/")[0]
            if readers.setdefault(folder, file.path) != file.path:
                yield file.path, number, "%s/ reads the environment in %s already" % (
                    folder, readers[folder])


@each_file
def todo(file):
    for number, line in enumerate(file.lines, 1):
        match = re.search(r"\b(TODO|FIXME|HACK)\b", line)
        if match:
            yield number, "%s: finish it, or write down what is so and why" % match[0]


@each_file
def header_guard(file):
    if not file.is_header:
        return
    guard = "CROSSOVER_%s_" % re.sub(r"[^A-Z0-9]", "_", file.path.upper())
    wanted = ["#ifndef " + guard, "#define " + guard]
    found = [line for line in file.lines if line.startswith("#")][:2]
    if found != wanted:
        yield 1, "the header guard must be %s" % guard
    elif not file.lines[-1].startswith("#endif  // " + guard):
        yield len(file.lines), "must end with `#endif  // %s`" % guard


@each_file
def header_comment(file):
    if file.is_header and not re.match(r"// \S", file.text):
        yield 1, "a header opens with a comment: its purpose, thread-safety, ownership, errors"


@each_file
def include_direction(file):
    allowed = MAY_INCLUDE.get(file.path.split("/")[0])
    if not file.is_cpp or allowed is None:
        return
    ours = list(MAY_INCLUDE) + ["bench", "tests"]
    for number, header in file.includes():
        if header.split("/")[0] in ours and not any(header.startswith(a + "/") for a in allowed):
            yield number, "%s/ may not depend on %s; only on %s" % (
                file.path.split("/")[0], header, ", ".join(allowed))


@each_file
def torch_include(file):
    for number, header in file.includes():
        if not re.match(r"(torch|ATen|c10)/", header):
            continue
        if file.path.split("/")[0] not in ("worker", "tests", "bench"):
            yield number, "only worker/ (and tests/, bench/) may use LibTorch"
        elif file.is_header and not file.path.startswith("worker/models/"):
            yield number, "LibTorch in a header costs each includer 20 s; only worker/models/*.h may"


def functions(code):
    """(first line, last line) of each function; relies on clang-format's indentation."""
    classes = []
    for indent in ("", "  "):
        start = None
        for number, line in enumerate(code, 1):
            line = line.rstrip()
            if not line.startswith(indent) or line[len(indent):len(indent) + 1] in ("", " ", "#"):
                continue
            if not line.startswith(indent + "}"):
                start = number
            elif start is not None:
                head = re.match(r"(.*?)\{\s*$", "\n".join(code[start - 1:number - 1]), re.DOTALL | re.MULTILINE)
                if not head:
                    continue
                if re.match(r"\s*(template <.*>\s*)?(class|struct)\b", head[1]):
                    classes.append((start, number))
                elif "(" in head[1] and not head[1].rstrip().endswith("="):
                    if not indent or any(a < start < b for a, b in classes):
                        yield start, number


@each_file
def length(file):
    if len(file.lines) > LINES_MAX["file"] and (file.is_cpp or file.path.endswith((".py", ".proto"))):
        yield 1, "%d lines; a file has one subject and at most %d" % (
            len(file.lines), LINES_MAX["file"])
    for start, end in functions(file.code):
        if end - start + 1 > LINES_MAX["function"]:
            yield start, "a function of %d lines; a page is %d" % (
                end - start + 1, LINES_MAX["function"])


@each_file
def machine_path(file):
    for number, line in enumerate(file.lines, 1):
        match = MACHINE_PATH.search(line)
        if match:
            yield number, "%s is a folder of one machine" % match[0]


@each_file
def whitespace(file):
    for number, line in enumerate(file.lines, 1):
        if line != line.rstrip():
            yield number, "trailing whitespace"
        if file.is_cpp and "\t" in line:
            yield number, "a tab"
    if file.text and not file.text.endswith("\n"):
        yield len(file.lines), "no newline at the end"
    if file.text.endswith("\n\n"):
        yield len(file.lines), "an empty line at the end"


def in_build(files):
    """A C++ file that no BUILD file names is neither compiled nor tested."""
    builds = {os.path.dirname(f.path): f.text for f in files if os.path.basename(f.path) == "BUILD"}
    for file in files:
        if not file.is_cpp:
            continue
        folder, name = os.path.split(file.path)
        while folder not in builds and folder:
            folder, parent = os.path.split(folder)
            name = parent + "/" + name
        if '"%s"' % name not in builds.get(folder, ""):
            yield file.path, 1, "no BUILD file names it"


RULES = [clock, getenv, todo, header_guard, header_comment, include_direction, torch_include, length,
         machine_path, whitespace, in_build]


def findings(files):
    """All findings in `files` (File objects, all of the repository's), as lines to print."""
    for rule in RULES:
        for path, line, message in rule(files):
            if (rule.__name__, path) not in EXCEPTIONS:
                yield "%s:%d: [%s] %s" % (path, line, rule.__name__, message)


def read_files(root, paths):
    for path in paths:
        try:
            with open(os.path.join(root, path), encoding="utf-8") as f:
                yield File(path, f.read())
        except UnicodeDecodeError:
            pass  # a picture
        except FileNotFoundError:
            pass  # deleted, but not yet in git's eyes


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=root, check=True, capture_output=True, text=True).stdout.split("\0")
    wanted = {os.path.relpath(p, root) for p in sys.argv[1:]}
    # Some rules look at the whole (a file and its BUILD file), so all are read.
    found = [f for f in findings(list(read_files(root, sorted(filter(None, listed)))))
             if not wanted or f.split(":")[0] in wanted]
    print("\n".join(found) if found else "lint: nothing found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
