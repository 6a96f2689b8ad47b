#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The chart's ValidatingAdmissionPolicies, evaluated: what a pod of one node may change, and what it
may not.

usage: test_policies.py [unittest arguments]
"""
import copy
import json
import os
import shutil
import subprocess
import unittest

import helm

CEL = os.path.join(os.path.dirname(helm.CACHE), "cel-0.6.1")
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "policies.mjs")
USER = f"system:serviceaccount:{helm.NAMESPACE}:cleave-node"
NODE_KEY = "authentication.kubernetes.io/node-name"
DRIVER = "gpu.cleave.dev"
POLICIES = ("cleave-node-annotation", "cleave-node-slices", "cleave-node-claims")
NODE = {"metadata": {"name": "node1", "labels": {"a": "b"}, "annotations": {"other": "1"},
                     "ownerReferences": [{"uid": "u"}]}, "spec": {"podCIDR": "10.0.0.0/24"}}
SLICE = {"metadata": {"name": "s"}, "spec": {"nodeName": "node1", "driver": DRIVER}}
OTHERS = {"driver": "net.example", "pool": "node1", "device": "nic0"}
CLAIM = {"metadata": {"name": "c"}, "status": {
    "allocation": {"devices": {"results": [{"driver": DRIVER, "pool": "node1", "device": "gpu0"}]}},
    "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}], "devices": [OTHERS]}}


def why_not():
    if helm.why_not():
        return helm.why_not()
    if not shutil.which("node") or not os.path.exists(CEL):
        return "there is no evaluator of CEL: ./dev deps fetches it"
    return None


def changed(thing, path, value):
    """A copy in which a member, by its path, has this value; None: it is missing."""
    made = copy.deepcopy(thing)
    *parents, last = path.split("|")
    at = made
    for parent in parents:
        at = at.setdefault(parent, {})
    if value is None:
        at.pop(last, None)
    else:
        at[last] = value
    return made


def request(old, new, operation="UPDATE", user=USER, node="node1"):
    extra = {"extra": {NODE_KEY: [node]}} if node else {}
    return {"request": {"operation": operation, "userInfo": {"username": user, **extra}},
            "object": new, "oldObject": old}


OURS = {"driver": DRIVER, "pool": "node1", "device": "gpu0", "conditions": []}
# (policy, request, a part of the reason; "": it is allowed; None: the policy does not match)
ANNOTATION, SLICES, CLAIMS = POLICIES
ROWS = (
    (ANNOTATION, request(NODE, changed(NODE, "metadata|annotations|cleave.dev/devices", "[]")), ""),
    (ANNOTATION, request(NODE, changed(NODE, "metadata|annotations|cleave.dev/freed", "1")), ""),
    (ANNOTATION, request(changed(NODE, "metadata|annotations", None), changed(
        NODE, "metadata|annotations", {"cleave.dev/devices": "[]"})), ""),
    (ANNOTATION, request(NODE, changed(NODE, "metadata|annotations|cleave.dev/devices", "[]"),
                         node="node2"), "its own node only"),
    (ANNOTATION, request(NODE, changed(NODE, "metadata|annotations|cleave.dev/devices", "[]"),
                         node=""), "its own node only"),
    (ANNOTATION, request(NODE, changed(NODE, "metadata|annotations|cleave.dev/devices", "[]"),
                         user="admin", node=""), None),
    (ANNOTATION, request(NODE, changed(NODE, "metadata|annotations|new", "1")), "the annotation"),
    (ANNOTATION, request(NODE, changed(NODE, "metadata|annotations|other", "2")), "the annotation"),
    (ANNOTATION, request(NODE, changed(NODE, "metadata|annotations|other", None)), "the annotation"),
    (ANNOTATION, request(NODE, changed(NODE, "metadata|labels|cleave.dev/freed", "1")), ""),
    (ANNOTATION, request(changed(NODE, "metadata|labels", None), changed(
        NODE, "metadata|labels", {"cleave.dev/freed": "1"})), ""),
    (ANNOTATION, request(NODE, changed(NODE, "metadata|labels|cleave.dev/devices", "1")),
     "the annotation"),
    (ANNOTATION, request(NODE, changed(NODE, "metadata|labels|a", "c")), "the annotation"),
    (ANNOTATION, request(NODE, changed(NODE, "metadata|labels|a", None)), "the annotation"),
    (ANNOTATION, request(NODE, changed(NODE, "metadata|ownerReferences", None)), "the annotation"),
    (ANNOTATION, request(NODE, changed(NODE, "metadata|finalizers", ["f"])), "the annotation"),
    (ANNOTATION, request(NODE, changed(NODE, "spec|unschedulable", True)), "the annotation"),
    (SLICES, request(None, SLICE, "CREATE"), ""),
    (SLICES, request(SLICE, SLICE), ""),
    (SLICES, request(SLICE, None, "DELETE"), ""),
    (SLICES, request(None, SLICE, "CREATE", node="node2"), "its own node only"),
    (SLICES, request(SLICE, None, "DELETE", node="node2"), "its own node only"),
    (SLICES, request(SLICE, None, "DELETE", node=""), "its own node only"),
    (SLICES, request(None, changed(SLICE, "spec|driver", "net.example"), "CREATE"), "its own node"),
    (SLICES, request(changed(SLICE, "spec|nodeName", "node2"), None, "DELETE"), "its own node"),
    (SLICES, request(changed(SLICE, "spec|nodeName", None), SLICE), "its own node only"),
    (SLICES, request(None, SLICE, "CREATE", user="admin", node=""), None),
    (CLAIMS, request(CLAIM, changed(CLAIM, "status|devices", [OTHERS, OURS])), ""),
    (CLAIMS, request(changed(CLAIM, "status|devices", [OURS]),
                     changed(CLAIM, "status|devices", None)), ""),
    (CLAIMS, request(CLAIM, changed(CLAIM, "status|devices", [OURS])), "the devices of its own node"),
    (CLAIMS, request(CLAIM, changed(CLAIM, "status|devices", [OTHERS, {**OURS, "pool": "node2"}])),
     "the devices of its own node"),
    (CLAIMS, request(CLAIM, CLAIM, node=""), "the devices of its own node"),
    (CLAIMS, request(CLAIM, changed(CLAIM, "status|allocation|devices", {})), "no allocation"),
    (CLAIMS, request(CLAIM, changed(CLAIM, "status|allocation", None)), "no allocation"),
    (CLAIMS, request(CLAIM, changed(CLAIM, "status|reservedFor", None)), "no allocation"),
    (CLAIMS, request(CLAIM, CLAIM, user="admin", node=""), None),
)


@unittest.skipIf(why_not(), why_not())
class Policies(unittest.TestCase):
    def test_rows(self):
        policies = [each for each in helm.documents({"dra": {"enabled": True}},
                                                    "--kube-version=1.34.0")
                    if each["kind"] == "ValidatingAdmissionPolicy"]
        self.assertEqual({each["metadata"]["name"] for each in policies}, set(POLICIES))
        for name in POLICIES:
            mine = [row for row in ROWS if row[0] == name]
            done = subprocess.run(
                ["node", SCRIPT, CEL], capture_output=True, text=True, timeout=60, check=False,
                input=json.dumps({"requests": [asked for _, asked, _ in mine], "policies": [
                    each for each in policies if each["metadata"]["name"] == name]}))
            self.assertEqual(done.returncode, 0, done.stderr)
            for number, ((_, _, reason), said) in enumerate(zip(mine, json.loads(done.stdout))):
                with self.subTest(policy=name, row=number):
                    self.check(said, name, reason)

    def check(self, said, name, reason):
        if reason is None:
            self.assertEqual(said, {})
        elif reason == "":
            self.assertIsNone(said[name])
        else:
            self.assertIn(reason, said[name])
            self.assertFalse(said[name].startswith("error"), said)


if __name__ == "__main__":
    unittest.main()
