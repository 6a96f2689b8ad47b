# SPDX-License-Identifier: Apache-2.0
"""A node's devices for the scheduler's extender: cleave-kubelet writes them, a double of the API
server keeps them, a double of kube-scheduler sends them, the real extender reads them.

usage: test_announce.py KUBELET CLEAVED CLEAVE EXTENDER [unittest arguments]
"""
import http.client
import json
import os
import subprocess
import sys

import bed
import scheduler
from api_server import ApiServer
from bed import Bed, Refused, wait_until

EXTENDER = os.path.abspath(sys.argv.pop(4))
GIB = 1 << 30
SHARE = "cleave.dev/gpu-share"
TWO = """version: 1
name: lab
devices:
  - {model: H100-80GB, count: 2}
"""


class Announce(Bed):
    sim = TWO

    def setUp(self):
        super().setUp()
        self.api = ApiServer()
        self.addCleanup(self.api.close)
        self.api.nodes["node1"] = {"metadata": {"name": "node1"}}
        self.config = os.path.join(self.folder, "kubeconfig")
        self.api.kubeconfig(self.config)
        self.settings = {"announce": True, "node": "node1", "kubeconfig": self.config}

    def said(self):
        annotations = self.api.nodes["node1"]["metadata"].get("annotations", {})
        return json.loads(annotations.get("cleave.dev/devices", "[]"))

    def says(self, *free_milli):
        self.assertTrue(wait_until(
            lambda: [each["free_milli"] for each in self.said()] == list(free_milli)),
            (self.said(), self.log()))

    def says_in_all(self, free_milli):
        self.assertTrue(wait_until(lambda: sum(
            each["free_milli"] for each in self.said()) == free_milli), (self.said(), self.log()))

    def keep(self, **wanted):
        status, lease = self.agent.request("POST", "/v1/leases", {"keep": True, **wanted})
        self.assertEqual(status, 201, lease)

    def test_it_follows_the_ledger(self):
        self.start_bridge()
        self.says(1000, 1000)
        self.keep(name="a", device="gpu0", share=.3, memory_bytes=10 * GIB)
        self.says(700, 1000)
        first = self.said()[0]
        self.assertEqual(first["memory_mib"] - first["free_mib"], 10 * 1024)
        self.agent.request("POST", "/v1/devices/gpu1/cordon", {"reason": "x"})
        self.says(700)
        self.agent.request("DELETE", "/v1/leases/a")
        self.says(1000)

    def test_the_room_of_a_deleted_pod(self):
        """It is announced while the lease waits for its grace; without it only the pod after that
        ends the lease."""
        self.kubelet.start()
        self.start_bridge(grace="1h")
        self.kubelet.resource(SHARE)
        for name in ("a", "b"):
            self.kubelet.admit(name, {"c": {SHARE: 60}})
            self.kubelet.start_container(name, "c")
        self.says(400, 400)
        self.kubelet.delete("a")
        self.says_in_all(1400)
        self.assertEqual(len(self.leases()), 2)
        self.kubelet.admit("c", {"c": {SHARE: 90}})
        self.says_in_all(500)
        self.assertEqual(sorted(lease["share"] for lease in self.leases().values()), [.6, .9])

    def test_what_a_restarted_kubelet_does_not_list(self):
        """It lists a pod late: the pod's room is not free."""
        self.kubelet.start()
        self.start_bridge(grace="1h")
        self.kubelet.resource(SHARE)
        self.kubelet.admit("a", {"c": {SHARE: 60}})
        self.kubelet.start_container("a", "c")
        self.says_in_all(1400)
        self.kubelet.stop()
        self.kubelet.hidden.add(("default", "a"))
        self.kubelet.start()
        self.kubelet.resource(SHARE)
        before = self.kubelet.n_lists
        self.assertTrue(wait_until(lambda: self.kubelet.n_lists > before + 50))
        self.says_in_all(1400)

    def marks(self):
        """When room was freed, as a label and as an annotation."""
        metadata = self.api.nodes["node1"]["metadata"]
        return [metadata.get(kind, {}).get("cleave.dev/freed")
                for kind in ("labels", "annotations")]

    def test_schedulers_are_woken(self):
        """By an annotation, and those before 1.28 by a label: after the room was announced, and
        only where it has grown."""
        for version, is_label in (("v1.20.2", True), ("v1.27.3-gke.1", True), ("v1.28.0", False)):
            with self.subTest(version):
                self.api.nodes["node1"] = {"metadata": {"name": "node1"}, "status": {
                    "nodeInfo": {"kubeletVersion": version}}}
                self.start_bridge()
                self.assertTrue(wait_until(lambda: any(self.marks())))
                before = self.marks()
                self.assertEqual([bool(mark) for mark in before], [is_label, not is_label])
                self.keep(name="a", device="gpu0", share=.3)
                self.says(700, 1000)
                n_patches = len(self.patches())
                self.keep(name="b", device="gpu1", share=.3)
                self.says(700, 700)
                self.assertEqual(self.marks(), before)
                self.assertEqual(len(self.patches()), n_patches + 1)
                for name in "ab":
                    self.agent.request("DELETE", f"/v1/leases/{name}")
                self.assertTrue(wait_until(lambda before=before: self.marks() != before))
                self.says(1000, 1000)
                self.stop_bridge()

    def patches(self):
        return [path for method, path in self.api.requests if method == "PATCH"]

    def test_a_server_that_is_away(self):
        self.api.down = True
        self.start_bridge()
        self.assertTrue(wait_until(lambda: "cannot announce what is free" in self.log()))
        self.api.down = False
        self.says(1000, 1000)

    def test_a_server_without_space(self):
        """Etcd is full: what has changed meanwhile is announced when it is not any more."""
        self.start_bridge()
        self.says(1000, 1000)
        self.api.full = 500
        self.keep(name="a", device="gpu0", share=.3, memory_bytes=10 * GIB)
        self.assertTrue(wait_until(lambda: "database space exceeded" in self.log()))
        self.assertEqual([each["free_milli"] for each in self.said()], [1000, 1000])
        self.api.full = None
        self.says(700, 1000)

    def start_extender(self, config):
        """Returns a function that asks it."""
        extender = subprocess.Popen(
            [EXTENDER, "--listen=127.0.0.1:0", f"--kubeconfig={config}"],
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(extender.stderr.close)
        self.addCleanup(extender.wait)
        self.addCleanup(extender.kill)
        port = int(extender.stderr.readline().split()[-1])

        def ask(path, body=None):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("POST" if body else "GET", path, json.dumps(body))
            answer = connection.getresponse()
            text = answer.read()
            connection.close()
            return json.loads(text) if body else answer.status
        self.assertTrue(wait_until(lambda: ask("/readyz") == 200))
        return ask

    @staticmethod
    def pod(name, share):
        return scheduler.pod(name, [scheduler.container("c", {SHARE: str(share)})])

    def test_the_extender_reads_it(self):
        """From nodes in its requests, and from the API server."""
        ask = self.start_extender(self.config)
        self.start_bridge()
        self.keep(name="a", device="gpu0", share=.6)
        self.keep(name="b", device="gpu1", share=.5)
        self.says(400, 500)

        def fits(share):
            pod = self.pod("p", share)
            with self.api.lock:
                said = self.api.nodes["node1"]["metadata"]
                node = scheduler.node("node1", annotations=said["annotations"],
                                      version=said["resourceVersion"])
            answer = ask("/filter", scheduler.args(pod, [node]))
            self.assertTrue(wait_until(lambda: ask("/filter", scheduler.names_args(
                pod, ["node1"]))["NodeNames"] == ["node1"] * len(answer["Nodes"]["items"])))
            return len(answer["Nodes"]["items"]) == 1
        self.assertEqual([fits(40), fits(50), fits(51), fits(90)], [True, True, False, False])

    def test_extenders_that_do_not_know_of_each_other(self):
        """Whatever they give, the node gives a share once, and refuses the pod that is too many."""
        self.kubelet.start()
        self.start_bridge()
        self.says(1000, 1000)
        apart = ApiServer()  # what one binds, the other one is not told
        self.addCleanup(apart.close)
        apart.nodes["node1"] = json.loads(json.dumps(self.api.nodes["node1"]))
        apart.kubeconfig(self.config + "-apart")
        for config, names in ((self.config, "ab"), (self.config + "-apart", "cd")):
            ask = self.start_extender(config)
            for name in names:
                wanted = self.pod(name, 60)
                self.assertEqual(ask("/filter", scheduler.names_args(
                    wanted, ["node1"]))["NodeNames"], ["node1"])
                self.assertEqual(ask("/bind", scheduler.binding(name, "node1"))["Error"], "")
        self.kubelet.resource(SHARE)
        for name in "ac":
            self.kubelet.admit(name, {"c": {SHARE: 60}})
        for name in "bd":
            with self.assertRaises(Refused):
                self.kubelet.admit(name, {"c": {SHARE: 60}})
        self.check_ledger()
        self.assertEqual(len(self.leases()), 2)
        self.assertLessEqual(max(d["share_promised"] for d in self.devices().values()), 1)


if __name__ == "__main__":
    bed.main()
