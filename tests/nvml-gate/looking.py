# SPDX-License-Identifier: Apache-2.0
"""Programs in leases that are asked, step by step, what they see of their GPU."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cuda"))

import machine  # noqa: E402
import worlds  # noqa: E402,F401

MIB = machine.MIB
DECLARATIONS = os.path.join(HERE, "..", "doubles", "nvml")
GPU_MIB = 81559  # the double's H100; R450 does not report the driver's reserve
DENIED, NOT_FOUND, INSUFFICIENT, INVALID = 4, 6, 7, 2


class Case(machine.Case):
    def ask(self, process, expression):
        """Evaluates an expression in the program."""
        process.stdin.write(expression + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        self.assertTrue(line, f"{expression}: the program has ended")
        word, value = json.loads(line)
        self.assertEqual(word, "ok", f"{expression}: {value}")
        return value

    def start_looking(self, *options, **more):
        """A program in a lease of its own, with NVML initialized."""
        process = self.start(sys.executable, os.path.join(HERE, "look.py"), DECLARATIONS,
                             options=options, **more)
        process.pid_there = self.ask(process, "start()")
        return process

    def look(self, *words, share="0.25", memory="1G", **more):
        return self.start_looking("--share", share, "--memory", memory, *words, **more)
