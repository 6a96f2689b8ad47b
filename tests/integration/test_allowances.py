#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The allowances of tenants by the settings, the order of the queue, and that no tenant can
make the agent slow for others by many requests."""
import contextlib
import grp
import os
import re
import socket
import tempfile
import unittest

from harness import PROGRAMS, main, wait_until
from web_client import WebCase, acting_as

GIB = 1 << 30


@unittest.skipUnless(os.geteuid() == 0, "needs root to be several users")
class TenantsCase(WebCase):
    system = True

    def ask(self, user, method, url, body=None):
        clients = self.__dict__.setdefault("clients_of", {})
        clients.setdefault(user, self.client(user))
        return clients[user].send(method, url, body)

    def want(self, user, **wanted):
        return self.ask(user, "POST", "/v1/leases", {"memory_bytes": GIB, **wanted})

    def get(self, user, **wanted):
        answer = self.want(user, **wanted)
        self.assertEqual(answer.status, 201, answer)
        return answer.json

    def end(self, *args):
        super().end(*args)

    def release(self, user, name):
        self.assertEqual(self.ask(user, "DELETE", "/v1/leases/" + name).status, 204)

    def state(self, name):
        return self.ask("root", "GET", "/v1/leases/" + name).json["state"]


class Allowances(TenantsCase):
    settings = {"tenants": [
        {"user": "games", "share": 1.5, "memory": "8G", "leases": 3},
        {"group": grp.getgrgid(1).gr_name, "share": 0.5, "profiles": ["1g.5gb"],
         "classes": ["normal", "batch"]},
        {"share": 0.25, "leases": 1}]}

    def test_uids_without_an_entry(self):
        """The database is not asked in which groups a user named 54321 is, and the first request not
        refused until it answers."""
        for uid in range(54321, 54325):
            self.get(uid, share=0.1)

    def test_share(self):
        self.problem(self.want("nobody", share=0.3), 403, "not_permitted", "0.3", "0.25")
        self.problem(self.want("nobody", share=0.3, wait=True), 403, "not_permitted")
        self.get("games", share=1)
        self.problem(self.want("games", share=0.6), 409, "does_not_fit", "1.5", "you have 1")
        self.get("games", share=0.5)
        self.problem(self.want("games", share=0.01), 409, "does_not_fit")
        self.get("root", share=1)

    def test_count_of_devices(self):
        self.problem(self.want("nobody", count=2), 400, "bad_request")
        answer = self.ask("games", "POST", "/v1/leases", {"count": 2})
        self.problem(answer, 403, "not_permitted")

    def test_memory(self):
        self.problem(self.want("games", share=0.1, memory_bytes=9 * GIB), 403, "not_permitted",
                     "9 GiB")
        self.get("games", share=0.1, memory_bytes=6 * GIB)
        self.problem(self.want("games", share=0.1, memory_bytes=3 * GIB), 409, "does_not_fit",
                     "you have 6 GiB")

    def test_leases(self):
        for name in ("a", "b", "c"):
            self.get("games", share=0.1, name=name)
        self.problem(self.want("games", share=0.1), 409, "does_not_fit", "3 leases")
        waiting = self.get("games", share=0.1, name="d", wait=True)
        self.assertEqual(waiting["state"], "queued")
        self.release("games", "b")
        self.assertEqual(self.state("d"), "active")

    def test_a_reload_that_raises_it(self):
        """What waits for its tenant's allowance is granted by the reload, in order."""
        self.get("games", share=1, name="a", device="gpu0")
        self.get("games", share=0.5, name="b", device="gpu1")
        for name, device in (("c", "gpu1"), ("d", "gpu1"), ("e", "gpu2")):
            self.get("games", share=0.5, name=name, device=device, wait=True)
        self.assertEqual([self.state(name) for name in "cde"], ["queued"] * 3)
        for tenants, states in (([{"user": "games", "share": 2}], ["active", "queued", "queued"]),
                                ([], ["active", "queued", "active"])):  # gpu1 has no room
            self.write("settings.yaml", {"version": 1, "tenants": tenants})
            self.assertEqual(self.ask("root", "POST", "/v1/reload").status, 204)
            self.assertEqual([self.state(name) for name in "cde"], states)

    def test_classes_and_profiles(self):
        self.problem(self.want("daemon", share=0.1, **{"class": "latency"}), 403, "not_permitted",
                     "latency", "normal", "batch")
        lease = self.get("daemon", share=0.1, name="a")
        self.problem(self.ask("daemon", "PATCH", "/v1/leases/a", {"class": "latency"}), 403,
                     "not_permitted", "latency")
        self.assertEqual(self.ask("daemon", "PATCH", "/v1/leases/a", {"class": "batch"}).status, 200)
        self.assertEqual(lease["class"], "normal")
        layout = ("version: 1\ndevices:\n  - select: {index: 4}\n    mig: on\n"
                  "    partitions: [{profile: 2g.10gb}, {profile: 1g.5gb}]\n")
        op = self.ask("root", "POST", "/v1/apply", layout).json["id"]
        wait_until(lambda: self.ask("root", "GET", "/v1/operations/" + op).json["ended_at"])
        self.problem(self.want("daemon", profile="2g.10gb", share=0.1), 403, "not_permitted",
                     "2g.10gb", "1g.5gb")
        self.get("daemon", profile="1g.5gb", share=0.1)

    def test_resize(self):
        self.get("games", share=0.9, name="a")
        self.get("games", share=0.5, name="b")
        self.problem(self.ask("games", "PATCH", "/v1/leases/b", {"share": 0.7}), 409, "does_not_fit",
                     "1.5")
        self.assertEqual(self.ask("games", "PATCH", "/v1/leases/b", {"share": 0.6}).status, 200)
        self.problem(self.ask("games", "PATCH", "/v1/leases/b", {"memory_bytes": 9 * GIB}), 403,
                     "not_permitted")
        # The queue does not bypass the allowance.
        waiting = self.get("games", share=0.1, name="c", wait=True)
        self.assertEqual(waiting["state"], "queued")
        for wanted in ({"memory_bytes": 9 * GIB}, {"share": 1, "memory_bytes": 9 * GIB}):
            self.problem(self.ask("games", "PATCH", "/v1/leases/c", wanted), 403, "not_permitted")

    def test_what_never_fits_does_not_wait(self):
        for name in ("a", "b", "c"):
            self.get("games", share=0.5, name=name)
        for wanted in ({"share": 0.1, "memory_bytes": 9 * GIB}, {"share": 0.4, "memory_bytes": 9 * GIB},
                       {"count": 2, "memory_bytes": None}):
            wanted = {k: v for k, v in wanted.items() if v}
            answer = self.ask("games", "POST", "/v1/leases", {"wait": True, **wanted})
            self.problem(answer, 403, "not_permitted")

    def test_who_is_over_it_does_not_stand_in_the_way(self):
        self.get("root", share=0.9, name="big", device="gpu0")
        self.get("games", share=0.9, name="a", device="gpu1")
        self.get("games", share=0.6, name="b", device="gpu2")
        self.get("games", share=0.1, name="c", device="gpu0", wait=True)
        waiting = self.get("nobody", share=0.2, name="d", device="gpu0", wait=True)
        self.assertEqual(waiting["queue_position"], 1)
        self.assertEqual(self.ask("games", "GET", "/v1/leases/c").json["queue_position"], 2)
        self.release("root", "big")
        self.assertEqual((self.state("c"), self.state("d")), ("queued", "active"))
        self.release("games", "b")
        self.assertEqual(self.state("c"), "active")

    def test_shown(self):
        self.get("games", share=0.5)
        tenants = {t["name"]: t for t in self.ask("root", "GET", "/v1/tenants").json["items"]}
        self.assertEqual((tenants["games"]["share"], tenants["games"]["allowance"]["share"],
                          tenants["games"]["allowance"]["memory_bytes"]), (0.5, 1.5, 8 * GIB))

    def test_overcommit(self):
        self.problem(self.want("games", share=0.1, overcommit=True), 403, "not_permitted")


