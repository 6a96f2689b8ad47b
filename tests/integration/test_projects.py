#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Projects of services, as their supervisors publish them: who sees them, how long they are
there, what the agent refuses, and the actions that users ask their supervisors for.

usage: as harness.py says
"""
import copy

from harness import Case, SystemCase, main, wait_until

REPLICA = {"name": "shop-web-1", "state": "ready", "lease": True, "in_flight": 2, "why": ""}
SERVICE = {"name": "web", "state": "ready", "wanted": 1, "ready": 1, "min_replicas": 1,
           "max_replicas": 3, "ports": [8080], "use": 0.25, "in_flight": 2, "requests": 17,
           "sleeps": True, "autoscaled": True, "failure": "",
           "why": "its use needs no other number of replicas",
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
    ({**REPORT, "results": {}}, "results must be a list"),
    ({**REPORT, "results": [{"id": "1", "why": ""}]}, "state is missing in a ActionResult"),
    ({**REPORT, "results": [{"id": "1", "state": "expired", "why": ""}]}, "one of running|done"),
    ({**REPORT, "results": [{"id": "1", "state": "done", "why": "", "output": ["a\nb"]}]}, "one line"),
    ({**REPORT, "results": [{"id": "1", "state": "done", "why": "", "output": [""] * 1001}]},
     "over 1000 lines"),
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
        self.assertEqual(self.put(holder), [200, {"items": [], "next": None}])
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
            self.assertEqual(self.put(holder, f"p{i}")[0], 200)
        self.refused(self.put(holder, "p32"), 409, "does_not_fit", "32 projects")
        self.assertEqual(self.put(holder, "p31")[0], 200)
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
            self.assertEqual(self.put(holder, f"p{i}", large)[0], 200)
        page = self.agent.get("/v1/projects")
        self.assertEqual([each["name"] for each in page["items"]], ["p0", "p1", "p2"])
        page = self.agent.get(f"/v1/projects?after={page['next']}")
        self.assertEqual([each["name"] for each in page["items"]], ["p3", "p4"])
        self.assertIsNone(page["next"])


SCALE = {"do": "scale", "service": "web", "replicas": 2}
LOGS = {"do": "logs", "replica": "shop-web-1", "lines": 3}
NOT_ACTIONS = [
    ({}, "do is missing"),
    ({"do": "destroy"}, "one of scale|logs"),
    ({"do": "scale", "service": "web"}, "needs the field replicas"),
    ({"do": "scale", "replicas": 1}, "needs the field service"),
    ({"do": "scale", "service": 1, "replicas": 1}, "service must be a string"),
    ({**SCALE, "replicas": -1}, "whole number"),
    ({**SCALE, "replica": "shop-web-1"}, "a field of another action"),
    ({**SCALE, "lines": 3}, "a field of another action"),
    ({**SCALE, "more": 3}, "unknown field"),
    ({"do": "logs"}, "needs the field replica"),
    ({**LOGS, "lines": 0}, "from 1 to 1000"),
    ({**LOGS, "lines": 1001}, "from 1 to 1000"),
    ({**SCALE, "expires_in": 301}, "from 1 to 300"),
    ({**SCALE, "expires_in": 0}, "from 1 to 300"),
    ([], "a ActionRequest must be a JSON object"),
]


class Acted(Case):
    """The holder is the supervisor, and the test a user."""

    def put(self, holder, *results, name="shop", wait_ms=None):
        wait = "" if wait_ms is None else f"?wait_ms={wait_ms}"
        status, answer = holder.request("PUT", f"/v1/projects/{name}{wait}",
                                        {**REPORT, "results": list(results)})
        self.assertEqual(status, 200, answer)
        return answer["items"]

    def ask(self, action=SCALE, name="shop", **more):
        status, answer = self.agent.request("POST", f"/v1/projects/{name}/actions", {**action, **more})
        self.assertEqual(status, 202, answer)
        return answer

    def action(self, asked):
        return self.agent.get(f"/v1/actions/{asked['id']}")

    def test_an_action_is_taken_and_answered(self):
        holder = self.holder()

        self.put(holder)
        asked = self.ask()
        self.assertEqual({key: asked[key] for key in SCALE}, SCALE)
        self.assertEqual((asked["state"], asked["why"], asked["output"], asked["project"]),
                         ("waiting", "", [], "shop"))
        offered, = self.put(holder)
        self.assertEqual({**offered, "state": "waiting"}, asked)
        # Until the supervisor says that it has it, the answer may be lost.
        self.assertEqual(len(self.put(holder)), 1)
        running = {"id": asked["id"], "state": "running", "why": ""}
        self.assertEqual(self.put(holder, running), [])
        self.assertEqual(self.action(asked)["state"], "running")
        done = {"id": asked["id"], "state": "done", "why": "web has 2 ready replicas"}
        self.put(holder, done)
        self.assertEqual((self.action(asked)["state"], self.action(asked)["why"]),
                         ("done", "web has 2 ready replicas"))
        # What has ended stays as it was reported first.
        self.put(holder, {**done, "state": "failed"})
        self.assertEqual(self.action(asked)["state"], "done")

    def test_what_a_report_says_of_actions_is_not_shown_with_the_project(self):
        holder = self.holder()

        self.put(holder)
        asked = self.ask(LOGS)
        self.assertEqual(self.put(holder)[0]["lines"], 3)
        self.put(holder, {"id": asked["id"], "state": "done", "why": "", "cut": True,
                          "output": ["a", "b \u00e9 \"c\""]})
        told = self.action(asked)
        self.assertEqual((told["output"], told["cut"]), (["a", "b \u00e9 \"c\""], True))
        project, = self.agent.get("/v1/projects")["items"]
        self.assertNotIn("results", project)

    def test_answers_wait(self):
        """A report's until there is an action, an action's until it has ended."""
        supervisor, user = self.holder(), self.holder()

        self.put(supervisor)
        supervisor.send("request", method="PUT", url="/v1/projects/shop?wait_ms=600000", body=REPORT)
        asked = self.ask()
        status, answer = supervisor.receive()
        self.assertEqual((status, [each["id"] for each in answer["items"]]), (200, [asked["id"]]))
        user.send("request", method="GET", url=f"/v1/actions/{asked['id']}?wait_ms=600000", body=None)
        self.put(supervisor, {"id": asked["id"], "state": "running", "why": ""})
        self.put(supervisor, {"id": asked["id"], "state": "refused", "why": "no"})
        status, answer = user.receive()
        self.assertEqual((status, answer["state"], answer["why"]), (200, "refused", "no"))
        self.assertEqual(self.put(supervisor, wait_ms=1), [])

    def test_without_a_supervisor(self):
        holder = self.holder()

        nobody = self.agent.request("POST", "/v1/projects/shop/actions", SCALE)
        self.refused(nobody, 404, "not_found", "no supervisor of a project shop", "cleave up")
        self.put(holder)
        waits, taken = self.ask(), self.ask(LOGS)
        self.put(holder, {"id": taken["id"], "state": "running", "why": ""})
        late = self.ask()
        holder.kill()
        self.assertTrue(wait_until(lambda: self.action(late)["state"] != "waiting"))
        self.assertEqual([(self.action(each)["state"], self.action(each)["why"])
                          for each in (waits, taken, late)],
                         [("failed", "its supervisor ended and has not said what came of it")] * 2 +
                         [("refused", "its supervisor ended: nothing was changed")])

    def test_a_successor_gets_what_has_not_ended(self):
        first, second = self.holder(), self.holder()

        self.put(first)
        ended, taken, new = self.ask(), self.ask(), self.ask()
        self.put(first, {"id": ended["id"], "state": "done", "why": ""},
                 {"id": taken["id"], "state": "running", "why": ""})
        self.assertEqual([each["id"] for each in self.put(second)], [taken["id"], new["id"]])

    def test_an_answer_waits_no_longer_than_its_action(self):
        holder, user = self.holder(), self.holder()

        self.put(holder)
        never = self.ask(expires_in=1)
        user.send("request", method="GET", url=f"/v1/actions/{never['id']}?wait_ms=600000", body=None)
        status, answer = user.receive()
        self.assertEqual((status, answer["state"]), (200, "expired"))

    def test_what_is_not_taken_expires(self):
        holder = self.holder()

        self.put(holder)
        never = self.ask(expires_in=1)
        self.assertTrue(wait_until(lambda: self.action(never)["state"] == "expired"))
        self.assertIn("nothing was changed", self.action(never)["why"])
        self.assertEqual(self.put(holder), [])
        self.put(holder, {"id": never["id"], "state": "done", "why": "it was not given"})
        self.assertEqual(self.action(never)["state"], "expired")
        # One that was given may have been carried out, and is if the supervisor says so.
        given = self.ask(expires_in=1)
        self.assertEqual(len(self.put(holder)), 1)
        self.assertTrue(wait_until(lambda: self.action(given)["state"] == "expired"))
        self.assertIn("may have been carried out", self.action(given)["why"])
        self.put(holder, {"id": given["id"], "state": "done", "why": "late"})
        self.assertEqual((self.action(given)["state"], self.action(given)["why"]), ("done", "late"))

    def test_what_is_refused(self):
        holder = self.holder()

        self.put(holder)
        for action, words in NOT_ACTIONS:
            with self.subTest(words=words):
                self.refused(self.agent.request("POST", "/v1/projects/shop/actions", action), 400,
                             "bad_request", words)
        self.refused(self.agent.request("GET", "/v1/actions/0123456789abcdef"), 404, "not_found")

    def test_their_number_is_bounded(self):
        holder = self.holder()

        self.put(holder)
        self.put(holder, name="other")
        waiting = [self.ask(replicas=i) for i in range(8)]
        self.refused(self.agent.request("POST", "/v1/projects/shop/actions", SCALE), 409, "does_not_fit",
                     "8 actions wait")
        # Those that have ended give way to later ones, oldest first.
        self.put(holder, *({"id": each["id"], "state": "done", "why": ""} for each in waiting))
        later = [self.ask(name="other") for _ in range(8)]
        self.ask()
        self.refused(self.agent.request("GET", f"/v1/actions/{waiting[0]['id']}"), 404, "not_found")
        self.assertEqual([self.action(each)["state"] for each in waiting[1:] + later],
                         ["done"] * 7 + ["waiting"] * 8)


class Tenants(SystemCase):
    def test_whose_actions(self):
        """A tenant's own, and any of an admin's; other tenants do not learn of them."""
        alice, bob = self.other(65534), self.other(65533)

        for each in (alice, bob):
            self.assertEqual(each.request("PUT", "/v1/projects/shop", REPORT)[0], 200)
        status, own = alice.request("POST", "/v1/projects/shop/actions", SCALE)
        self.assertEqual((status, own["tenant"], own["by"]), (202, "nobody", "nobody"))
        self.refused(bob.request("POST", "/v1/projects/shop/actions?tenant=nobody", SCALE), 404,
                     "not_found")
        self.refused(bob.request("GET", f"/v1/actions/{own['id']}"), 404, "not_found")
        self.refused(self.agent.request("POST", "/v1/projects/shop/actions", SCALE), 404, "not_found",
                     "project shop of root")
        status, asked = self.agent.request("POST", "/v1/projects/shop/actions?tenant=nobody", LOGS)
        self.assertEqual((status, asked["tenant"], asked["by"]), (202, "nobody", "root"))
        self.assertEqual(bob.request("PUT", "/v1/projects/shop", REPORT)[1]["items"], [])
        offered = alice.request("PUT", "/v1/projects/shop", REPORT)[1]["items"]
        self.assertEqual([each["by"] for each in offered], ["nobody", "root"])
        # Another's supervisor cannot say what came of it.
        bob.request("PUT", "/v1/projects/shop",
                    {**REPORT, "results": [{"id": own["id"], "state": "done", "why": ""}]})
        self.assertEqual(self.agent.get(f"/v1/actions/{own['id']}")["state"], "waiting")
        audit = self.agent.get("/v1/audit")["items"]
        self.assertIn(("project.act", "shop", "logs of shop-web-1", "root"),
                      [(each["action"], each["object"], each["detail"], each["who"]["subject"])
                       for each in audit])

    def test_a_tenant_sees_its_own(self):
        alice, bob = self.other(65534), self.other(65533)

        for holder, ready in ((alice, 1), (bob, 0)):
            answer = holder.request("PUT", "/v1/projects/shop",
                                    changed((*OF_SERVICE, "ready"), ready))
            self.assertEqual(answer[0], 200)
        for holder, ready in ((alice, 1), (bob, 0)):
            own, = holder.request("GET", "/v1/projects")[1]["items"]
            self.assertEqual(own["services"][0]["ready"], ready)
        both = self.agent.get("/v1/projects")["items"]
        self.assertEqual([each["tenant"] for each in both], ["nobody", "65533"])
        bob.kill()
        self.assertTrue(wait_until(lambda: len(self.agent.get("/v1/projects")["items"]) == 1))


if __name__ == "__main__":
    main()
