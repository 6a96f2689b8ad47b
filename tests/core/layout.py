# SPDX-License-Identifier: Apache-2.0
"""Holds docs/layout.md and docs/layout.schema.json to what the reader of layouts takes.

usage: layout.py LAYOUT_KEYS DOCS

Keys: those of the reader's tables, of the schema and of the document's tables are the same,
and so is which of them are required.  Values: the schema takes what the reader takes and
refuses what it refuses, for every key.  Examples: what stands in the document is taken by
both.  The schema is judged by the few rules of JSON Schema that it uses.
"""
import json
import re
import subprocess
import sys

import yaml

# The sections of the document, by the maps that they describe.
SECTIONS = {"The file": "layout", "A rule": "rule", "select": "select",
            "partitions": "partition", "shares": "share", "vf": "vf"}

# A layout around a map with one key more than it must have.
AROUND = {
    "layout": "{%s, version: 1, devices: []}",
    "rule": "{version: 1, devices: [{select: {}, %s}]}",
    "select": "{version: 1, devices: [{select: {%s}}]}",
    "partition": "{version: 1, devices: [{select: {}, partitions: [{profile: x, %s}]}]}",
    "share": "{version: 1, devices: [{select: {}, shares: [{name: x, memory: 1G, %s}]}]}",
    "vf": "{version: 1, devices: [{select: {}, vf: {count: 1, %s}}]}",
}
SWITCH = (["true", "on", "no", "'off'"], ["1", "maybe", "[on]", "~"])
NAMES = (["gpu0", "'0000:3b:00.0'", "[a, b]", "a" * 95], ["[]", "''", "[[a]]", "~", "a" * 96])
MODES = (["SPX", "CPX"], ["spx", "XPX", "~", "[CPX]"])
COUNT = (["1", "4096"], ["0", "4097", "-1", "x", "1.5", "~", "[1]"])
MANY = (["1", "4294967295"], ["0", "4294967296", "x"])
SIZE = (["1", "1024", "4G", "1.5GiB", "5gb", ".5k"], ["0", "-1", "4X", "lots", "[1G]", "4 G"])
FRACTION = (["0.25", "1", "30%", "6/20"], ["0", "1.5", "-1", "half", "[1]", "1/2/3"])
RANGE = (["0.1..0.6", "10%..60%", "1/10..1", "'.5..1'"], ["0.1..", "..1", "0.6...."])
SHARES = (["1", "1024", "[]", "{name: a, share: 1}", "[{name: a, memory: 1G}]"],
          ["0", "x", "~", "[4]", "[{name: a}]", "[{share: 1}]"])
