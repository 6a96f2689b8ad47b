#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A project of services on an agent that runs already, for the tests of the console and its pictures.

usage: stage.py CLEAVE CLEAVED GATES SOCKET [PROJECT]

Prints a line of JSON: {"project", "ports"}, or {"why_not"} where this machine cannot run services.
Then each line of its input is a command: `request SERVICE`; `load SERVICE`, which has it compute from
then on; `kill`, which kills the supervisor. The answer is a line. The services end with the input."""
import json
import os
import signal
import sys

import bed
from bed import Load, Services
from ports import free_port

bed.PROGRAMS.update(zip(("cleave", "cleaved", "gates"), map(os.path.abspath, sys.argv[1:4])))


class Stage(Services):
    minute = "2s"
    has_agent = False

    def runTest(self):
        """Nothing: what there is runs by the lines of the input."""

    def begin(self, socket):
        self.socket = socket
        self.ports = {name: free_port() for name in ("chat", "search", "embed")}
        self.up(code=None,
                chat=self.service(self.ports["chat"], environment={"DEVICE": "1"}, deploy={"replicas": 2},
                                  **{"x-cleave": {"share": .2, "memory": "100M", "class": "latency"}}),
                embed=self.service(self.ports["embed"], environment={"DEVICE": "1"},
                                   **{"x-cleave": {"share": .1, "memory": "100M"}}),
                search=self.service(self.ports["search"], **{"x-omnistrate-capabilities": {
                    "autoscaling": {"maxReplicas": 2, "idleMinutesBeforeScalingDown": 2},
                    "serverlessConfiguration": {"enableAutoStop": True}}}),
                prepare=self.service(command=["true"], restart="no"))
        self.wait_until(lambda: self.status()["search"]["state"] == "asleep", "search asleep")

    def obey(self, line):
        verb, _, word = line.strip().partition(" ")
        if verb == "request":
            return self.who(self.ports[word])["name"]
        if verb == "load":
            Load(self.ports[word], "/compute?ms=300")
            return None
        os.kill(self.supervisor(), signal.SIGKILL)
        return None


def say(value):
    print(json.dumps(value), flush=True)


def main():
    why_not = bed.why_not()
    if why_not:
        say({"why_not": str(why_not)})
        return
    stage = Stage()
    stage.setUp()
    stage.name = sys.argv[5] if len(sys.argv) > 5 else stage.name
    try:
        stage.begin(sys.argv[4])
        say({"project": stage.name, "ports": stage.ports})
        for line in sys.stdin:
            say(stage.obey(line))
    finally:
        stage.doCleanups()


if __name__ == "__main__":
    main()
