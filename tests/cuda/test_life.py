# SPDX-License-Identifier: Apache-2.0
"""CUDA programs that fork, exec, race, are killed, lose their environment; leases that change
under them.

usage: test_life.py --build BUILD [unittest arguments]
"""
import subprocess
import sys
import unittest

import machine
import worlds
from harness import wait_until

QUOTA = ("--share", "0.5", "--memory", "1G", "--name", "own")
LIFE = "cuda-life"


class Life(machine.Case):
    def test_what_programs_do(self):
        self.begin()
        for words in (("forks",), ("execs", machine.program("cuda-count")), ("threads",),
                      ("race",), ("signals",), ("unready",)):
            with self.subTest(words[0]):
                self.run_in_lease(machine.program(LIFE), *words, options=QUOTA)

    def test_one_quota_for_all_processes(self):
        self.begin()
        self.assertEqual(self.two_processes(), ["0", "2", "0"])

    def two_processes(self):
        """600 MiB; 600 more in another process; the same when the first was killed."""
        lease = self.start(
            sys.executable, "-c", TWO, machine.program(LIFE), options=QUOTA)
        out, err = lease.communicate(timeout=60)
        self.assertEqual(lease.returncode, 0, err)
        return out.split()

    def test_a_quota_that_changes(self):
        self.begin()
        process = subprocess.Popen(
            [worlds.built("src/cli/cleave"), "run", "--socket", self.agent.api, *QUOTA,
             "--device", "gpu0", "--", machine.program(LIFE), "hold", "600"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.agent.env)
        self.addCleanup(process.stdout.close)

        def one_more():
            process.stdin.write("x")
            process.stdin.flush()
            return process.stdout.readline()

        self.assertEqual(process.stdout.readline(), "0\n")
        self.assertEqual(one_more(), "0\n")
        self.resize(512 * machine.MIB)
        self.assertEqual(one_more(), "2\n", "it has more than that already")
        self.resize(700 * machine.MIB)
        self.assertEqual(one_more(), "0\n")
        process.stdin.close()
        self.assertEqual(process.wait(20), 0)

    def resize(self, n_bytes):
        status, answer = self.agent.request("PATCH", "/v1/leases/own", {"memory_bytes": n_bytes})
        self.assertEqual(status, 200, answer)

    def test_who_loses_the_gate_is_seen(self):
        self.begin()
        process = self.start("env", "-u", "LD_PRELOAD", machine.program("cuda-tenant"), "queue",
                             "100000", "30", options=("--share", "0.5", "--no-namespace"))
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.assertTrue(wait_until(lambda: self.agent.events("ungated_api"), 10))
        self.assertEqual(self.agent.get("/v1/leases")["items"][0]["uses_ungated"], ["cuda"])

    def test_the_agent_comes_and_goes(self):
        """Programs run on, and the next agent knows what they hold."""
        self.begin()
        process = self.start(machine.program("cuda-tenant"), "queue", "100000", "6")
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.agent.process.kill()
        self.agent.process.wait()
        self.agent.start()
        out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0, err)
        self.assertGreater(int(out), 10_000)


TWO = """
import subprocess, sys, time

def hold():
    p = subprocess.Popen([sys.argv[1], "hold", "600"], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True)
    print(p.stdout.readline().strip())
    return p

first = hold()
second = hold()
first.kill()
first.wait()
time.sleep(.5)
third = hold()
second.kill()
third.kill()
"""


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
