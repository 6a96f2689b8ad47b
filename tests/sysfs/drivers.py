# SPDX-License-Identifier: Apache-2.0
"""A backend on the sysfs double, which answers writes as the drivers do."""
import os
import subprocess
import sys
from pathlib import Path

from trees import Tree, start

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "doubles/sysfs"))
from sysfs_double import Double, Unavailable  # noqa: E402,F401

SKIP = 77
ERRORS = ("EPERM", "EACCES", "EROFS", "ENOENT", "EOPNOTSUPP", "ENODEV", "ENXIO", "EBUSY",
          "ENOSPC", "ENOMEM", "EUSERS", "ERANGE", "ETIMEDOUT", "EINVAL", "EUCLEAN", "EIO",
          "EINTR", "ENOTCONN")
# The errors that the vtable allows.
PROMISED = {"EPERM", "ENODEV", "ENOSPC", "EOPNOTSUPP", "EBUSY", "ETIMEDOUT", "EINVAL", "EIO"}


class World:
    """The double, a separate /proc, and a backend that sees both."""

    def __init__(self, double, tool, backend, *devices):
        self.double = Double(double, {"devices": list(devices)})
        self.proc = Tree()
        self.arguments = tool, backend
        self.children = []

    def __enter__(self):
        self.double.start()
        self.open()
        return self

    def open(self):
        path = f"{self.double.control}/bin:{os.environ['PATH']}"
        tool, backend = self.arguments
        self.backend = start(tool, backend, self.double.sys, self.proc.root / "proc", PATH=path,
                             CLEAVE_AMD_RELOAD=str(self.proc.root / "amdgpu-reload"))
        self.backend.__enter__()

    def restart(self):
        """Another process, which knows only the state that the last one left."""
        self.backend.__exit__(None)
        self.open()

    def __exit__(self, *error):
        for child in self.children:
            child.kill()
            child.wait()
        self.double.put("holders", [])
        try:
            self.backend.__exit__(*error)
        finally:
            self.double.close()
            self.proc.__exit__()

    def ask(self, *words):
        return self.backend.ask(*words)

    def device(self, number=0):
        return self.backend.devices()[number]

    def path(self, address, name):
        return f"bus/pci/devices/{address}/{name}"

    def hold(self, kind, subject, *paths, command="python3"):
        """A live process that the double lists as a holder, and that has these files open."""
        child = subprocess.Popen(["/bin/sleep", "600"])
        self.children.append(child)
        self.proc.process(child.pid, command, *paths)
        self.double.put("holders", [f"{kind} {subject} {child.pid}"])
        return child.pid

    def release(self):
        self.double.put("holders", [])
        for child in self.children:
            child.kill()
            child.wait()
            subprocess.run(["rm", "-r", self.proc.root / "proc" / str(child.pid)], check=True)
        self.children = []

    def writes(self):
        """(path, value) of all writes."""
        return [(entry["path"], entry["value"]) for entry in self.double.log()
                if entry["op"] == "write"]


def main(cases, check):
    try:
        for case in cases:
            case()
    except Unavailable as reason:
        print(reason)
        raise SystemExit(SKIP)
    check.finish()
