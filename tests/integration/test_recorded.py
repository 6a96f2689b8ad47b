#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compatibility with clients and state files of earlier versions: an agent that starts with a state
file as schema 9 has it, an unfinished operation in it, answers a fixed list of requests byte
for byte as recorded.

recorded/state-9.sql is that file, as the version that had this schema wrote it; its boot id
and user are put in.  recorded/answers.txt has the requests with their answers, one member of
an answer a line.  A new member of an object or
required property in an answer is allowed, because clients ignore what they do not know; no other
difference is.  /openapi.json is
compared as a value: its properties have no order.  CLEAVE_RECORD=1 rewrites the answers.

usage: as harness.py says
"""
import json
import os
import pwd
import re
import sqlite3
import unittest

from harness import HERE, Agent, main, wait_until
from web_client import EXAMPLES, Client

FOLDER = os.path.join(HERE, "recorded")
ANSWERS = os.path.join(FOLDER, "answers.txt")
STATE = os.path.join(FOLDER, "state-9.sql")
TIME = re.compile(r'"(20[2-9]\d-\d\d-\d\dT[\d:.]+Z)"')
ID = re.compile(r'\b([lot][0-9a-f]{16}|[0-9a-f]{12})\b')
BEGIN = "2026-01-31"  # the state file's times are of this day, or in the next century
GIB = 1 << 30
LAYOUT = "version: 1\ndevices:\n  - select: {index: 2}\n    mig: on\n"


def boot_id():
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


class Number(str):
    """A number as it was written."""


def parse(text):
    return json.loads(text, parse_int=Number, parse_float=Number)


def dump(value):
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(dump(k) + ":" + dump(v) for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dump, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def without_new(value, old):
    """The answer without members that the recorded one does not have."""
    if isinstance(value, dict) and isinstance(old, dict):
        return {k: required(v, old[k]) if k == "required" else without_new(v, old[k])
                for k, v in value.items() if k in old}
    if isinstance(value, list) and isinstance(old, list) and len(value) == len(old):
        return [without_new(each, before) for each, before in zip(value, old)]
    return value


def required(value, old):
    """The required names of a schema, which are a set; another object may have such a member too."""
    return sorted(set(value) & set(old)) if isinstance(value, list) else value


def lines_of(text):
    """One member per line, which can be reversed: JSON strings have no line ends."""
    return re.sub(r',(?=["{])', ",\n", text)


def read_answers():
    """[(request, answer)], as recorded."""
    with open(ANSWERS, encoding="utf-8") as file:
        parts = file.read().removeprefix("### ").split("\n### ")
    return [tuple(part.replace(",\n", ",").split("\n", 1)) for part in parts]


class Recorded(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.agent = Agent(arguments=["--sim", os.path.join(EXAMPLES, "dgx-a100.yaml")])
        os.makedirs(cls.agent.state)
        cls.user = pwd.getpwuid(os.geteuid())
        cls.write_state()
        cls.addClassCleanup(cls.agent.close)
        cls.agent.start()
        cls.client = Client(cls.agent.api)
        assert wait_until(cls.has_begun), cls.agent.log()
        cls.ids = {}

    @classmethod
    def write_state(cls):
        with open(STATE, encoding="utf-8") as file:
            text = file.read()
        cls.known_ids = set(ID.findall(text))
        for name, value in (("BOOT", boot_id()), ("USER", cls.user.pw_name),
                            ("UID", cls.user.pw_uid), ("GID", cls.user.pw_gid)):
            text = text.replace("{" + name + "}", str(value))
        db = sqlite3.connect(os.path.join(cls.agent.state, "cleaved.db"))
        db.executescript(text)
        db.close()

    @classmethod
    def has_begun(cls):
        """The unfinished operation has ended, and all leases have their sockets."""
        operations = cls.client.get("/v1/operations")["items"]
        leases = cls.client.get("/v1/leases")["items"]
        return (cls.client.send("GET", "/readyz").status == 200 and
                all(o["ended_at"] for o in operations) and
                all(os.path.exists(each["socket"]) for each in leases
                    if each["state"] == "active"))

    def settled(self, text):
        """The answer without values of this run, user or machine."""
        def new_id(match):
            if match[1] in self.known_ids:
                return match[1]
            return "ID-%d" % self.ids.setdefault(match[1], len(self.ids) + 1)

        text = text.replace(self.agent.folder, "FOLDER")
        text = TIME.sub(lambda m: m[0] if m[1].startswith((BEGIN, "21")) else '"NOW"', text)
        text = ID.sub(new_id, text)
        text = re.sub(r'"uid":%d\b' % self.user.pw_uid, '"uid":"UID"', text)
        text = text.replace('"%s"' % self.user.pw_name, '"USER"')
        for name in ("version", "node", "pid", "system", "seconds", "revision"):
            text = re.sub(r'("%s":)("[^"]*"|[\d.]+|true|false)' % name, r'\1"%s"' % name.upper(),
                          text)
        # test_fields compares this list with the schemas.
        text = re.sub(r'(unknown field \\"\w+\\": known are )[^"]*', r"\1FIELDS", text)
        text = re.sub(r"\bcleaved [\w.]+, process \d+", "cleaved VERSION, process PID", text)
        return re.sub(r"(?<!\w)uid %d pid \d+" % self.user.pw_uid, "uid UID pid PID", text)

    def ask(self, method, url, body=None):
        """(the request as recorded, its answer)"""
        answer = self.client.send(method, url, body)
        said = "" if body is None else " " + (body if isinstance(body, str) else dump(parse(
            json.dumps(body)))).replace("\n", "\\n")
        text = answer.text.decode()
        if "json" in answer.type:
            self.assertEqual(dump(parse(text)), text)
        kind = f"{answer.status} {answer.type}".strip()
        return f"{method} {url}{said}".rstrip(), f"{kind}\n{self.settled(text)}\n"

    def test_answers(self):
        asked = [self.ask(*request) for request in REQUESTS]
        if os.environ.get("CLEAVE_RECORD"):
            with open(ANSWERS, "w", encoding="utf-8") as file:
                file.write("\n".join(f"### {request}\n{lines_of(answer)}"
                                     for request, answer in asked))
        before = read_answers()
        self.assertEqual([request for request, _ in asked], [request for request, _ in before])
        for (request, answer), (_, old) in zip(asked, before):
            with self.subTest(request=request):
                self.compare(request, answer, old)

    def compare(self, request, answer, old):
        kind, _, text = answer.partition("\n")
        old_kind, _, old_text = old.partition("\n")
        self.assertEqual(kind, old_kind)
        if "json" not in kind or text == old_text:
            self.assertEqual(text, old_text)
            return
        value, was = parse(text), parse(old_text)
        self.assertEqual(dump(was), old_text.rstrip("\n"))
        if request == "GET /openapi.json":
            self.assertEqual(without_new(value, was), without_new(was, was))
        else:
            self.assertEqual(lines_of(dump(without_new(value, was))), lines_of(dump(was)))


def lease(**wanted):
    return ("POST", "/v1/leases", {"share": 0.1, **wanted})


REQUESTS = [
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/openapi.json"),
    ("GET", "/v1/version"),
    ("GET", "/v1/whoami"),
    ("GET", "/v1/leases"),
    ("GET", "/v1/leases?state=queued"),
    ("GET", "/v1/leases?device=gpu1&limit=1"),
    ("GET", "/v1/leases/train"),
    ("GET", "/v1/devices"),
    ("GET", "/v1/shares"),
    ("GET", "/v1/operations"),
    ("GET", "/v1/tokens"),
    ("GET", "/v1/tenants"),
    ("GET", "/v1/audit"),
    ("GET", "/v1/events?limit=100"),
    ("GET", "/v1/layout?of=wanted"),
    ("GET", "/v1/node"),
    ("GET", "/v1/profiles?device=gpu0"),
    ("GET", "/v1/advice"),
    ("POST", "/v1/plan?name=x", LAYOUT),
    # Invalid requests for a lease.
    *[("POST", "/v1/leases", body) for body in (
        "", "{", "[1]", "null", '{"share":1e999}', '{"share":0.1,"share":0.2}', "{}")],
    *[lease(**wanted) for wanted in (
        {"name": ""}, {"name": "../etc"}, {"name": "x" * 64}, {"name": "l0123456789abcdef"},
        {"name": 7}, {"device": 0}, {"device": ""}, {"device": "gpu9"}, {"device": "x" * 96},
        {"devices": "gpu0"}, {"devices": ["gpu0"]}, {"devices": ["gpu0", ""]},
        {"devices": ["gpu3", "gpu4"]}, {"profile": 1}, {"profile": "x" * 40},
        {"profile": "9g.1gb"}, {"in": []}, {"in": "x" * 200}, {"in": "none"},
        {"isolation": "gates"}, {"isolation": 1}, {"isolation": "hardware"}, {"command": 7},
        {"share": 0}, {"share": 1.5}, {"share": 1e-9}, {"share": "0.3"}, {"share": None},
        {"share_range": 0.3}, {"share_range": {"least": 0.1, "most": 0.6}},
        {"share_range": {"least": 0.1}}, {"share_range": {"least": 0.7, "most": 0.6}},
        {"cap": 0}, {"cap": 0.05}, {"cap": "1"}, {"memory_bytes": 0}, {"memory_bytes": 1.5},
        {"memory_bytes": 1 << 50}, {"spill_bytes": -1}, {"spill_bytes": "1G"},
        {"class": "fast"}, {"class": 3}, {"sm": 0}, {"sm": 1.01}, {"sm": "25%"}, {"wait": 1},
        {"overcommit": "no"}, {"count": 0}, {"count": 65}, {"count": 1.5}, {"count": 2},
        {"same_device": 1}, {"same_device": True}, {"time": 0}, {"time": 1 << 40},
        {"keep": "yes"}, {"admit": "all"}, {"admit": 1}, {"admit": "socket"}, {"user": -1},
        {"user": 1 << 32}, {"user": 1}, {"sm": 0.5}, {"spill_bytes": 1}, {"shares": 2}, {"a\nb": 2})],
    ("POST", "/v1/leases", {"in": "set", "class": "batch"}),
    ("POST", "/v1/leases", {"count": 2, "sm": 0.5}),
    # A valid request.
    ("POST", "/v1/leases", {
        "name": "new", "device": "gpu6", "share_range": {"least": 0.1, "most": 0.5}, "cap": 0.75,
        "memory_bytes": 3 * GIB, "spill_bytes": 0, "class": "latency",
        "command": "/usr/bin/\u00e4\u0001x", "keep": True, "wait": True, "overcommit": False}),
    ("GET", "/v1/leases/new"),
    *[("PATCH", "/v1/leases/new", body) for body in (
        {}, {"name": "x"}, {"count": 2}, {"sm": 0.5}, {"share": 0}, {"cap": 0.01}, {"keep": True},
        {"nothing": 1}, {"class": "slow"}, {"memory_bytes": -1}, {"spill_bytes": 1.5},
        {"share": 0.2, "cap": None, "memory_bytes": 2 * GIB, "spill_bytes": 0, "class": "batch"})],
    ("PATCH", "/v1/leases/none", {"share": 0.2}),
    ("POST", "/v1/leases/new/holders", {"pid": 0}),
    ("POST", "/v1/leases/new/holders", {}),
    ("DELETE", "/v1/leases/new"),
    ("DELETE", "/v1/leases/new"),
    ("DELETE", "/v1/leases/train?force=perhaps"),
    ("GET", "/v1/leases/train?while=active"),
    ("GET", "/v1/leases?state=ended"),
    ("GET", "/v1/leases?limit=x"),
    # The other objects.
    ("POST", "/v1/devices/gpu5/cordon", {"reason": "again"}),
    ("POST", "/v1/devices/gpu99/cordon"),
    ("POST", "/v1/devices/gpu5/uncordon"),
    *[("POST", "/v1/tokens", body) for body in (
        {}, {"name": "x"}, {"name": "x", "scope": "root"}, {"name": "x", "scope": "tenant"},
        {"name": "x", "scope": "admin", "expires_in": 0}, {"name": "x", "scope": "admin", "y": 1})],
    ("DELETE", "/v1/tokens/none"),
    *[("POST", "/v1/partitions", body) for body in (
        {}, {"device": "gpu0"},
        {"device": "gpu0", "profile": "1g.5gb", "count": 0}, {"device": 1, "profile": "1g.5gb"})],
    ("DELETE", "/v1/partitions"),
    ("DELETE", "/v1/operations/none"),
    ("GET", "/v1/history?of=device:gpu99"),
    ("GET", "/v1/events?after=-1"),
    ("GET", "/nothing"),
    ("PUT", "/v1/leases"),
]


if __name__ == "__main__":
    main()
