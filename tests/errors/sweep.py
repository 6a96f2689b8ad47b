# SPDX-License-Identifier: Apache-2.0
"""Programs that make every kind of call, on drivers that answer with errors, or never; and another
tenant, whose turns must come all the same.

What is asked of the gate each time:
- the program ends by itself, soon, and with no signal;
- a call that the driver refused is refused, with the driver's own error;
- of what the GPU gave all is charged, and no more than the lease has can be had;
- what was given back is not charged any more;
- what was submitted was counted, and is known to be complete when another lease wants its turn.
"""
import os
import random
import select
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "apply"))

import worlds  # noqa: E402

MEMORY = ("--memory", "512M")  # QUOTA of the programs
# Seconds.  Nothing takes one, unless a call hangs: then it is taken for hanging after so many.
PATIENCE, PATIENCE_IF_HUNG = 60, .5
TO_DRAIN = 15  # work that is never known to be complete stays so for longer
# A driver fails always, at first, or later, when something is there.
COUNTS = ("*", "1", "2", "1+1", "2+*", "5+2")


class Silent(Exception):
    """No line came in time."""


class Process:
    """A program in a lease, driven by lines."""

    def __init__(self, agent, command, *options):
        self.process = subprocess.Popen(
            [worlds.built("src/cli/cleave"), "run", "--socket", agent.api, "--device", "gpu0",
             *options, "--", *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=agent.env)
        self.pending = b""

    def say(self, word=""):
        self.process.stdin.write(f"{word}\n".encode())
        self.process.stdin.flush()

    def line(self, seconds=PATIENCE):
        until = time.monotonic() + seconds
        while b"\n" not in self.pending:
            left = max(0, until - time.monotonic())
            if not select.select([self.process.stdout], [], [], left)[0]:
                raise Silent
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                raise Silent
            self.pending += data
        first, self.pending = self.pending.split(b"\n", 1)
        return first.decode()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Outcome:
    """What one child did, and how it stood at each place where it stopped."""

    def __init__(self):
        self.pid = self.status = None
        self.is_hung = False
        self.charged, self.given = {}, {}  # bytes, by place: by the ledger, by the GPU
        self.drained = []                  # (entered, done, work that the driver took)
        self.drained_since = None
        self.tried = {}                    # symbol: calls, how many were taken, errors
        self.beyond, self.strange = [], []
        self.steps = []                    # of the other tenant


class Sweep:
    def __init__(self, case, program, options=MEMORY, neighbours=MEMORY):
        self.case, self.world = case, case.world
        self.neighbour = self.start(program, "neighbour", options=neighbours)
        case.assertEqual(self.neighbour.line(), "stepped")
        # From here on who begins has faults.
        self.world.put_faults("")
        self.program = self.start(program, options=options)

    def start(self, *command, options):
        process = Process(self.case.agent, command, "--share", "0.4", *options)
        self.case.addCleanup(process.close)
        return process

    def step(self):
        """The other tenant gets its turn."""
        try:
            self.neighbour.say()
            return self.neighbour.line()
        except (Silent, OSError):
            return "hangs"

    def run(self, *faults, may_hang=False):
        """One child with these lines of faults."""
        self.world.put_faults("\n".join(faults))
        outcome = Outcome()
        self.program.say()
        while outcome.status is None:
            try:
                self.take(outcome, *self.program.line(PATIENCE_IF_HUNG if may_hang else PATIENCE)
                          .split())
            except Silent:
                if outcome.is_hung:
                    raise
                outcome.is_hung = True
                outcome.steps.append(self.step())
                os.kill(outcome.pid, signal.SIGKILL)
        outcome.steps.append(self.step())
        return outcome

    def see_drained(self, outcome, numbers):
        """The gate does not know when work that no call waits for is complete.  The other tenant may
        have had its turn before the arbiter saw either of the two counts."""
        now = time.monotonic()
        outcome.drained_since = outcome.drained_since or now
        if numbers[0] != numbers[1] and now < outcome.drained_since + TO_DRAIN:
            outcome.steps.append(self.step())
            self.program.say("again")
            return
        outcome.drained_since = None
        outcome.drained.append(numbers)
        self.program.say()

    def take(self, outcome, kind, *words):
        if kind == "began":
            outcome.pid = int(words[0])
        elif kind == "at":
            outcome.charged[words[0]] = int(words[1])
            outcome.given[words[0]] = self.world.bytes_of(outcome.pid, int(words[3]))
            outcome.steps.append(self.step())
            self.program.say()
        elif kind == "drained":
            self.see_drained(outcome, [int(word) for word in words])
        elif kind == "tried":
            outcome.tried[words[0]] = [int(word) for word in words[1:]]
        elif kind == "beyond":
            outcome.beyond.append(words[0])
        elif kind == "strange":
            outcome.strange.append(words)
        elif kind == "ended":
            outcome.status = int(words[0])


class Judge:
    """The exceptions are of the vendor, with their reasons.
    answers: symbols that the gate may answer itself, and the errors it has.
    keeps: symbols without which it cannot be known that memory came back, and until where what
    may not be known stays charged.
    unready: (symbol, error) by which the driver says that work is not complete, while it is.
    captures: symbols without which a capture does not end, and what is submitted is no work.
    changes: symbols by which alone a state of the program can be put back, and its name.
    exact: whether the ledger counts as the device does, and nothing on top."""

    def __init__(self, answers=None, keeps=None, unready=(), captures=(), changes=None,
                 exact=True):
        self.answers, self.keeps = answers or {}, keeps or {}
        self.unready, self.captures, self.exact = unready, captures, exact
        self.changes = changes or {}

    def of_ends(self, outcome, symbol):
        if outcome.is_hung:
            yield "it hangs"
        elif outcome.status != 0:
            yield f"it ended with {outcome.status}"
        strange = [words for words in outcome.strange
                   if " ".join(words) != self.changes.get(symbol)]
        if strange:
            yield f"behind its back: {strange}"
        if set(outcome.steps) != {"stepped"}:
            yield f"the neighbour: {outcome.steps}"

    def of_work(self, outcome, symbol, code):
        may_wait = (symbol, code) in self.unready or symbol in self.captures
        for i, (entered, done, taken) in enumerate(outcome.drained, 1):
            if entered != done and not (may_wait and i < len(outcome.drained)):
                yield f"{entered} submissions went in, {done} are known to be complete"
            if entered < taken and symbol not in self.captures:
                yield f"{entered} submissions went in, the driver took {taken}"

    def of_memory(self, outcome, symbol):
        if outcome.beyond:
            yield f"beyond the quota: {outcome.beyond}"
        for place, charged in outcome.charged.items():
            given = outcome.given[place]
            if charged < given:
                yield f"{place}: {charged} bytes charged, {given} given"
            # What cannot be freed stays charged, be it none of the GPU's any more.
            if (charged > given and symbol != "*" and (self.exact or given == 0)
                    and place not in ("full", "again", *self.keeps.get(symbol, ()))):
                yield f"{place}: {charged} bytes are still charged of {given}"

    def of_errors(self, outcome, symbol, code):
        n, taken, *codes = outcome.tried.get(symbol, (0, 0))
        own = self.answers.get(symbol, ())
        if taken and 0 not in own:
            yield f"{taken} of {n} calls were no error"
        if set(codes) - {code, *own}:
            yield f"the errors were {codes}"

    def __call__(self, outcome, fault):
        """Of several faults, with semicolons between, the first is what it is about."""
        symbol, count, code = fault.split(";")[0].split() if fault else ("", "", "0")
        code = int(code) if code.lstrip("-").isdigit() else code
        found = [*self.of_ends(outcome, symbol), *self.of_work(outcome, symbol, code),
                 *self.of_memory(outcome, symbol)]
        if count == "*" and symbol != "*" and isinstance(code, int):
            found += self.of_errors(outcome, symbol, code)
        return found


def names_in(hooks_list, policy):
    with open(hooks_list, encoding="utf-8") as file:
        lines = [line.split() for line in file]
    return [words[1] for words in lines if len(words) > 1 and words[0] == policy]


def chance():
    """Another one each time, unless CLEAVE_SEED says which."""
    seed = int(os.environ.get("CLEAVE_SEED") or time.time_ns() % 1000000)
    print(f"CLEAVE_SEED={seed}", file=sys.stderr)
    return random.Random(seed)


def some(symbols, codes, n):
    """Half of them errors that stay."""
    random_ = chance()
    counts = [random_.choice(("*", random_.choice(COUNTS))) for _ in range(n)]
    return [f"{random_.choice(symbols)} {count} {random_.choice(codes)}" for count in counts]


def every(symbols, counts, codes):
    return [f"{symbol} {count} {code}" for symbol in symbols for count in counts for code in codes]
