# SPDX-License-Identifier: Apache-2.0
"""Checks of the agent's OpenAPI document: whether it is valid, whether an answer conforms to it,
and random requests that conform to it, or nearly."""
import datetime
import json
import re

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool,
         "object": dict, "array": list, "null": type(None)}
REF = "#/components/schemas/"
# Objects of other documents.
BARE = ("get /openapi.json application/json",)
SCHEMA_WORDS = {"type", "format", "enum", "items", "properties", "required", "anyOf", "$ref",
                "description"}


def resolve(document, schema):
    if "$ref" in schema:
        return document["components"]["schemas"][schema["$ref"][len(REF):]]
    return schema


def flaws_of_schema(document, schema, at):
    """The faults of a schema, by the keywords of JSON Schema that the agent uses."""
    for word in set(schema) - SCHEMA_WORDS:
        yield "%s: unknown word %s" % (at, word)
    if "$ref" in schema:
        name = schema["$ref"]
        if set(schema) != {"$ref"} or name[:len(REF)] != REF or \
                name[len(REF):] not in document["components"]["schemas"]:
            yield "%s: bad reference %r" % (at, schema)
        return
    if ("type" in schema) == ("anyOf" in schema):
        yield "%s: neither type nor anyOf, or both" % at
    if schema.get("type", "null") not in TYPES:
        yield "%s: no type %s" % (at, schema["type"])
    if ("items" in schema) != (schema.get("type") == "array"):
        yield "%s: items without array, or the other way round" % at
    if ("properties" in schema) != (schema.get("type") == "object") and at not in BARE:
        yield "%s: properties without object, or the other way round" % at
    for name in schema.get("required", ()):
        if name not in schema.get("properties", {}):
            yield "%s: requires %s and does not describe it" % (at, name)
    parts = list(schema.get("properties", {}).items()) + \
        [("anyOf%d" % i, each) for i, each in enumerate(schema.get("anyOf", ()))] + \
        ([("items", schema["items"])] if "items" in schema else [])
    for name, part in parts:
        yield from flaws_of_schema(document, part, at + "/" + name)


def flaws_of_operation(document, path, method, operation):
    at = method + " " + path
    named = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
    if named != set(re.findall(r"{(\w+)}", path)):
        yield "%s: path parameters are %s" % (at, named)
    seen = set()
    for parameter in operation["parameters"]:
        key = (parameter["in"], parameter["name"])
        if key in seen or parameter["in"] not in ("query", "path", "header"):
            yield "%s: parameter %s twice or nowhere" % (at, key)
        seen.add(key)
        if parameter["in"] == "path" and parameter.get("required") is not True:
            yield "%s: %s is required" % (at, key)
        yield from flaws_of_schema(document, parameter["schema"], at)
    contents = [operation["requestBody"]] if "requestBody" in operation else []
    for status, answer in operation["responses"].items():
        if status != "default" and not re.fullmatch("[1-5][0-9][0-9]", status):
            yield "%s: no status %s" % (at, status)
        if not answer.get("description"):
            yield "%s: %s without description" % (at, status)
        contents.append(answer)
    for each in contents:
        for kind, media in each.get("content", {}).items():
            yield from flaws_of_schema(document, media["schema"], at + " " + kind)


def flaws(document):
    if not re.fullmatch(r"3\.1\.\d+", document.get("openapi", "")):
        yield "no OpenAPI 3.1"
    if not {"title", "version"} <= set(document["info"]):
        yield "info"
    if set(document) - {"openapi", "info", "paths", "components", "security"}:
        yield "unknown members"
    for name, schema in document["components"]["schemas"].items():
        yield from flaws_of_schema(document, schema, name)
    for path, item in document["paths"].items():
        if not path.startswith("/") or set(item) - METHODS:
            yield "path %s" % path
        for method, operation in item.items():
            yield from flaws_of_operation(document, path, method, operation)


def is_time(text):
    try:
        datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ")
        return True
    except ValueError:
        return False


def is_of(kind, value):
    if isinstance(value, bool) and kind != "boolean":
        return False
    return isinstance(value, TYPES[kind])


def differences(document, schema, value, at="$"):
    """The differences of a value from its schema; a member that is not described is one."""
    schema = resolve(document, schema)
    if "anyOf" in schema:
        ways = [list(differences(document, each, value, at)) for each in schema["anyOf"]]
        if all(ways):
            yield from min(ways, key=len)
        return
    if not is_of(schema["type"], value):
        yield "%s is %.60r and no %s" % (at, value, schema["type"])
        return
    if "enum" in schema and value not in schema["enum"]:
        yield "%s is %r, not of %s" % (at, value, schema["enum"])
    if schema.get("format") == "date-time" and not is_time(value):
        yield "%s is no time: %r" % (at, value)
    for i, item in enumerate(value if schema["type"] == "array" else ()):
        yield from differences(document, schema["items"], item, "%s[%d]" % (at, i))
    if "properties" not in schema:
        return
    for name in set(schema["required"]) - set(value):
        yield "%s.%s is missing" % (at, name)
    for name, member in value.items():
        if name in schema["properties"]:
            yield from differences(document, schema["properties"][name], member,
                                   at + "." + name)
        else:
            yield "%s.%s is not described" % (at, name)


