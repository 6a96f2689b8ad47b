# SPDX-License-Identifier: Apache-2.0
"""The chart, as Helm renders it: that Kubernetes' own client accepts its objects, that they request
only the rights that are used, and that their settings exist.

usage: test_chart.py KUBELET CLEAVED CLEAVE [unittest arguments]
"""
import json
import os
import subprocess
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import yaml

import bed
import helm
from api_server import ApiServer
from bed import Bed, wait_until
from helm import containers

KINDS = {
    "v1": [("serviceaccounts", "ServiceAccount", True), ("configmaps", "ConfigMap", True)],
    "apps/v1": [("daemonsets", "DaemonSet", True)],
    "rbac.authorization.k8s.io/v1": [("clusterroles", "ClusterRole", False),
                                     ("clusterrolebindings", "ClusterRoleBinding", False)],
    "resource.k8s.io/v1": [("deviceclasses", "DeviceClass", False)],
}
# The used types of k8s.io/api: their fields, as far as they are used.
FIELDS = {
    "pod": {"serviceAccountName", "priorityClassName", "hostPID", "hostNetwork", "nodeSelector",
            "tolerations", "initContainers", "containers", "volumes"},
    "container": {"name", "image", "command", "env", "securityContext", "readinessProbe",
                  "livenessProbe", "startupProbe", "resources", "volumeMounts"},
    "securityContext": {"privileged", "allowPrivilegeEscalation", "readOnlyRootFilesystem",
                        "capabilities", "runAsNonRoot", "runAsUser", "seccompProfile"},
    "mount": {"name", "mountPath", "readOnly"},
    "toleration": {"key", "operator", "effect"},
}


class Discovery(BaseHTTPRequestHandler):
    """The answers that kubectl needs from an API server before it checks a file."""

    def log_message(self, *arguments):
        pass

    def groups(self):
        return [{"name": group.split("/")[0],
                 "versions": [{"groupVersion": group, "version": "v1"}],
                 "preferredVersion": {"groupVersion": group, "version": "v1"}}
                for group in KINDS if "/" in group]

    def resources(self, group):
        return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group,
                "resources": [{"name": name, "singularName": "", "kind": kind,
                               "namespaced": inside, "verbs": ["get", "create", "patch"]}
                              for name, kind, inside in KINDS[group]]}

    def do_GET(self):
        path = self.path.split("?")[0]
        known = {"/api": {"kind": "APIVersions", "versions": ["v1"]},
                 "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": self.groups()},
                 "/api/v1": self.resources("v1"),
                 **{f"/apis/{group}": self.resources(group) for group in KINDS if "/" in group}}
        body = json.dumps(known.get(path, {})).encode()
        self.send_response(200 if path in known else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def documents(**values):
    return helm.documents(values)


@unittest.skipIf(helm.why_not(), helm.why_not())
class Chart(unittest.TestCase):
    def test_lint(self):
        done = helm.run(["lint"], "--strict")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_each_choice(self):
        for other, kinds in (({}, 9), ({"dra": True}, 10), ({"extender": False}, 5)):
            objects = documents(**other)
            self.assertEqual(len(objects), kinds)
            inside = {kind for group in KINDS.values() for _, kind, is_in in group if is_in}
            for each in objects:
                self.assertIn(each["kind"], {kind for _, kind, _ in KINDS[each["apiVersion"]]})
                self.assertEqual("namespace" in each["metadata"], each["kind"] in inside)

    def test_fields(self):
        for each in documents(dra=True):
            if each["kind"] != "DaemonSet":
                continue
            pod = each["spec"]["template"]["spec"]
            self.assertLessEqual(set(pod), FIELDS["pod"])
            volumes = {volume["name"] for volume in pod["volumes"]} if "volumes" in pod else set()
            for container in pod.get("initContainers", []) + pod["containers"]:
                self.assertLessEqual(set(container), FIELDS["container"])
                self.assertLessEqual(set(container["securityContext"]), FIELDS["securityContext"])
                for mount in container.get("volumeMounts", []):
                    self.assertLessEqual(set(mount), FIELDS["mount"])
                    self.assertIn(mount["name"], volumes)
            for toleration in pod["tolerations"]:
                self.assertLessEqual(set(toleration), FIELDS["toleration"])
            labels = each["spec"]["template"]["metadata"]["labels"]
            self.assertEqual(each["spec"]["selector"]["matchLabels"], labels)

    def test_rights(self):
        """The rights that the programs use, each by its verb, and no others."""
        roles = {each["metadata"]["name"]: {(r, v) for rule in each["rules"]
                                            for r in rule["resources"] for v in rule["verbs"]}
                 for each in documents(dra=True) if each["kind"] == "ClusterRole"}
        self.assertEqual(roles, {
            "cleave-node": {("nodes", "get"), ("nodes", "patch"), ("resourceclaims", "get")} | {
                ("resourceslices", verb) for verb in ("list", "create", "update", "delete")},
            "cleave-extender": {("pods/binding", "create")}})
        bare = {(r, v) for each in documents() if each["metadata"]["name"] == "cleave-node" and
                each["kind"] == "ClusterRole" for rule in each["rules"]
                for r in rule["resources"] for v in rule["verbs"]}
        self.assertEqual(bare, {("nodes", "patch")})

    def test_privileges(self):
        for container in containers(documents(dra=True)):
            context = container["securityContext"]
            with self.subTest(container["name"]):
                if container["name"] == "agent":
                    self.assertTrue(context["privileged"])
                    continue
                self.assertEqual(context["capabilities"], {"drop": ["ALL"]})
                self.assertFalse(context["allowPrivilegeEscalation"])
                self.assertTrue(context["readOnlyRootFilesystem"])
                self.assertNotIn("privileged", context)

    def test_kubectl_takes_them(self):
        server = ThreadingHTTPServer(("127.0.0.1", 0), Discovery)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, args=(.05,), daemon=True).start()
        answer = subprocess.run(
            [helm.KUBECTL, "--kubeconfig=/dev/null",
             f"--server=http://127.0.0.1:{server.server_address[1]}", "apply", "--dry-run=client",
             "--validate=false", "-f", "-"], input=helm.template({"dra": True}), capture_output=True, text=True,
            timeout=60, check=False)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(answer.stdout.count("(dry run)"), 10, answer.stdout)


