# SPDX-License-Identifier: Apache-2.0
"""A double of the API server asks the real webhook about pods.

usage: test_webhook.py WEBHOOK [unittest arguments]
"""
import base64
import copy
import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import unittest

import yaml

import admission
import helm
from admission import Denied, Webhook, create, pod

WEBHOOK = os.path.abspath(sys.argv[1])
SHARE, MEMORY, LARGE = ("cleave.dev/gpu-share", "cleave.dev/gpu-memory", "cleave.dev/gpu-memory-1gi")
PAIRS = {"pairs": "required", "memory-unit": "1G", "device-memory": "80Gi",
         "largest-device-memory": "141Gi"}


class Case(unittest.TestCase):
    settings = {}
    profiles = {"small": {"share": 25}, "large": {"share": 50, "memory": "40Gi"}}

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cleave-webhook-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.mkdir(self.path("profiles"))
        for name, profile in self.profiles.items():
            self.write(f"profiles/{name}", yaml.safe_dump(profile))
        self.write("webhook.yaml", yaml.safe_dump({"version": 1, **self.settings}))

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def start(self, *options, settings=None, profiles=None):
        """The port."""
        self.process = subprocess.Popen(
            [WEBHOOK, "--listen=127.0.0.1:0", f"--settings={settings or self.path('webhook.yaml')}",
             f"--profiles={profiles or self.path('profiles')}", *options],
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.process.stderr.close)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        line = self.process.stderr.readline()
        self.assertIn("listens", line)
        return int(line.split()[-1])

    def limits(self, made, at=0):
        resources = made["spec"]["containers"][at]["resources"]
        self.assertEqual(resources["limits"], resources["requests"])
        return resources["limits"]

    def denied(self, webhook, new):
        with self.assertRaises(Denied) as caught:
            create(webhook, new)
        return str(caught.exception)


