# SPDX-License-Identifier: Apache-2.0
"""What tests in a whole cluster of one node do: start pods, ask the node's agent, end without leases.
The arguments of the tests' programs are BUILD WORKER [unittest arguments]."""
import json
import os
import sys
import unittest

import bed
import helm
from whole_cluster import PODS, wait_until

sys.path.insert(0, os.path.join(helm.TREE, "tests/integration"))
import harness  # noqa: E402

BUILD, WORKER = map(os.path.abspath, sys.argv[1:3])


class ClusterCase(unittest.TestCase):
    cluster = None
    prefix = bed.PREFIX  # of the names of leases

    def setUp(self):
        self.addCleanup(self.remove_pods)

    def remove_pods(self):
        """No test leaves a pod or a lease: the room of a pod is announced before its object is
        gone, whose name the next test may need."""
        self.delete_pods()
        wait_until(lambda: not self.leases() and self.announced_milli() == 1000)
        self.assertEqual((self.leases(), self.announced_milli()), ({}, 1000))

    def delete_pods(self):
        for pod in self.cluster.ask("GET", PODS)["items"]:
            self.cluster.delete(pod["metadata"]["name"])
        self.assertTrue(wait_until(lambda: not self.cluster.ask("GET", PODS)["items"]))

    def leases(self):
        """The node's, but those that are no pod's."""
        return {lease["name"]: lease for lease in self.agent("/v1/leases?limit=10000")["items"]
                if lease["name"].startswith(self.prefix)}

    def agent(self, url):
        status, answer = harness.request(
            f"/proc/{self.cluster.node.pid}/root/run/cleave/api.sock", "GET", url)
        self.assertEqual(status, 200, answer)
        return answer

    def start(self, name, share, **spec):
        """A pod that computes until it is deleted."""
        self.cluster.run(name, share, "worker", "run", "100000", **spec)
        self.cluster.wait_for_phase(name, "Running")
        self.progress(name)

    def kernels(self, name):
        """By its last whole line."""
        lines = [line for line in self.cluster.said(name).splitlines() if line.endswith("}")]
        return json.loads(lines[-1])["kernels"] if lines else 0

    def progress(self, name):
        """It computes."""
        before = self.kernels(name)
        self.assertTrue(wait_until(lambda: self.kernels(name) > before),
                        (self.cluster.pod(name)["status"], self.cluster.events(name)))

    def waits(self, name, reason):
        """It waits for a node, and its events say why."""
        self.assertTrue(wait_until(lambda: any(
            what == "FailedScheduling" and reason in why
            for what, why in self.cluster.events(name))), self.cluster.events(name))
        self.assertEqual(self.cluster.phase(name), "Pending")

    def fill(self, name, share):
        """What a program sees of memory, and gets."""
        self.cluster.run(name, share, "worker", "fill")
        return self.filled(name)

    def filled(self, name):
        self.assertEqual(self.cluster.wait_for_phase(name, "Succeeded", "Failed"), "Succeeded",
                         self.cluster.said(name))
        return json.loads(self.cluster.said(name))

    def memory_of(self, share):
        (device,) = self.agent("/v1/devices")["items"]
        return device["memory_bytes"] * share // 100

    def check_quota(self, share, saw):
        self.assertAlmostEqual(saw["memory"], self.memory_of(share), delta=64 << 20)
        self.assertLessEqual(saw["allocated"], saw["memory"])
        self.assertGreater(saw["allocated"], saw["memory"] * .9)
        self.assertNotEqual(saw["error"], 0)

    def reserve(self, share):
        """By hand, for what is not a pod."""
        self.in_agent("cleave", "reserve", "--name", "used", "--share", str(share))
        self.addCleanup(self.in_agent, "cleave", "release", "used")
        free = round(1000 * (1 - share))
        self.assertTrue(wait_until(lambda: self.announced_milli() == free))

    def announced_milli(self):
        """What the node says to the extender."""
        said = self.cluster.node_object()["metadata"]["annotations"]["cleave.dev/devices"]
        return sum(device["free_milli"] for device in json.loads(said))

    def in_agent(self, *words):
        (pod,) = self.cluster.our_pods("cleave-node")
        return self.cluster.kubectl("exec", "-n", helm.NAMESPACE, pod["metadata"]["name"], "-c",
                                    "agent", "--", *words)

    def kill_container(self, name):
        def restarts():
            (pod,) = self.cluster.our_pods("cleave-node")
            return {each["name"]: each["restartCount"]
                    for each in pod["status"]["containerStatuses"]}
        before = restarts()[name]
        program = {"kubelet": "cleave-kubelet", "agent": "cleaved"}[name]
        self.cluster.must("pkill", "-KILL", "-o", "-x", program)
        self.assertTrue(wait_until(lambda: restarts()[name] > before))
        self.assertTrue(wait_until(lambda: self.cluster.is_rolled_out("cleave-node")))


def main():
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
