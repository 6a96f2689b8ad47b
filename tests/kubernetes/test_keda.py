#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The guide for KEDA with a real one, and with the Prometheus of this machine: CLEAVE_KEDA names a
folder with its programs (operator and adapter) and the folder of its definitions (crd, of
config/crd/bases in its sources).  Prometheus finds the agents by what the chart tells the Prometheus
operator, and the test stands in for kubelets.

usage: test_keda.py CLEAVE-KUBELET CLEAVED CLEAVE EXTENDER [unittest arguments]"""
import json
import os
import shutil
import tempfile
import threading
import urllib.parse
import urllib.request

import cluster
import examples
import guides
import harness
import helm
import test_scheduler
from bed import CDI, main, wait_until
from guides import TEAM

VIEWER = "clv_viewer_" + "0" * 40
NODE = "inference-0"  # of the pool that the example's query selects
METRICS = {"tlsSecret": "tls", "tokenSecret": "viewer", "podMonitor": True}
EXTERNAL = "external.metrics.k8s.io"
# What a query of the guide is about.
WAITING = "sum(rate(cleave_device_waiting_seconds_total[2m]))"
THROTTLED = "sum(rate(cleave_device_throttled_seconds_total[2m]))"


class Aggregating(cluster.Cluster):
    """It passes requests for the metrics of programs on to the server that has them."""

    @property
    def MORE(self):
        authority, key = self.path("api.crt"), self.path("api.key")
        return (*cluster.Cluster.MORE, f"--client-ca-file={authority}",
                f"--requestheader-client-ca-file={authority}",
                f"--requestheader-allowed-names={self.ADDRESS}",
                "--requestheader-username-headers=X-Remote-User",
                "--requestheader-group-headers=X-Remote-Group",
                "--requestheader-extra-headers-prefix=X-Remote-Extra-",
                f"--proxy-client-cert-file={authority}", f"--proxy-client-key-file={key}")


class Node(test_scheduler.Node):
    """Its agent answers Prometheus, as with metrics.tlsSecret and tokenSecret of the chart."""

    def setUp(self):
        folder = tempfile.mkdtemp(prefix="cleave-keda-")
        self.addCleanup(shutil.rmtree, folder, True)
        self.port = cluster.free_port()
        viewer, settings = os.path.join(folder, "viewer"), os.path.join(folder, "cleaved.yaml")
        with open(os.open(viewer, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write(VIEWER)
        with open(settings, "w", encoding="utf-8") as file:
            json.dump({"version": 1, "listen": {
                "address": "127.0.0.1", "port": self.port, "viewer": viewer, **self.keys}}, file)
        self.agent_arguments = ["--config", settings]
        super().setUp()


class Load:
    """A program that uses all that it gets of its lease."""

    def __init__(self, node, pod):
        (name,) = node.kubelet.starts["default", pod]["c"]
        lease = node.leases()[name.removeprefix(CDI)]
        self.holder = harness.Holder(node.agent)
        reply = self.holder.do("attach", socket=lease["socket"])
        assert reply["status"] == 0, reply
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.ends.is_set():
            self.holder.do("run", seconds=.05)

    def end(self):
        self.ends.set()
        self.thread.join()
        self.holder.end()


class Keda(guides.GuideCase):
    variable, programs = "CLEAVE_KEDA", ("operator", "adapter", "crd")
    cluster_type = Aggregating

    def setUp(self):
        if not shutil.which("prometheus"):
            self.skipTest("prometheus is not here")
        if helm.why_not():
            self.skipTest(helm.why_not())
        super().setUp()
        self.admitted = set()
        self.add_the_node()
        self.start_prometheus()
        self.start_controllers(
            "deployment-controller", "replicaset-controller",
            "horizontal-pod-autoscaler-controller",
            more=["--horizontal-pod-autoscaler-sync-period=1s"])
        self.start_scheduler()
        self.start_keda()

    def add_the_node(self):
        Node.keys = {"certificate": self.cluster.path("api.crt"), "key": self.cluster.path("api.key")}
        self.add_node(NODE, kind=Node)
        self.node = self.nodes[NODE]
        self.label(NODE, pool="inference")

    # --- In place of kubelet ---

    def run_pods(self):
        """Those that were bound since; returns all that run."""
        for pod in self.pods():
            name = pod["metadata"]["name"]
            if pod["spec"].get("nodeName") and name not in self.admitted:
                self.node.admit(pod)
                self.cluster.ask("PATCH", self.path("v1", "Pod", TEAM, name) + "/status", {"status": {
                    "phase": "Running", "startTime": "2026-01-01T00:00:00Z",
                    "conditions": [{"type": "Ready", "status": "True",
                                    "lastTransitionTime": "2026-01-01T00:00:00Z"}]}},
                    guides.MERGE)
                self.admitted.add(name)
        return self.admitted

    # --- Prometheus ---

    def start_prometheus(self):
        """Debian's finds no pods by itself: it is told what it would find."""
        (monitor,) = [each["spec"] for each in helm.documents({"metrics": METRICS})
                      if each["kind"] == "PodMonitor"]
        (endpoint,) = monitor["podMetricsEndpoints"]
        config = {"global": {"scrape_interval": "1s"}, "scrape_configs": [{
            "job_name": "cleave", "scheme": endpoint["scheme"], "metrics_path": endpoint["path"],
            "authorization": {"credentials": VIEWER},
            "tls_config": {"insecure_skip_verify": endpoint["tlsConfig"]["insecureSkipVerify"]},
            "static_configs": [{"targets": [f"127.0.0.1:{self.node.port}"],
                                "labels": {"__meta_kubernetes_pod_node_name": NODE}}],
            "relabel_configs": [
                {"source_labels": each["sourceLabels"], "target_label": each["targetLabel"]}
                for each in endpoint.get("relabelings", [])]}]}
        self.prometheus = f"127.0.0.1:{cluster.free_port()}"
        self.cluster.start("prometheus", [
            "prometheus", f"--config.file={self.write('prometheus.yml', config)}",
            f"--storage.tsdb.path={self.cluster.path('prometheus')}",
            f"--web.listen-address={self.prometheus}"])
        self.assertTrue(wait_until(lambda: self.query("up") == 1, 120), self.said("prometheus"))

    def query(self, text):
        """The value of its only result, or None."""
        url = f"http://{self.prometheus}/api/v1/query?" + urllib.parse.urlencode({"query": text})
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                results = json.load(answer)["data"]["result"]
        except OSError:
            return None
        return float(results[0]["value"][1]) if len(results) == 1 else None

    # --- KEDA ---

    def start_keda(self):
        keys = self.cluster.path("keda-keys")
        os.makedirs(keys)
        for old, new in (("api.crt", "ca.crt"), ("api.crt", "tls.crt"), ("api.key", "tls.key")):
            shutil.copy(self.cluster.path(old), os.path.join(keys, new))
        config, ports = self.cluster.kubeconfig(), [cluster.free_port() for _ in range(4)]
        where = ["env", f"KUBECONFIG={config}", "WATCH_NAMESPACE=", "POD_NAMESPACE=keda",
                 "KEDA_CLUSTER_OBJECT_NAMESPACE=keda"]
        self.cluster.start("operator", [
            *where, self.program("operator"), f"--cert-dir={keys}",
            "--enable-prometheus-metrics=false",
            f"--health-probe-bind-address=127.0.0.1:{ports[0]}",
            f"--metrics-service-bind-address=127.0.0.1:{ports[1]}"])
        self.cluster.start("adapter", [
            *where, self.program("adapter"), f"--cert-dir={keys}", "--bind-address=127.0.0.1",
            f"--secure-port={ports[2]}", f"--tls-cert-file={keys}/tls.crt",
            f"--tls-private-key-file={keys}/tls.key", f"--port={ports[3]}",
            f"--metrics-service-address=127.0.0.1:{ports[1]}", f"--lister-kubeconfig={config}",
            f"--authentication-kubeconfig={config}", f"--authorization-kubeconfig={config}"])
        self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "keda"}})
        self.create({"apiVersion": "v1", "kind": "Service",
                     "metadata": {"name": "keda-metrics-apiserver", "namespace": "keda"},
                     "spec": {"type": "ExternalName", "externalName": "localhost",
                              "ports": [{"port": ports[2]}]}})
        self.create({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
                     "metadata": {"name": "v1beta1." + EXTERNAL},
                     "spec": {"group": EXTERNAL, "version": "v1beta1", "insecureSkipTLSVerify": True,
                              "groupPriorityMinimum": 100, "versionPriority": 100,
                              "service": {"name": "keda-metrics-apiserver", "namespace": "keda",
                                          "port": ports[2]}}})
        self.assertTrue(wait_until(lambda: self.is_served(EXTERNAL, "v1beta1"), 120), self.logs())

    def logs(self):
        return self.said("operator", "adapter", "kube-controller-manager")

    def create_example(self):
        deployment, scaled = examples.objects("keda.yaml")
        (trigger,) = scaled["spec"]["triggers"]
        trigger["metadata"]["serverAddress"] = "http://" + self.prometheus
        self.create(deployment)
        self.create(scaled)
        return scaled["metadata"]["name"]

    def conditions(self, scaled):
        status = self.cluster.ask("GET", self.path("keda.sh/v1alpha1", "ScaledObject", TEAM,
                                                   scaled)).get("status", {})
        return {each["type"]: each["status"] for each in status.get("conditions", [])}

    def metric(self, scaled):
        """What the autoscaler of pods is told."""
        selector = urllib.parse.quote(f"scaledobject.keda.sh/name={scaled}")
        (item,) = self.cluster.ask("GET", f"/apis/{EXTERNAL}/v1beta1/namespaces/{TEAM}/s0-prometheus"
                                          f"?labelSelector={selector}")["items"]
        text = item["value"]
        return float(text[:-1]) / 1000 if text.endswith("m") else float(text)

    def replicas(self):
        return self.cluster.ask("GET", self.path("apps/v1", "Deployment", TEAM, "infer"))[
            "spec"]["replicas"]

    def test_the_guide(self):
        """A replica that uses more than its share gets others beside it, by which more is promised."""
        scaled = self.create_example()
        self.assertTrue(wait_until(lambda: len(self.run_pods()) == 1, 120), self.logs())
        self.assertTrue(wait_until(lambda: self.conditions(scaled).get("Ready") == "True", 120),
                        (self.conditions(scaled), self.logs()))
        self.assertEqual((self.metric(scaled), self.replicas()), (0, 1))
        (first,) = self.admitted
        load = Load(self.node, first)
        self.addCleanup(load.end)
        self.assertTrue(wait_until(lambda: self.metric(scaled) > .8, 180), self.logs())
        self.assertTrue(wait_until(lambda: len(self.run_pods()) > 1, 300),
                        (self.replicas(), self.events(), self.logs()))
        self.assertEqual({lease["share"] for lease in self.node.leases().values()}, {.25})
        for query in (WAITING, THROTTLED):
            self.assertIsNotNone(self.query(query), query)
        load.end()
        self.assertTrue(wait_until(lambda: self.metric(scaled) < .8, 300), self.metric(scaled))


if __name__ == "__main__":
    main()