def operations(document):
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield path, method.upper(), operation


def find(document, method, url):
    """(path of the document, operation) of a request."""
    asked = url.split("?")[0].split("/")
    for path, its_method, operation in operations(document):
        parts = path.split("/")
        if its_method == method and len(parts) == len(asked) and \
                all(p == a or p[:1] == "{" for p, a in zip(parts, asked)):
            return path, operation
    return None, None


def wrong_answer(document, method, url, answer):
    """Why the answer does not conform to the document; None: it conforms."""
    _, operation = find(document, method, url)
    said = operation["responses"].get(str(answer.status), operation["responses"]["default"])
    if "content" not in said:
        return "a body: %r" % answer.text if answer.text else None
    if answer.type not in said["content"]:
        return "%d with %r, not of %s" % (answer.status, answer.type, list(said["content"]))
    if answer.type.endswith("json"):
        value = json.loads(answer.text)
        return "; ".join(differences(document, said["content"][answer.type]["schema"],
                                     value)) or None
    return None


# Random requests.

STRINGS = ["", "gpu0", "gpu7", "a", "x" * 63, "x" * 64, "x" * 5000, "0", "-1", "true", "ü",
           "日本", "\U0001f4a9" * 20, "a\nb", "a\x1b[31m", "../../etc/passwd", "a b", "%s%n%x",
           "1g.5gb", "7g.40gb", "cores:2", "nobody", "root", "tenant", "admin", "'; DROP --",
           "gpu0/1g.5gb@0", "a\0b", "\ud800", "l0123456789abcdef", "\u202e", "{}"]
NUMBERS = [0, 1, -1, 2, 3, 7, 8, 64, 65, 255, 256, 4096, 4097, 10000, 10001, 600000, 600001,
           2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, -2**63, 2**64, 10**30, 0.5, 0.1,
           1e-7, 1e-320, 1.0000001, 1e308, -0.0, 5e-7]
TEXTS = ["", "null", "[]", "{", "[" * 3000, '{"a":' * 2500, "{}" * 2, "NaN", '{"share": Infinity}',
         '{"share": 0.1, "share": 0.2}', '"text"', "\xff\xfe", "\0", "{\0}", "\ufeff{}",
         "version: 1\n", "version: 1\ndevices: [\n", "&a [*a, *a]", "a: &a [x]\nb: *a\n",
         "version: 1\ndevices:\n- {select: {index: 0}, mig: on, partitions: [{profile: 1g.5gb}]}\n",
         "x" * 70000,
         '{"reason": "\\ud800"}', '{"name": "\\u0000"}', "version: 2", "%YAML 9.9\n---\n"]
KINDS = ["application/json", "application/yaml", "text/plain", "multipart/form-data; boundary=x",
         "application/x-www-form-urlencoded", "", "application/json; charset=utf-7", "\xff"]


def value_of(document, schema, chance):
    """A value that the schema allows or, one time in six, another value."""
    schema = resolve(document, schema)
    if chance.random() < 1 / 6:
        return chance.choice([None, True, [], {}, [[]], *STRINGS[:6], *NUMBERS, *STRINGS])
    if "anyOf" in schema:
        return value_of(document, chance.choice(schema["anyOf"]), chance)
    if "enum" in schema:
        return chance.choice(schema["enum"])
    kind = schema["type"]
    if kind == "object":
        names = [n for n in schema.get("properties", ())
                 if n in schema["required"] or chance.random() < 0.3]
        return {n: value_of(document, schema["properties"][n], chance) for n in names}
    if kind == "array":
        return [value_of(document, schema["items"], chance)
                for _ in range(chance.randrange(4))]
    if kind == "number":
        return chance.choice([0.1, 0.01, 0.001, 1, *NUMBERS])
    return {"integer": chance.choice(NUMBERS), "boolean": chance.random() < 0.5,
            "string": chance.choice(STRINGS), "null": None}[kind]


def body_of(document, operation, chance):
    content = operation.get("requestBody", {}).get("content", {})
    if chance.random() < 0.1:
        return chance.choice(TEXTS).encode("utf-8", "surrogatepass")
    if "application/json" not in content:
        return chance.choice(TEXTS).encode("utf-8", "surrogatepass") if content else None
    value = value_of(document, content["application/json"]["schema"], chance)
    text = json.dumps(value, ensure_ascii=chance.random() < 0.5)
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    if chance.random() < 0.1 and data:
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)
