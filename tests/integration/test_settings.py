#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of settings that the agent refuses, or takes with a warning."""
import os
import subprocess
import tempfile
import unittest

from harness import PATIENCE_S, PROGRAMS, Agent, main
from test_tokens import make_certificate
from web_client import EXAMPLES, Client


# A mistake, or several, in a settings file: the text behind "version: 1", and of each mistake
# its line and a part of its sentence.
MISTAKES = [
    ("listen: {port: 0}", [(2, "out of range")]),
    ("listen: {port: 70000}", [(2, "out of range")]),
    ("listen: {}", [(2, "'port' is missing")]),
    ("listen: {port: 7780, address: 0.0.0.0}", [(2, "certificate and key")]),
    ("listen: {port: 7780, address: 127.0.0.1.example}", [(2, "numeric address")]),
    ("listen: {port: 7780, certificate: /nonexistent}", [(2, "both")]),
    ("listen: {port: 7780, certificate: /nonexistent, key: /nonexistent}", [(2, "/nonexistent")]),
    ("listen: {port: 7780, certificate: tls.crt, key: tls.key}",
     [(2, "'tls.crt' is not an absolute path"), (2, "'tls.key' is not an absolute path")]),
    ("listen: [7780]", [(2, "keys with values")]),
    ("admins: ['group:no-such-group']", [(2, "'no-such-group'")]),
    ("admins:\n- 'group:no-such-group'\n- 'group:'\n- 'group:no-other-group'",
     [(3, "'no-such-group'"), (4, "not a name of a group"), (5, "'no-other-group'")]),
    ("viewers: ['group:no-such-group']", [(2, "'no-such-group'")]),
    ("viewers: ['']", [(2, "not a name of a user")]),
    ("tenants: [{group: no-such-group, share: 1}]", [(2, "'no-such-group'")]),
    ("tenants: [{share: two}]", [(2, "'two' is not a number of devices")]),
    ("tenants: [{share: -1}]", [(2, "not a number of devices")]),
    ("tenants: [{memory: 80 Q}]", [(2, "80 Q")]),
    ("tenants: [{leases: 0}]", [(2, "out of range")]),
    ("tenants: [{classes: [fast]}]", [(2, "'fast' is none of")]),
    ("tenants: [{user: a, group: b}]", [(2, "only one of these")]),
    ("tenants: [{cgroup: /a}]", [(2, "cgroup and name")]),
    ("tenants: [{cgroup: a, name: b}]", [(2, "absolute path")]),
    ("tenants:\n- {user: no-such-user, share: 1}\n- {group: no-such-group}",
     [(3, "no user 'no-such-user'"), (4, "'no-such-group'")]),
    ("tenants:\n- {share: 1}\n- {user: root, share: 2}\n- {cgroup: /a, name: b}",
     [(4, "never applies: the one in line 3"), (5, "move that to the end")]),
    ("tenants:\n- {user: root}\n- {group: root}\n- {user: root}",
     [(5, "never applies: line 3 has one for the same user")]),
    ("tenants:\n- {group: root}\n- {group: root}", [(4, "the same group")]),
    ("tenants:\n- {cgroup: /a, name: b}\n- {cgroup: /a, name: c}", [(4, "the same cgroup")]),
    ("tenants: [{share: 0x10}]", [(2, "'0x10' is not a number of devices")]),
    ("tenants: [{share: 1e2}]", [(2, "'1e2' is not a number of devices")]),
    ("tenants: [{classes: []}]", [(2, "this list is empty")]),
    ("tenants: [{profiles: []}]", [(2, "this list is empty")]),
    ("tenants: [{profiles: [1g.10gb, 1g.nonsense, 'cores:0', CPX/NPS9, 1c.]}]",
     [(2, "'1g.nonsense' is no profile"), (2, "'cores:0'"), (2, "'CPX/NPS9'"), (2, "'1c.'")]),
    ("tenants: [{color: red}]", [(2, "unknown key 'color'")]),
    ("overcommit: perhaps", [(2, "neither on nor off")]),
    ("executor: hand", [(2, "'hand' is none of auto")]),
    ("debts: none", [(2, "'none' is none of tenant")]),
    ("watch: {every: 1h30m}", [(2, "1h30m")]),
    ("watch: {every: 500ms}", [(2, "number of seconds")]),
    ("watch: {over-quota: stop}", [(2, "'stop' is none of")]),
    ("watch: {no-lease: throttle}", [(2, "report it or end it")]),
    ("watch: {past-gate: throttle}", [(2, "report it or end it")]),
    ("watch: {ungated-api: throttle}", [(2, "report it or end it")]),
    ("watch: {tolerance: much}", [(2, "much")]),
    ("watch: {grace: soon}", [(2, "soon")]),
    ("watch: {ignore: [Xorg]}", [(2, "absolute path")]),
    ("nodes: [{name: a}]", [(2, "'url' is missing")]),
    ("nodes: [{url: 'http://b'}]", [(2, "'name' is missing")]),
    ("nodes:\n- {name: a, url: 'javascript:alert(1)'}\n- {name: b, url: 'https://'}",
     [(3, "write https://HOST:PORT"), (4, "write https://HOST:PORT")]),
    ("nodes:\n- {name: a, url: 'http://b:99999'}\n- {name: c, url: 'http://d:0'}\n"
     "- {name: e, url: 'http://f:'}\n- {name: g, url: 'http://[::1]x'}\n- {name: h, url: 'http://:80'}",
     [(line, "from 1 to 65535") for line in range(3, 8)]),
    ("nodes:\n- {name: a, url: 'http://b'}\n- {name: c, url: 'http://d'}\n- {name: a, url: 'http://e'}",
     [(5, "two nodes have the name 'a'")]),
    ("origins: ['http://a:99999']", [(2, "from 1 to 65535")]),
    ("tenants:\n" + "".join("- {cgroup: %s, name: a%d}\n" % (path, i) for i, path in enumerate(
        ("/a/../b", "/..", "/./a", "/a//b", "/a/"))),
     [(line, "the path of no cgroup") for line in range(3, 8)]),
    ("origins: ['*', 'javascript:1', 'https://a/b', 'https:///', 'http://a*']",
     [(2, "'*' is no origin"), (2, "'javascript:1'"), (2, "'https://a/b'"), (2, "'https:///'"),
      (2, "'http://a*'")]),
    ("origins: [[]]", [(2, "a text is expected")]),
    ("wach: {}", [(2, "did you mean 'watch'")]),
    ("version: 1", [(2, "appears twice")]),
    ("admins: [a", [(3, "invalid YAML")]),
    ("executor: hand\nwatch:\n  every: x\n  grace: y\ntenants:\n- {share: z}\n- {leases: -1}\nlisten: {}",
     [(2, "'hand'"), (4, "x"), (5, "y"), (7, "'z'"), (8, "whole number"), (9, "'port' is missing")]),
]