@unittest.skipIf(helm.why_not(), helm.why_not())
class AgentSettings(unittest.TestCase):
    """The agent finds its settings where it looks for them, and accepts them."""

    def of(self, **other):
        objects = documents(**other)
        text = next(each["data"]["cleaved.yaml"] for each in objects
                    if each["kind"] == "ConfigMap")
        return text, next(each for each in containers(objects) if each["name"] == "agent")

    def start(self, text):
        """An agent that ends when it is idle."""
        with tempfile.TemporaryDirectory(prefix="clv-") as folder:
            path = os.path.join(folder, "cleaved.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return subprocess.run(
                [bed.PROGRAMS["cleaved"], "--foreground", "--idle-exit=1", f"--config={path}",
                 f"--runtime-dir={folder}/run", f"--state-dir={folder}/state",
                 f"--lock-dir={folder}"],
                capture_output=True, text=True, timeout=60, check=False)

    def test_debts_are_a_pods(self):
        text, agent = self.of()
        self.assertEqual(yaml.safe_load(text), {"version": 1, "debts": "pod"})
        self.assertIn({"name": "settings", "mountPath": "/etc/cleave", "readOnly": True},
                      agent["volumeMounts"])
        self.assertEqual(agent["command"], ["cleaved", "--system", "--foreground"])

    def test_they_are_read(self):
        good = self.start(self.of()[0])
        self.assertEqual(good.returncode, 0, good.stderr)
        bad = self.start(self.of(debts="nobody")[0])
        self.assertNotEqual(bad.returncode, 0)
        self.assertIn("'nobody' is none of tenant, container, pod", bad.stderr)


@unittest.skipIf(helm.why_not(), helm.why_not())
class Settings(Bed):
    """The settings in the chart, except for its paths, are those that the program reads."""

    def test_they_are_read(self):
        api = ApiServer()
        self.addCleanup(api.close)
        api.nodes["node1"] = {"metadata": {"name": "node1"}}
        config = os.path.join(self.folder, "kubeconfig")
        api.kubeconfig(config)
        text = next(each["data"]["kubelet.yaml"] for each in documents(dra=True)
                    if each["kind"] == "ConfigMap")
        path = os.path.join(self.folder, "kubelet.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("dra: {modes: false}", "").replace(
                "/run/cleave-kubelet", self.folder) + "\n".join((
                "", f"kubelet: {self.kubelet.folder}", f"agent: {self.agent.api}",
                f"cdi: {self.folder}/cdi", "node: node1", f"kubeconfig: {config}")) + "\n")
        self.kubelet.start()
        self.log_path = os.path.join(self.folder, "bridge.log")
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen([bed.PROGRAMS["kubelet"], "--config", path],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.assertTrue(self.kubelet.resource("cleave.dev/gpu-share").healthy())
        self.assertTrue(wait_until(lambda: "annotations" in api.nodes["node1"]["metadata"]))


if __name__ == "__main__":
    bed.main()
