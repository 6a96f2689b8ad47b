# SPDX-License-Identifier: Apache-2.0
"""Services of compose files: real podman, HAProxy and agent, programs that compute on PoCL.

usage: test_services.py CLEAVE CLEAVED GATES [unittest arguments]
"""
import json
import os
import select
import signal
import subprocess
import sys
import time
import unittest

import bed
from bed import Bed, Load, Services
from ports import free_port

bed.PROGRAMS.update(zip(("cleave", "cleaved", "gates"), map(os.path.abspath, sys.argv[1:4])))
del sys.argv[1:4]
WHY_NOT = bed.why_not()
SHARE = {"share": 0.25, "memory": "100M"}


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Files(Services):
    """What files say, and mistakes in them."""

    def test_up_and_down(self):
        port = free_port()
        done = self.up(web=self.service(port, environment={"VERSION": "1", "DEVICE": "1"},
                                        **{"x-cleave": SHARE}))
        self.assertIn("web: a replica is ready", done.stdout)
        answer = self.who(port)
        self.assertEqual(answer["version"], "1")
        self.assertEqual(answer["memory"], 100 << 20, "the lease's quota is the device's memory")
        self.assertEqual(self.containers(), [f"{self.name}-web-1"])
        (lease,) = json.loads(self.cleave("ps", "-o", "json").stdout)["items"]
        self.assertEqual((lease["name"], lease["share"]), (f"{self.name}-web-1", .25))
        self.assertEqual(self.status()["web"]["state"], "ready")
        self.assertIn("started 1", self.cleave("logs", f"{self.name}/web").stdout)
        self.cleave("down", self.name)
        self.assertEqual(self.containers(), [])
        self.assertEqual(json.loads(self.cleave("ps", "-o", "json").stdout)["items"], [])
        self.assertFalse(os.path.exists(os.path.join(self.folder, "services", self.name)))
        with self.assertRaises(ConnectionRefusedError):
            self.get(port)

    def test_dependencies(self):
        """One after another, and a program that ends is not started again."""
        port = free_port()
        self.up(web=self.service(port, depends_on={
            "prepare": {"condition": "service_completed_successfully"},
            "model": {"condition": "service_healthy"}}),
            prepare=self.service(command=["sh", "-c", "sleep 1"], restart="no"),
            model=self.service(healthcheck={"test": ["CMD", "test", "-e", "/tmp/ready"], "interval": "1s",
                                            "start_period": "1m"},
                               command=["sh", "-c", "sleep 1; touch /tmp/ready; sleep 1000"]))
        events = self.events()
        order = [events.index(each) for each in ("prepare: complete", "web: a replica is ready")]
        self.assertLess(order[0], order[1])
        self.assertLess(events.index("model: a replica is ready"), order[1])
        self.assertEqual({name: each["state"] for name, each in self.status().items()},
                         {"web": "ready", "model": "ready", "prepare": "complete"})
        os.kill(self.supervisor(), signal.SIGKILL)
        self.cleave("up", os.path.join(self.folder, "compose.yaml"))
        self.assertEqual(self.status()["prepare"]["state"], "complete")

    def test_plan(self):
        """It says what up then does, and changes nothing."""
        a, c = self.service(free_port()), self.service(deploy={"replicas": 2})

        def plan(**services):
            done = self.cleave("up", "--plan", self.file(**services))
            rows = [line.split() for line in done.stdout.splitlines()]
            self.assertEqual(rows[0], ["SERVICE", "ACTION", "NOW", "REPLICAS", "PORTS"])
            return {row[0]: tuple(row[1:4]) for row in rows[1:]}
        self.assertEqual(plan(a=a, c=c), {"a": ("create", "-", "1"), "c": ("create", "-", "2")})
        self.assertFalse(os.path.exists(self.kept("")))
        self.up(a=a, b=self.service(), c=c)
        before = self.containers()
        self.assertEqual(plan(a=a, b=self.service(), c=c), {
            "a": ("keep", "1", "1"), "b": ("keep", "1", "1"), "c": ("keep", "2", "2")})
        changed = {"a": {**a, "environment": {"VERSION": "2"}}, "c": {**c, "deploy": {"replicas": 1}},
                   "d": self.service()}
        self.assertEqual(plan(**changed), {
            "a": ("replace", "1", "1"), "b": ("remove", "1", "0"), "c": ("scale", "2", "1"),
            "d": ("create", "-", "1")})
        self.assertEqual(self.containers(), before)
        self.up(**changed)
        self.wait_until(lambda: len(self.containers()) == 3, "the end of b and c-2")
        self.assertEqual({each[0] for each in plan(**changed).values()}, {"keep"})
        os.kill(self.supervisor(), signal.SIGKILL)
        more = {**changed, "c": {**c, "deploy": {"replicas": 2}}}
        self.assertEqual(plan(**more)["c"], ("scale", "-", "2"))
        with open(self.kept("kept.json"), "w", encoding="utf-8") as file:
            file.write("{")
        done = self.cleave("up", "--plan", self.file(**more), code=78)
        self.assertIn("what runs is not known:", done.stderr)
        done = self.cleave("up", "--plan", "--to", "kubernetes", self.file(**changed), code=64)
        self.assertIn("leave out --to", done.stderr)

    def test_file_without_a_service(self):
        """Its replicas end, others stay; so does what has another port."""
        one, two = free_port(), free_port()
        self.up(a=self.service(one), b=self.service(two))
        a = [each["name"] for each in self.status()["a"]["replicas"]]
        self.up(a=self.service(two))
        self.assertEqual(self.who(two)["version"], "")
        self.wait_until(lambda: self.containers() == a, "the end of b")
        with self.assertRaises(ConnectionRefusedError):
            self.get(one)

    def test_two_at_once(self):
        port = free_port()
        path = self.file(web=self.service(port))
        both = [self.start("up", path) for _ in range(2)]
        codes = sorted(each.wait(120) for each in both)
        self.assertIn(codes, ([0, 0], [0, 75]))
        self.assertEqual(len(self.containers()), 1)

    def test_variables(self):
        """They reach the program as they are, and are not on the command line of the engine."""
        port = free_port()
        values = ("  # 'a' = \"b\" $c ", "two\nlines", "")
        for value in values:
            self.up(web=self.service(port, environment={"VERSION": value.replace("$", "$$")}))
            self.assertEqual(self.who(port)["version"], value)
        made = self.engine("inspect", self.containers()[0], "--format={{.Config.CreateCommand}}")
        self.assertNotIn("--env=", made)
        # As podman of each version reads it.
        self.assertIn(f" --env-file={self.kept(self.name + '-web-1.env')} ", made)

    def test_files_of_variables(self):
        """The last of several files counts, and then the service's own; one may be absent."""
        files = ["a, \"b\".env", "c.env", {"path": "none.env", "required": False}]
        self.write(files[0], "FIRST=1\nVERSION=1")
        self.write(files[1], "# no variable\nVERSION=2\nOTHER=2\n")
        web = self.service(env_file=files, environment={"OTHER": "3"})
        self.up(web=web)
        got = self.engine("exec", f"{self.name}-web-1", "sh", "-c", "echo $FIRST $VERSION $OTHER")
        self.assertEqual(got, "1 2 3\n")
        web["env_file"].append("none.env")
        done = self.up(web=web, code=125)
        self.assertIn("none.env: No such file or directory", done.stderr)
        os.mkfifo(os.path.join(self.folder, "none.env"))
        self.assertIn("none.env", self.up(web=web, code=125).stderr)

    def test_one_that_has_ended_stays_so(self):
        """A supervisor that comes after its end does not run it again."""
        runs = self.write("runs", "")
        service = self.service(command=["sh", "-c", "echo once >> /root/runs"], restart="no")
        service["volumes"].append(f"{runs}:/root/runs")
        self.up(job=service)
        self.wait_until(lambda: self.status()["job"]["state"] == "complete", "its end")
        for _ in range(2):
            os.kill(self.supervisor(), signal.SIGKILL)
            self.supervise()
            self.wait_until(lambda: self.status().get("job", {}).get("state") == "complete",
                            "the supervisor")
        with open(runs, encoding="utf-8") as file:
            self.assertEqual(file.read(), "once\n")

    def test_paths(self):
        """The caller's home, characters that have a meaning elsewhere, and names that are too long."""
        port = free_port()
        services = os.path.join(self.folder, "a # 'b' \\c" + 20 * "d")
        self.env["HOME"], self.env["CLEAVE_SERVICES_DIR"] = self.folder, services
        web = self.service(port)
        web["volumes"].append("~/home:/root/home:ro")
        self.write("home", "here")
        self.up(web=web)
        self.assertEqual(self.who(port)["version"], "")
        self.assertEqual(self.engine("exec", f"{self.name}-web-1", "cat", "/root/home"), "here")
        self.cleave("down", self.name)
        web["volumes"][-1] = "~other/home:/root/home"
        self.assertIn("'~other/home' is no path here", self.up(web=web, code=78).stderr)
        long = "w" * 47
        self.assertIn(f"{long}: the names of project and service",
                      self.up(code=78, **{long: self.service(port)}).stderr)
        folder = os.path.join(self.folder, "a:b")
        os.mkdir(folder)
        web["volumes"][-1] = "./data:/data"
        path = self.write("a:b/compose.yaml", json.dumps({"name": self.name, "services": {"web": web}}))
        self.assertIn("a folder with ':' in its name", self.cleave("up", path, code=78).stderr)
        for name in ("a,b", 'a"b'):
            done = self.cleave("up", path, code=64,
                               env={"CLEAVE_SERVICES_DIR": os.path.join(self.folder, name)})
            self.assertIn("set CLEAVE_SERVICES_DIR to another folder", done.stderr)

    def test_supervisor_leaves_its_caller(self):
        read_end, write_end = os.pipe()
        self.addCleanup(os.close, read_end)
        done = subprocess.run([bed.PROGRAMS["cleave"], "up", "--socket", "cleave/api.sock",
                               self.file(web=self.service(free_port()))], cwd=self.folder,
                              env={**self.env, "CLEAVE_SERVICES_DIR": "services"}, pass_fds=[write_end],
                              stdout=subprocess.DEVNULL, timeout=300, check=False)
        os.close(write_end)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(select.select([read_end], [], [], 0)[0], [read_end], "nobody writes to it")
        self.assertEqual(os.readlink(f"/proc/{self.supervisor()}/cwd"), "/")


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Front(Services):
    """No request fails."""

    def test_replicas_come_and_go(self):
        """Under load, with connections that stay and new ones, and no request fails."""
        port = free_port()
        web = self.service(port, deploy={"replicas": 2})
        self.up(web=web)
        loads = [Load(port, method="POST"), Load(port, keep_alive=True, method="POST")]
        for n in (1, 2, 1):
            self.cleave("scale", f"web={n}")
            self.assertEqual(len(self.ready()), n)
        for load in loads:
            self.assertEqual(load.end().failures, [])
            self.assertGreater(load.n, 20)
        self.assertIn("cleave scale", self.events())
        done = self.cleave("scale", "web=3", code=125)
        self.assertIn("web can have 0 to 2 replicas: set deploy.replicas", done.stderr)

    def test_kill_a_replica(self):
        port = free_port()
        self.up(web=self.service(port, deploy={"replicas": 2}))
        load = Load(port)
        for n in (1, 2):
            self.kill(self.containers()[0])
            self.wait_until(lambda: self.events().count("ended with exit code 137") == n, "its end")
            self.wait_until(lambda: len(self.ready()) == 2, "two replicas")
        self.assertEqual(load.end().failures, [])

    def test_kill_the_only_replica(self):
        """Requests wait in the proxy for the next one."""
        port = free_port()
        self.up(web=self.service(port))
        loads = [Load(port), Load(port, keep_alive=True)]
        self.kill(self.containers()[0])
        self.wait_until(lambda: self.events().count("a replica is ready") == 2, "the next one")
        self.wait_until(lambda: self.status()["web"]["ready"] == 1, "the next one")
        self.who(port)
        for load in loads:
            self.assertEqual(load.end().failures, [], self.events())

    def test_kill_the_proxy(self):
        port = free_port()
        self.up(web=self.service(port))
        with open(os.path.join(self.folder, "services", self.name, "web.pid"), encoding="utf-8") as file:
            os.kill(int(file.read()), signal.SIGKILL)
        self.wait_until(lambda: "it is started again" in self.events(), "the event")
        self.assertEqual(self.who(port)["version"], "")
        self.assertEqual(len(self.containers()), 1)

    def test_streams_end_before_a_replica_does(self):
        port = free_port()
        self.up(web=self.service(port, environment={"VERSION": "1"}))
        stream = Load(port, path="/wait?ms=3000", method="POST")
        self.wait_until(lambda: self.status()["web"]["in_flight"] > 0, "a request")
        stream.stops = True
        self.up(web=self.service(port, environment={"VERSION": "2"}))
        self.assertEqual(stream.end().failures, [])
        self.assertEqual(stream.versions, ["1"])


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Updates(Services):
    def test_rolling_update(self):
        for order in ("start-first", "stop-first"):
            with self.subTest(order):
                port = free_port()
                keys = {"deploy": {"replicas": 2, "update_config": {"order": order}},
                        "x-cleave": {"share": .2}}
                self.up(web=self.service(port, environment={"VERSION": "1"}, **keys))
                load = Load(port, method="POST")
                self.up(web=self.service(port, environment={"VERSION": "2"}, **keys))
                self.assertEqual(self.who(port)["version"], "2")
                self.assertEqual({each["generation"] for each in self.ready()},
                                 {self.ready()[0]["generation"]})
                self.assertEqual(len(self.containers()), 2)
                self.assertEqual(load.end().failures, [])
                self.assertEqual(load.versions[0], "1")
                self.cleave("down", self.name)

    def test_update_that_fails(self):
        port = free_port()
        self.up(web=self.service(port, environment={"VERSION": "1"}))
        load = Load(port, method="POST")
        done = self.up(web=self.service(port, environment={"VERSION": "2", "FAILS": "1"}), code=125)
        self.assertIn("the update was undone", done.stderr)
        self.assertIn("exit code 3: started 2", done.stderr)
        self.assertEqual(load.end().failures, [])
        self.assertEqual(load.versions, ["1"])
        self.assertEqual(len(self.containers()), 1)
        # The next one is tried again.
        self.up(web=self.service(port, environment={"VERSION": "3"}))
        self.assertEqual(self.who(port)["version"], "3")

    def test_update_that_fails_at_first(self):
        """The same file again, whose failure had a cause outside of it; also the next supervisor keeps it."""
        port, data = free_port(), os.path.join(self.folder, "data")
        os.mkdir(data)
        self.up(web=self.service(port, environment={"VERSION": "1"}))
        web = self.service(port, environment={"VERSION": "2"}, command=[
            "sh", "-c", "test -e /root/ready && exec python3 /srv/replica.py"])
        web["volumes"].append(f"{data}:/root:ro")
        self.up(web=web, code=125)
        self.write("data/ready", "")
        self.up(web=web)
        self.assertEqual(self.who(port)["version"], "2")
        os.kill(self.supervisor(), signal.SIGKILL)
        self.supervise()
        self.wait_until(lambda: self.status().get("web", {}).get("state") == "ready", "the supervisor")
        self.assertEqual(self.who(port)["version"], "2")

    def test_no_room_for_an_update(self):
        """The old replica gives its lease to the new one."""
        port = free_port()
        self.up(web=self.service(port, environment={"VERSION": "1"}, **{"x-cleave": {"share": .6}}))
        done = self.up(web=self.service(port, environment={"VERSION": "2"}, **{"x-cleave": {"share": .6}}))
        self.assertIn("no room", done.stdout)
        self.assertEqual(self.who(port)["version"], "2")

    def test_supervisor_after_an_update_that_failed(self):
        """What was given up is not tried again, and what is undone next is undone to what ran."""
        port = free_port()
        self.up(web=self.service(port, environment={"VERSION": "1"}))
        before = self.containers()
        for version in ("2", "3"):
            self.up(web=self.service(port, environment={"VERSION": version, "FAILS": "1"}), code=125)
            os.kill(self.supervisor(), signal.SIGKILL)
            self.supervise()
            self.wait_until(lambda: self.status().get("web", {}).get("state") == "ready", "the supervisor")
            self.assertTrue(self.status()["web"]["undone"])
            self.assertNotIn("a replica failed", self.events())
            self.assertEqual(self.containers(), before)
            self.assertEqual(self.who(port)["version"], "1")


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Kills(Services):
    """A supervisor that is killed, and the end of projects."""

    def test_kill_the_supervisor(self):
        port = free_port()
        web = self.service(port, deploy={"replicas": 2}, **{"x-cleave": {"share": .2}})
        self.up(web=web)
        before = self.containers()
        load = Load(port, method="POST")
        os.kill(self.supervisor(), signal.SIGKILL)
        self.assertEqual(self.who(port)["version"], "")
        done = self.cleave("scale", "web=1", code=69)
        self.assertIn("no supervisor", done.stderr)
        # In the middle of an update.
        self.up(web=web)
        self.assertEqual(self.containers(), before)
        path = self.file(web={**web, "environment": {"VERSION": "2"}})
        update = self.start("up", path)
        self.wait_until(lambda: len(self.containers()) == 3, "a third replica")
        os.kill(self.supervisor(), signal.SIGKILL)
        update.wait(120)
        self.cleave("up", path)
        self.assertEqual(self.who(port)["version"], "2")
        self.assertEqual(len(self.containers()), 2)
        self.assertEqual(load.end().failures, [])
        os.kill(self.supervisor(), signal.SIGKILL)
        self.cleave("down", self.name)
        self.assertEqual(self.containers(), [])

    def test_kill_after_each_event(self):
        """Wherever an update is interrupted, the next supervisor completes it, and nothing is left."""
        port = free_port()
        keys = {"x-cleave": {"share": .2}}
        self.up(web=self.service(port, environment={"VERSION": "0"}, **keys))
        load = Load(port, method="POST")
        for i in (1, 2):
            before = self.said().count("\n")
            path = self.file(web=self.service(port, environment={"VERSION": str(i)}, **keys))
            update = self.start("up", path)
            self.wait_until(lambda: self.said().count("\n") >= before + i, "an event")
            os.kill(self.supervisor(), signal.SIGKILL)
            update.wait(120)
            self.supervise()
            self.wait_until(lambda: self.status().get("web", {}).get("state") == "ready", "the supervisor")
            self.assertEqual(self.who(port)["version"], str(i))
            self.assertEqual(len(self.containers()), 1)
            self.assertEqual(len(json.loads(self.cleave("ps", "-o", "json").stdout)["items"]), 1)
        self.assertEqual(load.end().failures, [])

    def test_same_file_again(self):
        """In the middle of an update it leaves the generation before what it was."""
        port = free_port()
        self.up(web=self.service(port, environment={"VERSION": "1"}))
        path = self.file(web=self.service(port, environment={"VERSION": "2"}, healthcheck={
            "test": ["CMD", "false"], "interval": "1s", "retries": 2, "start_period": "15s"}))
        for n in (1, 2):
            update = self.start("up", path)
            self.wait_until(lambda: self.said().count("the file was read") == n, "the file")
            update.kill()
            update.wait()
        self.wait_until(lambda: len(self.containers()) == 2, "a second replica")
        os.kill(self.supervisor(), signal.SIGKILL)
        self.supervise()
        self.wait_until(lambda: "the update is undone" in self.said(), "the end of the update")
        self.wait_until(lambda: len(self.containers()) == 1, "the end of the new one")
        self.assertEqual(self.who(port)["version"], "1")

    def test_two_updates_in_a_row(self):
        """Also of a generation that is no longer known the leases end."""
        port = free_port()
        keys = {"x-cleave": {"share": .2}}
        self.up(web=self.service(port, **keys))
        update = self.start("up", self.file(web=self.service(port, environment={"NEVER": "1"}, **keys)))
        self.wait_until(lambda: len(self.containers()) == 2, "a second replica")
        update.kill()
        update.wait()
        self.up(web=self.service(port, environment={"VERSION": "3"}))
        self.assertEqual(self.who(port)["version"], "3")
        self.assertEqual(json.loads(self.cleave("ps", "-o", "json").stdout)["items"], [])

    def test_numbers_outlive_the_supervisor(self):
        port = free_port()
        self.up(web=self.service(port, deploy={"replicas": 2}))
        for n, state in ((1, "ready"), (0, "off")):
            self.cleave("scale", f"web={n}")
            before = self.containers()
            os.kill(self.supervisor(), signal.SIGKILL)
            self.supervise()
            self.wait_until(lambda: self.status().get("web", {}).get("state") == state, state)
            self.assertEqual((self.containers(), self.status()["web"]["wanted"]), (before, n))
        self.cleave("up", os.path.join(self.folder, "compose.yaml"))
        self.assertEqual(len(self.ready()), 2, "the file's number again")

    def test_service_that_is_removed_without_a_supervisor(self):
        one, two = free_port(), free_port()
        self.up(a=self.service(one), b=self.service(two))
        os.kill(self.supervisor(), signal.SIGKILL)
        self.up(a=self.service(one))
        self.assertEqual(self.containers(), [f"{self.name}-a-1"])
        self.who(one)
        with self.assertRaises(ConnectionRefusedError):
            self.get(two)

    def test_down_without_the_file(self):
        port = free_port()
        self.up(web=self.service(port, **{"x-cleave": SHARE}))
        os.kill(self.supervisor(), signal.SIGKILL)
        with open(self.kept("kept.json"), "w", encoding="utf-8") as file:
            file.write("services: [")
        self.cleave("down", self.name)
        self.assert_down(port)

    def test_down_that_is_interrupted(self):
        """The next supervisor goes on with it."""
        port = free_port()
        self.up(web=self.service(port, stop_grace_period="5s", **{"x-cleave": SHARE}))
        down = self.start("down", self.name)
        self.wait_until(lambda: "down: by cleave down" in self.said(), "the event")
        os.kill(self.supervisor(), signal.SIGKILL)
        self.assertNotEqual(down.wait(120), 0)
        supervisor = self.supervise()
        self.assertEqual(supervisor.wait(120), 0)
        self.assert_down(port)

    def test_up_after_a_down_that_is_interrupted(self):
        """The end comes first, and then the services start."""
        port = free_port()
        self.up(web=self.service(port, stop_grace_period="5s", **{"x-cleave": SHARE}))
        down = self.start("down", self.name)
        self.wait_until(lambda: "down: by cleave down" in self.said(), "the event")
        os.kill(self.supervisor(), signal.SIGKILL)
        down.wait(120)
        self.up(web=self.service(port, environment={"VERSION": "2"}))
        self.assertEqual(self.who(port)["version"], "2")
        self.assertEqual(json.loads(self.cleave("ps", "-o", "json").stdout)["items"], [])

    def test_up_during_down(self):
        port = free_port()
        self.up(web=self.service(port, command=["sh", "-c", "trap '' TERM; python3 /srv/replica.py & wait"],
                                 stop_grace_period="3s"))
        down = self.start("down", self.name)
        self.wait_until(lambda: "down: by cleave down" in self.said(), "the event")
        self.up(web=self.service(port, environment={"VERSION": "2"}))
        self.assertEqual(down.wait(120), 0)
        self.assertEqual(self.who(port)["version"], "2")

    def test_supervisor_that_waits(self):
        """As the unit: it takes over from that of cleave up, and ends with the project."""
        port = free_port()
        self.up(web=self.service(port))
        first = self.supervisor()
        waiting = self.supervise("--wait")
        os.kill(first, signal.SIGKILL)
        self.wait_until(lambda: self.status().get("web", {}).get("state") == "ready", "the supervisor")
        self.assertEqual(self.supervisor(), waiting.pid)
        another = self.supervise("--wait")
        self.cleave("down", self.name)
        self.assertEqual((waiting.wait(120), another.wait(120)), (0, 0))
        self.assert_down(port)

    def test_up_while_another_starts(self):
        """The unit takes over from one that was killed, with the file before: it reads the new one."""
        port = free_port()
        self.up(web=self.service(port, environment={"VERSION": "1"}))
        self.supervise("--wait")
        asked = os.path.join(self.folder, "asked")
        mend = self.slow_down("ps", f"touch {asked}; sleep 3")
        os.kill(self.supervisor(), signal.SIGKILL)
        self.wait_until(lambda: os.path.exists(asked), "the one that waited")
        self.up(web=self.service(port, environment={"VERSION": "2"}))
        mend()
        self.assertEqual(self.who(port)["version"], "2")

    def test_kept_file_with_a_mistake(self):
        self.up(web=self.service())
        os.kill(self.supervisor(), signal.SIGKILL)
        for text in ("{", "{}"):
            with open(self.kept("kept.json"), "w", encoding="utf-8") as file:
                file.write(text)
            self.assertEqual(self.supervise().wait(120), 78)

    def test_removal_that_fails_at_first(self):
        """The engine is asked again, and the lease stays as long as the container does."""
        port = free_port()
        web = self.service(port, deploy={"replicas": 2}, **{"x-cleave": {"share": .2}})
        self.up(web=web)
        mend = self.refuse("rm", "busy")
        scaled = subprocess.Popen([bed.PROGRAMS["cleave"], "scale", "web=1"], env=self.env,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(scaled.wait)
        self.addCleanup(scaled.kill)
        self.wait_until(lambda: "busy; it is tried again" in self.said(), "the event")
        self.assertEqual(len(self.containers()), 2)
        self.assertEqual(len(json.loads(self.cleave("ps", "-o", "json").stdout)["items"]), 2)
        mend()
        scaled.wait(120)
        self.wait_until(lambda: len(self.containers()) == 1, "the removal")
        self.assertEqual(len(json.loads(self.cleave("ps", "-o", "json").stdout)["items"]), 1)

    def test_down_says_what_stays(self):
        port = free_port()
        self.up(web=self.service(port))
        mend = self.refuse("rm", "no")
        done = self.cleave("down", self.name, code=125)
        self.assertIn("1 containers, networks or leases", done.stderr)
        mend()
        self.cleave("down", self.name)
        self.assert_down(port)


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Sleep(Bed):
    SCALING = {"autoscaling": {"minReplicas": 1, "maxReplicas": 2, "idleMinutesBeforeScalingDown": 3,
                               "overUtilizedMinutesBeforeScalingUp": 2},
               "serverlessConfiguration": {"enableAutoStop": True, "targetPort": 8080}}

    def asleep(self):
        return self.status()["web"]["state"] == "asleep" and not self.containers()

    def sleeper(self, port, **keys):
        return self.service(port, **{"x-omnistrate-capabilities": self.SCALING, "x-cleave": SHARE, **keys})

    def test_sleep_and_wake(self):
        port = free_port()
        self.up(web=self.sleeper(port))
        for _ in range(2):
            self.wait_until(self.asleep, "sleep")
            self.assertEqual(json.loads(self.cleave("ps", "-o", "json").stdout)["items"], [])
            # The first request waits, and so do those beside it.
            loads = [Load(port) for _ in range(5)]
            for load in loads:
                load.stops = True
            for load in loads:
                self.assertEqual((load.end().failures, load.n), ([], 1))
        self.assertIn("a request came while it was asleep", self.events())
        self.assertIn("no request came for 3 s", self.events())

    def test_health_before_the_port(self):
        """A health check that succeeds while the program still starts lets no request in."""
        port = free_port()
        self.up(web=self.sleeper(port, healthcheck={"test": ["CMD", "true"]}, command=[
            "sh", "-c", "sleep 3; exec python3 /srv/replica.py"]))
        self.wait_until(self.asleep, "sleep")
        self.assertEqual(self.who(port)["version"], "")

    def test_supervisor_of_a_sleeper(self):
        port = free_port()
        self.up(web=self.sleeper(port))
        self.wait_until(self.asleep, "sleep")
        os.kill(self.supervisor(), signal.SIGKILL)
        supervisor = self.supervise()
        self.wait_until(lambda: self.status().get("web", {}).get("state") == "asleep", "the supervisor")
        self.assertEqual(self.containers(), [])
        self.assertEqual(self.who(port)["version"], "")
        self.assertIsNone(supervisor.poll())

    def test_wake_that_fails(self):
        port = free_port()
        scaling = json.loads(json.dumps(self.SCALING))
        scaling["serverlessConfiguration"]["x-cleave-wake-timeout"] = "2s"
        self.up(web=self.sleeper(port, **{"x-omnistrate-capabilities": scaling}))
        self.wait_until(self.asleep, "sleep")
        self.engine("rmi", "--force", bed.IMAGE)
        status, headers, body = self.get(port)
        self.assertEqual((status, headers["retry-after"]), (503, "5"), body)
        self.assertIn("no replica became ready within 2 s", self.events())

    def test_wake_that_is_late(self):
        """After requests were refused, the next ones wait again, and the service is ready in the end."""
        port = free_port()
        scaling = json.loads(json.dumps(self.SCALING))
        scaling["serverlessConfiguration"]["x-cleave-wake-timeout"] = "2s"
        self.up(web=self.sleeper(port, command=["sh", "-c", "sleep 8; exec python3 /srv/replica.py"],
                                 **{"x-omnistrate-capabilities": scaling}))
        self.wait_until(self.asleep, "sleep")
        self.assertEqual(self.get(port)[0], 503)

        def answers():
            time.sleep(1)  # those that came before are refused
            began = time.monotonic()
            status = self.get(port)[0]
            self.assertTrue(status == 200 or time.monotonic() - began > 1, "it did not wait")
            return status == 200
        self.wait_until(answers, "an answer")
        self.assertEqual(self.status()["web"]["state"], "ready")

    def test_scaled_by_use(self):
        port = free_port()
        self.up(web=self.sleeper(port, environment={"DEVICE": "1"}, **{"x-cleave": {"share": .3}}))
        loads = [Load(port, "/compute?ms=200") for _ in range(4)]
        self.wait_until(lambda: self.status()["web"]["ready"] == 2, "a second replica", 120)
        for load in loads:
            self.assertEqual(load.end().failures, [])
        self.assertIn("its use was 80 % or more for 2 s", self.events())
        self.wait_until(self.asleep, "sleep")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
