#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One user's requests against another's: how many of them come first, and how much one may ask for.

usage: as harness.py says
"""
import contextlib
import re
import signal
import socket
import ssl
import sys

from harness import UnixConnection, main
from test_tokens import make_certificate
from web_client import WebCase

N = 100


def request(target, secret):
    return (f"GET {target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {secret}\r\n\r\n").encode()


def read_answer(s):
    text = b""
    while b"\r\n\r\n" not in text:
        text += s.recv(65536)
    n = int(re.search(rb"Content-Length: (\d+)", text).group(1))
    while len(text.partition(b"\r\n\r\n")[2]) < n:
        text += s.recv(65536)
    return text.decode()


class Turns(WebCase):
    def make_settings(self):
        return {"version": 1, "listen": {"port": self.port}}

    def connect(self, secret):
        """A connection with a token that the agent has seen."""
        s = socket.create_connection(("127.0.0.1", self.port), 60)
        self.addCleanup(s.close)
        s.sendall(request("/v1/version", secret))
        read_answer(s)
        return s

    def test_a_user_with_many_heavy_requests(self):
        for _ in range(N):
            self.agent.request("POST", "/v1/leases", {"keep": True, "share": 0.001})
        secrets = [self.token("viewer") for _ in range(2)]
        heavy = [self.connect(secrets[0]) for _ in range(N)]
        light = self.connect(secrets[1])
        # All requests are there when the agent looks, those of the first user before the other's.
        self.agent.process.send_signal(signal.SIGSTOP)
        for s in heavy:
            s.sendall(request("/v1/leases", secrets[0]))
        light.sendall(request("/metrics", secrets[1]))
        self.agent.process.send_signal(signal.SIGCONT)
        before = re.findall(r'^cleave_api_requests_total\{(?=.*method="GET").*"/v1/leases".*\} (\S+)$',
                            read_answer(light), re.MULTILINE)
        self.assertLess(sum(map(float, before)), N / 2)
        for s in heavy:
            self.assertIn(" 200 ", read_answer(s)[:20])


class Handshakes(WebCase):
    def make_settings(self):
        certificate, key = make_certificate(self.files, "tls")
        return {"version": 1, "listen": {"port": self.port, "address": "127.0.0.1",
                                         "certificate": certificate, "key": key}}

    def make_hello(self):
        """The first data of a handshake."""
        context = ssl.create_default_context()
        to_agent = ssl.MemoryBIO()
        with contextlib.suppress(ssl.SSLWantReadError):
            context.wrap_bio(ssl.MemoryBIO(), to_agent, server_hostname="127.0.0.1").do_handshake()
        return to_agent.read()

    def test_many_at_once(self):
        hello, many = self.make_hello(), []
        light = UnixConnection(self.agent.api)
        light.request("GET", "/metrics")
        text = light.getresponse().read().decode()
        for _ in range(N):
            many.append(socket.create_connection(("127.0.0.1", self.port), 60))
            self.addCleanup(many[-1].close)
        self.agent.process.send_signal(signal.SIGSTOP)
        for s in many:
            s.sendall(hello)
        light.sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 3)
        self.agent.process.send_signal(signal.SIGCONT)
        while text.count("\nprocess_start_time_seconds ") < 4:
            text += light.sock.recv(65536).decode()
        counts = list(map(float, re.findall(r"^process_open_fds (\S+)$", text, re.MULTILINE)))
        self.assertLess(counts[-1] - counts[0], N / 2)
        for s in many:
            self.assertNotEqual(s.recv(1), b"")  # it is answered, later
        light.close()


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
