# SPDX-License-Identifier: Apache-2.0
"""Compares results with bench/targets.tsv; writes lines of JSON, a table for people, and
docs/benchmarks.md."""
import dataclasses
import json
import math
import os
import platform
import re
import subprocess
import time
from pathlib import Path

from company import MOST_OF_OTHERS

TARGETS = Path(__file__).with_name("targets.tsv")
TIMES = {"ns", "us", "ms", "slices", "kernels", "x"}
# Units of figures that a busy machine changes.  The others are counts: instructions, calls, bytes.
TIMED = TIMES | {"s", "points", "fraction", "percent", "%", "per second", "per minute"}
LOOSE_POINTS = 4.0
LOOSE_TIMES = 3.0
UNKNOWN_UNIT = ""


@dataclasses.dataclass(frozen=True)
class Target:
    """A bound on one number: at most, at least, within a distance of a middle, or none."""
    kind: str
    number: float
    distance: float = 0.0
    note: str = ""

    @classmethod
    def parse(cls, text, note=""):
        match = re.fullmatch(r"(<=|>=)([0-9.]+)", text)
        if match:
            return cls(match[1], float(match[2]), 0.0, note)
        match = re.fullmatch(r"([0-9.]+)\+-([0-9.]+)", text)
        if match:
            return cls("+-", float(match[1]), float(match[2]), note)
        if text == "-":
            return cls("-", 0.0, 0.0, note)
        raise ValueError(f"target '{text}' is none of <=N, >=N, N+-N, -")

    def loosened(self, unit):
        """The target for a short sample on a busy machine: four points, three times the times.
        Counts of instructions do not vary, so their target is unchanged."""
        if unit == "points":
            return dataclasses.replace(self, number=max(self.number, LOOSE_POINTS))
        if unit in TIMES and self.kind == "<=":
            return dataclasses.replace(self, number=self.number * LOOSE_TIMES)
        if unit == "fraction":
            loose = LOOSE_POINTS / 100
            if self.kind == "+-":
                return dataclasses.replace(self, distance=max(self.distance, loose))
            if self.kind == ">=":
                return dataclasses.replace(self, number=self.number - loose)
            return dataclasses.replace(self, number=max(self.number, loose))
        return self

    def met(self, value):
        if not math.isfinite(value):
            return False
        if self.kind == "<=":
            return value <= self.number
        if self.kind == ">=":
            return value >= self.number
        return self.kind == "-" or abs(value - self.number) <= self.distance

    def __str__(self):
        if self.kind == "-":
            return "-"
        if self.kind == "+-":
            return f"{self.number:g} +- {self.distance:g}"
        return f"{self.kind} {self.number:g}"


