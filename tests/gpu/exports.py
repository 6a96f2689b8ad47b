# SPDX-License-Identifier: Apache-2.0
"""Which of the functions that cleave uses a library has.

They are read from the table of symbols in the library's file (ELF, 64 bits), so that those
that change something need not be looked up to be known.
"""
import ctypes
import os
import re
import struct

from nvml_read import Unread

DYNSYM = 11
SECTION, SYMBOL = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ")


def loaded_file(path):
    """The file that the loader finds under this name, by the map of this process."""
    try:
        ctypes.CDLL(path)
    except OSError as error:
        raise Unread(str(error)) from error
    name = os.path.basename(path).split(".so")[0]
    with open("/proc/self/maps", encoding="utf-8") as file:
        for line in file:
            mapped = line.split(maxsplit=5)[5:]
            if mapped and os.path.basename(mapped[0].strip()).startswith(name + ".so"):
                return mapped[0].strip()
    raise Unread(f"{path} is in no file that is mapped")


def sections(data):
    offset, = struct.unpack_from("<Q", data, 40)
    size, n = struct.unpack_from("<HH", data, 58)
    return [SECTION.unpack_from(data, offset + i * size) for i in range(n)]


def exported(path):
    """The names that the library defines."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:5] != b"\x7fELF\x02":
        raise Unread(f"{path} is no library of 64 bits")
    names, all_sections = set(), sections(data)
    for _, kind, _, _, offset, size, link, *_ in all_sections:
        if kind != DYNSYM:
            continue
        strings = all_sections[link][4]
        for at in range(offset, offset + size, SYMBOL.size):
            name, _, _, section, *_ = SYMBOL.unpack_from(data, at)
            if section:
                end = data.index(b"\0", strings + name)
                names.add(data[strings + name:end].decode())
    if not names:
        raise Unread(f"{path} has no table of symbols")
    return names


def used_by_cleave(source):
    """[(name, the older one that also works or None)]"""
    rows = re.findall(r'AT\(\w+\), "(nvml\w+)"(?:, "(nvml\w+)")? \}', source)
    return [(name, instead or None) for name, instead in rows]


def compare(findings, path, source):
    subject = "functions"
    try:
        names = exported(loaded_file(path))
    except (Unread, OSError) as error:
        findings.unread(subject, str(error))
        return
    used, lacking = used_by_cleave(source), 0
    for name, instead in used:
        if name in names:
            continue
        lacking += 1
        older = f", and {instead} is used" if instead in names else ""
        findings.unread(subject, f"{name}: the library does not have it{older}")
    findings.same(subject, f"the library has {len(used) - lacking} of the {len(used)} "
                  "that cleave uses")
