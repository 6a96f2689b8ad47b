#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attempts every known bypass of the limits and compares the verdicts with table.tsv.

usage: bypass.py CLEAVE WAYS LOADER DOUBLE_VENDORS [--slow] [--sample] [--only=PART] [NAME...]

PART shares: rows that compare parts of processor time, for which nothing else may run on the
machine; memory: the other rows.

Prints TAP, a line for each row.  A row passes when the verdict equals the table's, so that a
change from held to open, or the reverse, is noticed.
"""
import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "integration"))
import table  # noqa: E402
from measured import bound  # noqa: E402
from session import OPEN, Session, Trouble, fake_agent, go_first  # noqa: E402

QUOTA = 64 << 20
MEMORY = ["--share", "0.3", "--memory", "64M"]
NEIGHBOUR = ["--share", "0.7", "--memory", "64M"]
SHARE = 0.3
TOLERANCE = bound(0.06, 0.13)  # without a gate it would have half
OBSERVED = bound(1, 0.5)  # for large excesses half of the time suffices
GOES_ON = 0.05  # a part of its pace, or of a processor
REFUSED = -4  # CL_MEM_OBJECT_ALLOCATION_FAILURE
QUIET = "PATH=/usr/bin:/bin"
# Agents with special settings: fast detection, and stopped threads.
SETTINGS = {"hang": "executor: gate\nwatch: {every: 1s, hang: 2s}",
            "stopped": "executor: cpu"}
# The double, also with image rows padded to the size of a piece, and with a table of calls for each
# kind of object.
DOUBLES = {"double": {}, "padding": {"CLEAVE_DOUBLE_ROW": "8K"},
           "tables": {"CLEAVE_DOUBLE_TABLES": "kinds"},
           "strange": {"CLEAVE_DOUBLE_TABLES": "strange"}}
NOTICE_SECONDS = 60


class Stuck(Exception):
    """An attempt has lost its program: it neither ends nor continues."""


class Referee:
    """Has the sessions, one for each kind of device, and the programs of the test."""

    def __init__(self, options):
        self.options = options
        self.sessions = {}
        self.neighbour = None
        self.loops = None
        icd = next(iter(sorted(Path("/etc/OpenCL/vendors").glob("*.icd"))), None)
        self.vendor = icd.read_text().strip() if icd else ""

    def session(self, kind="real"):
        if kind not in self.sessions:
            environment = {"BYPASS_HALF_PIECES": str(QUOTA // (8 << 20) // 2)}
            environment.update(DOUBLES.get(kind, {}))
            if kind in DOUBLES:
                environment["OCL_ICD_VENDORS"] = self.options.double
            self.sessions[kind] = Session(self.options.cleave, environment,
                                          SETTINGS.get(kind))
        return self.sessions[kind]

    def way(self, *arguments):
        return [self.options.ways, *arguments]

    def calibrate(self):
        if not self.loops:
            session = self.session()
            done = subprocess.run(self.way("calibrate"), env=session.environment,
                                  capture_output=True, text=True, timeout=60, check=True)
            self.loops = done.stdout.split()[1]
            session.environment["BYPASS_LOOPS_PER_MS"] = self.loops
        return self.loops

    def have_neighbour(self):
        self.calibrate()
        if not self.neighbour:
            self.neighbour = self.session().start(NEIGHBOUR, self.way("neighbour"), "neighbour")
            self.neighbour.wait_for("go")
        return self.neighbour

    def no_neighbour(self):
        if self.neighbour:
            self.session().end(self.neighbour)
            self.neighbour = None

    def close(self):
        for session in self.sessions.values():
            session.close()


def judge_memory(lines):
    """held: the lease has exactly its quota; open: it has more."""
    got = [line.split() for line in lines if line.startswith("got ")]
    total = sum(int(words[1]) for words in got)
    codes = [int(words[3]) for words in got]
    facts = f"{total >> 20} MiB of {QUOTA >> 20}, code {codes[-1] if codes else None}"
    if not got:
        raise Trouble(f"it said {lines}")
    if total > QUOTA:
        return "open", facts
    if total < QUOTA or REFUSED not in codes or set(codes) - {0, REFUSED}:
        raise Trouble(f"it should have had all of its quota: {facts}")
    return "held", facts


def memory(*before, kind="real", way=None, loader=False, options=()):
    """An attempt that allocates memory until refused."""
    def check(referee, name):
        program = referee.options.loader if loader else referee.options.ways
        command = [*before, program, way or name]
        if loader and referee.vendor:
            command.append(referee.vendor)
        return judge_memory(referee.session(kind).output([*MEMORY, *options], command, name))
    check.alone = True
    return check


def small(referee, name):
    """Thousands of objects take no more of the machine than the quota and 2 %."""
    lines = referee.session().output(MEMORY, referee.way(name), name)
    words = next((line.split() for line in lines if line.startswith("got ")), None)
    if not words or int(words[3]) not in (0, REFUSED):
        raise Trouble(f"it said {lines}")
    facts = f"{int(words[1]) >> 10} KiB of {QUOTA >> 10}, code {words[3]}"
    return ("held" if int(words[1]) <= 1.02 * QUOTA else "open"), facts


small.alone = True


def without(*before):
    """An attempt that should find no device, or its quota and no more."""
    def check(referee, name):
        command = [*before, *referee.way("buffer")]
        lines = referee.session().output(MEMORY, command, name)
        if "no-device" in lines:
            return "held", "no device"
        return judge_memory(lines)
    check.alone = True
    return check


def second_program(referee, name):
    """The first program of a lease prepares it for the second one, which should find no device."""
    commands = [fake_agent("now"), [*fake_agent("later"), *referee.way("buffer")]]
    lines = referee.session().in_sequence(MEMORY, commands, name)
    if "no-device" in lines:
        return "held", "no device"
    return judge_memory(lines)


second_program.alone = True


def other_lease(referee, name):
    """With the socket of a lease that has more."""
    session = referee.session()
    other = session.start(["--share", "0.1", "--memory", "512M"], referee.way("hold"), "bigger")
    try:
        other.wait_for("go")
        path = session.leases()["bigger"]["socket"]
        lines = session.output(
            MEMORY, ["env", f"CLEAVE_LEASE={path}", *referee.way("buffer")], name)
    finally:
        session.end(other)
    if "no-device" in lines:
        return "held", "refused by the agent"
    return judge_memory(lines)


other_lease.alone = True


def reported(session, command, name):
    """An attempt to use the device without its lease, which the lease's agent should report."""
    program = session.start(MEMORY, command, name)
    try:
        program.wait_for("go")
        until = time.monotonic() + NOTICE_SECONDS
        while time.monotonic() < until:
            if name not in session.leases():
                raise Trouble("the program ended before it was reported")
            if session.leases()[name]["uses_ungated"]:
                return "detected", "reported by the lease's agent"
            time.sleep(0.1)
        return "open", "not detected"
    finally:
        session.end(program)


