# SPDX-License-Identifier: Apache-2.0
"""Holds the MIG planner against brute force, and its tables against the collected facts.

usage: mig.py MIG_SOLVE PLAN_MIG [--all] --facts FILE

MIG_SOLVE asks the search alone, PLAN_MIG the whole planner.

The brute force knows nothing of searching: it lists every set of instances that may live
together, and looks through those of the wanted profiles for the one that costs least.  A case
is a set to start from, some of it in use, and a multiset that is wanted; --all goes through
every case of the seven-slice family and of the others, without it a sample is taken.
"""
import argparse
import collections
import itertools
import json
import os
import random
import subprocess
import sys
from concurrent import futures

EBUSY, ENOSPC = -16, -28
ME, ALL_ME, NO_ME = 1, 4, 8
SAMPLE = 4000
LOT = 50000
SHOWN = 10
ATTRIBUTES = {"me": 1, "gfx": 2, "me.all": 4, "no-me": 8}
ENGINES = ("copy_engines", "nvdec", "nvenc", "nvjpg", "ofa")
# The others of the family differ in their names alone, which the tables' check sees.
MODELS = ("A100-40GB", "A30-24GB", "RTX-PRO-6000-Blackwell-96GB")


class Model:
    """Sets of instances are numbers besides, a bit for each place of a profile."""

    def __init__(self, table):
        self.name = table["name"]
        self.slices = table["slices"]
        self.profiles = table["profiles"]
        self.places = [(p, s) for p, profile in enumerate(self.profiles)
                       for s in profile["starts"]]
        self.bits = {place: 1 << i for i, place in enumerate(self.places)}
        self.sets = list(self.legal_sets((), 0))
        self.legal = set(map(frozenset, self.sets))
        self.by_multiset = collections.defaultdict(list)
        for instances in self.sets:
            self.by_multiset[self.multiset(instances)].append(
                (self.mask(instances), -self.options(instances)))

    @staticmethod
    def multiset(instances):
        return tuple(sorted(p for p, _ in instances))

    def mask(self, instances):
        return sum(self.bits[instance] for instance in instances)

    def is_legal(self, instances):
        units = [u for p, s in instances
                 for u in range(s, s + self.profiles[p]["size"])]
        counts = collections.Counter(p for p, _ in instances)
        return (len(units) == len(set(units))
                and sum(self.profiles[p]["slices"] for p, _ in instances) <= self.slices
                and all(n <= self.profiles[p]["max_instances"] for p, n in counts.items())
                and self.shares_media([self.profiles[p]["attributes"] for p, _ in instances]))

    @staticmethod
    def shares_media(attributes):
        """One +me; beside +me.all, which has all engines, nothing but -me."""
        if any(a & ALL_ME for a in attributes):
            return sum(not a & NO_ME for a in attributes) == 1
        return sum(bool(a & ME) for a in attributes) <= 1

    def legal_sets(self, chosen, first):
        yield chosen
        for i in range(first, len(self.places)):
            wider = chosen + (self.places[i],)
            if self.is_legal(wider):
                yield from self.legal_sets(wider, i + 1)

    def options(self, instances):
        return sum(self.is_legal(list(instances) + [place]) for place in self.places
                   if place not in instances)

    def best(self, start, used, wanted):
        """(result, in use that end, all that end, options) of the cheapest way."""
        ends = self.by_multiset.get(wanted)
        if not ends:
            return (ENOSPC, 0, 0, 0)
        used_lost, lost, fewer = min(
            ((used & ~end).bit_count(), (start & ~end).bit_count(), fewer)
            for end, fewer in ends)
        return (EBUSY if used_lost else 0, used_lost, lost, -fewer)


class Case:
    """A set to start from, some of it in use, and the profiles that are wanted."""

    def __init__(self, model, start, used, wanted):
        self.start, self.wanted = start, tuple(sorted(wanted))
        self.start_mask, self.used_mask = model.mask(start), model.mask(used)
        words = [len(start)]
        for instance in start:
            words += [*instance, int(instance in used), 0]
        words.append(len(wanted))
        for profile in self.wanted:
            words += [profile, -1]
        self.question = " ".join(map(str, words)) + "\n"

    def __str__(self):
        return (f"start {self.start}, in use {self.used_mask:#x} of {self.start_mask:#x}, "
                f"wanted {self.wanted}")


def subsets(items):
    return itertools.chain.from_iterable(
        itertools.combinations(items, n) for n in range(len(items) + 1))


def all_cases(model):
    wanted = sorted(model.by_multiset)
    # One that cannot be had, by one instance more than fits.
    wanted += sorted({tuple(sorted(w + (p,))) for w in wanted
                      for p in range(len(model.profiles))} - set(wanted))[:50]
    for start in model.sets:
        for used in subsets(start):
            for multiset in wanted:
                yield Case(model, start, used, multiset)


def sampled_cases(model, n):
    rng = random.Random(len(model.sets))
    wanted = sorted(model.by_multiset)
    for _ in range(n):
        start = rng.choice(model.sets)
        used = tuple(i for i in start if rng.random() < .4)
        multiset = list(rng.choice(wanted))
        if rng.random() < .1:
            multiset.append(rng.randrange(len(model.profiles)))
        yield Case(model, start, used, multiset)


