# SPDX-License-Identifier: Apache-2.0
"""The rate that a tenant with a promise of .8 keeps beside one of .2 that tries to exceed it.

The attackers are the programs of tests/bypass.  Each case runs with two executors: the default,
with which the agent waits for work at the end of a turn and stops the threads of work that has
not ended within a second (auto), and the one that stops threads at the end of each turn (cpu)."""
import contextlib
import dataclasses
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import measure
from tenants import AUTO, BenchError, CPU, Lease, Session, raw_ns, wait_until

VICTIM, ATTACKER = .8, .2
TIMES, QUICK_TIMES = 3, 1
ALONE_SECONDS = 2
# Some attacks recur every few seconds; a block is long enough that their debt is paid in it.
SECONDS, QUICK_SECONDS = 12, 5
READY_SECONDS = 60
GONE_SECONDS = 20
LEAST_HELD = .05  # an attacker that held less did not attack


@dataclasses.dataclass(frozen=True)
class Attack:
    way: str                 # name of the program in tests/bypass
    is_repeated: bool = False  # again and again, in a new lease each time
    spared_seconds: float = 0  # at the beginning, not measured with the executor auto


ATTACKS = {
    "fresh-leases": Attack("one-and-gone", is_repeated=True),
    "changing-lengths": Attack("changing-lengths"),
    "longer-arguments": Attack("longer-arguments"),
    "native-kernels": Attack("native-kernels"),
    "native-long": Attack("native-long"),
    "native-submits": Attack("native-submits"),
    # The time that a closed holder has to drain.
    "endless-kernel": Attack("endless-kernel", spared_seconds=1.5),
}


def tell_speed(session):
    """Sets the length of the attackers' kernels; attackers run until they are ended."""
    program = str(session.program("bypass", "tests/bypass"))
    session.environment["BYPASS_LOOPS_PER_MS"] = session.output([program, "calibrate"]).split()[1]
    session.environment["BYPASS_MS"] = "1000000"


