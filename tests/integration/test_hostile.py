#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile clients, and faults of the agent's machine: invalid and slow requests, floods of
connections and streams, clocks that jump, state files that are full, damaged, newer or another
agent's.  Meanwhile the waits of a well-behaved client are measured."""
import contextlib
import json
import os
import re
import resource
import select
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest

from harness import PATIENCE_S, PROGRAMS, Agent, Case, main, wait_until
from measured import bound
from web_client import Client, WebCase, acting_as

MIB = 1 << 20


class Watcher(threading.Thread):
    """A client that sends requests without a pause, and its longest wait."""

    def __init__(self, api):
        super().__init__(daemon=True)
        self.client, self.worst, self.n, self.stopped = Client(api), 0, 0, False
        self.start()

    def run(self):
        while not self.stopped:
            begin = time.monotonic()
            assert self.client.send("GET", "/v1/leases").status == 200
            self.worst = max(self.worst, time.monotonic() - begin)
            self.n += 1
            time.sleep(0.02)

    def stop(self):
        self.stopped = True
        self.join(60)
        self.client.close()
        return self.worst


class HostileCase(WebCase):
    def make_settings(self):
        return {"version": 1, "listen": {"port": self.port}}

    def setUp(self):
        super().setUp()
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        worker = self.holder()
        self.lease = worker.lease(share=0.3, name="worker", device="gpu0")
        self.assertEqual(worker.do("attach", socket=self.lease["socket"])["status"], 0)
        self.watcher = Watcher(self.agent.api)
        self.addCleanup(self.watcher.stop)

    def assert_well(self, within=1):
        """The agent answers and has the first lease; within: seconds, where that is measured."""
        self.assertTrue(wait_until(lambda: self.watcher.n > 5))
        self.assertLess(self.watcher.stop(), bound(within, PATIENCE_S))
        lease = self.client().get("/v1/leases/worker")
        self.assertEqual((lease["state"], len(lease["processes"])), ("active", 1))
        reply = self.holders[0].do("attach", socket=self.lease["socket"])
        self.assertEqual(reply["status"], 0)

    def open(self, tcp=False, timeout=10):
        if tcp:
            return socket.create_connection(("127.0.0.1", self.port), timeout)
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(timeout)
        s.connect(self.agent.api)
        return s

    def say(self, data, tcp=False, timeout=10):
        """The answer, until the agent closes the connection or sends no more."""
        with self.open(tcp, timeout) as s:
            with contextlib.suppress(OSError):
                s.sendall(data)
            text = b""
            s.settimeout(0.15)
            with contextlib.suppress(OSError):
                while part := s.recv(65536):
                    text += part
            return text

    def ask(self, data, tcp=False):
        """The answer to a whole request, or b"" where the agent closes the connection without one.
        A connection that stays open without an answer is a failure."""
        with self.open(tcp, PATIENCE_S) as s:
            with contextlib.suppress(OSError):
                s.sendall(data)
            text = b""
            try:
                while part := s.recv(65536):
                    text += part
                    s.settimeout(0.15)
            except TimeoutError:
                self.assertTrue(text, (data[:80], "neither an answer nor an end"))
            except OSError:
                pass
            return text

    def rss(self):
        with open("/proc/%d/status" % self.agent.process.pid) as file:
            for line in file:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) << 10
        return 0

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.agent.process.pid))


