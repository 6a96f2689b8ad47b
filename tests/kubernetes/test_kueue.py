#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The guide for Kueue with a real one: CLEAVE_KUEUE names a folder with its program (kueue) and the
folder of its definitions (crd, of config/components/crd/bases in its sources).  CLEAVE_KUBERNETES
must name a version that it works with, with kube-controller-manager.  Kueue runs without its
webhooks: what these would fill in is in the example.

usage: test_kueue.py CLEAVE-KUBELET CLEAVED CLEAVE EXTENDER [unittest arguments]"""
import glob
import json
import os
import shutil
import urllib.error

import yaml

import cluster
import examples
import test_scheduler
from bed import main, wait_until

FOLDER = os.environ.get("CLEAVE_KUEUE", "")
TEAM = "team-a"
GROUPS = {"kueue.x-k8s.io/v1beta2": "/apis/kueue.x-k8s.io/v1beta2", "batch/v1": "/apis/batch/v1"}
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
PLURALS = {"ResourceFlavor": "resourceflavors", "ClusterQueue": "clusterqueues",
           "LocalQueue": "localqueues", "Job": "jobs", "Workload": "workloads"}


class Kueue(test_scheduler.Case):
    def setUp(self):
        if not os.path.exists(os.path.join(FOLDER, "kueue")):
            self.skipTest("CLEAVE_KUEUE names no folder with kueue")
        super().setUp()
        self.cluster.start("kube-controller-manager", [
            os.path.join(cluster.BIN, "kube-controller-manager"), "--leader-elect=false",
            f"--kubeconfig={self.cluster.kubeconfig()}", "--secure-port=0",
            "--controllers=job-controller"])
        self.start_kueue()

    def path(self, kind, namespace=None):
        base = GROUPS["batch/v1" if kind == "Job" else "kueue.x-k8s.io/v1beta2"]
        return f"{base}/namespaces/{namespace}/{PLURALS[kind]}" if namespace \
            else f"{base}/{PLURALS[kind]}"

    def start_kueue(self):
        for path in sorted(glob.glob(os.path.join(FOLDER, "crd", "*.yaml"))):
            with open(path, encoding="utf-8") as file:
                definition = yaml.safe_load(file)
            self.cluster.ask(
                "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        self.assertTrue(wait_until(self.has_definitions, 60))
        keys = self.cluster.path("kueue-keys")
        os.makedirs(keys)
        for old, new in (("api.crt", "tls.crt"), ("api.key", "tls.key")):
            shutil.copy(self.cluster.path(old), os.path.join(keys, new))
        config = {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration",
            "health": {"healthProbeBindAddress": f"127.0.0.1:{cluster.free_port()}"},
            "metrics": {"bindAddress": "0"},
            "webhook": {"port": cluster.free_port(), "certDir": keys},
            "leaderElection": {"leaderElect": False}, "internalCertManagement": {"enable": False},
            "integrations": {"frameworks": ["batch/job"]}}
        with open(self.cluster.path("kueue.yaml"), "w", encoding="utf-8") as file:
            json.dump(config, file)
        folder = self.cluster.folder
        # It reads keys in /etc/kueue, which the machine need not have.
        self.cluster.start("kueue", [
            "bwrap", "--ro-bind", os.path.realpath(os.path.join(FOLDER, "kueue")), "/kueue",
            "--ro-bind", keys, "/etc/kueue/metrics/certs", "--bind", folder, folder,
            "--dev", "/dev", "--proc", "/proc", "--die-with-parent",
            "--setenv", "POD_NAMESPACE", "kueue-system",
            "--setenv", "KUBECONFIG", self.cluster.kubeconfig(),
            "/kueue", f"--config={self.cluster.path('kueue.yaml')}",
            "--feature-gates=VisibilityOnDemand=false"])

    def has_definitions(self):
        """Whether clients that ask what there is are told of all of them."""
        group = "kueue.x-k8s.io"
        try:
            said = self.cluster.ask("GET", f"/apis/{group}/v1beta2")
            listed = self.cluster.ask("GET", "/apis", kind=AGGREGATED)
        except urllib.error.HTTPError:
            return False
        found = {each["resource"] for one in listed["items"] if one["metadata"]["name"] == group
                 for version in one["versions"] if version["version"] == "v1beta2"
                 for each in version["resources"]}
        wanted = set(PLURALS.values()) - {"jobs"}
        return wanted <= found and wanted <= {each["name"] for each in said["resources"]}

    def apply(self, thing, name=None):
        namespace = thing["metadata"].get("namespace")
        if name:
            thing = dict(thing, metadata=dict(thing["metadata"], name=name))
        self.cluster.ask("POST", self.path(thing["kind"], namespace), thing)

    def pods(self):
        return self.cluster.ask("GET", f"/api/v1/namespaces/{TEAM}/pods")["items"]

    def admitted(self):
        """The jobs that Kueue has let start."""
        return {job["metadata"]["name"]
                for job in self.cluster.ask("GET", self.path("Job", TEAM))["items"]
                if not job["spec"]["suspend"]}

    def said(self):
        return self.cluster.log("kueue"), self.cluster.log("kube-controller-manager")

    def test_the_guide(self):
        """Four devices' worth are admitted, and placed by the extender; the next job waits."""
        for name in ("node1", "node2"):
            self.add_node(name)
            self.cluster.ask("PATCH", f"/api/v1/nodes/{name}",
                             {"metadata": {"labels": {"cleave.dev/node": "true"}}},
                             "application/merge-patch+json")
        self.start_scheduler()
        self.cluster.ask("POST", "/api/v1/namespaces", {"metadata": {"name": TEAM}})
        *queues, job = examples.objects("kueue.yaml")
        for thing in queues:
            self.apply(thing)
        self.apply(job)
        self.assertTrue(wait_until(lambda: self.admitted() == {"embed"}, 120), self.said())
        self.assertTrue(wait_until(lambda: [bool(pod["spec"].get("nodeName"))
                                            for pod in self.pods()] == [True] * 4, 120),
                        self.said())
        # All of them on one device: the other one stays free for a whole one.
        self.assertEqual({pod["spec"]["nodeName"] for pod in self.pods()}, {"node1"})
        # 100 hundredths of 400 are used; three more jobs fit, and the next one does not.
        for number in range(4):
            self.apply(job, f"more{number}")
        self.assertTrue(wait_until(lambda: len(self.admitted()) == 4, 120), self.said())
        (waits,) = {f"more{n}" for n in range(4)} - self.admitted()
        self.assertTrue(wait_until(lambda: any(
            "insufficient unused quota for cleave.dev/gpu-share" in text
            for text in self.reasons(waits)), 60), self.reasons(waits))

    def reasons(self, job):
        return [condition["message"]
                for each in self.cluster.ask("GET", self.path("Workload", TEAM))["items"]
                if any(owner["name"] == job for owner in each["metadata"]["ownerReferences"])
                for condition in each.get("status", {}).get("conditions", [])]


if __name__ == "__main__":
    main()
