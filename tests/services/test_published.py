# SPDX-License-Identifier: Apache-2.0
"""What supervisors publish at the agent, for the console, and what users ask them for there.

usage: test_published.py CLEAVE CLEAVED GATES [unittest arguments]
"""
import os
import signal
import socket
import sys
import unittest

import bed
from bed import Services
from harness import request
from ports import free_port

bed.PROGRAMS.update(zip(("cleave", "cleaved", "gates"), map(os.path.abspath, sys.argv[1:4])))
del sys.argv[1:4]
WHY_NOT = bed.why_not()
SHARE = {"share": 0.25, "memory": "100M"}
SLEEPS = {"x-omnistrate-capabilities": {
    "autoscaling": {"maxReplicas": 2, "idleMinutesBeforeScalingDown": 2},
    "serverlessConfiguration": {"enableAutoStop": True}}}
# It goes to sleep only if it is told to.
SLEEPS_LATE = {"x-omnistrate-capabilities": {
    "autoscaling": {"maxReplicas": 2, "idleMinutesBeforeScalingDown": 1000},
    "serverlessConfiguration": {"enableAutoStop": True}}}


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Published(Services):
    def projects(self):
        try:
            return request(self.socket, "GET", "/v1/projects")[1]["items"]
        except OSError:
            return []

    def published(self, name):
        for project in self.projects():
            for service in project["services"]:
                if service["name"] == name:
                    return service
        return None

    def wait_for(self, name, state):
        return self.wait_until(lambda: (self.published(name) or {}).get("state") == state and
                               self.published(name), f"{name} {state}")

    def test_what_is_published(self):
        port = free_port()
        self.up(web=self.service(port, environment={"DEVICE": "1"}, **{"x-cleave": SHARE}),
                plain=self.service(deploy={"replicas": 2}))
        web = self.wait_for("web", "ready")
        self.assertEqual((web["wanted"], web["ready"], web["ports"], web["sleeps"], web["failure"]),
                         (1, 1, [port], False, ""))
        (replica,) = web["replicas"]
        self.assertEqual(replica, {"name": f"{self.name}-web-1", "state": "ready", "lease": True,
                                   "in_flight": 0, "why": ""})
        plain = self.published("plain")
        self.assertEqual((plain["all_replicas"], [each["lease"] for each in plain["replicas"]]),
                         (2, [False, False]))
        (project,) = self.projects()
        self.assertEqual((project["name"], project["tenant"]), (self.name, "root"))
        self.assertIn(("web", "a replica is ready"),
                      [(each["service"], each["what"]) for each in project["decisions"]])
        self.cleave("scale", f"{self.name}/web=0")
        self.wait_for("web", "off")
        # The agent's successor gets it without a change.
        self.stop_agent(signal.SIGKILL)
        self.start_agent()
        self.wait_for("web", "off")
        os.kill(self.supervisor(), signal.SIGKILL)
        self.wait_until(lambda: self.projects() == [], "the end of what was published")
        self.cleave("down", self.name)
        self.assertEqual(self.projects(), [])

    def test_an_agent_of_an_earlier_version(self):
        """It knows no results of actions, and refuses a report with them."""
        self.up(web=self.service())
        self.wait_for("web", "ready")
        aside = self.socket + ".aside"
        os.rename(self.socket, aside)
        self.addCleanup(os.rename, aside, self.socket)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.settimeout(60)
            listener.bind(self.socket)
            listener.listen()
            text = b""
            while b'"decisions"' not in text:
                text = self.read_request(listener)
        self.assertNotIn(b'"results"', text)

    @staticmethod
    def read_request(listener):
        """What one connection sends until it waits for an answer, which it does not get."""
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(60)
            text = b""
            while not text.endswith(b"}"):
                more = connection.recv(65536)
                if not more:
                    break
                text += more
        return text

    def test_asleep(self):
        port = free_port()
        self.up(web=self.service(port, **SLEEPS))
        asleep = self.wait_for("web", "asleep")
        self.assertEqual((asleep["sleeps"], asleep["wanted"], asleep["replicas"]), (True, 0, []))
        self.who(port)
        self.wait_for("web", "ready")


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Actions(Services):
    """What the console asks for, at the agent."""

    def ask(self, status=202, **action):
        answer = request(self.socket, "POST", f"/v1/projects/{self.name}/actions", action)
        self.assertEqual(answer[0], status, answer)
        return answer[1]

    def act(self, **action):
        """The action, once it has ended."""
        asked = self.ask(**action)
        return self.wait_until(lambda: self.ended(asked), str(action))

    def ended(self, asked):
        action = request(self.socket, "GET", f"/v1/actions/{asked['id']}?wait_ms=10000")[1]
        return action["state"] not in ("waiting", "running") and action

    def assert_act(self, state, why, **action):
        told = self.act(**action)
        self.assertEqual(told["state"], state, told)
        self.assertRegex(told["why"], why)
        return told

    def scale(self, state, why, replicas, service="web"):
        return self.assert_act(state, why, do="scale", service=service, replicas=replicas)

    def test_scale(self):
        self.up(code=75, web=self.service(free_port(), environment={"DEVICE": "1"}, deploy={"replicas": 2},
                                 **{"x-cleave": {"share": .6, "memory": "100M"}}))
        # It was ready with one replica, and the other one has no room.
        self.scale("done", "web has 1 ready replica", 1)
        self.assertEqual(len(self.ready()), 1)
        self.assertIn("web: scaled: to 1, by root, through the agent", self.said())
        self.scale("refused", "web can have 0 to 2 replicas: set deploy.replicas", 3)
        self.scale("refused", "there is no service 'nothing'", 1, "nothing")
        self.scale("failed", "no room: ", 2)
        self.scale("done", "web is off", 0)
        self.assertEqual((self.containers(), self.status()["web"]["state"]), ([], "off"))
        self.scale("done", "web has 1 ready replica", 1)

    def test_sleep_and_wake(self):
        port = free_port()
        self.up(web=self.service(port, **SLEEPS_LATE),
                once=self.service(command=["true"], restart="no"))
        self.scale("done", "web is asleep", 0)
        self.assertEqual(self.containers(), [f"{self.name}-once-1"])
        self.scale("done", "web has 1 ready replica", 1)
        self.assertEqual(len(self.ready()), 1)
        self.scale("failed", "once does not start again", 1, "once")

    def test_one_that_fails(self):
        self.up(code=125, web=self.service(free_port(), environment={"FAILS": "1"}))
        self.scale("failed", "failing: .*exit code 3", 1)

    def test_during_down(self):
        self.up(web=self.service(free_port()))
        self.slow_down("rm", "sleep 10")
        self.start("down", self.name)
        self.wait_until(lambda: "down: by cleave down" in self.said(), "its begin")
        self.scale("refused", "is being ended", 1)
        self.assertNotIn("web: scaled", self.said())

    def test_logs(self):
        script = ("for i in $(seq 1500); do echo \"line $i\"; done; "
                  "printf 'a\\tb \\033[31mred\\r\\n'; printf 'end \\303\\251 %s\\n' \"$(seq -s x 300)\"; "
                  "sleep 1000")
        self.up(web=self.service(command=["sh", "-c", script.replace("$", "$$")]),
                quiet=self.service(command=["sleep", "1000"]))
        name = f"{self.name}-web-1"
        self.wait_until(lambda: "299x300" in self.engine("logs", name), "its output")
        told = self.assert_act("done", r"\A\Z", do="logs", replica=name, lines=4)
        self.assertEqual(told["output"][:3], ["line 1499", "line 1500", "a b ?[31mred"])
        self.assertRegex(told["output"][3], "\\Aend \u00e9 1x2x3x")
        self.assertEqual((len(told["output"]), len(told["output"][3].encode()), told["cut"]), (4, 500, False))
        many = self.assert_act("done", r"\A\Z", do="logs", replica=name, lines=1000)
        self.assertEqual((len(many["output"]), many["output"][0]), (1000, "line 503"))
        quiet = self.assert_act("done", r"\A\Z", do="logs", replica=f"{self.name}-quiet-1")
        self.assertEqual((quiet["output"], quiet["cut"]), ([], False))
        self.assert_act("refused", "is no replica of", do="logs", replica="another")
        undo = self.refuse("logs", "Error: out of order")
        self.assert_act("refused", "podman logs: .*out of order", do="logs", replica=name)
        undo()
        # The logs are not shown with the project.
        self.assertNotIn("line 1500", str(request(self.socket, "GET", "/v1/projects")))

    def test_logs_that_are_large(self):
        script = "for i in $(seq 999); do printf '%s %s\\n' $i \"$(seq -s \\\\ 100)\"; done; sleep 1000"
        self.up(web=self.service(command=["sh", "-c", script.replace("$", "$$")]))
        name = f"{self.name}-web-1"
        self.wait_until(lambda: "\n999 " in self.engine("logs", name), "its output")
        told = self.assert_act("done", r"\A\Z", do="logs", replica=name, lines=1000)
        self.assertTrue(told["cut"])
        self.assertGreater(len(told["output"]), 50)
        self.assertEqual([int(line.split()[0]) for line in told["output"]],
                         list(range(1000 - len(told["output"]), 1000)))

    def shown(self):
        return {len(each["services"])
                for each in request(self.socket, "GET", "/v1/projects")[1]["items"]}

    def test_logs_beside_many_services(self):
        """Lines give way to services, which are shown all the time."""
        script = "for i in $(seq 999); do printf '%s %s\\n' $i \"$(seq -s x 100)\"; done; sleep 1000"
        too_large = {"x-cleave": {"share": 1, "memory": "900G"}}
        many = {f"a-service-with-a-name-as-long-as-one-can-be-{i}": self.service(**too_large)
                for i in range(63)}
        self.up(code=125, web=self.service(command=["sh", "-c", script.replace("$", "$$")]), **many)
        name = f"{self.name}-web-1"
        self.wait_until(lambda: "\n999 " in self.engine("logs", name), "its output")
        self.wait_until(lambda: self.shown() == {64}, "all services")
        asked = self.ask(do="logs", replica=name, lines=1000)
        seen, told = set(), None
        while not told or told["state"] in ("waiting", "running"):
            told = request(self.socket, "GET", f"/v1/actions/{asked['id']}?wait_ms=20")[1]
            seen |= self.shown()
        self.assertEqual((told["state"], told["cut"], seen), ("done", True, {64}), told["why"])
        self.assertTrue(told["output"][-1].startswith("999 "), told["output"][-1])

    def test_a_supervisor_that_is_killed(self):
        """Its successor carries out what it has not told of; nothing is reported as done before."""
        self.up(web=self.service(free_port(), deploy={"replicas": 2}))
        self.scale("done", "1 ready replica", 1)
        undo = self.slow_down("run", "sleep 5")
        asked = self.ask(do="scale", service="web", replicas=2)
        self.wait_until(lambda: request(self.socket, "GET", f"/v1/actions/{asked['id']}")[1]["state"] ==
                        "running", "its begin")
        first = self.supervisor()
        os.kill(first, signal.SIGKILL)
        told = self.wait_until(lambda: self.ended(asked), "its end")
        self.assertEqual((told["state"], told["why"]),
                         ("failed", "its supervisor ended and has not said what came of it"))
        self.assertIn("no supervisor of a project",
                      self.ask(404, do="scale", service="web", replicas=1)["detail"])
        undo()
        self.supervise()
        self.wait_until(lambda: self.supervisor() not in (None, first), "another supervisor")
        self.wait_until(lambda: request(self.socket, "GET", "/v1/projects")[1]["items"], "its report")
        self.scale("done", "web has 2 ready replicas", 2)

    def test_a_supervisor_that_is_stopped(self):
        self.up(web=self.service(free_port(), deploy={"replicas": 2}))
        supervisor = self.supervisor()
        os.kill(supervisor, signal.SIGSTOP)
        try:
            # The report that waits at the agent takes one; the supervisor reads that answer later.
            given = self.ask(do="scale", service="web", replicas=1, expires_in=1)
            told = self.wait_until(lambda: self.ended(given), "its end")
            self.assertEqual(told["state"], "expired", told)
            late = self.ask(do="scale", service="web", replicas=0, expires_in=1)
            told = self.wait_until(lambda: self.ended(late), "its end")
            self.assertEqual(told["state"], "expired", told)
            self.assertIn("nothing was changed", told["why"])
        finally:
            os.kill(supervisor, signal.SIGCONT)
        self.wait_until(lambda: self.ended(given)["state"] == "refused", "the supervisor's word")
        self.assertIn("too late", self.ended(given)["why"])
        self.assertEqual(self.status()["web"]["wanted"], 2)
        self.scale("done", "web has 1 ready replica", 1)

    def test_an_agent_that_does_not_answer(self):
        """Services go on, and the next agent gets the project without a change."""
        port = free_port()
        self.up(web=self.service(port, **SLEEPS))
        self.wait_until(lambda: self.status()["web"]["state"] == "asleep", "web asleep")
        os.kill(self.agent.pid, signal.SIGSTOP)
        try:
            for _ in range(3):
                self.who(port)
                self.wait_until(lambda: self.status()["web"]["state"] == "asleep", "web asleep")
        finally:
            os.kill(self.agent.pid, signal.SIGCONT)
        self.scale("done", "web has 1 ready replica", 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
