#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The fields of the API's objects, as /openapi.json has them, are those of the tables of
docs/api.md and of the console's types; the client library requests no others.  The types of
events are those that the document lists.

CLEAVE_WRITE_FIELDS=1 rewrites tables and types.  In the types a field is optional where it was
before and where it is new, because an agent of an earlier version does not have it.

usage: as harness.py says
"""
import os
import re

from harness import HERE, Case, main

ROOT = os.path.dirname(os.path.dirname(HERE))
DOCUMENT = os.path.join(ROOT, "docs", "api.md")
TYPES = os.path.join(ROOT, "web", "src", "api", "types.ts")
EVENTS = os.path.join(ROOT, "src", "agent", "record", "event-record.c")
CLIENT = os.path.join(ROOT, "src", "client", "leases.c")
TABLE = re.compile(r"(<!-- fields: (\w+) -->\n).*?(<!-- end of fields -->\n)", re.S)
INTERFACE = re.compile(r"(export interface (\w+) \{\n)(.*?)(^\}\n)", re.S | re.M)
MEMBER = re.compile(r"^  (\w+)(\??): (.*);$", re.M)
WRITES = bool(os.environ.get("CLEAVE_WRITE_FIELDS"))
# Schemas whose interfaces have other names.
NAMES = {"AdvicePart": "Part", "AuditEvent": "AuditEntry", "Caller": "WhoAmI", "Event": "AgentEvent",
         "NewToken": "Token", "NodePartition": "Partition", "Partition": "PartitionOf",
         "Problem": "ProblemDocument", "Process": "LeaseProcess", "ShareRange": "Range",
         "Stage": "OperationStep"}
INTERFACES = ("Action", "Advice", "AdvicePart", "Allowance", "AuditEvent", "AuditWho", "Caller", "Decision",
              "Device", "DriverProcess", "Engines", "Event", "Health", "History", "Holder", "Lease",
              "LeaseDevice", "LeftDevice", "MigModel", "MigProfile", "MigState", "NewToken", "Node",
              "NodeAddress", "NodeDevice", "NodePartition", "Obstacle", "Operation", "Partition", "Plan",
              "PlanDevice", "PlanShare", "PlanStep", "Problem", "Process", "Profile", "Project", "Replica",
              "Service", "ShareChange", "ShareRange", "SmLimit", "Stage", "StandingShare", "Tenant",
              "Version", "VfQuota", "VfState", "VgpuType", "VirtualFunction", "XcpState")
# Interfaces of no schema of their own: what lists have around their items.
OTHERS = {"ListOf", "Devices", "LeaseList"}
ALIASES = {("latency", "normal", "batch"): "LeaseClass", ("admin", "tenant", "viewer"): "Scope",
           ("none", "mig", "xcp", "vf", "cores"): "Scheme"}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def name_of(schema):
    return schema["$ref"].rpartition("/")[2]


def parts_of(schema):
    """(the schema, whether it may be null)"""
    if "anyOf" in schema:
        return schema["anyOf"][0], True
    return schema, False


# The document.

def kind_in_document(schema):
    schema, may_be_null = parts_of(schema)
    if "$ref" in schema:
        text = name_of(schema)
    elif "enum" in schema:
        names = [f"`{name}`" for name in schema["enum"]]
        text = ", ".join(names[:-1]) + " or " + names[-1] if len(names) > 1 else names[0]
    elif schema["type"] == "array":
        text = f"list of {kind_in_document(schema['items'])}"
    else:
        text = "time" if schema.get("format") == "date-time" else schema["type"]
    return text + (", or null" if may_be_null else "")


def table_of(schema):
    lines = ["| field | type | what it is |", "|---|---|---|"]
    lines += [f"| `{name}` | {kind_in_document(field)} | {field.get('description', '')} |"
              for name, field in schema["properties"].items()]
    return "\n".join(lines) + "\n"


# The console's types.

def kind_in_types(schema):
    schema, may_be_null = parts_of(schema)
    if "$ref" in schema:
        text = NAMES.get(name_of(schema), name_of(schema))
    elif "enum" in schema:
        text = ALIASES.get(tuple(schema["enum"])) or \
            " | ".join(f'"{name}"' for name in schema["enum"])
    elif schema["type"] == "array":
        inner = kind_in_types(schema["items"])
        text = f"({inner})[]" if " | " in inner else f"{inner}[]"
    else:
        text = {"integer": "number", "object": "Record<string, unknown>"}.get(
            schema["type"], schema["type"])
    return text + (" | null" if may_be_null else "")


def interface_of(schema, old):
    """The new lines between the braces; old: the current ones."""
    always = {name for name, mark, _ in MEMBER.findall(old) if not mark}
    lines = []
    for name, field in schema["properties"].items():
        if "description" in field:
            lines.append(f"  /* {field['description']} */")
        is_always = name in always and name in schema["required"]
        lines.append(f"  {name}{'' if is_always else '?'}: {kind_in_types(field)};")
    return "\n".join(lines) + "\n"


class Fields(Case):
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.schemas = self.agent.get("/openapi.json")["components"]["schemas"]

    def hold(self, path, text, made):
        if WRITES:
            write(path, made)
        else:
            self.assertEqual(text, made, "./dev lint --fix writes it anew")

    def test_document(self):
        text = read(DOCUMENT)
        named = [name for _, name, _ in TABLE.findall(text)]
        self.assertEqual(len(named), len(set(named)))
        for name in ("Advice", "AuditEvent", "Device", "Event", "History", "Lease", "LeaseChange",
                     "LeaseRequest", "NewToken", "Node", "NodeDevice", "NodePartition", "Obstacle",
                     "Operation", "Partition", "Plan", "PlanStep", "Profile", "Tenant"):
            self.assertIn(name, named)
        self.hold(DOCUMENT, text, TABLE.sub(
            lambda m: m[1] + table_of(self.schemas[m[2]]) + m[3], text))

    def test_event_types(self):
        paragraph = re.search(r"^Types: (.*?)\n\n", read(DOCUMENT), re.S | re.M)[1]
        self.assertEqual(set(re.findall(r"`(\w+)`", paragraph)),
                         set(re.findall(r'\] = "(\w+)"', read(EVENTS))))

    def test_types(self):
        text = read(TYPES)
        schemas = {NAMES.get(name, name): self.schemas[name] for name in INTERFACES}
        self.assertEqual(set(schemas),
                         set(re.findall(r"^export interface (\w+)", text, re.M)) - OTHERS)

        def made(match):
            schema = schemas.get(match[2])
            return match[1] + interface_of(schema, match[3]) + match[4] if schema else match[0]

        self.hold(TYPES, text, INTERFACE.sub(made, text))

    def test_client(self):
        """An agent would refuse a whole request for a field that it does not know."""
        for function, name in (("static json_t \\*body_of", "LeaseRequest"),
                               ("int clv_client_lease_update", "LeaseChange")):
            body = re.search(r"^%s\(.*?^\}" % function, read(CLIENT), re.S | re.M)[0]
            asked = set(re.findall(r'body, "(\w+)"', body))
            self.assertGreater(len(asked), 3)
            self.assertEqual(asked - set(self.schemas[name]["properties"]), set())

    def test_unknown_field(self):
        """The error about an unknown field lists the known ones."""
        for method, url, name, body in (("POST", "/v1/leases", "LeaseRequest", {"x": 1}),
                                        ("PATCH", "/v1/leases/a", "LeaseChange", {})):
            if method == "PATCH":
                self.agent.request("POST", "/v1/leases", {"name": "a", "share": 0.1, "keep": True})
            known = list(self.schemas[name]["properties"])
            status, problem = self.agent.request(method, url, body)
            self.assertEqual(status, 400)
            last = " and " if method == "POST" else " or "
            self.assertTrue(problem["detail"].endswith(
                " " + ", ".join(known[:-1]) + last + known[-1]), problem)


if __name__ == "__main__":
    main()
