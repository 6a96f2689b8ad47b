# SPDX-License-Identifier: Apache-2.0
"""The files of the tree, and C without its comments and strings."""
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPTS = ("dev", ".ci/run", "packaging/debian/cleave-agent.postrm", "packaging/pacemaker/functions",
           "packaging/pacemaker/gpu", "packaging/pacemaker/pool")

COMMENT = r"/\*.*?\*/"
STRING = r'"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'"
TOKEN = re.compile(f"({COMMENT})|({STRING})|(//[^\n]*)", re.S)


def from_git():
    """Files that git tracks or does not ignore; None where there is no git or git does not trust
    the folder."""
    try:
        done = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return None
    if done.returncode or not (ROOT / ".git").exists():
        return None
    return [name for name in done.stdout.split("\0") if name]


def from_disk():
    names = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [f for f in folders
                      if f not in (".git", "__pycache__") and not f.startswith("build")]
        names += [os.path.relpath(os.path.join(folder, f), ROOT) for f in files]
    return names


def files(*suffixes, under=()):
    """Names of the text files of the project, with these endings and in these folders."""
    names = from_git()
    if names is None:
        names = from_disk()
    chosen = []
    for name in sorted(set(names)):
        if suffixes and not name.endswith(suffixes):
            continue
        if under and not name.startswith(tuple(f"{u}/" for u in under)):
            continue
        path = ROOT / name
        if not path.is_file() or path.is_symlink():
            continue
        if b"\0" not in path.read_bytes()[:4096]:
            chosen.append(name)
    return chosen


def read(name):
    return (ROOT / name).read_text(errors="replace")


def shell_scripts():
    return [n for n in SCRIPTS if (ROOT / n).exists()] + files(".sh")


def line_comments(text):
    """Line numbers of // comments, except in strings and other comments."""
    return [text.count("\n", 0, m.start()) + 1 for m in TOKEN.finditer(text) if m[3]]


def finish(offenders, looked_at):
    """Prints the offenders, one per line, and ends the test."""
    if not looked_at:
        sys.exit("nothing was checked: the list of files is empty")
    for offender in offenders:
        print(offender)
    print(f"{looked_at} checked, {len(offenders)} offend")
    sys.exit(1 if offenders else 0)
