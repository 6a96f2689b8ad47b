#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the system's agent keeps from other users of the machine: its folders, its files."""
import contextlib
import os
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from harness import (HERE, NOBODY, PATIENCE_S, PROGRAMS, Agent, Holder, SystemCase,
                     UnixConnection, main, wait_until)
from test_tokens import make_certificate
from web_client import EXAMPLES, Client, WebCase, acting_as


class Folders(SystemCase):
    """A tenant has the socket of its lease, and no place in the agent's folders to write."""

    def try_to(self, command):
        return subprocess.run(["/bin/sh", "-c", command], user=NOBODY, group=NOBODY,
                              extra_groups=[], capture_output=True, check=False).returncode

    def test_a_tenant_fills_its_folder(self):
        tenant = self.other()
        lease = tenant.lease(share=0.2)
        folder = os.path.dirname(lease["socket"])
        for command in (f"head -c 100000 /dev/zero > {folder}/fill", f"mkdir {folder}/more",
                        f"mv {lease['socket']} {folder}/x", f"rm {lease['socket']}",
                        f"ls {folder}", f"chmod 777 {folder}"):
            self.assertNotEqual(self.try_to(command), 0, command)
        self.assertEqual(tenant.do("attach", socket=lease["socket"])["status"], 0)
        tenant.kill()
        self.assertTrue(wait_until(lambda: not os.path.exists(folder)))

    def test_another_user_has_no_socket(self):
        tenant = self.other()
        lease = tenant.lease(share=0.2)
        connect = ("import socket, sys; "
                   "socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(sys.argv[1])")
        done = subprocess.run(["/usr/bin/python3", "-c", connect, lease["socket"]], user=2,
                              group=2, extra_groups=[], capture_output=True, text=True, check=False)
        self.assertIn("PermissionError", done.stderr)


class State(SystemCase):
    def modes(self):
        return {name: os.stat(os.path.join(self.agent.state, name)).st_mode & 0o777
                for name in os.listdir(self.agent.state)
                if name.startswith("cleaved.db")}

    def test_no_other_user_reads_the_state(self):
        self.assertIn("cleaved.db", self.modes())
        self.assertEqual(set(self.modes().values()), {0o600}, self.modes())
        # A file of an earlier version is corrected.
        self.agent.stop()
        for name in self.modes():
            os.chmod(os.path.join(self.agent.state, name), 0o644)
        self.agent.start()
        self.assertEqual(set(self.modes().values()), {0o600}, self.modes())


class Refusals(SystemCase):
    """What a user without permissions can write by requests that are refused."""

    def written(self):
        paths = [self.agent.log_path] + [os.path.join(self.agent.state, name)
                                         for name in os.listdir(self.agent.state)]
        return sum(os.stat(path).st_size for path in paths if os.path.isfile(path))

    def metric(self, name):
        connection = UnixConnection(self.agent.api)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        values = re.findall("^" + name + r"(?:\{.*\})? (\S+)$", text, re.MULTILINE)
        return sum(map(float, values))

    def test_few_are_written(self):
        user = self.other()
        before = self.written()
        for _ in range(1000):
            self.assertEqual(user.request("POST", "/v1/backup")[0], 403)
        self.assertLess(self.written() - before, 500_000)
        rows = [row for row in self.agent.get("/v1/audit?limit=10000")["items"]
                if row["action"] == "state.backup"]
        self.assertTrue(5 <= len(rows) <= 100, len(rows))
        self.assertGreater(self.metric("cleave_audit_refusals_unwritten_total"), 800)
        self.assertLess(self.agent.log().count("state.backup"), 101)
        # Another user's refusal is written, and so is each change that is made.
        other = self.other(2)
        self.assertEqual(other.request("POST", "/v1/backup")[0], 403)
        for _ in range(20):
            self.assertEqual(self.agent.request("POST", "/v1/devices/gpu0/cordon")[0], 200)
        rows = self.agent.get("/v1/audit?limit=10000")["items"]
        self.assertTrue(any(row["who"]["uid"] == 2 for row in rows))
        self.assertEqual(sum(row["action"] == "device.cordon" for row in rows), 20)

    def test_changes_of_a_tenant(self):
        """They are in the audit and the log, or counted."""
        n, user, unwritten = 0, self.other(), 0
        end = time.monotonic() + PATIENCE_S
        while n < 400 or unwritten == 0 and time.monotonic() < end:
            lease = user.lease(share=0.001)["id"]
            self.assertEqual(user.request("DELETE", "/v1/leases/" + lease)[0], 204)
            n += 1
            if n >= 400:
                unwritten = self.metric("cleave_audit_changes_unwritten_total")
        rows = self.agent.get("/v1/audit?limit=10000")["items"]
        self.assertGreater(unwritten, 0)
        self.assertGreaterEqual(len(rows), 500)
        self.assertEqual(len(rows) + unwritten, 2 * n)
        self.assertLess(self.agent.log().count(" lease.create "), n)
        self.assertLess(self.agent.log().count("lease_created"), n)
        # A later one says how many are missing, and an admin's are all written.
        time.sleep(0.3)
        user.lease(share=0.001)
        for _ in range(600):
            self.agent.request("POST", "/v1/devices/gpu0/cordon")
        rows = self.agent.get("/v1/audit?after=%d" % rows[-1]["id"])["items"]
        self.assertRegex(rows[0]["detail"], r"^\d+ changes before this are not written; ")
        self.assertEqual(sum(row["action"] == "device.cordon" for row in rows), 600)

    def test_attackers(self):
        """While they send thousands of requests others are answered, and little is written."""
        before = self.written()
        attackers = [subprocess.Popen(
            [sys.executable, os.path.join(HERE, "attacker.py"), self.agent.api, str(2 * PATIENCE_S),
             str(NOBODY)], stdout=subprocess.DEVNULL) for _ in range(4)]
        for attacker in attackers:
            self.addCleanup(attacker.wait)
            self.addCleanup(attacker.kill)
        for _ in range(100):
            self.assertEqual(self.agent.request("GET", "/v1/leases")[0], 200)
        self.assertTrue(wait_until(lambda: self.metric("cleave_api_requests_total") > 3000))
        self.assertLess(self.written() - before, 1_000_000)


