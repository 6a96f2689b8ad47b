#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the programs of `./dev gpu --packed` for a machine with a GPU that builds and installs
nothing: programs, the shared libraries that they need, and scripts.

What comes with glibc stays behind, since it must be that machine's own; nothing that is packed
needs a newer one than Ubuntu 22.04 has.  A program finds the packed libraries by its own
RPATH, so that no other program on that machine ever meets them.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TOP = "cleave-gpu"
MOST_BYTES = 64 << 20
MOST_GLIBC = (2, 35)  # Ubuntu 22.04
PROGRAMS = ("src/agent/cleaved", "src/cli/cleave", "src/gate/libcleave-opencl.so",
            "src/gate/libcleave-cuda.so", "tests/core/mig-solve", "tests/gpu/gpu-types",
            "tests/gpu/gpu-channel-groups", "tests/gpu/gpu-streams", "tests/cuda/cuda-names",
            "tests/cuda/cuda-memory", "tests/cuda/cuda-remains", "tests/cuda/cuda-spill",
            "tests/gpu/gpu-units", "tests/nvml-gate/nvml-sizes", "tests/bypass/bypass",
            "tests/bypass/bypass-cuda", "src/rm/cleave-try-preempt", "bench/cuda-bench",
            "bench/tenant", "bench/launch")
# Found beside the programs, through their run path.
OWN_LIBRARIES = ("src/client/libcleave.so.0",)
LIBRARIES = "build/lib"
FILES = ("dev", "tests/dev.sh", "web/dev.sh", "LICENSE", "bench/*.py", "bench/targets.tsv", "tests/gpu/*.py",
         "tests/gpu/*.sh", "tests/gpu/cuda.tsv", "tests/integration/harness.py",
         "src/backend/nvidia/library.c", "docs/gpu-verification.md")
OF_GLIBC = re.compile(r"(ld-linux.*|linux-vdso|lib(c|m|dl|rt|pthread|resolv|util|anl|mvec|nsl"
                      r"|nss_.*|BrokenLocale))\.so(\.\d+)?")
NEEDED = re.compile(r"Name: GLIBC_(?:(\d+)\.(\d+)|(ABI_DT_RELR))")


def libraries(program):
    """{name: path} of the libraries that the loader finds for a program."""
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
                found[f"{LIBRARIES}/{library}"] = Path(path)
    for pattern in FILES:
        found.update((str(path.relative_to(ROOT)), path) for path in ROOT.glob(pattern))
    return found


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def glibc_of(path):
    """The newest glibc that a program or library requires; at least (2, 36) if its relocations are
    packed."""
    text = subprocess.run(["readelf", "--version-info", "--wide", path], capture_output=True,
                          text=True, check=True).stdout
    return max(((2, 36) if packed else (int(major), int(minor))
                for major, minor, packed in NEEDED.findall(text)), default=(0, 0))


def bind(top, path):
    """Binds to the packed libraries, and not to the build folder. RPATH instead of RUNPATH, because
    it also applies to the libraries' own dependencies."""
    folders = [os.path.relpath(top / LIBRARIES, path.parent)]
    folders += [os.path.relpath(top / "build" / Path(name).parent, path.parent)
                for name in OWN_LIBRARIES]
    subprocess.run(["patchelf", "--force-rpath", "--set-rpath",
                    ":".join(f"$ORIGIN/{folder}" for folder in folders), path], check=True)


def stage(build, top):
    """Copies all; returns the errors."""
    bad = []
    for name, path in sorted(members(build).items()):
        copy = top / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
        if not is_elf(copy):
            continue
        needed = glibc_of(copy)
        if needed > MOST_GLIBC:
            bad.append(f"{name} needs GLIBC_{needed[0]}.{needed[1]}: "
                       f"{MOST_GLIBC[0]}.{MOST_GLIBC[1]} at most may be in a pack")
        # Gates need only libc, and are loaded into other programs.
        if "/gate/" not in name:
            bind(top, copy)
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build", metavar="DIR")
    parser.add_argument("file", type=Path, metavar="FILE.tar")
    arguments = parser.parse_args()
    if not shutil.which("patchelf"):
        sys.exit("there is no patchelf: install it (./dev deps), then pack again")
    with tempfile.TemporaryDirectory(prefix="cleave-pack-") as folder:
        top = Path(folder) / TOP
        bad = stage(arguments.build, top)
        if bad:
            sys.exit("\n".join(bad))
        with tarfile.open(arguments.file, "w") as archive:
            archive.add(top, TOP)
    size = arguments.file.stat().st_size
    if size > MOST_BYTES:
        sys.exit(f"{arguments.file} has {size} bytes, {MOST_BYTES} at most")
    print(f"{arguments.file}: {size >> 20} MiB; on the other machine: "
          f"tar -xf {arguments.file.name} && {TOP}/dev gpu --packed")


if __name__ == "__main__":
    main()
