#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`cleave serve-plan` and `cleave models-plan`: files in, plans out, no agent.  Small cases are
compared with a search through everything that is possible.

Argument: the cleave program.
"""
import itertools
import json
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples/placement"
CLEAVE = "cleave"
SLICES = (1, 2, 3, 4, 7)
# The places of NVIDIA's profiles of so many slices on an A100 with 80 GB, and their units.
STARTS = {1: range(7), 2: (0, 2, 4), 3: (0, 4), 4: (0,), 7: (0,)}
UNITS = {1: 1, 2: 2, 3: 4, 4: 4, 7: 8}
NAMES = {"1g.10gb": 1, "2g.20gb": 2, "3g.40gb": 3, "4g.40gb": 4, "7g.80gb": 7}
HEADER = "Mig instance,Batch size,Workload Number,Throughput,Latency\n"


def cleave(*words):
    return subprocess.run([CLEAVE, *map(str, words)], capture_output=True, text=True,
                          timeout=120, check=False)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def result(self, *words, code=0):
        done = cleave(*words, "-o", "json")
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)

    def assert_fails(self, words, code, said):
        done = cleave(*words)
        self.assertEqual((done.returncode, done.stdout), (code, ""))
        self.assertRegex(done.stderr, r"\Acleave[^\n]*\n\Z")
        self.assertIn(said, done.stderr)


def divisions():
    """All sets of instances that a GPU can have, as counts by size."""
    places = [(size, start) for size in SLICES for start in STARTS[size]]
    found = set()

    def add(first, cells, left, counts):
        found.add(counts)
        for i in range(first, len(places)):
            size, start = places[i]
            taken = {start + unit for unit in range(UNITS[size])}
            if size <= left and not taken & cells:
                at = SLICES.index(size)
                add(i + 1, cells | taken, left - size,
                    counts[:at] + (counts[at] + 1,) + counts[at + 1:])

    add(0, frozenset(), 7, (0,) * len(SLICES))
    return found


def served_by_a_gpu(capacities, all_divisions):
    """What a GPU can serve of two services, as rates; those that others exceed are left out."""
    rates = set()
    for counts in all_divisions:
        for first in itertools.product(*(range(n + 1) for n in counts)):
            rates.add(tuple(sum(n * c for n, c in zip(ns, capacity)) for ns, capacity in zip(
                (first, [a - b for a, b in zip(counts, first)]), capacities)))
    return {a for a in rates if not any(b != a and b[0] >= a[0] and b[1] >= a[1] for b in rates)}


def fewest(rates, capacities, all_divisions):
    one = served_by_a_gpu(capacities, all_divisions)
    for n in range(1, 4):
        for gpus in itertools.combinations_with_replacement(one, n):
            if all(sum(gpu[i] for gpu in gpus) >= rates[i] - 1e-9 for i in range(2)):
                return n
    return None


class Serve(Case):
    def services(self, tables, rates, latencies=("1s", "1s")):
        lines = ["version: 1", "model: A100-80GB", "services:"]
        for i, (rows, rate, latency) in enumerate(zip(tables, rates, latencies)):
            self.file(f"t{i}.csv", HEADER + "".join(
                ",".join(map(str, row)) + "\n" for row in rows))
            lines.append(f"  - {{name: s{i}, rate: {rate}, latency: {latency}, profile: t{i}.csv}}")
        return self.file("services.yaml", "\n".join(lines) + "\n")

    def check(self, result, rates, capacities):
        """Every instance has a place that exists, and every rate is served."""
        served, cells, slices = [0] * len(rates), set(), {}
        for row in result["items"]:
            size = NAMES[row["profile"]]
            service = int(row["service"][1:])
            self.assertIn(row["start"], STARTS[size])
            taken = {(row["gpu"], row["start"] + unit) for unit in range(UNITS[size])}
            self.assertFalse(taken & cells)
            cells |= taken
            slices[row["gpu"]] = slices.get(row["gpu"], 0) + size
            self.assertEqual(row["rate"], capacities[service][SLICES.index(size)])
            served[service] += row["rate"]
        self.assertLessEqual(max(slices.values()), 7)
        self.assertLessEqual(len(slices), result["gpus"])
        for is_rate, rate in zip(served, rates):
            self.assertGreaterEqual(is_rate, rate - 1e-6)

    def test_no_plan_has_fewer(self):
        numbers, every = random.Random(7), divisions()
        for _ in range(12):
            capacities = [[round(numbers.uniform(20, 40) * size ** numbers.uniform(0.7, 1.1))
                           if numbers.random() < 0.9 else 0 for size in SLICES]
                          for _ in range(2)]
            capacities = [row if any(row) else [10] * 5 for row in capacities]
            rates = [round(numbers.uniform(0.3, 1.2) * max(row)) for row in capacities]
            path = self.services([[(size, 1, 1, rate, 0.1) for size, rate in zip(SLICES, row)]
                                  for row in capacities], rates)
            result = self.result("serve-plan", path)
            self.check(result, rates, capacities)
            self.assertEqual((result["gpus"], result["proven"]),
                             (fewest(rates, capacities, every), True), (rates, capacities))

    def test_what_an_instance_runs(self):
        """The most that all processes serve together, of the rows that are fast enough."""
        rows = [(1, 1, 1, 10, 0.01), (1, 8, 1, 30, 0.05), (1, 8, 3, 20, 0.09), (1, 16, 3, 25, 0.2)]
        for latency, more, batch, processes, rate in (
                ("200ms", (), 8, 3, 60), ("199ms", (), 8, 1, 30), ("30ms", (), 1, 1, 10),
                ("200ms", ("--batch-part", 1), 16, 3, 75), ("90ms", ("--batch-part", "100%"), 8, 3, 60)):
            path = self.services([rows], [5], [latency])
            row, = self.result("serve-plan", path, *more)["items"]
            self.assertEqual((row["batch"], row["processes"], row["rate"]), (batch, processes, rate))

    def test_what_cannot_be_served(self):
        rows = [(7, 1, 1, 100, 0.05)]
        path = self.services([rows], [1], ["100ms"])
        self.assert_fails(("serve-plan", path), 75, "no instance meets the latency of 's0'")
        path = self.services([rows], [250])
        done = cleave("serve-plan", path, "--gpus", 2)
        self.assertEqual(done.returncode, 75)
        self.assertIn("need 3 GPUs", done.stderr)
        self.assertEqual(cleave("serve-plan", path, "--gpus", 3).returncode, 0)
        self.assert_fails(("serve-plan", self.services([rows], [3201])), 75, "more than 32 GPUs")

    def test_bad_files(self):
        good = self.services([[(1, 1, 1, 10, 0.01)]], [5])
        text = good.read_text()
        for old, new, said in (
                ("model: A100-80GB", "model: A1000", "'A1000' is no model"),
                ("model: A100-80GB", "model: A30-24GB", "has none of 3"),
                ("rate: 5", "rate: 0", "services.yaml:4:5: rate and latency must be above 0"),
                ("rate: 5", "rate: -5", "'-5' is no number"),
                ("t0.csv", "t1.csv", "t1.csv: No such file"),
                ("rate:", "rates:", "rates"),
                ("services:", "services:\n  - {name: s0, rate: 1, latency: 1s, profile: t0.csv}",
                 "'s0' appears twice")):
            self.file("services.yaml", text.replace(old, new))
            self.assert_fails(("serve-plan", good), 78, said)
        for table, said in (("", "t0.csv: it is empty"), ("a,b\n1,2\n", "t0.csv:1"),
                            (HEADER + "5,1,1,10,0.1\n", "t0.csv:2:1: no MIG instance has 5 slices"),
                            (HEADER + "1,1,1,-1,0.1\n", "t0.csv:2")):
            self.file("services.yaml", text)
            self.file("t0.csv", table)
            self.assert_fails(("serve-plan", good), 78, said)

    def test_example(self):
        done = cleave("serve-plan", EXAMPLES / "services.yaml")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("3 GPUs, proven the fewest", done.stdout)


class Models(Case):
    def models(self, lines, head="memory: 80Gi\n"):
        return self.file("models.yaml", "version: 1\n" + head + "models:\n" + "".join(
            f"  - {{name: m{i}, {line}}}\n" for i, line in enumerate(lines)))

    @staticmethod
    def worst(ways, n_gpus, memory, sizes, demands):
        """The least of the highest pressures of all ways; None if the weights fit in none."""
        best = None
        for way in ways:
            left = [memory - sum(s for s, g in zip(sizes, way) if g == gpu) for gpu in range(n_gpus)]
            wanted = [sum(d for d, g in zip(demands, way) if g == gpu) for gpu in range(n_gpus)]
            if all(room > 0 for room in left):
                worst = max(d / room for d, room in zip(wanted, left))
                best = worst if best is None else min(best, worst)
        return best

    def test_the_least_pressure(self):
        numbers = random.Random(3)
        for _ in range(8):
            sizes = [numbers.randint(5, 40) for _ in range(6)]
            rates = [numbers.randint(1, 9) for _ in range(6)]
            path = self.models([f"weights: {s}Gi, rate: {r}, latency: 2s"
                                for s, r in zip(sizes, rates)], "memory: 80Gi\ngpus: 3\n")
            best = self.worst(itertools.product(range(3), repeat=6), 3, 80, sizes,
                              [rate / 2 for rate in rates])
            if best is None:
                self.assertEqual(cleave("models-plan", path).returncode, 75)
                continue
            result = self.result("models-plan", path)
            self.assertAlmostEqual(result["pressure"], best, delta=1e-6 * best)
            self.assertTrue(result["proven"])
            way = {row["model"]: row["gpu"] for row in result["items"]}
            self.assertAlmostEqual(best, self.worst(
                [[way[f"m{i}"] for i in range(6)]], 3, 80, sizes, [r / 2 for r in rates]))

    def test_the_fewest_gpus(self):
        """Contexts of 1024 tokens with 1 MiB each are 1 GiB for each request."""
        numbers = random.Random(5)
        for _ in range(8):
            sizes = [numbers.randint(5, 40) for _ in range(6)]
            requests = [numbers.randint(1, 35) for _ in range(6)]
            path = self.models([f"weights: {s}Gi, context: 1024, requests: {r}, "
                                "cache_per_token: 1Mi" for s, r in zip(sizes, requests)])
            n = 1
            while (self.worst(itertools.product(range(n), repeat=6), n, 80, sizes, requests)
                   or 2) > 1 + 1e-9:
                n += 1
            result = self.result("models-plan", path)
            self.assertEqual((result["gpus"], len({row["gpu"] for row in result["items"]})), (n, n))
            self.assertLessEqual(result["pressure"], 1 + 1e-9)
            for row, (size, wanted) in zip(sorted(result["items"], key=lambda row: row["model"]),
                                           zip(sizes, requests)):
                self.assertEqual((row["weights_bytes"], row["cache_bytes"]),
                                 (size << 30, wanted << 30))

    def test_what_does_not_fit(self):
        large = "weights: 81Gi, rate: 1, latency: 1s"
        self.assert_fails(("models-plan", self.models([large], "memory: 80Gi\ngpus: 2\n")), 75,
                          "'m0' does not fit on a GPU: its weights exceed")
        caches = "weights: 30Gi, context: 1024, requests: 51, cache_per_token: 1Mi"
        self.assert_fails(("models-plan", self.models([caches])), 75, "its weights and caches exceed")
        half = "weights: 30Gi, context: 1024, requests: 15, cache_per_token: 1Mi"
        self.assert_fails(("models-plan", self.models([half, half], "memory: 80Gi\ngpus: 1\n")), 75,
                          "the caches need 150.0 %")
        self.assert_fails(("models-plan", self.models(
            ["weights: 50Gi, rate: 1, latency: 1s"] * 2, "memory: 80Gi\ngpus: 1\n")), 75,
            "more GPUs are needed")

    def test_bad_files(self):
        rate = "weights: 1Gi, rate: 1, latency: 1s"
        caches = "weights: 1Gi, context: 1024, requests: 1, cache_per_token: 1Mi"
        gpus = "memory: 80Gi\ngpus: 2\n"
        for lines, head, said in (
                ([rate], "memory: 80Gi\n", "the number of gpus is missing"),
                ([rate, caches], gpus, "all models of a file"),
                (["weights: 1Gi"], gpus, "rate and latency, or context"),
                (["weights: 1Gi, rate: 1"], gpus, "rate and latency, or context"),
                ([rate + ", context: 5"], gpus, "rate and latency, or context"),
                ([rate], "memory: 0\ngpus: 2\n", "it must be at least 1 byte"),
                ([rate] * 65, gpus, "more than 64 models"),
                ([rate, "name: m0"], gpus, "models.yaml:6")):
            self.assert_fails(("models-plan", self.models(lines, head)), 78, said)

    def test_example(self):
        done = cleave("models-plan", EXAMPLES / "models.yaml")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("2 GPUs, proven the fewest", done.stdout)


if __name__ == "__main__":
    CLEAVE = sys.argv.pop(1)
    unittest.main()
