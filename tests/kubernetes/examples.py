# SPDX-License-Identifier: Apache-2.0
"""The objects of examples/kubernetes, and the types of other projects that they have.

The types are their fields, as far as they are used. Those of KEDA, of Volcano's Queue and of Kueue's
ResourceFlavor are from the definitions (CRDs) that the projects publish; those of Kueue's queues
(v1beta2) and of Volcano's Job are from examples that they publish. A dict is an object with these
members, of which those with a * are required; a list has items of one type; a tuple is a choice; a
function reads a value."""
import os
import re

import yaml

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/kubernetes")
QUANTITY = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?")


def quantity(value):
    return isinstance(value, int) or isinstance(value, str) and QUANTITY.fullmatch(value)


def text(value):
    return isinstance(value, str)


def number(value):
    return isinstance(value, int) and not isinstance(value, bool)


def flag(value):
    return isinstance(value, bool)


def texts(value):
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def amounts(value):
    return isinstance(value, dict) and all(quantity(each) for each in value.values())


def template(value):
    """A PodTemplateSpec, which Kubernetes' own client checks where it is in Kubernetes' types."""
    containers = value["spec"]["containers"]
    return set(value) <= {"metadata", "spec"} and all(
        set(each) <= {"name", "image", "resources", "command", "env"} for each in containers)


# Of autoscaling/v2 (HorizontalPodAutoscalerBehavior), which KEDA has, too.
RULES = {"stabilizationWindowSeconds": number, "selectPolicy": ("Max", "Min", "Disabled"),
         "policies": [{"type*": ("Pods", "Percent"), "value*": number, "periodSeconds*": number}]}
BEHAVIOR = {"scaleUp": RULES, "scaleDown": RULES}
SELECTOR = {"matchLabels": texts, "matchExpressions": [
    {"key*": text, "operator*": ("In", "NotIn", "Exists", "DoesNotExist"), "values": [text]}]}
TYPES = {
    ("kueue.x-k8s.io/v1beta2", "ResourceFlavor"): {
        "nodeLabels": texts, "topologyName": text, "nodeTaints": [dict], "tolerations": [dict]},
    ("kueue.x-k8s.io/v1beta2", "ClusterQueue"): {
        "namespaceSelector": SELECTOR, "cohortName": text,
        "queueingStrategy": ("StrictFIFO", "BestEffortFIFO"), "preemption": dict,
        "resourceGroups": [{"coveredResources*": [text], "flavors*": [
            {"name*": text, "resources*": [
                {"name*": text, "nominalQuota*": quantity, "borrowingLimit": quantity,
                 "lendingLimit": quantity}]}]}]},
    ("kueue.x-k8s.io/v1beta2", "LocalQueue"): {"clusterQueue": text, "stopPolicy": text},
    ("scheduling.volcano.sh/v1beta1", "Queue"): {
        "weight": number, "reclaimable": flag, "priority": number, "parent": text,
        "capability": amounts, "deserved": amounts, "guarantee": {"resource": amounts}},
    ("batch.volcano.sh/v1alpha1", "Job"): {
        "schedulerName": text, "queue": text, "minAvailable": number, "maxRetry": number,
        "priorityClassName": text, "policies": [dict], "tasks": [
            {"name": text, "replicas": number, "minAvailable": number, "template": template,
             "policies": [dict]}]},
    ("keda.sh/v1alpha1", "ScaledObject"): {
        "scaleTargetRef*": {"name*": text, "kind": text, "apiVersion": text},
        "minReplicaCount": number, "maxReplicaCount": number, "idleReplicaCount": number,
        "cooldownPeriod": number, "pollingInterval": number, "triggers*": [
            {"type*": text, "name": text, "metricType": ("Value", "AverageValue", "Utilization"),
             "metadata*": texts, "authenticationRef": {"name*": text, "kind": text}}],
        "advanced": {"restoreToOriginalReplicaCount": flag, "horizontalPodAutoscalerConfig": {
            "name": text, "behavior": BEHAVIOR}}},
}


def fault(value, type_, path="spec"):
    """Why the value is not of the type, or None."""
    if isinstance(type_, dict):
        if not isinstance(value, dict):
            return f"{path} is no object"
        members = {name.rstrip("*"): each for name, each in type_.items()}
        found = [f"{path}.{name} is unknown" for name in value if name not in members]
        found += [f"{path}.{name[:-1]} is missing" for name in type_
                  if name.endswith("*") and name[:-1] not in value]
        found += [fault(value[name], members[name], f"{path}.{name}")
                  for name in value if name in members]
        return next(filter(None, found), None)
    if isinstance(type_, list):
        if not isinstance(value, list):
            return f"{path} is no list"
        return next(filter(None, (fault(each, type_[0], f"{path}[{i}]")
                                  for i, each in enumerate(value))), None)
    if isinstance(type_, tuple):
        return None if value in type_ else f"{path} is none of {type_}"
    good = isinstance(value, type_) if isinstance(type_, type) else type_(value)
    return None if good else f"{path} is {value!r}"


def files():
    return sorted(name for name in os.listdir(FOLDER) if name != "profiles.yaml")


def objects(*names):
    """Those in files, and the nodes in the template of Cluster Autoscaler."""
    for name in names or files():
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            for each in yaml.safe_load_all(file):
                yield each
                if each["metadata"]["name"] == "kwok-provider-templates":
                    yield from yaml.safe_load(each["data"]["templates"])["items"]