def own_agent(referee, name):
    """The program starts another agent, and itself in a lease of that."""
    session = referee.session()
    folders = {variable: os.path.join(session.folder, "own", sub) for variable, sub in (
        ("XDG_RUNTIME_DIR", "run"), ("XDG_STATE_HOME", "state"), ("CLEAVE_LOCK_DIR", "locks"))}
    for folder in folders.values():
        os.makedirs(folder, 0o700, exist_ok=True)
    return reported(session, [
        "env", *(f"{variable}={folder}" for variable, folder in folders.items()),
        referee.options.cleave, "run", "--share", "1", "--", *referee.way("hold")], name)


own_agent.alone = True


def linked_agent(referee, name):
    """Another agent's socket in the place of the lease's own."""
    return reported(referee.session(), [*fake_agent("linked"), *referee.way("hold")], name)


linked_agent.alone = True


def overmount(script, *before):
    """A user's program covers the drivers' folder in namespaces of its own."""
    def check(referee, name):
        if subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False).returncode:
            raise Skipped("namespaces of users are not allowed here")
        command = ["unshare", "-Urm", "sh", "-c", script, "sh", *before, *referee.way("hold")]
        return reported(referee.session(), command, name)
    check.alone = True
    return check


REAL_VENDORS_ABOVE = (
    'mount --bind "$(dirname "$CLEAVE_LEASE")/vendors.real" /etc/OpenCL/vendors && '
    f'exec env -i {QUIET} "$@"')
