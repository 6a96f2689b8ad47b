# SPDX-License-Identifier: Apache-2.0
"""Programs that have several GPUs.

usage: test_several.py --build BUILD [unittest arguments]
"""
import sys
import unittest

import machine
import worlds

NODE = "gpu H100-80GB\ngpu H100-80GB"
ROUNDS = "200"


class Several(machine.Case):
    def go_through(self, **more):
        process = self.start(machine.program("cuda-several"), ROUNDS, device=None, **more)
        line = process.stdout.readline()
        if line != "done\n":
            self.fail((process.communicate(timeout=60), self.agent.log()[-1500:]))
        lease, = self.agent.get("/v1/leases")["items"]
        process.stdin.close()
        self.assertEqual(process.wait(timeout=60), 0)
        return lease

    def has_gone_through(self, **machinery):
        self.begin(node=NODE, **machinery)
        lease = self.go_through(options=("--count", "2"))
        self.assertEqual(len(lease["devices"]), 2, lease)
        self.assertEqual((lease["turns"], lease["overdue"], lease["refusals"]), (1, 0, 0), lease)

    def test_by_the_gate(self):
        self.has_gone_through()

    def test_by_the_hardware(self):
        self.has_gone_through(kernel=True)


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
