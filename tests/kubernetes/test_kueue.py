#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The guide for Kueue with a real one: CLEAVE_KUEUE names a folder with its program (kueue) and the
folder of its definitions (crd, of config/components/crd/bases in its sources).  Kueue runs without its
webhooks: what these would fill in is in the example.

usage: test_kueue.py CLEAVE-KUBELET CLEAVED CLEAVE EXTENDER [unittest arguments]"""
import os
import shutil

import cluster
import examples
import guides
from bed import main, wait_until
from guides import TEAM

BATCH, KUEUE = "batch/v1", "kueue.x-k8s.io/v1beta2"


class Kueue(guides.GuideCase):
    variable, programs = "CLEAVE_KUEUE", ("kueue", "crd")

    def setUp(self):
        super().setUp()
        self.start_controllers("job-controller")
        self.start_kueue()

    def start_kueue(self):
        keys = self.cluster.path("kueue-keys")
        os.makedirs(keys)
        for old, new in (("api.crt", "tls.crt"), ("api.key", "tls.key")):
            shutil.copy(self.cluster.path(old), os.path.join(keys, new))
        config = self.write("kueue.yaml", {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration",
            "health": {"healthProbeBindAddress": f"127.0.0.1:{cluster.free_port()}"},
            "metrics": {"bindAddress": "0"},
            "webhook": {"port": cluster.free_port(), "certDir": keys},
            "leaderElection": {"leaderElect": False}, "internalCertManagement": {"enable": False},
            "integrations": {"frameworks": ["batch/job"]}})
        folder = self.cluster.folder
        # It reads keys in /etc/kueue, which the machine need not have.
        self.cluster.start("kueue", [
            "bwrap", "--ro-bind", os.path.realpath(self.program("kueue")), "/kueue",
            "--ro-bind", keys, "/etc/kueue/metrics/certs", "--bind", folder, folder,
            "--dev", "/dev", "--proc", "/proc", "--die-with-parent",
            "--setenv", "POD_NAMESPACE", "kueue-system",
            "--setenv", "KUBECONFIG", self.cluster.kubeconfig(),
            "/kueue", f"--config={config}", "--feature-gates=VisibilityOnDemand=false"])

    def admitted(self):
        """The jobs that Kueue has let start."""
        return {job["metadata"]["name"] for job in self.listed(BATCH, "Job")
                if not job["spec"]["suspend"]}

    def logs(self):
        return self.said("kueue", "kube-controller-manager")

    def test_the_guide(self):
        """Four devices' worth are admitted, and placed by the extender; the next job waits."""
        for name in ("node1", "node2"):
            self.add_node(name)
            self.label(name, **{"cleave.dev/node": "true"})
        self.start_scheduler()
        *queues, job = examples.objects("kueue.yaml")
        for thing in queues:
            self.create(thing)
        self.create(job)
        self.assertTrue(wait_until(lambda: self.admitted() == {"embed"}, 120), self.logs())
        self.assertTrue(wait_until(lambda: len(self.nodes_of_pods()) == 4, 120), self.logs())
        # All of them on one device: the other one stays free for a whole one.
        self.assertEqual(len(set(self.nodes_of_pods())), 1, self.nodes_of_pods())
        # 100 hundredths of 400 are used; three more jobs fit, and the next one does not.
        for number in range(4):
            self.create(job, f"more{number}")
        self.assertTrue(wait_until(lambda: len(self.admitted()) == 4, 120), self.logs())
        (waits,) = {f"more{n}" for n in range(4)} - self.admitted()
        self.assertTrue(wait_until(lambda: any(
            "insufficient unused quota for cleave.dev/gpu-share" in text
            for text in self.reasons(waits)), 60), self.reasons(waits))

    def reasons(self, job):
        return [condition["message"] for each in self.listed(KUEUE, "Workload")
                if any(owner["name"] == job for owner in each["metadata"]["ownerReferences"])
                for condition in each.get("status", {}).get("conditions", [])]


if __name__ == "__main__":
    main()