class Bodies(HostileCase):
    def send_much(self, head, chunk, n):
        with self.open() as s:
            s.sendall(head)
            try:
                for _ in range(n):
                    s.sendall(chunk)
                s.sendall(b"0\r\n\r\n")
                return s.recv(65536)
            except OSError:
                return b"closed"

    def test_hundred_megabytes(self):
        before = self.rss()
        head = b"POST /v1/leases HTTP/1.1\r\nHost: x\r\n"
        much = b"x" * MIB
        answer = self.send_much(head + b"Content-Length: %d\r\n\r\n" % (100 * MIB), much, 100)
        self.assertTrue(answer == b"closed" or b" 413 " in answer, answer)
        answer = self.send_much(head + b"Transfer-Encoding: chunked\r\n\r\n",
                                b"%x\r\n%s\r\n" % (MIB, much), 100)
        self.assertTrue(answer in (b"closed", b"") or b" 411 " in answer, answer)
        self.assertLess(self.rss() - before, 16 * MIB)
        self.assert_well()

    def test_body_that_never_comes(self):
        quiet = [self.open(tcp=i % 2) for i in range(200)]
        for s in quiet:
            s.sendall(b"POST /v1/plan HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\nx")
        self.assert_well()
        for s in quiet:
            s.close()
        self.assertTrue(wait_until(lambda: self.descriptors() < 60))

    def test_half_a_request_and_its_end(self):
        """An end that came together with data is seen long before the time for a request is over."""
        half = b"POST /v1/plan HTTP/1.1\r\nHost: x\r\nContent-Length: 60\r\n\r\nx"
        for tcp in (False, True):
            with self.subTest(tcp=tcp), self.open(tcp) as slow, self.open(tcp) as ended:
                slow.sendall(half)  # its time is over first
                os.kill(self.agent.process.pid, signal.SIGSTOP)
                ended.sendall(half)
                ended.shutdown(socket.SHUT_WR)
                os.kill(self.agent.process.pid, signal.SIGCONT)
                ready = select.select([slow, ended], [], [], 2 * PATIENCE_S)[0]
                self.assertEqual(ready, [ended])
                self.assertEqual(ended.recv(1), b"")
        self.assert_well(within=PATIENCE_S)


