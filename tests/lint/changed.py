#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tests that a change can affect, for ./dev test --changed.

ninja reports the objects that a file is compiled into; the objects of a program are determined
by symbols, as the linker does.  So a test of compiled code is chosen exactly if it runs a
program that contains a changed file.  Where these tests take more than a minute for a room, the
nearest to the change come first: those whose own file was changed, those that call it, those
that are about its room, then the quickest.  Builds what these tests need, and runs them for at
most a minute for each room; budget.py has the rest."""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import budget
import rooms
import tree

LIMIT = 58  # seconds for a room: a minute with the end of the tests
SECONDS = 40  # for a room's tests, by earlier durations: LIMIT with the choice and delays
UNIT_SECONDS, PROGRAM_SECONDS = 1, 30  # of tests without an earlier duration
DURATIONS = "tests/lint/durations.tsv"
JOBS = os.cpu_count() or 2
BASES = ("main", "origin/main")
LEFT_TO_CHECK = {"slow", "measured", "model", "packages", "guest", "lint"}
IMPORT = re.compile(r"^\s*(?:import|from)\s+(\w+)", re.M)
# Tests of whole programs that are about a room; other tests of programs with that room come later.
ABOUT = {
    "agent/os": ("test_cgroups",),
    "agent/user": ("test_fairness", "test_access"),
    "agent/store": ("test_agent", "crash-cases"),
    "agent/auth": ("test_access", "test_tokens"),
    "agent/http": ("test_fairness", "test_hostile", "test_api"),
    "agent/driver": ("partitions",),
    "agent/device": ("partitions", "test_renumbering"),
    "agent/lease": ("test_attach", "test_kept", "test_debts"),
    "agent/ledger": ("cli-standing", "test_allowances"),
    "agent/placing": ("cli-placing", "cli-several"),
    "agent/lifecycle": ("cli-placing", "cli-several", "test_kept"),
    "agent/watch": ("watchdog", "test_ungated"),
    "agent/history": ("test_history",),
    "agent/apply": ("apply-journal", "apply-sim"),
    "agent/layout": ("apply-journal", "apply-sim"),
    "agent/api/show": ("metrics", "test_fields", "test_api"),
    "agent/api/handler": ("test_api", "test_openapi", "metrics"),
    "agent/api": ("test_api", "test_openapi", "metrics"),
    "agent/main": ("test_agent",),
    "cli/frame": ("cli", "cli-double", "cli-agent", "cli-several", "cli-placing"),
    "cli/launch": ("cli", "cli-double", "cli-agent", "cli-several", "cli-placing"),
    "cli/lease": ("cli", "cli-double", "cli-agent", "cli-several", "cli-placing"),
    "cli/node": ("cli-layouts", "cli-operations"),
    "cli/fleet": ("simulate", "cli-placing", "services-move-some"),
    "cli/plans": ("fleet-plans",),
    "cli/admin": ("cli", "cli-double", "cli-agent", "cli-several", "cli-placing"),
    "cli/engine": ("systemd-drop-ins", "cdi-specification", "compose-provider"),
    "cli/services": ("services-sample", "services-files-some", "services-faults-some", "services-kills-some",
                     "services-plan-some"),
    "bridge/services/project": ("services-sample", "services-faults-some", "services-files-some"),
    "bridge/services/engine": ("services-sample", "services-front-some", "services-files-some",
                               "services-names-some", "services-hangs", "services-frozen-some"),
    "bridge/services/supervisor": ("services-sample", "services-front-some", "services-kills-some",
                                   "services-sleep-some", "services-room-some",
                                   "services-move-some", "services-frozen-some", "services-published"),
    "bridge/services/main": ("services-sample", "services-kills-some", "services-published",
                             "services-actions-some"),
    "cli/vm": ("libvirt-list", "libvirt-assign", "libvirt-differences", "libvirt-follow",
               "libvirt-move", "libvirt-drain", "libvirt-whole"),
    "cli/ssh": ("libvirt-move", "libvirt-drain"),
    "bridge/libvirt/host": ("libvirt-list", "libvirt-assign", "libvirt-differences", "libvirt-follow",
                            "libvirt-move", "libvirt-drain"),
    "gate/opencl": ("icd", "opencl-patterns-double"),
    "gate/cuda": ("cuda-gate", "cuda-life"),
    "gate/hip": ("hip-gate-6", "hip-life-6"),
    "gate/hsa": ("hip-gate-6",),
    "gate/nvml": ("nvml-gate-devices",),
}


def run(*command, cwd=None):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command[:4])}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


# --- The changed files ---

def base():
    """The commit from which this branch began; its last commit where there is no other branch."""
    for name in BASES:
        done = subprocess.run(["git", "merge-base", "HEAD", name], cwd=tree.ROOT,
                              capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.strip()
    return "HEAD"


def changed_in_git():
    names = run("git", "diff", "--name-only", "-z", base(), cwd=tree.ROOT)
    names += run("git", "ls-files", "-z", "--others", "--exclude-standard", cwd=tree.ROOT)
    return {name for name in names.split("\0") if name}


def changed_as_said(words):
    changed = set()
    for word in words:
        under = tree.files(under=(f"src/{word}", word))
        if not under and not (tree.ROOT / word).is_file():
            sys.exit(f"{word} is neither a room nor a file")
        changed |= set(under) or {word}
    return changed


def room_of(name):
    """The room of a file of src/; the folder of another file."""
    room = rooms.room_of(name.removeprefix("src/")) if name.startswith("src/") else None
    return room or str(Path(name).parent)


# --- The build's dependencies ---

def described():
    """The words of the build's description: a test that needs a package is in a build only where the
    package is installed."""
    return {word for name in tree.files("meson.build")
            for word in re.findall(r"'([\w.-]+)'", tree.read(name))}


class Build:
    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        run("ninja", "-C", str(self.folder), "build.ninja")
        self.tests = self.introspect("--tests")
        self.files = {t["id"]: [self.relative(f) for f in t["filename"]]
                      for t in self.introspect("--targets")}
        self.files_of = self.read_deps()
        if not self.files_of:
            sys.exit("nothing is compiled yet: run ./dev build once")

    def targets_of(self, test):
        return {f for d in test["depends"] for f in self.files.get(d, ())}

    def introspect(self, what):
        return json.loads(run("meson", "introspect", what, str(self.folder)))

    def relative(self, path):
        return os.path.relpath(path, self.folder)

    def source(self, path):
        """The name from the tree's root; None: the file is outside the tree."""
        name = os.path.relpath(os.path.join(self.folder, path), tree.ROOT)
        return None if name.startswith("..") else name

    def read_deps(self):
        """{object: the files of the tree that it is compiled from}; a generated file is replaced by
        the files that it is generated from."""
        found, generated = self.read_direct_deps(), set()
        for names in found.values():
            generated |= {n for n in names if self.is_generated(n)}
        if generated:
            query = run("ninja", "-C", str(self.folder), "-t", "query",
                        *sorted(self.relative(tree.ROOT / n) for n in generated))
            made_from = {self.source(target): {self.source(i) for i in inputs} - {None}
                         for target, inputs in read_query(query).items()}
            for names in found.values():
                for name in names & generated:
                    names |= made_from.get(name, set())
        return found

    def is_generated(self, name):
        return self.folder in (tree.ROOT / name).parents

    def read_direct_deps(self):
        found, current = {}, None
        for line in run("ninja", "-C", str(self.folder), "-t", "deps").splitlines():
            if line.startswith("    ") and current is not None:
                name = self.source(line.strip())
                if name:
                    current.add(name)
            elif ": #deps" in line:
                current = found.setdefault(line.split(": #deps")[0], set())
        return found

    def inputs(self, targets):
        """{target: its link inputs}, and the same of each archive and library among these."""
        found, wanted = {}, set(targets)
        while wanted:
            text = run("ninja", "-C", str(self.folder), "-t", "query", *sorted(wanted))
            found.update(read_query(text))
            wanted = {i for inputs in found.values() for i in inputs
                      if i.endswith((".a", ".so")) and not i.startswith("/")} - set(found)
        return found

    def symbols(self, objects):
        """({object: symbols that it defines}, {object: symbols that it uses})."""
        defined, used = collections.defaultdict(set), collections.defaultdict(set)
        there = [o for o in objects if (self.folder / o).exists()]
        for line in run("nm", "-A", "-g", *there, cwd=self.folder).splitlines():
            name, rest = line.split(":", 1)
            *_, kind, symbol = rest.split()
            (used if kind in "Uw" else defined)[name].add(symbol)
        return defined, used

    def durations(self):
        """{test: seconds of its last run here, or else of the recorded one}."""
        found = recorded()
        for log in sorted(self.folder.glob("meson-logs/*.json"), key=os.path.getmtime):
            for line in log.read_text(errors="replace").splitlines():
                test = json.loads(line)
                if test["result"] != "SKIP":
                    found[test["name"].split(" / ")[-1]] = test["duration"]
        return found


