#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GET /metrics of a real agent: what it has, that promtool and the document agree with it,
and that numbers are what leases did.

usage: test_metrics.py CLEAVED FAULTY_DRIVER [TEST...]
CLEAVE_WRITE_METRICS=1 rewrites the document's tables.
"""
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "integration"))
from harness import Case, SystemCase, UnixConnection, main, wait_until  # noqa: E402

DOCUMENT = os.path.join(ROOT, "docs", "metrics.md")
OPEN_METRICS = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"
SAMPLE = re.compile(r"([a-z_]+)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')
MIB = 1 << 20
GROUPS = (("Of each device and partition", "cleave_device_"), ("Of each active lease", "cleave_lease_"),
          ("Of each tenant who has had one", "cleave_tenant_"), ("Of the agent", ""))


def scrape(agent, accept=None):
    """(content type, text)"""
    connection = UnixConnection(agent.api)
    try:
        connection.request("GET", "/metrics", headers={"Accept": accept} if accept else {})
        answer = connection.getresponse()
        assert answer.status == 200, answer.status
        return answer.getheader("Content-Type"), answer.read().decode()
    finally:
        connection.close()


def samples(text):
    """{name: {labels as a frozenset of pairs: value}}"""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = SAMPLE.match(line).groups()
        of = frozenset(LABEL.findall(labels or ""))
        assert of not in found.setdefault(name, {}), f"twice: {line}"
        found[name][of] = float(value)
    return found


def value_of(scraped, name, /, **labels):
    """The sum of a metric over its samples that have these labels; None if there are none."""
    found = [value for of, value in scraped.get(name, {}).items() if set(labels.items()) <= of]
    return sum(found) if found else None


def families(text):
    """[(name, type, help)]"""
    helps = re.findall(r"^# HELP (\S+) (.*)$", text, re.M)
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    return [(name, types[name], about) for name, about in helps]


def group_of(name):
    return next(title for title, prefix in GROUPS if name.startswith(prefix))


def tables(text):
    """The document's part that is made from a scrape."""
    lines = []
    for title, _ in GROUPS:
        lines += [f"### {title}", "", "| metric | type | what it is |", "|---|---|---|"]
        lines += [f"| `{name}` | {kind} | {about} |" for name, kind, about in families(text)
                  if group_of(name) == title]
        lines.append("")
    return "\n".join(lines)


