# SPDX-License-Identifier: Apache-2.0
"""Holds the MIG planner against brute force, and its tables against the collected facts.

usage: mig.py MIG_SOLVE PLAN_MIG [--all] [--facts FILE]

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

EBUSY, ENOSPC = -16, -28
ME, ALL_ME, NO_ME = 1, 4, 8
SAMPLE = 4000
ATTRIBUTES = {"me": 1, "gfx": 2, "me.all": 4, "no-me": 8}
# The others of the family differ in their names alone, which the tables' check sees.
MODELS = ("A100-40GB", "A30-24GB", "RTX-PRO-6000-Blackwell-96GB")


class Model:
    def __init__(self, table):
        self.name = table["name"]
        self.slices = table["slices"]
        self.profiles = table["profiles"]
        self.places = [(p, s) for p, profile in enumerate(self.profiles)
                       for s in profile["starts"]]
        self.sets = list(self.legal_sets((), 0))
        self.by_multiset = collections.defaultdict(list)
        for instances in self.sets:
            self.by_multiset[self.multiset(instances)].append(frozenset(instances))

    @staticmethod
    def multiset(instances):
        return tuple(sorted(p for p, _ in instances))

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
        costs = [(len(used - end), len(start - end), -self.options(end))
                 for end in self.by_multiset.get(wanted, ())]
        if not costs:
            return (ENOSPC, 0, 0, 0)
        used_lost, lost, options = min(costs)
        return (EBUSY if used_lost else 0, used_lost, lost, -options)


def subsets(items):
    return itertools.chain.from_iterable(
        itertools.combinations(items, n) for n in range(len(items) + 1))


def all_cases(model):
    wanted = sorted(model.by_multiset)
    # One that cannot be had, by one instance more than fits.
    wanted += sorted({w + (p,) for w in wanted for p in range(len(model.profiles))}
                     - set(wanted))[:50]
    for start in model.sets:
        for used in subsets(start):
            for multiset in wanted:
                yield start, frozenset(used), tuple(sorted(multiset))


def sampled_cases(model, n):
    rng = random.Random(len(model.sets))
    wanted = sorted(model.by_multiset)
    for _ in range(n):
        start = rng.choice(model.sets)
        used = frozenset(i for i in start if rng.random() < .4)
        multiset = list(rng.choice(wanted))
        if rng.random() < .1:
            multiset.append(rng.randrange(len(model.profiles)))
        yield start, used, tuple(sorted(multiset))


def question(start, used, wanted):
    words = [len(start)]
    for instance in start:
        words += [*instance, int(instance in used), 0]
    words.append(len(wanted))
    for profile in wanted:
        words += [profile, -1]
    return " ".join(map(str, words)) + "\n"


def check_answer(model, case, line):
    """None, or what is wrong with the planner's answer."""
    start, used, wanted = case
    words = [int(w) for w in line.split()]
    result, stay, in_the_way, options = words[:4]
    best = model.best(frozenset(start), used, wanted)
    if result != best[0]:
        return f"result {result}, brute force {best[0]}"
    if result == ENOSPC:
        return None
    sources, starts = words[4::2], words[5::2]
    end = frozenset(zip(wanted, starts))
    lost = [i for k, i in enumerate(start) if not stay >> k & 1]
    blamed = frozenset(i for k, i in enumerate(start) if in_the_way >> k & 1)
    if len(end) != len(wanted) or not model.is_legal(list(end)):
        return f"an illegal set {sorted(end)}"
    if any(f >= 0 and start[f] != (p, s) for f, p, s in zip(sources, wanted, starts)):
        return "what stays is said to be elsewhere"
    if {start[f] for f in sources if f >= 0} != set(start) - set(lost):
        return "what stays and what is lost do not add up"
    if blamed != used & frozenset(lost):
        return f"blames {sorted(blamed)}, loses {sorted(used & frozenset(lost))}"
    seen = (result, len(blamed), len(lost), options)
    return None if seen == best else f"{seen}, brute force {best}"


def run_cases(program, model, cases):
    """Asks in lots, so that neither side holds millions of lines."""
    n = 0
    while True:
        lot = list(itertools.islice(cases, 50000))
        if not lot:
            return n
        answers = subprocess.run(
            [program, model.name], input="".join(question(*c) for c in lot),
            capture_output=True, text=True, check=True).stdout.splitlines()
        if len(answers) != len(lot):
            sys.exit(f"{len(answers)} answers to {len(lot)} questions")
        for case, line in zip(lot, answers):
            wrong = check_answer(model, case, line)
            if wrong:
                sys.exit(f"{model.name}: start {case[0]}, in use {sorted(case[1])}, wanted "
                         f"{case[2]}: {wrong}")
        n += len(lot)


def check_facts(tables, path):
    """Every figure of the facts that is known stands in the tables, and no other."""
    with open(path, encoding="utf-8") as file:
        facts = json.load(file)["gpus"]
    if [t["name"] for t in tables] != list(facts):
        sys.exit("the tables have other models than the facts")
    for table in tables:
        fact = facts[table["name"]]
        wanted = [{
            "name": p["name"], "driver_id": p["smi_profile_id"],
            "slices": p["compute_slices"], "size": p["placement_size"],
            "max_instances": p["max_instances"], "multiprocessors": p["sm"] or 0,
            "memory_mib": p["mem_mib"] or 0, "starts": p["placement_starts"],
            "attributes": sum(ATTRIBUTES[a] for a in p["attributes"]),
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
    parser.add_argument("--facts")
    arguments = parser.parse_args()
    tables = json.loads(subprocess.run([arguments.program, "tables"], capture_output=True,
                                       text=True, check=True).stdout)
    facts = arguments.facts if arguments.facts and os.path.exists(arguments.facts) else None
    if facts:
        check_facts(tables, facts)
    print("tables:", "as the facts" if facts else "the facts are not here, not compared")
    for table in tables:
        if table["name"] not in MODELS:
            continue
        model = Model(table)
        if facts:
            check_maximal(model, facts)
        for program in (arguments.program, arguments.planner):
            cases = all_cases(model) if arguments.all else sampled_cases(model, SAMPLE)
            n = run_cases(program, model, cases)
            print(f"{model.name}: {len(model.sets)} layouts, {n} cases of "
                  f"{os.path.basename(program)} agree", flush=True)


main()