def recorded():
    lines = tree.read(DURATIONS).splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return {name: float(seconds) for name, seconds in rows}


def read_query(text):
    """{target: its inputs}, from the output of ninja -t query."""
    found, inputs, is_input = {}, None, False
    for line in text.splitlines():
        if not line.startswith(" "):
            inputs = found.setdefault(line.rstrip(":"), [])
        elif line.startswith("  ") and not line.startswith("    "):
            is_input = line.strip().startswith("input")
        elif is_input:
            inputs.append(line.strip().removeprefix("|| ").removeprefix("| "))
    return found


def steps_from(own, pool, defined, used):
    """{object: its distance in calls} of the objects that a linker takes, from the own ones on."""
    definer = {symbol: name for name in pool for symbol in defined.get(name, ())}
    found, edge = dict.fromkeys(own, 0), list(own)
    while edge:
        edge_next = []
        for name in edge:
            for symbol in used.get(name, ()):
                other = definer.get(symbol)
                if other and other not in found:
                    found[other] = found[name] + 1
                    edge_next.append(other)
        edge = edge_next
    return found


class Reach:
    """The objects of each program."""

    def __init__(self, build, targets):
        self.build = build
        self.inputs = build.inputs(targets)
        objects = {i for inputs in self.inputs.values() for i in inputs if i.endswith(".o")}
        self.defined, self.used = build.symbols(objects)
        self.known = {}

    def of(self, target):
        """{object: calls} of a program, including the libraries that it loads."""
        if target in self.known:
            return self.known[target]
        inputs = self.inputs.get(target, [])
        own = [i for i in inputs if i.endswith(".o")]
        pool = [o for i in inputs if i.endswith(".a") for o in self.inputs.get(i, [])]
        found = steps_from(own, pool, self.defined, self.used)
        self.known[target] = found
        for library in inputs:
            if library.endswith(".so") and library in self.inputs:
                for name, steps in self.of(library).items():
                    found.setdefault(name, steps + 1)
        return found


