# lit's configuration: the one place where lit wants Python.
import os
import shutil

import lit.formats

config.name = "shard"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Models", "Layouts", "Inputs", "programs", "refused"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.shard_build_dir, "test")

config.environment["PATH"] = os.pathsep.join(
    [
        os.path.join(config.shard_build_dir, "bin"),
        config.llvm_tools_dir,
        config.environment["PATH"],
    ]
)
config.environment["LC_ALL"] = "C"
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

lib = os.path.join(config.shard_build_dir, "lib")
config.substitutions += [
    ("%shard-plugin", os.path.join(lib, "libShardPasses.so")),
    ("%shard-lib", lib),
    ("%shard-source", config.shard_source_dir),
    ("%shard-build", config.shard_build_dir),
    ("%models", os.path.join(config.shard_source_dir, "test", "Models")),
    ("%llvm-prefix", os.path.dirname(config.llvm_tools_dir)),
    ("%mlir-dir", config.mlir_dir),
    ("%lit", os.path.join(config.llvm_tools_dir, "lit")),
    ("%sanitize-flags", "-fsanitize=" + config.sanitizers if config.sanitizers else ""),
    ("%cc", config.c_compiler),
    ("%cxx", config.cxx_compiler),
]
if config.sanitizers:
    config.available_features.add("sanitizer")
for tool in ("shard-opt", "shard-run"):
    if os.path.exists(os.path.join(config.shard_build_dir, "bin", tool)):
        config.available_features.add(tool)
if shutil.which("chromium"):  # the report's page is looked at where a browser is
    config.available_features.add("chromium")
else:
    lit_config.note("no chromium: Report/browser.test does not run")
# `./check lit` runs the suite a second time so: the same bytes on one thread or many.
if lit_config.params.get("threads") == "off":
    config.substitutions.append((r"(?<![\w/.-])shard-opt(?= )", "shard-opt --mlir-disable-threading"))
