# SPDX-License-Identifier: Apache-2.0
"""The chart, as Helm renders it: that Kubernetes' own client accepts its objects, that they request
only the rights that are used, and that their settings exist.

usage: test_chart.py KUBELET CLEAVED CLEAVE [unittest arguments]
"""
import json
import os
import re
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
from test_tokens import make_certificate

KINDS = {
    "v1": [("serviceaccounts", "ServiceAccount", True), ("configmaps", "ConfigMap", True),
           ("secrets", "Secret", True),
           ("services", "Service", True)],
    "monitoring.coreos.com/v1": [("servicemonitors", "ServiceMonitor", True),
                                 ("podmonitors", "PodMonitor", True)],
    "networking.k8s.io/v1": [("networkpolicies", "NetworkPolicy", True)],
    "apps/v1": [("daemonsets", "DaemonSet", True), ("deployments", "Deployment", True)],
    "cert-manager.io/v1": [("certificates", "Certificate", True)],
    "rbac.authorization.k8s.io/v1": [("clusterroles", "ClusterRole", False),
                                     ("clusterrolebindings", "ClusterRoleBinding", False)],
    "admissionregistration.k8s.io/v1": [
        ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration", False),
        ("validatingadmissionpolicies", "ValidatingAdmissionPolicy", False),
        ("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", False)],
    "resource.k8s.io/v1": [("deviceclasses", "DeviceClass", False)],
}
# The used types of k8s.io/api: their fields, as far as they are used.
FIELDS = {
    "pod": {"serviceAccountName", "priorityClassName", "hostPID", "hostNetwork", "nodeSelector",
            "affinity", "tolerations", "initContainers", "containers", "volumes",
            "automountServiceAccountToken"},
    "container": {"name", "image", "imagePullPolicy", "command", "env", "ports",
                  "securityContext", "readinessProbe", "livenessProbe", "startupProbe",
                  "resources", "volumeMounts"},
    "securityContext": {"privileged", "allowPrivilegeEscalation", "readOnlyRootFilesystem",
                        "capabilities", "runAsNonRoot", "runAsUser", "seccompProfile"},
    "mount": {"name", "mountPath", "readOnly", "mountPropagation"},
    "toleration": {"key", "operator", "effect"},
}


DRA = {"enabled": True}
METRICS = {"tlsSecret": "tls", "tokenSecret": "viewer", "serviceMonitor": True,
           "podMonitor": True}
PROFILES = {"small": {"share": 25}}
SECTIONS = {"whole": {"undivided": "whole"},
            "some": {"undivided": False, "names": "vendor", "deviceListStrategy": "plain",
                     "memoryUnit": "256M", "replicas": {"name": "cleave.dev/other", "count": 4}}}
# Without a certificate of its own the chart makes another one each time.
WEBHOOK = {"enabled": True, "tlsSecret": "tls", "caBundle": "Y2E="}
EVERYTHING = {"dra": DRA, "metrics": METRICS, "networkPolicy": {"enabled": True},
              "webhook": {"enabled": True}, "shareProfiles": PROFILES, "nodeSettings": SECTIONS}
GROUPS = ("dra", "extender", "metrics", "networkPolicy", "replicas", "resources", "webhook")


def leaves(values, prefix=""):
    """(path, value) of each value; objects that users fill in are values."""
    for key, value in values.items():
        path = prefix + key
        if isinstance(value, dict) and path in GROUPS:
            yield from leaves(value, path + ".")
        else:
            yield path, value


