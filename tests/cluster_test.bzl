"""cluster_test: a test that starts real workers and servers."""

def cluster_test(name, srcs, data = [], deps = [], tags = [], **kwargs):
    """A cc_test that runs alone: several processes on few cores would share its time.

    Args:
      name: target name.
      srcs: sources.
      data: more than the worker and server binaries.
      deps: more than the fixture and GoogleTest.
      tags: more than "exclusive".
      **kwargs: passed on.
    """
    native.cc_test(
        name = name,
        size = "large",
        srcs = srcs,
        data = data,
        tags = ["exclusive"] + tags,
        deps = [":cluster_fixture", "@gtest//:gtest_main"] + deps,
        **kwargs
    )
