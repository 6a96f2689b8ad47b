#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The exports and dependencies of the built libraries.

A gate is loaded into other programs: it may need no further library, and export no symbol that
could replace one of the program's.  It is also loaded beside the C library of older images.
Arguments: the gate for OpenCL, the client library, and the other files that are mounted into
containers."""
import re
import subprocess
import sys

import tree

# The parts of the C library, and the loader.
LIBC = re.compile(r"^(libc|libpthread|libdl|libm|librt|ld-linux.*)\.so")
# That of UBI 8, the base of the oldest images in use (Ubuntu 20.04 has 2.31).
GLIBC = "GLIBC_2.28"
# Before glibc 2.34 these were not parts of libc, so a library that uses them must name them.
PARTS = {"libpthread.so.0", "libdl.so.2"}
# Sanitizer builds need their runtime; they are not installed.
SANITIZER = re.compile(r"^lib(asan|ubsan|tsan|clang_rt)")
LAYER = {"clGetLayerInfo", "clInitLayer"}
CLIENT = re.compile(r"^clv_client_\w+$")


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments], capture_output=True, text=True,
                          check=True).stdout


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("-d", path))


def exported(path):
    names = set()
    for line in readelf("--dyn-syms", path).splitlines():
        fields = line.split()
        if len(fields) < 8 or fields[6] in ("UND", "ABS", "Ndx") or fields[4] == "LOCAL":
            continue
        names.add(fields[7].split("@")[0])
    return names


def number(version):
    return [int(part) for part in re.findall(r"\d+", version)]


def check_age(path):
    """Every version that the library is bound to is in the oldest C library."""
    wrong = []
    for line in readelf("--dyn-syms", path).splitlines():
        name, _, version = (line.split() + [""] * 8)[7].partition("@")
        if version.startswith("GLIBC_") and not (
                re.fullmatch(r"GLIBC_[\d.]+", version) and number(version) <= number(GLIBC)):
            wrong.append(f"{path}: {name} is bound to {version}: {GLIBC} is the newest that "
                         "all images have; src/gate/old-libc.h binds to older ones")
    for version in set(re.findall(r"Name: (GLIBC_ABI\w+)", readelf("-V", path))):
        wrong.append(f"{path}: needs {version}: older loaders refuse it")
    return wrong + [f"{path}: does not need {name}, where its functions are in old images"
                    for name in sorted(PARTS - set(needed(path)))]


def check_gate(path):
    libraries = needed(path)
    wrong = [f"{path}: needs {name}: only libc is allowed" for name in libraries
             if not LIBC.match(name)]
    names = exported(path)
    allowed = set(LAYER)
    for line in re.findall(r"^\s*(\w+);", tree.read("src/gate/gate.map"), re.M):
        allowed.add(line)
    stray = {n for n in allowed - LAYER if not n.startswith("cl")}
    wrong += [f"{path}: gate.map exports {name}: only OpenCL's own names may be exported" for name in
              sorted(stray)]
    wrong += [f"{path}: exports {name}" for name in sorted(names - allowed)]
    wrong += [f"{path}: does not export {name}" for name in sorted(allowed - names)]
    if "BIND_NOW" not in readelf("-d", path) and "NOW" not in readelf("-d", path):
        wrong.append(f"{path}: binds lazily")
    return wrong


def check_client(path):
    declared = set(re.findall(r"\b(clv_client_\w+)\(", tree.read("include/cleave.h")))
    names = {n for n in exported(path) if not re.match(r"^LIBCLEAVE", n)}
    wrong = [f"{path}: exports {name}, which cleave.h does not declare"
             for name in sorted(names - declared)]
    return wrong + [f"{path}: does not export {name}, which cleave.h declares"
                    for name in sorted(declared - names)]


def main():
    gate, client, *others = sys.argv[1:]
    mounted = [gate, *others]
    if any(SANITIZER.match(name) for name in needed(gate)):
        print("a sanitizer build: not checked")
        return 77
    wrong = [line for path in mounted for line in check_age(path)]
    return tree.finish(wrong + check_gate(gate) + check_client(client), len(mounted) + 1)


if __name__ == "__main__":
    sys.exit(main())