class Log(unittest.TestCase):
    def test_the_log_of_an_agent_in_the_background_is_bounded(self):
        agent = Agent()
        self.addCleanup(agent.close)
        subprocess.run(agent.command(), env=dict(agent.env, CLEAVE_LOG="info"), timeout=PATIENCE_S,
                       check=True, stdin=subprocess.DEVNULL)
        pid = agent.get("/v1/version")["pid"]
        self.addCleanup(os.kill, pid, signal.SIGTERM)
        path = os.path.join(agent.runtime, "cleaved.log")
        with open(path, "a", encoding="ascii") as log:
            log.write("x" * 99 + "\n" + ("y" * 99 + "\n") * 20000)
        agent.request("POST", "/v1/devices/gpu0/cordon")
        with open(path, encoding="ascii") as log:
            lines = log.read().splitlines()
        self.assertLess(sum(map(len, lines)), 1 << 20)
        self.assertIn("device.cordon", "".join(lines[-2:]))
        self.assertEqual(set(lines[0]), {"y"})


@unittest.skipUnless(os.geteuid() == 0, "needs root to give folders away and to mount")
class Machine(unittest.TestCase):
    """Folders and file systems with which the agent does not start, or starts with less."""

    def setUp(self):
        self.agent = Agent(arguments=["--sim", os.path.join(EXAMPLES, "dgx-a100.yaml")])
        self.addCleanup(self.agent.close)

    def start(self):
        done = subprocess.run([*self.agent.command(), "--foreground"], text=True,
                              capture_output=True, timeout=PATIENCE_S, check=False)
        self.assertNotIn("Sanitizer", done.stderr)
        return done.returncode, done.stderr.splitlines()[-1]

    def mount(self, path, options):
        os.makedirs(path, exist_ok=True)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", path],
                          capture_output=True, check=False).returncode != 0:
            self.skipTest("cannot mount a tmpfs here")
        self.addCleanup(subprocess.run, ["umount", "-l", path], check=True)

    def test_the_state_folder_of_a_stranger(self):
        os.makedirs(self.agent.state)
        os.chown(self.agent.state, NOBODY, NOBODY)
        code, line = self.start()
        self.assertEqual(code, 77, line)
        self.assertRegex(line, "belongs to user %d .*: .*--state-dir" % NOBODY)
        os.chown(self.agent.state, 0, 0)
        os.chmod(self.agent.state, 0o777)
        code, line = self.start()
        self.assertEqual(code, 77, line)
        self.assertRegex(line, "other users can write .*: chmod")
        self.assertEqual(os.listdir(self.agent.state), [])
        # A link to a folder of the agent's own is in order.
        os.rename(self.agent.state, self.agent.state + "-there")
        os.chmod(self.agent.state + "-there", 0o700)
        os.symlink(self.agent.state + "-there", self.agent.state)
        self.agent.start()

    def test_a_state_that_is_not_a_file(self):
        os.makedirs(self.agent.state, 0o700)
        os.mkfifo(os.path.join(self.agent.state, "cleaved.db"))
        self.agent.start()
        status, answer = self.agent.request("GET", "/readyz")
        self.assertEqual(status, 503)
        self.assertRegex(answer["detail"], "cleaved.db: .*: it is not a regular file: .*--state-dir")

    def test_the_runtime_folder_of_a_stranger(self):
        os.makedirs(self.agent.runtime)
        os.chown(self.agent.runtime, NOBODY, NOBODY)
        code, line = self.start()
        self.assertEqual(code, 77, line)
        self.assertIn("--runtime-dir", line)

    def test_two_agents(self):
        self.agent.start()
        code, line = self.start()
        self.assertEqual(code, 75, line)
        self.assertIn("another agent already serves", line)

    def test_a_run_without_room(self):
        self.mount(self.agent.runtime, "size=4k,mode=755,nr_inodes=2")
        with contextlib.suppress(OSError):
            os.mkdir(os.path.join(self.agent.runtime, "fill"))
        code, line = self.start()
        self.assertEqual(code, 125, line)
        self.assertRegex(line, "cannot .*: No space left on device")

    def test_a_run_that_fills_up(self):
        self.mount(self.agent.runtime, "size=16k,mode=755,nr_inodes=32")
        self.agent.start()
        fill = [os.path.join(self.agent.runtime, "fill%d" % i) for i in range(40)]
        for content in (b"x" * 4096, b""):  # all room, and then all inodes
            for path in fill:
                with contextlib.suppress(OSError), open(path, "ab", buffering=0) as file:
                    file.write(content)
        holder = Holder(self.agent)
        self.addCleanup(holder.end)
        status, answer = holder.request("POST", "/v1/leases", {"share": 0.1})
        self.assertIn(status, (500, 507), answer)
        self.assertRegex(answer["detail"], "^[^\n]*: [^\n]*(full|No space)")
        self.assertEqual(self.agent.get("/v1/leases")["items"], [])
        for path in filter(os.path.exists, fill):
            os.unlink(path)
        self.assertEqual(holder.request("POST", "/v1/leases", {"share": 0.1})[0], 201)


