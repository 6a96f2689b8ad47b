#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A real kube-apiserver asks the real webhook about pods, and counts shares in quotas of namespaces.
CLEAVE_RECORD=1 writes what it asks into recorded/.

usage: test_admission.py WEBHOOK [unittest arguments]"""
import base64
import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import yaml

import admission
import bed
import cluster
import examples
import helm
import scheduler

WEBHOOK = os.path.abspath(sys.argv.pop(1))
SHARE, LARGE = "cleave.dev/gpu-share", "cleave.dev/gpu-memory-1gi"
CHART = {"podClasses": True, "networkPolicy": {"enabled": True},
         "metrics": {"tlsSecret": "tls", "tokenSecret": "viewer"}, "shareProfiles": {"a": {"share": 1}},
         "nodeSettings": {"whole": {"undivided": "whole"}},
         "webhook": {"enabled": True, "classes": {"high": "latency"}}}
QUOTAS = "/api/v1/namespaces/team-a/resourcequotas"
EXAMPLES = os.path.join(bed.ROOT, "examples/kubernetes")


def missing(wanted, made, path=""):
    """The members that the API server has dropped, as it does with those that it does not know."""
    if isinstance(wanted, list):
        return [each for i, one in enumerate(wanted) for each in missing(one, made[i], f"{path}[{i}]")]
    if not isinstance(wanted, dict):
        return []
    found = [f"{path}.{key}" for key in wanted if key not in made]
    return found + [each for key in wanted if key in made
                    for each in missing(wanted[key], made[key], f"{path}.{key}")]


class Relay(BaseHTTPRequestHandler):
    """Passes reviews on to the webhook, and keeps them."""
    protocol_version = "HTTP/1.1"
    webhook, seen, context = None, None, None

    def log_message(self, *arguments):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status, answer = self.webhook.ask(body)
        self.seen.append(json.loads(body))
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Admission(unittest.TestCase):
    SETTINGS = {"version": 1, "pairs": "required", "memory-unit": "1G", "device-memory": "80Gi",
                "runtime-class": "cleave"}

    def setUp(self):
        why = cluster.why_not()
        if why:
            self.skipTest(why)
        self.folder = tempfile.mkdtemp(prefix="cleave-admission-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.cluster = cluster.Cluster(self.folder)
        self.addCleanup(self.cluster.close)

    def path(self, name):
        return os.path.join(self.folder, name)

    def start_webhook(self):
        self.cluster.ask("POST", "/apis/node.k8s.io/v1/runtimeclasses",
                         {"metadata": {"name": "cleave"}, "handler": "cleave"})
        os.mkdir(self.path("profiles"))
        for name, text in (("profiles/small", "share: 25"),
                           ("webhook.yaml", yaml.safe_dump(self.SETTINGS))):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text + "\n")
        process = subprocess.Popen(
            [WEBHOOK, "--listen=127.0.0.1:0", f"--certificate={self.path('api.crt')}",
             f"--key={self.path('api.key')}", f"--settings={self.path('webhook.yaml')}",
             f"--profiles={self.path('profiles')}"], stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return int(process.stderr.readline().split()[-1])

    def relay(self, port):
        """The webhook behind a server that keeps what it is asked; its port."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path("api.crt"), self.path("api.key"))
        with open(self.path("api.crt"), "rb") as file:
            trusts = admission.context_of(base64.b64encode(file.read()))
        self.seen = []
        handler = type("Handler", (Relay,), {
            "seen": self.seen,
            "webhook": admission.Webhook(port, context=trusts, host="127.0.0.1")})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        server.socket = context.wrap_socket(server.socket, server_side=True)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, args=(.05,), daemon=True).start()
        return server.server_address[1]

    def register(self, port, **more):
        with open(self.path("api.crt"), "rb") as file:
            authority = base64.b64encode(file.read()).decode()
        self.cluster.ask(
            "POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
            {"metadata": {"name": "cleave-webhook"}, "webhooks": [{
                "name": "pods.cleave.dev", "admissionReviewVersions": ["v1"],
                "sideEffects": "None", "timeoutSeconds": 30, "failurePolicy": "Fail",
                "reinvocationPolicy": "IfNeeded",
                "clientConfig": {"url": f"https://127.0.0.1:{port}/mutate", "caBundle": authority},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                           "resources": ["pods"], "scope": "Namespaced"}], **more}]})

    def ask(self, method, path, body):
        """(status, object or message)."""
        try:
            return 201, self.cluster.ask(method, path, body)
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())["message"]

    def create(self, name, resources, dry_run=False, namespace="default", spec=(), **metadata):
        return self.ask(
            "POST", f"/api/v1/namespaces/{namespace}/pods" + ("?dryRun=All" if dry_run else ""),
            {"metadata": {"name": name, **metadata}, "spec": {**dict(spec), "containers": [
                {"name": "c", "image": "registry.example/c:1", "resources": resources}]}})

    def limits(self, made):
        resources = made["spec"]["containers"][0]["resources"]
        self.assertEqual(resources["limits"], resources["requests"])
        return resources["limits"]

    def wait_for_webhook(self):
        """The API server reads configurations with a delay."""
        self.assertTrue(bed.wait_until(lambda: self.create(
            "probe", {"limits": {SHARE: "101"}}, dry_run=True)[0] == 422 and self.seen))

    def test_pods(self):
        self.register(self.relay(self.start_webhook()))
        self.wait_for_webhook()
        status, made = self.create("a", {"limits": {SHARE: "30"}})
        self.assertEqual(status, 201, made)
        self.assertEqual(self.limits(made), {SHARE: "30", LARGE: "24"})
        self.assertEqual(made["spec"]["runtimeClassName"], "cleave")
        if os.environ.get("CLEAVE_RECORD"):
            scheduler.record("admission", self.seen[-1])
        # The double of the API server sends what this one sends.
        recorded = scheduler.recorded("admission")
        self.assertEqual(list(self.seen[-1]), list(recorded))
        self.assertEqual(list(self.seen[-1]["request"]), list(recorded["request"]))
        # A request without a limit.
        status, made = self.create("b", {"requests": {SHARE: "10", LARGE: "8"}})
        self.assertEqual(status, 201, made)
        self.assertEqual(self.limits(made), {SHARE: "10", LARGE: "8"})
        status, made = self.create("p", {}, labels={"cleave.dev/share-profile": "small"})
        self.assertEqual(status, 201, made)
        self.assertEqual(self.limits(made), {SHARE: "25", LARGE: "20"})
        status, made = self.create("d", {"limits": {SHARE: "40"}}, dry_run=True)
        self.assertEqual(status, 201, made)
        self.assertTrue(self.seen[-1]["request"]["dryRun"])
        self.assertEqual(self.limits(made), {SHARE: "40", LARGE: "32"})
        for resources, words in (
                ({"limits": {SHARE: "101"}}, "request at most 100, or whole devices"),
                ({"limits": {SHARE: "0.5"}}, "half a device is 50"),
                ({"limits": {SHARE: "30", "cleave.dev/gpu": 1}}, "the containers of two pods")):
            status, message = self.create("x", resources)
            self.assertEqual(status, 422, message)
            self.assertIn('admission webhook "pods.cleave.dev" denied the request: container c: ',
                          message)
            self.assertIn(words, message)

    def used(self, quota):
        return self.cluster.ask("GET", f"{QUOTAS}/{quota}")["status"]["used"]

    def test_quota(self):
        """Shares count in quotas, also those that the webhook has filled in."""
        self.register(self.relay(self.start_webhook()))
        self.wait_for_webhook()
        self.cluster.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "team-a"}})
        with open(os.path.join(EXAMPLES, "quota.yaml"), encoding="utf-8") as file:
            for each in yaml.safe_load_all(file):
                if each["kind"] == "PriorityClass":
                    self.cluster.ask("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", each)
                    continue
                status, made = self.ask("POST", QUOTAS, each)
                self.assertEqual(status, 201, made)
                # What the controller of quotas writes, which does not run here.
                made["status"] = {"hard": made["spec"]["hard"],
                                  "used": dict.fromkeys(made["spec"]["hard"], "0")}
                self.cluster.ask("PUT", f"{QUOTAS}/{each['metadata']['name']}/status", made)
        share = "requests." + SHARE
        low = {"priorityClassName": "low"}
        for i, (resources, labels, spec, status, used) in enumerate((
                ({"limits": {SHARE: "90"}}, {}, {}, 201, ("90", "0")),
                ({}, {"cleave.dev/share-profile": "small"}, {}, 201, ("115", "0")),
                ({"limits": {SHARE: "40"}}, {}, low, 201, ("155", "40")),
                ({"limits": {SHARE: "20"}}, {}, low, 403, ("155", "40")),
                ({"limits": {SHARE: "50"}}, {}, {}, 403, ("155", "40")),
                ({"limits": {"cleave.dev/gpu": "1"}}, {}, {}, 403, ("155", "40")),
                ({"limits": {SHARE: "45"}}, {}, {}, 201, ("200", "40")))):
            # The API server reads quotas with a delay, too.
            self.assertTrue(bed.wait_until(lambda: self.create(
                f"p{i}", resources, namespace="team-a", labels=labels, spec=spec,
                dry_run=True)[0] == status), (i, status))
            got, made = self.create(f"p{i}", resources, namespace="team-a", labels=labels,
                                    spec=spec)
            self.assertEqual(got, status, made)
            if status == 403:
                self.assertIn("exceeded quota: shares", made)
            self.assertEqual((self.used("shares")[share],
                              self.used("shares-of-low-priority")[share]), used)

    def test_examples(self):
        """The API server accepts the objects of its own types in examples/kubernetes."""
        for name in ("team-a", "volcano-system"):
            self.cluster.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        paths = {"ResourceQuota": QUOTAS, "Job": "/apis/batch/v1/namespaces/team-a/jobs",
                 "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
                 "Deployment": "/apis/apps/v1/namespaces/team-a/deployments",
                 "ConfigMap": "/api/v1/namespaces/{namespace}/configmaps",
                 "Node": "/api/v1/nodes"}
        seen = set()
        for each in examples.objects():
            if each["apiVersion"].split("/")[0] in ("v1", "apps", "batch", "scheduling.k8s.io"):
                path = paths[each["kind"]].format(**each["metadata"])
                status, made = self.ask("POST", path + "?dryRun=All", each)
                self.assertEqual(status, 201, (each, made))
                # Kubernetes 1.20 does not have this member yet.
                self.assertLessEqual(set(missing(each, made)), {".spec.suspend"})
                seen.add(each["kind"])
        self.assertEqual(seen, set(paths))

    @unittest.skipIf(helm.why_not(), helm.why_not())
    def test_chart(self):
        """The API server accepts the objects of the chart, and knows all their members."""
        self.cluster.ask("POST", "/api/v1/namespaces", {"metadata": {"name": helm.NAMESPACE}})
        groups = {"v1": "/api/v1"}
        seen = set()
        for each in helm.documents(CHART, "--kube-version=1.20.2"):
            # This API server runs without --allow-privileged, which kubeadm sets.
            each = json.loads(json.dumps(each).replace('"privileged": true', '"privileged": false'))
            version, kind = each["apiVersion"], each["kind"]
            inside = f"/namespaces/{helm.NAMESPACE}" if "namespace" in each["metadata"] else ""
            plural = kind.lower().removesuffix("y") + ("ies" if kind.endswith("y") else "s")
            status, made = self.ask(
                "POST", f"{groups.get(version, '/apis/' + version)}{inside}/{plural}?dryRun=All",
                each)
            self.assertEqual(status, 201, (kind, made))
            self.assertEqual(missing(each, made), [], kind)
            seen.add(kind)
        self.assertLessEqual({"DaemonSet", "Deployment", "MutatingWebhookConfiguration", "Secret",
                              "NetworkPolicy", "ClusterRole", "Service"}, seen)

    def test_webhook_away(self):
        """With the chart's policy pods are created as they are written."""
        self.register(cluster.free_port(), failurePolicy="Ignore")
        time.sleep(2)  # as in wait_for_webhook(); that nothing happens cannot be waited for
        status, made = self.create("a", {"limits": {SHARE: "30"}})
        self.assertEqual(status, 201, made)
        self.assertEqual(self.limits(made), {SHARE: "30"})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
