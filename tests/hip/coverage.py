# SPDX-License-Identifier: Apache-2.0
"""Compares src/gate/hip/hooks.list and src/gate/hsa/hooks.list with the functions of ROCm's
libraries.

usage: coverage.py HIP-LIST HSA-LIST LIBRARY...

The libraries are doubles.  What is installed is looked at too.  A name that a library exports and
neither list has fails, as does one that says that it allocates, submits or shows a size and that is
left alone.
"""
import glob
import os
import re
import subprocess
import sys

LINE = re.compile(r"(gate|own|use)\s+(\w+) (spt )?\(")
OURS = re.compile(r" [TWVi] ((?:hip|__hip|hsa_|hiprtc|_Z\w*hip)\w*)")
HELD = {
    "hip": re.compile(r"(_Z\d+)?hip(Ext|Drv|Hcc|Module)*(Launch|Memcpy|Memset|MemPrefetch|MemGetInfo"
                      r"|StreamBeginCapture|StreamWait|StreamBatchMemOp|GetProcAddress"
                      r"|GetDriverEntryPoint|GetDeviceProperties|DeviceTotalMem)"),
    "hsa": re.compile(r"hsa_(amd_|ext_)*(memory_(pool_)?(allocate|free|copy|fill|async_copy|migrate)"
                      r"|vmem_(handle|map|unmap|import|export|retain)|queue_create|image_(copy|clear"
                      r"|import|export)|interop_(un)?map|svm_prefetch)"),
}
# Of the doubles: functions of no version, which the gate must not know.
UNKNOWN = {"hipMemcpyLater", "hsa_amd_memory_pool_allocate_later"}
# hsa_amd_memory_copy_engine_status and similar functions only query.
ANSWERS = re.compile(r"(_status|_get_info|GetParams|SetParams)$")


def read_list(path):
    """(names with a wrapper or a use, names that are left alone)"""
    known, left = set(), set()
    with open(path, encoding="utf-8") as file:
        for line in file:
            match = LINE.match(line)
            if match:
                known.add(match[2])
                if match[3]:
                    known.add(f"{match[2]}_spt")
            elif line.startswith("pass "):
                left.update(line.split()[1:])
    return known, left


def exports_of(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], text=True,
                         capture_output=True, check=True).stdout
    return {match[1] for match in OURS.finditer(out)}


def left_alone(left, held):
    return sorted(name for name in left if held.match(name) and not ANSWERS.search(name))


def candidates():
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", *sorted(glob.glob("/opt/rocm*/lib"))):
        yield from glob.glob(f"{folder}/libamdhip64.so.?")
        yield from glob.glob(f"{folder}/libhsa-runtime64.so.1")


def main():
    lists = {"hip": read_list(sys.argv[1]), "hsa": read_list(sys.argv[2])}
    names = set.union(*(known | left for known, left in lists.values()))
    problems, looked = [], 0
    for name, (known, left) in lists.items():
        problems += [f"{each} is left alone" for each in left_alone(left, HELD[name])]
        problems += [f"{each} is on the list twice" for each in sorted(known & left)]
    for path in dict.fromkeys([*sys.argv[3:], *map(os.path.realpath, candidates())]):
        looked += 1
        problems += [f"{path} exports {each}, which is on no list"
                     for each in sorted(exports_of(path) - names - UNKNOWN)]
        print(f"looked at {path}")
    for problem in problems:
        print(problem)
    print(f"{looked} looked at, {len(problems)} offend")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