# --- The choice of tests ---

def scripts_of(test, known):
    """The scripts of a test, with the Python modules that they import from their folder."""
    found, edge = set(), [os.path.relpath(os.path.realpath(word), tree.ROOT)
                          for word in test["cmd"] if word.startswith("/")]
    while edge:
        name = edge.pop()
        if name in found or name not in known:
            continue
        found.add(name)
        if name.endswith(".py"):
            beside = Path(name).parent
            edge += [str(beside / f"{m[1]}.py") for m in IMPORT.finditer(tree.read(name))]
    return found


OWN, CALLS, ABOUT_IT, HAS_IT = range(4)
NEAR = 2  # calls


def steps_to_files(targets, reach, build):
    """{file: the least calls to an object that contains it} of a test's programs."""
    found = {}
    for target in targets:
        for name, steps in reach.of(target).items():
            for file in build.files_of.get(name, ()):
                found[file] = min(steps, found.get(file, steps))
    return found


class Contents:
    """What a test contains: its scripts, and the files of its programs."""

    def __init__(self, test, build, reach, known):
        targets = build.targets_of(test)
        self.scripts = scripts_of(test, known)
        self.steps = steps_to_files(targets, reach, build)
        self.is_own_program = build.relative(test["cmd"][0]) in targets


def nearness(test, room, changed, contents):
    """How near a test is to the changed files of a room; None: it has none of them."""
    least = min(((contents.steps[f], not f.startswith("tests/"))
                 for f in changed if f in contents.steps), default=None)
    if contents.scripts & changed or least == (0, False):
        return OWN
    if least is None:
        return None
    if contents.is_own_program:
        return CALLS if least[0] <= NEAR else ABOUT_IT
    return ABOUT_IT if test["name"] in about(room) else HAS_IT


def about(room):
    """The tests of whole programs that are about a room; an inner room has those of the outer."""
    while room not in ABOUT and "/" in room:
        room = room.rpartition("/")[0]
    return ABOUT.get(room, ())


