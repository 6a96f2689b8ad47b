#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The chart as Helm prints it, in a whole cluster of one node whose device is the processor: pods
from kubectl to kernels of PoCL.

usage: test_cluster.py BUILD WORKER [unittest arguments]"""
import json
import os
import sys
import time
import unittest

import bed
import helm
import whole_cluster
from node import NAME
from whole_cluster import PODS, SHARE, WholeCluster, wait_until

sys.path.insert(0, os.path.join(helm.TREE, "tests/integration"))
import harness  # noqa: E402
import measured  # noqa: E402

BUILD, WORKER = map(os.path.abspath, sys.argv[1:3])


class Cluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        why = whole_cluster.why_not()
        if why:
            raise unittest.SkipTest(why)
        cls.cluster = WholeCluster(("0.1.0", "0.1.1"), BUILD, WORKER)
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.deploy("0.1.0")

    def setUp(self):
        self.addCleanup(self.remove_pods)

    def remove_pods(self):
        """No test leaves a pod or a lease: the room of a pod is announced before its object is
        gone, whose name the next test may need."""
        for pod in self.cluster.ask("GET", PODS)["items"]:
            self.cluster.delete(pod["metadata"]["name"])
        self.assertTrue(wait_until(lambda: not self.cluster.ask("GET", PODS)["items"]))
        wait_until(lambda: not self.leases() and self.announced_milli() == 1000)
        self.assertEqual((self.leases(), self.announced_milli()), ({}, 1000))

    def leases(self):
        """The node's, but those that are no pod's."""
        return {lease["name"]: lease for lease in self.agent("/v1/leases?limit=10000")["items"]
                if lease["name"].startswith(bed.PREFIX)}

    def agent(self, url):
        status, answer = harness.request(
            f"/proc/{self.cluster.node.pid}/root/run/cleave/api.sock", "GET", url)
        self.assertEqual(status, 200, answer)
        return answer

    # --- Pods ---

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

    def test_memory(self):
        """A program in a pod sees its part of the memory, and gets no more."""
        self.check_quota(30, self.fill("fill", 30))

    def test_shares(self):
        """Two pods compute on one device in proportion; a third waits, and starts in the place of
        one that is deleted."""
        self.start("large", 60)
        self.start("small", 30)
        self.assertEqual(sorted(lease["share"] for lease in self.leases().values()), [.3, .6])
        before = [self.kernels(name) for name in ("large", "small")]
        time.sleep(30)
        done = [self.kernels(name) - was for name, was in zip(("large", "small"), before)]
        parts = [each * .9 / sum(done) for each in done]
        self.assertEqual(measured.disagreements((.6, .3), parts, 5), [])
        self.cluster.run("third", 30, "worker", "run", "100000")
        self.waits("third", f"Insufficient {SHARE}")
        self.cluster.delete("small")
        self.cluster.wait_for_phase("third", "Running")
        self.progress("third")

    def test_room_of_a_deleted_pod(self):
        """The extender keeps a pod waiting that Kubernetes would bind; when the lease of a deleted
        pod is not needed any more, the node has the scheduler try again, which would otherwise do so
        after a minute."""
        self.start("small", 50)
        self.start("other", 40)
        self.cluster.run("third", 50, "worker", "run", "100000")
        self.waits("third", f"Insufficient {SHARE}")
        tried, marks = self.cluster.tries(), self.mark()
        self.cluster.delete("small")
        self.cluster.wait_for_phase("third", "Running")
        self.progress("third")
        now = self.cluster.tries()
        self.assertEqual(now["UnschedulableTimeout"], tried["UnschedulableTimeout"])
        self.assertGreater(now["NodeLabelChange"], tried["NodeLabelChange"])
        self.assertGreater(self.mark(), marks)

    def mark(self):
        """When free room last grew."""
        return int(self.cluster.node_object()["metadata"]["labels"].get("cleave.dev/freed", 0))

    def test_extender_refuses(self):
        """Kubernetes counts 100 hundredths on the node; the extender knows what is free."""
        self.reserve(.5)
        self.cluster.run("large", 60, "true")
        self.waits("large", "no single device has 60 hundredths of its compute and memory free "
                   "(most: 50 hundredths, and ")

    def test_node_refuses(self):
        """A pod that no scheduler has placed: the node refuses it, with the reason."""
        self.reserve(.5)
        self.cluster.run("large", 60, "true", nodeName=NAME)
        self.cluster.wait_for_phase("large", "Failed")
        status = self.cluster.pod("large")["status"]
        self.assertEqual(status["reason"], "UnexpectedAdmissionError")
        self.assertIn("share 0.6 does not fit on gpu0 now: 0.5 of it is left; ask for less, or "
                      "create the pod again when others have ended", status["message"])
        self.assertIn("UnexpectedAdmissionError",
                      [what for what, why in self.cluster.events("large")
                       if why in status["message"]])

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

    # --- Restarts ---

    def test_kubelet_restarts(self):
        self.start("before", 30)
        leases = set(self.leases())
        self.cluster.node.stop("kubelet")
        self.cluster.start_kubelet()
        self.check_again("before", leases)

    def test_plugin_restarts(self):
        self.start("before", 30)
        leases = set(self.leases())
        self.kill_container("kubelet")
        self.check_again("before", leases)

    def test_agent_restarts(self):
        self.start("before", 30)
        leases = set(self.leases())
        self.kill_container("agent")
        self.check_again("before", leases)

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

    def check_again(self, name, leases):
        """The pod goes on in its lease, and another one can start."""
        self.progress(name)
        self.assertEqual(set(self.leases()), leases)
        self.assertTrue(wait_until(lambda: self.cluster.shares() == 100
                                   and self.announced_milli() == 700))
        self.check_quota(20, self.fill("after", 20))
        self.progress(name)
        self.assertLessEqual(leases, set(self.leases()))

    def test_upgrade(self):
        """A new image of the DaemonSet: programs run on in their leases."""
        self.start("before", 30)
        leases = set(self.leases())
        self.cluster.deploy("0.1.1")
        self.addCleanup(self.cluster.deploy, "0.1.0")
        self.assertEqual(self.in_agent("cat", "/etc/tag"), "0.1.1")
        self.check_again("before", leases)

    # --- The life of pods ---

    def test_drain(self):
        self.start("drained", 30)
        self.cluster.kubectl("drain", NAME, "--ignore-daemonsets", "--force", "--timeout=120s")
        self.addCleanup(self.cluster.kubectl, "uncordon", NAME)
        self.assertTrue(self.cluster.is_gone("drained"))
        self.assertTrue(wait_until(lambda: not self.leases()), self.leases())
        self.assertTrue(self.cluster.is_rolled_out("cleave-node"))

    def test_init_containers(self):
        """They have the device one after the other, so each may have all of it."""
        one = {"image": "work:1", "resources": {"limits": {SHARE: "90"}}}
        self.cluster.run("phases", 90, "worker", "fill", initContainers=[
            {"name": "first", "command": ["worker", "fill"], **one},
            {"name": "second", "command": ["worker", "fill"], **one}])
        self.cluster.wait_for_phase("phases", "Succeeded")
        for container in ("first", "second", "c"):
            self.check_quota(90, json.loads(self.cluster.said("phases", container)))

    def test_completed_pods(self):
        """What has completed occupies nothing, also while it is listed."""
        for name in ("one", "two", "three"):
            self.check_quota(90, self.fill(name, 90))

    def test_many_pods(self):
        """No lease is left after many."""
        n_pods, at_once = int(os.environ.get("CLEAVE_PODS", "200")), 20
        for first in range(0, n_pods, at_once):
            names = [f"pod-{i}" for i in range(first, min(first + at_once, n_pods))]
            for name in names:
                self.cluster.run(name, 1, "clinfo", "--list")
            for name in names:
                self.cluster.wait_for_phase(name, "Succeeded")
            for name in names:
                self.cluster.delete(name)
            self.assertTrue(wait_until(lambda names=names: all(map(self.cluster.is_gone, names))))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
