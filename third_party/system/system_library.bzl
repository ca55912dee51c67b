"""Repository rule: cc_library targets for libraries installed on the machine.

system_library(name = "grpc", modules = {"grpc++": ["grpc++"]}) makes
@grpc//:grpc++ with the flags that `pkg-config grpc++` reports.
"""

def _pkg_config(ctx, tool, module):
    """Returns (flags, error): what pkg-config says of one module."""
    res = ctx.execute([tool, "--cflags", "--libs", module])
    if res.return_code != 0:
        return None, "pkg-config %s: %s (tools/setup installs what is missing)" % (module, res.stderr.strip())
    return [f for f in res.stdout.replace("\n", " ").split(" ") if f], None

def _last_of_each(flags):
    """Keeps the last occurrence of each -l: the order static linking needs, 15 times shorter."""
    seen, out = {}, []
    for f in reversed(flags):
        if f.startswith("-l") and f in seen:
            continue
        seen[f] = True
        out.append(f)
    return list(reversed(out))

def _flags_of(ctx, tool, modules):
    includes, defines, links = [], [], []
    for module in modules:
        flags, error = _pkg_config(ctx, tool, module)
        if error:
            return None, error
        includes += [f[2:] for f in flags if f.startswith("-I")]
        defines += [f[2:] for f in flags if f.startswith("-D")]
        links += [f for f in flags if f[:2] in ["-l", "-L"] or f.startswith("-Wl,")]
    return struct(includes = includes, defines = defines, links = links), None

def _impl(ctx):
    tool = ctx.which("pkg-config") or fail("pkg-config is not installed (tools/setup installs it)")
    multiarch = ctx.execute(["gcc", "-print-multiarch"]).stdout.strip()

    # Directories the compiler searches by itself: -isystem /usr/include would
    # break #include_next in libstdc++.
    builtin = ["/usr/include", "/usr/local/include", "/usr/include/" + multiarch]
    body = ['package(default_visibility = ["//visibility:public"])', ""]
    linked = 0
    for target, modules in ctx.attr.modules.items():
        flags, missing = _flags_of(ctx, tool, modules)
        if missing and not ctx.attr.optional:
            fail(missing)
        flags = flags or struct(includes = [], defines = [], links = [])
        includes = []
        for path in flags.includes + ctx.attr.include_dirs.get(target, []):
            if path in builtin:
                continue
            if not ctx.path(path).exists:
                fail(path + " does not exist (tools/setup installs what is missing)")

            # Bazel's `includes` takes no absolute path: link it into the repository.
            link = "include%d" % linked
            linked += 1
            ctx.symlink(path, link)
            includes.append(link)
        extra = [f.replace("%{multiarch}", multiarch) for f in ctx.attr.extra_linkopts.get(target, [])]
        body += [
            "cc_library(",
            "    name = %r," % target,
            "    includes = %r," % includes,
            "    hdrs = glob(%r, allow_empty = True)," % ["%s/**/*.h*" % link for link in includes],
            "    defines = %r," % flags.defines,
            "    linkopts = %r," % (_last_of_each(flags.links) + extra),
            '    target_compatible_with = ["@//:incompatible"],' if missing else "",
            ")",
            "",
        ]
    ctx.file("BUILD.bazel", "\n".join(body))

system_library = repository_rule(
    implementation = _impl,
    attrs = {
        "modules": attr.string_list_dict(doc = "target name -> pkg-config modules"),
        "include_dirs": attr.string_list_dict(doc = "target name -> further include directories"),
        "extra_linkopts": attr.string_list_dict(doc = "target name -> further link flags; %{multiarch} is replaced"),
        "optional": attr.bool(doc = "if not found, targets are skipped instead of failing the build"),
    },
    configure = True,  # `bazel sync --configure` runs it again after an apt upgrade
    local = True,
    environ = ["PKG_CONFIG_PATH"],
)
