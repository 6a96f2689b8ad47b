#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A real kube-scheduler places pods by the real extender, on nodes that cleave-kubelet announces.
CLEAVE_RECORD=1 writes what it sends into recorded/.

usage: test_scheduler.py CLEAVE-KUBELET CLEAVED CLEAVE EXTENDER [unittest arguments]"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import bed
import cluster
import scheduler
from bed import Bed, wait_until

EXTENDER = os.path.abspath(sys.argv.pop(4))
SHARE = "cleave.dev/gpu-share"


class Node(Bed):
    """A node with a device, its agent, cleave-kubelet and a double of kubelet."""
    sim = """version: 1
name: lab
devices:
  - {model: H100-80GB, count: 1}
"""

    def use(self, share):
        status, lease = self.agent.request(
            "POST", "/v1/leases", {"keep": True, "name": "used", "share": share})
        assert status == 201, lease

    def admit(self, pod):
        """What kubelet does with a pod that is bound to its node."""
        wanted = {name: int(amount) for name, amount in
                  pod["spec"]["containers"][0]["resources"]["limits"].items()}
        self.kubelet.admit(pod["metadata"]["name"], {"c": wanted})


class Scheduler(unittest.TestCase):
    def setUp(self):
        why = cluster.why_not()
        if why:
            self.skipTest(why)
        self.folder = tempfile.mkdtemp(prefix="cleave-cluster-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.cluster = cluster.Cluster(self.folder)
        self.addCleanup(self.cluster.close)
        self.nodes = {}

    def add_node(self, name, used=0):
        node = self.nodes[name] = Node()
        node.setUp()
        self.addCleanup(node.doCleanups)
        if used:
            node.use(used)
        node.kubelet.start()
        self.cluster.add_node(name, **{SHARE: "100"})
        node.start_bridge(announce=True, node=name, kubeconfig=self.cluster.kubeconfig())
        node.kubelet.resource(SHARE)
        self.announces(name, round(1000 - 1000 * used))

    def announces(self, name, free_milli):
        def said():
            node = self.cluster.ask("GET", f"/api/v1/nodes/{name}")
            annotations = node["metadata"].get("annotations", {})
            return json.loads(annotations.get("cleave.dev/devices", "[]"))
        self.assertTrue(wait_until(lambda: [d["free_milli"] for d in said()] == [free_milli]),
                        (said(), self.nodes[name].log()))

    def start_scheduler(self):
        extender = subprocess.Popen(
            [EXTENDER, "--listen=127.0.0.1:0", f"--kubeconfig={self.cluster.kubeconfig()}"],
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(extender.stderr.close)
        self.addCleanup(extender.wait)
        self.addCleanup(extender.kill)
        port = int(extender.stderr.readline().split()[-1])
        self.recorder = cluster.Recorder(f"http://127.0.0.1:{port}")
        self.addCleanup(self.recorder.close)
        self.cluster.schedule(self.recorder.url)

    def place(self, name, share, to):
        """The pod is bound to the node, and starts there."""
        self.cluster.add_pod(name, **{SHARE: str(share)})
        wait_until(lambda: self.cluster.pod(name)["spec"].get("nodeName"))
        pod = self.cluster.pod(name)
        self.assertEqual(pod["spec"].get("nodeName"), to,
                         (self.cluster.reasons(name), self.cluster.log("kube-scheduler")))
        self.nodes[to].admit(pod)

    def test_pods_are_placed(self):
        """By the room of single devices: to a node that has it, of these to the one that becomes
        full; and a pod for which none has it waits, with the reason."""
        self.add_node("full", .7)
        self.add_node("half", .5)
        self.add_node("whole")
        self.start_scheduler()
        self.place("a", 50, "half")
        self.announces("half", 0)
        self.place("b", 50, "whole")
        self.announces("whole", 500)
        self.cluster.add_pod("c", **{SHARE: "60"})
        # Kubernetes' own count admits the pod on each node.
        self.assertTrue(wait_until(lambda: any(
            "no single device has 60 hundredths and" in why for why in self.cluster.reasons("c"))),
            (self.cluster.reasons("c"), self.cluster.log("kube-scheduler")))
        self.assertNotIn("nodeName", self.cluster.pod("c")["spec"])
        for node in self.nodes.values():
            node.check_ledger()

    def test_recorded_requests(self):
        """The double of kube-scheduler sends what this one sends."""
        self.add_node("node1", .5)
        self.add_node("node2")
        self.start_scheduler()
        self.place("a", 30, "node1")
        for verb in ("filter", "prioritize", "bind"):
            (asked,) = self.recorder.requests("/" + verb)
            if os.environ.get("CLEAVE_RECORD"):
                scheduler.record(verb, asked)
            self.assertEqual(list(asked), list(scheduler.recorded(verb)))


if __name__ == "__main__":
    bed.main()
