#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that finds no device gets the reason, in one line: one that has changed its user, and
one that may open few files. A program whose agent is stopped gets the device from the next.

usage: lacking.py CLEAVE LOADER GATE [unittest arguments]

Never asserts how much time anything takes.
"""
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "bypass"))
from session import Session  # noqa: E402

PATHS = {}
SHARE = ["--share", "0.3", "--memory", "64M"]
HELD = f"got {64 << 20} code -4\n"
STRANGER = 65534
CHANGE = ["setpriv", f"--reuid={STRANGER}", "--clear-groups"]


class Lacking(unittest.TestCase):
    def setUp(self):
        self.session = Session(PATHS["cleave"])
        self.addCleanup(self.session.close)
        # Where every user may read it.
        self.folder = tempfile.mkdtemp(prefix="clv-")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)
        self.program = [os.path.join(self.folder, "loader"), "dlopen-local"]
        shutil.copy(PATHS["loader"], self.program[0])

    def run_program(self, *command, options=(), limits=None):
        """cleave run with these soft and hard limits of open files, if given."""
        def limit():
            if limits:
                resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        return subprocess.run([PATHS["cleave"], "run", *SHARE, *options, "--", *command],
                              env=self.session.environment, preexec_fn=limit,
                              capture_output=True, text=True, timeout=60, check=False)

    def assert_told(self, answer, *words):
        """One line and no more, and no device."""
        self.assertEqual((answer.returncode, answer.stdout), (3, "no-device\n"), answer.stderr)
        self.assertRegex(answer.stderr, r"\Acleave: no device for process \d+: [^\n]+\n\Z")
        for word in words:
            self.assertIn(word, answer.stderr)


class OtherUser(Lacking):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        super().setUp()
        if subprocess.run([*CHANGE, "test", "-r", PATHS["gate"]], check=False).returncode:
            self.skipTest("other users cannot read the gate")
        if self.run_program("true").returncode:
            self.skipTest("no mount namespace")

    def test_gets_the_reason(self):
        told = f"user {STRANGER} may not enter the lease", "start cleave run as that user"
        for command in (CHANGE, [*CHANGE, "env", "-i"], [*CHANGE, "env", "-u", "CLEAVE_LEASE"],
                        [*CHANGE, "env", "-u", "OPENCL_LAYERS"]):
            with self.subTest(command=command):
                self.assert_told(self.run_program(*command, *self.program), *told)
        answer = self.run_program(*CHANGE, *self.program, options=["--no-namespace"])
        self.assert_told(answer, *told)

    def test_gets_the_reason_beside_chosen_drivers(self):
        self.session.environment["OCL_ICD_VENDORS"] = "/etc/OpenCL/vendors"
        self.assert_told(self.run_program(*CHANGE, *self.program), "may not enter the lease")

    def test_set_user_id_gets_the_reason(self):
        """The system's loader takes nothing from such a program's environment."""
        if os.statvfs(self.folder).f_flag & os.ST_NOSUID:
            self.skipTest(f"no set-user-ID programs in {self.folder}")
        os.chown(self.program[0], STRANGER, -1)
        os.chmod(self.program[0], 0o4755)
        self.assert_told(self.run_program(*self.program), f"user {STRANGER} may not enter the lease")

    def test_gets_the_reason_with_any_umask(self):
        before = os.umask(0o077)
        self.addCleanup(os.umask, before)
        self.assert_told(self.run_program(*CHANGE, *self.program), "may not enter the lease")

    def test_same_user_in_other_groups(self):
        answer = self.run_program("setpriv", f"--regid={STRANGER}", "--clear-groups",
                                  *self.program)
        self.assertEqual((answer.stdout, answer.stderr), (HELD, ""))

    def test_finds_no_way_in(self):
        """The files that the namespace shows to all give another user no access to the lease."""
        look = ("import os, socket\n"
                "folder = '/etc/OpenCL/vendors'\n"
                "for name in sorted(os.listdir(folder)):\n"
                "    path = os.path.join(folder, name)\n"
                "    print(name, os.access(path, os.W_OK), end=' ')\n"
                "    try:\n"
                "        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(path)\n"
                "    except OSError as error:\n"
                "        print(error.strerror)\n"
                "print(os.access(folder, os.W_OK))\n")
        answer = self.run_program(*CHANGE, "/usr/bin/python3", "-c", look)
        lines = answer.stdout.splitlines()
        self.assertIn("lease.sock False Permission denied", lines, answer.stderr)
        self.assertIn("vendors.real False Permission denied", lines)
        self.assertEqual(lines[-1], "False")
        self.assertFalse(any(" True " in line for line in lines), lines)


class FewFiles(Lacking):
    def few(self, number):
        return "prlimit", f"--nofile={number}"

    def test_program_gets_the_reason(self):
        """Down to the limit at which the system's loader cannot open the gate."""
        n_told = 0
        for number in range(5, 16):
            with self.subTest(number=number):
                answer = self.run_program(*self.few(number), *self.program)
                if answer.returncode:
                    self.assert_told(answer, f"the limit of {number} open files", "ulimit -n")
                    n_told += 1
                else:
                    self.assertEqual((answer.stdout, answer.stderr), (HELD, ""))
        self.assertGreater(n_told, 0)
        self.assertLess(n_told, 8)

    def test_driver_that_is_not_there(self):
        """The lease's device is one that the agent sees, and this program does not."""
        self.assertEqual(self.run_program("true").returncode, 0)
        empty = os.path.join(self.folder, "vendors")
        os.mkdir(empty)
        self.session.environment["OCL_ICD_VENDORS"] = empty
        answer = self.run_program(*self.program)
        self.assert_told(answer, "no driver in ", "Portable Computing Language")

    def test_device_that_the_driver_hides(self):
        self.session.environment["POCL_DEVICES"] = "basic pthread"
        second = ["--device", "gpu1"]
        answer = self.run_program(*self.program, options=second)
        self.assertEqual((answer.stdout, answer.stderr), (HELD, ""))
        for shown, number in (("pthread", 1), ("none", 0)):
            with self.subTest(shown):
                answer = self.run_program("env", f"POCL_DEVICES={shown}", *self.program,
                                          options=second)
                self.assert_told(answer, f"the driver shows {number} here, and the lease's device "
                                         "(number 1) is not among them")

    def test_agent_has_more(self):
        """It is started with these limits and raises its own, as far as allowed."""
        answer = self.run_program(*self.program, limits=(20, 4096))
        self.assertEqual((answer.stdout, answer.stderr), (HELD, ""))

    def test_agent_that_may_not_have_more(self):
        for number in (8, 12, 16, 24, 32, 63):
            with self.subTest(number=number):
                answer = self.run_program(*self.program, limits=(number, number))
                self.assertEqual((answer.returncode, answer.stdout), (69, ""), answer.stderr)
                self.assertRegex(answer.stderr, r"\Acleave: [^\n]+\n\Z")
                self.assertIn(f"the agent needs 64 open files and the limit is {number}: raise "
                              "the limit (ulimit -n)", answer.stderr)


