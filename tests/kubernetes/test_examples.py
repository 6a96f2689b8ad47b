# SPDX-License-Identifier: Apache-2.0
"""examples/kubernetes and the page that describes them: their objects are of the types that other projects
publish, and they request what cleave has. test_admission.py shows those of Kubernetes' types to a real
API server.

usage: test_examples.py EXTENDER [unittest arguments]
"""
import os
import re
import subprocess
import sys
import unittest

import yaml

import bed
import examples
import helm
import scheduler
from test_extender import Case

OURS = re.compile(r"cleave\.dev/gpu(-share|-memory(-\w+)?)?")
PAGE = os.path.join(bed.ROOT, "docs/kubernetes-guides.md")


def resources(value):
    """All of cleave's resources in an object, wherever they are."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key.removeprefix("requests.").startswith("cleave.dev/gpu"):
                yield key.removeprefix("requests.")
            yield from resources(each)
        name = value.get("name")
        if isinstance(name, str) and name.startswith("cleave.dev/"):
            yield name
    elif isinstance(value, list):
        for each in value:
            yield from resources(each)


class Examples(unittest.TestCase):
    def test_types_of_other_projects(self):
        seen = set()
        for name, value in examples.parts():
            self.assertIsNone(examples.fault(value, examples.TYPES[name]), name)
            seen.add(name)
        self.assertEqual(seen, set(examples.TYPES))

    def test_faults_are_found(self):
        """The check of types refuses what the API server would refuse."""
        (queue,) = [each["spec"] for each in examples.objects("volcano.yaml")
                    if each["kind"] == "Queue"]
        type_ = examples.TYPES["scheduling.volcano.sh/v1beta1 Queue"]
        for wrong, words in (({"weights": 1}, "unknown"), ({"weight": "1"}, "weight"),
                             ({"capability": {"cpu": "many"}}, "capability")):
            self.assertIn(words, examples.fault({**queue, **wrong}, type_))
        scaled = examples.TYPES["keda.sh/v1alpha1 ScaledObject"]
        self.assertIn("triggers is missing", examples.fault({"scaleTargetRef": {"name": "a"}}, scaled))
        flavor = examples.TYPES["kueue.x-k8s.io/v1beta2 ClusterQueue"]
        self.assertIn("is none of", examples.fault({"stopPolicy": "Halt"}, flavor))

    def test_resources_are_cleaves(self):
        for name in examples.files():
            found = {resource for each in examples.objects(name) for resource in resources(each)}
            self.assertIn("cleave.dev/gpu-share", found, name)
            for each in found:
                self.assertTrue(OURS.fullmatch(each), each)

    def test_metrics_are_cleaves(self):
        (scaled,) = [each for each in examples.objects("keda.yaml")
                     if each["kind"] == "ScaledObject"]
        query = scaled["spec"]["triggers"][0]["metadata"]["query"]
        with open(os.path.join(bed.ROOT, "docs/metrics.md"), encoding="utf-8") as file:
            known = set(re.findall(r"^\| `(\w+)` \|", file.read(), re.M))
        self.assertLessEqual(set(re.findall(r"cleave_\w+", query)), known)
        rule = {"groups": [{"name": "a", "rules": [{"record": "a:b", "expr": query}]}]}
        done = subprocess.run(["promtool", "check", "rules", "/dev/stdin"], input=yaml.safe_dump(rule),
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipIf(helm.why_not(), helm.why_not())
    def test_values_of_the_chart(self):
        with open(os.path.join(examples.FOLDER, "profiles.yaml"), encoding="utf-8") as file:
            objects = helm.documents(yaml.safe_load(file))
        names = {each["metadata"]["name"] for each in objects if each["kind"] == "ConfigMap"}
        self.assertEqual(names, {"cleave", "cleave-sections", "cleave-webhook",
                                 "cleave-share-profiles"})

    def test_page(self):
        """Names each file."""
        with open(PAGE, encoding="utf-8") as file:
            named = set(re.findall(r"examples/kubernetes/([\w.-]+\.yaml)", file.read()))
        self.assertEqual(named, set(os.listdir(examples.FOLDER)))


class Template(Case):
    """The node that Cluster Autoscaler would add, for the extender of the scheduler."""

    def test_a_pod_fits_on_it(self):
        (node,) = [each for each in examples.objects("autoscaler.yaml") if each["kind"] == "Node"]
        for share, fits in ((100, True), (30, True), (101, False)):
            wanted = scheduler.pod("a", [scheduler.container("c", {"cleave.dev/gpu-share": str(share)})])
            answer = self.ask("/filter", scheduler.args(wanted, [node]))
            self.assertEqual(bool(answer["Nodes"]["items"]), fits, answer)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
