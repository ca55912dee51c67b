"""proto_cc_library: C++ from .proto files through the system's protoc and grpc_cpp_plugin."""

_ProtoSources = provider(fields = ["transitive"])

def _generate_impl(ctx):
    extensions = [".pb.h", ".pb.cc"] + ([".grpc.pb.h", ".grpc.pb.cc"] if ctx.attr.grpc else [])
    outs = [
        ctx.actions.declare_file(src.basename[:-len(".proto")] + extension)
        for src in ctx.files.srcs
        for extension in extensions
    ]
    sources = depset(ctx.files.srcs, transitive = [d[_ProtoSources].transitive for d in ctx.attr.deps])
    args = ctx.actions.args()
    args.add("-I.")
    args.add("-I/usr/include")
    args.add("--cpp_out=" + ctx.bin_dir.path)
    if ctx.attr.grpc:
        args.add("--plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin")
        args.add("--grpc_out=" + ctx.bin_dir.path)
    args.add_all(ctx.files.srcs)
    ctx.actions.run(
        executable = "/usr/bin/protoc",
        arguments = [args],
        inputs = sources,
        outputs = outs,
        mnemonic = "Protoc",
        progress_message = "Generating C++ from %s" % ctx.label,
    )
    return [
        DefaultInfo(files = depset(outs)),
        OutputGroupInfo(
            hdrs = depset([o for o in outs if o.extension == "h"]),
            srcs = depset([o for o in outs if o.extension == "cc"]),
        ),
        _ProtoSources(transitive = sources),
    ]

_generate = rule(
    implementation = _generate_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".proto"]),
        "deps": attr.label_list(providers = [_ProtoSources]),
        "grpc": attr.bool(),
    },
)

def proto_cc_library(name, srcs, deps = [], grpc = False, **kwargs):
    """A cc_library of the messages (and, with grpc = True, the services) in srcs.

    Args:
      name: target name; `#include "<package>/<file>.pb.h"`.
      srcs: .proto files.
      deps: other proto_cc_library targets that srcs import.
      grpc: whether srcs declare services.
      **kwargs: passed on (visibility, ...).
    """
    _generate(
        name = name + "_gen",
        srcs = srcs,
        deps = [d + "_gen" for d in deps],
        grpc = grpc,
        **kwargs
    )
    native.filegroup(name = name + "_h", srcs = [name + "_gen"], output_group = "hdrs")
    native.filegroup(name = name + "_cc", srcs = [name + "_gen"], output_group = "srcs")
    native.cc_library(
        name = name,
        srcs = [name + "_cc"],
        hdrs = [name + "_h"],
        copts = ["-w"],
        deps = deps + ["@protobuf//:protobuf"] + (["@grpc//:grpc++"] if grpc else []),
        **kwargs
    )
