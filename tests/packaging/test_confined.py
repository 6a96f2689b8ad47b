#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The system's agent under the restrictions of its unit: it serves other users' leases.

usage: test_confined.py CLEAVED UNIT [unittest arguments]
"""
import json
import os
import re
import shutil
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))
import confine  # noqa: E402
import harness  # noqa: E402
from harness import SystemCase, wait_until  # noqa: E402

SKIP = 77
TWO_SETS = """version: 1
devices:
  - select: {vendor: cpu}
    partitions: [{profile: cores:1, count: 2}]
"""


class Confined(SystemCase):
    def setUp(self):
        super().setUp()
        self.tenant = self.other()

    def status(self, name):
        text = Path(f"/proc/{self.agent.process.pid}/status").read_text()
        return re.search(rf"^{name}:\s*(\w+)", text, re.M)[1]

    def test_it_is_confined(self):
        kept = confine.settings(os.environ["UNIT"], "CapabilityBoundingSet")
        wanted = sum(1 << n for n, name in enumerate(confine.CAPABILITIES)
                     if f"CAP_{name.upper()}" in kept)
        there = int(self.status("CapEff"), 16)
        # If the test itself lacks some of them, fewer are left.
        self.assertEqual(there & ~wanted, 0)
        self.assertEqual(self.status("NoNewPrivs"), "1")
        if confine.filter_for(["read"]) and shutil.which("systemd-analyze"):
            self.assertEqual(self.status("Seccomp"), "2")

    def test_lease_of_another_user(self):
        lease = self.tenant.lease(share=0.2)
        self.assertEqual(self.tenant.do("attach", socket=lease["socket"])["status"], 0)
        self.tenant.do("memory", value=4096)
        self.agent.stop(9)
        self.agent.start()
        self.assertEqual(self.lease(lease["id"])["holder_pid"], self.tenant.pid)
        self.assertEqual(self.tenant.do("reattach", socket=lease["socket"])["status"], 0)
        self.assertEqual(self.lease(lease["id"])["memory_used_bytes"], 4096)
        status, _ = self.agent.request("DELETE", f"/v1/leases/{lease['id']}?force=true")
        self.assertLess(status, 300)
        self.tenant.process.wait(60)
        self.assertTrue(wait_until(lambda: not self.leases()))
        self.assertFalse(os.path.exists(os.path.dirname(lease["socket"])))

    def test_maps_of_another_user(self):
        """Only /proc/PID/maps shows that a process has lost its pages by an exec."""
        lease = self.tenant.lease(share=0.2)
        self.assertEqual(self.tenant.do("attach", socket=lease["socket"])["status"], 0)
        self.tenant.do("memory", value=4096)
        self.assertEqual(self.lease(lease["id"])["memory_used_bytes"], 4096)
        self.tenant.do("exec")
        self.assertTrue(
            wait_until(lambda: self.lease(lease["id"])["memory_used_bytes"] == 0, 5))

    @unittest.skipIf((os.cpu_count() or 1) < 2, "one processor cannot be divided")
    def test_threads_of_another_user_are_put_back(self):
        connection = harness.UnixConnection(self.agent.api)
        self.addCleanup(connection.close)
        connection.request("POST", "/v1/apply?name=two.yaml", TWO_SETS)
        answer = connection.getresponse()
        self.assertEqual(answer.status, 202)
        operation = f"/v1/operations/{json.load(answer)['id']}"
        self.assertTrue(wait_until(lambda: self.agent.get(operation)["state"] == "done"))
        lease = self.tenant.lease(share=0.2, profile="cores:1")
        self.assertEqual(self.tenant.do("attach", socket=lease["socket"])["status"], 0)
        os.sched_setaffinity(self.tenant.pid, range(os.cpu_count()))
        self.assertTrue(wait_until(lambda: len(os.sched_getaffinity(self.tenant.pid)) == 1))


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("only root can be an agent for all users")
        sys.exit(SKIP)
    if b"__asan_init" in Path(sys.argv[1]).read_bytes():
        print("a sanitizer's agent makes system calls of its own: not judged")
        sys.exit(SKIP)
    os.environ.update(CLEAVED=os.path.abspath(sys.argv[1]), UNIT=os.path.abspath(sys.argv[2]))
    harness.PROGRAMS["cleaved"] = str(Path(__file__).resolve().parent / "confined.sh")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
