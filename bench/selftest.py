#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the benches: on logs with a known result they must compute that result, and they must
detect shares, ledgers and gaps that are wrong on purpose."""
import contextlib
import io
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
import unittest.mock
import xml.etree.ElementTree
from pathlib import Path

import company
import cuda
import cuda_bed
import curves
import demo
import donate
import latency
import measure
import overhead
import place_chart
import report
import run as bench_run
import scale
import shares
import tenants
import throughput
from tenants import Block, Session

MS = 1_000_000


class Clockwork(Session):
    """Simulates a device that serves tenants by weight, kernel by kernel, without error except
    the configured one.  It stands in for tenants.Session."""

    wrong_share = 0.0    # added to the first tenant's share, taken from the last
    wrong_ledger = 0.0   # the same for the ledger
    lost = 0.0           # part of the device's time that no tenant gets when it is shared
    ran_on = 0.0         # part of the first tenant's time for which its threads ran beside others
    leak = 0.0           # added to every cap
    drift = 0.0          # how much slower the device becomes at times

    def __init__(self, build, with_cleave, vendors=None, executor=None):
        self.now = 1_000 * measure.SECOND
        self.with_cleave = with_cleave
        self.tenants = []
        self.blocks = 0
        self.held = {}

    def close(self):
        pass

    def calibrate(self):
        return "1000,1"

    def ledger(self):
        return dict(self.held) if self.with_cleave else {}

    def spawn(self, name, arguments, lease=None, processes=1):
        words = [str(a) for a in arguments]
        lengths = [1000]
        if "--kernel" in words:
            lengths = [int(k) for k in words[words.index("--kernel") + 1].split(",")]
        tenant = types.SimpleNamespace(
            name=name, share=lease.share if lease else 1.0, cap=lease.cap if lease else 0,
            lengths=lengths, requests="request" in words, served=0.0, count=0)
        self.tenants.append(tenant)
        self.held[name] = 0.0
        return tenant

    def weights(self, tenants):
        weights = {t.name: t.share for t in tenants}
        if len(tenants) > 1:
            weights[tenants[0].name] += self.wrong_share
            weights[tenants[-1].name] -= self.wrong_share
        return weights

    def block(self, tenants, seconds):
        self.blocks += 1
        speed = 1.0 + self.drift * (1 + math.sin(self.blocks * .4)) / 2
        weights = self.weights(tenants)
        begin = self.now
        end = begin + int(seconds * measure.SECOND)
        records = {t.name: [] for t in tenants}
        served = {t.name: 0.0 for t in tenants}
        computed = {t.name: [0.0, 0.0] for t in tenants}
        while self.now < end:
            tenant = min(tenants, key=lambda t: served[t.name] / weights[t.name])
            length_us = tenant.lengths[tenant.count % len(tenant.lengths)]
            tenant.count += 1
            took = int(length_us * 1000 * speed)
            records[tenant.name].append(
                (self.now, self.now + took, measure.KERNEL, length_us * 1000))
            self.held[tenant.name] += took / 1e9
            computed[tenant.name] = [s + took / 1e9 for s in computed[tenant.name]]
            served[tenant.name] += took
            self.now += took
            if len(tenants) > 1:
                self.now += int(took * self.lost)
            if tenant.cap:
                self.now += int(took * (1 / (tenant.cap + self.leak) - 1))
            if tenant.requests:
                records[tenant.name].append(
                    (self.now - took, self.now, measure.REQUEST, 0))
        if len(tenants) > 1:
            self.held[tenants[0].name] += self.wrong_ledger * seconds
            computed[tenants[0].name] = [s * (1 + self.ran_on)
                                         for s in computed[tenants[0].name]]
        self.now += 50 * MS
        spans = {name: [(r[0], r[1], r[1] - r[0]) for r in measure.kernels(of)]
                 for name, of in records.items()}
        return Block(begin, end, records, computed, spans)


@contextlib.contextmanager
def clockwork(**settings):
    """The benches run on a Clockwork with these settings."""
    fake = type("Fake", (Clockwork,), settings)
    modules = (shares, throughput, donate, latency, overhead)
    real = [m.Session for m in modules]
    for module in modules:
        module.Session = fake
    try:
        yield
    finally:
        for module, session in zip(modules, real):
            module.Session = session


def results_of(bench, quick=False, case=None, **settings):
    """{(case, metric): Result} of a bench on the clockwork."""
    results = report.Report(report.load_targets(), quick)
    context = types.SimpleNamespace(
        build=Path("."), quick=quick, with_cleave=True, add=results.add,
        wants=lambda c: case is None or c == case, tell=lambda text: None)
    with clockwork(**settings), contextlib.redirect_stdout(io.StringIO()):
        bench.run(context)
    return {(r.case, r.metric): r for r in results.results}


def busy_log(start, pattern, repeat):
    """Kernels back to back: pattern of (tenant, milliseconds)."""
    logs = {name: [] for name, _ in pattern}
    now = start
    for _ in range(repeat):
        for name, length in pattern:
            logs[name].append((now, now + length * MS, measure.KERNEL, length * MS))
            now += length * MS
    return logs, now


class Arithmetic(unittest.TestCase):
    def test_rate_counts_parts_of_kernels(self):
        records = [(100, 200, measure.KERNEL, 100), (200, 300, measure.KERNEL, 50)]
        self.assertAlmostEqual(measure.rate(records, 150, 250), 0.75)
        self.assertAlmostEqual(measure.rate(records, 0, 400), 150 / 400)
        self.assertEqual(measure.rate([], 0, 100), 0)

    def test_rate_of_overlapping_kernels_adds_up(self):
        records = [(0, 100, measure.KERNEL, 60), (50, 150, measure.KERNEL, 60)]
        self.assertAlmostEqual(measure.rate(records, 50, 100), 1.2)

    def test_busy_time_counts_overlap_once(self):
        records = [(0, 100, measure.KERNEL, 1), (50, 150, measure.KERNEL, 1),
                   (200, 250, measure.KERNEL, 1)]
        self.assertAlmostEqual(measure.busy_curve(records).between(0, 300), 200)

    def test_a_capped_loop_is_not_measured_by_what_its_host_threads_compute(self):
        """A kernel of 2 s, stopped for half of them: 3 s of processor time with the host's."""
        block = Block(0, 4, {"a": [(0, 4, measure.KERNEL, 2)]}, {},
                      spans={"a": [(0, 4, 3)]})
        self.assertAlmostEqual(shares.used_part(shares.used_curve(block, tenants.CPU), 0, 4), .5)

    def test_a_turn_has_the_holders_own_gaps_in_it(self):
        logs = {"a": [(0, 10, 1, 1), (20, 30, 1, 1), (60, 70, 1, 1)],
                "b": [(35, 50, 1, 1)]}
        self.assertEqual(measure.turns(logs), [("a", 0, 30), ("b", 35, 50), ("a", 60, 70)])
        self.assertEqual(measure.held_ns(logs), {"a": 40, "b": 15})
        self.assertEqual(measure.held_ns(logs, 25, 65), {"a": 10, "b": 15})

    def test_processes_of_one_tenant_hold_once(self):
        logs = {"a": sorted([(0, 10, 1, 1), (2, 12, 1, 1)]), "b": [(12, 20, 1, 1)]}
        self.assertEqual(measure.held_ns(logs), {"a": 12, "b": 8})

    def test_requests_and_idle_spans_are_no_kernels(self):
        records = [(0, 10, measure.REQUEST, 9), (0, 10, measure.IDLE, 9)]
        self.assertEqual(measure.rate(records, 0, 10), 0)
        self.assertEqual(measure.turns({"a": records}), [])

    def test_fair_turns_have_no_error(self):
        logs, end = busy_log(0, [("a", 2), ("b", 5), ("c", 3)], 500)
        rates = {n: measure.rate(logs[n], 0, end) for n in logs}
        achieved = measure.normalised(rates, {"a": 1, "b": 1, "c": 1})
        promised = {"a": .2, "b": .5, "c": .3}
        self.assertLess(measure.worst_points(achieved, promised), 0.01)
        self.assertAlmostEqual(
            measure.worst_points(achieved, {"a": .3, "b": .4, "c": .3}), 10, 3)

    def test_own_rate_alone_normalises(self):
        achieved = measure.normalised({"a": .5, "b": .2}, {"a": 1.0, "b": .4})
        self.assertAlmostEqual(achieved["a"], .5)

    def test_a_starved_tenant_is_seen(self):
        achieved = measure.normalised({"a": .9, "b": 0}, {"a": 1.0, "b": 1.0})
        self.assertAlmostEqual(measure.worst_points(achieved, {"a": .5, "b": .5}), 50)

    def test_a_bad_second_is_seen_in_a_good_average(self):
        first, middle = busy_log(0, [("a", 6), ("b", 4)], 100)
        second, end = busy_log(middle, [("a", 4), ("b", 6)], 100)
        logs = {n: first[n] + second[n] for n in first}
        promised = alone = {"a": .5, "b": .5}
        rates = {n: measure.rate(logs[n], 0, end) for n in logs}
        self.assertLess(
            measure.worst_points(measure.normalised(rates, alone), promised), 0.01)
        self.assertAlmostEqual(
            measure.worst_window_points([(0, end, logs)], alone, promised), 10, 1)

    def test_longest_wait(self):
        records = [(10, 20, 1, 1), (50, 60, 1, 1)]
        self.assertEqual(measure.longest_wait_ns(records, 0, 70), 30)
        self.assertEqual(measure.longest_wait_ns(records, 0, 200), 140)
        self.assertEqual(measure.longest_wait_ns([], 0, 200), 200)

    def test_hand_over_runs_from_the_last_kernels_end(self):
        giver = [(0, 10, 1, 1), (15, 40, measure.IDLE, 0), (40, 50, 1, 1),
                 (52, 60, measure.IDLE, 0)]
        taker = [(13, 30, 1, 1), (48, 58, 1, 1)]
        self.assertEqual(measure.hand_overs_ns(giver, taker), [3, 0])

    def test_percentile_takes_a_value_that_occurred(self):
        values = list(range(1, 101))
        self.assertEqual(measure.percentile(values, .5), 50)
        self.assertEqual(measure.percentile(values, .99), 99)
        self.assertTrue(math.isnan(measure.percentile([], .5)))

    def test_ratios_between_neighbours_cancel_a_steady_drift(self):
        self.assertEqual(measure.between_ratios([2, 4], [1, 3, 5]), [1, 1])

    def test_the_middle_mean_ignores_outliers(self):
        self.assertEqual(measure.middle_mean([1, 1, 1, 1, 1, 1, 9, 0]), 1)
        self.assertEqual(measure.middle_mean([3]), 3)

    def test_a_torn_record_is_left_for_later(self):
        data = measure.RECORD.pack(1, 2, 1, 3)
        self.assertEqual(measure.parse_log(data + data[:7]), [(1, 2, 1, 3)])