class StoppedAgent(Lacking):
    """A program that waits for its turn when the agent is stopped gets it from the next one."""

    def begin(self):
        """Starts a program that has not looked for a device yet, and the agent."""
        self.assertEqual(self.run_program("true").returncode, 0)
        run = subprocess.Popen([PATHS["cleave"], "run", *SHARE, "--name", "early", "--", "sh", "-c",
                                "echo ready; read go; exec \"$@\"", "sh", *self.program],
                               env=self.session.environment, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        self.assertEqual(run.stdout.readline(), "ready\n")
        agent = self.session.agent_pid()
        os.kill(agent, signal.SIGSTOP)
        return run, agent

    def end(self, run, agent):
        said, told = run.communicate("\n", timeout=60)
        self.assertEqual(said, HELD, told)
        self.assertNotIn(self.session.agent_pid(), (0, agent))

    def test_beside_its_supervisor(self):
        self.end(*self.begin())

    def test_beside_a_new_run(self):
        run, agent = self.begin()
        run.send_signal(signal.SIGSTOP)  # it would restart the agent
        answer = self.run_program(*self.program)
        self.assertEqual((answer.stdout, answer.stderr), (HELD, ""))
        leases = self.session.leases()
        self.assertIn("early", leases)
        run.send_signal(signal.SIGCONT)
        self.end(run, agent)


if __name__ == "__main__":
    PATHS.update(zip(("cleave", "loader", "gate"), map(os.path.abspath, sys.argv[1:4])))
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
