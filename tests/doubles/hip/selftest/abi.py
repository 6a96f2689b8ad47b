#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the doubles of ROCm 5 with the vendor's own libraries, where these are installed: their
exports, the number of the functions' parameters, and the sizes, offsets and numbers of abi.list.

abi.py FOLDER-OF-THE-DOUBLES"""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
VENDOR = "/usr/lib/x86_64-linux-gnu"
HEADERS = ("/usr/include/hip/hip_runtime_api.h", "/usr/include/hip/hip_ext.h",
           "/usr/include/hsa/hsa.h", "/usr/include/hsa/hsa_ext_amd.h")
LIBRARIES = ("libamdhip64.so.5", "libhsa-runtime64.so.1")
SKIP = 77

OURS = f"""#include <stdio.h>
#define DHI_ROCM 5
#include "{HERE}/../../gpu/wire.h"
#include "{HERE}/../hsa/hsa.h"
#include "{HERE}/../lib/hip.h"
"""
THEIRS = """#include <stdio.h>
#include <stddef.h>
#include <hip/hip_runtime_api.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
"""


def exports(path):
    """{(version, name)} of the functions."""
    text = subprocess.run(["readelf", "--dyn-syms", "-W", path], capture_output=True, text=True,
                          check=True).stdout
    found = set()
    for line in text.splitlines():
        words = line.split()
        if len(words) == 8 and words[3] == "FUNC" and words[6] != "UND":
            name, _, version = words[7].replace("@@", "@").partition("@")
            found.add((version, name))
    return found


def rows():
    with open(os.path.join(HERE, "abi.list"), encoding="utf-8") as lines:
        for line in lines:
            match = re.match(r"(size|offset|value)\s+(.*?)\s*\|\s*(.*?)\s*$", line)
            if match:
                yield match.groups()


def values(folder, head, expressions):
    forms = {"size": "sizeof(%s)", "offset": "offsetof(%s)", "value": "(%s)"}
    prints = "".join(f'\tprintf("%ld\\n", (long){forms[kind] % text});\n'
                     for kind, text in expressions)
    path = os.path.join(folder, "abi")
    with open(path + ".c", "w", encoding="utf-8") as to:
        to.write(f"{head}int main(void)\n{{\n{prints}\treturn 0;\n}}\n")
    subprocess.run(["cc", "-w", "-D__HIP_PLATFORM_AMD__", "-DLITTLEENDIAN_CPU", "-o", path,
                    path + ".c"], check=True)
    return subprocess.run([path], capture_output=True, text=True, check=True).stdout.split()


def parameters(text):
    """The number of parameters of each function that is declared there."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    found = {}
    for name, inside in re.findall(r"\b(_*h(?:ip|sa)\w+)\s*\(((?:[^()]|\([^()]*\))*)\)\s*;", text):
        while "(" in inside:  # a function type's own
            inside = re.sub(r"\([^()]*\)", "", inside)
        found.setdefault(name, 0 if inside.strip() in ("", "void") else inside.count(",") + 1)
    return found


def read(*paths):
    return "".join(open(path, encoding="utf-8").read() for path in paths)


def main():
    if not all(os.path.exists(path) for path in HEADERS):
        print("1..0 # SKIP libamdhip64-dev and libhsa-runtime-dev are not here")
        return SKIP
    wrong = []
    for library in LIBRARIES:
        ours, theirs = (exports(os.path.join(at, library)) for at in (sys.argv[1], VENDOR))
        wrong += [f"{library}: no {name}@{version}" for version, name in sorted(theirs - ours)]
        wrong += [f"{library}: {name}@{version} is not there"
                  for version, name in sorted(ours - theirs)]
    table = list(rows())
    with tempfile.TemporaryDirectory() as folder:
        ours = values(folder, OURS, [(kind, text) for kind, text, _ in table])
        theirs = values(folder, THEIRS, [(kind, text) for kind, _, text in table])
    wrong += [f"{kind} {text}: {a}, and {b} of {their}"
              for (kind, text, their), a, b in zip(table, ours, theirs) if a != b]
    ours = parameters(read(f"{HERE}/../lib/functions.h", f"{HERE}/../lib/functions-more.h",
                           f"{HERE}/../hsa/functions.h"))
    theirs = parameters(read(*HEADERS))
    both = sorted(set(ours) & set(theirs))
    wrong += [f"{name}: {ours[name]} parameters, and {theirs[name]} of the vendor's"
              for name in both if ours[name] != theirs[name]]
    for line in wrong:
        print(line)
    print(f"{len(table)} rows, {len(both)} functions, {len(wrong)} differ")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
