# SPDX-License-Identifier: Apache-2.0
"""Drop-ins for services: what systemd itself makes of them, and what the command does that is in
them.

usage: test_systemd.py CLEAVE CLEAVED [unittest arguments]
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

CLEAVE, CLEAVED = map(os.path.abspath, sys.argv[1:3])
SIZE = "--share=0.25", "--memory=200M"


class DropIns(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cleave-systemd-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def unit(self, name="web.service", **lines):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("[Unit]\nDescription=a test\n[Service]\n" + "".join(
                f"{key}={value}\n" for key, values in lines.items()
                for value in (values if isinstance(values, list) else [values])))
        return path

    def write(self, path, *options, code=0):
        folder = path + ".d"
        os.makedirs(folder, exist_ok=True)
        drop_in = os.path.join(folder, "50-cleave.conf")
        answer = subprocess.run([CLEAVE, "systemd", path, *(options or SIZE), "--to", drop_in],
                                capture_output=True, text=True, check=False)
        self.assertEqual(answer.returncode, code, answer.stderr)
        if code:
            self.assertEqual(len(answer.stderr.splitlines()), 1)
            return answer.stderr
        with open(drop_in, encoding="utf-8") as file:
            return file.read()

    def starts(self, text):
        return [line[len("ExecStart="):] for line in text.splitlines()
                if line.startswith("ExecStart=")]

    def test_commands(self):
        path = self.unit(ExecStart=["-/bin/echo 'a b' %n ${X}", "+/bin/sh -c \\\n  'x'"])
        run = f"{CLEAVE} run --name web --share 0.25 --memory {200 << 20} -- "
        starts = self.starts(self.write(path))
        self.assertEqual(starts[:2], ["", "-" + run + "/bin/echo 'a b' %n ${X}"])
        self.assertEqual(starts[2].split(), ("+" + run + "/bin/sh -c 'x'").split())

    def test_what_is_said_last_counts(self):
        path = self.unit(ExecStart=["/bin/false", "", "/bin/true"], Type=["simple", "notify"])
        text = self.write(path)
        self.assertEqual(len(self.starts(text)), 2)
        self.assertIn("-- /bin/true", text)
        self.assertIn("NotifyAccess=all", text)
        self.assertNotIn("NotifyAccess", self.write(self.unit(ExecStart="/bin/true")))

    def test_refusals(self):
        for lines, words in (({"Type": "forking", "ExecStart": "/bin/true"}, "foreground"),
                             ({"Type": "oneshot"}, "ExecStart"),
                             ({"ExecStart": "@/bin/true x"}, "@"),
                             ({"ExecStart": f"{CLEAVE} run -- /bin/true"}, "already")):
            with self.subTest(words):
                self.assertIn(words, self.write(self.unit(**lines), code=78))
        path = self.unit(ExecStart="/bin/true")
        self.assertIn("no size", self.write(path, "--class=batch", code=64))
        with open(path, "a", encoding="utf-8") as file:
            file.write("no line of a unit\n")
        self.assertIn("no line of a unit", self.write(path, code=78))
        answer = subprocess.run([CLEAVE, "systemd", "no-such-unit", *SIZE], capture_output=True,
                                text=True, check=False)
        self.assertEqual(answer.returncode, 66)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "needs systemd")
    def test_systemd_takes_it(self):
        path = self.unit(name="web@.service", Type="notify", ExecStart="/bin/echo %i 'a b'")
        self.write(path)
        answer = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", path],
            env=dict(os.environ, SYSTEMD_UNIT_PATH=self.folder + ":"), capture_output=True,
            text=True, check=False)
        said = [line for line in answer.stderr.splitlines() if "web" in line]
        self.assertEqual((answer.returncode, said), (0, []), answer.stderr)

    def test_the_command_holds(self):
        text = self.write(self.unit(ExecStart="/usr/bin/env -i /usr/bin/clinfo"))
        env = dict(os.environ, XDG_RUNTIME_DIR=self.folder, XDG_STATE_HOME=self.folder)
        env.pop("CLEAVE_SOCKET", None)
        answer = subprocess.run(["sh", "-c", self.starts(text)[1]], env=env, text=True,
                                capture_output=True, timeout=60, check=False)
        self.assertIn(str(200 << 20), answer.stdout, answer.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
