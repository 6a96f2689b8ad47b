#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""systemd accepts the units, and they expose no more than they have to.

usage: test_units.py CLEAVED FOLDER (where the built units are, SYSTEM-cleaved.service)
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent / "packaging"
# The exposure over 4 comes from GPUs, the processes of all users and loaded drivers: the unit gives
# the reason for each. More than this needs a reason there too.
EXPOSURE_MAX = 4.3
CLEAVED, BUILT = os.path.abspath(sys.argv[1]), Path(sys.argv[2])


def systemd(*arguments, **env):
    return subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60, env={**os.environ, **env})


@unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd")
class Units(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="cleave-units-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def units(self, kind):
        """As they are installed, but with the built agent."""
        text = (BUILT / f"{kind}-cleaved.service").read_text()
        text = re.sub(r"^(Exec\w+=)\S+/cleaved\b", rf"\g<1>{CLEAVED}", text, flags=re.M)
        (self.folder / "cleaved.service").write_text(text)
        shutil.copy(SOURCE / kind / "cleaved.socket", self.folder)
        return [str(self.folder / f"cleaved.{end}") for end in ("service", "socket")]

    def verify(self, kind, *more):
        done = systemd("systemd-analyze", *more, "verify", "--man=no", "--recursive-errors=no",
                       *self.units(kind), XDG_RUNTIME_DIR=str(self.folder))
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_system_units(self):
        self.verify("system")

    def test_user_units(self):
        self.verify("user", "--user")

    def test_exposure(self):
        unit = self.units("system")[0]
        done = systemd("systemd-analyze", "security", "--offline=true", "--no-pager",
                       f"--threshold={int(EXPOSURE_MAX * 10)}", unit)
        level = re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)
        self.assertTrue(level, done.stdout + done.stderr)
        print(f"exposure level: {level[1]}, {EXPOSURE_MAX} at most")
        self.assertEqual(done.returncode, 0)
        self.assertLessEqual(float(level[1]), EXPOSURE_MAX)

    def test_each_omission_has_its_reason(self):
        text = (SOURCE / "system" / "cleaved.service.in").read_text()
        reasons = text[text.index("# Not set, and why:"):]
        for name in ("User", "PrivateUsers", "ProtectProc", "PrivateDevices", "ProtectClock",
                     "ProtectKernelModules", "MemoryDenyWriteExecute", "PrivateNetwork",
                     "ProtectKernelTunables"):
            self.assertNotRegex(text, rf"(?m)^{name}=")
            self.assertIn(name, reasons + text)

    def test_group_and_folders(self):
        for path in ("etc", "run", "var/lib"):
            (self.folder / path).mkdir(parents=True)
        for tool, file in (("systemd-sysusers", "sysusers.conf"),
                           ("systemd-tmpfiles", "tmpfiles.conf")):
            arguments = ["--create"] if tool == "systemd-tmpfiles" else []
            done = systemd(tool, *arguments, f"--root={self.folder}", str(SOURCE / file))
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cleave-viewer:", (self.folder / "etc/group").read_text())
        modes = {p: (self.folder / p).stat().st_mode & 0o7777
                 for p in ("run/cleave", "var/lib/cleave")}
        self.assertEqual(modes, {"run/cleave": 0o755, "var/lib/cleave": 0o700})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