class Attacker:
    """An attacker in one lease, or in one lease after the other, until it is ended."""

    def __init__(self, session, attack):
        self.session = session
        self.attack = attack
        self.is_over = threading.Event()
        self.ended = threading.Condition()
        self.leases = self.failed = 0
        self.process = self.start()
        if attack.is_repeated:
            self.thread = threading.Thread(target=self.repeat)
            self.thread.start()
        else:
            self.await_go()

    def start(self):
        command = [*self.session.run_command(f"attacker{self.leases}", Lease(ATTACKER)),
                   str(self.session.program("bypass", "tests/bypass")), self.attack.way]
        self.leases += 1
        # A process group of its own, so that all its processes can be ended at any time.
        return subprocess.Popen(command, env=self.session.environment, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                start_new_session=True)

    def await_go(self):
        line = self.process.stdout.readline()
        if line.strip() != b"go":
            self.kill()
            raise BenchError(f"the attacker '{self.attack.way}' said {line!r}, not 'go'")

    def repeat(self):
        while not self.is_over.is_set():
            code = self.process.wait()
            self.failed += code != 0 and not self.is_over.is_set()
            with self.ended:
                self.ended.notify_all()
            self.close_pipes()
            if not self.is_over.is_set():
                self.process = self.start()

    def whole(self, moment_ns):
        """Waits until the given time and, for a repeated attack, on to the end of a lease, so that
        whole rounds are measured: the attack and the payment of its debt."""
        wait_until(moment_ns)
        if self.attack.is_repeated:
            with self.ended:
                if not self.ended.wait(GONE_SECONDS):
                    raise BenchError(f"'{self.attack.way}' does not end")
        return raw_ns()

    def close_pipes(self):
        self.process.stdin.close()
        self.process.stdout.close()

    def kill(self):
        """Ends the program first, so that `cleave run` reaps it: what a process has used since it
        was last looked at counts as others' if init reaps it (company.py)."""
        for pid in self.children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(GONE_SECONDS)
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def children(self):
        pid = self.process.pid
        try:
            return [int(word) for word in
                    Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
        except OSError:
            return []

    def prove(self, held, seconds):
        """Fails if the attacker did not take part: a victim alone has all of the device."""
        took_part = (self.failed == 0 if self.attack.is_repeated
                     else held["attacker0"] >= LEAST_HELD * seconds)
        if not took_part:
            raise BenchError(f"the attacker '{self.attack.way}' failed: it held {held}")

    def end(self):
        self.is_over.set()
        self.kill()
        if self.attack.is_repeated:
            self.thread.join(READY_SECONDS)
            self.kill()
        self.close_pipes()
        deadline = time.monotonic() + GONE_SECONDS
        while set(self.session.ledger()) != {"victim"}:
            if time.monotonic() > deadline:
                raise BenchError("the attacker's lease does not end")
            time.sleep(.05)


def idle_seconds():
    """Of all processors together."""
    words = Path("/proc/stat").read_text(encoding="ascii").split()
    return (int(words[4]) + int(words[5])) / os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass
class Use:
    """Parts of the device's time, and of its processors'."""
    held: float   # by the victim, by the ledger
    idle: float
    host: float   # used outside of turns by other programs than the victim
    leases: int   # of the attacker


def use_of(ledgers, seconds, victim_seconds, idle, leases):
    held = (ledgers[1]["victim"] - ledgers[0]["victim"]) / seconds
    processors = os.cpu_count() * seconds
    others = 1 - (victim_seconds + idle) / processors
    return Use(held, idle / processors, others - (1 - held), leases)


def beside(session, victim, attack, seconds):
    """A block of the victim beside the attacker, and how the device was used in it."""
    spared = attack.spared_seconds if session.executor == AUTO else 0
    begin = session.start([victim])
    try:
        attacker = Attacker(session, attack)
    except BenchError:
        session.stop([victim], begin)
        raise
    try:
        begin = attacker.whole(max(begin, raw_ns()) + int(spared * 1e9))
        before, used_ns, idle = session.ledger(), victim.processor_ns(), idle_seconds()
        end = attacker.whole(begin + int(seconds * 1e9))
        after, used_ns = session.ledger(), victim.processor_ns() - used_ns
        idle = idle_seconds() - idle
        block = session.stop([victim], begin)
    finally:
        attacker.end()
    held = {name: after[name] - before.get(name, 0) for name in after}
    attacker.prove(held, (end - begin) / 1e9)
    return block, use_of((before, after), (end - begin) / 1e9, used_ns / 1e9, idle,
                         attacker.leases)


def run_attack(context, executor, case, attack):
    blocks, uses = [], []
    with Session(context.build, True, executor=executor) as session:
        cal = session.calibrate()
        tell_speed(session)
        victim = session.spawn("victim", ["--kernel", 1000, "--cal", cal], Lease(VICTIM))
        alone = [session.block([victim], ALONE_SECONDS)]
        for _ in range(QUICK_TIMES if context.quick else TIMES):
            block, use = beside(session, victim, attack,
                                QUICK_SECONDS if context.quick else SECONDS)
            blocks.append(block)
            uses.append(use)
            alone.append(session.block([victim], ALONE_SECONDS))
    ratios = measure.between_ratios([b.work_rate() for b in blocks],
                                    [b.work_rate() for b in alone])
    name = f"{executor}-{case}"
    context.tell(f"attacks {name}: {sum(use.leases for use in uses)} leases, work "
                 + " ".join(f"{ratio:.3f}" for ratio in ratios) + ", held by the victim "
                 + " ".join(f"{use.held:.3f}" for use in uses))
    context.add("attacks", name, "work", measure.median(ratios), "fraction")
    # Where an attacker's turns leave a processor idle, the rest is not known.
    for part in ("held", "host", "idle") if attack.is_repeated else ("held",):
        value = measure.median([getattr(use, part) for use in uses])
        context.add("attacks", name, part, value, "fraction")


def run(context):
    if not context.with_cleave:
        return
    for executor in (AUTO, CPU):
        for case, attack in ATTACKS.items():
            if context.wants(f"{executor}-{case}"):
                run_attack(context, executor, case, attack)
