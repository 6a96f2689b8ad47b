#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of the README as they are written there, on a bare Debian with the committed
sources, and compares what does not depend on the machine.

usage: test_readme.py SOURCES ROOT

ROOT is where the bare Debian is kept from run to run.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import root as roots

SKIP, PATIENCE_S = 77, 1800
# "Containers" names an image and a program of the reader's.
SECTIONS = ("Five minutes", "Partitions", "One agent for a machine")
# A reader types the next command when a program in the background has begun.
TYPING_S = 8
MARK = "==command"
# The agents of this root: the machine's processes are all in /proc.
END_AGENTS = """for p in /proc/[0-9]*; do
    [ "$(cat $p/comm 2>/dev/null)" = cleaved ] && [ $p/root/ -ef / ] && kill ${p#/proc/}
done"""


def sections_of(readme):
    return "".join(re.search(rf"^## {name}\n(.*?)^## ", readme, re.M | re.S)[1]
                   for name in SECTIONS)


def commands_in(block):
    """[(command, the lines that it shows)]"""
    found, end = [], None
    for line in block.splitlines():
        if end:
            found[-1][0].append(line)
            end = None if line == end else end
        elif line.startswith("$ "):
            found.append(([line[2:]], []))
            here = re.search(r"<<'(\w+)'", line)
            end = here and here[1]
        else:
            found[-1][1].append(line)
    return [("\n".join(lines), shown) for lines, shown in found]


def file_of(command, shown):
    """Writes the file that a command of the README shows, as a reader does."""
    name = re.fullmatch(r"cat (\S+\.yaml)", command)
    return [f"mkdir -p $(dirname {name[1]})", f"cat >{name[1]} <<'EOF'", *shown, "EOF"] \
        if name else []


def script_of(section, commands):
    """The packages that the text between the commands names are installed first.  The user is
    root, and has no sudo."""
    packages = re.findall(r"`(apt-get install) ([^`]*)`", section)
    parts = ["export PATH=/usr/local/sbin:/usr/local/bin:$PATH",
             'sudo() { "$@"; }',
             *(f"{command} -qq {names} >/dev/null 2>&1" for command, names in packages)]
    for i, (command, shown) in enumerate(commands):
        parts += [*file_of(command, shown), f"echo '{MARK} {i}'", command, "echo \"==status $?\""]
        if command.endswith("&"):
            parts.append(f"sleep {TYPING_S}")
    return "\n".join([*parts, f"echo '{MARK} {len(commands)}'", "wait", END_AGENTS, ""])


def same_everywhere(line):
    """Headers of tables, verdicts and errors, with the numbers taken out; else None."""
    if not re.match(r"([A-Z-]{2,} +[A-Z-]{2,}|cleave: |This machine |  Global memory size)", line):
        return None
    return " ".join(re.sub(r"[\d.]+", "#", line).split())


def check_shown(command, shown, out):
    got = {same_everywhere(line) for line in out.splitlines()}
    fails = any(line.startswith("cleave: ") for line in shown)
    assert fails or "==status 0\n" in out, f"'{command}' failed:\n{out}"
    for line in filter(None, map(same_everywhere, shown)):
        assert line in got, f"'{command}' does not show '{line}' but:\n{out}"


def run_inside(root, script):
    (root.path / "sources/five-minutes.sh").write_text(script)
    process = root.start("root", "sh", "-c", "cd /sources && bash five-minutes.sh 2>&1")
    try:
        return process.communicate(timeout=PATIENCE_S)[0]
    finally:
        process.kill()


def main():
    sources, base = map(os.path.abspath, sys.argv[1:3])
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        print("needs root and debootstrap")
        return SKIP
    archive = subprocess.run(["git", "-C", sources, "archive", "HEAD"], capture_output=True,
                             check=False)
    if archive.returncode != 0:
        print("needs a git checkout")
        return SKIP
    section = sections_of(Path(sources, "README.md").read_text(encoding="utf-8"))
    commands = [each for block in re.findall(r"^```\n(\$ .*?)^```$", section, re.M | re.S)
                for each in commands_in(block)]
    assert len(commands) > 5, commands
    roots.enter_namespace()
    roots.make_base(base, ["ca-certificates"])
    root = roots.Root(base)
    try:
        (root.path / "sources").mkdir()
        subprocess.run(["tar", "-x", "-C", root.path / "sources"], input=archive.stdout, check=True)
        out = run_inside(root, script_of(section, commands))
        parts = dict(re.findall(rf"^{MARK} (\d+)\n(.*?)(?=^{MARK} )", out, re.M | re.S))
        for i, (command, shown) in enumerate(commands):
            assert str(i) in parts, f"'{command}' was not reached:\n{out[-3000:]}"
            check_shown(command, shown, parts[str(i)])
    finally:
        root.close()
    print(f"ok {len(commands)} commands")
    return 0


if __name__ == "__main__":
    sys.exit(main())