class Processors(unittest.TestCase):
    def test_a_process_is_read_from_outside(self):
        own = time.process_time_ns()
        seen = tenants.processor_ns(os.getpid())
        self.assertLessEqual(own, seen)
        self.assertLessEqual(seen, time.process_time_ns())

    def test_a_process_that_is_gone(self):
        self.assertEqual(tenants.processor_ns(1 << 22), 0)  # PID_MAX_LIMIT


class Curves(unittest.TestCase):
    @staticmethod
    def straight(rate, moments=range(0, 3_000_000_001, 50_000_000)):
        return [(t, rate * t) for t in moments]

    def test_between_two_samples(self):
        curve = [(10, 0), (20, 10), (30, 10)]
        self.assertEqual([curves.at(curve, t) for t in (5, 10, 15, 25, 40)], [0, 0, 5, 10, 10])

    def test_exact_shares_have_no_error(self):
        found = [self.straight(rate) for rate in (.2, .5, .3)]
        for error in curves.errors(found, [1, 1, 1], [.2, .5, .3]):
            self.assertAlmostEqual(error, 0, 6)

    def test_own_work_alone_is_what_counts(self):
        found = [self.straight(.1), self.straight(.5)]
        self.assertAlmostEqual(curves.errors(found, [.2, 1], [.5, .5])[0], 0, 6)
        self.assertAlmostEqual(curves.errors(found, [.2, 1], [.4, .6])[0], 10, 6)

    def test_a_bad_second_is_seen_in_a_good_whole(self):
        moments = range(0, 2_000_000_001, 50_000_000)
        first = [(t, .6 * min(t, 1e9) + .4 * max(0, t - 1e9)) for t in moments]
        other = [(t, .4 * min(t, 1e9) + .6 * max(0, t - 1e9)) for t in moments]
        whole, second = curves.errors([first, other], [1, 1], [.5, .5])
        self.assertAlmostEqual(whole, 0, 6)
        self.assertAlmostEqual(second, 10, 6)


