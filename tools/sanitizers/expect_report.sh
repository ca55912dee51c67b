#!/bin/bash
# Passes if a program fails with a sanitizer's report.
# Usage: expect_report.sh PROGRAM BUG TEXT_OF_THE_REPORT
output=$("$1" "$2" 2>&1)
status=$?
echo "$output"
if [[ $status == 0 || $output != *"$3"* ]]; then
  echo "Status $status; expected a failure and: $3"
  exit 1
fi