class Reload(WebCase):
    """SIGHUP, POST /v1/reload and what may not change."""

    system = os.geteuid() == 0

    def make_settings(self):
        self.certificate, self.key = make_certificate(self.files, "one")
        return self.settings_of()

    def settings_of(self, certificate="one", **more):
        listen = {"port": self.port, "address": "127.0.0.1",
                  "certificate": os.path.join(self.files, certificate + ".crt"),
                  "key": os.path.join(self.files, certificate + ".key")}
        return {"version": 1, "listen": listen, **more}

    def serial(self):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection(("127.0.0.1", self.port)) as plain:
            with context.wrap_socket(plain) as s:
                return s.getpeercert(binary_form=True)

    def reload(self, settings=None):
        if settings is not None:
            self.write("settings.yaml", settings)
        return self.client().send("POST", "/v1/reload")

    def by_signal(self, settings, kind):
        n = len(self.agent.events(kind))
        self.write("settings.yaml", settings)
        self.agent.process.send_signal(signal.SIGHUP)
        self.assertTrue(wait_until(lambda: len(self.agent.events(kind)) > n))
        return self.agent.events(kind)[-1]["message"]

    def test_certificate(self):
        before = self.serial()
        token = self.over_tcp(self.token("viewer"), tls=ssl.create_default_context(
            cafile=self.certificate))
        self.assertEqual(token.send("GET", "/v1/version").status, 200)
        make_certificate(self.files, "two")
        self.assertEqual(self.reload(self.settings_of("two")).status, 204)
        after = self.serial()
        self.assertNotEqual(before, after)
        # An open connection stays.
        self.assertEqual(token.send("GET", "/v1/version").status, 200)
        # The same files with new content, as tools that renew certificates write them.
        make_certificate(self.files, "two")
        self.by_signal(self.settings_of("two"), "settings_reloaded")
        self.assertNotIn(self.serial(), (before, after))
        for _ in range(20):
            self.assertEqual(self.reload().status, 204)
            self.serial()

    def test_settings_are_applied(self):
        self.assertEqual(self.client().get("/console/nodes.json"), {"items": [], "next": None})
        self.by_signal(self.settings_of(nodes=[{"name": "gpu1", "url": "https://gpu1:7780"}]),
                       "settings_reloaded")
        self.assertEqual(self.client().get("/console/nodes.json")["items"][0]["name"], "gpu1")
        self.assertEqual(self.reload(self.settings_of()).status, 204)
        self.assertEqual(self.client().get("/console/nodes.json")["items"], [])

    def test_what_cannot_change(self):
        for settings, name in (
                ({**self.settings_of(), "executor": "gate"}, "executor"),
                ({**self.settings_of(), "debts": "pod"}, "debts"),
                ({"version": 1, "listen": {"port": self.port}}, "listen.certificate"),
                ({**self.settings_of(), "listen": {**self.settings_of()["listen"], "port": 1}},
                 "listen.port"),
                ({**self.settings_of(), "listen": {**self.settings_of()["listen"],
                                                   "address": "127.0.0.2"}}, "listen.address")):
            answer = self.reload({**settings, "nodes": [{"name": "x", "url": "http://y"}]})
            self.problem(answer, 400, "bad_request", name, "stay", "restart")
            self.assertIn(name, self.by_signal(settings, "settings_refused"))
        self.assertEqual(self.client().get("/console/nodes.json")["items"], [])

    def test_a_broken_file(self):
        before = self.serial()
        for broken, words in (("version: 1\nwach: {}", "did you mean 'watch'"), ("", "empty"),
                              ("version: 1\nwach: {}\nexecutor: x", "2 mistakes"),
                              ("admins: ['group:no-such-group']\nversion: 1", "no-such-group"),
                              (self.settings_of("missing"), "missing.crt")):
            self.problem(self.reload(broken), 400, "bad_request", words, "in force stay")
            self.assertIn("in force stay", self.by_signal(broken, "settings_refused"))
            self.assertEqual(self.serial(), before)
        os.unlink(os.path.join(self.files, "settings.yaml"))
        self.problem(self.reload(), 400, "bad_request", "settings.yaml")
        self.assertEqual(self.reload(self.settings_of()).status, 204)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to be several users")
    def test_tenants_do_not_see_what_the_file_says(self):
        self.by_signal("version: 1\nwach: {secret-name: 1}", "settings_refused")
        events = self.client("nobody").get("/v1/events?limit=10000")["items"]
        self.assertIn("agent_started", {event["type"] for event in events})
        self.assertFalse({event["type"] for event in events} &
                         {"settings_refused", "settings_reloaded"})

    @unittest.skipUnless(os.geteuid() == 0, "needs root to be several users")
    def test_roles(self):
        client = self.client("nobody")
        self.assertEqual(client.send("POST", "/v1/reload").status, 403)
        self.assertEqual(self.reload(self.settings_of(admins=["nobody"])).status, 204)
        # On the connection that was open before.
        self.assertEqual(client.get("/v1/whoami")["scope"], "admin")
        self.assertEqual(client.send("POST", "/v1/reload").status, 204)
        self.assertEqual(self.reload(self.settings_of()).status, 204)
        self.assertEqual(client.send("POST", "/v1/reload").status, 403)


