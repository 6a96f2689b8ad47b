#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The chart as Helm prints it, in a whole cluster of one node whose device is the processor: pods
from kubectl to kernels of PoCL.

usage: test_cluster.py BUILD WORKER [unittest arguments]"""
import json
import os
import ssl
import time
import unittest
import urllib.request

import cluster_case
import helm
import measured
import whole_cluster
from cluster_case import BUILD, WORKER, ClusterCase
from node import NAME
from whole_cluster import SHARE, WholeCluster, wait_until

VIEWER = "clv_viewer_" + "0" * 40


class Cluster(ClusterCase):
    @classmethod
    def setUpClass(cls):
        why = whole_cluster.why_not()
        if why:
            raise unittest.SkipTest(why)
        cls.cluster = WholeCluster(("0.1.0", "0.1.1"), BUILD, WORKER)
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.deploy("0.1.0")

    # --- Pods ---

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
        changed = [sum(each[name] for name in whole_cluster.MARKED) for each in (tried, now)]
        self.assertGreater(changed[1], changed[0], now)
        self.assertGreater(self.mark(), marks)

    def mark(self):
        """When free room last grew."""
        about = self.cluster.node_object()["metadata"]
        return int({**about["labels"], **about["annotations"]}.get("cleave.dev/freed", 0))

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

    def test_metrics(self):
        """The agent answers Prometheus with the certificate and the token of Secrets."""
        for words in (("tls", "tls", f"--cert={self.cluster.path('api.crt')}",
                       f"--key={self.cluster.path('api.key')}"),
                      ("generic", "viewer", f"--from-literal=token={VIEWER}")):
            self.cluster.kubectl("create", "secret", *words, "-n", helm.NAMESPACE)
        self.cluster.deploy("0.1.0", metrics={"tlsSecret": "tls", "tokenSecret": "viewer"})
        self.addCleanup(self.cluster.deploy, "0.1.0")
        (pod,) = self.cluster.our_pods("cleave-node")
        asked = urllib.request.Request(f"https://{pod['status']['podIP']}:7780/metrics",
                                       headers={"Authorization": f"Bearer {VIEWER}"})
        anyone = ssl._create_unverified_context()  # the certificate is the API server's
        with self.cluster.network, urllib.request.urlopen(asked, timeout=600,
                                                          context=anyone) as answer:
            self.assertIn('\ncleave_device_present{device="gpu0"} 1\n', answer.read().decode())

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
    cluster_case.main()
