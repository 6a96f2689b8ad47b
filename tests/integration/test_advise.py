#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`cleave advise` for programs with unsuitable shares.

usage: test_advise.py BUILD [unittest arguments]
"""
import json
import sys
import time
import unittest

from tenants_case import BUILD, PATIENCE_S, REQUESTS, OnDouble, Share


WANTED = {("large", "too_large"), ("small", "imbalanced")}


def wants_more(found):
    return found["small", "imbalanced"]["proposed"]["share"] > 0.2


class Advise(OnDouble):
    def advice(self):
        items = json.loads(self.cleave("advise", "-o", "json").stdout)["items"]
        return items, {(item["name"], item["kind"]): item for item in items}

    def test_a_wrong_split(self):
        small, other = self.spawn("small", "0.1"), self.spawn("other", "0.3")
        large = self.session.spawn(
            "large", [*REQUESTS, "--cal", self.calibration], Share("0.6"))
        self.assertEqual(json.loads(self.cleave("advise", "-o", "json").stdout)["items"], [])
        self.session.start([small, other, large])
        time.sleep(36)
        items, found = self.advice()
        # Seconds of history count, of which a busy machine has fewer.
        until = time.monotonic() + PATIENCE_S
        while not (WANTED <= set(found) and wants_more(found)) and time.monotonic() < until:
            time.sleep(1)
            items, found = self.advice()
        self.assertLessEqual(WANTED, set(found))
        self.assertLess(found["large", "too_large"]["proposed"]["share"], 0.4)
        advice = found["small", "imbalanced"]
        self.assertGreater(advice["proposed"]["share"], 0.2)
        # With .3 of the third lease, which keeps it.
        self.assertLessEqual(advice["proposed"]["share"] +
                             found["large", "too_large"]["proposed"]["share"], 0.7 + 1e-9)
        self.assertEqual(advice["device"], "gpu0")
        self.assertIn("while large uses 0.", advice["text"])
        self.assertGreaterEqual(advice["observed_seconds"], 30)
        self.assertEqual(advice["confidence"], "low")
        self.assertEqual(advice["current"]["share"], 0.1)
        self.assertTrue(all(item["expected_slowdown"] >= 1 for item in items))
        one = json.loads(self.cleave("advise", "small", "-o", "json").stdout)["items"]
        self.assertEqual({item["name"] for item in one}, {"small"})
        table = self.cleave("advise").stdout
        self.assertIn("too_large", table)
        self.assertEqual(self.cleave("advise", "nobody").returncode, 64)


if __name__ == "__main__":
    BUILD.append(sys.argv.pop(1))
    unittest.main(verbosity=2)
