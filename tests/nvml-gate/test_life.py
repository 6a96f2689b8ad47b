# SPDX-License-Identifier: Apache-2.0
"""Programs that only query: beside busy ones, as children, when their agent dies.

usage: test_life.py --build BUILD [unittest arguments]
"""
import signal
import sys
import unittest

import looking
import machine
import worlds
from harness import wait_until
from looking import MIB

IN_CHILD = """
import json, os
def in_child(expression):
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write_end, json.dumps(eval(expression)).encode())
        os._exit(0)
    os.close(write_end)
    answer = os.read(read_end, 4096)
    os.close(read_end)
    os.waitpid(child, 0)
    return [child, json.loads(answer)]
"""


class Life(looking.Case):
    def test_queries_take_no_turn(self):
        self.begin()
        process = self.look("--name", "own")
        tenant = self.start(machine.program("cuda-tenant"), "queue", "100000", "60",
                            options=("--share", "0.5", "--name", "other"))
        self.assertEqual(tenant.stdout.readline(), "ready\n")
        for _ in range(200):
            self.assertEqual(self.ask(process, "memory()[0][2]"), 0)
            self.ask(process, "[rates(), processes(), uuids()]")
        lease = self.agent.get("/v1/leases/own")
        self.assertEqual((lease["turns"], lease["held_seconds"]), (0, 0))
        self.assertEqual([p["pid"] for p in lease["processes"]], [process.pid_there])
        self.assertEqual(self.ask(process, "len(os.listdir('/proc/self/task'))"), 1, "threads")
        self.assertTrue(wait_until(
            lambda: self.agent.get("/v1/leases/other")["share_used"] > .9, 10))

    def test_a_child_attaches_itself(self):
        self.begin()
        process = self.look("--name", "own")
        self.assertEqual(self.ask(process, "cuda().alloc(50)"), 0)
        self.ask(process, f"exec({IN_CHILD!r}, globals())")
        for _ in range(3):
            child, found = self.ask(process, "in_child('[memory(), processes(), uuids()]')")
            self.assertEqual(found[0][0], [1024 * MIB, 974 * MIB, 50 * MIB])
            self.assertEqual(found[1]["_v3"], {str(process.pid_there): 50 * MIB})
            self.assertEqual(len(found[2]), 1)
            self.assertNotEqual(child, process.pid_there)

    def test_the_agent_dies(self):
        """The last known state holds; the next agent's state applies as soon as it runs."""
        self.begin()
        process = self.look("--name", "own")
        self.ask(process, "spawn()")
        self.assertEqual(self.ask(process, "cuda().alloc(100)"), 0)
        before = self.ask(process, "of('[memory(), processes(), uuids()]')")
        self.assertEqual(before[0][0], [1024 * MIB, 924 * MIB, 100 * MIB])
        self.agent.stop(signal.SIGKILL)
        for _ in range(20):
            self.assertEqual(self.ask(process, "of('[memory(), processes(), uuids()]')"), before)
        self.agent.start()
        self.assertTrue(wait_until(lambda: self.agent.request(
            "PATCH", "/v1/leases/own", {"memory_bytes": 512 * MIB})[0] == 200, 10))
        self.assertTrue(wait_until(
            lambda: self.ask(process, "of('memory()[0]')") == [512 * MIB, 412 * MIB, 100 * MIB],
            10))
        self.assertEqual(self.ask(process, "of('[processes(), uuids()]')"), before[1:])
        self.assertTrue(wait_until(lambda: self.ask(process, "memory()[0][0]") == 512 * MIB, 10))


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
