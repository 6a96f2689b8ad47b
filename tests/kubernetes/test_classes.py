# SPDX-License-Identifier: Apache-2.0
"""Classes of leases, by the annotation cleave.dev/class of pods.

usage: test_classes.py KUBELET CLEAVED CLEAVE [unittest arguments]
"""
import os

import bed
from api_server import ApiServer
from bed import Bed, wait_until

SHARE = "cleave.dev/gpu-share"


class Classes(Bed):
    sim = """version: 1
name: lab
devices:
  - {model: H100-80GB, count: 1}
"""

    def setUp(self):
        super().setUp()
        self.api = ApiServer()
        self.addCleanup(self.api.close)
        self.api.nodes["node1"] = {"metadata": {"name": "node1"}}
        config = os.path.join(self.folder, "kubeconfig")
        self.api.kubeconfig(config)
        self.settings = {"classes": True, "node": "node1", "kubeconfig": config}
        self.kubelet.start()

    def admit(self, name, class_=None, share=10):
        annotations = {"cleave.dev/class": class_} if class_ else {}
        self.api.pods["default", name] = {"metadata": {"name": name, "annotations": annotations}}
        before = set(self.leases())
        self.kubelet.admit(name, {"c": {SHARE: share}})
        (lease,) = set(self.leases()) - before
        return lease

    def has(self, lease, class_):
        self.assertTrue(wait_until(lambda: self.leases()[lease]["class"] == class_),
                        (self.leases()[lease], self.log()))

    def asked(self, name):
        return self.api.requests.count(("GET", f"/api/v1/namespaces/default/pods/{name}"))

    def test_classes(self):
        self.start_bridge()
        self.kubelet.resource(SHARE)
        first = self.admit("a", "latency")
        second, third = self.admit("b"), self.admit("c", "batch")
        self.has(first, "latency")
        self.has(third, "batch")
        self.assertTrue(wait_until(lambda: self.asked("b")))
        self.assertEqual(self.leases()[second]["class"], "normal")

    def test_each_pod_is_asked_about_once(self):
        self.start_bridge()
        self.kubelet.resource(SHARE)
        first = self.admit("a", "latency")
        self.has(first, "latency")
        # A class that was set in another way stays.
        self.agent.request("PATCH", f"/v1/leases/{first}", {"class": "batch"})
        for name in ("b", "c"):
            self.has(self.admit(name, "latency"), "latency")
        self.assertEqual(self.leases()[first]["class"], "batch")
        self.assertEqual(self.asked("a"), 1)

    def test_another_pod_of_the_name(self):
        """As of a StatefulSet, with the same ids: a lease of its own."""
        self.start_bridge()
        self.kubelet.resource(SHARE)
        first = self.admit("a", "latency", share=100)
        self.has(first, "latency")
        old = self.leases()[first]["id"]
        self.kubelet.delete("a")
        self.assertTrue(wait_until(lambda: first not in self.leases()))
        self.assertEqual(self.admit("a", "batch", share=100), first)
        self.has(first, "batch")
        self.assertNotEqual(self.leases()[first]["id"], old)

    def test_API_server_away(self):
        self.start_bridge()
        self.kubelet.resource(SHARE)
        self.api.down = True
        first = self.admit("a", "latency")
        self.assertTrue(wait_until(lambda: "classes of leases cannot be set" in self.log()))
        self.assertEqual(self.leases()[first]["class"], "normal")
        self.api.down = False
        self.has(first, "latency")

    def test_unknown_class(self):
        self.start_bridge()
        self.kubelet.resource(SHARE)
        first = self.admit("a", "urgent")
        self.assertTrue(wait_until(lambda: "the class 'urgent'" in self.log()))
        self.assertEqual(self.leases()[first]["class"], "normal")


if __name__ == "__main__":
    bed.main()
