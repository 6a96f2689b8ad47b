# SPDX-License-Identifier: Apache-2.0
"""HIP programs that fork, exec, race, capture, are killed; leases that change under them.

usage: test_life.py --build BUILD --rocm 5|6 [unittest arguments]
"""
import os
import sys
import time

import machine
from harness import wait_until

QUOTA = ("--share", "0.5", "--memory", "1G", "--name", "own")


class Life(machine.Case):
    def test_what_programs_do(self):
        self.begin()
        for words in (("forks",), ("forks-first",), ("execs", machine.program("hip-count")),
                      ("threads",), ("captures",), ("callbacks",), ("stands",), ("signals",)):
            with self.subTest(words[0]):
                self.run_in_lease(machine.program("hip-life"), *words, options=QUOTA)

    def test_what_programs_do_beside_others(self):
        self.begin()
        other = self.start(machine.program("hip-tenant"), "queue", "200000", "60",
                           options=("--share", "0.5"))
        self.assertEqual(other.stdout.readline(), "ready\n")
        for words in (("forks",), ("captures",), ("callbacks",), ("stands",)):
            with self.subTest(words[0]):
                self.run_in_lease(machine.program("hip-life"), *words, options=QUOTA)

    def test_one_quota_for_all_processes(self):
        """600 MiB; 600 more in another process; the same when the first was killed."""
        self.begin()
        self.assertEqual(self.run_in_lease(sys.executable, "-c", TWO, machine.program("hip-life"),
                                           options=QUOTA).split(), ["0", "2", "0"])

    def test_a_quota_that_changes(self):
        self.begin()
        process = self.start(machine.program("hip-life"), "hold", "600", options=QUOTA)

        def one_more():
            process.stdin.write("x")
            process.stdin.flush()
            return process.stdout.readline()

        self.assertEqual(process.stdout.readline(), "0\n")
        self.assertEqual(one_more(), "0\n")
        for quota, answer in ((512, "2\n"), (700, "0\n"), (2000, "0\n")):
            status, said = self.agent.request("PATCH", "/v1/leases/own",
                                              {"memory_bytes": quota * machine.MIB})
            self.assertEqual(status, 200, said)
            self.assertEqual(one_more(), answer, quota)

    def test_what_no_call_shows(self):
        """What HSA takes for itself counts in the quota, as the driver says it."""
        self.begin(config="version: 1\nwatch: {every: 1s, grace: 1s}\n")
        process = self.start(machine.program("hip-tenant"), "copy", "104857600", "60", options=QUOTA)
        self.assertEqual(process.stdout.readline(), "ready\n")

        def figures():
            lease = self.agent.get("/v1/leases/own")
            return (lease["memory_used_bytes"] // machine.MIB,
                    lease["memory_overhead_bytes"] // machine.MIB)

        self.assertTrue(wait_until(lambda: figures() == (264, 64), 15), figures())

    def test_a_killed_program_leaves_nothing(self):
        self.begin()
        process = self.start(machine.program("hip-tenant"), "queue", "100000", "60")
        self.assertEqual(process.stdout.readline(), "ready\n")
        lease = self.agent.get("/v1/leases")["items"][0]
        os.kill(lease["processes"][0]["pid"], 9)
        process.wait(10)
        self.assertTrue(wait_until(lambda: not self.agent.get("/v1/leases")["items"], 5))
        self.run_in_lease(machine.program("hip-tenant"), "queue", "100000", "1",
                          options=("--share", "1"))

    def test_who_has_the_gate_is_gated(self):
        self.begin()
        process = self.start(machine.program("hip-tenant"), "queue", "100000", "60")
        self.assertEqual(process.stdout.readline(), "ready\n")
        time.sleep(3)
        self.assertEqual(self.agent.get("/v1/leases")["items"][0]["uses_ungated"], [])

    def test_who_loses_the_gate_is_seen(self):
        self.begin()
        process = self.start("env", "-u", "LD_PRELOAD", machine.program("hip-tenant"), "queue",
                             "100000", "30", options=("--share", "0.5", "--no-namespace"))
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.assertTrue(wait_until(lambda: self.agent.events("ungated_api"), 10))
        self.assertEqual(self.agent.get("/v1/leases")["items"][0]["uses_ungated"], ["hip"])

    def test_the_agent_comes_and_goes(self):
        """Programs run on, and the next agent knows what they hold."""
        self.begin()
        process = self.start(machine.program("hip-tenant"), "queue", "100000", "4")
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.agent.process.kill()
        self.agent.process.wait()
        self.agent.start()
        out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0, err)
        self.assertGreater(int(out), 5_000)


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
    machine.main()
