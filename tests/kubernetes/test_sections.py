# SPDX-License-Identifier: Apache-2.0
"""Sections of cleave-kubelet's settings, chosen by the node's label cleave.dev/config.

usage: test_sections.py KUBELET CLEAVED CLEAVE [unittest arguments]
"""
import json
import os

import bed
from api_server import ApiServer
from bed import Bed, wait_until

SHARE, MEMORY, LARGE = ("cleave.dev/gpu-share", "cleave.dev/gpu-memory", "cleave.dev/gpu-memory-1gi")
CONFIG = "cleave.dev/config"


class Sections(Bed):
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
        os.mkdir(os.path.join(self.folder, "sections"))
        self.write("pairs", {"undivided": "both", "memory-unit": "1G"})
        self.write("whole", {"undivided": "whole"})
        self.settings = {"sections": os.path.join(self.folder, "sections"), "node": "node1",
                         "kubeconfig": config, "status": os.path.join(self.folder, "status")}
        self.kubelet.start()

    def write(self, name, section):
        with open(os.path.join(self.folder, "sections", name), "w", encoding="utf-8") as file:
            json.dump(section, file)

    def label(self, name):
        labels = {CONFIG: name} if name else {}
        self.api.nodes["node1"]["metadata"]["labels"] = {"other": "1", **labels}

    def offers(self, *names):
        def offered():
            with self.kubelet.lock:
                return {name for name, plugin in self.kubelet.registered.items()
                        if not plugin.is_over and plugin.devices}
        self.assertTrue(wait_until(lambda: offered() == set(names)), (offered(), self.log()))

    def ends(self, code, *words):
        self.assertEqual(self.process.wait(60), code)
        self.process = None
        for word in words:
            self.assertIn(word, self.log())

    def test_by_the_label(self):
        for name, offered in ((None, {SHARE}), ("pairs", {SHARE, LARGE}),
                              ("whole", {"cleave.dev/gpu"})):
            self.label(name)
            self.start_bridge()
            self.offers(*offered)
            self.stop_bridge()
            with self.kubelet.lock:
                self.kubelet.registered = {}

    def test_the_label_changes(self):
        """The same process serves the other resources; a lease stays with its pod."""
        self.start_bridge()
        self.offers(SHARE)
        self.kubelet.admit("p", {"c": {SHARE: 30}})
        before = self.leases()
        self.label("whole")
        self.offers("cleave.dev/gpu")
        self.assertIsNone(self.process.poll())
        self.assertEqual(set(self.leases()), set(before))
        self.label(None)
        self.offers(SHARE)
        self.kubelet.delete("p")
        self.check_ledger()

    def test_unknown_section(self):
        self.label("huge")
        self.start_bridge()
        self.ends(125, "cleave.dev/config=huge", "there are pairs, whole")

    def test_wrong_section(self):
        """What all nodes have in common is not in a section."""
        self.write("wrong", {"kubelet": "/var/lib/other"})
        self.label("wrong")
        self.start_bridge()
        self.ends(125, "wrong:1:2", "kubelet")

    def test_API_server_away(self):
        """At the first start the label cannot be known; later it is the last one."""
        self.label("whole")
        self.api.down = True
        self.start_bridge()
        self.ends(125, "cleave.dev/config cannot be read")
        self.api.down = False
        self.start_bridge()
        self.offers("cleave.dev/gpu")
        self.stop_bridge()
        self.api.down = True
        with self.kubelet.lock:
            self.kubelet.registered = {}
        self.start_bridge()
        self.offers("cleave.dev/gpu")
        self.api.down = False


if __name__ == "__main__":
    bed.main()