@unittest.skipUnless(os.geteuid() == 0, "needs root to be several users")
class Users(WebCase):
    """A user database that does not answer, as a directory server at times does."""

    system = True

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cleave-users-")
        self.addCleanup(folder.cleanup)
        self.hang = os.path.join(folder.name, "hang")
        self.env = {"LD_PRELOAD": os.path.join(os.path.dirname(PROGRAMS["driver"]),
                                               "libslow-users.so"),
                    "CLEAVE_TEST_USERS": self.hang,
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
        super().setUp()

    def make_settings(self):
        return {"version": 1, "admins": ["group:daemon"], "listen": {"port": self.port},
                "tenants": [{"user": "lp", "leases": 1}, {"group": "mail", "leases": 1},
                            {"leases": 2}]}

    def stop_answers(self, but_for=""):
        with open(self.hang, "w", encoding="ascii") as file:
            file.write(but_for)

    def test_others_do_not_wait(self):
        secret = self.token("tenant", tenant="games")
        known = self.client("man")
        self.assertEqual(known.get("/v1/whoami")["subject"], "man")
        answers = {}

        def ask(name, client):
            answers[name] = client.send("GET", "/v1/whoami")

        self.stop_answers()
        waiting = {"nobody": self.client("nobody"), "daemon": self.client("daemon")}
        token = self.over_tcp(secret)
        threads = []
        for name, client in waiting.items():
            client.connection = client.open()
            threads.append(threading.Thread(target=ask, args=(name, client)))
            threads[-1].start()
        root = self.client()
        for _ in range(20):
            self.assertEqual(root.send("GET", "/v1/leases").status, 200)
            self.assertEqual(known.send("GET", "/v1/leases").status, 200)
            self.assertEqual(token.get("/v1/whoami")["subject"], "games")
        self.assertEqual(answers, {})
        os.unlink(self.hang)
        for thread in threads:
            thread.join(PATIENCE_S)
        self.assertEqual({name: (answer.json["subject"], answer.json["scope"])
                          for name, answer in answers.items()},
                         {"nobody": ("nobody", "tenant"), "daemon": ("daemon", "admin")})

    def test_after_a_restart(self):
        """The next agent knows none of the users whose leases it takes over."""
        one = self.lease_as("man", share=1, device="gpu0")["id"]
        two = self.lease_as("man", share=1, device="gpu0", wait=True)["id"]
        self.agent.stop()
        self.stop_answers(but_for="names of groups")
        self.agent.start()
        root, other, answers = self.client(), self.client(), []
        thread = threading.Thread(
            target=lambda: answers.append(other.send("GET", "/v1/tenants")))
        thread.start()
        self.assertEqual(root.get("/v1/leases/" + two)["queue_position"], 1)
        # Whether the user may have it depends on the user's groups.
        self.assertEqual(root.send("DELETE", "/v1/leases/" + one).status, 204)
        for _ in range(20):
            self.assertEqual(root.get("/v1/leases/" + two)["state"], "queued")
        self.problem(root.send("PATCH", "/v1/leases/" + two, {"share": 0.9}), 503, "unavailable",
                     "groups man is")
        self.assertEqual(answers, [])
        os.unlink(self.hang)
        thread.join(PATIENCE_S)
        self.assertEqual([a.status for a in answers], [200])
        allowed = {t["name"]: t["allowance"]["leases"] for t in answers[0].json["items"]}
        self.assertEqual(allowed, {"man": 2, "lp": 1})
        self.assertTrue(wait_until(
            lambda: root.get("/v1/leases/" + two)["state"] == "active"))

    def test_reload(self):
        """The settings name a group: others do not wait until it has been looked up."""
        begun, answers = len(self.agent.events("settings_reloaded")), []
        waiting, other = self.client(), self.client()
        self.stop_answers()
        thread = threading.Thread(
            target=lambda: answers.append(waiting.send("POST", "/v1/reload").status))
        thread.start()
        self.agent.process.send_signal(signal.SIGHUP)
        for _ in range(20):
            self.assertEqual(other.send("GET", "/v1/leases").status, 200)
        self.assertEqual(answers, [])
        os.unlink(self.hang)
        thread.join(PATIENCE_S)
        self.assertEqual(answers, [204])
        self.assertTrue(wait_until(
            lambda: len(self.agent.events("settings_reloaded")) == begun + 2))

    def test_it_never_answers(self):
        self.stop_answers()
        answer = self.client("nobody").send("GET", "/v1/whoami")
        self.problem(answer, 503, "unavailable", "user database", "try again")
        answer = self.client().send("POST", "/v1/tokens", {"name": "a", "scope": "tenant",
                                                           "tenant": "games"})
        self.problem(answer, 503, "unavailable", "user database")
        self.problem(self.client().send("POST", "/v1/reload"), 503, "unavailable",
                     "the settings in force stay")
        # The agent's end does not wait for it: until then it never answers.
        self.assertEqual(self.agent.stop(), 0)


class Connections(WebCase):
    """Floods of connections: who else is served, and what is told about it."""

    system = os.geteuid() == 0

    def make_settings(self):
        return {"version": 1, "listen": {"port": self.port}}

    def setUp(self):
        super().setUp()
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self.secret = self.token("viewer")
        self.many = []
        self.addCleanup(lambda: [s.close() for s in self.many])

    def flood(self, n, address="127.0.0.1"):
        """Half requests without a token."""
        for _ in range(n):
            s = socket.socket()
            s.settimeout(10)
            s.bind((address, 0))
            s.connect(("127.0.0.1", self.port))
            with contextlib.suppress(OSError):
                s.sendall(b"GET /v1/version HTTP/1.1\r\n")
            self.many.append(s)

    def metric(self, pattern):
        text = Client(self.agent.api).send("GET", "/metrics").text.decode()
        return float(re.search("^" + pattern + r" (\S+)$", text, re.MULTILINE).group(1))

    def limited(self, limit):
        return self.metric(r'cleave_api_connections_limited_total\{limit="%s"\}' % limit)

    def n_documents(self):
        return self.metric(r'cleave_api_requests_total\{.*"/openapi.json".*\}')

    def check_tokens(self):
        for _ in range(20):
            client = Client(port=self.port, token=self.secret)
            self.assertEqual(client.send("GET", "/v1/version").status, 200)
            client.close()

    def test_an_address_without_tokens(self):
        early = self.over_tcp(self.secret)
        self.assertEqual(early.send("GET", "/v1/version").status, 200)
        connection = early.connection
        self.flood(1500)
        self.check_tokens()
        # The connection with a token has stayed.
        self.assertEqual(early.send("GET", "/v1/version").status, 200)
        self.assertIs(early.connection, connection)
        self.assertGreater(self.limited("address"), 1000)
        events = self.agent.events("connections_limited")
        self.assertEqual(len(events), 1, events)
        self.assertIn("127.0.0.1", events[0]["message"])
        self.assertEqual(self.seen_by(early), events)

    def seen_by(self, client):
        return [event for event in client.get("/v1/events?limit=10000")["items"]
                if event["type"] == "connections_limited"]

    def test_many_addresses(self):
        for i in range(2, 10):
            self.flood(300, "127.0.0.%d" % i)
        self.check_tokens()
        s = socket.create_connection(("127.0.0.1", self.port), 10)
        self.many.append(s)
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        self.assertIn(b" 200 ", s.recv(4096))
        self.assertGreater(self.limited("server"), 1000)

    def test_many_addresses_with_one_each(self):
        for i in range(1100):
            self.flood(1, "127.0.%d.%d" % (1 + i // 200, 1 + i % 200))
        self.check_tokens()

    def test_requests_without_an_end(self):
        """Connections that have a request in work for ever: their client reads no answer."""
        for _ in range(300):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.connect(("127.0.0.1", self.port))
            s.setblocking(False)
            self.many.append(s)
            with contextlib.suppress(OSError):
                s.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 500)
        # Until all of them wait for the client.
        counts = [0]
        self.assertTrue(wait_until(lambda: counts.append(self.n_documents()) or
                                   len(set(counts[-5:])) == 1, 60))
        self.check_tokens()

    def test_a_token_with_too_many(self):
        for _ in range(1100):
            s = socket.create_connection(("127.0.0.1", self.port), 10)
            self.many.append(s)
            s.sendall(b"GET /v1/version HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n"
                      % self.secret.encode())
            text = s.recv(4096)
        self.assertIn(b" 409 ", text)
        other = self.over_tcp(self.token("admin"))
        self.assertEqual(other.send("GET", "/v1/version").status, 200)
        self.assertGreater(self.limited("user"), 70)

    def check_users(self, request=b"", is_answered=False):
        """Four users have all connections, and each has sent this request."""
        for user in ("games", "daemon", "man", "lp"):
            self.client(user).get("/v1/version")  # users who are not known yet count as one
            with acting_as(user):
                for _ in range(1000):
                    self.many.append(socket.socket(socket.AF_UNIX))
                    self.many[-1].settimeout(PATIENCE_S)
                    self.many[-1].connect(self.agent.api)
                    with contextlib.suppress(ConnectionError):
                        self.many[-1].sendall(request)
                        is_answered and self.many[-1].recv(4096)
        for user in ("nobody", "root"):
            self.assertEqual(self.client(user).send("GET", "/v1/version").status, 200)
        self.assertGreater(self.limited("server"), 0)
        # The event names a user: other users do not see it.
        self.assertEqual(self.seen_by(self.client("nobody")), [])
        event, = self.seen_by(self.client())
        self.assertRegex(event["message"], r"^\d+ closed, last one of user \d+: ")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to be several users")
    def test_users(self):
        self.check_users()

    @unittest.skipUnless(os.geteuid() == 0, "needs root to be several users")
    def test_users_with_streams(self):
        self.check_users(b"GET /v1/events/stream HTTP/1.1\r\nHost: x\r\n\r\n", True)
        while self.many[0].recv(65536):  # the oldest has made room, which its client sees
            pass

    @unittest.skipUnless(os.geteuid() == 0, "needs root to be several users")
    def test_users_with_long_polls(self):
        self.check_users(b"GET /v1/events?after=99999&wait_ms=600000 HTTP/1.1\r\n"
                         b"Host: x\r\n\r\n")


if __name__ == "__main__":
    main()
