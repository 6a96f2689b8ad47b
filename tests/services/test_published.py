# SPDX-License-Identifier: Apache-2.0
"""What supervisors publish at the agent, for the console.

usage: test_published.py CLEAVE CLEAVED GATES [unittest arguments]
"""
import os
import signal
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

    def test_asleep(self):
        port = free_port()
        self.up(web=self.service(port, **SLEEPS))
        asleep = self.wait_for("web", "asleep")
        self.assertEqual((asleep["sleeps"], asleep["wanted"], asleep["replicas"]), (True, 0, []))
        self.who(port)
        self.wait_for("web", "ready")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