def guess(test):
    is_unit = {"cleave:unit", "cleave:fuzz"} & set(test["suite"])
    return UNIT_SECONDS if is_unit else PROGRAM_SECONDS


def choose(candidates, seconds, jobs):
    """(chosen, left out) of [(nearness, seconds, may run beside others, name)]: the nearest and
    quickest tests that fit into the time, all together."""
    chosen, out, used = [], [], []
    for _, takes, beside, name in sorted(candidates):
        if budget.span([*used, (takes, beside)], jobs) <= seconds:
            used.append((takes, beside))
            chosen.append(name)
        else:
            out.append(name)
    return chosen, out


def may_run(test):
    return not LEFT_TO_CHECK & {s.removeprefix("cleave:") for s in test["suite"]}


class Choice:
    """Chooses for one room after the other."""

    def __init__(self, build):
        self.build, known = build, set(tree.files())
        self.tests = [t for t in build.tests if may_run(t)]
        reach = Reach(build, set().union(*(build.targets_of(t) for t in self.tests)))
        self.contents = {t["name"]: Contents(t, build, reach, known) for t in self.tests}
        durations = build.durations()
        self.own = set()  # of the last room: the tests whose own file was changed
        self.seconds_of = {t["name"]: durations.get(t["name"], guess(t)) for t in self.tests}

    def of_room(self, room, changed):
        """(chosen, left out)."""
        near = [(nearness(t, room, changed, self.contents[t["name"]]), t) for t in self.tests]
        self.own = {t["name"] for n, t in near if n == OWN}
        return choose([(n, self.seconds_of[t["name"]], t["is_parallel"], t["name"])
                       for n, t in near if n is not None], SECONDS, JOBS)


def choose_for(room, changed, choice):
    chosen, out = choice.of_room(room, changed)
    if chosen or out:
        print(f"{room}: {len(chosen)} tests; {len(out)} more contain it, which ./dev "
              "check runs", file=sys.stderr)
    for name in sorted(choice.own & set(out)):
        print(f"{room}: {name} itself was changed, and takes too long: ./dev test {name}",
              file=sys.stderr)
    return chosen


def report_failure(log):
    print(log.read_text(errors="replace")[-4000:])
    sys.exit(f"it does not compile; all of the output is in {log}")


def compile_for(build, tests):
    targets = sorted(set().union(*(build.targets_of(t) for t in tests)))
    log = build.folder / "compile.log"
    with log.open("w") as to:
        done = subprocess.run(["ninja", "-C", str(build.folder), *targets], stdout=to,
                              stderr=subprocess.STDOUT)
    if done.returncode:
        report_failure(log)


def run_tests(choice, tests, seconds):
    """Returns the exit status."""
    folder = choice.build.folder / "meson-logs"
    for test in tests:
        test["workdir"] = test["workdir"] or choice.build.folder
    runs = budget.Budget(tests, choice.seconds_of, seconds, JOBS, folder / "changed")
    runs.run()
    runs.write_log(folder / "dev-changed.json")
    return runs.report()


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev test")
    parser.add_argument("build")
    parser.add_argument("names", nargs="*", metavar="ROOM-OR-FILE",
                        help="to be taken as changed, instead of the files that git reports")
    parser.add_argument("--changed", action="store_true", required=True)
    parser.add_argument("--list", action="store_true", help="print the tests, run none")
    return parser.parse_intermixed_args()


def main():
    arguments = parse_arguments()
    if not Path(arguments.build, ".ninja_deps").exists():
        subprocess.run([tree.ROOT / "dev", "build"], check=True)
    began = time.monotonic()
    build = Build(arguments.build)
    changed = changed_as_said(arguments.names) if arguments.names else changed_in_git()
    choice, names = Choice(build), set()
    changed_rooms = sorted({room_of(name) for name in changed})
    for room in changed_rooms:
        of_room = {name for name in changed if room_of(name) == room}
        names |= set(choose_for(room, of_room, choice))
    chosen = [t for t in choice.tests if t["name"] in names]
    if arguments.list:
        print(*sorted(names), sep="\n")
    elif not chosen:
        print("no test contains a changed file")
    else:
        left = LIMIT * len(changed_rooms) - (time.monotonic() - began)
        compile_for(build, chosen)
        sys.exit(run_tests(choice, chosen, left))


if __name__ == "__main__":
    main()