class Traces(unittest.TestCase):
    """Of the double: (pid, name, start, end)."""

    ROWS = [(1, "work", 0, 500_000), (1, "[off]", 400_000, 450_000),
            (2, "work", 520_000, 620_000), (2, "work", 620_000, 700_000),
            (1, "[on]", 700_000, 710_000)]

    def test_from_the_stop_to_the_next_kernel(self):
        self.assertEqual(cuda.off_to_start_us([(390_000, 0, 0)], self.ROWS, 2), ([120], [50]))
        self.assertEqual(cuda.off_to_start_us([(410_000, 0, 0)], self.ROWS, 2), ([], []),
                         "stopped before anybody asked")
        self.assertEqual(cuda.submitted_to_start_us([(500_000, 0, 0)], self.ROWS, 2), [20])

    def test_a_gpus_clock_is_another(self):
        """The GPU's clock is a million ahead and gains one in a thousand."""
        def started(submitted, took):
            return submitted, 0, 1_000_000 + 1.001 * (submitted + took)

        before = [started(t, took) for t, took in ((0, 9_000), (10_000, 5_000))]
        after = [started(t, took) for t, took in ((900_000, 5_000), (950_000, 8_000))]
        more, = cuda.beyond_quickest_us(before, [started(500_000, 105_000)], after)
        self.assertAlmostEqual(more, 100, delta=.2)
        self.assertEqual(cuda.beyond_quickest_us([(1, 2, 0)], [(3, 4, 0)], [(5, 6, 0)]), [],
                         "nothing was written")

    def test_a_request_ends_with_its_last_kernel(self):
        self.assertEqual(cuda.exact_ms([(500_000, 0, 0), (1, 1, 1)], self.ROWS, 2, 2), [.2])

    def test_a_peer_is_told_of_the_share(self):
        peer = cuda_bed.Peer("x.so", ("SM={percent}", "MEM={mebibytes}m", "PLAIN=1"))
        tenant = cuda_bed.Tenant(.25, None, memory=1 << 30)
        self.assertEqual(peer.environment(tenant),
                         {"SM": "25", "MEM": "1024m", "PLAIN": "1"})


