# SPDX-License-Identifier: Apache-2.0
"""A double of kube-scheduler's side of the extender interface. Its requests are those that a real
kube-scheduler sent (recorded/README.md), with other names, containers and annotations; it reads
answers by the names of the fields of k8s.io/kube-scheduler/extender/v1, types.go."""
import copy
import json
import os

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")
ANNOTATION = "cleave.dev/devices"


def recorded(verb):
    with open(os.path.join(FOLDER, verb + ".json"), encoding="utf-8") as file:
        return json.load(file)


def record(verb, request):
    with open(os.path.join(FOLDER, verb + ".json"), "w", encoding="utf-8") as file:
        json.dump(request, file, indent=1)
        file.write("\n")


FILTER, FILTER_NAMES, BIND = recorded("filter"), recorded("filter-names"), recorded("bind")
NODE, POD = FILTER["Nodes"]["items"][0], FILTER["Pod"]


def node(name, devices=None, annotations=None, version=None):
    """The recorded node with this name and these devices; None: it has not announced any."""
    made = copy.deepcopy(NODE)
    made["metadata"]["name"] = name
    made["metadata"]["annotations"] = dict(annotations or {})
    if devices is not None:
        made["metadata"]["annotations"][ANNOTATION] = json.dumps(devices)
    # Tests whose nodes have no versions send all as of one version.
    made["metadata"]["resourceVersion"] = str(version or 1)
    return made


def container(name, limits, **more):
    made = copy.deepcopy(POD["spec"]["containers"][0])
    made["name"] = name
    made["resources"] = {"limits": limits, "requests": limits}
    made.update(more)
    return made


def pod(name, containers, init=()):
    made = copy.deepcopy(POD)
    made["metadata"].update(name=name, namespace="ns", uid=f"uid-{name}")
    made["spec"]["containers"] = list(containers)
    if init:
        made["spec"]["initContainers"] = list(init)
    return made


def args(wanted, nodes):
    """ExtenderArgs, of filter and prioritize."""
    made = dict(FILTER, Pod=wanted)
    made["Nodes"] = dict(FILTER["Nodes"], items=list(nodes))
    return made


def names_args(wanted, names):
    """ExtenderArgs for an extender with nodeCacheCapable: true (core/extender.go, Filter)."""
    return dict(FILTER_NAMES, Pod=wanted, NodeNames=list(names))


def binding(name, to):
    """ExtenderBindingArgs."""
    assert set(BIND) == {"PodName", "PodNamespace", "PodUID", "Node"}
    return dict(BIND, PodName=name, PodNamespace="ns", PodUID=f"uid-{name}", Node=to)
