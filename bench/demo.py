#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows cleave in less than a minute: promised against measured.

Three programs share one device.  Every figure is measured from the programs' own kernels, by
the device's profiling events; cleave is used through its command line only.  The exit code is
1 if a figure is off by more than four points.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import measure
from tenants import BenchError, Lease, Session, raw_ns, wait_until

ROOT = Path(__file__).resolve().parent.parent
MIB = 1 << 20
POINTS = 4.0
BLOCK_SECONDS = 3
SHARES = {"alpha": 0.2, "beta": 0.5, "gamma": 0.3}
BUDGET_MIB = 500
INVALID_BUFFER_SIZE = "-61"
KILLED = 128 + signal.SIGKILL
SETTLE_NS = 300_000_000


class Screen:
    """Plain text of at most the terminal's width, with colour where the terminal shows it."""

    def __init__(self, out):
        self.out = out
        self.width = shutil.get_terminal_size((80, 24)).columns
        self.colour = (out.isatty() and not os.environ.get("NO_COLOR")
                       and os.environ.get("TERM", "dumb") != "dumb")
        self.failures = 0
        self.worst = 0.0

    def say(self, text=""):
        indent = " " * (len(text) - len(text.lstrip()))
        lines = textwrap.wrap(text.strip(), max(self.width, 20), initial_indent=indent,
                              subsequent_indent=indent)
        print("\n".join(lines), file=self.out, flush=True)

    def verdict(self, good):
        if not good:
            self.failures += 1
        text = "ok" if good else "MISSED"
        if not self.colour:
            return text
        return f"\033[{32 if good else 31}m{text}\033[0m"

    def bar(self, value):
        room = min(30, self.width - 40)
        return "#" * round(min(value, 1) * room) if room >= 10 else ""

    def figures(self, promised, measured):
        """Prints a line for each program: promised, measured, and whether they agree."""
        self.say("   program  promised  measured")
        for name, promise in promised.items():
            points = abs(measured[name] - promise) * 100
            self.worst = max(self.worst, points)
            verdict = self.verdict(points <= POINTS)
            line = f"   {name:7} {promise:8.1%} {measured[name]:9.1%}  {verdict}"
            print(f"{line}  {self.bar(measured[name])}".rstrip(), file=self.out, flush=True)

    def fact(self, text, good):
        self.say(f"   {text}: {self.verdict(good)}")


