#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The permissions of an agent for all users: scopes by route, what tenants see of each
other, groups, CORS, and the audit.  Users are daemon, games, man and `nobody`, which every
Debian has."""
import json
import os
import re
import select
import signal
import sqlite3
import time
import unittest

import openapi
from harness import main, wait_until
from web_client import WebCase

NO_ONE, ALL = "anybody", {"admin", "viewer", "tenant"}
LOOK, CHANGE, ADMIN = {"admin", "viewer"}, {"admin", "tenant"}, {"admin"}
# The callers that may use each route; a route that is missing here fails the test.
MATRIX = {
    "GET /healthz": NO_ONE, "GET /readyz": NO_ONE, "GET /openapi.json": NO_ONE,
    "GET /console/nodes.json": ALL, "GET /v1/version": ALL, "GET /v1/whoami": ALL,
    "GET /v1/devices": ALL, "POST /v1/devices/{device}/close": ADMIN,
    "POST /v1/devices/{device}/cordon": ADMIN,
    "POST /v1/devices/{device}/drain": ADMIN, "POST /v1/devices/{device}/uncordon": ADMIN,
    "GET /v1/leases": ALL, "POST /v1/leases": CHANGE, "GET /v1/leases/{lease}": ALL,
    "PATCH /v1/leases/{lease}": CHANGE, "DELETE /v1/leases/{lease}": CHANGE,
    "POST /v1/leases/{lease}/holders": CHANGE, "GET /v1/shares": ALL,
    "GET /v1/events": ALL, "GET /v1/events/stream": ALL, "GET /v1/node": ALL,
    "POST /v1/plan": ALL, "POST /v1/apply": ADMIN, "GET /v1/layout": ALL,
    "PUT /v1/layout": ADMIN, "GET /v1/profiles": ALL, "POST /v1/partitions": ADMIN,
    "DELETE /v1/partitions": ADMIN, "GET /v1/operations": ALL,
    "GET /v1/operations/{operation}": ALL, "DELETE /v1/operations/{operation}": ADMIN,
    "GET /metrics": LOOK, "GET /v1/history": ALL, "GET /v1/advice": ALL,
    "POST /v1/backup": ADMIN, "POST /v1/reload": ADMIN,
    "POST /v1/placements": CHANGE,
    "GET /v1/projects": ALL, "PUT /v1/projects/{project}": CHANGE,
    "POST /v1/projects/{project}/actions": CHANGE, "GET /v1/actions/{action}": CHANGE,
    "GET /v1/tenants": ALL, "GET /v1/tokens": ADMIN, "POST /v1/tokens": ADMIN,
    "DELETE /v1/tokens/{token}": ADMIN, "GET /v1/audit": LOOK,
}
SETTINGS = {"admins": ["group:man"], "viewers": ["group:daemon"],
            "origins": ["https://console.example"]}


@unittest.skipUnless(os.geteuid() == 0, "needs root to be several users")
class AccessCase(WebCase):
    system = True
    users = {"admin": "man", "viewer": "daemon", "tenant": "games", "root": "root"}

    def make_settings(self):
        return {"version": 1, **SETTINGS, "listen": {"port": self.port}}


class Scopes(AccessCase):
    def start_asking(self, client, method, path):
        url = path
        for word in ("{action}", "{device}", "{lease}", "{operation}", "{project}", "{token}"):
            url = url.replace(word, "nothing")
        if path == "/v1/events/stream":
            connection = client.open()
            connection.request(method, url, headers={"Authorization": "Bearer " +
                                                     (client.token or "")})
            answer = connection.getresponse()
            connection.close()
            return answer.status
        answer = client.send(method, url, "x: nothing" if method in ("POST", "PUT") else None)
        if answer.status == 403:
            self.assertRegex(answer.json["detail"], r"\A(a (viewer|tenant) may not|only root, or an "
                             r"admin by this node's settings, may) use %s %s \([^()]+\): use %s\Z" %
                             (method, re.escape(path), "another token" if client.token else "sudo"))
        return answer.status

    def check(self, clients):
        document = self.client().get("/openapi.json")
        routes = {m + " " + p for p, m, _ in openapi.operations(document)}
        self.assertEqual(routes, set(MATRIX))
        for route in sorted(routes):
            method, path = route.split()
            for scope, client in clients.items():
                status = self.start_asking(client, method, path)
                may = MATRIX[route] == NO_ONE or scope in MATRIX[route]
                self.assertEqual(status not in (401, 403), may, (route, scope, status))
                self.assertTrue(status < 500 or path == "/readyz", route)

    def test_users(self):
        clients = {scope: self.client(user) for scope, user in self.users.items()
                   if scope != "root"}
        for scope, client in clients.items():
            who = client.get("/v1/whoami")
            self.assertEqual((who["scope"], who["subject"], who["system"], who["token"]),
                             (scope, self.users[scope], True, None))
        self.check(clients)

    def test_tokens(self):
        tokens = {scope: self.token(scope, **({"tenant": "games"} if scope == "tenant" else {}))
                  for scope in ("admin", "viewer", "tenant")}
        clients = {scope: self.over_tcp(token) for scope, token in tokens.items()}
        clients["none"] = self.over_tcp()
        self.check(clients)
        answer = clients["none"].send("GET", "/v1/version")
        self.assertEqual(answer.headers["WWW-Authenticate"], "Bearer")
        self.problem(answer, 401, "unauthenticated", "token")

    def test_a_lease_is_not_made_over_the_network(self):
        for scope, more in (("admin", {}), ("tenant", {"tenant": "games"})):
            client = self.over_tcp(self.token(scope, **more))
            self.problem(client.send("POST", "/v1/leases", {"share": 0.1}), 400, "bad_request",
                         "on the node")

    def test_one_users_agent_is_not_for_others(self):
        self.agent.stop()
        self.agent.arguments.remove("--system")
        self.agent.start()
        os.chmod(self.agent.runtime, 0o755)
        for name in os.listdir(self.agent.runtime):
            os.chmod(os.path.join(self.agent.runtime, name), 0o777)
        self.problem(self.client("games").send("GET", "/v1/version"), 403, "not_permitted",
                     "use your own")

    def test_origins(self):
        for origin, may in (("https://console.example", True), ("https://console.example/", False),
                            ("http://console.example", False), ("null", False), ("*", False),
                            ("https://console.example.evil", False), ("", False)):
            for method in ("GET", "OPTIONS"):
                answer = self.over_tcp().send(method, "/v1/leases", headers={"Origin": origin})
                said = answer.headers.get("Access-Control-Allow-Origin")
                self.assertEqual(said, origin if may else None)
                self.assertIsNone(answer.headers.get("Access-Control-Allow-Credentials"))
                self.assertEqual(answer.headers.get("Vary"), "Origin")
                self.assertEqual("ETag" in answer.headers.get(
                    "Access-Control-Expose-Headers", ""), may)
                self.assertEqual(answer.status, 401 if method == "GET" else 204)


class Tenants(AccessCase):
    """The user games has leases that the user `nobody` must not see."""

    secret = "secret-name"

    def setUp(self):
        super().setUp()
        self.lease = self.lease_as("games", name=self.secret, device="gpu0", command="clandestine")
        self.queued = self.lease_as("games", name=self.secret + "2", device="gpu0", share=1,
                                    wait=True)
        self.other = self.client("nobody")

    def assert_silent(self, answer):
        for word in (self.secret, self.lease["id"], self.queued["id"], "clandestine", "games"):
            self.assertNotIn(word, answer.text.decode(), answer)

    def test_by_id_and_name(self):
        for method, body in (("GET", None), ("PATCH", {"share": 0.2}), ("DELETE", None)):
            for ending in ("", "?force=true") if method == "DELETE" else ("",):
                for name in (self.lease["id"], self.secret, self.queued["id"]):
                    answer = self.other.send(method, "/v1/leases/" + name + ending, body)
                    nothing = self.other.send(method, "/v1/leases/nothing" + ending, body)
                    self.problem(answer, 404, "not_found")
                    self.assertEqual(answer.text, nothing.text)
        for name in (self.lease["id"], self.secret):
            self.problem(self.other.send("GET", "/v1/advice?lease=" + name), 404, "not_found")
            self.assertEqual(self.client("games").get("/v1/advice?lease=" + name)["items"], [])
        self.assertEqual(len(self.client("games").get("/v1/leases")["items"]), 2)

    def test_lists(self):
        for url in ("/v1/leases", "/v1/leases?tenant=games", "/v1/leases?device=gpu0",
                    "/v1/leases?state=queued", "/v1/leases?limit=1", "/v1/leases?after=0&limit=1",
                    "/v1/events", "/v1/events?after=0&limit=1", "/v1/events?after=1&limit=1",
                    "/v1/tenants", "/v1/operations", "/v1/node", "/v1/devices", "/v1/advice"):
            answer = self.other.send("GET", url)
            self.assertEqual(answer.status, 200, url)
            self.assert_silent(answer)
        self.assertEqual(self.other.get("/v1/leases")["items"], [])
        self.assertEqual([t["name"] for t in self.other.get("/v1/tenants")["items"]],
                         ["nobody"])

    def test_tokens_of_a_tenant(self):
        client = self.over_tcp(self.token("tenant", tenant="nobody"))
        self.assertEqual(client.get("/v1/leases")["items"], [])
        self.assert_silent(client.send("GET", "/v1/events"))
        own = self.over_tcp(self.token("tenant", tenant="games"))
        self.assertEqual(len(own.get("/v1/leases")["items"]), 2)
        self.assertEqual(own.send("DELETE", "/v1/leases/" + self.queued["id"]).status, 204)

    def test_stream(self):
        streams = []
        for user in ("nobody", "games"):
            connection = self.client(user).open()
            connection.request("GET", "/v1/events/stream?after=0")
            streams.append(connection.getresponse())
        self.lease_as("games", name=self.secret + "3")
        self.lease_as("nobody", name="own")
        texts = []
        for stream, user in zip(streams, ("nobody", "games")):
            self.lease_as(user, name="last", share=0.01)
            text = b""
            while b'"name":"last"' not in text:
                text += stream.read1(65536)
            texts.append(text.decode())
        self.assertNotIn(self.secret, texts[0])
        self.assertIn('"name":"own"', texts[0])
        self.assertIn(self.secret + "3", texts[1])
        self.assertNotIn('"name":"own"', texts[1])

    def test_plans(self):
        layout = ("version: 1\ndevices:\n  - select: {index: 0}\n    mig: on\n"
                  "    partitions: [{profile: 1g.5gb}]\n")
        answer = self.other.send("POST", "/v1/plan", layout)
        self.assertTrue(answer.json["obstacles"][0]["holders"], answer)
        self.assert_silent(answer)
        mine = self.client("games").send("POST", "/v1/plan", layout)
        self.assertIn(self.secret, mine.text.decode())
        op = self.client().send("POST", "/v1/apply?on_busy=wait", layout).json["id"]
        self.assertTrue(wait_until(lambda: self.client().get(
            "/v1/operations/" + op)["obstacles"]))
        self.assert_silent(self.other.send("GET", "/v1/operations/" + op))
        self.assert_silent(self.other.send("GET", "/v1/operations"))
        self.client().send("DELETE", "/v1/operations/" + op)
        op = self.client().send("POST", "/v1/apply?on_busy=fail", layout).json["id"]
        self.assertTrue(wait_until(lambda: self.client().get(
            "/v1/operations/" + op)["state"] == "failed"))
        self.assertIn(self.secret, self.client().send("GET", "/v1/operations/" + op).text.decode())
        for url in ("/v1/operations/" + op, "/v1/operations", "/v1/events"):
            self.assert_silent(self.other.send("GET", url))
        failed = [[each["message"] for each in self.client(who).get("/v1/events")["items"]
                   if each["type"] == "apply_failed"] for who in ("root", "games")]
        self.assertEqual([len(each) for each in failed], [2, 0])
        self.assertIn(self.secret, failed[0][1])

    def test_what_is_in_the_way(self):
        """Leases and processes in the way of the kept layout, or of an operation of an earlier
        agent, are named to admins only."""
        layout = ("version: 1\ndevices:\n  - select: {index: 3}\n    mig: on\n"
                  "    partitions: [{profile: 1g.5gb}]\n")
        op = self.client().send("POST", "/v1/apply", layout).json["id"]
        self.assertTrue(wait_until(lambda: self.client().get(
            "/v1/operations/" + op)["state"] == "done"))
        self.agent.stop()
        os.unlink(os.path.join(self.agent.state, "sim-node"))
        with open(os.path.join(self.files, self.node + ".yaml"), "a", encoding="utf-8") as file:
            file.write("  - {on: gpu3, process: clandestine, pid: 4194000}\n")
        why = f"gpu0 is in use by lease {self.secret} of games: it would be destroyed"
        past = {"id": "o1", "what": "x", "state": "failed", "obstacles": [], "steps": [],
                "error": {"status": 500, "code": "internal", "detail": f"it failed; {why}"},
                "left": [{"device": "gpu0", "uuid": "GPU-0", "steps": [], "why": why}]}
        with sqlite3.connect(os.path.join(self.agent.state, "cleaved.db")) as db:
            db.execute("INSERT INTO journal(id, state, started_ns, json) VALUES('o1', 'failed', 1, ?)",
                       [json.dumps(past)])
        db.close()
        self.agent.start()
        self.assertTrue(wait_until(lambda: [each["state"] for each in self.client().get(
            "/v1/layout?of=wanted")["devices"]] == ["busy"]), self.agent.log())
        seen = "".join(self.client().send("GET", url).text.decode()
                       for url in ("/v1/operations", "/v1/layout?of=wanted"))
        self.assertIn(why, seen)
        self.assertIn("4194000", seen)
        for url in ("/v1/layout?of=wanted", "/v1/operations", "/v1/operations/o1", "/v1/node",
                    "/v1/events"):
            answer = self.other.send("GET", url)
            self.assertEqual(answer.status, 200, answer)
            self.assert_silent(answer)
            self.assertNotIn("4194000", answer.text.decode())
        self.assertEqual([(each["state"], each["why"]) for each in
                          self.other.get("/v1/layout?of=wanted")["devices"]],
                         [("busy", "admins see what is in the way")])

    def uses_of_shares(self, client):
        return [(each["in_use"], each["lease"]) for each in client.get("/v1/shares")["items"]]

    def test_refusals(self):
        layout = ("version: 1\ndevices:\n  - select: {index: 3}\n    shares:\n"
                  "      - {name: serve, share: 0.5}\n")
        op = self.client().send("POST", "/v1/apply", layout).json["id"]
        wait_until(lambda: self.client().get("/v1/operations/" + op)["state"] == "done")
        self.assertEqual(self.uses_of_shares(self.other), [(False, None)])
        taken = self.client("games").send("POST", "/v1/leases",
                                          {"in": "serve", "name": self.secret + "5"})
        self.assertEqual(taken.status, 201, taken)
        for who, lease in (("games", taken.json["id"]), ("man", taken.json["id"]),
                           ("nobody", None)):
            self.assertEqual(self.uses_of_shares(self.client(who)), [(True, lease)])
        for wanted in ({"in": "serve"}, {"share": 1, "device": "gpu0"},
                       {"share": 0.95, "device": "gpu0"}, {"count": 8}):
            answer = self.other.send("POST", "/v1/leases", wanted)
            self.problem(answer, 409, "does_not_fit")
            self.assert_silent(answer)
        # A lease of the tenant's own may have the same name.
        self.lease_as("nobody", name=self.secret)

    def test_idempotency_keys(self):
        key = {"Idempotency-Key": "k"}
        wanted = {"share": 0.01, "device": "gpu5"}
        first = self.client("games").send("POST", "/v1/leases", wanted, key).json["id"]
        second = self.other.send("POST", "/v1/leases", wanted, key)
        self.assertEqual((second.status, second.headers["Idempotency-Replayed"]), (201, None))
        self.assertNotEqual(first, second.json["id"])
        again = self.other.send("POST", "/v1/leases", wanted, key)
        self.assertEqual((again.json["id"], again.headers["Idempotency-Replayed"]),
                         (second.json["id"], "true"))
        self.problem(self.other.send("POST", "/v1/leases", {"share": 0.02}, key), 400,
                     "bad_request", "Idempotency-Key")

    def test_leases_of_one_name(self):
        self.lease_as("nobody", name=self.secret)
        self.problem(self.client().send("GET", "/v1/leases/" + self.secret), 400, "bad_request")
        self.assertEqual(self.other.get("/v1/leases/" + self.secret)["tenant"], "nobody")

    def test_a_long_poll_ends_without_a_word(self):
        """A tenant cannot even detect that a lease of another tenant changes."""
        polling = self.client().open()
        polling.request("GET", "/v1/leases/%s?wait_ms=60000&while=queued" % self.queued["id"])
        answer = self.other.send("GET", "/v1/leases/%s?wait_ms=60000&while=queued" %
                                 self.queued["id"])
        self.problem(answer, 404, "not_found")
        self.assertFalse(select.select([polling.sock], [], [], 0)[0], "who may see it waits")
        polling.close()


class Keys(AccessCase):
    """A key belongs to one request."""

    def test_the_query_is_part_of_it(self):
        root = self.client()
        wanted = {"device": "gpu0", "profile": "1g.5gb"}
        dry = root.send("POST", "/v1/partitions?dry_run=true", wanted, {"Idempotency-Key": "a"})
        self.assertIn("steps", dry.json)
        done = root.send("POST", "/v1/partitions", wanted, {"Idempotency-Key": "a"})
        self.assertEqual(done.status, 202, done)
        again = root.send("POST", "/v1/partitions", wanted, {"Idempotency-Key": "a"})
        self.assertEqual((again.json["id"], again.headers["Idempotency-Replayed"]),
                         (done.json["id"], "true"))
        wait_until(lambda: root.get("/v1/operations/" + done.json["id"])["ended_at"])
        layout = "version: 1\ndevices: []\n"
        first = root.send("POST", "/v1/apply?on_busy=wait", layout, {"Idempotency-Key": "b"})
        self.assertEqual(first.status, 202, first)
        url = "/v1/operations/" + first.json["id"]
        wait_until(lambda: root.get(url)["state"] == "done")
        self.problem(root.send("POST", "/v1/apply?on_busy=fail", layout,
                               {"Idempotency-Key": "b"}), 400, "bad_request", "another request")
        self.problem(root.send("PUT", "/v1/layout?on_busy=wait", layout,
                               {"Idempotency-Key": "b"}), 400, "bad_request", "another request")

    def test_duplicate_fields_are_refused_everywhere(self):
        root = self.client()
        for url, body in (
                ("/v1/partitions", '{"device":"gpu0","device":"gpu1","profile":"1g.5gb"}'),
                ("/v1/tokens", '{"name":"a","scope":"viewer","scope":"admin"}'),
                ("/v1/leases", '{"share":0.1,"share":0.2}'),
                ("/v1/devices/gpu0/cordon", '{"reason":"a","reason":"b"}')):
            self.problem(root.send("POST", url, body), 400, "bad_request")


class Audit(AccessCase):
    def entries(self):
        return self.client().get("/v1/audit?limit=10000")["items"]

    def test_each_change_and_each_attempt(self):
        tenant, viewer, root = self.client("games"), self.client("daemon"), self.client()
        secret = self.token("admin")
        network = self.over_tcp(secret)
        lease = self.lease_as("games", name="a")["id"]
        tenant.send("PATCH", "/v1/leases/a", {"share": 0.2})
        tenant.send("PATCH", "/v1/leases/a", {"share": 7})
        self.client("nobody").send("DELETE", "/v1/leases/" + lease)
        viewer.send("DELETE", "/v1/leases/" + lease)
        tenant.send("POST", "/v1/tokens", {"name": "x", "scope": "admin"})
        network.send("POST", "/v1/devices/gpu1/cordon", {"reason": "why not"})
        network.send("DELETE", "/v1/leases/" + lease)
        root.send("POST", "/v1/leases", "x" * 70000)
        tenant.send("GET", "/v1/leases")
        found = [(e["who"]["subject"], e["action"], e["result"]) for e in self.entries()]
        self.assertEqual(found, [
            ("root", "token.create", "ok"), ("games", "lease.create", "ok"),
            ("games", "lease.resize", "ok"), ("games", "lease.resize", "bad_request"),
            ("nobody", "lease.release", "not_found"),
            ("daemon", "lease.release", "not_permitted"),
            ("games", "token.create", "not_permitted"),
            ("t-admin", "device.cordon", "ok"), ("t-admin", "lease.release", "ok"),
            ("root", "lease.create", "too_large")])
        entries = self.entries()
        self.assertTrue(entries[7]["from"].startswith("127.0.0.1:"), entries[7])
        self.assertEqual((entries[7]["who"]["uid"], entries[7]["object"], entries[7]["detail"]),
                         (None, "gpu1", "why not"))
        self.assertEqual(entries[7]["who"]["token"], secret.split("_")[1])
        self.assertEqual((entries[1]["from"], entries[1]["object"]), ("unix", lease))
        self.assertEqual([e["id"] for e in entries], sorted({e["id"] for e in entries}))
        self.assertNotIn(secret.split("_")[2], json.dumps(entries))
        self.assertNotIn(secret.split("_")[2], self.agent.log())

    def test_it_does_not_help_to_hang_up(self):
        """The forced end of a lease is recorded when it begins, whether the caller waits or not."""
        holder = self.holder()
        lease = holder.lease(share=0.1, name="a", device="gpu0")
        holder.do("attach", socket=lease["socket"])
        os.kill(holder.pid, signal.SIGSTOP)  # it ends when it is killed, in 5 s
        connection = self.client().open()
        connection.request("DELETE", "/v1/leases/a?force=true")
        time.sleep(0.2)
        connection.close()
        self.assertTrue(wait_until(lambda: not self.client().get("/v1/leases")["items"], 15))
        found = [(e["action"], e["object"]) for e in self.entries()]
        self.assertIn(("lease.release", lease["id"]), found)

    def test_the_next_agent_has_it(self):
        self.lease_as("games")
        before = self.entries()
        self.agent.stop()
        self.agent.start()
        self.assertEqual(self.entries()[:len(before)], before)

    def test_paging(self):
        for i in range(7):
            self.client("games").send("DELETE", "/v1/leases/x%d" % i)
        items, after = [], 0
        while after is not None:
            page = self.client().get("/v1/audit?limit=3&after=%d" % after)
            items += page["items"]
            after = page["next"]
        self.assertEqual([e["object"] for e in items], ["x%d" % i for i in range(7)])


if __name__ == "__main__":
    main()
