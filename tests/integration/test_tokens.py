#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The API over TCP: valid and invalid tokens, TLS, and the settings that make the agent
listen."""
import json
import os
import select
import socket
import sqlite3
import ssl
import subprocess
import time

import yaml

from harness import PATIENCE_S, main, wait_until
from web_client import WebCase


def make_certificate(folder, name, days="2"):
    """Self-signed, for 127.0.0.1: (certificate, key)."""
    paths = [os.path.join(folder, name + ending) for ending in (".crt", ".key")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-days", days, "-subj", "/CN=cleave",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-out", paths[0],
                    "-keyout", paths[1]], check=True, capture_output=True)
    return paths


class TcpCase(WebCase):
    def make_settings(self):
        return {"version": 1, "listen": {"port": self.port, **self.make_tls()}}

    def make_tls(self):
        return {}

    def raw(self, *lines, path="/v1/version", method="GET"):
        """Sends a request with these header lines: (status, whole answer)."""
        with socket.create_connection(("127.0.0.1", self.port), 5) as s:
            s.sendall("\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", "Connection: close",
                                   *lines, "", ""]).encode("latin-1"))
            text = b""
            while part := s.recv(65536):
                text += part
        return int(text.split()[1]), text.decode(errors="replace")


class ViewerOfTheSettings(TcpCase):
    """A token that the agents of several machines may have."""
    secret = "clv_viewer_" + "0123456789abcdef" * 2

    def make_tls(self):
        self.path = os.path.join(self.files, "viewer")
        self.put(self.secret)
        return {"viewer": self.path}

    def put(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            os.chmod(self.path, 0o600)
            file.write(text + "\n")

    def status(self, secret, path="/v1/version", method="GET"):
        return self.raw(f"Authorization: Bearer {secret}", path=path, method=method)[0]

    def test_targets_with_a_host(self):
        """RFC 9112, 3.2.2: a server accepts them."""
        for path, status in (("http://x/v1/version", 200), ("HTTPS://x:1/v1/leases?limit=1", 200),
                             ("http://x/v1/tokens", 403), ("http://x/v1", 404)):
            self.assertEqual(self.status(self.secret, path), status, path)
        for path in ("http://x", "http://", "http:"):
            self.assertLess(self.status(self.secret, path), 500, path)

    def test_what_it_may(self):
        self.assertEqual(self.status(self.secret, "/metrics"), 200)
        self.assertEqual(self.status(self.secret, "/v1/tokens"), 403)
        self.assertEqual(self.status(self.secret, "/v1/devices/gpu0/cordon", "POST"), 403)
        for text in (self.secret[:-1], self.secret + "0", "clv_viewer_", "clv_viewer",
                     self.secret.replace("viewer", "other")):
            self.assertEqual(self.status(text, "/metrics"), 401, text)

    def test_who_it_is(self):
        me = self.over_tcp(self.secret).get("/v1/whoami")
        self.assertEqual((me["subject"], me["scope"], me["uid"]), ("viewer", "viewer", None))
        self.assertIsNone(me["token"])  # only the settings have it

    def test_requests_in_work_end_with_the_secret(self):
        """Streams and polls, which the former secret has opened."""
        many = []
        for path in ("/v1/events/stream", "/v1/events?after=9999&wait_ms=600000"):
            s = socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)
            self.addCleanup(s.close)
            s.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                      b"Authorization: Bearer %s\r\n\r\n" % (
                          path.encode(), self.secret.encode()))
            many.append(s)
        self.assertIn(b" 200 ", many[0].recv(4096))
        # The same secret again ends nothing.
        self.assertEqual(self.agent.request("POST", "/v1/reload")[0], 204)
        self.assertEqual(self.agent.request("POST", "/v1/devices/gpu0/cordon")[0], 200)
        text = b""
        while b"device_cordoned" not in text:
            part = many[0].recv(4096)
            self.assertTrue(part, text)
            text += part
        self.put(self.secret[:-1] + "0")
        self.assertEqual(self.agent.request("POST", "/v1/reload")[0], 204)
        texts = []
        for s in many:
            texts.append(b"")
            while part := s.recv(65536):
                texts[-1] += part
        self.assertIn(b" 401 ", texts[1])

    def test_another_secret(self):
        other = self.secret[::-1].replace("_", "")[:32]
        self.put("clv_viewer_" + other)
        self.assertEqual(self.agent.request("POST", "/v1/reload")[0], 204)
        self.assertEqual(self.status(self.secret), 401)
        self.assertEqual(self.status("clv_viewer_" + other), 200)
        for text in ("clv_viewer_short", "x" * 60, ""):
            self.put(text)
            self.assertNotEqual(self.agent.request("POST", "/v1/reload")[0], 204)
        self.assertEqual(self.status("clv_viewer_" + other), 200)


class Tokens(TcpCase):
    def test_strangers_are_noted_now_and_then(self):
        for _ in range(30):
            self.assertEqual(self.status("Authorization: Bearer clv_none_none"), 401)
        lines = [line for line in self.agent.log().splitlines() if "without a valid token" in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("127.0.0.1", lines[0])

    def status(self, *lines):
        return self.raw(*lines)[0]

    def test_what_is_a_token(self):
        secret = self.token("viewer")
        good = "Authorization: Bearer " + secret
        _, name, rest = secret.split("_")
        other = self.token("admin").split("_")
        for line in (good, good.replace("Bearer", "bearer"), good.replace("Auth", "aUTH"),
                     good.replace("Bearer ", "BEARER   "), good + " ", good + "\t  \t"):
            self.assertEqual(self.status(line), 200, line)
        for text in (secret[:-1], secret + "0", secret.upper(), secret[4:], rest, "",
                     "clv_" + name, "clv_" + name + "_", "clv__" + rest, "clv_" + "0" * 12 + "_" +
                     rest, "clv_" + name + "_" + other[2], "clv_" + other[1] + "_" + rest,
                     secret + " " + secret, secret + "," + secret, "'" + secret + "'",
                     "clv_%s_%s" % (name, rest.replace(rest[0], "O", 1)), "x" * 4000, "_" * 3000,
                     "\xff" * 60, "clv_" + "a" * 15 + "_" + rest, secret.replace("_", "-")):
            self.assertEqual(self.status("Authorization: Bearer " + text), 401, text)
        for line in ("Authorization: " + secret, "Authorization: Basic " + secret,
                     "Authorization: Token " + secret, "Authorization:", "X-Token: " + secret,
                     "Proxy-Authorization: Bearer " + secret, "Cookie: token=" + secret,
                     "Authorization: Bearer\xa0" + secret):
            self.assertEqual(self.status(line), 401, line)

    def test_two_headers(self):
        good = "Authorization: Bearer " + self.token("admin")
        bad = "Authorization: Bearer clv_0_0"
        for lines in ((good, bad), (bad, good), (good, good), (good, "Authorization:")):
            status, text = self.raw(*lines)
            self.assertEqual(status, 401, lines)
            self.assertIn("several Authorization headers", text)

    def test_not_in_the_query(self):
        secret = self.token("admin")
        for query in ("token=", "access_token=", "authorization=Bearer%20", "Authorization="):
            self.problem(self.over_tcp().send("GET", "/v1/version?" + query + secret), 401,
                         "unauthenticated")
        self.problem(self.over_tcp().send(
            "POST", "/v1/tokens", "access_token=" + secret,
            {"Content-Type": "application/x-www-form-urlencoded"}), 401, "unauthenticated")

    def brief(self, opens):
        """What a client with a brief token opens, and the token's seconds: more each time that the
        token had expired before, on a busy machine."""
        for seconds in (1, 10, 60):
            client = self.over_tcp(self.token("viewer", expires_in=seconds))
            answer = opens(client)
            if answer.status != 401:
                break
        self.assertEqual(answer.status, 200)
        return client, answer, seconds

    def test_expiry(self):
        client, _, seconds = self.brief(lambda client: client.send("GET", "/v1/version"))
        self.assertTrue(wait_until(lambda: client.send("GET", "/v1/version").status == 401,
                                   2 * seconds))
        self.problem(client.send("GET", "/v1/version"), 401, "unauthenticated", "expired")
        self.assertEqual(client.send("GET", "/healthz").status, 200)

    def test_deleted_at_once(self):
        """A deleted token also ends an open stream and poll."""
        secret = self.token("viewer")
        client = self.over_tcp(secret)
        client.get("/v1/version")
        stream, poll = client.open(), client.open()
        headers = {"Authorization": "Bearer " + secret}
        stream.request("GET", "/v1/events/stream", headers=headers)
        answer = stream.getresponse()
        poll.request("GET", "/v1/events?after=9999&wait_ms=60000", headers=headers)
        time.sleep(0.2)
        self.assertEqual(self.client().send("DELETE", "/v1/tokens/" + secret.split("_")[1]).status,
                         204)
        self.client().send("POST", "/v1/devices/gpu1/cordon")
        self.assertEqual(client.send("GET", "/v1/version").status, 401)
        self.assertNotIn(b"device_cordoned", answer.read())
        self.assertEqual(poll.getresponse().status, 401)

    def test_a_stream_ends_with_its_token(self):
        connections = []

        def open_stream(client):
            connections.append(client.open())
            connections[-1].request("GET", "/v1/events/stream",
                                    headers={"Authorization": "Bearer " + client.token})
            return connections[-1].getresponse()
        _, answer, seconds = self.brief(open_stream)
        time.sleep(seconds + .1)
        self.client().send("POST", "/v1/devices/gpu1/cordon")
        self.assertNotIn(b"device_cordoned", answer.read())

    def test_whose_user_is_gone(self):
        secret = self.token("tenant", tenant="games")
        client = self.over_tcp(secret)
        self.assertEqual(client.get("/v1/whoami")["subject"], "games")
        self.agent.stop()
        with sqlite3.connect(os.path.join(self.agent.state, "cleaved.db")) as db:
            db.execute("UPDATE tokens SET tenant='nosuchuser'")
        db.close()
        self.agent.start()
        self.problem(client.send("GET", "/v1/whoami"), 401, "unauthenticated", "nosuchuser")
        self.assertEqual(client.send("GET", "/healthz").status, 200)

    def test_the_next_agent_knows_them(self):
        secret = self.token("admin")
        self.agent.stop(9)
        self.agent.start()
        self.assertEqual(self.over_tcp(secret).get("/v1/whoami")["token"]["name"], "t-admin")
        self.assertNotIn(secret.split("_")[2], open(
            os.path.join(self.agent.state, "cleaved.db"), "rb").read().decode("latin-1"))

    def test_requests_for_tokens(self):
        for body, word in (
                ({"name": "x"}, "scope"), ({"scope": "admin"}, "name"),
                ({"name": "x", "scope": "root"}, "scope"), ({"name": "a b", "scope": "admin"}, ""),
                ({"name": "x", "scope": "tenant"}, "tenant"),
                ({"name": "x", "scope": "tenant", "tenant": "nosuchuser"}, "nosuchuser"),
                ({"name": "x", "scope": "admin", "tenant": "games"}, "tenant"),
                ({"name": "x", "scope": "admin", "expires_in": 0}, "expires_in"),
                ({"name": "x", "scope": "admin", "expires_in": 10**12}, "expires_in"),
                ({"name": "x", "scope": "admin", "expires_in": 1.5}, "expires_in"),
                ({"name": "x", "scope": "admin", "secret": "y"}, "unknown"), ([], "object")):
            self.problem(self.client().send("POST", "/v1/tokens", body), 400, "bad_request", word)
        self.assertEqual(self.client().get("/v1/tokens")["items"], [])

    def test_a_client_that_leaves_a_poll_is_let_go(self):
        """Otherwise it would use up the connections of its address."""
        secret = self.token("viewer")
        count = lambda: len(os.listdir("/proc/%d/fd" % self.agent.process.pid))
        before = count()
        for _ in range(50):
            with socket.create_connection(("127.0.0.1", self.port)) as s:
                s.sendall(b"GET /v1/events?after=9999&wait_ms=600000 HTTP/1.1\r\nHost: x\r\n"
                          b"Authorization: Bearer %s\r\n\r\n" % secret.encode())
                time.sleep(0.01)
        self.assertTrue(wait_until(lambda: count() <= before + 2, 5), (before, count()))


class Kept(TcpCase):
    """Leases that are created over TCP, by a caller that is no process of the node."""
    system = True
    wanted = {"name": "a", "share": .3, "keep": True, "user": 65534, "device": "gpu1"}

    def create(self, scope, **more):
        given = {"tenant": "nobody"} if scope == "tenant" else {}
        body = {k: v for k, v in {**self.wanted, **more}.items() if v is not None}
        return self.over_tcp(self.token(scope, **given)).send("POST", "/v1/leases", body)

    def test_an_admin_creates_and_releases_one(self):
        answer = self.create("admin")
        self.assertEqual(answer.status, 201, answer)
        lease = answer.json
        self.assertEqual((lease["kept"], lease["uid"], lease["tenant"], lease["holder_pid"],
                          lease["device"]), (True, 65534, "nobody", None, "gpu1"))
        self.assertEqual([each["id"] for each in self.client("nobody").get("/v1/leases")["items"]],
                         [lease["id"]])
        entry = self.client().get("/v1/audit?limit=1000")["items"][-1]
        self.assertEqual((entry["action"], entry["object"]), ("lease.create", lease["id"]))
        released = self.over_tcp(self.token("admin")).send("DELETE", "/v1/leases/" + lease["id"])
        self.assertEqual(released.status, 204)

    def test_who_may_not(self):
        self.problem(self.create("tenant"), 403, "not_permitted", "token of an admin")
        self.problem(self.create("viewer"), 403, "not_permitted")

    def test_what_needs_a_process_of_the_node(self):
        for more in ({"keep": None, "user": None}, {"keep": False, "user": None}, {"user": None}):
            self.problem(self.create("admin", **more), 400, "bad_request", "keep and user",
                         "cleave run")
        self.assertEqual(self.client().get("/v1/leases")["items"], [])


class Tls(TcpCase):
    def make_tls(self):
        self.certificate, self.key = make_certificate(self.files, "tls")
        return {"address": "0.0.0.0", "certificate": self.certificate, "key": self.key}

    def context(self):
        return ssl.create_default_context(cafile=self.certificate)

    def test_with_tls(self):
        client = self.over_tcp(self.token("viewer"), tls=self.context())
        self.assertEqual(client.get("/v1/whoami")["scope"], "viewer")
        stranger = self.over_tcp(tls=self.context())
        self.problem(stranger.send("GET", "/v1/whoami"), 401, "unauthenticated")
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.over_tcp(tls=ssl.create_default_context()).send("GET", "/healthz")

    def test_a_length_that_is_no_number(self):
        """The agent answers it past its HTTP server."""
        with self.context().wrap_socket(socket.create_connection(("127.0.0.1", self.port), 5),
                                        server_hostname="127.0.0.1") as s:
            s.sendall(b"GET /v1/version HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n")
            text = b""
            while data := s.recv(65536):
                text += data
        head, _, body = text.partition(b"\r\n\r\n")
        self.assertTrue(head.startswith(b"HTTP/1.1 400 "), text)
        self.assertEqual(json.loads(body)["status"], 400)

    def test_old_versions_are_refused(self):
        for version, may in ((ssl.TLSVersion.TLSv1, False), (ssl.TLSVersion.TLSv1_1, False),
                             (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)):
            context = self.context()
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = context.maximum_version = version
            client = self.over_tcp(tls=context)
            if may:
                self.assertEqual(client.send("GET", "/healthz").status, 200)
            else:
                with self.assertRaises(OSError):
                    client.send("GET", "/healthz")

    def test_no_tls_on_a_tls_port(self):
        """Silence, garbage and half a handshake do no harm either."""
        quiet = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(50)]
        for i, s in enumerate(quiet):
            s.sendall([b"", b"\x16\x03\x01\x02\x00", b"GET /healthz HTTP/1.1\r\n\r\n",
                       os.urandom(500)][i % 4])
        client = self.over_tcp(tls=self.context())
        self.assertEqual(client.send("GET", "/healthz").status, 200)
        self.assertEqual(select.select(quiet[::4], [], [], 0)[0], [], "who says nothing is waited for")
        for s in quiet:
            s.close()


class Starting(WebCase):
    """Settings with which the agent does not start."""

    def refuse(self, settings, *words):
        path = self.write("other.yaml", settings)
        command = [*self.agent.command(), "--foreground"]
        command[command.index("--runtime-dir") + 1] += "2"
        if "--config" in command:
            command[command.index("--config") + 1] = path
        else:
            command += ["--config", path]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertNotIn(done.returncode, (0, -11, -6), done.stderr)
        lines = [l for l in done.stderr.splitlines() if "listening" not in l]
        self.assertTrue(lines, done)
        for word in words:
            self.assertIn(word, lines[-1])
        return done

    def test_no_tcp_by_default(self):
        inodes = set()
        for name in os.listdir("/proc/%d/fd" % self.agent.process.pid):
            try:
                link = os.readlink("/proc/%d/fd/%s" % (self.agent.process.pid, name))
            except OSError:
                continue
            if link.startswith("socket:["):
                inodes.add(link[8:-1])
        for table in ("tcp", "tcp6", "udp", "udp6"):
            with open("/proc/net/" + table) as file:
                found = {line.split()[9] for line in list(file)[1:]}
            self.assertEqual(inodes & found, set())

    def listen(self, **more):
        return {"version": 1, "listen": {"port": self.port, **more}}

    def test_only_the_loopback_without_tls(self):
        for address in ("0.0.0.0", "::", "10.0.0.1", "::ffff:127.0.0.1", "localhost", "1127.0.0.1"):
            self.refuse(self.listen(address=address), "without encryption")
        self.refuse(self.listen(address="127.0.0.1.example"), "127.0.0.1.example")

    def test_certificates(self):
        certificate, key = make_certificate(self.files, "a")
        _, other = make_certificate(self.files, "b")
        empty = self.write("empty", "")
        self.refuse(self.listen(certificate=certificate, key=other), "certificate and key")
        self.refuse(self.listen(certificate=key, key=certificate), "certificate and key")
        self.refuse(self.listen(certificate=certificate, key="/nonexistent"), "/nonexistent")
        self.refuse(self.listen(certificate="/nonexistent", key=key), "/nonexistent")
        self.refuse(self.listen(certificate=empty, key=empty), "")
        self.refuse(self.listen(certificate=certificate), "both")
        self.refuse(self.listen(certificate="a.crt", key="a.key"), "absolute path")
        self.refuse(self.listen(certificate=self.files, key=key), self.files)

    def test_a_port_that_is_taken(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", self.port))
            s.listen()
            self.refuse(self.listen(), str(self.port), "choose another")

    def test_settings(self):
        for text, words in (("version: 2", ["1:10"]), ("", []), ("version: 1\nlisten: 5", ["2:"]),
                            ("version: 1\nlisten: {port: 0}", ["2:"]),
                            ("version: 1\nlisten: {port: 65536}", ["2:"]),
                            ("version: 1\ntenants:\n- {user: a, group: b}", ["3:"]),
                            ("version: 1\ntenants:\n- {share: -1}", ["3:"]),
                            ("version: 1\ntenants:\n- {user: a, shares: 1}", ["shares"]),
                            ("version: 1\nversion: 1", ["2:"]), ("\0", []), ("a: &a [*a]", [])):
            done = self.refuse(text, *words)
            self.assertIn("other.yaml", done.stderr.splitlines()[-1])


if __name__ == "__main__":
    main()