class Answers(Case):
    settings = PAIRS

    def setUp(self):
        super().setUp()
        self.webhook = Webhook(self.start())

    def test_pair(self):
        """Without the webhook the node refuses a container with one of the two."""
        made = create(self.webhook, pod("a", {"limits": {SHARE: "30", "cpu": "1"}}))
        self.assertEqual(self.limits(made), {SHARE: "30", LARGE: "24", "cpu": "1"})
        made = create(self.webhook, pod("a", {"limits": {LARGE: "40"}}))
        self.assertEqual(self.limits(made), {SHARE: "50", LARGE: "40"})

    def test_request_without_limit(self):
        """The API server refuses it without the webhook."""
        new = pod("a", {"requests": {SHARE: "30", LARGE: "20"}})
        with self.assertRaises(Denied):
            admission.check(new)
        self.assertEqual(self.limits(create(self.webhook, new)), {SHARE: "30", LARGE: "20"})

    def test_profile(self):
        for metadata in ({"annotations": {"cleave.dev/share-profile": "large"}},
                         {"labels": {"cleave.dev/share-profile": "large"}}):
            made = create(self.webhook, pod("a", {}, {}, **metadata))
            self.assertEqual(self.limits(made), {SHARE: "50", LARGE: "40"})
            self.assertEqual(made["spec"]["containers"][1]["resources"], {})
        both = {"annotations": {"cleave.dev/share-profile": "c0=small,c1=large"}}
        made = create(self.webhook, pod("a", {}, {}, **both))
        self.assertEqual([self.limits(made, at)[SHARE] for at in (0, 1)], ["25", "50"])

    def test_profiles_are_read_again(self):
        named = {"labels": {"cleave.dev/share-profile": "new"}}
        self.assertIn("there are large, small",
                      self.denied(self.webhook, pod("a", {}, **named)))
        self.write("profiles/new", "share: 10\n")
        self.assertEqual(self.limits(create(self.webhook, pod("a", {}, **named)))[SHARE], "10")
        self.write("profiles/new", "share: ten\n")
        self.assertIn("new:1:8", self.denied(self.webhook, pod("a", {}, **named)))

    def test_refusals(self):
        for resources, words in (
                ({SHARE: "130"}, "request at most 100, or whole devices as cleave.dev/gpu"),
                ({SHARE: "500m"}, "half a device is 50"),
                ({SHARE: "-3"}, "request 1 or more"),
                ({SHARE: "30", "cleave.dev/gpu": "1"}, "the containers of two pods"),
                ({LARGE: "200"}, "the largest device has 141 GiB"),
                ({LARGE: "1", MEMORY: "1"}, "the containers of two pods")):
            with self.subTest(words):
                self.assertIn(words, self.denied(self.webhook, pod("a", {"limits": resources})))
        new = pod("a", {"limits": {SHARE: "30"}, "requests": {SHARE: "20"}})
        self.assertIn("container c0: it requests 20 of cleave.dev/gpu-share and limits it to 30",
                      self.denied(self.webhook, new))

    def test_other_pods(self):
        for new in (pod("a", {"limits": {"cpu": "1"}}), pod("a", {"limits": {"nvidia.com/gpu": "1"}})):
            before = copy.deepcopy(new)
            admission.set_defaults(before)
            self.assertEqual(create(self.webhook, new), before)

    def test_reinvocation(self):
        """Another webhook adds a container in front; then the same is asked again."""
        def injects(new):
            new["spec"]["containers"].insert(0, {**new["spec"]["containers"][0], "name": "mesh",
                                                 "resources": {"limits": {SHARE: "5"}}})
            admission.set_defaults(new)
            return new
        made = create(self.webhook, pod("a", {"limits": {SHARE: "30"}}), [injects, lambda new: new])
        self.assertEqual([self.limits(made, at) for at in (0, 1)],
                         [{SHARE: "5", LARGE: "4"}, {SHARE: "30", LARGE: "24"}])
        self.assertNotIn("patch", self.webhook.reviews[-1][1]["response"])

    def test_dry_run(self):
        """A dry run gets the answer of the real call, and leaves nothing behind."""
        new = pod("a", {"limits": {SHARE: "30"}})
        self.assertEqual(self.webhook.admit(new, dryRun=True), self.webhook.admit(new))
        (dry, first), (_, second) = self.webhook.reviews
        self.assertTrue(dry["request"]["dryRun"])
        self.assertEqual({**first["response"], "uid": ""}, {**second["response"], "uid": ""})

    def test_only_new_pods(self):
        new = pod("a", {"limits": {SHARE: "130"}})
        for more in ({"operation": "UPDATE"}, {"operation": "DELETE"}, {"subResource": "status"},
                     {"resource": {"group": "apps", "version": "v1", "resource": "deployments"}}):
            self.assertEqual(self.webhook.admit(new, **more), new)

    def test_wrong_questions(self):
        for body in ("{", "{}", "[]", json.dumps({"kind": "AdmissionReview"}), json.dumps(
                {**admission.review(pod("a", {})), "apiVersion": "admission.k8s.io/v1beta1"})):
            status, text = self.webhook.ask(body)
            self.assertEqual(status, 400, text)
            self.assertEqual(len(text.splitlines()), 1)
        self.assertEqual(self.webhook.admit(pod("a", {})), pod("a", {}), "and it still answers")

    def test_ends_by_a_signal(self):
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(60), 0)


class Spec(Case):
    settings = {"runtime-class": "nvidia", "scheduler": "shares"}

    def test_what_the_cluster_has(self):
        webhook = Webhook(self.start())
        made = create(webhook, pod("a", {"limits": {SHARE: "30"}}))
        self.assertEqual(made["spec"]["runtimeClassName"], "nvidia")
        self.assertEqual(made["spec"]["schedulerName"], "shares")
        made = create(webhook, pod("a", {"limits": {"cpu": "1"}}))
        self.assertNotIn("runtimeClassName", made["spec"])
        self.assertEqual(made["spec"]["schedulerName"], "default-scheduler")