class Targets(unittest.TestCase):
    def test_bounds(self):
        self.assertTrue(report.Target.parse("<=1.0").met(1.0))
        self.assertFalse(report.Target.parse("<=1.0").met(1.01))
        self.assertTrue(report.Target.parse(">=0.97").met(.98))
        self.assertTrue(report.Target.parse("0.30+-0.01").met(.31 - 1e-9))
        self.assertFalse(report.Target.parse("0.30+-0.01").met(.32))
        with self.assertRaises(ValueError):
            report.Target.parse("about 3")

    def test_nothing_measured_is_never_good(self):
        for text in ("<=1", ">=0.97", "0.30+-0.01", "-"):
            self.assertFalse(report.Target.parse(text).met(math.nan))
            self.assertFalse(report.Target.parse(text).met(math.inf))

    def test_a_short_sample_gets_four_points_and_three_times_the_times(self):
        loosened = report.Target.parse("<=1.0").loosened
        self.assertEqual(loosened("points").number, 4)
        self.assertEqual(loosened("ms").number, 3)
        self.assertEqual(loosened("instructions").number, 1)
        self.assertEqual(report.Target.parse("<=2.0").loosened("points").number, 4)
        self.assertAlmostEqual(
            report.Target.parse(">=0.97").loosened("fraction").number, .93)
        self.assertEqual(
            report.Target.parse("0.30+-0.01").loosened("fraction").distance, .04)

    def test_a_row_with_no_result_and_a_result_with_no_row_fail(self):
        targets = {("b", "c", "m"): report.Target.parse("<=1")}
        with contextlib.redirect_stdout(io.StringIO()):
            results = report.Report(targets)
            results.close(["b"])
            self.assertEqual(len(results.failed()), 1)
            results = report.Report(targets)
            results.add("b", "c", "m", 0.5, "ms")
            results.add("b", "c", "other", 0.5, "ms")
            results.close(["b"])
            self.assertEqual([r.metric for r in results.failed()], ["other"])

    def test_noise_is_no_missed_target(self):
        """The less noisy of two rows is kept; a counted figure is never noisy."""
        targets = {("b", "c", m): report.Target.parse("<=1") for m in ("m", "n")}
        with contextlib.redirect_stdout(io.StringIO()):
            results = report.Report(targets)
            results.add("b", "c", "m", 2, "ms", noise=.3)
            self.assertEqual((len(results.failed()), len(results.noisy())), (0, 1))
            self.assertEqual(bench_run.exit_code(results, 0), bench_run.NOISY)
            self.assertEqual(bench_run.exit_code(results, 1), bench_run.MISSED)
            results.add("b", "c", "m", .5, "ms", noise=.01)
            results.add("b", "c", "m", 3, "ms", noise=.2)
            self.assertEqual([r.value for r in results.results], [.5])
            self.assertEqual(bench_run.exit_code(results, 0), 0)
            results.add("b", "c", "n", 2, "instructions", noise=.9)
            self.assertEqual((len(results.failed()), len(results.noisy())), (1, 0))
            self.assertEqual(bench_run.exit_code(results, 0), bench_run.MISSED)

    def test_noisy_cases_are_repeated_by_themselves(self):
        """Up to a limit; a case that is no longer noisy is not repeated again."""
        parts = {"loud": [.5] * 9, "once": [.5, 0]}
        ran = []

        def bench(context):
            for case in filter(context.wants, ("quiet", "loud", "once")):
                ran.append(case)
                context.noise = (parts.get(case) or [0]).pop(0)
                context.results.add("b", case, "m", 1, "ms", noise=context.noise)

        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            results = report.Report({})
            context = bench_run.Context(bench_run.parse_arguments(["plan"]), results)
            with unittest.mock.patch.dict(bench_run.BENCHES, {"b": bench}):
                bench_run.run_once(context, "b")
                bench_run.repeat_noisy(context, "b")
        self.assertEqual(ran[:3], ["quiet", "loud", "once"])
        self.assertEqual(sorted(ran[3:]), ["loud"] * bench_run.REPEATS + ["once"])
        self.assertEqual([r.case for r in results.noisy()], ["loud"])

    def test_who_is_of_the_bench(self):
        """Its children, and daemons of theirs with init as parent; not one with another environment."""
        own = company.Own()
        before = own.look()
        spin = "import os, sys, time\n" \
            "if os.fork(): os._exit(0)\n" \
            "print(os.getpid(), flush=True)\n" \
            "while time.process_time() < .3: pass\n" \
            "os.close(1); time.sleep(600)"
        environment = dict(os.environ)
        counts = []
        for mark in (environment[company.MARK], "0"):
            child = subprocess.Popen([sys.executable, "-c", spin], stdout=subprocess.PIPE, text=True,
                                     env={**environment, company.MARK: mark})
            daemon = int(child.stdout.readline())
            child.wait()
            child.stdout.read()
            child.stdout.close()
            counts.append(own.look() - before)
            os.kill(daemon, signal.SIGKILL)
            before += counts[-1]
        self.assertGreater(counts[0], .28)
        self.assertLess(counts[1], .28)

    def test_the_table_of_targets_is_whole(self):
        targets = report.load_targets()
        self.assertEqual({key[0] for key in targets}, set(bench_run.BENCHES))
        self.assertTrue(all(target.note for target in targets.values()))