class Settings(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "settings.yaml")

    def write(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("version: 1\n" + text + "\n")

    def run_agent(self, *arguments, before=()):
        return subprocess.run([*before, PROGRAMS["cleaved"], "--config", self.path, *arguments],
                              text=True, capture_output=True, timeout=PATIENCE_S, check=False)

    def test_groups_that_do_not_exist(self):
        for text in ("admins: ['group:no-such-group']", "viewers: ['group:no-such-group']",
                     "tenants: [{group: no-such-group, share: 1}]"):
            self.write(text)
            try:
                done = self.run_agent("--foreground", "--runtime-dir", self.folder + "/run",
                                      "--state-dir", self.folder + "/state", "--lock-dir",
                                      self.folder)
            except subprocess.TimeoutExpired:
                self.fail("the agent has started with " + text)
            self.assertEqual(done.returncode, 78, done.stderr)
            self.assertIn("'no-such-group'", done.stderr)

    def test_check_says_every_mistake(self):
        for text, mistakes in MISTAKES:
            self.write(text)
            done = self.run_agent("--check")
            lines = done.stderr.splitlines()
            with self.subTest(text):
                self.assertEqual((done.returncode, done.stdout), (78, ""), done.stderr)
                self.assertEqual(len(lines), len(mistakes), done.stderr)
                for line, words in mistakes:
                    self.assertTrue(any(of.startswith("%s:%d:" % (self.path, line)) and words in of
                                        for of in lines), (line, words, lines))

    def test_check_of_what_is_right(self):
        self.write("listen: {port: 7780}\nadmins: [root, '12345']\n"
                   "origins: ['https://a', 'http://[::1]:7780']\n"
                   "nodes: [{name: a, url: 'https://a:7780'}, {name: b, url: 'http://[::1]/x'}]\n"
                   "tenants:\n- {user: root, share: 0.5, profiles: [1g.10gb, 1g.5gb+me, 3g.999gb-me.all, "
                   "1c.3g.20gb, CPX/NPS4, 'vf:8', 'cores:2']}\n- {group: root}\n"
                   "- {cgroup: '/a.../.b/*', name: c}\n- {share: 2}")
        for more in ((), ("--system",)):
            done = self.run_agent("--check", *more)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout, self.path + ": no mistakes\n")
        os.unlink(self.path)
        done = self.run_agent("--check")
        self.assertEqual(done.returncode, 78)
        self.assertIn("cannot open", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_what_is_not_a_file(self):
        """The other end of a FIFO may never come."""
        fifo = os.path.join(self.folder, "fifo")
        os.mkfifo(fifo)
        self.write("listen: {port: 7780, certificate: %s, key: %s}" % (fifo, fifo))
        done = self.run_agent("--check")
        self.assertEqual(done.returncode, 78)
        self.assertRegex(done.stderr, r"\A[^\n]*%s: it is not a regular file: [^\n]*\n\Z" % fifo)
        self.write("listen: {port: 7780, viewer: %s}" % fifo)
        done = self.run_agent("--check")
        self.assertEqual(done.returncode, 78)
        self.assertRegex(done.stderr, r"\A[^\n]*%s: it is not a regular file: [^\n]*\n\Z" % fifo)
        for self.path in fifo, self.folder:
            done = self.run_agent("--check")
            self.assertEqual(done.returncode, 78)
            self.assertRegex(done.stderr, r"\A[^\n]*%s: it is not a regular file: [^\n]*\n\Z"
                             % self.path)

    def test_secrets_that_every_user_can_read(self):
        certificate, key = make_certificate(self.folder, "one")
        viewer = os.path.join(self.folder, "viewer")
        with open(viewer, "w", encoding="ascii") as file:
            file.write("clv_viewer_" + 32 * "a")
        self.write("listen: {port: 7780, certificate: %s, key: %s, viewer: %s}" % (
            certificate, key, viewer))
        for key_mode, viewer_mode, bad in ((0o600, 0o604, viewer), (0o644, 0o400, key),
                                           (0o602, 0o600, key), (0o640, 0o640, None)):
            os.chmod(key, key_mode)
            os.chmod(viewer, viewer_mode)
            done = self.run_agent("--check")
            self.assertEqual(done.returncode, 78 if bad else 0, done.stderr)
            if bad:
                self.assertRegex(done.stderr, r"\A[^\n]*%s[^\n]*chmod o= %s\n\Z" % (bad, bad))

    def test_expired_certificate(self):
        certificate, key = make_certificate(self.folder, "one")
        subprocess.run(["openssl", "x509", "-in", certificate, "-signkey", key, "-days", "-1",
                        "-out", certificate + ".old"], check=True, capture_output=True)
        self.write(f"listen: {{port: 7780, certificate: {certificate}.old, key: {key}}}")
        done = self.run_agent("--check")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"\A[^\n]*\.old has expired[^\n]*: renew it\n\Z")

    def test_settings_that_every_user_can_change(self):
        """One could name himself an admin there, for the next start or reload."""
        self.write("admins: [root]")
        agent = Agent(arguments=["--sim", os.path.join(EXAMPLES, "dgx-a100.yaml"), "--config",
                                 self.path])
        self.addCleanup(agent.close)
        agent.start()
        client = Client(agent.api)
        self.addCleanup(client.close)
        for mode in (0o602, 0o666):
            os.chmod(self.path, mode)
            for arguments in (["--system", "--check"], ["--foreground", "--runtime-dir", self.folder + "/run",
                                             "--state-dir", self.folder + "/state"]):
                done = self.run_agent(*arguments)
                self.assertEqual(done.returncode, 78, done.stderr)
                self.assertRegex(done.stderr, r"\A[^\n]*every user[^\n]*%s: chmod o-w %s\n\Z"
                                 % (self.path, self.path))
            answer = client.send("POST", "/v1/reload")
            self.assertEqual(answer.status, 400)
            self.assertIn("chmod o-w", answer.text.decode())
        os.chmod(self.path, 0o644)
        for change, undo, said in (
                (lambda: os.chown(self.path, 1, 0), lambda: os.chown(self.path, 0, 0),
                 "chown it to root"),
                (lambda: os.chmod(self.folder, 0o777), lambda: os.chmod(self.folder, 0o700),
                 "can replace .*: chmod o-w")):
            if os.geteuid() == 0:
                change()
                done = self.run_agent("--system", "--check")
                self.assertEqual(done.returncode, 78)
                self.assertRegex(done.stderr, r"\A[^\n]*%s[^\n]*\n\Z" % said)
                # The file of a working copy, which no agent uses.
                self.assertEqual(self.run_agent("--check").returncode, 0)
                undo()
        for mode in (0o644, 0o664):
            os.chmod(self.path, mode)
            self.assertEqual(self.run_agent("--system", "--check").returncode, 0)
            self.assertEqual(client.send("POST", "/v1/reload").status, 204)

    def make_config_map(self):
        """The folder of a ConfigMap as kubelet makes it, which every user can write."""
        folder = os.path.join(self.folder, "map")
        os.makedirs(os.path.join(folder, "..2026_01_01_00_00_00.1"))
        os.chmod(folder, 0o777)
        os.symlink("..2026_01_01_00_00_00.1", os.path.join(folder, "..data"))
        os.symlink("..data/cleaved.yaml", os.path.join(folder, "cleaved.yaml"))
        self.path = os.path.join(folder, "cleaved.yaml")
        self.write("admins: [root]")
        return folder

    def check_mounted(self, script):
        """In a mount namespace of its own, after a script of the shell."""
        return self.run_agent("--system", "--check", before=[
            "unshare", "--mount", "sh", "-ec", script + '; exec "$@"', "sh"])

    @unittest.skipUnless(os.geteuid() == 0, "needs root for mounts and other users' files")
    def test_settings_on_a_mount(self):
        """What no user of the machine can change is taken, whatever its mode."""
        folder = self.make_config_map()
        done = self.check_mounted("true")
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertIn(f"can replace {self.path}: chmod o-w {folder}\n", done.stderr)
        for script in (f"mount --bind {folder} {folder}; mount -o remount,bind,ro {folder}",
                       f"rm {self.path}; cp -L {folder}/..data/cleaved.yaml {self.path};"
                       f" mount --bind {self.path} {self.path}"):
            done = self.check_mounted(script)
            self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "needs root for mounts and other users' files")
    def test_link_into_a_folder_of_everyone(self):
        folder = self.make_config_map()
        os.symlink(self.path, os.path.join(self.folder, "link.yaml"))
        os.rename(os.path.join(folder, "..data", "cleaved.yaml"), self.path)
        self.path = os.path.join(self.folder, "link.yaml")
        done = self.run_agent("--system", "--check")
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertIn(f"can replace {folder}/cleaved.yaml: chmod o-w {folder}\n", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "needs root for mounts and other users' files")
    def test_settings_of_a_user_who_is_not_mapped(self):
        """In a container of a user the machine's root is not mapped."""
        self.write("admins: [root]")
        os.chmod(self.path, 0o644)
        for owner, before, code in ((1, [], 78), (65534, [], 78),
                                    (1, ["unshare", "--user", "--map-root-user"], 0)):
            os.chown(self.path, owner, 0)
            done = self.run_agent("--system", "--check", before=before)
            self.assertEqual(done.returncode, code, done.stderr)

    def test_users_that_do_not_exist(self):
        """An agent starts while the user database is away, and a reload takes the file."""
        for text in ("admins: [no-such-user]", "viewers: [root, 'user:no-such-user', '12345']"):
            self.write(text)
            done = self.run_agent("--check")
            self.assertEqual((done.returncode, done.stdout), (0, ""))
            self.assertRegex(done.stderr, r"\A%s:2: [^\n]* no user 'no-such-user'[^\n]*\n\Z"
                             % self.path)
        agent = Agent(arguments=["--sim", os.path.join(EXAMPLES, "dgx-a100.yaml"), "--config",
                                 self.path])
        self.addCleanup(agent.close)
        agent.start()


if __name__ == "__main__":
    main()
