# SPDX-License-Identifier: Apache-2.0
"""CUDA programs that fork, exec, race, are killed, lose their environment; leases that change
meanwhile.

usage: test_life.py --build BUILD [unittest arguments]
"""
import sys
import unittest

import machine
import worlds
from gpus_life import QUOTA, Lives


class Life(Lives, machine.Case):
    API = "cuda"
    program = staticmethod(machine.program)

    def test_what_programs_do(self):
        self.begin()
        for words in (("forks",), ("execs", machine.program("cuda-count")), ("threads",),
                      ("race",), ("signals",), ("unready",)):
            with self.subTest(words[0]):
                self.run_in_lease(machine.program("cuda-life"), *words, options=QUOTA)


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
