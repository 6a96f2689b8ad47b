#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The allowances of tenants by the settings, the order of the queue, and that no tenant can
make the agent slow for others by many requests."""
import grp
import os
import unittest

from harness import main, wait_until
from web_client import WebCase

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