TIME = (["16ms", "1s", "2000US", "1.5s"], ["20", "x", "~", "[1ms]", "1ms2", "ms"])
VALUES = {
    "layout": {"version": (["1"], ["2", "one", "~"]),
               "on-busy": (["fail", "wait", "list"], ["kill", "~", "[wait]"]),
               "devices": (["[]", "[{select: {}}]", "{select: {}}"],
                           ["gpu0", "[gpu0]", "[{}]", "~"])},
    "rule": {"select": (["{}", "{index: 0}"], ["~", "all", "[]"]),
             "mig": SWITCH,
             "partitions": (["[]", "[{profile: x}]"], ["~", "{profile: x}", "[x]", "[{}]"]),
             "compute-mode": MODES,
             "memory-mode": (["NPS1", "NPS8"], ["NPS3", "nps1", "~"]),
             "vf": (["{count: 0}", "{count: 4, memory: 1G}"], ["4", "{}", "~"]),
             "shares": SHARES,
             "preserve": SWITCH},
    "select": {"index": (["0", "[0, 4096]"], ["[]", "-1", "x", "4097", "[x]", "~"]),
               "name": NAMES, "uuid": NAMES, "pci": NAMES,
               "model": (["A100-80GB", "Flex 170"], ["''", "[a]", "~", "a" * 128]),
               "vendor": (["nvidia", "amd", "intel", "cpu"], ["arm", "~", "[amd]"]),
               "homogeneous": SWITCH, "optional": SWITCH},
    "partition": {"profile": (["1g.5gb", "CPX/NPS4", "a" * 39], ["''", "[x]", "~", "a" * 40]),
                  "count": COUNT,
                  "start": (["0", "[4096, 0]"], ["[]", "-1", "[1, 1]", "x", "4097", "~"]),
                  "parts": (["1c", "[1c, 2c@0, 9c@9]"],
                            ["[]", "0c", "10c", "1", "[1c@]", "1c@10", "~"]),
                  "shares": SHARES},
    "share": {"name": (["a", "7x", "a.b_c-d", "a" * 63], ["''", "-a", "a/b", "a b", "a" * 64]),
              "share": (FRACTION[0] + RANGE[0], FRACTION[1] + RANGE[1]), "memory": SIZE, "cap": FRACTION,
              "class": (["latency", "normal", "batch"], ["fast", "~"])},
    "vf": {"count": (["0", "4096"], ["-1", "4097", "x", "~"]),
           "memory": SIZE, "exec-quantum": TIME, "preempt-timeout": TIME,
           "priority": (["low", "normal", "high"], ["urgent", "~"]),
           "contexts": MANY, "doorbells": MANY,
           "type": (["NVIDIA L40S-12Q", "a" * 47], ["''", "[a]", "~", "a" * 48]),
           "driver": (["vfio-pci", "a" * 23], ["''", "~", "a" * 24])},
}
# What more than one key is about.
WHOLE_GOOD = ["{version: 1, devices: [{select: {}, shares: [{name: a, memory: 1G}]}]}"]
WHOLE_BAD = [
    "[]", "x", "~", "{}", "{version: 1}", "{devices: []}",
    "{version: 1, devices: [{mig: on}]}",
    "{version: 1, devices: [{select: {}, partitions: [{profile: x, count: 1, start: 0}]}]}",
    "{version: 1, devices: [{select: {}, shares: [{name: a, class: batch}]}]}",
]


# --- The rules of JSON Schema that the schema uses ---

def is_type(value, name):
    kinds = {"object": dict, "array": list, "string": str}
    if name in kinds:
        return isinstance(value, kinds[name])
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and (name == "number" or value == int(value))


def follow(root, ref):
    for name in ref.removeprefix("#/").split("/"):
        root = root[name]
    return root


def takes_object(root, rule, value):
    known = rule.get("properties", {})
    return (all(k in value for k in rule.get("required", ()))
            and (rule.get("additionalProperties", True) or all(k in known for k in value))
            and all(takes(root, known[k], v) for k, v in value.items() if k in known))


def takes_array(root, rule, value):
    texts = [json.dumps(v, sort_keys=True) for v in value]
    return (len(value) >= rule.get("minItems", 0)
            and (not rule.get("uniqueItems") or len(set(texts)) == len(texts))
            and all(takes(root, rule.get("items", {}), v) for v in value))


def takes_scalar(rule, value):
    if isinstance(value, str):
        return (rule.get("minLength", 0) <= len(value) <= rule.get("maxLength", len(value))
                and re.search(rule.get("pattern", ""), value) is not None)
    if is_type(value, "number"):
        return (rule.get("minimum", value) <= value <= rule.get("maximum", value)
                and value > rule.get("exclusiveMinimum", value - 1))
    return True


def takes(root, rule, value):
    if "$ref" in rule and not takes(root, follow(root, rule["$ref"]), value):
        return False
    if "type" in rule and not is_type(value, rule["type"]):
        return False
    if "const" in rule and json.dumps(rule["const"]) != json.dumps(value):
        return False
    if "enum" in rule and json.dumps(value) not in map(json.dumps, rule["enum"]):
        return False
    if "oneOf" in rule and sum(takes(root, r, value) for r in rule["oneOf"]) != 1:
        return False
    if "anyOf" in rule and not any(takes(root, r, value) for r in rule["anyOf"]):
        return False
    if "not" in rule and takes(root, rule["not"], value):
        return False
    if isinstance(value, dict):
        return takes_object(root, rule, value)
    if isinstance(value, list):
        return takes_array(root, rule, value)
    return takes_scalar(rule, value)


# --- Keys ---

