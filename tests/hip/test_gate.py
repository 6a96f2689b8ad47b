# SPDX-License-Identifier: Apache-2.0
"""What a HIP program in a lease finds, sees and may allocate.

usage: test_gate.py --build BUILD --rocm 5|6 [unittest arguments]
"""
import subprocess

import machine


class Memory(machine.Case):
    def test_quota(self):
        self.begin()
        names = subprocess.run([machine.program("hip-memory")], text=True, capture_output=True,
                               check=True, env=self.agent.env).stdout.split()
        self.assertGreater(len(names), 10)
        for name in names:
            with self.subTest(name):
                self.run_in_lease(machine.program("hip-memory"), name,
                                  options=("--share", "0.5", "--memory", "1G"))
        self.assertLessEqual(max(p["peak"] // machine.MIB for p in self.world.stats()[1].values()),
                             1024 + 64, "with the context, what the GPU has seen")


if __name__ == "__main__":
    machine.main()