def another(value):
    """A value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return f"{value}/other"
    return {"other": "1"} if isinstance(value, dict) else [*value, "other"]


def merged(values, path, value):
    name, *rest = path
    return {**values, name: merged(values.get(name, {}), rest, value) if rest else value}


class Discovery(BaseHTTPRequestHandler):
    """The answers that kubectl and Helm need from an API server before they check a file, and
    objects, by their paths."""
    objects = {}

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
                 "/api/v1": self.resources("v1"), **self.objects,
                 "/version": {"major": "1", "minor": "34", "gitVersion": "v1.34.0"},
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

    def test_oldest_cluster(self):
        """Kubelets and runtimes without CDI are served too."""
        self.assertTrue(helm.documents({}, "--kube-version=1.20.2"))

    def test_each_value_is_used(self):
        """Another value changes what is rendered, and the schema knows all values."""
        with open(os.path.join(helm.CHART, "values.yaml"), encoding="utf-8") as file:
            values = yaml.safe_load(file)
        others = {"undivided": "both", "names": "vendor", "deviceListStrategy": "plain",
                  "memoryUnit": "1G", "debts": "tenant",
                  "replicas.name": "cleave.dev/other", "metrics.interval": "1m",
                  "imagePullPolicy": "Always",
                  "imagePullSecrets": [{"name": "other"}],
                  "shareProfiles": PROFILES, "nodeSettings": SECTIONS, "webhook.classes": {"high": "latency"},
                  "webhook.failurePolicy": "Fail",
                  "webhook.deviceMemory": "80Gi", "webhook.largestDeviceMemory": "96Gi"}
        others |= {"dra.apiVersion": "v1beta1", "dra.classes": [{"name": "whole", "type": "gpu"}]}
        bases = {"dra.modes": {"dra": DRA}, "dra.apiVersion": {"dra": DRA},
                 "dra.classes": {"dra": DRA}, "networkPolicy.from": {
            "metrics": METRICS, "networkPolicy": {"enabled": True}},
            **{f"metrics.{name}": {"metrics": METRICS}
               for name in ("port", "interval", "labels", "tlsConfig")},
            "metrics.tokenSecret": {"metrics": {"tlsSecret": "tls"}},
            **{f"metrics.{name}": {"metrics": {"tlsSecret": "tls", "tokenSecret": "viewer"}}
               for name in ("serviceMonitor", "podMonitor")},
            "webhook.enabled": {"webhook": {**WEBHOOK, "enabled": False}},
            "webhook.classes": {"webhook": WEBHOOK, "podClasses": True},
            "webhook": {"webhook": WEBHOOK}, "shareProfiles": {"webhook": WEBHOOK}}
        before = helm.template({})
        for path, value in leaves(values):
            with self.subTest(path):
                changed = others.get(path, another(value))
                base = bases.get(path, bases.get(path.split(".")[0], {}))
                after = helm.template(merged(base, path.split("."), changed))
                self.assertTrue(after != (helm.template(base) if base else before), "no change")

    def test_refused(self):
        for values, words in (({"undivided": "half"}, "/undivided"), ({"dra": True}, "/dra"),
                              ({"memoryUnit": "1K"}, "/memoryUnit"), ({"unknown": 1}, "unknown"),
                              ({"replicas": {"count": 1}}, "/replicas/count"),
                              ({"metrics": {"podMonitor": True}}, "tlsSecret and tokenSecret"),
                              ({"shareProfiles": {"a/b": {"share": 1}}}, "'a/b'"),
                              ({"shareProfiles": {"a": {"share": 101}}}, "/shareProfiles/a/share"),
                              ({"shareProfiles": {"a": {}}}, "/shareProfiles/a"),
                              ({"webhook": {"enabled": True, "tlsSecret": "a"}}, "caBundle"),
                              ({"webhook": {**WEBHOOK, "classes": {"high": "latency"}}},
                               "podClasses"),
                              ({"nodeSettings": {"a": {"kubelet": "/x"}}}, "/nodeSettings/a"),
                              ({"nodeSettings": {"a": {"undivided": "half"}}},
                               "/nodeSettings/a/undivided"),
                              ({"kubeletFolder": "var"}, "/kubeletFolder")):
            done = helm.run(["template", "cleave"], values=values)
            self.assertNotEqual(done.returncode, 0, values)
            self.assertIn(words, done.stderr)

    def test_certificate_of_the_webhook(self):
        """Made by the chart, of a Secret, or of cert-manager: the server has that of the authority
        which the API server is told, for the name by which it calls."""
        name = f"cleave-webhook.{helm.NAMESPACE}.svc"
        for values, kind in (({}, "Secret"), (WEBHOOK, None),
                             ({"issuerRef": {"name": "ca", "kind": "Issuer"}}, "Certificate")):
            objects = documents(webhook={"enabled": True, **values})
            made = [each for each in objects if each["kind"] in ("Secret", "Certificate")]
            self.assertEqual([each["kind"] for each in made], [kind] if kind else [])
            (configuration,) = [each for each in objects
                                if each["kind"] == "MutatingWebhookConfiguration"]
            bundle = configuration["webhooks"][0]["clientConfig"].get("caBundle")
            pod = next(each for each in objects
                       if each["kind"] == "Deployment")["spec"]["template"]["spec"]
            (mounted,) = [each["secret"]["secretName"] for each in pod["volumes"]
                          if each["name"] == "tls"]
            self.assertEqual(mounted, values.get("tlsSecret", "cleave-webhook"))
            if kind == "Secret":
                self.assertEqual(bundle, made[0]["data"]["ca.crt"])
            elif kind == "Certificate":
                self.assertEqual(made[0]["spec"]["dnsNames"], [name])
                self.assertEqual(made[0]["spec"]["secretName"], mounted)
                self.assertEqual(configuration["metadata"]["annotations"], {
                    "cert-manager.io/inject-ca-from": f"{helm.NAMESPACE}/cleave-webhook"})
                self.assertIsNone(bundle)
            else:
                self.assertEqual(bundle, values["caBundle"])

    def test_unit_of_memory(self):
        """Without a value each node chooses it by its size."""
        for values, line in (({}, None), ({"memoryUnit": ""}, None), ({"memoryUnit": "1G"}, "1G")):
            (settings,) = [d for d in helm.documents(values) if d["kind"] == "ConfigMap"
                           and "kubelet.yaml" in d["data"]]
            self.assertEqual(yaml.safe_load(settings["data"]["kubelet.yaml"]).get("memory-unit"),
                             line)

    def test_scheduler_manages_each_resource_of_memory(self):
        path = os.path.join(bed.ROOT, "packaging/kubernetes/scheduler.yaml")
        with open(path, encoding="utf-8") as file:
            names = {r["name"] for r in yaml.safe_load(file)["extenders"][0]["managedResources"]}
        self.assertLessEqual({"cleave.dev/gpu-memory", "cleave.dev/gpu-memory-256mi",
                              "cleave.dev/gpu-memory-1gi"}, names)

    def test_oldest_cluster(self):
        for version, will_do in (("1.20.2", True), ("1.19.0", False)):
            done = helm.run(["template", "cleave"], f"--kube-version={version}")
            self.assertEqual(done.returncode == 0, will_do, done.stderr)

    def test_nodes_with_gpus(self):
        def pod(**values):
            return next(each for each in documents(**values)
                        if each["metadata"]["name"] == "cleave-node" and
                        each["kind"] == "DaemonSet")["spec"]["template"]["spec"]

        (rule,) = pod()["affinity"]["nodeAffinity"].values()
        labels = {each["key"] for term in rule["nodeSelectorTerms"]
                  for each in term["matchExpressions"]}
        self.assertLessEqual({"cleave.dev/node", "nvidia.com/gpu.present"}, labels)
        own = {"podAffinity": {}}
        self.assertEqual(pod(affinity=own)["affinity"], own)
        self.assertNotIn("affinity", pod(gpuLabels=[]))

    def test_metrics_are_reached(self):
        """Service, monitors and network policy select the pods of the nodes, and name the port on
        which the agent listens."""
        values = {"metrics": {**METRICS, "port": 7799, "interval": "7s", "labels": {"for": "prom"}},
                  "networkPolicy": {"enabled": True, "from": [{"podSelector": {}}]}}
        objects = documents(**values)
        of = {kind: next(each for each in objects if each["kind"] == kind)
              for kind in ("Service", "ServiceMonitor", "PodMonitor", "NetworkPolicy")}
        pod = next(each for each in objects if each["kind"] == "DaemonSet" and
                   each["metadata"]["name"] == "cleave-node")["spec"]["template"]
        agent = next(each for each in pod["spec"]["containers"] if each["name"] == "agent")
        (port,) = agent["ports"]
        settings = yaml.safe_load(next(each["data"]["cleaved.yaml"] for each in objects
                                       if each["kind"] == "ConfigMap"))
        self.assertEqual((port["containerPort"], settings["listen"]["port"]), (7799, 7799))

        def selects(selector, labels):
            return bool(selector) and selector.items() <= labels.items()
        labels = pod["metadata"]["labels"]
        self.assertTrue(selects(of["Service"]["spec"]["selector"], labels))
        self.assertEqual([each["targetPort"] for each in of["Service"]["spec"]["ports"]],
                         [port["name"]])
        for kind, target, endpoints in (
                ("ServiceMonitor", of["Service"]["metadata"]["labels"], "endpoints"),
                ("PodMonitor", labels, "podMetricsEndpoints")):
            spec = of[kind]["spec"]
            self.assertTrue(selects(spec["selector"]["matchLabels"], target), kind)
            (endpoint,) = spec[endpoints]
            self.assertEqual((endpoint["port"], endpoint["interval"]), (port["name"], "7s"))
            self.assertEqual(endpoint["authorization"]["credentials"]["name"], "viewer")
            self.assertEqual(endpoint["relabelings"], [
                {"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "instance"}])
            self.assertEqual(of[kind]["metadata"]["labels"], {"for": "prom"})
        policy = of["NetworkPolicy"]["spec"]
        self.assertTrue(selects(policy["podSelector"]["matchLabels"], labels))
        (rule,) = policy["ingress"]
        self.assertEqual([each["port"] for each in rule["ports"]], [7799])
        self.assertEqual(rule["from"], [{"podSelector": {}}])
        closed = next(each for each in documents(networkPolicy={"enabled": True})
                      if each["kind"] == "NetworkPolicy")["spec"]
        self.assertEqual((closed["policyTypes"], closed.get("ingress")), (["Ingress"], None))

    def test_priority_classes(self):
        values = {"priorityClassName": "high", "extender": {"priorityClassName": "higher"}}
        self.assertEqual({each["metadata"]["name"]: each["spec"]["template"]["spec"].get(
            "priorityClassName") for each in documents(**values) if each["kind"] == "DaemonSet"},
            {"cleave-node": "high", "cleave-extender": "higher"})

    def test_each_choice(self):
        for other, kinds in (({}, 11), ({"dra": DRA}, 16), ({"extender": {"enabled": False}}, 7),
                             ({"webhook": {"enabled": True}}, 17),
                             ({"webhook": WEBHOOK}, 16),
                             ({"webhook": {"enabled": True, "issuerRef": {"name": "ca"}}}, 17),
                             ({"nodeSettings": SECTIONS}, 12),
                             (EVERYTHING, 27)):
            objects = documents(**other)
            self.assertEqual(len(objects), kinds)
            inside = {kind for group in KINDS.values() for _, kind, is_in in group if is_in}
            for each in objects:
                self.assertIn(each["kind"], {kind for _, kind, _ in KINDS[each["apiVersion"]]})
                self.assertEqual("namespace" in each["metadata"], each["kind"] in inside)

    def test_fields(self):
        for each in documents(**EVERYTHING):
            if each["kind"] not in ("DaemonSet", "Deployment"):
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
            for toleration in pod.get("tolerations", []):
                self.assertLessEqual(set(toleration), FIELDS["toleration"])
            labels = each["spec"]["template"]["metadata"]["labels"]
            self.assertEqual(each["spec"]["selector"]["matchLabels"], labels)

    def test_rights(self):
        """The rights that the programs use, each by its verb, and no others."""
        roles = {each["metadata"]["name"]: {(r, v) for rule in each["rules"]
                                            for r in rule["resources"] for v in rule["verbs"]}
                 for each in documents(dra=DRA) if each["kind"] == "ClusterRole"}
        self.assertEqual(roles, {
            "cleave-node": {("nodes", "get"), ("nodes", "patch"), ("resourceclaims", "get"),
                            ("resourceclaims/status", "update"),
                            ("resourceclaims/driver", "associated-node:update")} | {
                ("resourceslices", verb) for verb in ("list", "create", "update", "delete")},
            "cleave-extender": {("pods/binding", "create")} | {
                (what, verb) for what in ("nodes", "pods") for verb in ("list", "watch")}})
        bare = {(r, v) for each in documents() if each["metadata"]["name"] == "cleave-node" and
                each["kind"] == "ClusterRole" for rule in each["rules"]
                for r in rule["resources"] for v in rule["verbs"]}
        self.assertEqual(bare, {("nodes", "get"), ("nodes", "patch")})
        (pods,) = [rule for each in documents(podClasses=True)
                   if each["metadata"]["name"] == "cleave-node" and each["kind"] == "ClusterRole"
                   for rule in each["rules"] if rule["resources"] == ["pods"]]
        self.assertEqual(pods["verbs"], ["get"])

    def test_own_node(self):
        """Where tokens tell their node, each change that the role allows is checked."""
        objects = documents(dra=DRA)
        policies = {each["metadata"]["name"]: each["spec"] for each in objects
                    if each["kind"] == "ValidatingAdmissionPolicy"}
        bound = {each["spec"]["policyName"] for each in objects
                 if each["kind"] == "ValidatingAdmissionPolicyBinding"
                 and each["spec"]["validationActions"] == ["Deny"]}
        self.assertEqual(bound, set(policies))
        verbs = {"CREATE": {"create"}, "UPDATE": {"update", "patch"}, "DELETE": {"delete"}}
        checked = {(resource, verb) for spec in policies.values()
                   for rule in spec["matchConstraints"]["resourceRules"]
                   for resource in rule["resources"] for operation in rule["operations"]
                   for verb in verbs[operation]}
        (role,) = (each for each in objects if each["metadata"]["name"] == "cleave-node" and
                   each["kind"] == "ClusterRole")
        for rule in role["rules"]:
            # The API server checks the node of this one itself.
            for verb in set(rule["verbs"]) - {"get", "list", "associated-node:update"}:
                self.assertIn((rule["resources"][0], verb), checked)
        for spec in policies.values():
            (condition,) = spec["matchConditions"]
            self.assertIn(f'"system:serviceaccount:{helm.NAMESPACE}:cleave-node"',
                          condition["expression"])
        # By an owner that does not exist the garbage collector would delete the node.
        said = json.dumps(policies["cleave-node-annotation"])
        for part in ("spec", "metadata.labels", "metadata.finalizers", "metadata.ownerReferences"):
            self.assertIn(f"object.{part}", said)
            self.assertIn(f"oldObject.{part}", said)
        said = json.dumps(policies["cleave-node-claims"])
        for part in ("allocation", "reservedFor", "devices"):
            self.assertIn(f"object.status.{part}", said)
            self.assertIn(f"oldObject.status.{part}", said)
        older = helm.documents({}, "--kube-version=1.29.0")
        self.assertFalse({each["kind"] for each in older} &
                         {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"})

    def classes(self, version, *classes, **dra):
        """(the API's version, the spec) of each DeviceClass, by its name."""
        objects = helm.documents({"dra": {**DRA, "classes": list(classes), **dra}},
                                 f"--kube-version={version}")
        settings = next(each["data"]["kubelet.yaml"] for each in objects
                        if each["kind"] == "ConfigMap")
        found = {each["metadata"]["name"]: (each["apiVersion"], each["spec"])
                 for each in objects if each["kind"] == "DeviceClass"}
        self.assertEqual({api for api, _ in found.values()}, {
            f"resource.k8s.io/{yaml.safe_load(settings)['dra']['version']}"})
        return found

    def test_classes(self):
        """Of the version that the cluster has, with the fields that it knows."""
        mig = {"name": "mig.cleave.dev", "type": "mig", "profile": "1g.10gb",
               "extendedResourceName": "nvidia.com/mig-1g.10gb"}
        whole = {"name": "whole", "type": "gpu"}
        for version, api, name in (("1.36.0", "v1", True), ("1.34.2", "v1", True),
                                   ("1.33.1", "v1beta2", False), ("1.32.0", "v1beta1", False)):
            found = self.classes(version, mig, whole)
            self.assertEqual(set(found), {"gpu.cleave.dev", "mig.cleave.dev", "whole"})
            self.assertEqual(found["whole"][0], f"resource.k8s.io/{api}")
            self.assertEqual("extendedResourceName" in found["mig.cleave.dev"][1], name)
            for _, spec in found.values():
                self.assertLessEqual(set(spec), {"selectors", "extendedResourceName"})
                (selector,) = spec["selectors"]
                self.assertIn('device.driver == "gpu.cleave.dev"', selector["cel"]["expression"])
        (selector,) = found["mig.cleave.dev"][1]["selectors"]
        for part in ('.type == "mig"', '.profile == "1g.10gb"', "has("):
            self.assertIn(part, selector["cel"]["expression"])
        (selector,) = found["whole"][1]["selectors"]
        self.assertNotIn("profile", selector["cel"]["expression"])
        self.assertEqual(self.classes("1.34.0", apiVersion="v1beta1")["gpu.cleave.dev"][0],
                         "resource.k8s.io/v1beta1")

    def test_classes_that_are_refused(self):
        for wrong, words in (({"name": "A", "type": "gpu"}, "/name"), ({"name": "a"}, "type"),
                             ({"name": "a", "type": "share"}, "/type"),
                             ({"name": "a", "type": "gpu", "extendedResourceName": "gpu"},
                              "/extendedResourceName"),
                             ({"name": "a", "type": "gpu",
                               "extendedResourceName": "x.kubernetes.io/gpu"},
                              "/extendedResourceName")):
            done = helm.run(["template", "cleave"], values={"dra": {**DRA, "classes": [wrong]}})
            self.assertNotEqual(done.returncode, 0, wrong)
            self.assertIn(words, done.stderr)
        done = helm.run(["template", "cleave"], "--kube-version=1.31.0", values={"dra": DRA})
        self.assertIn("1.32 or later", done.stderr)

    def test_privileges(self):
        for container in containers(documents(dra=DRA, webhook=WEBHOOK)):
            context = container["securityContext"]
            with self.subTest(container["name"]):
                if container["name"] == "agent":
                    self.assertTrue(context["privileged"])
                    continue
                self.assertEqual(context["capabilities"], {"drop": ["ALL"]})
                self.assertFalse(context["allowPrivilegeEscalation"])
                self.assertTrue(context["readOnlyRootFilesystem"])
                self.assertEqual(context["seccompProfile"], {"type": "RuntimeDefault"})
                self.assertNotIn("privileged", context)

    def serve(self, **objects):
        """The address of an API server."""
        handler = type("Handler", (Discovery,), {"objects": objects})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, args=(.05,), daemon=True).start()
        return f"http://127.0.0.1:{server.server_address[1]}"

    def test_upgrade_keeps_the_certificate(self):
        """And makes another one where the Secret was deleted."""
        def rendered(server):
            made = helm.documents({"webhook": {"enabled": True}}, "--dry-run=server",
                                  "--disable-openapi-validation",
                                  "--kubeconfig=/dev/null", f"--kube-apiserver={server}")
            return [each for each in made if each["kind"] in (
                "Secret", "MutatingWebhookConfiguration")]
        first, configuration = rendered(self.serve())
        path = f"/api/v1/namespaces/{helm.NAMESPACE}/secrets/cleave-webhook"
        stored = {**first, "metadata": {
            **first["metadata"], "labels": {"app.kubernetes.io/managed-by": "Helm"},
            "annotations": {"meta.helm.sh/release-name": "cleave",
                            "meta.helm.sh/release-namespace": helm.NAMESPACE}}}
        self.assertEqual(rendered(self.serve(**{path: stored})), [first, configuration])
        self.assertNotEqual(rendered(self.serve())[0]["data"], first["data"])

    def test_kubectl_takes_them(self):
        server = self.serve()
        answer = subprocess.run(
            [helm.KUBECTL, "--kubeconfig=/dev/null",
             f"--server={server}", "apply", "--dry-run=client",
             "--validate=false", "-f", "-"], input=helm.template(EVERYTHING), capture_output=True, text=True,
            timeout=60, check=False)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(answer.stdout.count("(dry run)"), 27, answer.stdout)


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

    def test_metrics(self):
        """With its secrets the agent takes the settings."""
        text = self.of(metrics=METRICS)[0]
        with tempfile.TemporaryDirectory(prefix="clv-") as folder:
            certificate, key = make_certificate(folder, "tls")
            token, path = (os.path.join(folder, name) for name in ("viewer", "cleaved.yaml"))
            with open(token, "w", encoding="utf-8") as file:
                os.chmod(token, 0o400)
                file.write("clv_viewer_" + 32 * "a")
            for name, here in (("/etc/cleave-tls/tls.crt", certificate),
                               ("/etc/cleave-tls/tls.key", key),
                               ("/etc/cleave-viewer/token", token)):
                self.assertIn(name, text)
                text = text.replace(name, here)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            done = subprocess.run([bed.PROGRAMS["cleaved"], "--check", f"--config={path}"],
                                  capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_they_are_read(self):
        good = self.start(self.of()[0])
        self.assertEqual(good.returncode, 0, good.stderr)
        bad = self.start(self.of()[0].replace("debts: pod", "debts: nobody"))
        self.assertNotEqual(bad.returncode, 0)
        self.assertIn("'nobody' is none of tenant, container, pod", bad.stderr)


@unittest.skipIf(helm.why_not(), helm.why_not())
class Settings(Bed):
    """The settings in the chart, except for its paths, are those that the program reads."""

    def serve(self, values, labels=None):
        """Starts cleave-kubelet with the chart's settings; returns once the node is announced."""
        api = ApiServer()
        self.addCleanup(api.close)
        api.nodes["node1"] = {"metadata": {"name": "node1", "labels": labels or {}}}
        config = os.path.join(self.folder, "kubeconfig")
        api.kubeconfig(config)
        text = next(each["data"]["kubelet.yaml"] for each in helm.documents(values)
                    if each["kind"] == "ConfigMap")
        for name in ("/run/cleave-kubelet", "/var/run/cdi", "/var/lib/cleave-labels"):
            text = text.replace(name, self.folder)
        text = text.replace("/etc/cleave-sections", f"{self.folder}/sections")
        path = os.path.join(self.folder, "kubelet.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(re.sub("dra: .*", "", text) + "\n".join((
                "", f"agent: {self.agent.api}", "node: node1", f"kubeconfig: {config}")) + "\n")
        if not self.process:
            self.kubelet.start()
        self.log_path = os.path.join(self.folder, "bridge.log")
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen([bed.PROGRAMS["kubelet"], "--config", path],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.assertTrue(wait_until(lambda: "annotations" in api.nodes["node1"]["metadata"]),
                        self.log())

    def test_they_are_read(self):
        self.serve({"kubeletFolder": self.kubelet.folder, "dra": DRA, "labelsFolder": "/labels"})
        self.assertTrue(self.kubelet.resource("cleave.dev/gpu-share").healthy())

    def sections(self, **values):
        """Written as they are mounted."""
        folder = os.path.join(self.folder, "sections")
        os.mkdir(folder)
        for name, text in next(each["data"] for each in helm.documents(values)
                               if each["metadata"]["name"] == "cleave-sections").items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)

    def test_sections(self):
        """Each key of a section is read, and the node's label chooses one."""
        values = {"kubeletFolder": self.kubelet.folder, "nodeSettings": SECTIONS}
        self.sections(**values)
        self.serve(values, {"cleave.dev/config": "whole"})
        self.assertTrue(self.kubelet.resource("cleave.dev/gpu").healthy())
        self.stop_bridge()
        with self.kubelet.lock:
            self.kubelet.registered = {}
        self.serve(values, {"cleave.dev/config": "some"})
        self.assertIn("the section some", self.log())
        self.assertEqual(self.kubelet.registered, {})

    def test_replicas(self):
        self.serve({"undivided": "replicas", "kubeletFolder": self.kubelet.folder,
                    "replicas": {"name": "cleave.dev/third", "count": 3}})
        plugin = self.kubelet.resource("cleave.dev/third")
        self.assertEqual(len(plugin.healthy()), 3 * len(self.devices()))
        self.kubelet.admit("p", {"c": {"cleave.dev/third": 1}})
        (lease,) = self.leases().values()
        self.assertAlmostEqual(lease["share"], 1 / 3, places=4)

    def test_off(self):
        """YAML 1.1 reads `off` as false, in a file of values too."""
        self.serve(f"undivided: off\nkubeletFolder: {self.kubelet.folder}")
        self.assertEqual(self.kubelet.registered, {})

    def test_memory_unit(self):
        self.serve({"undivided": "memory", "memoryUnit": "1G", "kubeletFolder": self.kubelet.folder})
        self.assertTrue(self.kubelet.resource("cleave.dev/gpu-memory-1gi").healthy())


if __name__ == "__main__":
    bed.main()
