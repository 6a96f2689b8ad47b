# SPDX-License-Identifier: Apache-2.0
"""The crash suite: tenants and the agent are killed with -9 at random points, and after each kill
the ledger must be exact, the permanent tenants must be undisturbed, and a new agent must have taken
over the running programs.

usage: run.py --build BUILD [--rounds N] [--seed S] [--only ROUND] [--kind NAME] [--pocl]

Two permanent tenants run through all rounds.  Each round draws only from (seed, number of the
round), so that --only repeats one, in a fresh world."""
import argparse
import collections
import os
import random
import statistics
import sys
import time

import rounds
from world import MIB, Failure, Tenant, World, expect, wait_until, was_not_stalled

RSS_GROWTH = 4 * MIB
MIN_GRANTED, MIN_RESERVED = 0.30, 0.10


class Suite:
    def __init__(self, build, use_double, seed):
        self.world = World(build, use_double)
        self.world.start = lambda *a, **k: Tenant(self.world, *a, **k)
        self.seed = seed
        self.hits, self.kinds = collections.Counter(), collections.Counter()
        self.notes = collections.defaultdict(list)
        self.n_victims = 0
        self.first_fds = {}
        self.last_event = 0
        self.first_footprint = None
        self.n_rounds_of_agent = 0
        self.neighbours = []
        self.failed_kind = None

    def note(self, what, value):
        self.notes[what].append(value)

    def begin(self):
        self.world.start_agent()
        kernel = 1000 if self.world.use_double else 500
        self.neighbours = [
            self.world.start("left", 0.2, 128 * MIB, [f"kernel={kernel}", "seed=11"]),
            self.world.start("right", 0.1, 96 * MIB, [f"kernel={kernel // 2}", "depth=16",
                                                       "seed=12"])]
        for neighbour in self.neighbours:
            neighbour.wait_running(20)
        self.world.check_exact()

    def new_agent(self):
        self.first_footprint = None
        self.n_rounds_of_agent = 0

    def check_neighbours(self):
        for neighbour in self.neighbours:
            account = neighbour.account
            expect(neighbour.process.poll() is None and account.is_alive(),
                   neighbour.name, "has ended:", neighbour.errors())
            expect(account.error == 0 and account.wrong == 0, neighbour.name,
                   "got an error or a wrong result:", account.error_text())
            self.note("stall_s", was_not_stalled(neighbour.name, account))

    def check_footprint(self):
        """Nothing grows from round to round of one agent."""
        self.n_rounds_of_agent += 1

        def grown():
            now = self.world.footprint()
            first = self.first_footprint
            return now, [key for key in ("fds", "memfds", "maps", "locks")
                         if first and now[key] > first[key]]
        try:
            wait_until(lambda: not grown()[1], 1, "flat")
        except Failure:
            raise Failure(f"the agent holds {self.world.footprint()} and held "
                          f"{self.first_footprint}") from None
        now, _ = grown()
        if self.n_rounds_of_agent <= 1:
            self.first_footprint = self.world.settled_footprint()
            return
        if self.n_rounds_of_agent == 6:
            self.first_footprint["rss"] = now["rss"]
        if self.n_rounds_of_agent > 6:
            growth = now["rss"] - self.first_footprint["rss"]
            self.note("rss_growth", growth)
            expect(growth <= RSS_GROWTH, "the agent has grown by", growth, "bytes in",
                   self.n_rounds_of_agent, "rounds")

    def check(self):
        self.world.check_exact()
        self.check_neighbours()
        self.world.check_files()
        self.world.check_lock()
        self.check_footprint()
        self.check_neighbours_footprint()

    def check_neighbours_footprint(self):
        """A tenant keeps the descriptors of one view, and for a while those of the last."""
        for neighbour in self.neighbours:
            n_fds = len(os.listdir(f"/proc/{neighbour.account.pid}/fd"))
            first = self.first_fds.setdefault(neighbour.name, n_fds)
            self.note("tenant_fds", n_fds)
            expect(n_fds <= first + 3, neighbour.name, "has", n_fds, "descriptors, and had",
                   first)

    def round(self, number, kind, calm):
        """In calm rounds the agent lives, so that its leaks add up."""
        rng = random.Random(f"{self.seed}/{number}")
        kinds = [(k, w) for k, w in (rounds.TENANT_KINDS if calm and not kind
                                     else rounds.KINDS)
                 if kind in (None, k.__name__)]
        chosen = rng.choices([k for k, _ in kinds], [w for _, w in kinds])[0]
        for neighbour in self.neighbours:
            neighbour.account.forgive()
        try:
            hits = chosen(self, rng)
            self.hits.update(hits)
            self.kinds[chosen.__name__] += 1
            self.check()
        except (Failure, OSError, KeyError) as failure:
            self.failed_kind = chosen.__name__
            raise Failure(f"{chosen.__name__}: {type(failure).__name__}: {failure}") from failure


