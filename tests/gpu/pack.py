#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs what `./dev gpu --packed` runs, for a machine with a GPU that builds and installs
nothing: programs, the shared libraries that they need, and scripts.  What comes with glibc
stays behind, since it must be that machine's own and no older than this one's."""
import argparse
import re
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TOP = "cleave-gpu"
MOST_BYTES = 60 << 20
PROGRAMS = ("src/agent/cleaved", "src/cli/cleave", "src/gate/libcleave-opencl.so",
            "src/gate/libcleave-cuda.so", "tests/core/mig-solve", "tests/gpu/gpu-types",
            "tests/gpu/gpu-channel-groups", "tests/cuda/cuda-names", "tests/cuda/cuda-memory",
            "tests/cuda/cuda-remains", "tests/cuda/cuda-spill", "tests/gpu/gpu-units",
            "tests/nvml-gate/nvml-sizes", "src/rm/cleave-try-preempt",
            "bench/cuda-bench", "bench/tenant", "bench/launch")
# Found beside the programs, through their run path.
OWN_LIBRARIES = ("src/client/libcleave.so.0",)
FILES = ("dev", "LICENSE", "bench/*.py", "bench/targets.tsv", "tests/gpu/*.py",
         "tests/gpu/*.sh", "tests/gpu/cuda.tsv", "tests/integration/harness.py",
         "src/backend/nvidia/library.c", "docs/gpu-verification.md")
OF_GLIBC = re.compile(r"(ld-linux.*|linux-vdso|lib(c|m|dl|rt|pthread|resolv|util|anl|mvec|nsl"
                      r"|nss_.*|BrokenLocale))\.so(\.\d+)?")


def libraries(program):
    """{name: path} of what the loader finds for a program."""
    output = subprocess.run(["ldd", program], capture_output=True, text=True,
                            check=True).stdout
    missing = re.findall(r"(\S+) => not found", output)
    if missing:
        sys.exit(f"{program} lacks {' '.join(missing)}")
    return dict(re.findall(r"(\S+) => (/\S+)", output))


def members(build):
    """{name in the archive: file}"""
    found = {}
    for name in PROGRAMS + OWN_LIBRARIES:
        found[f"build/{name}"] = build / name
        for library, path in libraries(build / name).items():
            is_own = Path(path).resolve().is_relative_to(build.resolve())
            if not OF_GLIBC.fullmatch(library) and not is_own:
                found[f"build/lib/{library}"] = Path(path)
    for pattern in FILES:
        found.update((str(path.relative_to(ROOT)), path) for path in ROOT.glob(pattern))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build", metavar="DIR")
    parser.add_argument("file", type=Path, metavar="FILE.tar")
    arguments = parser.parse_args()
    with tarfile.open(arguments.file, "w", dereference=True) as archive:
        for name, path in sorted(members(arguments.build).items()):
            archive.add(path, f"{TOP}/{name}")
    size = arguments.file.stat().st_size
    if size > MOST_BYTES:
        sys.exit(f"{arguments.file} has {size} bytes, {MOST_BYTES} at most")
    print(f"{arguments.file}: {size >> 20} MiB; on the other machine: "
          f"tar -xf {arguments.file.name} && {TOP}/dev gpu --packed")


if __name__ == "__main__":
    main()
