#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs inside partitions of the CPU device: sets of processors on which real kernels
run, standing shares of them, and partitions that are created for one lease.

usage: test_partitions.py CLEAVED DRIVER CLEAVE [TEST...]
"""
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

import harness
from harness import PROGRAMS, Case, wait_until

TWO_SETS = """
version: 1
devices:
  - select: {vendor: cpu}
    partitions: [{profile: cores:1, count: 2}]
"""
SET_ASIDE = """
version: 1
devices:
  - select: {vendor: cpu}
    partitions:
      - {profile: cores:1, shares: 2}
      - {profile: cores:1, shares: [{name: train, share: 0.6, class: batch},
                                    {name: serve, share: 0.4, memory: 100M}]}
"""
NO_SETS = """
version: 1
devices:
  - select: {vendor: cpu}
    partitions: []
"""
# The device as a program sees it, and the processors of its threads.
LOOK = """
import os, sys
import pyopencl as cl
devices = [d for p in cl.get_platforms() for d in p.get_devices()]
print(len(devices), devices[0].max_compute_units, devices[0].global_mem_size,
      *sorted(os.sched_getaffinity(0)))
"""
STRAY = """
import os, time
import pyopencl as cl
cl.get_platforms()[0].get_devices()
mine = os.sched_getaffinity(0)
os.sched_setaffinity(0, range(os.cpu_count()))
until = time.monotonic() + 60
while os.sched_getaffinity(0) != mine and time.monotonic() < until:
    time.sleep(0.05)