def make_certificate(folder, name, host):
    """Writes NAME.crt and NAME.key; returns the certificate in base64, as a caBundle."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
                    "-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}",
                    "-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.crt"],
                   check=True, capture_output=True)
    with open(f"{folder}/{name}.crt", "rb") as file:
        return base64.b64encode(file.read()).decode()


class Tls(Case):
    HOST = "cleave-webhook.cleave-system.svc"

    def link(self, name):
        """As kubelet changes a mounted Secret: by one link."""
        os.symlink(name, self.path("..data_tmp"))
        os.rename(self.path("..data_tmp"), self.path("..data"))

    def make(self, name):
        os.mkdir(self.path(name))
        return make_certificate(self.path(name), "tls", self.HOST)

    def asks(self, port, authority):
        return Webhook(port, context=admission.context_of(authority), host=self.HOST).ask(
            admission.review(pod("a", {})))[0]

    def test_renewal(self):
        old, new = self.make("one"), self.make("two")
        self.link("one")
        for name in ("tls.crt", "tls.key"):
            os.symlink(f"..data/{name}", self.path(name))
        port = self.start(f"--certificate={self.path('tls.crt')}", f"--key={self.path('tls.key')}")
        self.assertEqual(self.asks(port, old), 200)
        self.link("two")
        self.assertEqual(self.asks(port, new), 200)
        with self.assertRaises(ssl.SSLError):
            self.asks(port, old)
        # A certificate without its key is not taken.
        os.mkdir(self.path("three"))
        shutil.copy(self.path("one/tls.crt"), self.path("three/tls.crt"))
        shutil.copy(self.path("two/tls.key"), self.path("three/tls.key"))
        self.link("three")
        self.assertEqual(self.asks(port, new), 200)
        self.link("one")
        self.assertEqual(self.asks(port, old), 200)

    def refused(self, *options):
        done = subprocess.run([WEBHOOK, *options], capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertIn(done.returncode, (64, 125))
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stderr

    def test_what_is_refused(self):
        self.make("one")
        self.make("two")
        self.assertIn("not the loopback", self.refused("--listen=0.0.0.0:0"))
        self.assertIn("ADDRESS:PORT", self.refused("--listen=1"))
        self.assertIn("no-such-file", self.refused("--settings=/no-such-file"))
        self.assertIn("no-such-file", self.refused(
            "--listen=127.0.0.1:0", "--certificate=/no-such-file", "--key=/no-such-file"))
        self.assertIn("key of the certificate", self.refused(
            "--listen=127.0.0.1:0", f"--certificate={self.path('one/tls.crt')}",
            f"--key={self.path('two/tls.key')}"))
        self.write("webhook.yaml", "version: 1\npairs: all\n")
        self.assertIn("webhook.yaml:2:8", self.refused(f"--settings={self.path('webhook.yaml')}"))

    def test_health(self):
        """Kubelet's probe does not check the certificate."""
        self.make("one")
        port = self.start(f"--certificate={self.path('one/tls.crt')}",
                          f"--key={self.path('one/tls.key')}")
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=context)
        self.addCleanup(connection.close)
        for path in ("/healthz", "/readyz"):
            connection.request("GET", path)
            answer = connection.getresponse()
            self.assertEqual((answer.status, answer.read()), (200, b"ok\n"))


