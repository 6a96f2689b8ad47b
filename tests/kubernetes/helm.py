# SPDX-License-Identifier: Apache-2.0
"""Helm and kubectl, which `./dev deps` fetches, and what they make of the chart."""
import json
import os
import subprocess

import yaml

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
CHART = os.path.join(TREE, "packaging/kubernetes/chart")
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                     "cleave/kubectl-v35")
HELM, KUBECTL = os.path.join(CACHE, "helm/helm"), os.path.join(CACHE, "kubectl/kubectl")
NAMESPACE = "cleave-system"


def why_not():
    """Why there is no Helm here; None: there is."""
    return None if os.path.exists(HELM) else "Helm and kubectl are missing: ./dev deps fetches them"


def run(verb, *arguments, values=None):
    """values: an object, or the text of a file of values."""
    text = values if isinstance(values, str) else json.dumps(values or {})
    return subprocess.run([HELM, *verb, CHART, f"--namespace={NAMESPACE}", "--values=-",
                           *arguments], input=text, capture_output=True, text=True, timeout=60,
                          check=False)


def template(values=None, *arguments):
    done = run(["template", "cleave"], *arguments, values=values)
    assert done.returncode == 0, done.stderr
    return done.stdout


def documents(values=None, *arguments):
    return [each for each in yaml.safe_load_all(template(values, *arguments)) if each]


def containers(objects):
    for each in objects:
        if each["kind"] in ("DaemonSet", "Deployment"):
            pod = each["spec"]["template"]["spec"]
            yield from pod.get("initContainers", [])
            yield from pod["containers"]
