#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Projects of services, as their supervisors publish them: who sees them, how long they are
there, and what the agent refuses.

usage: as harness.py says
"""
import copy

from harness import Case, SystemCase, main, wait_until

REPLICA = {"name": "shop-web-1", "state": "ready", "lease": True, "in_flight": 2, "why": ""}
SERVICE = {"name": "web", "state": "ready", "wanted": 1, "ready": 1, "min_replicas": 1,
           "max_replicas": 3, "ports": [8080], "use": 0.25, "in_flight": 2, "requests": 17,
           "sleeps": True, "why": "its use needs no other number of replicas", "failure": "",
           "all_replicas": 1, "replicas": [REPLICA]}
DECISION = {"id": 1, "time": "2026-01-02T03:04:05.000Z", "service": "web", "what": "a replica is ready",
            "why": "shop-web-1"}
REPORT = {"services": [SERVICE], "decisions": [DECISION]}


def changed(path, value):
    """The report with another value; ... removes what is there."""
    made = copy.deepcopy(REPORT)
    inner = made
    for word in path[:-1]:
        inner = inner[word]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return made


OF_SERVICE, OF_REPLICA = ("services", 0), ("services", 0, "replicas", 0)
REFUSED = [
    (changed(("services",), ...), "services is missing"),
    (changed(("decisions",), {}), "decisions must be a list"),
    (changed(("more",), 1), "unknown field"),
    (changed((*OF_SERVICE, "more"), 1), "unknown field"),
    (changed((*OF_SERVICE, "name"), ...), "name is missing in a Service"),
    (changed((*OF_SERVICE, "name"), 1), "name must be a string"),
    (changed((*OF_SERVICE, "why"), "x" * 513), "over 512 bytes"),
    (changed((*OF_SERVICE, "why"), "a\nb"), "one line"),
    (changed((*OF_SERVICE, "use"), 1.01), "from 0 to 1"),
    (changed((*OF_SERVICE, "use"), "1"), "from 0 to 1"),
    (changed((*OF_SERVICE, "ready"), -1), "whole number"),
    (changed((*OF_SERVICE, "ready"), 1.5), "whole number"),
    (changed((*OF_SERVICE, "requests"), 2 ** 53 + 1), "whole number"),
    (changed((*OF_SERVICE, "ports"), ["80"]), "whole number"),
    (changed((*OF_SERVICE, "sleeps"), 1), "true or false"),
    (changed((*OF_SERVICE, "replicas"), [[]]), "a Replica must be a JSON object"),
    (changed((*OF_REPLICA, "lease"), None), "true or false"),
    (changed((*OF_REPLICA, "more"), 1), "unknown field"),
    (changed(("decisions", 0, "time"), "yesterday"), "RFC 3339"),
    ([], "a ProjectReport must be a JSON object"),
]


class Published(Case):
    def put(self, holder, name="shop", report=None):
        return holder.request("PUT", f"/v1/projects/{name}",
                              REPORT if report is None else report)

    def projects(self):
        return self.agent.get("/v1/projects")["items"]

    def test_it_is_there_while_its_publisher_lives(self):
        holder = self.holder()

        self.assertEqual(self.projects(), [])
        self.assertEqual(self.put(holder), [204, None])
        made, = self.projects()
        self.assertEqual({key: made[key] for key in REPORT}, REPORT)
        self.assertEqual(made["name"], "shop")
        self.put(holder, report=changed((*OF_SERVICE, "ready"), 0))
        again, = self.projects()
        self.assertEqual((again["services"][0]["ready"], again["number"]), (0, made["number"]))
        holder.kill()
        self.assertTrue(wait_until(lambda: self.projects() == []))

    def test_a_successor_takes_it_over(self):
        first, second = self.holder(), self.holder()

        self.put(first)
        self.put(second)
        first.kill()
        # The agent has seen that end: the lease of another holder that ended later is gone.
        third = self.holder()
        third.lease(name="later", share=.1)
        third.kill()
        self.assertTrue(wait_until(lambda: self.leases() == []))
        self.assertEqual([each["name"] for each in self.projects()], ["shop"])
        second.kill()
        self.assertTrue(wait_until(lambda: self.projects() == []))

    def test_what_is_refused(self):
        holder = self.holder()

        for report, words in REFUSED:
            with self.subTest(words=words):
                self.refused(self.put(holder, report=report), 400, "bad_request", words)
        for text, words in (("{", "string or '}' expected"),
                            ('{"services":[],"services":[]}', "duplicate object key"),
                            ('{"services":[{"name":"\\u0000"}],"decisions":[]}', "\\u0000")):
            self.refused(self.agent.request("PUT", "/v1/projects/shop", text), 400, "bad_request",
                         words)
        for name in ("Shop", "-a", "a%20b", "a" * 48):
            self.refused(self.put(holder, name), 400, "bad_request", "no name of a project")
        self.refused(self.put(holder, report=changed(("services",), [SERVICE] * 200)), 413, "too_large")

    def test_a_user_has_a_bounded_number(self):
        holder = self.holder()

        for i in range(32):
            self.assertEqual(self.put(holder, f"p{i}")[0], 204)
        self.refused(self.put(holder, "p32"), 409, "does_not_fit", "32 projects")
        self.assertEqual(self.put(holder, "p31")[0], 204)
        page = self.agent.get("/v1/projects?limit=30")
        self.assertEqual(len(page["items"]), 16, "of a page")
        names = [each["name"] for each in page["items"]]
        page = self.agent.get(f"/v1/projects?after={page['next']}")
        self.assertEqual(names + [each["name"] for each in page["items"]], [f"p{i}" for i in range(32)])
        self.assertIsNone(page["next"])

    def test_a_page_has_a_bounded_size(self):
        """Of reports of 60 KiB three are a page, and the next one continues it."""
        holder = self.holder()
        large = changed(("decisions",), [{**DECISION, "why": "x" * 500}] * 100)

        for i in range(5):
            self.assertEqual(self.put(holder, f"p{i}", large)[0], 204)
        page = self.agent.get("/v1/projects")
        self.assertEqual([each["name"] for each in page["items"]], ["p0", "p1", "p2"])
        page = self.agent.get(f"/v1/projects?after={page['next']}")
        self.assertEqual([each["name"] for each in page["items"]], ["p3", "p4"])
        self.assertIsNone(page["next"])


class Tenants(SystemCase):
    def test_a_tenant_sees_its_own(self):
        alice, bob = self.other(65534), self.other(65533)

        for holder, ready in ((alice, 1), (bob, 0)):
            answer = holder.request("PUT", "/v1/projects/shop",
                                    changed((*OF_SERVICE, "ready"), ready))
            self.assertEqual(answer, [204, None])
        for holder, ready in ((alice, 1), (bob, 0)):
            own, = holder.request("GET", "/v1/projects")[1]["items"]
            self.assertEqual(own["services"][0]["ready"], ready)
        both = self.agent.get("/v1/projects")["items"]
        self.assertEqual([each["tenant"] for each in both], ["nobody", "65533"])
        bob.kill()
        self.assertTrue(wait_until(lambda: len(self.agent.get("/v1/projects")["items"]) == 1))


if __name__ == "__main__":
    main()
