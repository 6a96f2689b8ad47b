#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates the exports of a library from its header of functions and its list of symbols.

    generate.py PREFIX ROCM functions.h symbols exports.c implement.h exports.map

A function that returns int is PREFIX_NAME inside; the symbol first calls PREFIX_begin(), which
returns whether the call is allowed, and passes the result through PREFIX_end(). NAME_spt is NAME on
the per-thread default stream, and a mangled name stands for its plain one. A symbol without an
implementation is weak, and not supported."""
import os
import re
import sys

PROTOTYPE = re.compile(r"^int (\w+)\(([^;]*)\);", re.M)
ANY = re.compile(r"^\w[\w *]*?\b(\w+)\(([^;]*)\);", re.M)


def names_of(parameters):
    if parameters.strip() == "void":
        return ""
    return ", ".join(re.search(r"(\w+)(\[\d*\])?$", p.strip())[1] for p in parameters.split(","))


def read_header(path):
    """With the headers of the same kind that it includes."""
    text = open(path, encoding="utf-8").read()
    for more in re.findall(r'#include "(functions-\w+\.h)"', text):
        text += read_header(os.path.join(os.path.dirname(path), more))
    return text


def read_symbols(path, rocm):
    """[(version, [names])] of the library, in the order of the versions."""
    versions, names = [], None
    for line in open(path, encoding="utf-8"):
        head = re.match(r"(\w+[\d.]*) of ([\d ]+)$", line)
        if line.startswith("#") or not line.strip():
            continue
        if head:
            if not versions or versions[-1][0] != head[1]:
                versions.append((head[1], []))
            names = versions[-1][1] if rocm in head[2].split() else []
        else:
            names += line.split()
    return [(version, names) for version, names in versions if names]


def plain(symbol):
    """The plain name of a function with a C++ name."""
    mangled = re.match(r"_Z(\d+)(\w+)", symbol)
    return mangled[2][:int(mangled[1])] if mangled else symbol


def wrapper(prefix, symbol, name, parameters):
    flag = "true" if symbol.endswith("_spt") else "false"
    return (f"int {symbol}({parameters})\n{{\n"
            f"\tint r = {prefix}_begin(\"{symbol}\", {flag});\n\n"
            f"\treturn {prefix}_end(r ? r : {prefix}_{name}({names_of(parameters)}), {flag});\n}}\n")


def stub(prefix, name):
    return (f"int {name}(void);\n__attribute__((weak)) int {name}(void)\n{{\n"
            f"\treturn {prefix}_missing(\"{name}\");\n}}\n")


def exports(prefix, wrapped, others, symbols):
    """The C text, and the names that have an implementation."""
    parts, there = [], []
    for symbol in symbols:
        name = plain(symbol).removesuffix("_spt")
        if name in wrapped and (symbol == name or symbol not in others):
            if symbol != name:
                parts.append(f"int {symbol}({wrapped[name]});\n")
            parts.append(wrapper(prefix, symbol, name, wrapped[name]))
            there.append(symbol)
        elif symbol in others:
            there.append(symbol)
        else:
            parts.append(stub(prefix, symbol))
    rows = "".join(f"\t{{\"{name}\", (void *){name}}},\n" for name in sorted(there))
    parts.append(f"const struct {prefix}_symbol {prefix}_symbols[] = {{\n{rows}\t{{0}},\n}};\n")
    return "\n".join(parts)


def version_script(versions):
    before, parts = "", []
    for version, names in versions:
        lines = "".join(f"\t{name};\n" for name in sorted(names))
        local = "local:\n\t*;\n" if not before else ""
        parts.append(f"{version} {{\nglobal:\n{lines}{local}}}{before};\n")
        before = f" {version}"
    return "\n".join(parts)


def main():
    prefix, rocm, header, list_path, c_path, h_path, map_path = sys.argv[1:]
    text = re.sub(r"[ \t]*\n[ \t]+", " ", read_header(header))
    wrapped = dict(PROTOTYPE.findall(text))
    others = {name for name, _ in ANY.findall(text)} - set(wrapped)
    versions = read_symbols(list_path, rocm)
    symbols = [name for _, names in versions for name in names]
    # Functions that this version lacks must not be declared anywhere.
    body = exports(prefix, wrapped, others, symbols)
    with open(c_path, "w", encoding="utf-8") as to:
        to.write(f"#include \"{h_path.rpartition('/')[2]}\"\n#include \"exports.h\"\n\n"
                 f"#pragma GCC visibility push(default)\n\n{body}")
    with open(h_path, "w", encoding="utf-8") as to:
        to.write("#pragma once\n#include \"functions.h\"\n\n")
        to.write("".join(f"int {prefix}_{name}({parameters});\n"
                         for name, parameters in wrapped.items()))
    with open(map_path, "w", encoding="utf-8") as to:
        to.write(version_script(versions))


if __name__ == "__main__":
    sys.exit(main())