def load_targets(path=TARGETS):
    """{(bench, case, metric): Target}, in the order of the file."""
    targets = {}
    for number, line in enumerate(Path(path).read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 5:
            raise ValueError(f"{path}:{number}: {len(fields)} fields, not 5")
        key = tuple(fields[:3])
        if key in targets:
            raise ValueError(f"{path}:{number}: {' '.join(key)} is there twice")
        targets[key] = Target.parse(fields[3], fields[4])
    return targets


@dataclasses.dataclass
class Result:
    bench: str
    case: str
    metric: str
    value: float
    unit: str
    target: str
    ok: bool
    note: str = ""
    on: str = ""  # the place of measurement, where that is not this machine's processors
    peer: float = None  # the same with another library in place of the gate
    noise: float = 0.0  # the part of the machine that other programs used meanwhile
    is_noisy: bool = False  # noise is over the bound, and the figure is not a count

    @property
    def key(self):
        return self.bench, self.case, self.metric

    @property
    def is_counted(self):
        return self.unit not in TIMED

    @property
    def is_missed(self):
        """A noisy figure does not miss its target."""
        return self.ok is False and not self.is_noisy

    def line(self):
        value = self.value if math.isfinite(self.value) else None
        more = {"on": self.on} if self.on else {}
        if self.peer is not None:
            more["peer"] = self.peer if math.isfinite(self.peer) else None
        if self.is_noisy:
            more["noisy"] = round(self.noise, 3)
        more["counted"] = self.is_counted
        return json.dumps({"bench": self.bench, "case": self.case, "metric": self.metric,
                           "value": value, "unit": self.unit, "target": self.target,
                           "ok": self.ok, **more})

    def columns(self):
        """The columns that not every result has: the place of measurement, and the peer's figure."""
        return self.on, "" if self.peer is None else shown(self.peer)


def rounded_off(value):
    return float(f"{value:.6g}") if math.isfinite(value) else value


class Report:
    """Collects results.  With asserting off (no cleave) no result is compared with a target."""

    def __init__(self, targets, quick=False, asserting=True, out=None):
        self.targets = targets
        self.quick = quick
        self.asserting = asserting
        self.out = out
        self.results = []
        self.left_out = set()  # benches that this machine cannot run

    def add(self, bench, case, metric, value, unit, on="", peer=None, noise=0.0):
        target = self.targets.get((bench, case, metric))
        if target and self.quick:
            target = target.loosened(unit)
        if not self.asserting:
            ok = None
        else:
            ok = bool(target) and target.met(value)
        rounded, peer = rounded_off(value), None if peer is None else rounded_off(peer)
        result = Result(bench, case, metric, rounded, unit,
                        str(target) if target else "no row in targets.tsv", ok,
                        target.note if target else "", on, peer, noise)
        result.is_noisy = noise > MOST_OF_OTHERS and not result.is_counted
        return self.keep(result)

    def keep(self, result):
        """Adds a result, or replaces a noisier one of the same figure."""
        before = [i for i, other in enumerate(self.results) if other.key == result.key]
        if not before:
            self.results.append(result)
        elif result.noise <= self.results[before[0]].noise:
            self.results[before[0]] = result
        print(result.line(), flush=True)
        return result

    def noisy(self, bench=None):
        return [r for r in self.results if r.is_noisy and bench in (None, r.bench)]

    def write(self):
        """Writes the final results, a line each, to the requested file."""
        for result in self.results if self.out else ():
            self.out.write(result.line() + "\n")

    def close(self, benches, only_case=None):
        """Adds a failure for each row of these benches that has no result."""
        seen = {(r.bench, r.case, r.metric) for r in self.results}
        for key, target in self.targets.items():
            wanted = (key[0] in benches and key[0] not in self.left_out and
                      (only_case is None or key[1] == only_case))
            if not wanted or key in seen or not self.asserting:
                continue
            result = Result(*key, math.nan, UNKNOWN_UNIT, str(target), False,
                            "no result")
            self.keep(result)

    def failed(self):
        return [r for r in self.results if r.is_missed]


def shown(value):
    if not math.isfinite(value):
        return "none"
    if value and abs(value) < 0.01:
        return f"{value:.5f}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3f}".rstrip("0").rstrip(".")


def verdict(result):
    if result.is_noisy and result.ok is False:
        return "noisy"
    return {True: "ok", False: "MISSED", None: "-"}[result.ok]


def table(results, width=None):
    """Plain columns without notes; fewer columns on a narrow terminal, and none that all results
    lack."""
    width = width or 100
    header = ("bench", "case", "metric", "value", "unit", "target", "", "on", "peer")
    rows = [(r.bench, r.case, r.metric, shown(r.value), r.unit, r.target, verdict(r),
             *r.columns()) for r in results]
    more = [i for i in (7, 8) if any(row[i] for row in rows)]
    columns = [*range(7), *more]
    sizes = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    if sum(sizes[i] + 2 for i in columns) > width:
        columns = [1, 2, 3, 5, 6, *more]
    lines = []
    for row in [header, *rows]:
        lines.append("  ".join(
            row[i].rjust(sizes[i]) if i == 3 else row[i].ljust(sizes[i])
            for i in columns).rstrip())
    return "\n".join(lines)


def first_line(command):
    try:
        return subprocess.run(command, capture_output=True, text=True,
                              timeout=30).stdout.splitlines()[0].strip()
    except (OSError, subprocess.TimeoutExpired, IndexError):
        return ""


def machine():
    """The machine of the measurement, in one line."""
    model = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    pocl = first_line(["dpkg-query", "-W", "-f=${Version}", "libpocl2"])
    nice = f", at nice {os.nice(0)}" if os.nice(0) else ""
    if os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR):
        nice += ", at a real-time priority"
    return (f"{os.cpu_count()} cores of {model[1] if model else platform.machine()}, "
            f"Linux {platform.release()}, PoCL {pocl or 'of unknown version'}{nice}")


