#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The history of use: columns, gaps, permissions, and the rows that remain after kills, damage
and a full disk.
"""
import os
import re
import signal
import time
import urllib.parse

from harness import NOBODY, Case, SystemCase, main, wait_until
from measured import bound

COLUMNS = ["share_used", "share_promised", "memory_used_bytes", "memory_quota_bytes",
           "waiting", "throttled", "share_used_max", "memory_used_max_bytes"]
MIB = 1 << 20


def url(of, **arguments):
    return "/v1/history?" + urllib.parse.urlencode({"of": of, **arguments})


def rfc3339(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


class Series(Case):
    def setUp(self):
        super().setUp()
        self.agent.get("/v1/devices")

    def history(self, of, **arguments):
        return self.agent.get(url(of, **arguments))

    def rows(self, of, **arguments):
        """{time: row as a dictionary} of the rows with data."""
        answer = self.history(of, **arguments)
        self.assertEqual(answer["columns"], COLUMNS)
        return {answer["start"] + i * answer["step"]: dict(zip(COLUMNS, row))
                for i, row in enumerate(answer["rows"]) if row}

    def wait_for_rows(self, of, n, seconds=15):
        self.assertTrue(wait_until(lambda: len(self.rows(of)) >= n, seconds), self.rows(of))
        return self.rows(of)

    def test_a_lease(self):
        began = int(time.time())
        holder = self.holder()
        lease = holder.lease(share=0.3, memory_bytes=64 * MIB, name="train")
        holder.do("attach", socket=lease["socket"])
        holder.do("memory", value=5 * MIB)
        rows = self.wait_for_rows(f"lease:{lease['id']}", 4)
        self.assertGreaterEqual(min(rows), began)
        self.assertLessEqual(max(rows), int(time.time()))
        self.assertEqual(max(rows) - min(rows), len(rows) - 1, "a second is missing")
        last = rows[max(rows)]
        self.assertEqual((last["share_promised"], last["memory_quota_bytes"],
                          last["memory_used_bytes"], last["memory_used_max_bytes"]),
                         (0.3, 64 * MIB, 5 * MIB, 5 * MIB))
        for name in ("share_used", "waiting", "throttled"):
            self.assertTrue(0 <= last[name] <= 1, last)
        self.assertEqual(self.rows("lease:train"), self.rows(f"lease:{lease['id']}"))
        device = self.rows("device:gpu0")
        self.assertEqual(device[max(device)]["memory_used_bytes"], 5 * MIB)
        self.assertEqual(device[max(device)]["share_promised"], 0.3)
        tenant = self.rows(f"tenant:{lease['tenant']}")
        self.assertEqual(tenant[max(tenant)]["memory_quota_bytes"], 64 * MIB)
        holder.request("PATCH", "/v1/leases/train", {"share": 0.5})
        self.assertTrue(wait_until(
            lambda: list(self.rows("lease:train").values())[-1]["share_promised"] == 0.5))
        holder.kill()
        self.assertTrue(wait_until(lambda: not self.leases()))
        # The agent's minute is incomplete, and both parts can still be read.
        self.assertGreaterEqual(len(self.rows(f"lease:{lease['id']}")), 4)
        minutes = self.rows(f"lease:{lease['id']}", resolution="minute",
                            to=rfc3339(time.time() + 60))
        self.assertGreaterEqual(len(minutes), 1)
        self.assertEqual(max(m["memory_used_max_bytes"] for m in minutes.values()), 5 * MIB)
        self.refused(self.agent.request("GET", url("lease:train")), 404, "not_found")

    def test_windows(self):
        self.wait_for_rows("device:gpu0", 3)
        now = int(time.time())
        answer = self.history("device:gpu0", **{"from": rfc3339(now - 10), "to": rfc3339(now)})
        self.assertEqual((answer["start"], len(answer["rows"])), (now - 10, 10))
        self.assertEqual((answer["from"][:19], answer["resolution"], answer["of"]),
                         (rfc3339(now - 10)[:19], 1, "device:gpu0"))
        self.assertIsNone(self.history("device:gpu0")["rows"][0])
        self.assertIn(len(self.history("device:gpu0", **{"from": rfc3339(0)})["rows"]),
                      (3600, 3601))
        month = self.history("device:gpu0", resolution="minute", **{"from": rfc3339(0)})
        self.assertIn(len(month["rows"]), (44640, 44641))
        self.assertEqual((month["step"], month["start"] % 60), (60, 0))
        ahead = self.history("device:gpu0", **{"from": rfc3339(now + 100),
                                               "to": rfc3339(now + 200)})
        self.assertEqual(ahead["rows"], [])

    def test_bad_requests(self):
        for arguments, words in (({"of": "gpu0"}, ["device:NAME"]), ({"of": ""}, ["of"]),
                                 ({}, ["of"]), ({"of": "device:"}, ["of"]),
                                 ({"of": "node:x"}, ["of"]),
                                 ({"of": "device:gpu0", "resolution": "hour"}, ["resolution"]),
                                 ({"of": "device:gpu0", "from": "yesterday"}, ["from", "2026"]),
                                 ({"of": "device:gpu0", "from": rfc3339(100),
                                   "to": rfc3339(100)}, ["before"])):
            answer = self.agent.request(
                "GET", "/v1/history?" + urllib.parse.urlencode(arguments))
            self.refused(answer, 400, "bad_request", *words)
        for of in ("device:gpu9", "partition:gpu0", "lease:l0123456789abcdef", "tenant:x",
                   "device:" + "x" * 200):
            self.refused(self.agent.request("GET", url(of)), 404, "not_found")

    def test_kill_restart_and_gap(self):
        holder = self.holder()
        lease = holder.lease(share=0.2)
        of = f"lease:{lease['id']}"
        before = self.wait_for_rows(of, 10, 20)
        self.agent.stop(signal.SIGKILL)
        # An agent on a busy machine has written seconds after the last that was asked for.
        ended = int(time.time())
        time.sleep(4)
        started = int(time.time())
        self.agent.start()
        rows = self.wait_for_rows(of, 1)
        self.assertTrue(wait_until(lambda: max(self.rows(of)) > max(before) + 4))
        rows = self.rows(of)
        lost = [t for t in before if t not in rows]
        # A busy machine writes late, but then all that it has by then.
        self.assertLessEqual(len(lost), bound(8, len(before) - 1), "seconds that a kill cost")
        gap = [t for t in range(ended + 1, started) if t in rows]
        self.assertEqual(gap, [], "rows of a time without an agent")
        # A regular stop loses no row.
        before = self.rows(of)
        self.agent.stop()
        self.agent.start()
        self.assertLessEqual(set(before), set(self.rows(of)))

    def test_it_costs_next_to_nothing(self):
        holder = self.holder()
        for _ in range(10):
            lease = holder.lease(share=0.05, memory_bytes=MIB)
            holder.do("attach", socket=lease["socket"])
        time.sleep(2)
        began, cpu_ns, n_waits = time.monotonic(), self.cpu_ns(), self.n_waits()
        time.sleep(10)
        n_waits, seconds = self.n_waits() - n_waits, time.monotonic() - began
        self.assertGreater(n_waits, 0)
        self.assertLess(n_waits / seconds, 5, "the agent as a whole, with ten idle leases")
        used = (self.cpu_ns() - cpu_ns) / 1e9 / seconds
        self.assertLess(used, bound(0.001, 1))

    def of_threads(self, file):
        for thread in os.scandir(f"/proc/{self.agent.process.pid}/task"):
            with open(f"{thread.path}/{file}", encoding="ascii") as opened:
                yield opened.read()

    def cpu_ns(self):
        return sum(int(text.split()[0]) for text in self.of_threads("schedstat"))

    def n_waits(self):
        """How often the agent has waited, and so run again."""
        return sum(int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.M)[1])
                   for text in self.of_threads("status"))

    def test_damage(self):
        self.wait_for_rows("device:gpu0", 2)
        self.agent.stop()
        path = os.path.join(self.agent.state, "history")
        with open(path, "r+b") as file:
            file.write(b"nonsense")
        self.agent.start()
        self.agent.get("/v1/devices")
        self.wait_for_rows("device:gpu0", 1)
        self.assertIn(path + ".damaged", self.agent.log())
        self.assertTrue(os.path.exists(path + ".damaged"))
        self.agent.stop()
        os.remove(path)
        os.mkdir(path)
        self.agent.start()
        self.agent.get("/v1/devices")
        self.wait_for_rows("device:gpu0", 2)
        self.assertIn("only the last minutes of history", self.agent.log())
        os.rmdir(path)


class Owners(SystemCase):
    def test_tenants_see_their_own(self):
        alice, bob = self.other(NOBODY), self.other(NOBODY - 1)
        lease = alice.lease(share=0.2, name="hers")
        bob.lease(share=0.2)
        mine = url(f"lease:{lease['id']}")
        self.assertTrue(wait_until(lambda: self.agent.request(
            "GET", url("tenant:" + lease["tenant"]))[0] == 200))
        self.assertEqual(alice.request("GET", mine)[0], 200)
        self.assertEqual(alice.request("GET", url("tenant:" + lease["tenant"]))[0], 200)
        self.assertEqual(bob.request("GET", url("device:gpu0"))[0], 200)
        self.refused(bob.request("GET", mine), 404, "not_found")
        self.refused(bob.request("GET", url("lease:hers")), 404, "not_found")
        self.refused(bob.request("GET", url("tenant:" + lease["tenant"])), 403,
                     "not_permitted")
        self.refused(bob.request("GET", url("tenant:root")), 403, "not_permitted")
        alice.kill()
        self.assertTrue(wait_until(lambda: len(self.leases()) == 1))
        self.assertEqual(self.agent.request("GET", mine)[0], 200)
        self.refused(bob.request("GET", mine), 404, "not_found")


if __name__ == "__main__":
    main()