class Metrics(Case):
    def setUp(self):
        super().setUp()
        self.agent.get("/v1/devices")

    def value(self, name, /, **labels):
        return value_of(samples(scrape(self.agent)[1]), name, **labels)

    def test_form(self):
        holder = self.holder()
        holder.lease(share=0.3, memory_bytes=64 * MIB, name="train")
        kind, text = scrape(self.agent)
        self.assertEqual(kind, "text/plain; version=0.0.4; charset=utf-8")
        self.assertTrue(text.endswith("\n"))
        self.assertNotIn("# EOF", text)
        names = {name for name, _, _ in families(text)}
        for name in samples(text):
            self.assertIn(re.sub("_(bucket|sum|count)$", "", name), names)
        kind, text = scrape(self.agent, OPEN_METRICS)
        self.assertIn("application/openmetrics-text; version=1.0.0", kind)
        self.assertTrue(text.endswith("# EOF\n"))
        self.assertIn("# TYPE cleave_events counter\n", text)
        self.assertIn("# UNIT cleave_lease_held_seconds seconds\n", text)
        self.assertIn("# TYPE cleave_build info\ncleave_build_info{", text)

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not here: install prometheus")
    def test_promtool(self):
        self.holder().lease(share=0.3, memory_bytes=64 * MIB)
        time.sleep(1.2)
        done = subprocess.run(["promtool", "check", "metrics"], input=scrape(self.agent)[1],
                              capture_output=True, text=True, timeout=30)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_document(self):
        wanted = tables(scrape(self.agent)[1])
        with open(DOCUMENT, encoding="utf-8") as file:
            text = file.read()
        begin, end = "<!-- tables -->\n", "<!-- end of tables -->"
        head, rest = text.split(begin)
        is_now, tail = rest.split(end)
        if os.environ.get("CLEAVE_WRITE_METRICS"):
            with open(DOCUMENT, "w", encoding="utf-8") as file:
                file.write(head + begin + wanted + end + tail)
            return
        self.assertEqual(is_now, wanted, "./dev lint --fix writes it anew")

    def test_a_lease(self):
        holder = self.holder()
        lease = holder.lease(share=0.3, cap=0.6, memory_bytes=64 * MIB, name="train")
        holder.do("attach", socket=lease["socket"])
        holder.do("memory", value=5 * MIB)
        of = {"lease": lease["id"], "name": "train", "tenant": lease["tenant"],
              "device": "gpu0"}
        self.assertTrue(wait_until(
            lambda: self.value("cleave_lease_memory_used_bytes", **of) == 5 * MIB))
        for name, value in (("share_promised_ratio", 0.3), ("memory_quota_bytes", 64 * MIB),
                            ("share_cap_ratio", 0.6), ("processes", 1), ("active", 1)):
            self.assertEqual(self.value("cleave_lease_" + name, **of), value, name)
        for kind, labels in (("device", {"device": "gpu0"}), ("tenant", {"tenant": of["tenant"]})):
            self.assertEqual(self.value(f"cleave_{kind}_leases", **labels), 1)
            self.assertEqual(self.value(f"cleave_{kind}_memory_used_bytes", **labels), 5 * MIB)
            self.assertEqual(self.value(f"cleave_{kind}_share_promised_ratio", **labels), 0.3)
        turns = self.value("cleave_device_turns_total", device="gpu0")
        holder.kill()
        self.assertTrue(wait_until(lambda: not self.leases()))
        self.assertIsNone(self.value("cleave_lease_active", **of))
        # What was counted stays counted.
        self.assertGreaterEqual(self.value("cleave_device_turns_total", device="gpu0"), turns)
        self.assertEqual(self.value("cleave_events_total", type="lease_ended"), 1)

    def test_two_in_line(self):
        """They take turns, and each waits in line during the other's."""
        for name in ("a", "b"):
            holder = self.holder()
            lease = holder.lease(share=0.5, memory_bytes=MIB, name=name)
            holder.do("attach", socket=lease["socket"])
        for holder in self.holders:
            holder.do("stand_in_line", threads=1)
        time.sleep(4)
        for name in ("a", "b"):
            waits, turns, waited, held = (
                self.value("cleave_lease_" + of, name=name)
                for of in ("turn_wait_seconds_count", "turns_total", "waiting_seconds_total",
                           "held_seconds_total"))
            self.assertGreater(waits, 20)
            self.assertLessEqual(waits, turns)
            self.assertTrue(0.8 < waited < 4 and 0.8 < held < 4, (waited, held))
        # One scrape: between two of them turns go on.
        scraped = samples(scrape(self.agent)[1])
        self.assertAlmostEqual(
            value_of(scraped, "cleave_device_turn_wait_seconds_sum"),
            value_of(scraped, "cleave_lease_turn_wait_seconds_sum"), places=6)
        rows = self.agent.get("/v1/history?of=lease:a")
        at = rows["columns"].index("waiting")
        waiting = max(row[at] for row in rows["rows"] if row)
        self.assertTrue(0.2 < waiting < 0.8, waiting)

    def test_requests(self):
        route = {"method": "GET", "route": "/v1/leases/{lease}"}
        self.agent.request("GET", "/v1/leases/no")
        self.agent.request("GET", "/v1/leases/nothing")
        self.agent.request("GET", "/no/such/path")
        self.assertEqual(self.value("cleave_api_requests_total", status="404", **route), 2)
        self.assertEqual(self.value("cleave_api_requests_total", route="other"), 1)
        self.assertEqual(self.value("cleave_api_request_busy_seconds_count", **route), 2)
        # A wait is no work.
        begin = time.monotonic()
        self.agent.request("GET", "/v1/events?after=1000000&wait_ms=1500")
        self.assertLess(self.value("cleave_api_request_busy_seconds_sum", route="/v1/events"),
                        time.monotonic() - begin - 1.4)

    def test_itself(self):
        self.assertEqual(self.value("cleave_ready"), 1)
        self.assertGreater(self.value("process_resident_memory_bytes"), MIB)
        self.assertGreater(self.value("process_cpu_seconds_total"), 0)
        self.assertLess(abs(self.value("process_start_time_seconds") - time.time()), 60)
        self.assertGreater(self.value("process_open_fds"), 5)

    def test_names_are_escaped(self):
        holder = self.holder()
        holder.lease(share=0.1, name="a.b-c_d")
        self.assertEqual(self.value("cleave_lease_active", name="a.b-c_d"), 1)

    def test_many(self):
        """All leases are shown; those in which no program has run, by what they were promised."""
        holder = self.holder()
        for _ in range(1010):
            holder.lease(share=0.0001, memory_bytes=4096)
        time.sleep(1.2)
        scraped = samples(scrape(self.agent)[1])
        for name in ("active", "share_cap_ratio", "share_promised_ratio", "memory_quota_bytes"):
            self.assertEqual(len(scraped[f"cleave_lease_{name}"]), 1010, name)
        for name in ("processes", "held_seconds_total", "turn_wait_seconds_count"):
            self.assertNotIn(f"cleave_lease_{name}", scraped)
        self.assertEqual(value_of(scraped, "cleave_leases_without_metrics"), 0)
        self.assertEqual(value_of(scraped, "cleave_device_leases"), 1010)


class Scopes(SystemCase):
    def test_not_for_tenants(self):
        self.refused(self.other().request("GET", "/metrics"), 403, "not_permitted")


if __name__ == "__main__":
    main()
