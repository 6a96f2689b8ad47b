# SPDX-License-Identifier: Apache-2.0
"""Folders that look like sysfs and /proc, and a backend on them."""
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path


class Tree:
    """Files and links below one folder, which has sys/ and proc/."""

    def __init__(self):
        self.root = Path(tempfile.mkdtemp(prefix="cleave-tree-"))
        for folder in ("sys/bus/pci/devices", "sys/bus/pci/drivers", "proc"):
            (self.root / folder).mkdir(parents=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
        return file

    def read(self, path):
        return (self.root / path).read_text().strip()

    def link(self, path, target):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.symlink_to(target)

    def process(self, pid, command, *paths):
        """A process in /proc that has these device files open."""
        self.write(f"proc/{pid}/comm", command)
        for number, path in enumerate(paths, 3):
            self.link(f"proc/{pid}/fd/{number}", path)

    def pci(self, address, ids, class_id="0x120000", driver=None, **files):
        """A PCI function; ids are "vendor:device", files are its attributes."""
        vendor, device = ids.split(":")
        folder = f"sys/bus/pci/devices/{address}"
        self.write(f"{folder}/vendor", f"0x{vendor}")
        self.write(f"{folder}/device", f"0x{device}")
        self.write(f"{folder}/class", class_id)
        self.write(f"{folder}/numa_node", "1")
        for name, text in files.items():
            self.write(f"{folder}/{name}", text)
        if driver:
            drivers = self.root / "sys/bus/pci/drivers" / driver
            drivers.mkdir(exist_ok=True)
            self.link(f"{folder}/driver", f"../../drivers/{driver}")
            self.link(f"sys/bus/pci/drivers/{driver}/{address}",
                      f"../../devices/{address}")
        return folder


class Session:
    """A program that answers each line with a line of JSON."""

    def __init__(self, argv, **environment):
        self.child = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **environment})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.child.stdin.close()
        except BrokenPipeError:
            pass  # it did not start
        self.child.stdout.read()
        status = self.child.wait(timeout=60)
        assert status in (0, 1), f"{self.child.args[0]} ended with {status}"

    def tell(self, *words):
        try:
            self.child.stdin.write(" ".join(str(word) for word in words) + "\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            pass

    def ask(self, *words):
        """The answer, or the program's output if it could not start."""
        self.tell(*words)
        return self.hear()

    def hear(self):
        return json.loads(self.child.stdout.readline())

    def devices(self):
        return self.ask("survey")["devices"]


def start(program, name, sysfs, procfs="/proc", **environment):
    """Starts backend-tool on these folders."""
    return Session([program, name], CLEAVE_SYSFS=str(sysfs), CLEAVE_PROCFS=str(procfs),
                   **environment)


class Checks:
    """Counts the correct results and prints the others."""

    def __init__(self):
        self.done = self.failed = 0

    def equal(self, have, wanted, *what):
        self.done += 1
        if have != wanted:
            self.failed += 1
            print(*what, "\n   is", have, "\n   not", wanted)

    def holds(self, condition, *what):
        self.equal(bool(condition), True, *what)

    def refused(self, answer, error, *words):
        """An error of that name, whose message has the words."""
        # The C library has this one under another name.
        error = {"ENOTSUP": "EOPNOTSUPP"}.get(error, error)
        self.equal(answer.get("error"), error, words, answer)
        for word in words:
            self.holds(word in answer.get("message", ""), f"'{word}' in", answer)

    def finish(self):
        print(f"{self.done} checks, {self.failed} failed")
        raise SystemExit(self.failed > 0)