print(os.sched_getaffinity(0) == mine)
"""


def has_python_opencl():
    return subprocess.run(["/usr/bin/python3", "-c", "import pyopencl"],
                          capture_output=True, check=False).returncode == 0


@unittest.skipIf(os.cpu_count() < 2, "one processor cannot be divided")
class Partitions(Case):
    def apply(self, layout, **more):
        query = "&".join(["name=test.yaml", *(f"{k}={v}" for k, v in more.items())])
        status, op = self.raw("POST", f"/v1/apply?{query}", layout)
        self.assertEqual(status, 202, op)
        return self.follow(op)

    def raw(self, method, url, text):
        connection = harness.UnixConnection(self.agent.api)
        self.addCleanup(connection.close)
        connection.request(method, url, text)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def follow(self, op):
        while op["state"] not in ("done", "failed", "rolled_back"):
            op = self.agent.get(f"/v1/operations/{op['id']}?wait_ms=10000"
                                f"&after={op['revision']}")
        return op

    def command(self, *arguments):
        return [PROGRAMS["cleave"], "run", "--socket", self.agent.api, *arguments]

    def run_in(self, *arguments):
        return subprocess.run(self.command(*arguments), capture_output=True, text=True,
                              timeout=60, check=False)

    def start(self, *arguments):
        """Starts a program that runs until it is ended; returns when its lease exists."""
        n = len(self.leases())
        program = subprocess.Popen(self.command(*arguments, "--", "sleep", "60"))
        self.addCleanup(program.wait)
        self.addCleanup(program.terminate)
        self.assertTrue(wait_until(lambda: len(self.leases()) > n))
        return program

    def parts(self):
        return {d["name"]: d for d in self.agent.get("/v1/devices")["items"]
                if d["parent"]}

    def node_device(self):
        return next(d for d in self.agent.get("/v1/node")["devices"] if d["cores"])

    def test_program_sees_its_part(self):
        if not has_python_opencl():
            self.skipTest("python3-pyopencl is not installed")
        whole = self.node_device()
        self.assertEqual(self.apply(TWO_SETS)["state"], "done")
        result = self.run_in("--profile", "cores:1", "--", "/usr/bin/python3", "-c", LOOK)
        self.assertEqual(result.returncode, 0, result.stderr)
        n, units, memory, *cpus = map(int, result.stdout.split())
        self.assertEqual((n, units, len(cpus)), (1, 1, 1))
        # A set of processors has its part of the memory.
        self.assertAlmostEqual(
            memory, whole["memory_bytes"] / len(whole["cores"]), delta=1 << 20)
        result = self.run_in("--profile", "cores:1", "--share", "0.25", "--",
                             "/usr/bin/python3", "-c", LOOK)
        self.assertAlmostEqual(int(result.stdout.split()[2]), memory / 4, delta=1 << 20)

    def test_divided_before_anything_else(self):
        """The agent determines how programs use the device when the first one attaches."""
        self.apply(TWO_SETS)
        self.run_in("--profile", "cores:1", "--", "true")
        devices = self.agent.get("/v1/devices")["items"]
        self.assertEqual([d["executor"] for d in devices], ["gate"] * 3)
        self.assertEqual(len({d["platform"] for d in devices}), 1)

    def test_sets_are_disjoint(self):
        self.apply(TWO_SETS)
        cpus = set()
        for name in self.parts():
            result = self.run_in("--device", name, "--share", "0.1", "--", "sh", "-c",
                                 "grep Cpus_allowed_list /proc/self/status")
            cpus.add(result.stdout.split()[1])
        self.assertEqual(len(cpus), 2)

    def test_whole_device_is_not_leased_while_divided(self):
        self.apply(TWO_SETS)
        holder = self.holder()
        lease = holder.lease(share=0.1, device=self.node_device()["name"])
        self.assertIn("/cores:1@", lease["device"])
        self.assertEqual(lease["partition"]["scheme"], "cores")

    def test_stray_threads_are_put_back(self):
        if not has_python_opencl():
            self.skipTest("python3-pyopencl is not installed")
        self.apply(TWO_SETS)
        result = self.run_in("--profile", "cores:1", "--", "/usr/bin/python3", "-c", STRAY)
        self.assertEqual(result.stdout, "True\n", result.stderr)
        self.assertTrue(self.agent.events("process_strayed"))

    def test_standing_shares(self):
        self.apply(SET_ASIDE)
        self.start("--in", "train")
        lease = self.leases()[0]
        self.assertEqual((lease["share"], lease["class"]), (0.6, "batch"))
        self.assertTrue(lease["in"].endswith("/train"))
        # It is for one lease at a time, and no other lease gets it.
        second = self.run_in("--in", "train", "--", "true")
        self.assertEqual(second.returncode, 75, second.stderr)
        self.assertRegex(second.stderr, r"\Acleave: the share .*train is taken by [^\n]*\n\Z")
        other = self.run_in("--device", lease["device"], "--share", "0.1", "--", "true")
        self.assertEqual(other.returncode, 75, other.stderr)
        serves = self.run_in("--profile", "cores:1", "--share", "1", "--", "true")
        self.assertRegex(serves.stderr, r"with --in gpu0/cores:1@\d/\w+\n\Z")
        self.assertEqual(self.run_in("--in", "serve", "--", "true").returncode, 0)
        unknown = self.run_in("--in", "nobody", "--", "true")
        self.assertNotEqual(unknown.returncode, 0)
        self.assertIn("no standing share nobody", unknown.stderr)
        both = self.run_in("--in", "serve", "--share", "0.1", "--", "true")
        self.assertIn("has its own size", both.stderr)

    def test_standing_shares_outlive_the_agent(self):
        self.apply(SET_ASIDE)
        self.agent.stop(signal.SIGKILL)
        self.agent.start()
        result = self.run_in("--in", "train", "--", "true")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.apply(NO_SETS)["state"], "done")
        self.assertIn("no standing share", self.run_in("--in", "train", "--", "true").stderr)

    def test_partition_in_use_stays(self):
        self.apply(TWO_SETS)
        program = self.start("--profile", "cores:1", "--share", "0.1")
        name = self.leases()[0]["device"]
        op = self.apply(NO_SETS)
        self.assertEqual(op["state"], "failed")
        self.assertEqual(op["error"]["code"], "in_use")
        self.assertIn(name, op["error"]["detail"])
        self.assertEqual(len(self.parts()), 2)
        op = self.raw("POST", "/v1/apply?on_busy=wait", NO_SETS)[1]
        self.assertTrue(wait_until(lambda: self.agent.get(
            f"/v1/operations/{op['id']}")["state"] == "waiting"))
        program.terminate()
        self.assertEqual(self.follow(op)["state"], "done")
        self.assertEqual(self.parts(), {})

    def test_divided_while_leased_as_a_whole(self):
        program = self.start("--share", "0.5")
        op = self.apply(TWO_SETS)
        self.assertEqual(op["state"], "failed")
        self.assertIn("in use", op["error"]["detail"])
        self.assertEqual(self.parts(), {})
        program.terminate()

    def test_partition_for_one_lease(self):
        result = self.run_in("--isolation", "hardware", "--memory", "64M", "--", "sh", "-c",
                             "grep Cpus_allowed_list /proc/self/status")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"\ACpus_allowed_list:\s+\d+\n\Z")
        self.assertTrue(wait_until(lambda: not self.parts()), "it went with its lease")

    def test_no_partition_on_what_is_cordoned(self):
        device = self.agent.get("/v1/devices")["items"][0]["name"]
        url = "/v1/devices/%s/cordon" % device
        self.assertEqual(self.agent.request("POST", url, {"reason": "new driver"})[0], 200)
        result = self.run_in("--isolation", "hardware", "--memory", "64M", "--", "true")
        self.assertEqual(result.returncode, 75, result.stderr)
        self.assertIn("cordoned", result.stderr)
        self.assertEqual(self.parts(), {})
        self.assertEqual(self.apply(TWO_SETS)["state"], "done")
        result = self.run_in("--isolation", "hardware", "--memory", "64M", "--", "true")
        self.assertEqual(result.returncode, 75, "nor is it given one that is free there")

    def test_partition_for_a_lease_whose_agent_is_killed(self):
        program = self.start("--isolation", "hardware", "--memory", "64M")
        self.assertEqual(len(self.parts()), 1)
        self.agent.stop(signal.SIGKILL)
        self.agent.start()
        self.assertTrue(wait_until(lambda: len(self.parts()) == 1))
        time.sleep(2)
        self.assertEqual(len(self.parts()), 1, "its lease lives")
        program.terminate()
        self.assertTrue(wait_until(lambda: not self.parts(), 20))

    def test_isolation_takes_memory_alone(self):
        for arguments in (["--isolation", "hardware", "--share", "0.5"],
                          ["--isolation", "hardware", "--share", "0.5", "--memory", "1G"]):
            result = self.run_in(*arguments, "--", "true")
            self.assertNotEqual(result.returncode, 0)
            self.assertRegex(result.stderr, r"\Acleave: [^\n]*memory[^\n]*\n\Z")
        result = self.run_in("--isolation", "hardware", "--memory", "900T", "--", "true")
        self.assertRegex(result.stderr, re.compile(r"\Acleave: no device here [^\n]*\n\Z"))

    def test_layout_that_does_not_fit(self):
        n = len(self.node_device()["cores"])
        op = self.apply(TWO_SETS.replace("count: 2", f"count: {n + 1}"))
        self.assertEqual(op["state"], "failed")
        self.assertEqual(op["error"]["code"], "bad_layout")
        self.assertIn("processors", op["error"]["detail"])
        self.assertIn("test.yaml:5:", op["error"]["detail"])
        self.assertEqual(self.parts(), {})


if __name__ == "__main__":
    PROGRAMS["cleave"] = os.path.abspath(sys.argv.pop(3))
    harness.main()
