# SPDX-License-Identifier: Apache-2.0
"""The objects of examples/kubernetes, and the types of other projects that they have: the names and
types of fields in the definitions that these projects publish (tests/facts/kubernetes-types.json)."""
import json
import os
import re

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "../../examples/kubernetes")
QUANTITY = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?")
with open(os.path.join(HERE, "../facts/kubernetes-types.json"), encoding="utf-8") as _file:
    TYPES = {name: fact["spec"] for name, fact in json.load(_file).items()}


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


def anything(value):
    return value is not None


WORDS = {"quantity": quantity, "text": text, "number": number, "flag": flag, "texts": texts,
         "amounts": amounts, "any": anything}


def fault(value, type_, path="spec"):
    """Why the value is not of the type, or None.  A type is an object of fields, of which those with
    a * are required, a list of one type, a word, or a choice of texts with |."""
    if isinstance(type_, dict):
        return fault_of_object(value, type_, path)
    if isinstance(type_, list):
        if not isinstance(value, list):
            return f"{path} is no list"
        return next(filter(None, (fault(each, type_[0], f"{path}[{i}]")
                                  for i, each in enumerate(value))), None)
    if type_ in WORDS:
        return None if WORDS[type_](value) else f"{path} is {value!r}"
    return None if value in type_.split("|") else f"{path} is none of {type_}"


def fault_of_object(value, type_, path):
    if not isinstance(value, dict):
        return f"{path} is no object"
    members = {name.rstrip("*"): each for name, each in type_.items()}
    found = [f"{path}.{name} is unknown" for name in value if name not in members]
    found += [f"{path}.{name[:-1]} is missing" for name in type_
              if name.endswith("*") and name[:-1] not in value]
    found += [fault(value[name], members[name], f"{path}.{name}")
              for name in value if name in members]
    return next(filter(None, found), None)


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


def parts():
    """(the name of a type, a value that has it), of all examples."""
    for each in objects():
        name = f"{each['apiVersion']} {each['kind']}"
        if name in TYPES:
            yield name, each["spec"]
        if each["kind"] == "ScaledObject":
            for trigger in each["spec"]["triggers"]:
                yield f"{trigger['type']} trigger of KEDA", trigger["metadata"]
        if each["metadata"]["name"] == "kwok-provider-config":
            yield "v1alpha1 KwokProviderConfig", yaml.safe_load(each["data"]["config"])
