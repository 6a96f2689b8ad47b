# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with services: in their files, beside them, and in the engine: real podman, HAProxy
and agent.

usage: test_faults.py CLEAVE CLEAVED GATES [unittest arguments]
"""
import json
import os
import signal
import socket
import subprocess
import sys
import unittest

import bed
from bed import Load, Services
from ports import free_port

bed.PROGRAMS.update(zip(("cleave", "cleaved", "gates"), map(os.path.abspath, sys.argv[1:4])))
del sys.argv[1:4]
WHY_NOT = bed.why_not()
SHARE = {"share": 0.25, "memory": "100M"}


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Faults(Services):
    def test_mistakes(self):
        taken = free_port()
        for service, words in (
                ({"image": "localhost/none:1", "pull_policy": "never"}, "podman run"),
                (self.service(command=["/no/program"]), "podman run"),
                (self.service(taken, healthcheck={"test": ["CMD", "false"], "retries": 2}),
                 "its health check failed 2 times"),
                (self.service(**{"x-cleave": {"share": .5, "profile": "1g.5gb"}}), "its lease is refused")):
            with self.subTest(words):
                done = self.up(web=service, code=125)
                self.assertIn(words, done.stderr)
                self.cleave("down", self.name)

    def test_crash_loop(self):
        done = self.up(web=self.service(free_port(), environment={"FAILS": "1"}), code=125)
        self.assertIn("web: failing:", done.stderr)
        self.assertIn("exit code 3", done.stderr)
        self.assertEqual(self.status()["web"]["state"], "failing")
        self.cleave("down", self.name)
        self.assertEqual(self.containers(), [])

    def test_words_that_are_cut(self):
        """The last words of a program are cut inside of a character."""
        done = self.up(web=self.service(command=["sh", "-c", "printf 'é%.0s' $$(seq 200); echo; exit 3"]),
                       code=125)
        self.assertIn("web: failing:", done.stderr)
        self.assertIn("exit code 3: éé", self.events())
        self.assertEqual(self.status()["web"]["state"], "failing")

    def test_names_of_others(self):
        """A container and a lease with the names of a replica's stay as they are."""
        name = f"{self.name}-web-1"
        self.engine("run", "--detach", f"--name={name}",
                    *(f"--volume={each}" for each in self.service()["volumes"]), bed.IMAGE,
                    "sleep", "1000")
        before = self.engine("inspect", name, "--format={{.Id}}")
        self.up(web=self.service(), code=125)
        self.assertEqual(self.engine("inspect", name, "--format={{.Id}}"), before)
        self.cleave("down", self.name, code=None)
        self.assertEqual(self.engine("inspect", name, "--format={{.Id}}"), before)
        self.engine("rm", "--force", "--time=0", name)
        self.cleave("down", self.name, code=None)
        subprocess.run([bed.PROGRAMS["cleave"], "reserve", "--socket", self.socket, "--name", name,
                        "--share", ".1"], env=self.env, check=True, stdout=subprocess.DEVNULL)
        done = self.up(web=self.service(**{"x-cleave": SHARE}), code=125)
        self.assertIn("that is not of this project", done.stderr)
        self.cleave("down", self.name)
        self.assertIn(name, self.cleave("ps").stdout)

    def test_lease_of_another_user(self):
        """It has the name and the command of a replica's, and is not taken for it."""
        self.stop_agent()
        self.agent_options = ("--system",)
        self.start_agent()
        for folder in (self.folder, os.path.dirname(self.socket)):
            os.chmod(folder, 0o755)
        name = f"{self.name}-web-1"
        asked = {"name": name, "command": f"cleave up {self.name}", "share": .01, "keep": True}
        code = ("import http.client, socket, sys; c = http.client.HTTPConnection('localhost');"
                "c.sock = socket.socket(socket.AF_UNIX); c.sock.connect(sys.argv[1]);"
                "c.request('POST', '/v1/leases', sys.argv[2], {'Content-Type': 'application/json'});"
                "a = c.getresponse(); print(a.read()); sys.exit(a.status != 201)")
        subprocess.run(["/usr/bin/python3", "-c", code, self.socket, json.dumps(asked)], user=65534,
                       check=True, stdout=subprocess.DEVNULL)
        self.up(web=self.service(**{"x-cleave": SHARE}))

        def leases():
            listed = json.loads(self.cleave("ps", "-o", "json").stdout)["items"]
            return {(each["name"], each["uid"]): each["share"] for each in listed}
        self.assertEqual(leases(), {(name, 65534): .01, (name, 0): SHARE["share"]})
        self.cleave("down", self.name)
        self.assertEqual(leases(), {(name, 65534): .01})

    def test_port_that_is_taken(self):
        """It is reported, and opened once it is free."""
        with socket.socket() as other:
            port = free_port()
            other.bind(("127.0.0.1", port))
            other.listen()
            done = self.up(web=self.service(port), code=125)
            self.assertIn(f"web: failing: cannot open port {port}: Address already in use", done.stderr)
        self.wait_until(lambda: self.status()["web"]["state"] == "ready", "the port")
        self.assertEqual(self.who(port)["version"], "")

    def test_port_that_is_taken_before_another(self):
        """The ports after it stay the service's."""
        a, taken, b = free_port(), free_port(), free_port()
        with socket.socket() as other:
            other.bind(("127.0.0.1", taken))
            other.listen()
            ports = [f"127.0.0.1:{each}:8080" for each in (a, taken, b)]
            self.up(web={**self.service(), "ports": [ports[0], ports[2]]})
            done = self.up(web={**self.service(), "ports": ports}, code=125)
            self.assertIn(f"cannot open port {taken}: Address already in use", done.stderr)
        self.wait_until(lambda: self.status()["web"]["state"] == "ready", "the ports")
        for port in (a, taken, b):
            self.assertEqual(self.who(port)["version"], "")

    def test_first_port_beside_one_that_is_taken(self):
        """No client waits at a port of a service that has no proxy yet."""
        one, taken = free_port(), free_port()
        with socket.socket() as other:
            other.bind(("127.0.0.1", taken))
            other.listen()
            self.up(web={**self.service(), "ports": [f"127.0.0.1:{each}:8080" for each in (one, taken)]},
                    code=125)
            with self.assertRaises(ConnectionRefusedError):
                self.get(one, timeout=60)
        self.wait_until(lambda: self.status()["web"]["state"] == "ready", "the ports")
        for port in (one, taken):
            self.assertEqual(self.who(port)["version"], "")

    def test_port_of_a_service_that_ends(self):
        """Another one has it before the last answer of the first, which is not cut off."""
        one, two = free_port(), free_port()
        self.up(a=self.service(one), b=self.service(two))
        answer = Load(two, path="/wait?ms=6000")
        self.wait_until(lambda: self.status()["b"]["in_flight"] > 0, "a request")
        answer.stops = True
        up = self.start("up", self.file(a=self.service(two, environment={"VERSION": "2"})))

        def has_it():
            try:
                return self.who(two)["version"] == "2"
            except ConnectionRefusedError:
                return False
        self.wait_until(has_it, "the port")
        self.assertIn(f"{self.name}-b-1", self.containers())
        self.assertEqual(answer.end().failures, [])
        self.assertEqual(up.wait(120), 0)

    def test_no_room(self):
        """A service waits in the agent's queue, and starts when another one ends."""
        keys = {"x-cleave": {"share": .6}}
        done = self.up(code=75, a=self.service(**keys), b=self.service(**keys))
        self.assertIn(f"b: no room: {self.name}-b-1 waits for room on a device", done.stderr)
        self.assertEqual(self.containers(), [f"{self.name}-a-1"])
        self.up(b=self.service(**keys))
        self.assertEqual(self.containers(), [f"{self.name}-b-1"])

    def test_agent_away(self):
        port = free_port()
        self.up(web=self.service(port, **{"x-cleave": SHARE}))
        self.stop_agent(signal.SIGKILL)
        self.assertEqual(self.who(port)["version"], "")
        self.start_agent()
        self.cleave("scale", "web=0")
        self.assertEqual(self.containers(), [])
        self.assertEqual(json.loads(self.cleave("ps", "-o", "json").stdout)["items"], [])
        self.assertEqual(self.status()["web"]["state"], "off")
        self.assertEqual(self.get(port)[0], 503)

    def test_down_without_the_agent(self):
        """Leases that are not known may stay, and the next down finds them."""
        port = free_port()
        self.up(web=self.service(port, **{"x-cleave": SHARE}))
        os.kill(self.supervisor(), signal.SIGKILL)
        self.stop_agent(signal.SIGKILL)
        self.kill(self.containers()[0])
        done = self.cleave("down", self.name, code=125)
        self.assertIn("1 containers, networks or leases", done.stderr)
        self.start_agent()
        self.cleave("down", self.name)
        self.assert_down(port)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
