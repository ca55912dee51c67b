#!/usr/bin/env python3
"""Prints `PASSED FAILED SKIPPED`: the test cases of one `bazel test`, from its build events.

Usage: tools/test_counts.py EVENTS.json EXIT_STATUS
A test target that crashed, timed out or does not build has no full list of cases: it counts as one
failure more. So does a run that failed in another way (EXIT_STATUS).
"""
import json
import sys
import urllib.parse
import xml.etree.ElementTree

NO_TESTS_FOUND = 4  # Bazel's exit status


def cases(uri):
    """Returns (passed, failed, skipped) of one test.xml."""
    try:
        root = xml.etree.ElementTree.parse(urllib.parse.unquote(urllib.parse.urlparse(uri).path))
    except (OSError, xml.etree.ElementTree.ParseError):
        return 0, 0, 0
    passed = failed = skipped = 0
    for case in root.iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None:
            skipped += 1
        elif case.get("status") != "notrun":
            passed += 1
    return passed, failed, skipped


def count(events, exit_status):
    """Returns (passed, failed, skipped) of a sequence of build events."""
    by_target = {}  # label and shard -> (passed, failed, skipped) of its last attempt
    broken = set()  # labels that did not build or whose test failed as a whole
    for event in events:
        id_ = event["id"]
        if "testResult" in id_:
            key = (id_["testResult"]["label"], id_["testResult"].get("shard"))
            outputs = event.get("testResult", {}).get("testActionOutput", [])
            by_target[key] = next((cases(o["uri"]) for o in outputs if o["name"] == "test.xml"),
                                  (0, 0, 0))
        elif "testSummary" in id_:
            if event.get("testSummary", {}).get("overallStatus") not in ("PASSED", "FLAKY"):
                broken.add(id_["testSummary"]["label"])
        elif "targetCompleted" in id_ and not event.get("completed", {}).get("success"):
            broken.add(id_["targetCompleted"]["label"])
        elif "aborted" in event:  # a pattern that names nothing, a package that does not load
            broken.add(json.dumps(id_))
    passed, failed, skipped = (sum(n) for n in zip((0, 0, 0), *by_target.values()))
    failing = {label for (label, _), (_, f, _) in by_target.items() if f}
    failed += len(broken - failing)
    if exit_status not in (0, NO_TESTS_FOUND) and failed == 0:
        failed = 1
    return passed, failed, skipped


def main():
    try:
        with open(sys.argv[1], encoding="utf-8") as f:
            events = [json.loads(line) for line in f]
    except FileNotFoundError:
        events = []  # Bazel did not get that far
    print("%d %d %d" % count(events, int(sys.argv[2])))


if __name__ == "__main__":
    main()
