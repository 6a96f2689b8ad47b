# SPDX-License-Identifier: Apache-2.0
"""Copies between host and device of a lease without a turn: up to a bound they do not wait for one,
and the commands behind them do.

usage: test_copies.py --build BUILD [unittest arguments]
"""
import statistics
import sys
import unittest

import machine
import worlds
from harness import wait_until
from measured import bound

WAIT_MS = 100  # least wait of a program in debt for a turn
DEBT_MS = 5400  # a debt of .6 s, paid off at a tenth of the GPU
ACCOUNT, MANY = 4, 64  # copies of 16 MiB; number of tries


class Copies(machine.Case):
    """The program has a tenth of the GPU, and a debt of six tenths of a second."""

    def figures(self, style, n):
        self.begin(cuda="tell-nvml 1\nhost-mb-s 1000\n")
        other = self.start(machine.program("cuda-tenant"), "queue", "1000000", "600",
                           options=("--share", "0.9"))
        self.assertEqual(other.stdout.readline(), "ready\n")
        out = self.run_in_lease(machine.program("cuda-copies"), style, str(n),
                                options=("--share", "0.1"))
        return [float(line) for line in out.split()]

    def test_they_go_through(self):
        took = self.figures("through", 5)
        self.assertLess(statistics.median(took), bound(WAIT_MS, DEBT_MS / 3), took)

    def waits(self, style):
        took = self.figures(style, 3)
        self.doCleanups()
        return max(took) > WAIT_MS

    def test_commands_behind_copies(self):
        for style in ("kernels", "behind", "within"):
            with self.subTest(style):
                # While the other program's thread lacks a processor the GPU is idle, and no
                # program waits.
                self.assertTrue(wait_until(lambda style=style: self.waits(style)))

    def test_many_are_bounded(self):
        """The account drains more slowly than new copies come."""
        n, = self.figures("many", 1)
        self.assertIn(n, bound([ACCOUNT], range(1, MANY)))


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
