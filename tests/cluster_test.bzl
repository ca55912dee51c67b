"""cluster_test: a test that starts real workers and servers."""

def cluster_test(name, srcs, data = [], deps = [], part = None, whole = None, **kwargs):
    """A cc_test that runs alone: several processes on few cores would share its time.

    Args:
      name: target name.
      srcs: sources.
      data: more than the worker and server binaries.
      deps: more than the fixture and GoogleTest.
      part: GoogleTest's filter of what runs by itself; all of it unless given.
      whole: name of a target that runs all of it, by hand; with `part`.
      **kwargs: passed on.
    """
    args_of = {name: ["--gtest_filter=" + part] if part else []}
    if whole:
        args_of[whole] = []
    for target in args_of:
        native.cc_test(
            name = target,
            size = "large",
            srcs = srcs,
            args = args_of[target],
            data = data,
            tags = ["exclusive"] + (["manual"] if target == whole else []),
            deps = [":cluster_fixture", "@gtest//:gtest_main"] + deps,
            **kwargs
        )
