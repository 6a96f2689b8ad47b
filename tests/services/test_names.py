# SPDX-License-Identifier: Apache-2.0
"""How services find each other, and what does not end: real podman, HAProxy and agent.

usage: test_names.py CLEAVE CLEAVED GATES [unittest arguments]
"""
import json
import os
import signal
import subprocess
import sys
import time
import unittest

import bed
from bed import Services
from ports import free_port

bed.PROGRAMS.update(zip(("cleave", "cleaved", "gates"), map(os.path.abspath, sys.argv[1:4])))
del sys.argv[1:4]
WHY_NOT = bed.why_not()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Names(Services):
    """Services of a project find each other by their names."""

    FETCH = "import urllib.request as r; print(r.urlopen('http://db:8080/', timeout=60).read().decode())"

    def fetch(self):
        """What web gets from db."""
        return json.loads(self.engine("exec", f"{self.name}-web-1", "python3", "-c", self.FETCH))

    def test_web_and_db(self):
        """From the first line of a program on, and after db has another address."""
        db = self.service(environment={"VERSION": "1"}, healthcheck={
            "test": ["CMD", "python3", "-c", "import socket; socket.create_connection(('127.0.0.1', 8080))"]})
        web = self.service(command=["sh", "-c", "getent hosts db && exec python3 /srv/replica.py"],
                           depends_on={"db": {"condition": "service_healthy"}})
        self.up(web=web, db=db)
        self.assertEqual(self.fetch()["version"], "1")
        before = self.containers()
        self.up(web=web, db={**db, "environment": {"VERSION": "2"}})
        self.assertIn(f"{self.name}-web-1", before)
        self.wait_until(lambda: self.fetch()["version"] == "2", "the new address")
        hosts = self.engine("exec", f"{self.name}-web-1", "cat", "/etc/hosts")
        self.assertEqual(hosts.count("\tdb") + hosts.count(" db"), 1, hosts)
        self.assertIn(f"cleave-{self.name}", self.networks())
        self.cleave("down", self.name)
        self.assertNotIn(f"cleave-{self.name}", self.networks())

    def test_after_another_supervisor(self):
        self.up(web=self.service(), db=self.service(environment={"VERSION": "1"}))
        os.kill(self.supervisor(), signal.SIGKILL)
        self.kill(f"{self.name}-db-1")
        self.supervise()
        self.wait_until(lambda: self.status().get("db", {}).get("state") == "ready", "the supervisor")
        self.assertEqual(self.fetch()["version"], "1")

    def test_names_of_another_project(self):
        other = f"{self.name}b"
        path = self.write("other.yaml", json.dumps({"name": other, "services": {"db": self.service()}}))
        self.cleave("up", path)
        self.addCleanup(self.cleave, "down", other, code=None)
        self.up(web=self.service())
        self.engine("exec", f"{self.name}-web-1", "getent", "hosts", "db", code=2)
        self.engine("exec", f"{self.name}-web-1", "getent", "hosts", "web")

    def test_without_a_network(self):
        """Where the engine makes none there is an event, and names are those in the default network."""
        self.addCleanup(self.refuse("network", "no networks here"))
        done = self.up(web=self.service(), db=self.service(environment={"VERSION": "1"}))
        self.assertIn("no network of its own: podman network: no networks here", done.stdout)
        self.assertEqual(self.fetch()["version"], "1")

    def test_network_that_was_removed(self):
        """As podman network prune does with that of a project of which nothing runs."""
        self.up(web=self.service(), db=self.service(environment={"VERSION": "1"}))
        for name in ("web", "db"):
            self.cleave("scale", f"{name}=0")
        self.engine("network", "rm", f"cleave-{self.name}")
        for name in ("db", "web"):
            self.cleave("scale", f"{name}=1")
        self.assertEqual(self.fetch()["version"], "1")
        self.assertNotIn("a replica failed", self.events())
        self.assertIn(f"cleave-{self.name}", self.networks())

    def networks(self):
        return self.engine("network", "ls", "--format={{.Name}}").split()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Hangs(Services):
    """Programs that do not end, and services that do not go on."""

    def test_health_checks_that_hang(self):
        """What they have started in the container ends with them."""
        web = self.service(healthcheck={
            "test": ["CMD-SHELL", "echo >> /tmp/tests; sleep 987654 & sleep 987654"], "interval": "1s",
            "timeout": "2s", "start_period": "10m"})
        # A process of the machine is not looked at, whatever its variables are.
        other = subprocess.Popen(["sleep", "1000"], env={"CLEAVE_CHECK": f"{self.name}-web-1"})
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        self.start("up", self.file(web=web))
        container = f"{self.name}-web-1"

        def lines():
            done = subprocess.run(["podman", "exec", container, "cat", "/tmp/tests"], env=self.env,
                                  capture_output=True, check=False)
            return done.stdout.count(b"\n")
        self.wait_until(lambda: lines() >= 4, "four tests")
        left = subprocess.run(["pgrep", "-fxc", "sleep 987654"], capture_output=True, text=True, check=False)
        self.assertLessEqual(int(left.stdout), 2, "those of the test in progress only")
        self.assertIsNone(other.poll())

    def test_engine_that_hangs(self):
        """While its last words are not there, everything else goes on."""
        self.up(web=self.service(free_port()), other=self.service())
        gate = os.path.join(self.folder, "gate")
        os.mkfifo(gate)
        self.addCleanup(self.refuse("logs", f"$(cat {gate})"))
        self.kill(f"{self.name}-web-1")
        self.wait_until(lambda: self.events().count("web: a replica is ready") == 2, "the next one")
        self.assertIn("web-1: its program ended with exit code 137;", self.events())

    def test_rest_of_what_failed(self):
        """A service that is not started again costs no more than one that is ready."""
        self.up(web=self.service(command=["false"], restart="no"), code=125)
        self.assertEqual(self.status()["web"]["state"], "failed")
        status = f"/proc/{self.supervisor()}/status"

        def switches():
            with open(status, encoding="ascii") as file:
                return sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)
        before = switches()
        time.sleep(6)
        self.assertLess(switches() - before, 60)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