COPY_ABOVE = (
    'own=$(mktemp -d) && cp -a /etc/OpenCL/vendors/. "$own" && '
    'mount --bind "$own" /etc/OpenCL/vendors && exec "$@"')


def real_vendors(keep_layer):
    """The program names the folder of the real drivers itself."""
    def check(referee, name):
        drop = [] if keep_layer else ["-u", "OPENCL_LAYERS"]
        script = ('OCL_ICD_VENDORS=$(dirname "$CLEAVE_LEASE")/vendors.real '
                  'exec env "$@"')
        command = ["sh", "-c", script, "sh", *drop, *referee.way("buffer")]
        return judge_memory(referee.session().output(MEMORY, command, name))
    check.alone = True
    return check


def named_library(referee, name):
    """The variable may name a driver's library as well as a folder."""
    command = ["env", f"OCL_ICD_VENDORS={referee.vendor}", *referee.way("buffer")]
    return judge_memory(referee.session().output(MEMORY, command, name))


named_library.alone = True


def taken(referee, program, seconds):
    """The part of the device that a program takes beside the other tenant, between its go and its
    done: by processor time, and by cleave's ledger."""
    session, neighbour = referee.session(), referee.neighbour
    program.wait_for("go")
    before = [p.processor_seconds() for p in (program, neighbour)]
    held_before = session.leases()
    try:
        program.wait_for("done", seconds + 60)
    except Trouble as trouble:
        raise Stuck(str(trouble)) from None
    after = [p.processor_seconds() for p in (program, neighbour)]
    held_after = session.leases()
    own, others = (a - b for a, b in zip(after, before))
    held = {n: held_after[n]["held_seconds"] - held_before[n]["held_seconds"]
            for n in (program.name, neighbour.name)}
    total = sum(held.values())
    return (own / max(own + others, 1e-9), held[program.name] / max(total, 1e-9))


def share(*before, seconds=2.0, slow=6.0, saturates=True, way=None, says=None):
    """An attempt to use more than its share, beside another tenant that is always busy.  Without the
    line that it says, it has not tried what it is about."""
    def check(referee, name):
        session = referee.session()
        referee.have_neighbour()
        length = slow if referee.options.slow else seconds * OBSERVED
        session.environment["BYPASS_MS"] = str(int(length * 1000))
        program = session.start(MEMORY, [*before, *referee.way(way or name)], name)
        try:
            by_time, by_account = taken(referee, program, length)
        finally:
            session.end(program)
        if says and says not in program.lines:
            raise Trouble(f"it did not say '{says}'")
        facts = f"{by_time:.3f} of the processor time, {by_account:.3f} held, of {SHARE}"
        if max(by_time, by_account) > SHARE + TOLERANCE:
            return "open", facts
        if saturates and by_account < SHARE - 2 * TOLERANCE:
            raise Trouble(f"it should have had more: {facts}")
        return "held", facts
    check.alone, check.compares = False, True
    check.slow = slow > seconds
    return check


def pace(program, seconds):
    """The number of processors that a program keeps busy."""
    busy, begin = program.processor_seconds(), time.monotonic()
    time.sleep(seconds)
    return (program.processor_seconds() - busy) / (time.monotonic() - begin)


def beside_harm(way, least=0.6):
    """The other tenant keeps its pace and its memory, the agent lives, others can attach."""
    def check(referee, name):
        session = referee.session()
        neighbour = referee.have_neighbour()
        agent, used = session.agent_pid(), session.leases()["neighbour"]["memory_used_bytes"]
        session.environment["BYPASS_MS"] = "1500"
        before = pace(neighbour, 1.0)
        program = session.start(MEMORY, referee.way(way), name)
        try:
            program.wait_for("go")
            during = pace(neighbour, 1.4)
            program.wait_for("done")
            after = session.leases()["neighbour"]["memory_used_bytes"]
        finally:
            session.end(program)
        facts = f"the other tenant kept {during / before:.2f} of its pace"
        if session.agent_pid() != agent or during < bound(least, GOES_ON) * before or after != used:
            return "open", facts
        verdict, got = judge_memory(session.output(MEMORY, referee.way("buffer"), "after"))
        return verdict, f"{facts}; the next program has {got}"
    check.alone, check.compares = False, True
    return check


