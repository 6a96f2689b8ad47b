# SPDX-License-Identifier: Apache-2.0
"""Agents on demand that hang without being stopped: each is ended, and another takes its place.

usage: hung.py --build BUILD [unittest arguments]"""
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

from cli_sandbox import Paths, Sandbox, StartedOnDemand, is_alive, wait_until  # noqa: E402

SKIPPED, UNREACHABLE = 77, 69
BUILD = ""


class Hung(StartedOnDemand, Sandbox):
    def setUp(self):
        self.AGENT = Paths.cleaved
        super().setUp()
        self.env.update(
            CLEAVE_LOCK_DIR=self.folder, CLEAVE_GATE_DIR=os.path.join(BUILD, "src/gate"),
            OCL_ICD_VENDORS=os.path.join(BUILD, "tests/doubles/opencl/vendors"),
            CLEAVE_DOUBLE_DEVICE=os.path.join(self.folder, "device"))

    def agent(self):
        """The process that listens now; 0: none."""
        with socket.socket(socket.AF_UNIX) as call:
            call.settimeout(1)
            try:
                call.connect(os.path.join(self.folder, "cleave", "api.sock"))
            except OSError:
                return 0
            return struct.unpack("3i", call.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))[0]

    def end_agents(self):
        if self.agent() > 0:
            os.kill(self.agent(), signal.SIGKILL)

    def hang(self, how):
        """The agent's main thread serves no more; the threads of its devices do."""
        pid = self.agent()
        words = [os.path.join(BUILD, "tests/crash/crash-hang"), str(pid), "main", how]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode == SKIPPED:
            self.skipTest(f"no process can be made to hang here: {done.stderr}")
        self.assertEqual(done.returncode, 0, done.stderr)
        return pid

    def assert_replaced(self, first):
        self.assertTrue(wait_until(lambda: not is_alive(first)), "the agent lives on")
        self.assertTrue(wait_until(lambda: self.agent() not in (0, first)),
                        "there is no other agent")

    def hang_beside_a_program(self, how):
        """The supervising cleave run notices, although nothing calls the agent."""
        with subprocess.Popen([Paths.cleave, "run", "--no-namespace", "-s.2", "cat"],
                              env=self.env, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as run:
            run.stdin.write(b"there\n")
            run.stdin.flush()
            self.assertEqual(run.stdout.readline(), b"there\n")
            self.assert_replaced(self.hang(how))
            run.stdin.close()
            self.assertEqual(run.wait(60), 0)

    def test_sleeping_beside_a_program(self):
        self.hang_beside_a_program("sleep")

    def test_computing_beside_a_program(self):
        self.hang_beside_a_program("compute")

    def test_computing_at_a_call(self):
        """A call waits as long as for an agent that is slow, and is then served by another."""
        self.assertEqual(self.cleave("devices").returncode, 0)
        first = self.hang("compute")
        # An agent that gets little of a busy machine's processors may be slow instead.
        for _ in range(5):
            result = self.cleave("run", "--no-namespace", "-s.2", "echo", "in")
            if result.returncode != UNREACHABLE:
                break
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "in\n", ""))
        self.assert_replaced(first)

    def test_an_agent_that_answers_is_left_alone(self):
        with subprocess.Popen([Paths.cleave, "run", "--no-namespace", "-s.2", "cat"],
                              env=self.env, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as run:
            run.stdin.write(b"there\n")
            run.stdin.flush()
            self.assertEqual(run.stdout.readline(), b"there\n")
            time.sleep(5)
            children = f"/proc/{run.pid}/task/{run.pid}/children"
            with open(children, encoding="utf-8") as file:
                self.assertEqual(len(file.read().split()), 1, "cleave run called the agent")
            run.stdin.close()
            self.assertEqual(run.wait(60), 0)


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv[2])
    Paths.cleave = os.path.join(BUILD, "src/cli/cleave")
    Paths.cleaved = os.path.join(BUILD, "src/agent/cleaved")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
