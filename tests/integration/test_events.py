#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cleave events --follow beside agents that end and start."""
import json
import os
import shutil
import signal
import subprocess
import threading
import unittest

from harness import PATIENCE_S, PROGRAMS, Case, main, wait_until


class Follow(Case):
    def setUp(self):
        super().setUp()
        self.seen = []

    def follow(self, *arguments):
        process = subprocess.Popen(
            [PROGRAMS["cleave"], "events", "--follow", "-o", "json", "--socket", self.agent.api,
             *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        reader = threading.Thread(target=self.read, args=(process,))
        reader.start()
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(reader.join)
        self.addCleanup(process.kill)
        return process

    def read(self, process):
        for line in process.stdout:
            self.seen.append(json.loads(line))

    def make_event(self, name):
        status, answer = self.agent.request("POST", "/v1/leases", {
            "share": 0.01, "keep": True, "name": name})
        self.assertEqual(status, 201, answer)

    def wait_for(self, name):
        self.assertTrue(wait_until(lambda: name in [event["name"] for event in self.seen]), name)

    def test_the_agent_is_restarted(self):
        process = self.follow()
        for i, how in enumerate((signal.SIGTERM, signal.SIGKILL, signal.SIGTERM)):
            self.make_event(f"before-{i}")
            self.wait_for(f"before-{i}")
            self.agent.stop(how)
            self.agent.start()
            self.make_event(f"after-{i}")
            self.wait_for(f"after-{i}")
        ids = [event["id"] for event in self.seen]
        self.assertEqual(ids, [event["id"] for event in self.agent.events()][:len(ids)])
        process.terminate()
        self.assertEqual(set(process.stderr.read().splitlines()),
                         {"cleave: the agent went away: looking for it again"})

    def test_another_state(self):
        process = self.follow()
        self.make_event("before")
        self.wait_for("before")
        self.agent.stop()
        shutil.rmtree(self.agent.state)
        self.agent.start()
        self.make_event("after")
        self.wait_for("after")
        self.assertEqual([event["type"] for event in self.seen].count("agent_started"), 2)
        process.terminate()
        self.assertIn("another state", process.stderr.read())

    def test_no_agent_comes(self):
        process = self.follow()
        self.make_event("before")
        self.wait_for("before")
        self.agent.stop()
        self.assertEqual(process.wait(PATIENCE_S), 69)
        last = max(event["id"] for event in self.seen)
        self.assertIn(f"cleave events -f --after={last}", process.stderr.read())
        self.agent.start()
        self.make_event("after")
        self.seen.clear()
        self.follow(f"--after={last}")
        self.wait_for("after")
        self.assertEqual(self.seen[0]["id"], last + 1)


if __name__ == "__main__":
    main()