class Benches(unittest.TestCase):
    """Whole benches, from blocks to verdicts, on a device that makes known errors."""

    def assert_rows(self, bench, results, without=()):
        rows = {key[1:] for key in report.load_targets() if key[0] == bench}
        self.assertEqual({r for r in rows if r[0] not in without}, set(results))

    def test_exact_shares_pass(self):
        results = results_of(shares)
        self.assert_rows("shares", results)
        missed = {key for key, r in results.items() if not r.ok}
        self.assertEqual(missed, {("gaps", "rate")})  # the clockwork has no gaps

    def test_drift_of_the_machine_is_not_an_error(self):
        results = results_of(shares, case="three", drift=.18)
        self.assertTrue(all(r.ok for r in results.values()), results)

    def test_wrong_shares_are_flagged(self):
        for case in ("three", "four", "sync-deep", "two-processes", "out-of-order"):
            results = results_of(shares, case=case, wrong_share=.012)
            for metric in ("worst_error", "held_error"):
                self.assertFalse(results[case, metric].ok, case)
                self.assertAlmostEqual(results[case, metric].value, 1.2, delta=.1)
            self.assertTrue(results[case, "ledger_error"].ok, case)

    def test_who_computes_in_anothers_turn_is_flagged(self):
        results = results_of(shares, case="cpu-three")
        self.assertTrue(all(r.ok for r in results.values()), results)
        results = results_of(shares, case="cpu-three", ran_on=.1)
        self.assertTrue(results["cpu-three", "worst_error"].ok)
        for metric in ("held_error", "ledger_error"):
            self.assertFalse(results["cpu-three", metric].ok)
            self.assertAlmostEqual(results["cpu-three", metric].value, 1.6, delta=.2)
        results = results_of(shares, case="three", ran_on=.1)
        self.assertTrue(all(r.ok for r in results.values()), results)

    def test_a_short_sample_flags_five_points(self):
        results = results_of(shares, quick=True, case="three", wrong_share=.03)
        self.assertTrue(results["three", "worst_error"].ok)
        results = results_of(shares, quick=True, case="three", wrong_share=.05)
        self.assertFalse(results["three", "worst_error"].ok)

    def test_a_wrong_ledger_is_flagged(self):
        results = results_of(shares, case="three", wrong_ledger=.01)
        self.assertTrue(results["three", "worst_error"].ok)
        self.assertFalse(results["three", "ledger_error"].ok)

    def test_lost_work_is_flagged(self):
        results = results_of(throughput)
        self.assert_rows("throughput", results)
        self.assertTrue(all(r.ok for r in results.values()), results)
        results = results_of(throughput, case="two", lost=.04)
        self.assertFalse(results["two", "work"].ok)
        self.assertAlmostEqual(results["two", "work"].value, 1 / 1.04, delta=.003)

    def test_a_cap_that_leaks_is_flagged(self):
        results = results_of(shares, case="cap-deep", leak=.02)
        self.assertFalse(results["cap-deep", "device_time"].ok)
        self.assertTrue(results["cap-deep", "worst_1s"].ok)
        results = results_of(shares, case="cpu-cap-deep", leak=.02)
        self.assertAlmostEqual(results["cpu-cap-deep", "device_time"].value, .32, delta=.004)
        self.assertFalse(results["cpu-cap-deep", "device_time"].ok)
        results = results_of(shares, case="cap-deep", leak=.04)
        self.assertFalse(results["cap-deep", "worst_1s"].ok)

    def test_drift_does_not_hide_lost_work(self):
        results = results_of(throughput, case="three", drift=.18)
        self.assertTrue(results["three", "work"].ok)
        results = results_of(throughput, case="three", drift=.18, lost=.08)
        self.assertFalse(results["three", "work"].ok)

    def test_requests_beside_a_batch(self):
        results = results_of(latency, case="1ms", quick=True)
        self.assertEqual({key[1] for key in results},
                         {"p50_excess", "p99_excess", "p50_of_none", "p99_of_none"})


