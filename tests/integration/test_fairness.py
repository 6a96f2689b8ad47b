#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much one request may ask for.

usage: as harness.py says
"""
import sys

from harness import main
from web_client import WebCase

N = 100


class Pages(WebCase):
    def test_pages(self):
        for _ in range(N + 1):
            self.agent.request("POST", "/v1/leases", {"keep": True, "share": 0.001})
        first = self.agent.get("/v1/leases?limit=10000")
        self.assertEqual(len(first["items"]), 100)
        rest = self.agent.get("/v1/leases?limit=10000&after=%d" % first["next"])
        self.assertEqual((len(rest["items"]), rest["next"]), (N - 99, None))
        n = len(self.agent.events("lease_created"))
        for i in range(1001 - n):
            self.agent.request("PATCH", "/v1/leases/" + first["items"][0]["id"],
                               {"share": (1 + i % 2) / 1000})
        page = self.agent.get("/v1/events?limit=10000")
        self.assertEqual((len(page["items"]), page["next"]), (1000, page["items"][-1]["id"]))

    def test_the_document_of_the_api(self):
        """It is known to a client that has its tag."""
        client = self.client()
        answer = client.send("GET", "/openapi.json")
        tag = {"If-None-Match": answer.headers["ETag"]}
        self.assertEqual(client.send("GET", "/openapi.json").text, answer.text)
        known = client.send("GET", "/openapi.json", headers=tag)
        self.assertEqual((known.status, known.text), (304, b""))


if __name__ == "__main__":
    sys.exit(main())
