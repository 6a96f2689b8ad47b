#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/kubernetes.md: its settings are read, its tables are correct, its commands run.

usage: test_guide.py CLEAVE-KUBELET CLEAVED CLEAVE [unittest arguments]"""
import os
import re
import subprocess

import bed
import yaml
from api_server import ApiServer
from bed import Bed, wait_until

TEXT = open(os.path.join(bed.ROOT, "docs/kubernetes.md"), encoding="utf-8").read()
BLOCKS = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", TEXT, re.S)]
COUNTED, POD, CLAIMED = BLOCKS
MIG = """
version: 1
name: lab
devices: [{model: A100-80GB, at-start: {mig: on, instances: [{profile: 1g.10gb+me, start: 0}]}}]
"""


class Guide(Bed):
    def setUp(self):
        super().setUp()
        self.kubelet.start()

    def settings_of(self, block):
        """The settings of the page, except for the machine's folders and the cluster."""
        ours = {"kubelet", "cdi", "agent", "labels", "version", "reconcile", "grace",
                "node", "kubeconfig", "announce", "status", "sections", "classes"}
        return {k: v for k, v in block.items() if k not in ours}

    def test_settings(self):
        self.assertGreaterEqual(set(COUNTED), {
            "version", "undivided", "names", "memory-unit", "replicas", "labels", "kubelet", "cdi",
            "gates", "hook", "agent", "reconcile", "grace"})
        self.start_bridge(**self.settings_of(COUNTED))
        self.kubelet.resource("cleave.dev/gpu-share")

    def test_pod(self):
        self.start_bridge()
        (container,) = POD["spec"]["containers"]
        self.kubelet.admit("infer", {container["name"]: container["resources"]["limits"]})
        self.kubelet.start_container("infer", container["name"])
        (lease,) = self.leases().values()
        self.assertEqual(lease["share"], 0.3)
        for line in re.findall(r"^# (cleave .*)$", TEXT, re.M):
            done = subprocess.run(
                [bed.PROGRAMS["cleave"], *line.split()[1:]], capture_output=True, text=True,
                timeout=60, env=dict(os.environ, CLEAVE_SOCKET=self.agent.api), check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("k8s-", done.stdout)

    def test_each_way_of_asking(self):
        for way, resource in re.findall(r"^\| `(\w+)` \| `(cleave\.dev/[\w-]+): \d+`", TEXT, re.M):
            self.start_bridge(undivided=way)
            self.kubelet.admit("p", {"c": {resource: 1}})
            self.assertEqual(len(self.leases()), 1, way)
            self.kubelet.delete("p")
            self.check_ledger()
            self.stop_bridge()
            with self.kubelet.lock:
                self.kubelet.registered = {}

    def test_claims(self):
        api = ApiServer()
        self.addCleanup(api.close)
        config = os.path.join(self.folder, "kubeconfig")
        api.kubeconfig(config)
        self.start_bridge(dra={**CLAIMED["dra"], "kubeconfig": config})
        self.assertTrue(wait_until(api.is_whole), self.log())
        (slice_,) = api.slices.values()
        self.assertEqual(slice_["spec"]["nodeName"], CLAIMED["dra"]["node"])
        self.assertEqual(set(api.devices()["gpu0"]["capacity"]), {"share", "memory"})
        verbs = {{"GET": "list", "POST": "create", "PUT": "update", "DELETE": "delete"}[method]
                 for method, path in api.requests if path.endswith("resourceslices")}
        self.assertLessEqual(verbs, {"list", "create", "update", "delete"})


class Partitions(Guide):
    sim = MIG
    test_settings = test_pod = test_each_way_of_asking = test_claims = None

    def test_names(self):
        self.start_bridge()
        self.kubelet.resource("cleave.dev/mig-1g.10gb.me")
        self.assertIn("`cleave.dev/mig-1g.10gb.me`", TEXT)


if __name__ == "__main__":
    bed.main()