class Demonstration(unittest.TestCase):
    def test_a_missed_promise_counts(self):
        out = io.StringIO()
        screen = demo.Screen(out)
        screen.figures({"alpha": .2, "beta": .8}, {"alpha": .235, "beta": .765})
        self.assertEqual(screen.failures, 0)
        self.assertAlmostEqual(screen.worst, 3.5)
        screen.figures({"alpha": .2, "beta": .8}, {"alpha": .245, "beta": .755})
        screen.fact("an error came back", False)
        self.assertEqual(screen.failures, 3)
        self.assertIn("MISSED", out.getvalue())
        self.assertNotIn("\033", out.getvalue())

    def test_a_narrow_terminal_is_kept_to(self):
        out = io.StringIO()
        screen = demo.Screen(out)
        screen.width = 40
        screen.say("   a line that is a good deal longer than forty columns are wide")
        screen.figures({"alpha": .2}, {"alpha": 2.5})
        self.assertLessEqual(max(map(len, out.getvalue().splitlines())), 40)


class Charts(unittest.TestCase):
    """The chart of policies over fill and over load."""

    def test_marks_are_round_and_around_the_values(self):
        for least, most, marks in ((0, 0.52, [0, .2, .4, .6]), (-9.3, 1.2, [-10, -5, 0, 5]),
                                   (-.04, 4, [-1, 0, 1, 2, 3, 4])):
            self.assertEqual(place_chart.ticks(least, most), marks)
        self.assertEqual(len(place_chart.ticks(0, 0)), 2)

    def test_a_panel_for_each_trace_and_mode(self):
        rows = [{"policy": policy, "level": level, "above": above}
                for policy, values in (("fgd", (0, 0)), ("balance", (.4, -.1)), ("<new>", (-2, 0)))
                for level, above in zip((70, 120), values)]
        root = xml.etree.ElementTree.fromstring(
            place_chart.chart({("default", "fill"): rows, ("default", "steady"): rows}))
        lines = [each.get("points") for each in root.iter() if each.tag.endswith("polyline")]
        self.assertEqual(len(lines), 6)
        texts = [each.text for each in root.iter() if each.tag.endswith("text")]
        self.assertIn("<new>", texts)
        self.assertEqual(texts.count("default: points above fgd"), 2)
        # What loses is below what is equal.
        height = [float(point.split(",")[1]) for line in (lines[0], lines[2])
                  for point in line.split()]
        self.assertGreater(height[2], height[0])
        self.assertEqual(height[3], height[1])