@unittest.skipIf(helm.why_not(), helm.why_not())
class Chart(Case):
    """The webhook as the chart starts it, called as the chart tells the API server."""
    VALUES = {"undivided": "both", "memoryUnit": "1G", "runtimeClassName": "nvidia",
              "shareProfiles": {"small": {"share": 25}},
              "webhook": {"enabled": True, "deviceMemory": "80Gi", "schedulerName": "shares",
                          "classes": {"high": "latency"}},
              "podClasses": True}

    def serve(self, values):
        objects = {(each["kind"], each["metadata"]["name"]): each
                   for each in helm.documents(values)}
        secret = objects["Secret", "cleave-webhook"]
        self.assertEqual(secret["type"], "kubernetes.io/tls")
        for name in ("tls.crt", "tls.key"):
            with open(self.path(name), "wb") as file:
                file.write(base64.b64decode(secret["data"][name]))
        self.write("webhook.yaml",
                   objects["ConfigMap", "cleave-webhook"]["data"]["webhook.yaml"])
        for name, text in objects["ConfigMap", "cleave-share-profiles"]["data"].items():
            self.write(f"profiles/{name}", text)
        (webhook,) = objects["MutatingWebhookConfiguration", "cleave-webhook"]["webhooks"]
        service = webhook["clientConfig"]["service"]
        self.assertEqual(service["path"], "/mutate")
        (port,) = objects["Service", service["name"]]["spec"]["ports"]
        self.assertEqual(port["port"], service.get("port", 443))
        (container,) = objects["Deployment", "cleave-webhook"]["spec"]["template"]["spec"]["containers"]
        command, mounts = container["command"], {"/tls/": self.folder, "/settings/": self.folder,
                                                 "/profiles": self.path("profiles")}
        self.assertEqual(command[0], "cleave-webhook")
        places = {each["mountPath"] for each in container["volumeMounts"]}
        options = []
        for option in command[1:]:
            name, value = option.split("=", 1)
            if name == "--listen":
                self.assertEqual(value, f"0.0.0.0:{container['ports'][0]['containerPort']}")
                continue
            folder = value if name == "--profiles" else os.path.dirname(value)
            self.assertIn(folder, places)
            here = self.path("profiles") if name == "--profiles" else \
                self.path(os.path.basename(value))
            options.append(f"{name}={here}")
        self.assertEqual({o.split("=")[0] for o in options},
                         {"--certificate", "--key", "--settings", "--profiles"}, mounts)
        self.process = subprocess.Popen([WEBHOOK, "--listen=127.0.0.1:0", *options],
                                        stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.process.stderr.close)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        line = self.process.stderr.readline()
        self.assertIn("listens", line)
        return Webhook(int(line.split()[-1]), webhook,
                       admission.context_of(webhook["clientConfig"]["caBundle"]),
                       f"{service['name']}.{service['namespace']}.svc")

    def test_end_to_end(self):
        webhook = self.serve(self.VALUES)
        made = create(webhook, pod("a", {}, labels={"cleave.dev/share-profile": "small"}))
        self.assertEqual(self.limits(made), {SHARE: "25", LARGE: "20"})
        self.assertEqual(made["spec"]["runtimeClassName"], "nvidia")
        self.assertEqual(made["spec"]["schedulerName"], "shares")
        new = pod("a", {"limits": {SHARE: "30"}})
        new["spec"]["priorityClassName"] = "high"
        self.assertEqual(create(webhook, new)["metadata"]["annotations"],
                         {"cleave.dev/class": "latency"})
        self.assertIn("at most 100", self.denied(webhook, pod("a", {"limits": {SHARE: "101"}})))

    def test_without_pairs(self):
        """Nodes with one resource: nothing is added to it, and the other is refused beside it."""
        webhook = self.serve({**self.VALUES, "undivided": "share", "runtimeClassName": ""})
        made = create(webhook, pod("a", {"limits": {SHARE: "30"}}))
        self.assertEqual(self.limits(made), {SHARE: "30"})
        self.assertNotIn("runtimeClassName", made["spec"])
        self.assertIn("request one", self.denied(
            webhook, pod("a", {"limits": {SHARE: "30", LARGE: "1"}})))

    def test_nodes_that_differ(self):
        """Nothing is added or refused where only some nodes have pairs, or units differ."""
        some = {**self.VALUES, "undivided": "share", "nodeSettings": {"a": {"undivided": "both"}}}
        units = {**self.VALUES, "nodeSettings": {"a": {"memoryUnit": "256M"}}}
        for values, settings in ((some, {"pairs": "any", "memory-unit": "1G"}),
                                 (units, {"pairs": "required"})):
            text = next(each["data"]["webhook.yaml"] for each in helm.documents(values)
                        if each["kind"] == "ConfigMap" and "webhook.yaml" in each["data"])
            read = yaml.safe_load(text)
            self.assertEqual({k: read[k] for k in ("pairs", "memory-unit") if k in read}, settings)

    def test_what_the_API_server_is_told(self):
        """A webhook that is down holds up no pod, and what it sees is limited."""
        (webhook,) = next(each for each in helm.documents(self.VALUES)
                          if each["kind"] == "MutatingWebhookConfiguration")["webhooks"]
        self.assertEqual((webhook["failurePolicy"], webhook["sideEffects"],
                          webhook["reinvocationPolicy"], webhook["admissionReviewVersions"]),
                         ("Ignore", "None", "IfNeeded", ["v1"]))
        self.assertLessEqual(webhook["timeoutSeconds"], 5)
        self.assertEqual(webhook["rules"], [{
            "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
            "resources": ["pods"], "scope": "Namespaced"}])
        (expression,) = webhook["namespaceSelector"]["matchExpressions"]
        self.assertEqual(expression["operator"], "NotIn")
        self.assertLessEqual({"kube-system", helm.NAMESPACE}, set(expression["values"]))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
