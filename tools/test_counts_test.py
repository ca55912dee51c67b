#!/usr/bin/env python3
"""test_counts.py on hand-made build events."""
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is
import test_counts  # pylint: disable=wrong-import-position

GOOD = '<testcase name="a" status="run"/>'
BAD = '<testcase name="b" status="run"><failure message="x"/></testcase>'
OFF = '<testcase name="c" status="notrun"/><testcase name="d" status="run"><skipped/></testcase>'


class TestCountsTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def target(self, label, status, cases=None, name="t.xml"):
        """The events of one test target; cases=None: it wrote no list of them."""
        outputs = []
        if cases is not None:
            path = os.path.join(self.folder, name)
            with open(path, "w", encoding="utf-8") as f:
                f.write("<testsuites><testsuite>%s</testsuite></testsuites>" % cases)
            outputs = [{"name": "test.log", "uri": "file:///none"},
                       {"name": "test.xml", "uri": "file://" + path}]
        return [{"id": {"targetCompleted": {"label": label}}, "completed": {"success": True}},
                {"id": {"testResult": {"label": label}}, "testResult": {"testActionOutput": outputs}},
                {"id": {"testSummary": {"label": label}}, "testSummary": {"overallStatus": status}}]

    def test_cases_are_counted(self):
        events = (self.target("//a", "PASSED", GOOD * 3 + OFF, "a.xml") +
                  self.target("//b", "FAILED", GOOD + BAD * 2, "b b.xml"))
        self.assertEqual(test_counts.count(events, 3), (4, 2, 1))

    def test_a_case_that_was_not_chosen_is_not_skipped(self):
        events = self.target("//a", "PASSED", '<testcase name="a" status="notrun"/>')
        self.assertEqual(test_counts.count(events, 0), (0, 0, 0))

    def test_a_crash_counts_once(self):
        self.assertEqual(test_counts.count(self.target("//a", "FAILED"), 3), (0, 1, 0))
        self.assertEqual(test_counts.count(self.target("//a", "TIMEOUT", GOOD), 3), (1, 1, 0))

    def test_a_target_that_does_not_build_counts_once(self):
        events = [{"id": {"targetCompleted": {"label": "//a"}}, "completed": {}},
                  {"id": {"testSummary": {"label": "//a"}}, "testSummary": {"overallStatus": "NO_STATUS"}}]
        self.assertEqual(test_counts.count(events, 1), (0, 1, 0))

    def test_an_unknown_target_counts_once(self):
        events = [{"id": {"pattern": {"pattern": ["//x"]}}, "aborted": {"reason": "LOADING_FAILURE"}}]
        self.assertEqual(test_counts.count(events, 1), (0, 1, 0))

    def test_a_failure_without_events_counts_once(self):
        self.assertEqual(test_counts.count([], 2), (0, 1, 0))
        self.assertEqual(test_counts.count([], 0), (0, 0, 0))
        self.assertEqual(test_counts.count([], test_counts.NO_TESTS_FOUND), (0, 0, 0))


if __name__ == "__main__":
    unittest.main()