def check_answer(model, case, best, line):
    """None, or what is wrong with the planner's answer."""
    words = [int(w) for w in line.split()]
    result, stay, in_the_way, options = words[:4]
    if result != best[0]:
        return f"result {result}, brute force {best[0]}"
    if result == ENOSPC:
        return None
    sources, starts = words[4::2], words[5::2]
    end = tuple(zip(case.wanted, starts))
    lost = [i for k, i in enumerate(case.start) if not stay >> k & 1]
    blamed = model.mask(i for k, i in enumerate(case.start) if in_the_way >> k & 1)
    lost_mask = model.mask(lost)
    if len(end) != len(case.wanted) or frozenset(end) not in model.legal:
        return f"an illegal set {sorted(end)}"
    if any(f >= 0 and case.start[f] != i for f, i in zip(sources, end)):
        return "what stays is said to be elsewhere"
    if model.mask(case.start[f] for f in sources if f >= 0) != case.start_mask & ~lost_mask:
        return "what stays and what is lost do not add up"
    if blamed != case.used_mask & lost_mask:
        return f"blames {blamed:#x}, loses {case.used_mask & lost_mask:#x}"
    seen = (result, blamed.bit_count(), len(lost), options)
    return None if seen == best else f"{seen}, brute force {best}"


def answers(program, model, lot):
    """A line each."""
    lines = subprocess.run(
        [program, model.name], input="".join(case.question for case in lot),
        capture_output=True, text=True, check=True).stdout.splitlines()
    if len(lines) != len(lot):
        sys.exit(f"{len(lines)} answers to {len(lot)} questions")
    return lines


def run_cases(programs, model, cases):
    """The number of cases, and of wrong answers.  Runs in batches, so that no process holds
    millions of lines."""
    n = n_wrong = 0
    with futures.ThreadPoolExecutor() as pool:
        while lot := list(itertools.islice(cases, LOT)):
            asked = [pool.submit(answers, program, model, lot) for program in programs]
            for case, *lines in zip(lot, *(a.result() for a in asked)):
                best = model.best(case.start_mask, case.used_mask, case.wanted)
                for program, line in zip(programs, lines):
                    wrong = check_answer(model, case, best, line)
                    if wrong and n_wrong < SHOWN:
                        print(f"{os.path.basename(program)}, {model.name}: {case}: {wrong}",
                              file=sys.stderr)
                    n_wrong += wrong is not None
            n += len(lot)
    return n, n_wrong


NO_ID = 0xFFFFFFFF


def check_facts(tables, path):
    """Every figure of the facts that is known stands in the tables, and no other."""
    with open(path, encoding="utf-8") as file:
        facts = json.load(file)["gpus"]
    if [t["name"] for t in tables] != list(facts):
        sys.exit("the tables have other models than the facts")
    for table in tables:
        fact = facts[table["name"]]
        wanted = [{
            "name": p["name"],
            "driver_id": NO_ID if p["smi_profile_id"] is None else p["smi_profile_id"],
            "slices": p["compute_slices"], "size": p["placement_size"],
            "max_instances": p["max_instances"], "multiprocessors": p["sm"] or 0,
            "memory_mib": p["mem_mib"] or 0, "starts": p["placement_starts"],
            "attributes": sum(ATTRIBUTES[a] for a in p["attributes"]),
            "engines": [255 if p[kind] is None else p[kind] for kind in ENGINES],
        } for p in fact["profiles"]]
        have = [{k: v for k, v in p.items() if k != "nvml_index"}
                for p in table["profiles"]]
        if have != wanted or (table["grid"], table["slices"]) != (
                fact["grid"], fact["compute_total"]):
            sys.exit(f"{table['name']} is not as the facts have it")


def check_maximal(model, facts_path):
    """The count of layouts to which nothing can be added is the facts' own derivation."""
    with open(facts_path, encoding="utf-8") as file:
        fact = json.load(file)["gpus"][model.name]
    plain = {p for p, profile in enumerate(model.profiles) if not profile["attributes"]}
    sets = [s for s in model.sets if all(p in plain for p, _ in s)]
    places = [i for i in model.places if i[0] in plain]
    n = sum(not any(model.is_legal(s + (i,)) for i in places if i not in s) for s in sets)
    if n != fact["maximal_layouts_count"]:
        sys.exit(f"{model.name}: {n} maximal layouts, the facts say "
                 f"{fact['maximal_layouts_count']}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("planner")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--facts", required=True)
    arguments = parser.parse_args()
    tables = json.loads(subprocess.run([arguments.program, "tables"], capture_output=True,
                                       text=True, check=True).stdout)
    check_facts(tables, arguments.facts)
    print("tables: as the facts")
    failed = False
    for table in tables:
        if table["name"] not in MODELS:
            continue
        model = Model(table)
        check_maximal(model, arguments.facts)
        cases = all_cases(model) if arguments.all else sampled_cases(model, SAMPLE)
        n, n_wrong = run_cases((arguments.program, arguments.planner), model, cases)
        print(json.dumps({"model": model.name, "layouts": len(model.sets), "cases": n,
                          "wrong": n_wrong}), flush=True)
        failed |= n_wrong > 0
    sys.exit(1 if failed else 0)



main()
