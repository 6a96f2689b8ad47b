# SPDX-License-Identifier: Apache-2.0
"""The programs of tests/cuda/patterns.c with HIP: each ends, with the same result, alone on the
device, beside a tenant, and while the agent is killed or stopped. Alone no thread of it ever waits
at the gate.

usage: test_patterns.py --build BUILD --rocm 5|6 [unittest arguments]
"""
import machine
import patterns


class Hip(machine.Case):
    def program(self):
        return machine.program("hip-patterns")

    def competitor(self):
        return machine.program("hip-tenant"), "queue", "1000000", "600"


class Alone(Hip, patterns.Alone):
    pass


class Beside(Hip, patterns.Beside):
    SOME = ("early-receive", "legacy-and-blocking", "event-and-blocking", "event-and-own-streams",
            "mixed-defaults", "overlap")

    def test_waits_for_outside(self):
        """Work behind the wait is not in flight, so it keeps no turn. Waits in graphs came with
        ROCm 6."""
        self.begin()
        self.tenant()
        for name in {"external-semaphore", "graph-of-semaphore",
                     "event-of-another"}.intersection(self.names()):
            self.go_through_all((name,))
            self.assertNotIn("drain_overdue", self.agent.log(), name)


class Disturbed(Hip, patterns.Disturbed):
    SOME = ("early-receive", "event-and-blocking", "overlap")


if __name__ == "__main__":
    machine.main()
