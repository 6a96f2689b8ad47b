# SPDX-License-Identifier: Apache-2.0
"""What `cleave up --to kubernetes` prints: objects of the types of Kubernetes and of KEDA, with what
the compose file says. The class Server shows those of Kubernetes' own types to a real API server.

usage: test_compose.py CLEAVE [unittest arguments]
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

import bed
import cluster
import examples

CLEAVE = os.path.abspath(sys.argv.pop(1))
# The types, as far as they are used: k8s.io/api, core/v1, apps/v1, batch/v1, autoscaling/v2.
# Of HorizontalPodAutoscalerBehavior, which KEDA has, too.
RULES = {"stabilizationWindowSeconds": "number", "selectPolicy": "Max|Min|Disabled",
         "policies": [{"type*": "Pods|Percent", "value*": "number", "periodSeconds*": "number"}]}
BEHAVIOR = {"scaleUp": RULES, "scaleDown": RULES}
PROBE = {"exec": {"command": ["text"]}, "tcpSocket": {"port*": "number"}, "periodSeconds": "number",
         "timeoutSeconds": "number", "failureThreshold": "number"}
CONTAINER = {
    "name*": "text", "image*": "text", "command": ["text"], "args": ["text"],
    "env": [{"name*": "text", "value": "text"}],
    "envFrom": [{"configMapRef": {"name*": "text", "optional": "flag"}}],
    "ports": [{"containerPort*": "number"}], "readinessProbe": PROBE, "livenessProbe": PROBE,
    "startupProbe": PROBE, "workingDir": "text",
    "resources": {"limits": "amounts", "requests": "amounts"},
    "securityContext": {"runAsUser": "number", "runAsGroup": "number"},
    "volumeMounts": [{"name*": "text", "mountPath*": "text", "readOnly": "flag"}]}
TEMPLATE = {"metadata*": {"labels*": "texts", "annotations": "texts"}, "spec*": {
    "containers*": [CONTAINER], "terminationGracePeriodSeconds": "number",
    "restartPolicy": "Always|OnFailure|Never", "volumes": [
        {"name*": "text", "emptyDir": {}, "hostPath": {"path*": "text"},
         "persistentVolumeClaim": {"claimName*": "text"}}]}}
TARGET = {"apiVersion": "text", "kind*": "text", "name*": "text"}
TYPES = {
    ("apps/v1", "Deployment"): {
        "replicas": "number", "selector*": {"matchLabels*": "texts"}, "template*": TEMPLATE, "strategy": {
            "type": "RollingUpdate", "rollingUpdate": {"maxSurge": "number", "maxUnavailable": "number"}}},
    ("batch/v1", "Job"): {"template*": TEMPLATE, "backoffLimit": "number", "completions": "number",
                          "parallelism": "number"},
    ("v1", "Service"): {"selector": "texts", "ports": [
        {"name": "text", "port*": "number", "targetPort": "number"}]},
    ("v1", "PersistentVolumeClaim"): {
        "accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "quantity"}}},
    ("autoscaling/v2", "HorizontalPodAutoscaler"): {
        "scaleTargetRef*": TARGET, "minReplicas": "number", "maxReplicas*": "number", "behavior": BEHAVIOR,
        "metrics": [{"type*": "External", "external": {
            "metric*": {"name*": "text"}, "target*": {"type*": "Value", "value": "quantity"}}}]},
    # kedacore/http-add-on, docs/ref, http_scaled_object.md
    ("http.keda.sh/v1alpha1", "HTTPScaledObject"): {
        "hosts": ["text"], "pathPrefixes": ["text"], "scaledownPeriod": "number",
        "scaleTargetRef*": {**TARGET, "service*": "text", "port": "number"},
        "replicas": {"min": "number", "max": "number"}},
    ("keda.sh/v1alpha1", "ScaledObject"): examples.TYPES["keda.sh/v1alpha1 ScaledObject"],
}
REFERENCE = os.path.join(bed.ROOT, "tests/fuzz/corpus/services/reference")
EVERYTHING = """
name: all
volumes: {models_1: }
services:
  web_1:
    image: registry.example/web:1
    command: serve --cost '$$(HOME)'
    entrypoint: [/bin/x]
    environment: {A: 1, B: '$$(A)'}
    env_file: a.env
    ports: ['8080:80', 81]
    volumes: ['models_1:/models:ro', /cache, '/srv:/srv']
    user: 1000:1001
    working_dir: /w
    depends_on: [model]
    healthcheck: {test: curl -f x, interval: 5s, start_period: 1m}
    deploy:
      update_config: {order: stop-first}
      resources: {limits: {cpus: '0.5', memory: 64m}}
    x-cleave: {share: 0.255, class: latency}
    x-omnistrate-capabilities: {autoscaling: {minReplicas: 2, maxReplicas: 5}}
  model:
    image: registry.example/model:1
    x-cleave: {profile: 1g.10gb+me}
    deploy: {replicas: 3}
  once: {image: registry.example/once:1, restart: 'no', x-cleave: {memory: 1.5G}}
  retried: {image: registry.example/retried:1, restart: 'on-failure:2'}
