#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""/openapi.json against the agent that it describes: it is valid OpenAPI 3.1, every route in it
answers, every answer conforms to it, and so does the answer to every random request that is
generated from it.

CLEAVE_REQUESTS=N: the number of random requests (2000).  CLEAVE_SEED: another seed.
"""
import os
import random
import time
import urllib.parse

import openapi
from harness import PATIENCE_S, main, wait_until
from measured import bound
from test_projects import REPORT
from web_client import WebCase

REQUESTS = int(os.environ.get("CLEAVE_REQUESTS", "2000"))
SEED = int(os.environ.get("CLEAVE_SEED", "1"))
LAYOUT = ("version: 1\ndevices:\n  - select: {index: %d}\n    mig: on\n"
          "    partitions: [{profile: 1g.5gb, count: 2}]\n")


class ApiCase(WebCase):
    def setUp(self):
        super().setUp()
        self.document = self.client().get("/openapi.json")
        self.asked = set()

    def ask(self, method, url, body=None, status=None, client=None, **headers):
        """Sends a request, and compares the answer with the document."""
        answer = (client or self.root).send(method, url, body, headers)
        path, operation = openapi.find(self.document, method, url)
        self.assertIsNotNone(operation, (method, url))
        self.asked.add((method, path))
        if status is not None:
            self.assertEqual(answer.status, status, (method, url, answer))
            self.assertIn(str(status), [*operation["responses"], str(max(status, 400))])
        self.assertIsNone(openapi.wrong_answer(self.document, method, url, answer),
                          (method, url, answer))
        return answer

    @property
    def root(self):
        if not getattr(self, "root_client", None):
            self.root_client = self.client()
        return self.root_client


class Document(ApiCase):
    settings = {"tenants": [{"user": "games", "share": 2, "memory": "8G", "leases": 3,
                             "profiles": ["1g.5gb"], "classes": ["normal"]}],
                "nodes": [{"name": "other", "url": "https://other:7780"}]}

    def test_is_openapi(self):
        self.assertEqual(list(openapi.flaws(self.document)), [])

    def test_operations_have_names_of_their_own(self):
        names = [operation["operationId"] for methods in self.document["paths"].values()
                 for operation in methods.values()]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual({"getLeases", "postLeases", "patchLeasesByLease",
                              "postDevicesByDeviceCordon", "getOpenapiJson"}, set(names))

    def test_parameters(self):
        """All that the agent reads are there, and it refuses others."""
        def of(method, path):
            return {each["name"]: each["required"] for each in
                    self.document["paths"][path][method]["parameters"] if each["in"] == "query"}
        self.assertEqual(of("get", "/v1/advice"), {"lease": False, "limit": False, "after": False})
        self.assertTrue(of("get", "/v1/history")["of"])
        self.assertEqual(of("delete", "/v1/partitions"), {"name": True})
        for url in ("/v1/leases?limi=3", "/v1/devices?device=gpu0", "/v1/leases/x?wait_ms=1&a=b"):
            self.assertEqual(self.root.send("GET", url).status, 400)
        self.assertRegex(self.root.send("GET", "/v1/leases?limi=3").json["detail"],
                         "no parameter 'limi' in its query: it has tenant, device, .*, after")
        for odd in ("%00=1", "%ff", "%0a=b", "=", "limit", "limit=1&limit=1",
                    "limit=1&tenant=a&limit=2"):
            self.assertEqual(self.root.send("GET", "/v1/leases?" + odd).status, 400, odd)
        self.assertIn("limit=VALUE, once",
                      self.root.send("GET", "/v1/leases?limit=1&limit=2").json["detail"])

    def test_every_schema_is_used(self):
        text = str(self.document["paths"]) + str(self.document["components"])
        for name in self.document["components"]["schemas"]:
            self.assertIn(openapi.REF + name + "'", text)

    def finish(self, answer):
        url = "/v1/operations/" + answer.json["id"]
        ended = {"done", "failed", "rolled_back"}
        return wait_until(lambda: self.ask("GET", url, status=200).json["state"] in ended)

    def use_leases(self):
        one = self.ask("POST", "/v1/leases", {"name": "one", "share": 0.4, "device": "gpu1",
                                              "time": 600, "command": "python3"}, 201)
        self.ask("POST", "/v1/leases", {"share": 1, "device": "gpu1", "wait": True}, 201)
        self.ask("POST", "/v1/leases", {"count": 2, "name": "two"}, 201)
        self.ask("GET", "/v1/leases", status=200)
        self.ask("GET", "/v1/leases?state=queued&limit=1&device=gpu1", status=200)
        self.ask("GET", "/v1/leases/one", status=200)
        self.ask("PATCH", "/v1/leases/one", {"cap": 0.5, "class": "batch"}, 200)
        self.ask("PATCH", "/v1/leases/one", {"cap": 7}, 400)
        self.ask("POST", "/v1/leases/one/holders", {"pid": os.getpid()}, 200)
        self.ask("POST", "/v1/leases/one/holders", {"pid": 0}, 400)
        self.ask("DELETE", "/v1/leases/two", status=204)
        self.ask("POST", "/v1/leases", {"name": "two", "share": 0.1, "keep": True,
                                        "admit": "socket", "user": 0}, 201)
        self.ask("DELETE", "/v1/leases/two", status=204)
        self.ask("DELETE", "/v1/leases/two", status=404)
        place = {"lease": {"share": 0.3}, "instead_of": "one", "ends_first": True}
        both = [place, {"lease": {"share": 1}}]
        self.ask("POST", "/v1/placements", {"leases": both, "gone": ["none"]}, 200)
        self.ask("POST", "/v1/placements", {"leases": [{"share": 1}]}, 400)
        return one

    def use_partitions(self):
        self.ask("GET", "/v1/node", status=200)
        self.ask("GET", "/v1/shares", status=200)
        self.ask("GET", "/v1/profiles", status=200)
        self.ask("GET", "/v1/profiles?device=gpu0", status=200)
        self.ask("GET", "/v1/layout", status=200)
        self.ask("POST", "/v1/plan?name=x", LAYOUT % 0, 200)
        self.ask("POST", "/v1/plan", "version: 9", 400)
        self.finish(self.ask("POST", "/v1/apply?on_busy=fail", LAYOUT % 0, 202))
        self.ask("GET", "/v1/layout?of=wanted", status=200)
        wanted = {"device": "gpu0", "profile": "1g.5gb"}
        self.ask("POST", "/v1/partitions?dry_run=true", wanted, 200)
        self.finish(self.ask("POST", "/v1/partitions", wanted, 202, **{"Idempotency-Key": "k"}))
        again = self.ask("POST", "/v1/partitions", wanted, 202, **{"Idempotency-Key": "k"})
        self.assertEqual(again.headers["Idempotency-Replayed"], "true")
        names = [p["name"] for d in self.root.get("/v1/node")["devices"]
                 for p in d["partitions"]]
        self.finish(self.ask("DELETE", "/v1/partitions?name=" + urllib.parse.quote(names[0]),
                             status=202))
        tag = self.root.send("GET", "/v1/layout").headers["ETag"]
        self.ask("PUT", "/v1/layout", LAYOUT % 0, 412, **{"If-Match": '"x"'})
        self.ask("PUT", "/v1/layout", LAYOUT % 0, 412, **{"If-Match": '"x", W/' + tag})
        done = self.ask("PUT", "/v1/layout", LAYOUT % 0, 202, **{
            "If-Match": f'"x", W/{tag}, {tag}'})
        self.finish(done)
        self.ask("DELETE", "/v1/operations/" + done.json["id"], status=200)
        waits = self.ask("POST", "/v1/apply?on_busy=wait", LAYOUT % 1, 202)
        url = "/v1/operations/" + waits.json["id"]
        wait_until(lambda: self.ask("GET", url, status=200).json["state"] == "waiting")
        self.ask("GET", "/v1/operations", status=200)
        self.ask("DELETE", url, status=200)

    def use_projects(self):
        self.ask("PUT", "/v1/projects/shop", REPORT, 200)
        self.ask("GET", "/v1/projects", status=200)
        asked = self.ask("POST", "/v1/projects/shop/actions",
                         {"do": "scale", "service": "web", "replicas": 2}, 202).json
        self.ask("PUT", "/v1/projects/shop", {**REPORT, "results": [
            {"id": asked["id"], "state": "done", "why": "as asked", "output": ["a line"], "cut": True}]}, 200)
        self.ask("GET", f"/v1/actions/{asked['id']}", status=200)

    def use_the_rest(self):
        for url in ("/healthz", "/readyz", "/openapi.json", "/console/nodes.json",
                    "/v1/version", "/v1/whoami", "/v1/devices", "/v1/events?limit=3",
                    "/v1/tenants", "/v1/audit?limit=4", "/metrics",
                    "/v1/history?of=device:gpu0", "/v1/advice", "/v1/advice?limit=1000"):
            self.ask("GET", url, status=200)
        self.ask("GET", "/v1/history?of=device:gpu99", status=404)
        self.ask("GET", "/v1/advice?lease=nobody", status=404)
        self.ask("POST", "/v1/backup", status=201)
        self.ask("POST", "/v1/reload", status=204)
        for verb, status in (("cordon", 200), ("uncordon", 200), ("drain", 202)):
            self.ask("POST", "/v1/devices/gpu5/" + verb, {"reason": "test"}, status)
        self.ask("POST", "/v1/devices/gpu99/cordon", status=404)
        self.ask("POST", "/v1/devices/gpu5/close", status=204)
        self.ask("POST", "/v1/devices/gpu99/close", status=404)
        wanted = {"name": "t", "scope": "viewer", "expires_in": 60}
        token = self.ask("POST", "/v1/tokens", wanted, 201, **{"Idempotency-Key": "t"}).json
        again = self.ask("POST", "/v1/tokens", wanted, 201, **{"Idempotency-Key": "t"}).json
        self.assertEqual((again["id"], "secret" in token, "secret" in again),
                         (token["id"], True, False))
        self.ask("POST", "/v1/tokens", {"name": "u", "scope": "admin"}, 201)
        self.ask("GET", "/v1/tokens", status=200)
        self.ask("GET", "/v1/events", status=200)
        self.ask("GET", "/v1/audit", status=200)
        self.ask("DELETE", "/v1/tokens/" + token["id"], status=204)

    def read_stream(self):
        connection = self.client().open()
        connection.request("GET", "/v1/events/stream?after=0")
        answer = connection.getresponse()
        self.assertEqual(answer.headers["Content-Type"], "text/event-stream")
        schema = {"$ref": openapi.REF + "Event"}
        lines = [answer.readline() for _ in range(12)]
        for line in lines:
            if line.startswith(b"data: "):
                event = openapi.json.loads(line[6:])
                self.assertEqual(list(openapi.differences(self.document, schema, event)), [])
        connection.close()
        self.asked.add(("GET", "/v1/events/stream"))

    def test_every_answer_follows_it(self):
        self.use_leases()
        self.use_partitions()
        self.use_projects()
        self.use_the_rest()
        self.read_stream()
        self.assertEqual({(m, p) for p, m, _ in openapi.operations(self.document)} - self.asked,
                         set())


class Nodes(ApiCase):
    """Devices of every kind, divided in every way."""
    node = "mixed"

    def test_a_node_divided_in_every_way(self):
        layout = ("version: 1\ndevices:\n"
                  "- {select: {name: gpu0}, partitions: [{profile: 3g.40gb, parts: [2c, 1c]}]}\n"
                  "- {select: {model: MI300X}, compute-mode: DPX}\n"
                  "- {select: {model: L40S}, vf: {count: 2, type: L40S-12Q}}\n"
                  "- {select: {model: T4}, shares: 2}\n"
                  "- {select: {vendor: cpu}, partitions: [{profile: 'cores:2', count: 2}]}\n")
        self.assertEqual(len(self.ask("POST", "/v1/plan", layout, 200).json["shares"]), 2)
        done = self.ask("POST", "/v1/apply", layout, 202).json["id"]
        self.assertTrue(wait_until(lambda: self.ask(
            "GET", "/v1/operations/" + done, status=200).json["state"] == "done"))
        node = self.ask("GET", "/v1/node", status=200).json["devices"]
        for way in ("mig", "xcp", "cores"):
            self.assertTrue(any(device[way] for device in node), way)
        functions = [f for device in node for f in device["vf"]["functions"]]
        self.assertTrue(functions)
        self.assertTrue(any(part["parts"] for device in node for part in device["partitions"]))
        self.assertTrue(any(device["holders"] for device in node))
        self.assertTrue(self.ask("POST", "/v1/plan", layout.replace("DPX", "SPX"),
                                 200).json["steps"])


class Chance(ApiCase):
    """Random requests."""

    def make_url(self, path, operation, chance):
        names = self.names[-20:] + openapi.STRINGS
        parts = [urllib.parse.quote(chance.choice(names).encode("utf-8", "surrogatepass"),
                                    safe="") if part[:1] == "{" else part
                 for part in path.split("/")]
        url = "/".join(parts)
        query = []
        for parameter in operation["parameters"]:
            if parameter["in"] != "query" or chance.random() < 0.5:
                continue
            value = openapi.value_of(self.document, parameter["schema"], chance)
            if parameter["name"] == "wait_ms":
                value = chance.choice([0, 1, "x", 600001, -1])
            text = str(value).encode("utf-8", "surrogatepass")
            query.append(parameter["name"] + "=" + urllib.parse.quote(text))
        return url + ("?" + "&".join(query) if query else "")

    def headers(self, chance):
        headers = {"Content-Type": chance.choice(openapi.KINDS)}
        if chance.random() < 0.2:
            headers["Idempotency-Key"] = chance.choice(["k", "k2", "", "x" * 300, "a b", "\xe4"])
        if chance.random() < 0.1:
            headers["If-Match"] = chance.choice(["*", '"x"', "", "x" * 2000])
        if chance.random() < 0.05:
            headers["Last-Event-ID"] = chance.choice(["0", "-1", "x", str(2**64)])
        return headers

    def note_names(self, answer):
        if answer.status >= 300 or answer.type != "application/json":
            return
        if isinstance(answer.json, dict) and "id" in answer.json:
            self.names.append(str(answer.json["id"]))

    def one(self, i, chance, routes):
        path, method, operation = routes[i % len(routes)]
        url = self.make_url(path, operation, chance)
        body = openapi.body_of(self.document, operation, chance)
        headers = self.headers(chance)
        begin = time.monotonic()
        answer = self.root.send(method, url, body, headers)
        took = time.monotonic() - begin
        said = "request %d of seed %d: %s %s %.300r %r: %r" % (
            i, SEED, method, url, body, headers, answer)
        self.slowest = max(self.slowest, (took, said))
        if answer.status >= 400 and (answer.status != 503 or path != "/readyz"):
            self.assertLess(answer.status, 500, said)
            self.assertEqual(answer.type, "application/problem+json", said)
            self.assertNotRegex(answer.json["detail"], r"[\x00-\x1f\x7f]", said)
            self.assertTrue(answer.json["detail"], said)
        self.assertIsNone(openapi.wrong_answer(self.document, method, url, answer), said)
        self.note_names(answer)

    def test_by_chance(self):
        chance = random.Random(SEED)
        routes = [r for r in openapi.operations(self.document)
                  if r[0] != "/v1/events/stream"]
        self.names, self.slowest = [], (0, "")
        for i in range(REQUESTS):
            self.one(i, chance, routes)
            if i % 100 == 99:
                for lease in self.root.get("/v1/leases")["items"]:
                    self.root.send("DELETE", "/v1/leases/%s?force=true" % lease["id"])
        self.assertLess(self.slowest[0], bound(1, PATIENCE_S), self.slowest[1])
        self.assertIsNone(self.agent.process.poll())
        for line in self.agent.log().splitlines():
            self.assertTrue(line.startswith("cleaved: "), line)


if __name__ == "__main__":
    main()
