# SPDX-License-Identifier: Apache-2.0
"""HIP programs that fork, exec, race, capture, are killed; leases that change meanwhile.

usage: test_life.py --build BUILD --rocm 5|6 [unittest arguments]
"""
import os
import time

import machine
from gpus_life import QUOTA, Lives
from harness import wait_until
from measured import bound


class Life(Lives, machine.Case):
    API = "hip"
    program = staticmethod(machine.program)
    WORK = ("4", bound(5_000, 100))

    def test_what_programs_do(self):
        self.begin()
        for words in (("forks",), ("forks-first",), ("execs", machine.program("hip-count")),
                      ("threads",), ("captures",), ("callbacks",), ("blocked-stream",), ("signals",)):
            with self.subTest(words[0]):
                self.run_in_lease(machine.program("hip-life"), *words, options=QUOTA)

    def test_what_programs_do_beside_others(self):
        self.begin()
        self.begin_tenant("queue", "200000", "60")
        for words in (("forks",), ("captures",), ("callbacks",), ("blocked-stream",)):
            with self.subTest(words[0]):
                self.run_in_lease(machine.program("hip-life"), *words, options=QUOTA)

    def test_hidden_memory(self):
        """HSA's own memory counts in the quota, as the driver reports it."""
        self.begin(config="version: 1\nwatch: {every: 1s, grace: 1s}\n")
        self.begin_tenant("copy", "104857600", "60", options=QUOTA)

        def figures():
            lease = self.agent.get("/v1/leases/own")
            return (lease["memory_used_bytes"] // machine.MIB,
                    lease["memory_overhead_bytes"] // machine.MIB)

        self.assertTrue(wait_until(lambda: figures() == (264, 64), 15), figures())

    def test_a_killed_program_leaves_nothing(self):
        self.begin()
        process = self.begin_tenant("queue", "100000", "60")
        lease = self.agent.get("/v1/leases")["items"][0]
        os.kill(lease["processes"][0]["pid"], 9)
        process.wait(60)
        self.assertTrue(wait_until(lambda: not self.agent.get("/v1/leases")["items"], 5))
        self.run_in_lease(machine.program("hip-tenant"), "queue", "100000", "1",
                          options=("--share", "1"))

    def test_a_gated_program_is_not_reported(self):
        self.begin()
        self.begin_tenant("queue", "100000", "60")
        time.sleep(3)
        self.assertEqual(self.agent.get("/v1/leases")["items"][0]["uses_ungated"], [])


if __name__ == "__main__":
    machine.main()
