#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the benches that measure whether cleave is exact and fast.

Exit codes: 0, all targets are met; 1, a target is missed, or a bench cannot run; 3, no target is
missed, but a figure that does not meet its target is noisy, because other programs used the
machine; 130, interrupted.
"""
import argparse
import shutil
import signal
import sys
from pathlib import Path

import agent
import attacks
import company
import console
import cuda
import donate
import engines
import extender
import latency
import overhead
import place
import plan
import pods
import predict
import report
import scale
import services
import shares
import throughput
from tenants import BenchError

ROOT = Path(__file__).resolve().parent.parent
MISSED, NOISY, INTERRUPTED = 1, 3, 130  # exit codes
REPEATS = 3  # of a noisy case
LEAST_SECONDS = 0.2  # of a measurement; figures in quick succession are of one measurement
BENCHES = {
    "shares": shares.run,
    "throughput": throughput.run,
    "overhead": overhead.run,
    "donate": donate.run,
    "latency": latency.run,
    "attacks": attacks.run,
    "cuda": cuda.run,
    "scale": scale.run,
    "plan": plan.run,
    "place": place.run,
    "predict": predict.run,
    "agent": agent.run,
    "engines": engines.run,
    "extender": extender.run,
    "pods": pods.run,
    "services": services.run,
    "console": console.run,
    "plan-all": plan.run_all,
    "console-all": console.run_all,
    "engines-all": engines.run_all,
    "extender-all": extender.run_all,
}
# Benches whose section is on a page of its own.
PAGES = {"place": ROOT / "docs/placement.md", "predict": ROOT / "docs/placement.md"}
# {bench: the bench that --all adds}
WHOLE = {"plan": "plan-all", "console": "console-all", "engines": "engines-all",
         "extender": "extender-all"}


class Context:
    """The options of a bench, and the report for its results."""

    def __init__(self, options, results):
        self.build = options.build
        self.quick = options.quick
        self.with_cleave = options.mode == "cleave"
        self.case = options.case
        self.peer = options.peer
        self.peer_settings = options.peer_set
        self.writes_docs = bool(options.write_docs)
        self.minutes = options.minutes
        self.results = results
        self.company, self.noise = company.Company(), 0.0

    def wants(self, case):
        return self.case is None or self.case == case

    def double(self):
        """The folder with the driver whose calls cost nothing, if it is built."""
        folder = self.build / "tests/doubles/opencl/vendors"
        return folder if any(folder.glob("*.icd")) else None

    def add(self, bench, case, metric, value, unit, on="", peer=None):
        part = self.company.part(LEAST_SECONDS)
        if part is not None:
            self.noise = part
        self.results.add(bench, case, metric, value, unit, on, peer, self.noise)

    def leave_out(self, bench, why):
        """The machine lacks what the bench needs: its rows have no result, and none is missed."""
        self.tell(f"bench {bench} is left out: {why}")
        self.results.left_out.add(bench)

    @staticmethod
    def tell(text):
        print(text, file=sys.stderr, flush=True)


def chosen(names, is_all):
    """The benches to run; without names all that do not take hours."""
    short = names or [name for name in BENCHES if name not in WHOLE.values()]
    return short + [WHOLE[name] for name in short if is_all and name in WHOLE]


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help=f"one or more of {', '.join(BENCHES)} (default: all "
                        "that do not take hours)")
    parser.add_argument("--build", type=Path, default=ROOT / "build", metavar="DIR")
    parser.add_argument("--mode", choices=("cleave", "none"), default="cleave",
                        help="none: the same programs without cleave, and no target")
    parser.add_argument("--case", help="only this case")
    parser.add_argument("--quick", action="store_true",
                        help="a short sample of each, with looser targets: four points, three "
                        "times the times")
    parser.add_argument("--all", action="store_true",
                        help="also the benches that run completely what the tests sample: hours")
    parser.add_argument("--minutes", type=float, default=60, metavar="N",
                        help="of the load of engines-all (default: %(default)s)")
    parser.add_argument("--peer", type=Path, metavar="LIB",
                        help="for cuda: also run the programs with this library preloaded in place "
                        "of the gate, and show that in another column")
    parser.add_argument("--peer-set", action="append", default=[], metavar="NAME=VALUE",
                        help="a variable for those programs; {share}, {percent}, {bytes} and "
                        "{mebibytes} stand for the tenant's own")
    parser.add_argument("--json", metavar="FILE", help="also write the result lines to FILE")
    parser.add_argument("--write-docs", metavar="FILE",
                        help="replace the sections of these benches in FILE")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in BENCHES:
            parser.error(f"no bench is called '{name}': choose from {', '.join(BENCHES)}")
    options.names = chosen(options.names, options.all)
    if options.write_docs and (options.quick or options.case or options.mode == "none"):
        parser.error("--write-docs takes whole benches with cleave: leave out --quick, "
                     "--case and --mode none")
    if options.peer and not options.peer.is_file():
        parser.error(f"--peer takes a library: there is no file {options.peer}")
    options.build = options.build.resolve()
    return options


def run_once(context, name):
    """Runs a bench; returns whether it could run.  If not, its rows have no result."""
    context.company.part()
    try:
        BENCHES[name](context)
    except BenchError as error:
        print(f"bench {name}: {error}", file=sys.stderr)
        return False
    return True


def repeat_noisy(context, name):
    """Repeats noisy cases one by one, REPEATS times at most; not for a short sample."""
    only, limit = context.case, 0 if context.quick else REPEATS
    for _ in range(limit):
        for case in dict.fromkeys(r.case for r in context.results.noisy(name)):
            context.tell(f"bench {name}: {case} was noisy: once more")
            context.case = case
            run_once(context, name)
    context.case = only
    noisy = context.results.noisy(name)
    if noisy:
        context.tell(f"others used up to {max(r.noise for r in noisy):.0%} of this machine "
                     f"meanwhile: {len(noisy)} figures of {name} are noisy")


def run_all(options, results):
    """Runs the benches; returns the number of those that could not run."""
    context = Context(options, results)
    broken = 0
    for name in options.names:
        if run_once(context, name):
            repeat_noisy(context, name)
        else:
            broken += 1
    results.close(options.names, options.case)
    return broken


def exit_code(results, broken):
    if results.failed() or broken:
        return MISSED
    return NOISY if any(r.ok is False for r in results.noisy()) else 0


def write_docs(path, results):
    for page in dict.fromkeys([Path(path), *PAGES.values()]):
        rows = [r for r in results if PAGES.get(r.bench, Path(path)) == page]
        if rows:
            report.write_docs(page, rows, "./dev bench")


def interrupted(*_):
    raise KeyboardInterrupt


def main(arguments=None):
    options = parse_arguments(arguments)
    signal.signal(signal.SIGTERM, interrupted)
    out = open(options.json, "w") if options.json else None
    results = report.Report(report.load_targets(), options.quick,
                            options.mode == "cleave", out)
    try:
        broken = run_all(options, results)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        results.write()
        if out:
            out.close()
    print()
    print(report.table(results.results, shutil.get_terminal_size((100, 24)).columns))
    failed = results.failed()
    if failed:
        print(f"\n{len(failed)} of {len(results.results)} figures miss their target")
    if options.write_docs:
        write_docs(options.write_docs, results.results)
    return exit_code(results, broken)


if __name__ == "__main__":
    sys.exit(main())
