# SPDX-License-Identifier: Apache-2.0
"""A lease as the provider of a service in a compose file, with containers of real podman.

This release of Debian has no Docker Compose that knows providers: here Compose does what its
docs/extension.md and pkg/compose/plugins.go say.  test_engines.py has the real one.

usage: test_compose.py CLEAVE CLEAVED GATES [unittest arguments]
"""
import fcntl
import glob
import json
import os
import signal
import subprocess
import sys
import unittest

import container_cases
import podman as podman_here
from container_cases import CLEAVE, MIB

SPECS = "/etc/cdi"
NOBODY = 65534
WHY_NOT = podman_here.why_not()


class Refused(Exception):
    """What Compose shows of a provider that fails."""


class Compose:
    """runPlugin(): metadata first; each option as --NAME=VALUE; one JSON object after another; the
    first error ends it; variables get the service's name as prefix."""

    def __init__(self, project, env):
        self.project, self.env, self.infos = project, env, []

    def knows(self, call, option):
        """Of an option that the metadata do not have, the provider is told nothing."""
        ran = subprocess.run([CLEAVE, "compose", "metadata"], env=self.env, capture_output=True,
                             text=True, timeout=60, check=False)
        if ran.returncode != 0:
            return True
        listed = json.loads(ran.stdout).get(call, {}).get("parameters", [])
        return option in [each["name"] for each in listed]

    def run(self, call, service, **options):
        words = [f"--{name}={value}" for name, value in options.items() if self.knows(call, name)]
        ran = subprocess.run([CLEAVE, "compose", f"--project-name={self.project}", call, *words,
                              service], env=self.env, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, timeout=60, check=False)
        variables = {}
        for line in ran.stdout.splitlines():
            message = json.loads(line)
            if message["type"] == "error":
                raise Refused(message["message"])
            if message["type"] == "info":
                self.infos.append(message["message"])
            elif message["type"] == "setenv":
                name, _, value = message["message"].partition("=")
                variables[service.upper() + "_" + name] = value
            elif message["type"] not in ("debug", "rawsetenv"):
                raise Refused("invalid response from plugin")
        if ran.returncode != 0:
            raise Refused(f"exit status {ran.returncode}")
        return variables


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Provider(container_cases.ContainerCase):
    def make_engine(self):
        podman_here.hold_specs(self, SPECS)
        self.addCleanup(self.forget_specs)
        return podman_here.Podman()

    def file(self):
        return os.path.join(SPECS, f"cleave-compose-{os.getpid()}.json")

    def forget_specs(self):
        for path in (self.file(), self.file() + ".lock", self.file() + ".watch.lock"):
            if os.path.exists(path):
                os.unlink(path)

    def setUp(self):
        super().setUp()
        self.compose = Compose("shop", dict(self.env, CLEAVE_SOCKET=self.socket))

    def up(self, service="gpu", **options):
        return self.compose.run("up", service, to=self.file(), **options)

    def end_agents_of(self, folder):
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                with open(path, "rb") as file:
                    if f"HOME={folder}\0".encode() in file.read():
                        os.kill(int(path.split("/")[2]), signal.SIGKILL)
            except OSError:  # it is gone, or not to be read
                pass

    def listed(self):
        with open(self.file(), encoding="utf-8") as file:
            return [each["name"] for each in json.load(file)["devices"]]

    def test_a_container_has_it(self):
        variables = self.up(share="0.3", memory="200M")
        self.assertEqual(variables, {"GPU_LEASE": "shop-gpu",
                                     "GPU_DEVICE": "cleave.dev/gpu=shop-gpu"})
        answer = self.engine.run("clinfo", devices=(variables["GPU_DEVICE"],))
        self.assertEqual(container_cases.memory_of(answer), 200 * MIB)
        self.compose.run("down", "gpu", to=self.file(), share="0.3", memory="200M")
        self.assertEqual((self.leases(), self.listed()), ({}, []))

    def test_again(self):
        """Compose calls up for what runs, and expects the same variables."""
        first = self.up(share="0.3", memory="200M")
        socket = self.leases()["shop-gpu"]["socket"]
        self.assertEqual(self.up(share="0.4", memory="200M"), first)
        lease = self.leases()["shop-gpu"]
        self.assertEqual((lease["socket"], lease["share"]), (socket, .4))
        self.assertEqual(self.compose.infos, [])
        self.up(share="0.4", device="gpu0")
        self.assertIn("lease shop-gpu exists", self.compose.infos[0])
        for _ in range(2):
            self.compose.run("down", "gpu", to=self.file())

    def test_several(self):
        """The file has all leases when Compose starts providers at once."""
        calls = [subprocess.Popen(
            [CLEAVE, "compose", "--project-name=shop", "up", "--share=0.05", f"--to={self.file()}",
             f"part{i}"], env=self.compose.env, stdout=subprocess.DEVNULL) for i in range(8)]
        self.assertEqual([each.wait(60) for each in calls], [0] * 8)
        self.assertEqual(sorted(self.listed()), [f"shop-part{i}" for i in range(8)])

    def test_names(self):
        self.assertEqual(self.up("a.b", share="0.1")["A.B_LEASE"], "shop-a-b")
        self.assertEqual(self.up(share="0.1", name="chat")["GPU_LEASE"], "chat")
        self.call("reserve", "--name", "mine", "--share", "0.1")
        with self.assertRaisesRegex(Refused, "lease mine is not one of containers"):
            self.up(share="0.1", name="mine")

    def up_of_nobody(self, file):
        """With an agent of the user's own."""
        os.chmod(self.folder, 0o755)
        folder = os.path.join(self.folder, "nobody")
        os.mkdir(folder)
        os.chown(folder, NOBODY, NOBODY)
        self.addCleanup(self.end_agents_of, folder)
        ran = subprocess.run(
            ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", CLEAVE,
             "compose", "--project-name=shop", "up", "--share=0.1", f"--to={file}", "gpu"],
            env=dict(self.env, HOME=folder, XDG_RUNTIME_DIR=folder, XDG_STATE_HOME=folder),
            stdout=subprocess.PIPE, text=True, timeout=60, check=False)
        messages = [json.loads(line) for line in ran.stdout.splitlines()]
        self.assertEqual([each["type"] for each in messages], ["info", "setenv", "setenv"], messages)
        self.assertIn("cleave cdi watch", messages[0]["message"])

    def test_a_user_who_may_not_read_the_file(self):
        """Leases of others are in it: root's cleave cdi watch writes it."""
        os.makedirs(SPECS, exist_ok=True)
        with open(self.file(), "w", encoding="utf-8") as file:
            file.write("{}")
        os.chmod(self.file(), 0o600)
        self.up_of_nobody(self.file())

    def test_a_user_who_may_write_the_folder_only(self):
        """The file and its lock are root's."""
        folder = os.path.join(self.folder, "shared")
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        file = os.path.join(folder, "cleave.json")
        self.call("cdi", "generate", "--to", file)
        self.up_of_nobody(file)

    def test_an_entry_of_a_lease_that_ended(self):
        """It has the name, and leads to a folder that is gone."""
        self.up(share="0.1")
        with open(self.file(), encoding="utf-8") as file:
            old = file.read()
        self.compose.run("down", "gpu", to=self.file())
        with open(self.file(), "w", encoding="utf-8") as file:
            file.write(old)
        with open(self.file() + ".watch.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # a watch that does nothing
            with self.assertRaisesRegex(Refused, "does not list lease shop-gpu"):
                self.up(share="0.1")
        self.up(share="0.1")

    def test_what_is_refused(self):
        """With a reason that Compose shows."""
        for options, words in (({"share": "0.3", "quota": "8G"}, "quota"),
                               ({}, "the lease has no size"),
                               ({"share": "1.5"}, "share"),
                               ({"share": "0.3", "memory": "9000G"}, "memory")):
            with self.assertRaisesRegex(Refused, words):
                self.up(**options)
            self.assertEqual(self.leases(), {})
        self.stop_agent()
        self.compose.env["CLEAVE_SOCKET"] = "/nowhere/api.sock"
        with self.assertRaisesRegex(Refused, "/nowhere/api.sock"):
            self.up(share="0.3")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[4:], verbosity=2)
