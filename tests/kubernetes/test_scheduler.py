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
import urllib.error
import urllib.request

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


class Case(unittest.TestCase):
    """A cluster with the extender and the scheduler."""
    cluster_type = cluster.Cluster

    def setUp(self):
        why = cluster.why_not()
        if why:
            self.skipTest(why)
        self.folder = tempfile.mkdtemp(prefix="cleave-cluster-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.cluster = self.cluster_type(self.folder)
        self.addCleanup(self.cluster.close)
        self.nodes = {}

    def add_node(self, name, used=0, kind=Node):
        node = self.nodes[name] = kind()
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

    def start_extender(self):
        """Returns its URL."""
        extender = subprocess.Popen(
            [EXTENDER, "--listen=127.0.0.1:0", f"--kubeconfig={self.cluster.kubeconfig()}"],
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(extender.stderr.close)
        self.addCleanup(extender.wait)
        self.addCleanup(extender.kill)
        url = f"http://127.0.0.1:{extender.stderr.readline().split()[-1]}"
        self.assertTrue(wait_until(lambda: ask(url + "/readyz") is not None))
        return url

    def start_scheduler(self, has_names=True):
        self.recorder = cluster.Recorder(self.start_extender())
        self.addCleanup(self.recorder.close)
        self.cluster.schedule(self.recorder.url, has_names)

    def fits(self, extender, share, *names):
        """The nodes that fit a pod of this size."""
        wanted = scheduler.pod("x", [scheduler.container("c", {SHARE: str(share)})])
        return ask(extender + "/filter", scheduler.names_args(wanted, names))["NodeNames"]

    def place(self, name, share, to):
        """The pod is bound to the node, and starts there."""
        self.cluster.add_pod(name, **{SHARE: str(share)})
        wait_until(lambda: self.cluster.pod(name)["spec"].get("nodeName"))
        pod = self.cluster.pod(name)
        self.assertEqual(pod["spec"].get("nodeName"), to,
                         (self.cluster.reasons(name), self.cluster.log("kube-scheduler")))
        self.nodes[to].admit(pod)


class Scheduler(Case):
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
            "no single device has 60 hundredths of" in why for why in self.cluster.reasons("c"))),
            (self.cluster.reasons("c"), self.cluster.log("kube-scheduler")))
        self.assertNotIn("nodeName", self.cluster.pod("c")["spec"])
        for node in self.nodes.values():
            node.check_ledger()

    def check_record(self, verb, name):
        (asked,) = self.recorder.requests("/" + verb)
        if os.environ.get("CLEAVE_RECORD"):
            scheduler.record(name, asked)
        expected = scheduler.recorded(name)
        self.assertEqual({key: type(value) for key, value in asked.items()},
                         {key: type(value) for key, value in expected.items()})

    def test_recorded_requests(self):
        """The double of kube-scheduler sends what this one sends: the names of nodes."""
        self.add_node("node1", .5)
        self.add_node("node2")
        self.start_scheduler()
        self.place("a", 30, "node1")
        for verb, name in (("filter", "filter-names"), ("prioritize", "prioritize-names"),
                           ("bind", "bind")):
            self.check_record(verb, name)

    def test_recorded_nodes(self):
        """With nodeCacheCapable: false it sends whole nodes."""
        self.add_node("node1", .5)
        self.add_node("node2")
        self.start_scheduler(has_names=False)
        self.place("a", 30, "node1")
        for verb in ("filter", "prioritize"):
            self.check_record(verb, verb)

    def test_another_extender(self):
        """What one has given is in the pods, from which another one knows it, and after a restart
        of the API server, whose history is lost, each knows the nodes as they are."""
        for name in ("node1", "node2"):
            self.cluster.add_node(name, **{SHARE: "100"})
        self.cluster.announce("node1", 1000)
        self.start_scheduler()
        other = self.start_extender()
        self.cluster.add_pod("a", **{SHARE: "60"})
        self.assertTrue(wait_until(lambda: self.cluster.pod("a")["spec"].get("nodeName")))
        pod = self.cluster.pod("a")
        self.assertIn("cleave.dev/placed", pod["metadata"]["annotations"])
        for extender in (other, self.start_extender(), self.recorder.target):
            self.assertTrue(wait_until(lambda e=extender: self.fits(e, 50, "node1") == []))
            self.assertEqual(self.fits(extender, 40, "node1"), ["node1"])
        self.cluster.stop_api_server()
        self.assertTrue(wait_until(lambda: "s ago" in ask(other + "/readyz")))
        self.assertEqual(self.fits(other, 40, "node1", "node2"), ["node1"])
        self.cluster.start_api_server()
        self.assertTrue(wait_until(self.cluster.is_ready, 120))
        self.cluster.ask("DELETE", "/api/v1/nodes/node1")
        self.cluster.announce("node2", 700)
        for extender in (other, self.recorder.target):
            self.assertTrue(wait_until(
                lambda e=extender: self.fits(e, 70, "node1", "node2") == ["node2"]))
            self.assertEqual(self.fits(extender, 10, "node1", "node2"), ["node2"])


def ask(url, body=None):
    """The answer, an object or a text; None: the extender is not ready."""
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(url, data, 60) as answer:
            text = answer.read().decode()
    except urllib.error.HTTPError:
        return None
    return json.loads(text) if data else text


if __name__ == "__main__":
    bed.main()
