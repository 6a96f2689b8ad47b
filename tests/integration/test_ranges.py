#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shares that are ranges, with programs on PoCL whose demand changes, and the turns of a device.

usage: test_ranges.py BUILD [unittest arguments]

The agent, the command line and the tenants are real; the tests check what leases report,
and the work of the programs.
"""
import json
import os
import signal
import subprocess
import sys
import time
import unittest

from measured import MEASURES, bound
from slow import slow
from tenants_case import BUILD, Case

RISES_IN_S, FALLS_IN_S = 15, 25  # 3 and 10 seconds, a step per second, and a slow machine


class Turns(Case):
    def device(self):
        (device,) = json.loads(self.cleave("devices", "-o", "json").stdout)["items"]
        return device

    def test_shown_once_there_are_any(self):
        def figures():
            device = self.device()
            return device["turn_seconds"], device["hand_over_seconds"]

        self.assertEqual(figures(), (None, None))
        self.session.start([self.spawn("one", "0.5")])
        self.wait_for(lambda now: now["one"]["held_seconds"] > 0, RISES_IN_S, "work of one")
        # Alone it hands nothing over.
        self.assertEqual(figures(), (None, None))
        self.session.start([self.spawn("other", "0.5")])
        self.wait_for(lambda now: None not in figures(), RISES_IN_S, "a turn")
        turn, hand_over = figures()
        # One request of the policy, or up to two where hand-overs are expensive.
        self.assertGreaterEqual(turn, 0.008)
        self.assertLessEqual(turn, 0.016)
        # What the arbiter counts at most.
        self.assertLessEqual(hand_over, 0.001)


class Demand(Case):
    def test_shares_follow_the_demand(self):
        one, other = self.spawn("one", "0.1..0.9"), self.spawn("other", "0.1..0.6")
        self.assertEqual(self.share("one"), 0.1)
        self.session.start([one, other])
        self.wait_for(lambda now: now["one"]["share"] > 0.45 and
                      now["other"]["share"] > 0.45, RISES_IN_S, "half each")
        # With constant demand the shares do not change.
        before = self.share("one"), self.share("other")
        if MEASURES:
            time.sleep(6)
            self.assertEqual((self.share("one"), self.share("other")), before)
        # One stops: its share falls to its promise.
        other.send("pause")
        other.answer("paused")
        self.wait_for(lambda now: now["other"]["share"] == 0.1, FALLS_IN_S, "at the least")
        # It computes again: it has its part within seconds.
        self.session.start([other])
        self.wait_for(lambda now: now["other"]["share"] > 0.35, RISES_IN_S, "up again")
        # A third lease gets a promise: there is room for it at once.
        self.hold("third", "0.7")
        now = self.leases()
        self.assertEqual(now["third"]["share"], 0.7)
        self.assertAlmostEqual(now["one"]["share"] + now["other"]["share"], 0.3, delta=0.01)
        # A promise beyond all lower bounds does not fit.
        refused = self.cleave("run", "--share", "0.2..0.3", "--memory", "16M", "true")
        self.assertEqual(refused.returncode, 75)
        self.assertIn("0.1 of it is left", refused.stderr)
        moved = self.events("share_moved")
        self.assertTrue(moved)
        self.assertLess(len(moved), bound(8, 80))  # each several moves of a step
        self.assertRegex(moved[0]["message"], r"^share from 0\.1 to 0\.\d+ in \d+ s$")

    def test_the_neighbour_with_a_share_keeps_it(self):
        fixed, moving = self.spawn("fixed", "0.6"), self.spawn("moving", "0.1..0.9")
        self.session.start([fixed, moving])
        self.wait_for(lambda now: now["moving"]["share"] > 0.39, RISES_IN_S, "at 0.4")
        before = self.session.ledger()
        held = {name: 0 for name in before}
        while sum(held.values()) < 4:
            time.sleep(1)
            held = {name: now - before[name] for name, now in self.session.ledger().items()}
        self.assertAlmostEqual(held["moving"] / sum(held.values()), 0.4, delta=bound(0.05, 0.2))

    @slow
    def test_a_range_outlives_the_agent(self):
        one, other = self.spawn("one", "0.1..0.9"), self.spawn("other", "0.1..0.9")
        self.session.start([one, other])
        self.wait_for(lambda now: now["one"]["share"] > 0.45, RISES_IN_S, "half each")
        time.sleep(11)  # accounts are written every ten seconds
        before = self.leases()
        os.kill(self.session.agent_pid(), signal.SIGKILL)
        self.start_agent()
        after = self.leases()
        for name in ("one", "other"):
            self.assertEqual(after[name]["share_range"], before[name]["share_range"])
            self.assertAlmostEqual(after[name]["share"], before[name]["share"], delta=0.06)
        other.send("pause")
        other.answer("paused")
        self.wait_for(lambda now: now["other"]["share"] == 0.1, FALLS_IN_S, "moved on")


class Changing(Case):
    def test_set(self):
        self.hold("one", "0.1..0.5")
        done = self.cleave("set", "one", "--share", "0.2..0.8", "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        lease = json.loads(done.stdout)
        self.assertEqual(lease["share_range"], {"least": 0.2, "most": 0.8})
        self.assertEqual(lease["share"], 0.2)
        lease = json.loads(self.cleave("set", "one", "--share", "0.3", "-o", "json").stdout)
        self.assertIsNone(lease["share_range"])
        self.assertEqual(lease["share"], 0.3)
        self.hold("two", "0.5")
        refused = self.cleave("set", "one", "--share", "0.6..0.8")
        self.assertEqual(refused.returncode, 75)
        lease = json.loads(self.cleave("set", "one", "--share", "0.4..1", "-o", "json").stdout)
        self.assertEqual(lease["share"], 0.4)
        self.assertIn("40% of 40%..100%", self.cleave("ps").stdout)

    def test_wrong_words(self):
        for share in ("0.6..0.1", "0.1..", "..0.5", "0..0.5", "0.1..1.5"):
            refused = self.cleave("run", "--share", share, "true")
            self.assertEqual(refused.returncode, 64, share)
            self.assertIn("is not a range", refused.stderr)
        refused = self.cleave("run", "--share", "0.1..0.6", "--cap", "0.5", "true")
        self.assertEqual(refused.returncode, 64)

    def test_standing(self):
        layout = self.session.folder / "layout.yaml"
        layout.write_text("version: 1\ndevices:\n  - select: {}\n    shares:\n"
                          "      - {name: train, share: 0.1..0.6, memory: 64M}\n")
        done = self.cleave("apply", str(layout), "--yes")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.holders.append(subprocess.Popen(
            [self.session.cleave(), "run", "--in", "train", "--name", "one",
             "--no-namespace", "--", "sleep", "600"], env=self.session.environment))
        self.wait_for(lambda now: "one" in now, 10, "in the share")
        self.assertEqual(self.leases()["one"]["share_range"], {"least": 0.1, "most": 0.6})
        self.assertIn("share: 0.1..0.6", self.cleave("export", "--wanted").stdout)


if __name__ == "__main__":
    BUILD.append(sys.argv.pop(1))
    unittest.main(verbosity=2)