class Subordinates(TenantsCase):
    """A user's subordinate uids are no more users: all count as the user."""

    settings = {"tenants": [{"user": "games", "leases": 2}, {"leases": 1}]}
    first = 700000

    def setUp(self):
        with tempfile.NamedTemporaryFile("w", prefix="cleave-subuid-", delete=False) as file:
            file.write("# none\nman:600000:65536\nabsent:650000:10\ngames:%d:65536\n"
                       "nobody:700000:10\n" % self.first)
        self.addCleanup(os.unlink, file.name)
        self.env = {"LD_PRELOAD": os.path.join(os.path.dirname(PROGRAMS["driver"]),
                                               "libslow-users.so"),
                    "CLEAVE_TEST_SUBUID": file.name,
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
        super().setUp()

    def test_allowance(self):
        one = self.get(self.first)
        self.assertEqual((one["uid"], one["tenant"]), (self.first, str(self.first)))
        self.get(self.first + 65535)
        for user in (self.first + 7, "games"):
            self.problem(self.want(user), 409, "does_not_fit", "2")
        # Nothing else is shared: each sees its own leases.
        self.assertEqual(len(self.ask("games", "GET", "/v1/leases").json["items"]), 0)
        self.assertEqual(len(self.ask(self.first, "GET", "/v1/leases").json["items"]), 1)
        for user in (self.first + 65536, self.first - 1, 650000):  # in no range, or no user's
            self.get(user)
            self.problem(self.want(user), 409, "does_not_fit", "1")
        # The next agent looks the users up after it has taken the leases over.
        self.agent.stop()
        self.agent.start()
        self.problem(self.want(self.first + 8), 409, "does_not_fit", "2")
        self.release(self.first, one["id"])
        self.get(self.first + 8)

    def test_connections(self):
        many = []
        self.addCleanup(lambda: [s.close() for s in many])
        for i in range(1100):
            with acting_as(self.first + i), contextlib.suppress(OSError):
                many.append(socket.socket(socket.AF_UNIX))
                many[-1].settimeout(60)
                many[-1].connect(self.agent.api)
                many[-1].sendall(b"GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n")
                many[-1].recv(4096)
        text = self.ask("root", "GET", "/metrics").text.decode()
        refused = re.search(r'connections_limited_total\{limit="user"\} (\d+)', text)
        self.assertGreaterEqual(int(refused.group(1)), 1100 - 1024)


class Queue(TenantsCase):
    settings = {"admins": ["man"]}

    def test_fair_between_tenants(self):
        """The tenant with the least comes first, whatever the order of arrival; a tenant's own requests
        are in order."""
        self.get("root", share=1, name="all", device="gpu0")
        for i in range(3):
            self.get("games", share=0.4, name="g%d" % i, device="gpu0", wait=True)
        self.get("nobody", share=0.4, name="n0", device="gpu0", wait=True)
        self.get("daemon", share=0.2, name="d0", device="gpu0", wait=True)
        order = sorted((l["queue_position"], l["name"]) for l in
                       self.ask("root", "GET", "/v1/leases?state=queued").json["items"])
        self.assertEqual([name for _, name in order], ["d0", "g0", "n0", "g1", "g2"])
        self.assertEqual([position for position, _ in order], [1, 2, 3, 4, 5])
        self.release("root", "all")
        self.assertEqual([self.state(name) for name in ("d0", "g0", "n0", "g1", "g2")],
                         ["active", "active", "active", "queued", "queued"])

    def test_the_first_is_waited_for(self):
        self.get("root", share=0.5, name="half", device="gpu0")
        self.get("games", share=1, name="whole", device="gpu0", wait=True)
        self.problem(self.want("nobody", share=0.1, device="gpu0"), 409, "does_not_fit", "waits")
        self.release("root", "half")
        self.assertEqual(self.state("whole"), "active")


class Many(TenantsCase):
    """One tenant that requests as much as it can."""

    settings = {"admins": ["group:adm"], "viewers": ["group:audio"],
                "tenants": [{"group": "video", "share": 1}, {"group": "games", "share": 0.5},
                            {"share": 1}]}

    def is_answered(self, user, method, url, body=None):
        """The answer takes less work of the agent than the queue took."""
        before = self.agent.cpu_seconds()
        answer = self.ask(user, method, url, body)
        self.assertLess(answer.status, 500, answer)
        self.assertLess(self.agent.cpu_seconds() - before, self.queue_s, (user, method, url))

    def test_a_long_queue(self):
        self.get("root", share=1, name="all", device="gpu0")
        status, n, begin = 201, 0, self.agent.cpu_seconds()
        while status == 201 and n < 2000:
            answer = self.want("games", share=0.5, device="gpu0", wait=True, name="x%d" % n)
            status, n = answer.status, n + 1
        self.problem(answer, 409, "does_not_fit", "at most")
        self.queue_s = self.agent.cpu_seconds() - begin
        for user, method, url in (("nobody", "GET", "/v1/leases"), ("games", "GET", "/v1/leases"),
                                  ("root", "GET", "/v1/leases"), ("nobody", "GET", "/v1/devices"),
                                  ("root", "GET", "/v1/tenants"), ("games", "GET", "/v1/leases/x5")):
            self.is_answered(user, method, url)
        self.is_answered("nobody", "POST", "/v1/leases", {"share": 0.1, "device": "gpu1"})
        self.is_answered("root", "DELETE", "/v1/leases/all")
        self.assertEqual(self.state("x0"), "active")


if __name__ == "__main__":
    main()