class Demo:
    def __init__(self, session, screen):
        self.session = session
        self.screen = screen
        self.tenants = {}

    def cleave(self, *words):
        """Runs a command of cleave and returns its completed process."""
        return subprocess.run([self.session.cleave(), *words], capture_output=True,
                              text=True, timeout=30, env=self.session.environment)

    def listing(self, verb):
        done = self.cleave(verb, "-o", "json")
        if done.returncode:
            raise BenchError(f"cleave {verb}: {done.stderr.strip()}")
        return json.loads(done.stdout)["items"]

    def measured(self, block, names):
        """Each program's part of the completed work; the programs are the same."""
        return measure.fractions({n: block.rate(n) for n in names})

    def run_all(self, names, promised):
        block = self.session.block([self.tenants[n] for n in names], BLOCK_SECONDS)
        self.screen.figures(promised, self.measured(block, names))

    def start(self):
        cal = self.session.calibrate()
        for i, (name, share) in enumerate(SHARES.items()):
            memory = f"{round(share * BUDGET_MIB)}M"
            self.screen.say(f"   cleave run --name {name} --share {share} "
                            f"--memory {memory} -- tenant")
            self.tenants[name] = self.session.spawn(
                name, ["--kernel", 1000, "--cal", cal, "--seed", i + 1],
                Lease(share, memory=memory))
        for device in self.listing("devices")[:1]:
            self.screen.say(f"   device: {device.get('model') or device.get('name')}")

    def show_shares(self):
        self.screen.say("1. Three programs want all of the device")
        self.run_all(list(SHARES), SHARES)

    def ask(self, name, mib):
        """Makes a program allocate; returns the code that OpenCL returned to it."""
        tenant = self.tenants[name]
        tenant.send(f"alloc {mib * MIB}")
        return tenant.answer("alloc")

    def release(self, name):
        self.tenants[name].send("free")
        self.tenants[name].answer("freed")

    def most_memory(self, name):
        """The largest allocation that succeeds, in MiB."""
        fits, fails = 0, 2 * BUDGET_MIB
        while fails - fits > 1:
            middle = (fits + fails) // 2
            if self.ask(name, middle) == "0":
                fits = middle
            else:
                fails = middle
            self.release(name)
        self.ask(name, fits)
        return fits

    def show_memory(self):
        self.screen.say("2. Each program allocates as much memory as it can get")
        got = {name: self.most_memory(name) / BUDGET_MIB for name in SHARES}
        self.screen.figures(SHARES, got)
        for name in SHARES:
            self.release(name)

    def show_idle(self):
        self.screen.say("3. beta goes idle: the others take its time, by weight")
        names = ["alpha", "gamma"]
        self.run_all(names, measure.fractions({n: SHARES[n] for n in names}))

    def show_refusal(self):
        too_much = round(SHARES["alpha"] * BUDGET_MIB) * 2
        self.screen.say(f"4. alpha asks for {too_much} MiB, twice its quota, as all run")
        every = list(self.tenants.values())
        begin = self.session.start(every)
        wait_until(begin + BLOCK_SECONDS * measure.SECOND // 2)
        code = self.ask("alpha", too_much)
        wait_until(begin + BLOCK_SECONDS * measure.SECOND)
        block = self.session.stop(every, begin)
        self.screen.fact(f"OpenCL answered {code} "
                         "(CL_INVALID_BUFFER_SIZE is -61)", code == INVALID_BUFFER_SIZE)
        self.screen.say("   the shares do not change meanwhile:")
        self.screen.figures(SHARES, self.measured(block, list(SHARES)))

    def show_resize(self):
        wanted = {"alpha": .2, "beta": .2, "gamma": .6}
        self.screen.say("5. beta is resized to 0.2 and gamma to 0.6 as they run")
        every = list(self.tenants.values())
        begin = self.session.start(every)
        for name in ("beta", "gamma"):
            done = self.cleave("set", name, "--share", str(wanted[name]))
            if done.returncode:
                self.screen.fact(f"cleave set {name}: {done.stderr.strip()}", False)
        after = raw_ns() + SETTLE_NS
        wait_until(after + BLOCK_SECONDS * measure.SECOND)
        block = self.session.stop(every, begin)
        rates = {n: measure.rate(block.records[n], after, block.end) for n in wanted}
        self.screen.figures(wanted, measure.fractions(rates))

    def show_kill(self):
        self.screen.say("6. gamma is killed with -9: its part comes back")
        every = list(self.tenants.values())
        begin = self.session.start(every)
        wait_until(begin + measure.SECOND)
        gamma = self.tenants.pop("gamma")
        os.kill(gamma.pid, signal.SIGKILL)
        after = raw_ns() + SETTLE_NS
        wait_until(after + BLOCK_SECONDS * measure.SECOND)
        left = list(self.tenants.values())
        block = self.session.stop(left, begin)
        rates = {t.name: measure.rate(block.records[t.name], after, block.end)
                 for t in left}
        self.screen.figures({"alpha": .5, "beta": .5}, measure.fractions(rates))
        code = gamma.process.wait(10)
        self.screen.fact(f"cleave run ended with {code}", code == KILLED)
        names = [item["name"] for item in self.listing("ps")]
        self.screen.fact(f"cleave ps lists {', '.join(sorted(names)) or 'no lease'}",
                         sorted(names) == ["alpha", "beta"])
        again = self.cleave("run", "--share", "0.6", "--", "/bin/true")
        self.screen.fact("a new lease gets its 0.6", again.returncode == 0)

    def play(self):
        self.start()
        for step in (self.show_shares, self.show_memory, self.show_idle,
                     self.show_refusal, self.show_resize, self.show_kill):
            self.screen.say()
            step()


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build", metavar="DIR")
    options = parser.parse_args(arguments)
    options.build = options.build.resolve()
    return options


def interrupted(*_):
    raise KeyboardInterrupt


def main(arguments=None):
    options = parse_arguments(arguments)
    signal.signal(signal.SIGTERM, interrupted)
    screen = Screen(sys.stdout)
    began = time.monotonic()
    screen.say("cleave: three programs in shares of one device")
    try:
        with Session(options.build, True) as session:
            Demo(session, screen).play()
    except BenchError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130

    screen.say()
    took = time.monotonic() - began
    if screen.failures:
        screen.say(f"{screen.failures} of the figures missed by more than "
                   f"{POINTS:g} points, in {took:.0f} s")
        return 1
    screen.say(f"Every promise kept: the worst figure was {screen.worst:.1f} points off, "
               f"in {took:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
