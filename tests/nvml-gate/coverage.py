# SPDX-License-Identifier: Apache-2.0
"""Compares src/gate/nvml/hooks.list with the functions of headers and drivers.

usage: coverage.py LIST LIBRARY...

The libraries are doubles.  An installed header and an installed driver are looked at too.  A name
that they have and the list lacks fails, as does one that changes the card and is left alone.
"""
import ctypes.util
import glob
import os
import re
import subprocess
import sys

POLICIES = ("own", "deny", "use", "pass")
DECLARED = re.compile(r"\bDECLDIR\s+\*?\s*(?:char\s*\*)?\s*(nvml\w+)\s*\(")
CHANGES = re.compile(r"(Set|Reset|Clear|Create|Destroy|Remove|Modify)(?=[A-Z])")
# These change the calling thread, or create an object of the caller's own.
HARMLESS = {"nvmlDeviceSetCpuAffinity", "nvmlDeviceClearCpuAffinity"}
OF_CALLER = ("nvmlEventSet", "nvmlSystemEventSet")


def read_list(path):
    """{name: policy}"""
    names = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words and words[0] in POLICIES:
                some = words[1:] if words[0] == "pass" else words[1:2]
                names.update((name, words[0]) for name in some)
    return names


def exports_of(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], text=True,
                         capture_output=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in out.splitlines()
            if re.search(r" [TWi] nvml[A-Z]\w*", line)}


def declared_in(header):
    with open(header, encoding="utf-8", errors="replace") as file:
        return set(DECLARED.findall(file.read()))


def changes_the_card(name):
    verb = re.sub(r"^nvml(Device|System|Unit|Gpm|VgpuInstance|GpuInstance|ComputeInstance)?", "",
                  name)
    return (CHANGES.match(verb) and name not in HARMLESS and
            not name.startswith(OF_CALLER))


def candidates():
    roots = [os.environ.get("CUDA_HOME", "")] + sorted(glob.glob("/usr/local/cuda*"))
    for root in filter(None, roots):
        yield from glob.glob(f"{root}/include/nvml.h")
        yield from glob.glob(f"{root}/lib*/stubs/libnvidia-ml.so")
    driver = ctypes.util.find_library("nvidia-ml")
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"):
        if driver and os.path.exists(f"{folder}/{driver}"):
            yield f"{folder}/{driver}"


def main():
    names = read_list(sys.argv[1])
    looked, problems = 0, []
    for path in dict.fromkeys([*sys.argv[2:], *map(os.path.realpath, candidates())]):
        looked += 1
        there = declared_in(path) if path.endswith(".h") else exports_of(path)
        assert there, path
        problems += [f"{path} has {name}: not on the list" for name in sorted(there - set(names))]
        print(f"looked at {path}: {len(there)} names")
    problems += [f"{name} changes the card and is not denied" for name, policy in names.items()
                 if changes_the_card(name) and policy != "deny"]
    for problem in problems:
        print(problem)
    print(f"{looked} looked at, {len(problems)} offend")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
