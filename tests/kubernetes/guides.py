# SPDX-License-Identifier: Apache-2.0
"""What tests of the guides for other projects' programs have in common: a variable names the folder of
the program and of its definitions (crd, as in its sources), and objects are created by their types.
CLEAVE_KUBERNETES must name a version of Kubernetes that the program works with."""
import glob
import json
import os
import urllib.error

import yaml

import cluster
import test_scheduler
from bed import wait_until

TEAM = "team-a"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
MERGE = "application/merge-patch+json"


def plural(kind):
    return kind.lower() + "s"


class GuideCase(test_scheduler.Case):
    variable = ""  # of the folder
    programs = ()  # that are in it

    def setUp(self):
        self.programs_folder = os.environ.get(self.variable, "")
        for name in self.programs:
            if not os.path.exists(self.program(name)):
                self.skipTest(f"{self.variable} names no folder with {name}")
        super().setUp()
        self.define()
        self.cluster.ask("POST", "/api/v1/namespaces", {"metadata": {"name": TEAM}})

    def program(self, name):
        return os.path.join(os.path.realpath(self.programs_folder), name)

    # --- Its definitions ---

    def define(self):
        definitions = []
        for path in sorted(glob.glob(os.path.join(self.programs_folder, "crd", "*.yaml"))):
            with open(path, encoding="utf-8") as file:
                definitions += [each for each in yaml.safe_load_all(file) if each]
        for each in definitions:
            self.create(each)
        wanted = {(each["spec"]["group"], version["name"], each["spec"]["names"]["plural"])
                  for each in definitions for version in each["spec"]["versions"]
                  if version["served"]}
        self.assertTrue(wait_until(lambda: wanted <= self.discovered(), 60))
        for group, version in {each[:2] for each in wanted}:
            self.assertTrue(wait_until(lambda g=group, v=version: self.is_served(g, v), 60))

    def discovered(self):
        """(group, version, plural) of all types, as clients are told that ask for all groups."""
        return {(group["metadata"]["name"], version["version"], each["resource"])
                for group in self.cluster.ask("GET", "/apis", kind=AGGREGATED)["items"]
                for version in group["versions"] for each in version["resources"]}

    def is_served(self, group, version):
        """For clients that ask for one group."""
        try:
            return self.cluster.ask("GET", f"/apis/{group}/{version}")["resources"]
        except urllib.error.HTTPError:
            return False

    # --- Objects ---

    def path(self, version, kind, namespace=None, name=None):
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        parts = [*(["namespaces", namespace] if namespace else []), plural(kind),
                 *([name] if name else [])]
        return "/".join([base, *parts])

    def create(self, thing, name=None):
        """name: instead of its own."""
        metadata = dict(thing["metadata"], **({"name": name} if name else {}))
        return self.cluster.ask("POST", self.path(thing["apiVersion"], thing["kind"],
                                                  metadata.get("namespace")),
                                {**thing, "metadata": metadata})

    def listed(self, version, kind, namespace=TEAM):
        return self.cluster.ask("GET", self.path(version, kind, namespace))["items"]

    def pods(self, namespace=TEAM):
        return self.listed("v1", "Pod", namespace)

    def nodes_of_pods(self):
        """Of all that have one."""
        return sorted(pod["spec"]["nodeName"] for pod in self.pods()
                      if "nodeName" in pod["spec"])

    def events(self, namespace=TEAM):
        """[(name of its object, message)]"""
        return [(each["involvedObject"]["name"], each.get("message", ""))
                for each in self.listed("v1", "Event", namespace)]

    def label(self, node, **labels):
        self.cluster.ask("PATCH", self.path("v1", "Node", name=node),
                         {"metadata": {"labels": labels}}, MERGE)

    # --- Programs ---

    def start_controllers(self, *names, more=()):
        self.cluster.start("kube-controller-manager", [
            os.path.join(cluster.BIN, "kube-controller-manager"), "--leader-elect=false",
            f"--kubeconfig={self.cluster.kubeconfig()}", "--secure-port=0",
            "--controllers=" + ",".join(names), *more])

    def write(self, name, content):
        """A file for a program, of an object or a text; returns its path."""
        path = self.cluster.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def said(self, *names):
        """The ends of the logs of programs, for a failed test."""
        return "\n".join(self.cluster.log(name) for name in names)
