# SPDX-License-Identifier: Apache-2.0
"""Cases of programs under a gate that fork, resize, and survive their agent: for a class that is a
gpus.Case as well."""
import sys

import gpus
from harness import wait_until
from measured import bound

QUOTA = ("--share", "0.5", "--memory", "1G", "--name", "own")


class Lives:
    API = None  # its programs are API-life and API-tenant
    program = None  # the path of a program by its name
    WORK = ("6", bound(10_000, 100))  # seconds, and how many kernels a tenant does at least

    def begin_tenant(self, *words, before=(), options=("--share", "0.5")):
        """Starts a busy one."""
        process = self.start(*before, self.program(f"{self.API}-tenant"), *words, options=options)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def test_one_quota_for_all_processes(self):
        """600 MiB; 600 more in another process; the same when the first was killed."""
        self.begin()
        said = self.run_in_lease(sys.executable, "-c", TWO, self.program(f"{self.API}-life"),
                                 options=QUOTA)
        self.assertEqual(said.split(), ["0", "2", "0"])

    def test_threads_are_forbidden(self):
        """Once the program has computed that changes nothing, also beside others.  Before, the
        gate says what it lacks, and refuses: without its thread no work's end is noticed."""
        self.begin()
        self.begin_tenant("queue", "200000", "60")
        self.assertEqual(self.run_in_lease(self.program(f"{self.API}-sandbox"), "late"), "done\n")
        process = self.start(self.program(f"{self.API}-sandbox"), "early")
        out, err = process.communicate(timeout=60)
        self.assertEqual((out, process.returncode), ("code 2\n", 0), err)
        self.assertRegex(err, r"\Acleave: no device for process \d+: the gate cannot create its "
                              r"threads: [^\n]+; [^\n]+\n\Z")

    def test_a_quota_that_changes(self):
        """The new quota may be less than the memory in use."""
        self.begin()
        process = self.start(self.program(f"{self.API}-life"), "hold", "600", options=QUOTA)

        def one_more():
            process.stdin.write("x")
            process.stdin.flush()
            return process.stdout.readline()

        self.assertEqual(process.stdout.readline(), "0\n")
        self.assertEqual(one_more(), "0\n")
        for quota, answer in ((512, "2\n"), (700, "0\n"), (2000, "0\n")):
            status, said = self.agent.request("PATCH", "/v1/leases/own",
                                              {"memory_bytes": quota * gpus.MIB})
            self.assertEqual(status, 200, said)
            self.assertEqual(one_more(), answer, quota)
        process.stdin.close()
        self.assertEqual(process.wait(60), 0)

    def test_lost_gate_is_reported(self):
        self.begin()
        self.begin_tenant("queue", "100000", "30", before=("env", "-u", "LD_PRELOAD"),
                          options=("--share", "0.5", "--no-namespace"))
        self.assertTrue(wait_until(lambda: self.agent.events("ungated_api"), 10))
        self.assertEqual(self.agent.get("/v1/leases")["items"][0]["uses_ungated"], [self.API])

    def test_the_agent_restarts(self):
        """Programs continue, and the next agent knows what they hold."""
        self.begin()
        seconds, least = self.WORK
        process = self.begin_tenant("queue", "100000", seconds)
        self.agent.process.kill()
        self.agent.process.wait()
        self.agent.start()
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertGreater(int(out), least)


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