def percent(part, whole):
    return f"{part} of {whole} ({100 * part / whole:.0f} %)" if whole else "0"


def report(suite, seconds):
    print(f"# {sum(suite.kinds.values())} rounds in {seconds:.0f} s, seed {suite.seed}")
    for kind, n in suite.kinds.most_common():
        print(f"#   {kind:28} {n}")
    n_kills = suite.hits["tenant kills"]
    print(f"# of {n_kills} running tenants killed:")
    for hit in ("granted, work in flight", "work in flight, turn over",
                "between reserve and allocation", "elsewhere in an allocation or a free"):
        print(f"#   {hit:38} {percent(suite.hits[hit], n_kills)}")
    print(f"# agents killed: {suite.hits['agent']}")
    for what, values in sorted(suite.notes.items()):
        if what == "rss_growth":
            print(f"# the agent's growth: at most {max(values)} bytes")
        else:
            print(f"# {what}: median {statistics.median(values):.3f}, "
                  f"worst {max(values):.3f}")


def verdict(suite):
    """The distribution of kills is part of the test: kills at no critical point prove nothing."""
    n = suite.hits["tenant kills"]
    slack = 1.0 if n >= 200 else 0.5
    if n < 10:
        return True
    good = True
    for hit, least in (("granted, work in flight", MIN_GRANTED),
                       ("between reserve and allocation", MIN_RESERVED)):
        if suite.hits[hit] < least * slack * n:
            print(f"not ok - too few kills hit: {hit}: {percent(suite.hits[hit], n)}")
            good = False
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", type=int, default=None)
    parser.add_argument("--kind", default=None)
    parser.add_argument("--seconds", type=float, default=None,
                        help="begin no round after this long")
    parser.add_argument("--pocl", action="store_true")
    parser.add_argument("--keep-going", action="store_true")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.randrange(1 << 31)
    numbers = range(arguments.rounds) if arguments.only is None else [arguments.only]
    print(f"# seed {seed}", flush=True)
    begin = time.monotonic()
    failures, suite = 0, None
    total = None
    for number in numbers:
        if arguments.seconds and time.monotonic() - begin > arguments.seconds:
            break
        try:
            if suite is None:
                suite = Suite(arguments.build, not arguments.pocl, seed)
                if total:
                    suite.hits, suite.kinds, suite.notes = total
                suite.begin()
                total = suite.hits, suite.kinds, suite.notes
            block = min(arguments.rounds, 100)
            suite.round(number, arguments.kind, number % block < block / 2)
        except (Failure, OSError) as failure:
            failures += 1
            print(f"not ok - round {number}: {failure}")
            print(f"#   again: {sys.argv[0]} --build {arguments.build} --seed {seed} "
                  f"--only {number} --kind {suite.failed_kind}"
                  + (" --pocl" if arguments.pocl else ""))
            print(f"#   the agent's log: {suite.world.log_path}", flush=True)
            suite.world.close(keep=True)
            suite = None
            if not arguments.keep_going:
                break
    if suite:
        suite.world.close()
    if total:
        suite = suite or Suite.__new__(Suite)
        suite.hits, suite.kinds, suite.notes = total
        suite.seed = seed
        report(suite, time.monotonic() - begin)
        # The windows are wide on the double, whose kernels and allocations take the configured
        # time.
        if arguments.kind is None and not arguments.pocl and not verdict(suite):
            failures += 1
    print(f"{'not ' if failures else ''}ok - crash suite, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