def held_by(pid):
    """Memory and descriptors of a process."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        rss = next(line for line in status if line.startswith("VmRSS:"))
    return int(rss.split()[1]) << 10, len(os.listdir(f"/proc/{pid}/fd"))


def flood(referee, name):
    """Meanwhile the other tenant keeps its pace and leases come and go; the agent has no more
    descriptors than a lease has processes and connections, and closes them."""
    session = referee.session()
    neighbour = referee.have_neighbour()
    agent = session.agent_pid()
    memory, files = held_by(agent)
    before, come, most = pace(neighbour, 1.0), 0, 0
    session.environment["BYPASS_MS"] = "2500"
    program = session.start(["--share", "0.2"], referee.way(name), name)
    try:
        program.wait_for("go")
        during = pace(neighbour, 1.0)
        while come < 3:
            lines = session.output(["--share", "0.05"], referee.way("hold"), "other")
            come += lines == ["go", "done"]
            most = max(most, held_by(agent)[1] - files)
        said = program.line(60)
        program.wait_for("done")
    finally:
        session.end(program)
    deadline = time.monotonic() + 60
    while held_by(agent)[1] > files + 16 and time.monotonic() < deadline:
        time.sleep(0.1)
    grown, left = held_by(agent)[0] - memory, held_by(agent)[1] - files
    facts = (f"{said}; the other tenant kept {during / before:.2f} of its pace; the agent had up to "
             f"{most} descriptors more and has {left}, and {grown >> 10} KiB of memory")
    good = (session.agent_pid() == agent and during >= bound(0.5, GOES_ON) * before and left <= 16
            and most < 2 * 1024 + 256 and grown < 16 << 20)
    return ("held" if good else "open"), facts


flood.alone, flood.compares = False, True


def turns(way, kind="double"):
    """Work on the double, where only the ledger shows it, beside another tenant there."""
    def check(referee, name):
        session = referee.session(kind)
        session.environment["BYPASS_MS"] = "1500"
        session.environment["CLEAVE_DOUBLE_KERNEL_US"] = "1000"
        session.environment["CLEAVE_DOUBLE_DEVICE"] = os.path.join(session.folder, "device")
        neighbour = session.start(NEIGHBOUR, referee.way("neighbour"), "neighbour")
        program = session.start(MEMORY, referee.way(way), name)
        try:
            neighbour.wait_for("go")
            program.wait_for("go")
            before = session.leases()
            program.wait_for("done")
            after = session.leases()
        finally:
            session.end(program)
            session.end(neighbour)
        own, others = (after[n]["held_seconds"] - before[n]["held_seconds"]
                       for n in (name, "neighbour"))
        part = own / max(own + others, 1e-9)
        facts = f"{part:.3f} held, of {SHARE}"
        return ("held" if own > 0 and part <= SHARE + TOLERANCE else "open"), facts
    check.alone, check.compares = True, True
    return check


def stopped(referee, name):
    """The other tenant continues, once the drain time of a closed holder has passed."""
    session = referee.session()
    neighbour = referee.have_neighbour()
    program = session.start(MEMORY, referee.way(name), name)
    try:
        program.wait_for("go")
        time.sleep(1.3)
        busy = pace(neighbour, 1.0)
    finally:
        session.end(program)
    facts = f"after 1.3 s the other tenant ran {busy:.2f} processors"
    return ("held" if busy > bound(0.3, GOES_ON) else "open"), facts


stopped.alone, stopped.compares = False, True


def fresh_leases(referee, name):
    """A kernel that is longer than many turns, in a new lease each time: whole rounds, of the
    kernel and of the payment for it."""
    session = referee.session()
    neighbour = referee.have_neighbour()
    ends = []
    for _ in range(4):
        program = session.start(MEMORY, referee.way("one-and-gone"), name)
        try:
            program.finish()
        finally:
            session.end(program)
        ends.append((time.monotonic(), session.leases()[neighbour.name]["held_seconds"]))
    (begin, before), (end, after) = ends[0], ends[-1]
    part = 1 - (after - before) / (end - begin)
    facts = f"all but {part:.3f} held by the other tenant, of {SHARE}"
    return ("held" if part <= SHARE + TOLERANCE else "open"), facts


fresh_leases.alone, fresh_leases.compares = False, True


def noticed(session, seconds):
    """Whether the agent reports that a device hangs."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if "device_degraded" in session.events():
            return True
        time.sleep(0.1)
    return False


