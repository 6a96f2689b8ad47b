# SPDX-License-Identifier: Apache-2.0
"""Compares src/gate/cuda/hooks.list with the functions of toolkits and drivers.

usage: coverage.py LIST DOUBLE [HEADERS-OR-LIBRARY...]

DOUBLE is the libcuda.so.1 of the tests.  What else is there is looked at too: the headers of an
installed toolkit, and an installed driver.  A name that they have and the list lacks fails, as
does a version or variant that the list has wrong.  So does a function of the double that neither
the gate hooks or calls nor any program of the tests, benches and examples names: the double stays
small.
"""
import ctypes.util
import glob
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
USERS = ("tests", "bench", "examples")
NOT_USERS = ROOT / "tests/doubles/cuda/lib"
NAME = re.compile(r"\bcu[A-Z]\w+")
PREFIX = re.compile(r"PFN_(cu\w+?)_v(\d+)(_pt[ds][sz])?\)")
DECLARED = re.compile(r"^CUresult CUDAAPI\s+(cu[A-Z]\w+)\s*\(", re.MULTILINE)
# Of the double: a function of no version, which the gate must not know.
UNKNOWN = re.compile(r"cuMemAllocLaterAsync(_ptsz)?$")
POLICIES = ("gate", "own", "refuse", "use", "pass")
RENAMED = re.compile(r"#\s*define\s+(cu[A-Z]\w+)\s+(?:__CUDA_API_PT[DS][SZ]\()?(cu[A-Z]\w+)")


def read_list(path):
    """{symbol: (since, variant, since)} of the called ones, and the set of all names."""
    known, names = {}, set()
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if not words or words[0] not in POLICIES:
                continue
            if words[0] == "pass":
                names.update(words[1:])
                continue
            _, symbol, since, variant = words[:4]
            known[symbol] = (int(since), variant[:4], int(variant[4:] or 0))
            names.add(symbol)
            if variant != "-":
                names.add(f"{symbol}_{variant[:4]}")
    return known, names


def exports_of(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], text=True,
                         capture_output=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in out.splitlines()
            if re.search(r" [TWi] cu[A-Z]\w*", line)}


def base_of(symbol):
    return re.sub(r"(_v\d+)?(_pt[ds][sz])?$", "", symbol)


def lacking(symbols, names):
    """A variant for default streams needs no row if its plain form is left alone."""
    return sorted(s for s in symbols
                  if s not in names and re.sub(r"_pt[ds][sz]$", "", s) not in names)


def check_library(path, names):
    return [f"{path} exports {symbol}" for symbol in lacking(exports_of(path), names)
            if not UNKNOWN.match(symbol)]


def named_by_programs():
    """The names of functions, with or without their version, in the programs that may call the
    double."""
    return {name for folder in USERS for suffix in ("c", "h", "py")
            for path in (ROOT / folder).rglob(f"*.{suffix}") if path.parent != NOT_USERS
            for name in NAME.findall(path.read_text(errors="replace"))}


def check_double(path, known):
    used = {*known, *named_by_programs()}
    plain = {re.sub(r"_pt[ds][sz]$", "", symbol) for symbol in exports_of(path)}
    return [f"{path}: nothing calls {symbol}" for symbol in sorted(plain - used)]


def check_declared(header, names):
    with open(header, encoding="utf-8", errors="replace") as file:
        text = file.read()
    symbols = set(DECLARED.findall(text)) | {to for _, to in RENAMED.findall(text)}
    return [f"{header} declares {symbol}" for symbol in lacking(symbols, names)]


def meant_by(known, base, version, variant):
    """The driver's answer: the newest form that is not newer than the version."""
    forms = [(since, symbol) for symbol, (since, _, _) in known.items()
             if base_of(symbol) == base and since <= version]
    if not forms:
        return None
    symbol = max(forms)[1]
    _, has, since = known[symbol]
    return symbol if not variant or (variant == has and since <= version) else None


def check_versions(header, known, names):
    """The typedefs have the version of each form of a name."""
    problems, bases = [], {base_of(symbol) for symbol in known}
    versions = {}
    with open(header, encoding="utf-8", errors="replace") as file:
        for base, version, variant in PREFIX.findall(file.read()):
            versions.setdefault(base, set()).add((int(version), variant.strip("_")))
    for base in sorted(bases & set(versions)):
        plain = sorted(v for v, variant in versions[base] if not variant)
        for version, variant in sorted(versions[base]):
            at = max(v for v in plain if v <= version)
            nth = plain.index(at) + 1
            want = base + (f"_v{nth}" if nth > 1 else "")
            if want not in known:
                if want not in names:
                    problems.append(f"{header}: {want} (from {version})")
                continue
            got = meant_by(known, base, version, variant)
            if got != want:
                problems.append(f"{header}: {base} of version {version} {variant} is {want}, "
                                f"and {got} by the list")
    return problems


def candidates():
    roots = [os.environ.get("CUDA_HOME", "")] + sorted(glob.glob("/usr/local/cuda*"))
    for root in filter(None, roots):
        yield from glob.glob(f"{root}/include/cuda.h")
        yield from glob.glob(f"{root}/include/cudaTypedefs.h")
        yield from glob.glob(f"{root}/lib*/stubs/libcuda.so")
    driver = ctypes.util.find_library("cuda")
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"):
        if driver and os.path.exists(f"{folder}/{driver}"):
            yield f"{folder}/{driver}"


def main():
    known, names = read_list(sys.argv[1])
    looked, problems = 0, check_double(sys.argv[2], known)
    for path in dict.fromkeys([*sys.argv[2:], *map(os.path.realpath, candidates())]):
        looked += 1
        if path.endswith("Typedefs.h"):
            problems += check_versions(path, known, names)
        elif path.endswith(".h"):
            problems += check_declared(path, names)
        else:
            problems += check_library(path, names)
        print(f"looked at {path}")
    for problem in problems:
        print(f"{problem}: not on the list, or not so")
    print(f"{looked} looked at, {len(problems)} offend")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