HEAD = """# Benchmarks

This page has the measured figures of cleave, for users and developers who want to know what it
costs and how exact it is. `./dev bench` writes it and replaces the section of each bench that it
runs. `bench/targets.tsv` has the targets. Every figure is from paired runs on one machine; the last
column says what is compared. Points are percentage points.

`./dev bench cuda --peer LIB` runs the same CUDA programs also with that library preloaded in place
of the gate, in the same run, and shows both results. `--peer-set NAME=VALUE` sets a variable of its
environment, in which `{share}`, `{percent}`, `{bytes}` and `{mebibytes}` stand for the tenant's
own. The page is not changed then.

A figure of time is noisy if programs other than the bench use more than 5 % of the machine. The
bench measures such a row again, by itself, up to three times. If it is still noisy, the row shows
the least noisy figure and the part of the machine that others used, and does not count as a missed
target. The exit code of `./dev bench` is 0 if all targets are met, 1 if a target is missed or a
bench cannot run, and 3 if no target is missed but a noisy figure does not meet its target.
"""


def title(bench, results):
    """The title of a section; it says where figures are from a double."""
    places = dict.fromkeys(r.on for r in results if r.on)
    if not places:
        return bench
    on = ", and on ".join("a double of the driver, which is no GPU" if place == "double"
                          else place for place in places)
    return f"{bench}, on {on}"


def section(bench, results, command):
    """The section of a bench in Markdown, between marks by which the next run replaces it."""
    names = [name for name, i in (("on", 0), ("peer", 1))
             if any(r.columns()[i] for r in results)]
    head = ["case", "metric", "measured", *names, "target", "met", "what is compared"]
    lines = [f"<!-- bench {bench} -->", f"## {title(bench, results)}", "",
             f"`{command}` on {time.strftime('%Y-%m-%d', time.gmtime())}: {machine()}", "",
             f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for r in results:
        met = {True: "yes", False: "no", None: "not asserted"}[r.ok]
        met = f"{met}; others used {r.noise:.0%} of the machine" if r.is_noisy else met
        unit = "" if r.unit in ("", "fraction") else f" {r.unit}"
        more = [dict(zip(("on", "peer"), r.columns()))[name] for name in names]
        lines.append("| " + " | ".join([r.case, r.metric, shown(r.value) + unit, *more,
                                        r.target, met, r.note]) + " |")
    lines += [f"<!-- end of {bench} -->", ""]
    return "\n".join(lines)


def write_docs(path, results, command):
    """Replaces the sections of the benches that ran and keeps the others, and that of a bench
    that was ended before it had a result."""
    path = Path(path)
    text = path.read_text() if path.exists() else HEAD
    for bench in dict.fromkeys(r.bench for r in results if math.isfinite(r.value)):
        new = section(bench, [r for r in results if r.bench == bench],
                      f"{command} {bench}")
        pattern = re.compile(rf"<!-- bench {bench} -->.*?<!-- end of {bench} -->\n",
                             re.S)
        if pattern.search(text):
            text = pattern.sub(lambda _, new=new: new, text)
        else:
            text = text.rstrip("\n") + "\n\n" + new
    path.write_text(text)