def endless(kind):
    """A kernel without an end, beside another tenant, once a closed holder's time is over."""
    def check(referee, name):
        referee.calibrate()
        session = referee.session(kind)
        session.environment["BYPASS_LOOPS_PER_MS"] = referee.loops
        neighbour = session.start(NEIGHBOUR, referee.way("neighbour"), "neighbour")
        program = session.start(MEMORY, referee.way("endless-kernel"), name)
        try:
            for each in (neighbour, program):
                each.wait_for("go")
            time.sleep(1.5)
            before = [p.processor_seconds() for p in (program, neighbour)]
            time.sleep(3)
            own, others = (p.processor_seconds() - b
                           for p, b in zip((program, neighbour), before))
            part = own / max(own + others, 1e-9)
            facts = f"{part:.3f} of the processor time, of {SHARE}"
            if part <= SHARE + TOLERANCE:
                return "held", facts
            if others > bound(0.9, GOES_ON) and noticed(session, NOTICE_SECONDS):
                return "detected", f"{facts}; the agent says that the device hangs"
            return "open", facts
        finally:
            session.end(program)
            session.end(neighbour)
    check.alone, check.compares = True, True
    return check


def refused_queue(referee, _name):
    """A queue whose calls the gate would not intercept is refused, with an error line."""
    session = referee.session("strange")
    lines = session.output(MEMORY, referee.way("deep"), "deep")
    text = " ".join(lines)
    if "go" in lines or "another clCreateBuffer" not in text:
        return "open", text
    return "held", text


refused_queue.alone = True


def yes_or_no(*before, neighbour=False, agent=False):
    """An attempt that prints itself whether it worked."""
    def check(referee, name):
        session = referee.session()
        if neighbour:
            referee.have_neighbour()
        session.environment["BYPASS_MS"] = "1000"
        arguments = [str(session.agent_pid())] if agent else []
        try:
            lines = session.output(
                MEMORY, [*before, *referee.way(name, *arguments)], name)
        except Trouble as trouble:
            raise Stuck(str(trouble)) from None
        for line in lines:
            if line.startswith(("yes", "no ", "no:")):
                return ("open" if line.startswith("yes") else "held"), line
        raise Trouble(f"it said {lines}")
    check.alone = not neighbour
    return check


def hidden_device(referee, name):
    """On two devices of one driver: its variable hides that of the lease."""
    session = Session(referee.options.cleave, {"POCL_DEVICES": "basic pthread"})
    try:
        lines = session.output(["--device", "gpu0", *MEMORY], [
            "env", "POCL_DEVICES=pthread", *referee.way(name, "basic")], name)
    finally:
        session.close()
    for line in lines:
        if line.startswith(("yes:", "no:")):
            return ("open" if line.startswith("yes") else "held"), line
    if "no-device" in lines:
        return "held", "no device"
    raise Trouble(f"it said {lines}")


hidden_device.alone = True


def only_root(check):
    """The attempt needs root."""
    def checked(referee, name):
        if os.geteuid() != 0:
            raise Skipped("only root may")
        return check(referee, name)
    checked.alone = check.alone
    return checked


class Skipped(Exception):
    pass


