#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The guide for Cluster Autoscaler with a real one, which has the provider kwok: CLEAVE_AUTOSCALER names
the folder of its program (cluster-autoscaler).  The test is what makes kwok's nodes ready.

usage: test_autoscaler.py CLEAVE-KUBELET CLEAVED CLEAVE EXTENDER [unittest arguments]"""
import cluster
import examples
import guides
from bed import main, wait_until
from test_scheduler import SHARE

NOT_READY = "node.kubernetes.io/not-ready"


class Autoscaler(guides.GuideCase):
    variable, programs = "CLEAVE_AUTOSCALER", ("cluster-autoscaler",)

    def start_autoscaler(self):
        self.cluster.start("cluster-autoscaler", [
            "env", f"KUBECONFIG={self.cluster.kubeconfig()}", "KWOK_PROVIDER_MODE=local",
            "POD_NAMESPACE=kube-system", self.program("cluster-autoscaler"),
            f"--kubeconfig={self.cluster.kubeconfig()}", "--cloud-provider=kwok",
            "--leader-elect=false", f"--address=127.0.0.1:{cluster.free_port()}",
            "--scan-interval=1s", "--scale-down-delay-after-add=1s",
            "--scale-down-unneeded-time=1s", "--node-delete-delay-after-taint=0s",
            "--unremovable-node-recheck-timeout=1s"])

    def added(self):
        """The names of the nodes that the autoscaler has added, which become ready."""
        found = [node for node in self.listed("v1", "Node", None)
                 if node["metadata"]["name"] != "own"]
        for node in found:
            taints = node["spec"].get("taints", [])
            rest = [taint for taint in taints if taint["key"] != NOT_READY]
            if rest != taints:
                self.cluster.ask("PATCH", self.path("v1", "Node", name=node["metadata"]["name"]),
                                 {"spec": {"taints": rest or None}}, guides.MERGE)
        return {node["metadata"]["name"] for node in found}

    def node_of(self, pod):
        self.assertTrue(wait_until(lambda: self.added() and self.cluster.pod(pod)["spec"].get(
            "nodeName"), 120), (self.cluster.reasons(pod), self.said("cluster-autoscaler")))
        return self.cluster.pod(pod)["spec"]["nodeName"]

    def remove_pods(self, *names):
        """At once, as there is no kubelet."""
        for name in names:
            self.cluster.ask("DELETE", self.path("v1", "Pod", "default", name),
                             {"gracePeriodSeconds": 0})

    def test_the_guide(self):
        """A node is added for a share that no node has, the extender places the pod there by what the
        template announces, and the node is removed after the pod."""
        self.cluster.add_node("own")
        for each in examples.objects("autoscaler.yaml"):
            if each["kind"] == "ConfigMap":
                self.create(each)
        self.start_scheduler()
        self.start_autoscaler()
        for name, share in (("a", 30), ("b", 80), ("c", 70)):
            self.cluster.add_pod(name, **{SHARE: str(share)})
            self.node_of(name)
        nodes = {name: self.node_of(name) for name in "abc"}
        self.assertEqual(nodes["a"], nodes["c"], "30 and 70 are one device")
        self.assertEqual(self.added(), {nodes["a"], nodes["b"]})
        self.cluster.add_pod("large", **{SHARE: "101"})
        self.assertTrue(wait_until(lambda: any(
            name == "large" and "Insufficient " + SHARE in text and "scale-up" in text
            for name, text in self.events("default")), 120), self.events("default"))
        self.assertEqual(len(self.added()), 2)
        self.remove_pods("a", "b", "c", "large")
        self.assertTrue(wait_until(lambda: not self.added(), 180), self.said("cluster-autoscaler"))


if __name__ == "__main__":
    main()