"""


def call(content, *options):
    return subprocess.run([CLEAVE, "up", "--to", "kubernetes", *options, "-"], input=content,
                          capture_output=True, text=True, timeout=60, check=False)


def manifests(content):
    done = call(content)
    assert done.returncode == 0, done.stderr
    return {(each["kind"], each["metadata"]["name"]): each
            for each in yaml.safe_load_all(done.stdout)}, done.stderr


def read_reference():
    with open(REFERENCE, encoding="utf-8") as file:
        return file.read()


class Manifests(unittest.TestCase):
    def test_types(self):
        seen = set()
        for content in (read_reference(), EVERYTHING):
            for each in manifests(content)[0].values():
                type_ = each["apiVersion"], each["kind"]
                self.assertIsNone(examples.fault(each["spec"], TYPES[type_]), each)
                self.assertLessEqual(set(each), {"apiVersion", "kind", "metadata", "spec"})
                self.assertRegex(each["metadata"]["name"], r"^[a-z][a-z0-9-]*[a-z0-9]$")
                seen.add(type_)
        self.assertEqual(seen, set(TYPES))

    def test_reference(self):
        made, remarks = manifests(read_reference())
        self.assertEqual([kind for kind, _ in made],
                         ["Deployment", "Service", "HTTPScaledObject", "ScaledObject"])
        deployment = made["Deployment", "gpuinfer"]["spec"]
        self.assertNotIn("replicas", deployment, "an autoscaler sets it")
        (container,) = deployment["template"]["spec"]["containers"]
        self.assertEqual(container["resources"]["limits"]["cleave.dev/gpu-share"], "25")
        scaled = made["ScaledObject", "gpuinfer-use"]["spec"]
        self.assertEqual((scaled["idleReplicaCount"], scaled["minReplicaCount"],
                          scaled["maxReplicaCount"]), (0, 1, 5))
        self.assertEqual([each["type"] for each in scaled["triggers"]],
                         ["external-push", "prometheus"])
        self.assertEqual(scaled["triggers"][0]["metadata"]["httpScaledObject"], "gpuinfer")
        self.assertIn("HTTP add-on", remarks)

    def test_query(self):
        """Has cleave's metrics, and is one of Prometheus."""
        made, _ = manifests(read_reference())
        query = made["ScaledObject", "gpuinfer-use"]["spec"]["triggers"][1]["metadata"]["query"]
        with open(os.path.join(bed.ROOT, "docs/metrics.md"), encoding="utf-8") as file:
            known = set(re.findall(r"^\| `(\w+)` \|", file.read(), re.M))
        self.assertLessEqual(set(re.findall(r"cleave_\w+", query)), known)
        rule = {"groups": [{"name": "a", "rules": [{"record": "a:b", "expr": query}]}]}
        done = subprocess.run(["promtool", "check", "rules", "/dev/stdin"],
                              input=yaml.safe_dump(rule), capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_pods(self):
        made, remarks = manifests(EVERYTHING)
        web = made["Deployment", "web-1"]["spec"]
        (container,) = web["template"]["spec"]["containers"]
        self.assertEqual(container["command"], ["/bin/x"])
        self.assertEqual(container["args"], ["serve", "--cost", "$$(HOME)"])
        self.assertEqual(container["env"], [{"name": "A", "value": "1"},
                                            {"name": "B", "value": "$$(A)"}])
        self.assertEqual(container["resources"]["limits"],
                         {"cpu": "500m", "memory": str(64 << 20), "cleave.dev/gpu-share": "26"})
        self.assertEqual(container["startupProbe"]["failureThreshold"], 15)
        self.assertEqual(web["template"]["metadata"]["annotations"], {"cleave.dev/class": "latency"})
        self.assertEqual(web["strategy"]["rollingUpdate"], {"maxSurge": 0, "maxUnavailable": 1})
        self.assertEqual([sorted(each)[0] for each in web["template"]["spec"]["volumes"]],
                         ["name", "emptyDir", "hostPath"])
        for words in ("the share is 26", "configmap web-1-env-0", "/srv is a folder of the node",
                      "starts all services at once", "idleThreshold has no effect"):
            self.assertIn(words, remarks)
        scaler = made["HorizontalPodAutoscaler", "web-1"]["spec"]
        self.assertEqual((scaler["minReplicas"], scaler["maxReplicas"]), (2, 5))
        self.assertEqual(scaler["metrics"][0]["external"]["target"]["value"], "800m")

    def limits(self, made, kind, name):
        (container,) = made[kind, name]["spec"]["template"]["spec"]["containers"]
        return container["resources"]["limits"]

    def test_devices(self):
        made, _ = manifests(EVERYTHING)
        self.assertEqual(self.limits(made, "Deployment", "model"), {"cleave.dev/mig-1g.10gb.me": "1"})
        self.assertEqual(made["Deployment", "model"]["spec"]["replicas"], 3)
        self.assertEqual(self.limits(made, "Job", "once"), {"cleave.dev/gpu-memory": "1536"})
        self.assertEqual(made["Job", "once"]["spec"]["backoffLimit"], 0)
        self.assertEqual(made["Job", "retried"]["spec"]["backoffLimit"], 2)

    def test_refused(self):
        for content, words in (
                ("services: {a_b: {image: i}, a-b: {image: i}}", "stdin:1:29: a_b and a-b have one name"),
                ("services: {1a: {image: i}}", "stdin:1:12: a service of Kubernetes begins"),
                ("services: {a: {image: i, volumes: ['./x:/x']}}", "absolute path"),
                ("services: {a: {imag: i}}", "stdin:1:16: unknown key 'imag'")):
            done = call(content)
            self.assertEqual((done.returncode, done.stdout), (78, ""), content)
            self.assertIn(words, done.stderr)
        self.assertEqual(call("services: {a: {image: i}}", "--project", "No").returncode, 64)

    def test_variables(self):
        """Of the environment, before those of .env beside the file."""
        with tempfile.TemporaryDirectory(prefix="cleave-compose-") as folder:
            path = os.path.join(folder, "compose.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write("services: {a: {image: 'i:${TAG}${OTHER}', environment: [THIRD]}}")
            with open(os.path.join(folder, ".env"), "w", encoding="utf-8") as file:
                file.write("# tags\nTAG='7'\nexport OTHER=8\nTHIRD=x = y\n")
            done = subprocess.run([CLEAVE, "up", "--to", "kubernetes", path], capture_output=True,
                                  env={**os.environ, "OTHER": "9"}, text=True, timeout=60, check=True)
        (made,) = yaml.safe_load_all(done.stdout)
        (container,) = made["spec"]["template"]["spec"]["containers"]
        self.assertEqual(container["image"], "i:79")
        self.assertEqual(container["env"], [{"name": "THIRD", "value": "x = y"}])


def missing(wanted, made, path=""):
    """The members that the API server has dropped, as it does with those that it does not know."""
    if isinstance(wanted, list):
        return [each for i, one in enumerate(wanted) for each in missing(one, made[i], f"{path}[{i}]")]
    if not isinstance(wanted, dict):
        return []
    found = [f"{path}.{key}" for key in wanted if key not in made]
    return found + [each for key in wanted if key in made
                    for each in missing(wanted[key], made[key], f"{path}.{key}")]


class Server(unittest.TestCase):
    # 1.20 has the autoscaler's types under another name.
    VERSIONS = {"autoscaling/v2": "autoscaling/v2beta2"}

    def test_api_server_takes_them(self):
        why = cluster.why_not()
        if why:
            self.skipTest(why)
        with tempfile.TemporaryDirectory(prefix="cleave-compose-") as folder:
            server = cluster.Cluster(folder)
            self.addCleanup(server.close)
            server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "all"}})
            n = 0
            for content in (read_reference(), EVERYTHING):
                for each in manifests(content)[0].values():
                    if "keda" in each["apiVersion"]:
                        continue
                    version = self.VERSIONS.get(each["apiVersion"], each["apiVersion"])
                    path = f"/apis/{version}" if "/" in version else f"/api/{version}"
                    plural = each["kind"].lower() + "s"
                    made = server.ask("POST", f"{path}/namespaces/all/{plural}",
                                      {**each, "apiVersion": version})
                    self.assertEqual(missing({**each, "apiVersion": version}, made), [], each)
                    n += 1
            self.assertEqual(n, 9)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
