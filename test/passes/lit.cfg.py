import os
import sys
import lit.formats

config.name = "nputeir-passes"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".c", ".ll", ".test", ".f90"]
config.excludes = ["run.c", "runtime.c", "openmp.c", "cpu_shapes.c", "cpu_threads.c",
                   "cpu_tiles.c",
                   "freestanding.c"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params["exec_root"]
bin_dir = lit_config.params["llvm_bin"]
plugin = lit_config.params["plugin"]
clang = os.path.join(bin_dir, "clang")
flang = os.path.join(bin_dir, "flang-new")
if os.path.exists(flang):
    config.available_features.add("flang")
config.environment["PATH"] = bin_dir + os.pathsep + os.environ["PATH"]
# What is looked at is the call, unless a test says otherwise.
config.environment["NPUTEIR_OPTIONS"] = "cpu=off"
config.substitutions += [
    ("%verify", clang + " -ffast-math -fpass-plugin=" + plugin +
     " -Rpass=nputeir -Rpass-missed=nputeir -Xclang -verify -c -o /dev/null" +
     " -emit-llvm"),  # the remarks are made before the code generator runs
    ("%plain", clang),
    ("%clang", clang + " -fpass-plugin=" + plugin),
    ("%flang", flang + " -ffast-math -fpass-plugin=" + plugin),
    ("%opt", os.path.join(bin_dir, "opt") + " -load-pass-plugin=" + plugin),
    ("%plugin", plugin),
    ("%python", sys.executable),
    ("%nputeir-cc", lit_config.params["wrapper"]),
]
