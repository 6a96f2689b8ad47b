#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Right-sizing: `cleave profile` and `cleave fit --predict` of programs on PoCL.

usage: test_profile.py BUILD [unittest arguments]

Proposals are compared with measurements: the program runs in a share beside a lease that never
pauses, and its slowdown is the predicted one, within loose bounds, because other programs use
the processor too.
"""
import json
import subprocess
import sys
import time
import unittest
from pathlib import Path

from measured import measured
from slow import slow
from tenants_case import BUILD, DEEP, REQUESTS, Case, OnDouble, Share

# From bench/, which the line above adds to the path.
import predict
import tenants

LONG_BURSTS = ["--mode", "bursts", "--kernel", 1000, "--burst", 60000, "--idle", 60000]
LEAST, MOST = 0.6, 1.6  # measured over expected
BLOCK_S = 4


class Profile(Case):
    def profile(self, *options, program=("true",)):
        return self.cleave("profile", *options, "--", *program)

    def profile_tenant(self, arguments, seconds=5):
        """Profiles a tenant alone for a time; returns the report."""
        path = self.session.folder / "report.json"
        command = [self.session.cleave(), "profile", "--report", str(path), "--",
                   str(self.session.program("tenant")), "--log",
                   str(self.session.folder / "profiled"),
                   *[str(a) for a in arguments], "--cal", self.calibration]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True, env=self.session.environment) as process:
            self.assertTrue(process.stdout.readline().startswith("ready"))
            process.stdin.write(f"run {time.clock_gettime_ns(time.CLOCK_MONOTONIC)}\n")
            process.stdin.flush()
            time.sleep(seconds)
            process.stdin.write("quit\n")
            process.stdin.close()
            self.assertEqual(process.wait(60), 0)
        return json.loads(path.read_text())

    def measure(self, arguments, share):
        """Its slowdown in this share beside a lease with the rest."""
        one = self.spawn("one", f"{share:g}", arguments)
        other = self.spawn("other", f"{1 - share:g}")
        alone = self.session.block([one], BLOCK_S).rate("one")
        both = self.session.block([one, other], BLOCK_S).rate("one")
        alone = (alone + self.session.block([one], BLOCK_S).rate("one")) / 2
        self.session.end_tenants()
        return alone / both

    def check(self, report, arguments, share):
        expected = [choice["expected_slowdown"] for choice in report["proposal"]["choices"]
                    if abs(choice["share"] - share) < 0.001][0]
        measured = self.measure(arguments, share)
        print(f"share {share}: {measured:.2f} times as slow, {expected:.2f} expected")
        self.assertGreater(measured / expected, LEAST)
        self.assertLess(measured / expected, MOST)

    @measured
    def test_at_work_without_a_pause(self):
        report = self.profile_tenant(DEEP)
        proposal = report["proposal"]
        self.assertGreater(report["compute"]["of_100ms"]["p50"], 0.85)
        self.assertGreaterEqual(proposal["share"], 0.85)
        self.assertLess(proposal["expected_slowdown"], 1.06)
        # A kernel of a millisecond, on a processor that other programs use too.
        self.assertGreater(report["commands"]["count"], 500)
        self.assertGreater(report["commands"]["p50_seconds"], 0.0004)
        self.assertLess(report["commands"]["p50_seconds"], 0.004)
        self.assertGreater(report["memory"]["peak_bytes"], 0)
        self.assertEqual(proposal["memory_bytes"], 16 << 20)
        self.check(report, DEEP, 0.5)

    @slow
    def test_long_bursts(self):
        report = self.profile_tenant(LONG_BURSTS)
        # One per burst, of some forty; fewer where another program uses its processor.
        self.assertTrue(10 < report["commands"]["pauses"] < 80, report["commands"])
        self.assertTrue(0.25 < report["compute"]["of_1s"]["mean"] < 0.75)
        self.check(report, LONG_BURSTS, 0.3)

    @measured
    def test_requests_in_the_proposed_share(self):
        report = self.profile_tenant(REQUESTS)
        proposal = report["proposal"]
        self.assertLess(proposal["share"], 0.9)
        self.assertIn(proposal["class"], ("latency", "normal"))
        words = proposal["command"].split()
        self.assertEqual(words[:3], ["cleave", "run", "--share"])
        self.assertEqual(float(words[3]), proposal["share"])
        measured = self.measure(REQUESTS, proposal["share"])
        print(f"share {proposal['share']}: {measured:.2f} times as slow, "
              f"{proposal['expected_slowdown']:.2f} expected")
        self.assertLess(measured / proposal["expected_slowdown"], MOST)

    def test_exit_codes(self):
        self.assertEqual(self.profile(program=["sh", "-c", "exit 3"]).returncode, 3)
        done = self.profile(program=["sh", "-c", "sleep 1; kill -9 $$"])
        self.assertEqual(done.returncode, 137)
        self.assertIn("commands  none", done.stderr)
        self.assertIn("proposed  cleave run --share 0.05", done.stderr)
        done = self.profile("--for", "1s", "-o", "json", program=["sleep", "600"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stderr)["exit_code"], 143)
        self.assertEqual(done.stdout, "")
        self.assertEqual(self.profile(program=["/nonexistent"]).returncode, 127)
        self.assertEqual(list((self.session.folder / "run").glob("cleave-profile-*")), [])

    def test_words_are_quoted(self):
        done = self.profile(program=["sh", "-c", "sleep 1 # it's"])
        self.assertIn("-- sh -c 'sleep 1 # it'\\''s'\n", done.stderr)

    def test_others_hold_the_device(self):
        self.hold("train", "0.3")
        done = self.profile(program=["sleep", "1"])
        self.assertEqual(done.returncode, 75)
        self.assertRegex(done.stderr, r"train of \w+ has 30% of gpu0")
        self.assertIn("--shared", done.stderr)
        done = self.profile("--shared", program=["sleep", "1"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("proposed", done.stderr)


class Predict(Case):
    """A sample of `./dev bench predict`, within bounds for a machine that others use, too."""
    MOST = 1.3

    @slow
    def test_a_pair(self):
        session = self.session
        habits = {name: [*predict.HABITS[name], "--cal", self.calibration]
                  for name in ("long", "train")}
        reports = {name: predict.profile(session, name, words, 4)
                   for name, words in habits.items()}
        expected = predict.predict(session, f"{reports['long']}=0.3,normal",
                                   f"{reports['train']}=70%,normal")
        self.assertGreater(expected[0], 1.5)
        tenants = [self.spawn("one", "0.3", predict.HABITS["long"]),
                   self.spawn("other", "0.7", predict.HABITS["train"])]
        measured = predict.run_pair(session, tenants, 2, 1.5)
        for said, seen in zip(expected, measured):
            print(f"{seen:.2f} times as slow, {said:.2f} expected")
            self.assertLess(max(said / seen, seen / said), self.MOST)

    def test_inputs(self):
        report = {"device": "gpu0", "disturbed": False,
                  "at_work": {"part": 0.5, "pauses_per_second": 10, "command_seconds": 0.001},
                  "proposal": {"share": 0.6, "class": "latency"}}
        good, bad = self.session.folder / "chat.json", self.session.folder / "bad.json"
        good.write_text(json.dumps(report))
        bad.write_text("{}")
        rows = json.loads(self.cleave("fit", "--predict", str(good), f"{good}=0.1,batch",
                                      "-o", "json").stdout)["items"]
        self.assertEqual([(row["program"], row["share"], row["class"]) for row in rows],
                         [("chat", 0.6, "latency"), ("chat", 0.1, "batch")])
        self.assertTrue(all(row["slowdown"] > 1 for row in rows), rows)
        for row in rows:
            self.assertLess(row["slowdown_from"], row["slowdown"])
            self.assertLess(row["slowdown"], row["slowdown_to"])
            self.assertEqual(row["measured_pairs"], 8)
        shown = self.cleave("fit", "--predict", str(good), f"{good}=0.1").stdout
        self.assertRegex(shown, r"BETWEEN\n.* \d\.\d\d to \d\.\d\d\n")
        self.assertIn("by the largest error of 8 pairs", shown)
        self.assertRegex(self.cleave("fit", "--predict", str(good)).stdout, r"BETWEEN\n.* -\n")
        for words, code, message in (
                ((good, good), 75, "add up to 1.2 of a device"),
                ((f"{good}=0",), 64, "0"), ((f"{good}=0.5,fast",), 64, "'fast' is not a class"),
                ((bad,), 78, "bad.json: it is not a report"), (("none.json",), 78, "none.json: "),
                ((), 64, "")):
            done = self.cleave("fit", "--predict", *map(str, words))
            self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
            self.assertIn(message, done.stderr)


class PredictOnDouble(OnDouble):
    """The same without disturbance: the prediction must be right."""
    MOST = 1.15
    PAIR = ("long", 0.3), ("train", 0.7)  # kernels of a millisecond, all of them

    @measured
    def test_a_pair(self):
        words = [[*predict.HABITS[habit], "--cal", self.calibration] for habit, _ in self.PAIR]
        reports = [predict.profile(self.session, habit, each, 4)
                   for (habit, _), each in zip(self.PAIR, words)]
        expected = predict.predict(self.session, *(
            f"{report}={share},normal" for report, (_, share) in zip(reports, self.PAIR)))
        pair = [self.spawn(habit, f"{share:g}", predict.HABITS[habit])
                for habit, share in self.PAIR]
        for said, seen in zip(expected, predict.run_pair(self.session, pair, 2, 2)):
            print(f"{seen:.2f} times as slow, {said:.2f} expected")
            self.assertLess(max(said / seen, seen / said), self.MOST)


if __name__ == "__main__":
    BUILD.append(sys.argv.pop(1))
    unittest.main(verbosity=2)
