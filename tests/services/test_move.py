# SPDX-License-Identifier: Apache-2.0
"""Replicas that move to another device: real podman, HAProxy and agent, and two devices of PoCL.

usage: test_move.py CLEAVE CLEAVED GATES [unittest arguments]
"""
import json
import os
import signal
import sys
import unittest

import bed
from bed import Load, Services
from ports import free_port

bed.PROGRAMS.update(zip(("cleave", "cleaved", "gates"), map(os.path.abspath, sys.argv[1:4])))
del sys.argv[1:4]
WHY_NOT = bed.why_not()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Move(Services):
    def start_agent(self):
        self.env["POCL_DEVICES"] = "basic basic"
        super().start_agent()

    def leases(self):
        listed = json.loads(self.cleave("ps", "-o", "json").stdout)["items"]
        return {each["name"]: each["device"] for each in listed}

    def web(self, port, share=.3, n=1, **keys):
        return self.service(port, deploy={"replicas": n},
                            **{"x-cleave": {"share": share, "memory": "100M"}, **keys})

    def other(self, device):
        """The device that this one is not."""
        return {"gpu0": "gpu1", "gpu1": "gpu0"}[device]

    def test_move(self):
        """Under load no request fails, and the other replica stays."""
        port = free_port()
        self.up(web=self.web(port, n=2))
        before = self.leases()
        name = sorted(before)[0]
        loads = [Load(port, method="POST"), Load(port, keep_alive=True, method="POST")]
        done = self.cleave("move", name, self.other(before[name]))
        self.assertIn(f"web: moves: {name} to {self.other(before[name])}, by cleave move", done.stdout)
        self.assertIn(f"web: moved: {name} to", done.stdout)
        for load in loads:
            self.assertEqual(load.end().failures, [])
        after = self.leases()
        new, = set(after) - set(before)
        self.assertEqual(after[new], self.other(before[name]))
        self.assertEqual(set(before) - set(after), {name})
        self.assertEqual(sorted(after), self.containers())
        self.assertEqual(self.status()["web"]["state"], "ready")
        self.cleave("move", new, before[name])
        self.assertEqual(sorted(self.leases().values()), sorted(before.values()))

    def test_one_after_the_other(self):
        """Each move tells of its own replica, also where that is not in the last slot."""
        port = free_port()
        self.up(web=self.web(port, n=2, share=.2))
        for name, device in sorted(self.leases().items()):
            before = self.leases()
            done = self.cleave("move", name, self.other(device))
            new, = set(self.leases()) - set(before)
            self.assertIn(f"web: moved: {name} to {self.other(device)}: {new}\n", done.stdout)
            self.assertEqual(self.leases()[new], self.other(device))

    def test_long_requests_end_first(self):
        port = free_port()
        self.up(web=self.web(port, environment={"VERSION": "1"}))
        (name, device), = self.leases().items()
        before = self.who(port)["name"]
        load = Load(port, path="/wait?ms=3000", method="POST")
        self.wait_until(lambda: self.status()["web"]["in_flight"], "a request")
        load.stops = True
        self.cleave("move", name, self.other(device))
        self.assertEqual((load.end().failures, load.n, load.names), ([], 1, {before}))

    def test_no_room(self):
        """The old one stays, and nothing else is changed, neither by idle services."""
        port = free_port()
        self.up(web=self.web(port, .6))
        (name, device), = self.leases().items()
        self.cleave("reserve", "--socket", self.socket, "--name", "other", "--share", ".6",
                    "--memory", "100M", "--device", self.other(device))
        load = Load(port, method="POST")
        done = self.cleave("move", name, self.other(device), code=75)
        self.assertIn(f"{name} was not moved:", done.stderr)
        self.assertEqual(load.end().failures, [])
        self.assertEqual(self.leases()[name], device)
        self.assertEqual(self.containers(), [name])
        self.assertEqual(self.status()["web"]["state"], "ready")
        self.cleave("release", "--socket", self.socket, "other")
        self.cleave("move", name, self.other(device))

    def test_one_that_fails(self):
        """A program that does not start a second time: the first one goes on."""
        port = free_port()
        flag = self.write("flag", "")
        web = self.web(port, command=[
            "sh", "-c", "test -s /root/flag && exit 4; exec python3 /srv/replica.py"])
        web["volumes"].append(f"{flag}:/root/flag:ro")
        self.up(web=web)
        (name, device), = self.leases().items()
        self.write("flag", "set")
        load = Load(port, method="POST")
        done = self.cleave("move", name, self.other(device), code=125)
        self.assertIn("exit code 4", done.stderr)
        self.wait_until(lambda: self.leases() == {name: device}, "the end of the new one")
        self.assertEqual(self.containers(), [name])
        self.assertEqual(load.end().failures, [])
        self.assertEqual(self.status()["web"]["state"], "ready")

    def test_refusals(self):
        port = free_port()
        once = self.service(command=["true"], restart="no", **{"x-cleave": {"share": .1, "memory": "100M"}})
        self.up(web=self.web(port), plain=self.service(), once=once)
        (name, device), = self.leases().items()
        for words, code, text in (
                (("none", "gpu1"), 64, "no service has a replica 'none'"),
                ((f"{self.name}-plain-1", "gpu1"), 125, "plain has no device"),
                ((f"{self.name}-once-1", "gpu1"), 125, "does not run"),
                ((name, device), 125, f"{name} is on {device} already"),
                ((name, "gpu7"), 125, "gpu7"),
                ((name,), 64, "")):
            self.assertIn(text, self.cleave("move", *words, code=code).stderr)
        self.assertEqual(self.leases(), {name: device})
        fixed = self.web(port, **{"x-cleave": {"share": .3, "memory": "100M", "device": device}})
        self.up(web=fixed, plain=self.service())
        name, = self.leases()
        self.assertIn(f"the file says 'device: {device}' for web",
                      self.cleave("move", name, self.other(device), code=125).stderr)

    def test_defrag(self):
        """It moves replicas of services, and nothing where another program would have to."""
        ports = free_port(), free_port()
        held = {"share": .3, "memory": "100M"}
        self.up(a=self.web(ports[0], **{"x-cleave": {**held, "device": "gpu0"}}), b=self.web(ports[1]))
        name = f"{self.name}-b-1"
        if self.leases()[name] == "gpu0":
            self.cleave("move", name, "gpu1")
            name, = set(self.leases()) - {f"{self.name}-a-1"}
        self.assertEqual(self.leases()[name], "gpu1")
        load = Load(ports[1], method="POST")
        ask = ("--socket", self.socket, "--share", ".9", "--memory", "100M")
        keep = ("--keep", f"{self.name}-a-1")
        self.assertIn("--apply moves them", self.cleave("defrag", *ask, *keep).stderr)
        done = self.cleave("defrag", *ask, *keep, "--apply", "--yes")
        self.assertIn(f"b: moved: {name} to gpu0", done.stdout)
        self.assertEqual(load.end().failures, [])
        self.assertEqual(set(self.leases().values()), {"gpu0"})
        self.cleave("reserve", "--socket", self.socket, "--name", "other", "--share", ".3",
                    "--memory", "100M", "--device", "gpu1")
        before = self.leases()
        done = self.cleave("defrag", *ask, "--apply", "--yes", "--keep",
                           ",".join(each for each in before if each != "other"), code=75)
        self.assertIn("nothing was changed: the plan restarts programs", done.stderr)
        self.assertEqual(self.leases(), before)
        # Its file names the device, which only its supervisor knows.
        self.cleave("release", "--socket", self.socket, "other")
        self.cleave("move", next(each for each in before if before[each] == "gpu0" and "-b-" in each), "gpu1")
        before = self.leases()
        done = self.cleave("defrag", *ask, "--apply", "--yes", "--keep",
                           ",".join(each for each in before if "-b-" in each), code=75)
        self.assertIn("nothing was changed: the file says 'device: gpu0'", done.stderr)
        self.assertEqual(self.leases(), before)

    def test_supervisor_that_is_killed(self):
        """The next one goes on with the move, and requests are answered throughout."""
        self.kill_in_a_move()

    def test_supervisor_that_is_killed_later(self):
        """The same where the new one's slot is before the old one's, and a second replica could stay."""
        self.kill_in_a_move(1, **{"x-omnistrate-capabilities": {"autoscaling": {
            "minReplicas": 1, "maxReplicas": 3, "idleMinutesBeforeScalingDown": 10000}}})

    def kill_in_a_move(self, n_before=0, **keys):
        port = free_port()
        slow = {"test": ["CMD", "sh", "-c", "sleep 2"], "interval": "5s", "timeout": "60s"}
        self.up(web=self.web(port, healthcheck=slow, **keys))
        (name, device), = self.leases().items()
        for _ in range(n_before):
            self.cleave("move", name, self.other(device))
            (name, device), = self.leases().items()
        load = Load(port, method="POST")
        move = self.start_move(name, self.other(device))
        self.wait_until(lambda: len(self.containers()) == 2, "the new one")
        os.kill(self.supervisor(), signal.SIGKILL)
        self.assertEqual(move.wait(120), 125)
        self.supervise()
        self.wait_until(lambda: self.status().get("web", {}).get("state") == "ready", "the supervisor")
        self.wait_until(lambda: len(self.containers()) == 1, "one of both")
        self.wait_until(lambda: len(self.leases()) == 1, "one lease")
        self.assertEqual(sorted(self.leases()), self.containers())
        self.assertEqual(list(self.leases().values()), [self.other(device)])
        self.assertEqual(load.end().failures, [])

    def start_move(self, *words):
        made = bed.subprocess.Popen([bed.PROGRAMS["cleave"], "move", *words], env=self.env,
                                    stdout=bed.subprocess.DEVNULL, stderr=bed.subprocess.DEVNULL)
        self.addCleanup(made.wait)
        self.addCleanup(made.kill)
        return made


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