CHECKS = {
    "buffer": memory(),
    "buffer-with-properties": memory(),
    "buffer-on-host": memory(),
    "buffer-over-pointer": memory(),
    "image": memory(),
    "image-with-properties": memory(),
    "image-2d": memory(),
    "image-3d": memory(),
    "padded-images": memory(kind="padding"),
    "pipe": memory(kind="double"),
    "svm": memory(),
    "svm-other-context": memory(),
    "svm-other-queue": memory(),
    "svm-kept": memory(),
    "usm-other-context": memory(kind="double"),
    "small-buffers": small,
    "usm-device": memory(kind="double"),
    "usm-shared": memory(kind="double"),
    "usm-host": memory(kind="double"),
    "by-name": memory(),
    "sub-buffer": memory(),
    "retained": memory(),
    "in-use": memory(kind="double"),
    "wrapped-size": memory(),
    "memory-threads": memory(),
    "fork": memory(),
    "fork-inherited": memory(),
    "vfork": memory(),
    "clone": memory(),
    "clone-inherited": memory(),
    "clone-shared": memory(),
    "spawn": memory(),
    "exec-self": memory(),
    "daemon": memory(),
    "many-processes": memory(),
    "empty-environment": memory(),
    "no-layers": without("env", "-u", "OPENCL_LAYERS"),
    "other-layers": without("env", "OPENCL_LAYERS=/nonexistent/layer.so"),
    "stale-layers": without("env", "OPENCL_LAYERS=/nonexistent/libcleave-opencl.so"),
    "no-lease": without("env", "-u", "CLEAVE_LEASE"),
    "wrong-lease": without("env", "CLEAVE_LEASE=/nonexistent/lease.sock"),
    "other-lease": other_lease,
    "open-variables": without("env", *OPEN),
    "open-empty-environment": without("env", "-i", QUIET, *OPEN),
    "fake-agent": without(*fake_agent("named")),
    "fake-agent-beside": without(*fake_agent("beside")),
    "fake-agent-in-vendors": without(*fake_agent("vendors")),
    "fake-agent-by-another": second_program,
    "fake-agent-linked": linked_agent,
    "own-agent": own_agent,
    "vendors-of-own": real_vendors(keep_layer=True),
    "library-of-own": named_library,
    "dlopen-local": memory(loader=True),
    "dlsym-default": memory(loader=True),
    "dlsym-next": memory(loader=True),
    "dlmopen": memory(loader=True),
    "own-loader": memory(loader=True),
    "other-devices": yes_or_no("env", "POCL_DEVICES=basic pthread"),
    "hidden-device": hidden_device,
    "closefrom-before": memory(),
    "closefrom-after": memory(),
    "control-page": yes_or_no(),
    "deep": share(),
    "sync": share(),
    "long-kernels": share(seconds=5.0, slow=20.0),
    "changing-lengths": share(),
    "longer-arguments": share(seconds=4.0),
    "endless-kernel": endless("real"),
    "endless-waited": endless("hang"),
    "endless-stopped": endless("stopped"),
    "fresh-leases": fresh_leases,
    "bursts": share(saturates=False),
    "no-flush": share(),
    "many-queues": share(),
    "refused-markers": share(saturates=False, says="most refused"),
    "many-threads": share(),
    "work-processes": share(),
    "work-unseen": share("env", "-i", QUIET, way="deep"),
    "out-of-order": share(),
    "sub-devices": share(saturates=False),
    "native-kernels": share(saturates=False),
    "native-long": share(seconds=5.0, saturates=False),
    "native-submits": share(saturates=False),
    "copies": share(saturates=False),
    "tasks": share(saturates=False),
    "user-events": share(seconds=4.0, slow=12.0),
    "callbacks": share(seconds=3.0, slow=10.0),
    "callbacks-locked": share(seconds=3.0),
    "command-buffers": turns("command-buffers"),
    "closefrom-work": share(),
    "reused-numbers": yes_or_no(neighbour=True),
    "report-noise": beside_harm("report-noise"),
    "socket-noise": beside_harm("socket-noise"),
    "socket-flood": flood,
    "stopped": stopped,
    "report-memory": memory(),
    "vendors-and-no-layers": real_vendors(keep_layer=False),
    "no-namespace": memory("env", "-i", QUIET, way="buffer", options=["--no-namespace"]),
    "umount": only_root(memory()),
    "overmount": overmount(REAL_VENDORS_ABOVE),
    "overmount-linked": overmount(COPY_ABOVE, *fake_agent("vendors")),
    "vendor-library": memory(loader=True),
    "vendor-table": memory(loader=True),
    "tables-by-kind": memory(kind="tables", way="buffer"),
    "tables-by-kind-work": turns("deep", "tables"),
    "tables-of-own": refused_queue,
    "trace-agent": yes_or_no(agent=True),
}