def keys_of_reader(program):
    keys = {}
    done = subprocess.run([program, "keys"], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        kind, key, need = line.split()
        keys.setdefault(kind, {})[key] = need == "required"
    return keys


def check_schema_keys(keys, schema):
    for kind, wanted in keys.items():
        rule = schema["$defs"][kind]
        have = {k: k in rule.get("required", ()) for k in rule["properties"]}
        if have != wanted:
            sys.exit(f"schema: {kind} has {have}, the reader {wanted}")
        if rule.get("additionalProperties", True):
            sys.exit(f"schema: {kind} takes keys that the reader refuses")
        bare = [k for k, v in rule["properties"].items() if not v.get("description")]
        if bare:
            sys.exit(f"schema: {kind}: {bare} are not described")


def sections_of(text):
    """What stands below each heading of the second level."""
    parts = re.split(r"^## (.*)$", text, flags=re.M)
    return {parts[i].strip("`"): parts[i + 1] for i in range(1, len(parts), 2)}


def check_document_keys(keys, text):
    sections = sections_of(text)
    examples = "\n".join(re.findall(r"```yaml\n(.*?)```", text, re.S))
    for title, kind in SECTIONS.items():
        have = []
        for line in sections[title].splitlines():
            cell = re.match(r"^\| (`[^|]*) \|", line)
            have += re.findall(r"`([^`]+)`", cell[1]) if cell else []
        if sorted(have) != sorted(keys[kind]):
            sys.exit(f"layout.md: '{title}' has {sorted(have)}, the reader "
                     f"{sorted(keys[kind])}")
        for key in have:
            if not re.search(rf"(?:^|[^\w-]){re.escape(key)}:(?: |$)", examples, re.M):
                sys.exit(f"layout.md: no example has the key {key}")


# --- Values ---

def ask_reader(program, texts):
    asked = "".join(f"{len(t.encode())}\n{t}" for t in texts)
    done = subprocess.run([program, "parse"], input=asked, capture_output=True, text=True,
                          check=True)
    answers = done.stdout.splitlines()
    if len(answers) != len(texts):
        sys.exit(f"{len(answers)} answers to {len(texts)} layouts")
    return answers


def check_texts(program, schema, good, bad):
    texts = good + bad
    for i, (text, answer) in enumerate(zip(texts, ask_reader(program, texts))):
        by_schema = takes(schema, schema, yaml.safe_load(text))
        if (answer == "good") != (i < len(good)):
            sys.exit(f"{text}: the reader says {answer}")
        if by_schema != (i < len(good)):
            sys.exit(f"{text}: the schema {'takes' if by_schema else 'refuses'} it")


def texts_of(kind, key, value):
    """A key that the frame has already is taken out of it."""
    frame = re.sub(rf"(?<=[{{ ]){re.escape(key)}: (?:1|x|1G|\[\]|{{}})(?:, |(?=}}))", "",
                   AROUND[kind])
    return frame % f"{key}: {value}"


def check_values(program, schema, keys):
    good, bad = list(WHOLE_GOOD), list(WHOLE_BAD)
    for kind, wanted in keys.items():
        if sorted(wanted) != sorted(VALUES[kind]):
            sys.exit(f"layout.py: has other values than keys for {kind}")
        for key in wanted:
            good += [texts_of(kind, key, v) for v in VALUES[kind][key][0]]
            bad += [texts_of(kind, key, v) for v in VALUES[kind][key][1]]
        bad.append(AROUND[kind] % "nothing: 1")
    check_texts(program, schema, good, bad)
    return len(good) + len(bad)


def examples_of(text):
    """Whole layouts, and rules that stand by themselves."""
    for block in re.findall(r"```yaml\n(.*?)```", text, re.S):
        yield block if "version:" in block else "version: 1\ndevices:\n" + block


def main():
    program, docs = sys.argv[1:]
    with open(f"{docs}/layout.schema.json", encoding="utf-8") as file:
        schema = json.load(file)
    with open(f"{docs}/layout.md", encoding="utf-8") as file:
        document = file.read()
    keys = keys_of_reader(program)
    check_schema_keys(keys, schema)
    check_document_keys(keys, document)
    n_values = check_values(program, schema, keys)
    examples = list(examples_of(document))
    check_texts(program, schema, examples, [])
    print(f"{sum(map(len, keys.values()))} keys, {n_values} values, {len(examples)} examples")


main()