class Documents(unittest.TestCase):
    def test_a_section_is_replaced_and_the_others_stay(self):
        def result(bench, value):
            return report.Result(bench, "c", "m", value, "ms", "<= 1", True, "note")

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "benchmarks.md"
            report.write_docs(path, [result("shares", .25), result("donate", .5)], "x")
            report.write_docs(path, [result("shares", .75)], "x")
            # Ended before it had a result.
            report.write_docs(path, [result("donate", float("nan"))], "x")
            text = path.read_text()
        self.assertEqual(text.count("## shares"), 1)
        self.assertNotIn("| 0.25 ms", text)
        self.assertIn("| 0.75 ms", text)
        self.assertIn("| 0.5 ms", text)

    def test_nobody_takes_a_double_for_a_gpu(self):
        results = [report.Result("cuda", "c", "m", 1, "ms", "<= 1", True, "note", "double", 2),
                   report.Result("cuda", "c", "m", 1, "ms", "<= 1", True, "note", "H200")]
        text = report.section("cuda", results, "x")
        self.assertIn("## cuda, on a double of the driver, which is no GPU, and on H200", text)
        self.assertIn("| c | m | 1 ms | double | 2 | <= 1 | yes | note |", text)
        self.assertIn("| c | m | 1 ms | H200 |  | <= 1 | yes | note |", text)
        self.assertIn("peer", report.table(results, 40))

    def test_a_narrow_table_keeps_the_verdict(self):
        results = [report.Result("shares", "three", "worst_error", 1.5, "points",
                                 "<= 1", False)]
        narrow = report.table(results, 40)
        self.assertIn("MISSED", narrow)
        self.assertNotIn("points", narrow)


if __name__ == "__main__":
    unittest.main(verbosity=2)