def parse():
    parser = argparse.ArgumentParser()
    for word in ("cleave", "ways", "loader", "double"):
        parser.add_argument(word, type=os.path.abspath)
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--only", choices=("memory", "shares"))
    parser.add_argument("names", nargs="*")
    return parser.parse_args()


# In each sample: ways past a share that were open once.
ALWAYS = ("longer-arguments", "endless-kernel", "endless-waited", "endless-stopped", "native-submits",
          "socket-flood", "user-events")
SAMPLED = 8  # one in so many of the others, drawn by the seed: ./dev check --all has a new one


def sample_of(names):
    seed = os.environ.get("CLEAVE_SAMPLE", "1")
    print(f"# CLEAVE_SAMPLE={seed} repeats this choice", flush=True)
    others = sorted(set(names) - set(ALWAYS))
    drawn = random.Random(seed).sample(others, len(others) // SAMPLED)
    return [n for n in names if n in ALWAYS or n in drawn]


def chosen(options, rows):
    """All, or the slow ones (those for which a longer observation adds something), of one part."""
    names = options.names or list(rows)
    if options.slow and not options.names:
        names = [n for n in names if getattr(CHECKS[n], "slow", False)]
    if options.only:
        names = [n for n in names
                 if getattr(CHECKS[n], "compares", False) == (options.only == "shares")]
    if options.sample:
        names = sample_of(names)
    # Attempts that need the device alone come first.
    return sorted(names, key=lambda n: not CHECKS[n].alone)


def tried(referee, name, wanted):
    """Shares of a device are measured while the machine does other things as well: an attempt has
    the verdict that two of three tries have."""
    if CHECKS[name].alone:
        return CHECKS[name](referee, name)
    failed = 0
    seen = []
    while True:
        try:
            seen.append(CHECKS[name](referee, name))
        except Stuck:
            raise
        except Trouble:
            failed += 1
            if failed > 1:
                raise
            continue
        verdict, facts = seen[-1]
        if sum(verdict == each for each, _ in seen) == 2:
            return verdict, facts


def attempt(referee, name, wanted):
    """One line of TAP; returns whether it passed."""
    if CHECKS[name].alone:
        referee.no_neighbour()
    try:
        verdict, facts = tried(referee, name, wanted)
    except Skipped as reason:
        return f"ok {{}} {name} # SKIP {reason}"
    except Stuck as trouble:
        verdict, facts = "open", f"it hangs: {trouble}"
    except Trouble as trouble:
        return f"not ok {{}} {name}: {trouble}"
    if verdict == wanted:
        return f"ok {{}} {name}: {verdict}: {facts}"
    return f"not ok {{}} {name}: {verdict}, and the table says {wanted}: {facts}"


def main():
    options = parse()
    rows = {row.name: row for row in table.read() if row.api == "opencl"}
    if set(rows) != set(CHECKS):
        sys.exit(f"table.tsv and the checks differ: {sorted(set(rows) ^ set(CHECKS))}")
    names = chosen(options, rows)
    print(f"1..{len(names)}", flush=True)
    if options.only != "memory":
        go_first()
    referee = Referee(options)
    failed = 0
    try:
        for number, name in enumerate(names, 1):
            line = attempt(referee, name, rows[name].verdict)
            failed += line.startswith("not")
            print(line.format(number), flush=True)
    finally:
        referee.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
