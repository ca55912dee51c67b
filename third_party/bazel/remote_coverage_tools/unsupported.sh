#!/bin/bash
echo "bazel coverage is not set up in this workspace" >&2
exit 1
