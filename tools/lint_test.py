#!/usr/bin/env python3
"""Each rule of lint.py sees a file that breaks it and is silent on one that does not."""
import sys
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is
import lint  # pylint: disable=wrong-import-position

HEADER = """// A thing. Thread-safe.
#ifndef CROSSOVER_CORE_THING_H_
#define CROSSOVER_CORE_THING_H_

#endif  // CROSSOVER_CORE_THING_H_
"""
BUILD = 'cc_library(name = "thing", srcs = ["thing.cc"], hdrs = ["thing.h"])\n'


def long_function(lines, head="int F(int x) {"):
    indent = head[:len(head) - len(head.lstrip())]
    return head + "\n" + (indent + "  f();\n") * (lines - 2) + indent + "}\n"


class LintTest(unittest.TestCase):

    def rules(self, *files):
        """The rules that find something in (path, text) pairs, each given as `rule path:line`."""
        found = lint.findings([lint.File(path, text) for path, text in files])
        out = []
        for line in found:
            place, rule = line.split(" [")[0].rstrip(":"), line.split("[")[1].split("]")[0]
            out.append("%s %s" % (rule, place))
        return out

    def expect(self, rule, path, text, line=1):
        """`text` at `path` breaks exactly this rule, at this line (BUILD files aside)."""
        found = [f for f in self.rules((path, text)) if not f.startswith("in_build")]
        self.assertEqual(found, ["%s %s:%d" % (rule, path, line)])

    def clean(self, path, text):
        self.assertEqual([f for f in self.rules((path, text)) if not f.startswith("in_build")], [])

    def test_a_good_header_is_clean(self):
        self.assertEqual(self.rules(("core/thing.h", HEADER), ("core/thing.cc", "int x;\n"),
                                    ("core/BUILD", BUILD)), [])

    def test_clock(self):
        for call in ("clock_gettime(CLOCK_MONOTONIC, &t);", "sleep(1);", "absl::Now();",
                     "std::this_thread::sleep_for(x);", "std::chrono::steady_clock::now();",
                     "time(nullptr);", "Clock::time_point t = system_clock::now();"):
            self.expect("clock", "net/a.cc", "int x;\n%s\n" % call, 2)
        self.clean("core/clock.cc", "clock_gettime(CLOCK_MONOTONIC, &t);\n")
        self.clean("net/a.cc", "clock.SleepNs(1);  // never sleep(1)\nready.wait_for(lock, s);\n")
        self.clean("net/a.cc", 'Fail("sleep(1)");\n')

    def test_getenv(self):
        self.expect("getenv", "net/a.cc", 'x = std::getenv("RANK");\n')
        self.clean("worker/launch_environment.cc", 'x = std::getenv("RANK");\n')
        self.clean("worker/a_test.cc", 'x = std::getenv("TEST_TMPDIR");\n')
        read = 'x = getenv("A");\n'
        found = self.rules(("worker/a_environment.cc", read), ("worker/b_environment.cc", read),
                           ("worker/BUILD", '"a_environment.cc" "b_environment.cc"\n'))
        self.assertEqual(found, ["getenv worker/b_environment.cc:1"])

    def test_todo(self):
        self.expect("todo", "net/a.cc", "int x;  // TO" "DO: more\n")
        self.expect("todo", "docs/a.md", "FIX" "ME\n")
        self.clean("net/a.cc", "int TODOS;\n")

    def test_header_guard(self):
        self.expect("header_guard", "net/thing.h", HEADER)
        self.expect("header_guard", "core/thing.h", HEADER.replace("#define CROSSOVER_", "#define "))
        self.expect("header_guard", "core/thing.h", HEADER.replace("#endif  // ", "#endif "), 5)
        self.expect("header_guard", "core/thing.h", "// Empty.\n")

    def test_header_comment(self):
        self.expect("header_comment", "core/thing.h", HEADER[HEADER.index("#ifndef"):])

    def test_include_direction(self):
        for path, header in (("core/a.cc", "net/x.h"), ("net/a.cc", "ps/x.h"),
                             ("ps/a.cc", "allreduce/x.h"), ("allreduce/a.cc", "ps/x.h"),
                             ("allreduce/a.cc", "worker/x.h"), ("worker/a.cc", "experiments/x.h"),
                             ("experiments/a.cc", "worker/trainer.h"),
                             ("experiments/a.cc", "ps/x.h"), ("core/a.cc", "tests/x.h")):
            self.expect("include_direction", path, '#include "%s"\n' % header)
        for path, header in (("core/a.cc", "proto/job.pb.h"), ("ps/a.cc", "net/x.h"),
                             ("worker/a.cc", "allreduce/x.h"), ("tests/a.cc", "worker/x.h"),
                             ("experiments/a.cc", "worker/data/x.h"), ("core/a.cc", "absl/x.h")):
            self.clean(path, '#include "%s"\n' % header)

    def test_torch_include(self):
        self.expect("torch_include", "net/a.cc", "#include <torch/torch.h>\n")
        self.expect("torch_include", "experiments/a.cc", "#include <ATen/ATen.h>\n")
        in_header = HEADER.replace("CORE", "WORKER").replace("\n\n", "\n\n#include <torch/torch.h>\n")
        self.expect("torch_include", "worker/thing.h", in_header, 5)
        self.clean("worker/models/thing.h", in_header.replace("WORKER", "WORKER_MODELS"))
        self.clean("worker/trainer.cc", "#include <torch/torch.h>\n")

    def test_length_of_functions(self):
        for head in ("int F(int x) {", "TEST(A, B) {", "int F(int x,\n      int y) {",
                     "Thing::Thing(int x)\n    : x_(x) {"):
            extra = head.count("\n")
            self.expect("length", "net/a.cc", long_function(71 - extra, head))
            self.clean("net/a.cc", long_function(70 - extra, head))
        method = long_function(71, "  int F() const override {")
        self.expect("length", "net/a.cc", "class A {\n" + method + "};\n", 2)
        self.clean("net/a.cc", "const int kTable[] = {\n" + "  f(1),\n" * 80 + "};\n")
        self.clean("net/a.cc", "namespace a {\n" + "int x;\n" * 80 + "}\n")
        self.clean("net/a.cc", long_function(40) + "\n" + long_function(40))

    def test_length_of_files(self):
        self.expect("length", "net/a.cc", "int x;\n" * 501)
        self.clean("net/a.cc", "int x;\n" * 500)
        self.clean("docs/a.md", "words\n" * 501)

    def test_machine_path(self):
        self.expect("machine_path", "docs/a.md", "see /wo" "rk/main/x\n")
        self.expect("machine_path", "core/BUILD", 'x = "/ro' 'ot/x"\n')
        self.clean("docs/a.md", "see net/wo" "rk/x and ${dir}/wo" "rk/x\n")

    def test_whitespace(self):
        self.expect("whitespace", "docs/a.md", "words \n")
        self.expect("whitespace", "docs/a.md", "words")
        self.expect("whitespace", "docs/a.md", "words\n\n", 2)
        self.expect("whitespace", "net/a.cc", "\tint x;\n")

    def test_in_build(self):
        self.assertEqual(self.rules(("core/a_test.cc", "int x;\n"), ("core/BUILD", BUILD)),
                         ["in_build core/a_test.cc:1"])
        self.assertEqual(self.rules(("core/sub/thing.cc", "int x;\n"), ("core/BUILD", BUILD)),
                         ["in_build core/sub/thing.cc:1"])
        self.assertEqual(self.rules(("core/sub/thing.cc", "int x;\n"),
                                    ("core/BUILD", '"sub/thing.cc"\n')), [])


if __name__ == "__main__":
    unittest.main()