class Slow(HostileCase):
    def test_byte_by_byte(self):
        texts = [b"GET /v1/version HTTP/1.1\r\nX-A: " + b"a" * 500,
                 b"POST /v1/leases HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n" + b" " * 500]
        slow = [(self.open(tcp=i % 2), texts[i // 2 % 2]) for i in range(400)]
        for at in range(40):
            for s, text in slow:
                s.sendall(text[at:at + 1])
            time.sleep(0.02)
        self.assert_well()
        for s, _ in slow:
            s.close()


@unittest.skipUnless(os.geteuid() == 0, "needs root to be several users")
class Connections(HostileCase):
    system = True

    def open_many(self, n, tcp=False, user=None):
        many = []
        with acting_as(user):
            for _ in range(n):
                s = socket.socket(socket.AF_INET if tcp else socket.AF_UNIX)
                s.setblocking(False)
                try:
                    s.connect(("127.0.0.1", self.port) if tcp else self.agent.api)
                except BlockingIOError:
                    if not tcp:
                        time.sleep(0.01)
                except OSError:
                    s.close()
                    continue
                many.append(s)
        return many

    def test_as_many_as_there_may_be(self):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        many = []
        for user in ("games", "nobody", "daemon", "man", "lp"):
            many += self.open_many(min(1500, most // 12), user=user)
        many += self.open_many(min(5000, most // 4), tcp=True)
        time.sleep(1)
        self.assertEqual(self.client().get("/v1/version")["api"], 1)
        self.assert_well(within=2)
        for s in many:
            s.close()
        # In such a flood the agent's side of some connections never learns of their end (seen in
        # ss as ESTAB): it closes them when they have been silent for a minute.
        self.assertTrue(wait_until(lambda: self.descriptors() < 60, 120))

    def test_pipelining(self):
        names = ["x%d" % i for i in range(200)]
        data = b"".join(b"GET /v1/leases/%s HTTP/1.1\r\nHost: x\r\n\r\n" % n.encode()
                        for n in names) + b"GET /v1/version HTTP/1.1\r\nHost: x\r\n" \
            b"Connection: close\r\n\r\n"
        text = self.say(data)
        self.assertEqual(text.count(b"HTTP/1.1 404 "), 200)
        self.assertEqual(text.count(b"HTTP/1.1 200 "), 1)
        self.assert_well()

    def test_a_flood_of_short_ones(self):
        for _ in range(1000):
            self.open().close()
            self.open(tcp=True).close()
        self.assert_well()
        self.assertTrue(wait_until(lambda: self.descriptors() < 60))


INNER = b"DELETE /v1/leases/target HTTP/1.1\r\nHost: x\r\n\r\n"
# Requests that two servers could parse differently: none may reach a handler.
AMBIGUOUS = {
    "two lengths": b"Content-Length: 0\r\nContent-Length: %d\r\n\r\n" % len(INNER) + INNER,
    "two equal lengths": b"Content-Length: %d\r\nContent-Length: %d\r\n\r\n" % (
        len(INNER), len(INNER)) + INNER,
    "length and chunks": b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + INNER,
    "chunks and length": b"Transfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n0\r\n\r\n" % (
        5 + len(INNER)) + INNER,
    "list of lengths": b"Content-Length: 0, 5\r\n\r\n" + INNER,
    "signed length": b"Content-Length: +0\r\n\r\n" + INNER,
    "negative length": b"Content-Length: -1\r\n\r\n" + INNER,
    "hexadecimal length": b"Content-Length: 0x0\r\n\r\n" + INNER,
    "no length": b"Content-Length:\r\n\r\n" + INNER,
    "huge length": b"Content-Length: 18446744073709551616\r\n\r\n" + INNER,
    "other encoding": b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + INNER,
    "two encodings": b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + INNER,
    "encoding twice": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n"
                      + INNER,
    "space before the colon": b"Content-Length : %d\r\n\r\n" % len(INNER) + INNER,
    "tab before the colon": b"Content-Length\t: %d\r\n\r\n" % len(INNER) + INNER,
    "folded length": b"Content-Length:\r\n %d\r\n\r\n" % len(INNER) + INNER,
    "length behind a fold": b"X: a\r\n Content-Length: %d\r\n\r\n" % len(INNER) + INNER,
    "any fold": b"X: a\r\n b\r\n\r\n" + INNER,
    "two hosts": b"Host: y\r\n\r\n" + INNER,
    "chunks": b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + INNER,
    "chunks with bare LF": b"Transfer-Encoding: chunked\r\n\r\n0\n\n" + INNER,
    "bare LF behind a header": b"X: a\nContent-Length: %d\r\n\r\n" % len(INNER) + INNER,
    "bare LF behind the length": b"Content-Length: %d\nX: a\r\n\r\n" % len(INNER) + INNER,
    "bare LF behind the last header": b"Content-Length: %d\n\r\n" % len(INNER) + INNER,
    "bare LF as the empty line": b"Content-Length: %d\r\n\n" % len(INNER) + INNER,
    "bare LF twice": b"Content-Length: %d\n\n" % len(INNER) + INNER,
    "bare LF twice, and no body": b"X: a\n\n" + INNER,
    "bare CR in a value": b"X: a\rContent-Length: %d\r\n\r\n" % len(INNER) + INNER,
    "bare CR behind the length": b"Content-Length: %d\rX: a\r\n\r\n" % len(INNER) + INNER,
    "a NUL in a value": b"X: a\0b\r\nContent-Length: %d\r\n\r\n" % len(INNER) + INNER,
    "a NUL behind the length": b"Content-Length: %d\0\r\n\r\n" % len(INNER) + INNER,
    "a control character": b"X: a\x01b\r\n\r\n" + INNER,
    "space behind the length": b"Content-Length: %d ,0\r\n\r\n" % len(INNER) + INNER,
    "a header without a name": b": a\r\n\r\n" + INNER,
    "a line without a colon": b"Content-Length %d\r\n\r\n" % len(INNER) + INNER,
    "vertical tab before the coding": b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n" + INNER,
    "quoted coding": b'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n' + INNER,
}
# Request lines that two servers could parse differently.
LINES = [b"GET /v1/ver sion HTTP/1.1\r\n", b"GET /v1/version  HTTP/1.1\r\n",
         b"GET  /v1/version HTTP/1.1\r\n", b"GET\t/v1/version HTTP/1.1\r\n",
         b"GET /v1/version HTTP/1.1 \r\n", b"GET /v1/version HTTP/1.1\n",
         b"GET /v1/version HTTP/1.1\r", b"GET /v1/version\tHTTP/1.1\r\n",
         b"GET /v1/version\r\n", b"GET /v1/version HTTP/1.1 HTTP/1.1\r\n",
         b"GET /v1/version HTTP/2.0\r\n", b"GET /v1/version HTTP/0.9\r\n",
         b"GET /v1/version http/1.1\r\n", b"GET /v1/version HTTP/1.10\r\n",
         b" GET /v1/version HTTP/1.1\r\n", b" \r\n", b"GET\r\n", b"G(T /v1/version HTTP/1.1\r\n",
         b"GET /v1/version?a=\x01 HTTP/1.1\r\n", b"GET /v1/version?a=\xff HTTP/1.1\r\n",
         b"GET /v1/version\0 HTTP/1.1\r\n"]
# libmicrohttpd closes the connection of these without an answer.
SILENT = (b" GET /v1/version HTTP/1.1\r\n", b" \r\n", b"GET\r\n")
NO_HOST = b"GET /v1/version HTTP/1.1\r\n\r\n"
# The agent waits for the rest of these: empty lines before a request are permitted.
UNFINISHED = [b"", b"\r\n\r\n", b"\n\n", b"GET", b"\0" * 5000, b"\xff" * 5000,
              b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"]
ODD = [
    *(b"GET /v1/leases?" + b"&".join([b"a=b"] * n) + b" HTTP/1.1\r\nHost: x\r\n\r\n"
      for n in (65, 481, 1000, 4000, 16000)),
    *(b"GET /v1/leases HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * n + b"\r\n" for n in (470, 600, 4000)),
    b"GET /\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/0.9\r\n\r\n",
    b"GET /v1/version\r\n\r\n",
    b"GET /v1/version HTTP/1.1\nHost: x\n\n",
    b"GET /v1/version HTTP/1.1\r\nHost: x\r\n folded: yes\r\n\r\n",
    b"GET /v1/version HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n",
    b"GET /v1/version HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n",
    b"GET /v1/version HTTP/1.1\r\nHost: x\r\n: b\r\n\r\n",
    b"GET /v1/version HTTP/1.1\r\nHost: x\r\nnothing\r\n\r\n",
    b"GET /v1/version HTTP/1.1\r\n" + b"A: b\r\n" * 20000 + b"\r\n",
    b"GET /v1/version HTTP/1.1\r\nA: " + b"b" * 200000 + b"\r\n\r\n",
    b"GET /" + b"a" * 200000 + b" HTTP/1.1\r\n\r\n",
    b"GET /v1/leases?" + b"a=b&" * 100 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"A" * 200000, b"POST /v1/leases HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"ffffffffffffffffff\r\n", b"POST /v1/leases HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked"
    b"\r\n\r\n-1\r\n\r\n", b"POST /v1/leases HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
    b"\r\nx\r\n", b"POST /v1/leases HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\nContent-Length: 2\r\n"
    b"\r\n{}", b"CONNECT evil:80 HTTP/1.1\r\nHost: x\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", b"GET http://x/v1/version HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /v1/version HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    b"g\xc3\xa9t /v1/version HTTP/1.1\r\nHost: x\r\n\r\n", b"get /v1/version HTTP/1.1\r\n\r\n",
    b"X" * 40 + b" /v1/version HTTP/1.1\r\nHost: x\r\n\r\n"]
MANY_PARAMETERS = b"GET /v1/leases?" + b"a=b&" * 8000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"
PATHS = ["//v1/version", "/v1//version", "/v1/version/", "/v1/../v1/version", "/%2e%2e/etc/passwd",
         "/console/../../etc/passwd", "/console/%2e%2e/%2e%2e/etc/passwd", "/console/..%2f..%2fetc",
         "/v1/leases/..", "/v1/leases/%2e%2e", "/v1/leases/%00", "/v1/leases/a%00b",
         "/%76%31/version%00x", "/v1/version%00", "/v1/leases%00/x",
         "/v1/leases/%c0%ae%c0%ae", "/v1/leases/%c0%af", "/v1/leases/%ff%fe",
         "/v1/leases/%e2%80%ae", "/v1/leases/%0d%0aSet-Cookie:a=b", "/v1/leases/%", "/v1/leases/%zz",
         "/v1/leases/" + "%61" * 200, "/v1/version;x", "/v1/version%20", "/V1/version", "*", "/v1",
         "/v1/version%3fa", "/.", "/..", "/\\..\\"]


def answers(text):
    """[(status, header block, body)] of what the agent sent; every byte belongs to an answer."""
    found = []
    while text:
        head, gap, rest = text.partition(b"\r\n\r\n")
        assert gap and head.startswith(b"HTTP/1.1 "), text
        length = re.search(rb"\r\nContent-Length: (\d+)", head)
        n = int(length.group(1)) if length else 0
        found.append((int(head.split()[1]), head, rest[:n]))
        text = rest[n:]
    return found


class Shapes(HostileCase):
    def check_answers(self, text):
        """Each error is a problem document, and nothing follows it."""
        for status, head, body in answers(text):
            if status >= 400:
                self.assertIn(b"application/problem+json", head)
                problem = json.loads(body)
                self.assertEqual(problem["status"], status)
                self.assertRegex(problem["detail"], r"^[^\n]+: [^\n]+$")

    def check_one_answer(self, text):
        self.assertEqual(len(answers(text)), 1, text)
        self.check_answers(text)

    def test_lines(self):
        for tcp in (False, True):
            for line in LINES:
                with self.subTest(line, tcp=tcp):
                    text = self.ask(line + b"Host: x\r\n\r\n" + INNER, tcp)
                    self.assertNotRegex(text, rb"HTTP/1.1 [23]\d\d ")
                    if text or line not in SILENT:
                        self.check_one_answer(text)
        self.assert_well()

    def test_what_is_whole_is_taken(self):
        """The checks must not refuse what RFC 9112 permits, in whatever parts it arrives."""
        taken = [b"GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n",
                 b"GET /v1/leases?tenant=b%20c&limit=4 HTTP/1.1\r\nHost:x\r\nX:\r\nY: \r\nZ:\t a\tb \r\n\r\n",
                 b"GET /v1/version HTTP/1.0\r\n\r\n",
                 b"GET /v1/version HTTP/1.0\r\nHost: x\r\n\r\n",
                 b"GET /%761/v%65rsion HTTP/1.1\r\nHost: x\r\nCookie: a=b; c=\"d\"\r\n\r\n",
                 b"GET /v1/version HTTP/1.1\r\nHost: x\r\n" + b"".join(
                     b"A%d: %s\r\n" % (i, b"b" * 200) for i in range(60)) + b"\r\n",
                 b"GET /v1/version HTTP/1.1\r\nHost: x\r\nA: " + b"b" * 12000 + b"\r\n\r\n",
                 b"GET /v1/version HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"]
        for tcp in (False, True):
            token = b"Authorization: Bearer %s\r\n" % self.token("viewer").encode() if tcp else b""
            for data in taken:
                line, _, rest = data.partition(b"\r\n")
                data = line + b"\r\n" + token + rest
                for step in (len(data), 1 if len(data) < 1000 else 97):
                    with self.open(tcp) as s, self.subTest(data[:80], tcp=tcp, step=step):
                        for at in range(0, len(data), step):
                            s.sendall(data[at:at + step])
                        self.assertTrue(s.recv(65536).startswith(b"HTTP/1.1 200 "))
        self.assert_well()

    def test_ambiguous_requests(self):
        self.holders[0].lease(share=0.01, name="target", device="gpu0")
        for tcp in (False, True):
            for name, rest in AMBIGUOUS.items():
                for method in (b"POST /v1/plan", b"GET /v1/version"):
                    with self.subTest(name, tcp=tcp):
                        text = self.ask(method + b" HTTP/1.1\r\nHost: x\r\n" + rest, tcp)
                        self.assertNotRegex(text, rb"HTTP/1.1 20\d ")
                        self.check_one_answer(text)
                        self.assertEqual(self.client().get("/v1/leases/target")["name"], "target")
        self.assert_well()

    def test_no_host(self):
        for tcp in (False, True):
            text = self.say(NO_HOST, tcp)
            self.assertEqual(text.count(b"HTTP/1.1 "), 1, text)
            self.assertTrue(text.startswith(b"HTTP/1.1 400 "), text)
            self.assertIn(b"problem+json", text)

    def test_hosts(self):
        for host, status in (("a b", 400), ("a/b", 400), ("u@a", 400), ("a\tb", 400), ("a,b c", 400),
                             ("", 200), ("a.b_c-d", 200), ("[::1]:80", 200), ("1.2.3.4:5", 200)):
            text = self.say(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\n"
                            "Connection: close\r\n\r\n".encode())
            self.assertTrue(text.startswith(b"HTTP/1.1 %d " % status), (host, text))

    def test_odd_requests(self):
        for tcp in (False, True):
            for data in ODD:
                with self.subTest(data[:80], tcp=tcp):
                    text = self.ask(data, tcp)
                    self.assertNotIn(b"HTTP/1.1 5", text.replace(b"HTTP/1.1 505 ", b""))
                    self.check_one_answer(text)
            for data in UNFINISHED:
                self.assertEqual(self.say(data, tcp), b"", data[:80])
            self.say(MANY_PARAMETERS, tcp)
        self.assert_well(within=2)

    def test_paths(self):
        for path in PATHS:
            for method in ("GET", "DELETE", "POST"):
                with self.subTest(path, method=method):
                    text = self.ask(b"%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % (
                        method.encode(), path.encode()))
                    self.assertRegex(text, rb"\AHTTP/1.1 (4\d\d|308) ")
                    self.assertEqual(len(answers(text)), 1, text)
                    self.assertNotIn(b"Set-Cookie", text.partition(b"\r\n\r\n")[0])
                    self.assertNotIn(b"root:", text)
        for line in self.agent.log().splitlines():
            self.assertTrue(line.startswith("cleaved: "), line)
        self.assert_well()

    def test_methods(self):
        for method in ("HEAD", "TRACE", "PROPFIND", "PURGE", "GETT", "get"):
            text = self.say(method.encode() + b" /v1/version HTTP/1.1\r\nHost: x\r\n"
                            b"Connection: close\r\n\r\n")
            self.assertRegex(text, rb"\AHTTP/1.1 200 " if method == "HEAD" else rb"\AHTTP/1.1 40[05] ")
        text = self.say(b"PUT /v1/leases/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        self.assertIn(b"\r\nAllow: GET, PATCH, DELETE\r\n", text)
        text = self.say(b"HEAD /v1/events/stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        self.assertTrue(text.endswith(b"\r\n\r\n") and b" 200 " in text, text)
        self.assert_well()


class Streams(HostileCase):
    N, EVENTS = 500, 60

    def open_stream(self, i):
        s = self.open(tcp=False)
        s.sendall(b"GET /v1/events/stream?after=0 HTTP/1.1\r\nHost: x\r\n\r\n")
        s.setblocking(False)
        return s

    def pump(self, streams, texts, seconds, is_done):
        """Reads from all connections as data arrives."""
        poll = select.epoll()
        for i, s in enumerate(streams):
            poll.register(s, select.EPOLLIN)
        by_fd = {s.fileno(): i for i, s in enumerate(streams)}
        until = time.monotonic() + seconds
        while time.monotonic() < until and not is_done():
            for fd, _ in poll.poll(0.2):
                with contextlib.suppress(OSError):
                    texts[by_fd[fd]] += streams[by_fd[fd]].recv(1 << 18)
        poll.close()

    def make_events(self):
        for i in range(self.EVENTS // 2):
            self.client_of_events.send("POST", "/v1/devices/gpu6/cordon", {"reason": "r%d" % i})
            self.client_of_events.send("POST", "/v1/devices/gpu6/uncordon")
            time.sleep(0.01)

    @staticmethod
    def ids(text):
        """The ids of events in a body with chunk marks; each event is a whole line."""
        return [int(line[4:]) for line in bytes(text).split(b"\n") if line.startswith(b"id: ")]

    def test_many_streams(self):
        self.client_of_events = self.client()
        staying = [self.open_stream(i) for i in range(self.N)]
        leaving = [self.open_stream(i) for i in range(100)]
        texts = [bytearray() for _ in staying]
        maker = threading.Thread(target=self.make_events)
        maker.start()
        for s in leaving:
            s.close()
            time.sleep(0.002)
        self.pump(staying, texts, 1, lambda: False)
        maker.join()
        last = self.agent.events()[-1]["id"]
        mark = b"id: %d\n" % last
        self.pump(staying, texts, 15, lambda: all(mark in t for t in texts))
        wanted = [e["id"] for e in self.agent.events()
                  if e["id"] <= last]
        for text in texts:
            self.assertEqual([i for i in self.ids(text) if i <= last], wanted)
        self.assert_well(within=3)
        for s in staying:
            s.close()
        self.assertTrue(wait_until(lambda: self.descriptors() < 60))

    def test_who_never_reads(self):
        before = self.rss()
        deaf = [self.open_stream(i) for i in range(50)]
        client = self.client()
        for i in range(300):
            client.send("POST", "/v1/devices/gpu6/cordon", {"reason": "x" * 200 + str(i)})
        self.assert_well()
        self.assertLess(self.rss() - before, 32 * MIB)
        for s in deaf:
            s.close()


@unittest.skipUnless(os.geteuid() == 0, "needs root to be several users")
class Unseeing(WebCase):
    """Streams and polls of a tenant that may see none of the events."""

    system = True

    def test_they_cost_little(self):
        root = self.client()
        last = self.agent.events()[-1]["id"]
        begin = self.agent.cpu_seconds()
        for _ in range(1500):
            lease = root.send("POST", "/v1/leases", {"share": 0.01}).json["id"]
            root.send("DELETE", "/v1/leases/" + lease)
        alone_s, streams = self.agent.cpu_seconds() - begin, []
        with acting_as("nobody"):
            for i in range(900):
                s = socket.socket(socket.AF_UNIX)
                s.connect(self.agent.api)
                s.sendall(b"GET /v1/events%s HTTP/1.1\r\nHost: x\r\n\r\n" % (
                    b"?wait_ms=60000&after=%d" % last if i % 2 else
                    b"/stream?after=%d" % last))
                streams.append(s)
        root.get("/v1/version")
        count = lambda: len(os.listdir("/proc/%d/fd" % self.agent.process.pid))
        self.assertTrue(wait_until(lambda: count() > 900, 20))
        before = self.agent.cpu_seconds()
        for _ in range(5):
            self.assertEqual(root.send("POST", "/v1/leases", {"share": 0.01}).status, 201)
            root.get("/v1/version")
        self.assertLess(self.agent.cpu_seconds() - before, bound(0.5, alone_s),
                        "more than 300 times as many leases without streams")
        for s in streams:
            s.close()


class Clock(HostileCase):
    def setUp(self):
        self.env = {"LD_PRELOAD": os.path.join(os.path.dirname(PROGRAMS["driver"]),
                                               "libshifted-clock.so")}
        # The sanitizers may accept a library that is preloaded before theirs here.
        self.env["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        folder = tempfile.TemporaryDirectory(prefix="cleave-clock-")
        self.addCleanup(folder.cleanup)
        self.clock = os.path.join(folder.name, "clock")
        self.env["CLEAVE_TEST_CLOCK"] = self.clock
        self.shift(0)
        super().setUp()

    def shift(self, seconds):
        with open(self.clock + ".w", "w") as file:
            file.write(str(seconds))
        os.rename(self.clock + ".w", self.clock)

    def test_jumps(self):
        day = 86400
        token = self.over_tcp(self.token("viewer", expires_in=3600))
        token.get("/v1/version")
        for name, more in (("timed", {"time": 3600}), ("untimed", {})):
            self.holders[0].lease(share=0.01, name=name, device="gpu0", **more)
        self.shift(-30 * day)
        self.assertEqual(token.send("GET", "/v1/version").status, 200)
        self.client().get("/v1/events?after=99999&wait_ms=300")  # a wait of a month ends
        self.assertEqual(self.client().send("POST", "/v1/devices/gpu3/cordon").status, 200)
        self.shift(2 * day)
        self.assertEqual(token.send("GET", "/v1/version").status, 401)
        self.assertEqual(self.client().send("POST", "/v1/devices/gpu3/uncordon").status, 200)
        for name in ("timed", "untimed"):  # the time of a lease is not of this clock
            self.assertEqual(self.client().get(f"/v1/leases/{name}")["state"], "active", name)
        self.shift(80 * 365 * day)
        self.client().get("/v1/leases")
        ids = [e["id"] for e in self.agent.events()]
        self.assertEqual(ids, sorted(set(ids)))
        self.shift(0)
        self.assert_well()


class State(Case):
    """The state file at the start of an agent."""

    def database(self):
        return os.path.join(self.agent.state, "cleaved.db")

    def restart_with(self, content):
        self.agent.stop()
        for ending in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.database() + ending)
        with open(self.database(), "wb") as file:
            file.write(content)
        self.agent.start()

    def check_refused(self, *words):
        client = Client(self.agent.api)
        self.addCleanup(client.close)
        self.assertEqual(client.send("GET", "/healthz").status, 200)
        ready = client.send("GET", "/readyz")
        self.assertEqual((ready.status, ready.json["state"]), (503, False))
        for method, url, body in (("POST", "/v1/leases", {"share": 0.1}),
                                  ("POST", "/v1/tokens", {"name": "a", "scope": "admin"}),
                                  ("GET", "/v1/tokens", None), ("GET", "/v1/layout?of=wanted", None),
                                  ("GET", "/v1/audit", None)):
            answer = client.send(method, url, body)
            self.assertIn(answer.status, (500, 507), answer)
            for word in words:
                self.assertIn(word, answer.json["detail"])
        for url in ("/v1/leases", "/v1/events", "/v1/tenants", "/v1/operations"):
            self.assertEqual(client.send("GET", url).status, 200, url)

    def test_garbage(self):
        for content in (b"x" * 10000, b"SQLite format 3\0" + os.urandom(20000)):
            self.restart_with(content)
            self.check_refused("cleaved.db", "--state-dir")
            self.agent.stop()
            with open(self.database(), "rb") as file:
                self.assertEqual(file.read(), content)
            self.agent.start()

    def test_damaged(self):
        """Damaged pages in the middle cause an error at most, and never a loop."""
        self.holder().lease(share=0.1)
        self.agent.stop()
        with open(self.database(), "rb") as file:
            good = file.read()
        for at in range(4096, min(len(good), 60000), 4096):
            self.restart_with(good[:at] + os.urandom(4096) + good[at + 4096:])
            client = Client(self.agent.api)
            for url in ("/v1/leases", "/v1/events", "/v1/tokens", "/v1/audit", "/readyz"):
                answer = client.send("GET", url)
                self.assertIn(answer.status, (200, 500, 503), (at, url, answer))
            client.send("POST", "/v1/leases", {"share": 0.1})
            client.close()

    def test_newer(self):
        self.agent.stop()
        with sqlite3.connect(self.database()) as db:
            db.execute("PRAGMA user_version=99")
        db.close()
        with open(self.database(), "rb") as file:
            content = file.read()
        self.agent.start()
        self.check_refused("later cleave", "99", "update cleave", "--state-dir")
        self.agent.stop()
        with open(self.database(), "rb") as file:
            self.assertEqual(file.read(), content)
        self.agent.start()

    def test_two_agents(self):
        """The second agent names the first, and takes over when the first has ended."""
        client = Client(self.agent.api)
        secret = client.send("POST", "/v1/tokens", {"name": "a", "scope": "admin"}).json["id"]
        client.close()
        second = Agent()
        second.state, second.locks = self.agent.state, os.path.join(second.folder, "locks2")
        os.makedirs(second.locks)
        second.start()
        self.addCleanup(second.close)
        client = Client(second.api)
        self.addCleanup(client.close)
        answer = client.send("POST", "/v1/leases", {"share": 0.1})
        self.assertEqual(answer.status, 500, answer)
        self.assertIn("another agent", answer.json["detail"])
        self.agent.stop()
        self.assertTrue(wait_until(lambda: client.send("GET", "/v1/audit").status == 200, 15))
        self.assertEqual([t["id"] for t in client.get("/v1/tokens")["items"]], [secret])


@unittest.skipUnless(os.geteuid() == 0, "needs root to mount a tmpfs")
class FullDisk(unittest.TestCase):
    def test_changes_are_refused(self):
        agent = Agent()
        os.makedirs(agent.state)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", agent.state],
                                 capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("cannot mount a tmpfs here")
        self.addCleanup(agent.close)
        self.addCleanup(subprocess.run, ["umount", "-l", agent.state], check=True)
        agent.start()
        self.addCleanup(agent.stop)
        client = Client(agent.api)
        self.addCleanup(client.close)
        with open(os.path.join(agent.state, "fill"), "wb", buffering=0) as f:
            with contextlib.suppress(OSError):
                while True:
                    f.write(b"x" * 4096)
        wanted = {"name": "a", "scope": "viewer"}
        statuses = {client.send("POST", "/v1/tokens", wanted).status for _ in range(3000)}
        self.assertIn(507, statuses)
        self.assertLessEqual(statuses, {201, 507})
        n = len(client.get("/v1/tokens")["items"])
        answer = client.send("POST", "/v1/tokens", wanted, {"Idempotency-Key": "k"})
        self.assertEqual((answer.status, answer.json["code"]), (507, "disk_full"))
        self.assertEqual(len(client.get("/v1/tokens")["items"]), n)
        for url in ("/v1/leases", "/v1/events", "/v1/audit", "/v1/tenants", "/v1/devices"):
            self.assertEqual(client.send("GET", url).status, 200, url)
        os.unlink(os.path.join(agent.state, "fill"))
        self.assertTrue(wait_until(lambda: client.send("POST", "/v1/tokens", wanted, {
            "Idempotency-Key": "k"}).status == 201))


if __name__ == "__main__":
    main()
