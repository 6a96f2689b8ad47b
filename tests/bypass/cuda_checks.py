# SPDX-License-Identifier: Apache-2.0
"""The checks of attempts through CUDA: each function here returns the check of a row, or is one. A
check returns (verdict, facts)."""
import os
import re
import shutil
import tempfile
import time

from cuda_session import Program, Session, Trouble, worlds
from measured import MEASURES, bound

MIB = 1 << 20
QUOTA = 1024 * MIB
PIECE = 64 * MIB
CONTEXTS = 24 * MIB  # of a MiB each
POOL_PIECE = 32 * MIB  # by which a pool grows
MEMORY = ["--share", "0.3", "--memory", "1G"]
NEIGHBOUR = ["--share", "0.7", "--memory", "1G"]
SHARE = .3
TOLERANCE = bound(.05, .14)  # without a gate it would have half
LEFT = bound(.15, .65)  # of the other's 0.7: less hand-overs and this machine's delays
OUT_OF_MEMORY = 2
NOTICEABLE = .3  # seconds without the GPU; a slow holder may take 1
NOTICE_SECONDS = 60
# Only the variables that every machine with a driver sets.
DRIVER = ("sh", "-c", 'exec env -i "PATH=$PATH" "CLV_CUDA_DOUBLE=$CLV_CUDA_DOUBLE" '
          '"LD_LIBRARY_PATH=$LD_LIBRARY_PATH" "$@"', "sh")
# The double's library has more static TLS than glibc keeps for a library loaded twice, or late.
MORE_TLS = ("env", "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=65536")


class Stuck(Exception):
    """An attempt has lost its program: it neither ends nor continues."""


class Skipped(Exception):
    pass


class Referee:
    """Has the machine, the other tenant and the programs of the test."""

    def __init__(self, options):
        self.options = options
        self.session, self.neighbour, self.kind = None, None, None

    def have_session(self, **kind):
        """A machine of that kind; a new one if there is none or it was damaged."""
        if self.session and self.kind != kind:
            self.close()
        if not self.session:
            self.session, self.kind = Session(**kind), kind
        return self.session

    def way(self, *arguments):
        return [worlds.built("tests/bypass/bypass-cuda"), *arguments]

    def loader(self, way):
        return [worlds.built("tests/bypass/bypass-cuda-loader"), way,
                worlds.built("tests/doubles/cuda/driver/libcuda.so.1")]

    def have_neighbour(self):
        if not self.neighbour:
            self.neighbour = self.session.start(NEIGHBOUR, self.way("neighbour"), "neighbour")
            self.neighbour.wait_for(["go"])
            if self.kind.get("kernel") and not self.session.executor_is("is preempted"):
                raise Trouble("the device's turns are not ended by its driver")
        lease = self.session.leases()["neighbour"]
        return lease["processes"][0]["pid"]

    def close(self):
        if self.session:
            self.session.close()
        self.session, self.neighbour = None, None


# --- Memory ---

def took(session, before):
    """(bytes that the GPU has given to live processes, except for those with memory before)"""
    now = session.stats()[1]
    return sum(p["bytes"] for pid, p in now.items() if pid not in before)


def judge_memory(session, lines, got, slack=0, refused=True, notice=True):
    """held: the lease has its quota and no more; open: it has more, and the agent did not report
    it."""
    words = [line.split() for line in lines if line.startswith("got ")]
    codes = {int(line[3]) for line in words}
    facts = f"{got / MIB:.0f} MiB of {QUOTA // MIB}, codes {sorted(codes)}"
    if not words:
        raise Trouble(f"it said {lines}")
    if got > QUOTA + CONTEXTS:
        return noticed(session, facts) if notice else ("open", facts)
    if not refused:  # it may have less, and other errors
        return "held", facts
    if codes - {0, OUT_OF_MEMORY} or OUT_OF_MEMORY not in codes:
        raise Trouble(f"it should have been refused by {OUT_OF_MEMORY}: {facts}")
    if got < QUOTA - PIECE - slack:
        raise Trouble(f"it should have had all of its quota: {facts}")
    return "held", facts


def noticed(session, facts):
    """An attempt that is not held may be detected: in how many seconds the agent reports it."""
    seen = session.noticed_within(NOTICE_SECONDS)
    if not seen:
        return "open", f"{facts}; not detected"
    return "detected", f"{facts}; {seen[0]} after {seen[1]:.1f} s"


def static(referee, name):
    """A statically linked program."""
    path = worlds.built("tests/bypass/bypass-cuda-static")
    if not os.path.exists(path):
        raise Skipped("no static C library, or a build with sanitizers")
    session = referee.have_session()
    session.notice_from_here()
    before = set(session.stats()[1])
    program = session.start(
        MEMORY, [*MORE_TLS, path, "absolute", referee.loader(name)[2]], name)
    try:
        said = program.wait_for(["got", "no-device", "failed"])
        if said and said.startswith("no-device"):
            return "held", said
        if said is None or not said.startswith("got"):
            raise Trouble(f"it said {program.all_lines(1)}")
        return judge_memory(session, [said], took(session, before))
    finally:
        session.end(program)


static.order = 0


def counted(session, name, got, verdict):
    """Whether memory that no call showed is in the lease's figure, so that no more fits."""
    if verdict[0] != "detected":
        return verdict
    began = time.monotonic()
    while time.monotonic() - began < NOTICE_SECONDS:
        lease = session.leases()[name]
        if lease["memory_used_bytes"] > got - CONTEXTS:
            overhead = lease["memory_overhead_bytes"] / MIB
            return "charged", f"{verdict[1]}; {overhead:.0f} MiB of it are charged as overhead"
        time.sleep(.1)
    return verdict


def memory(way=None, before=(), loader=False, slack=0, says=False, refused=True, kind=None,
           slow=False, overhead=False):
    """An attempt that allocates memory until refused."""
    def check(referee, name):
        session = referee.have_session(**(kind or {}))
        session.notice_from_here()
        before_it = set(session.stats()[1])
        command = referee.loader(way or name) if loader else referee.way(way or name)
        program = session.start(MEMORY, [*before, *command], name,
                                {"BYPASS_HALF_PIECES": str(QUOTA // PIECE // 2)})
        try:
            first = program.wait_for(["got", "no-device", "no", "yes", "skip", "failed"], 30)
            if first is None or first.startswith("failed"):
                raise Trouble(f"it said {program.all_lines(1)}")
            lines = program.all_lines(.4)
            if first.startswith("skip"):
                raise Skipped(first)
            if first.startswith(("no", "yes")):
                return ("open" if first.startswith("yes") else "held"), first
            got = took(session, before_it) if not says else sum(
                int(line.split()[1]) for line in lines if line.startswith("got "))
            verdict = judge_memory(session, lines, got, slack, refused, not says)
            return counted(session, name, got, verdict) if overhead else verdict
        finally:
            session.end(program)
    check.order, check.slow = 0, slow
    return check


# --- Compute ---

def ran(before, after, pid):
    """(the part of the GPU's work that was not this process's; its own part of the time)"""
    def of(stats, only):
        return sum(p["run_ns"] for q, p in stats.items() if (q == pid) == only)
    own = of(after[1], True) - of(before[1], True)
    others = of(after[1], False) - of(before[1], False)
    return others / max(own + others, 1), own / max(after[0] - before[0], 1)


def measure(session, pid, seconds):
    before = session.stats()
    time.sleep(seconds)
    return ran(before, session.stats(), pid)


def judge_share(part, left, saturates):
    facts = f"{part:.3f} of what ran, for a share of {SHARE}; the other tenant ran {left:.2f}"
    if part > SHARE + TOLERANCE or left < 1 - SHARE - LEFT:
        return "open", facts
    if saturates and part < SHARE - 2 * TOLERANCE:
        raise Trouble(f"it should have had more: {facts}")
    return "held", facts


def share(*before, way=None, seconds=1.2, saturates=True, progress=True, settle=.3, kind=None,
          notice=False, slow=False):
    """An attempt to use more than its share, beside another tenant that is always busy."""
    def check(referee, name):
        session = referee.have_session(**(kind or {}))
        pid = referee.have_neighbour()
        session.notice_from_here()
        program = session.start(MEMORY, [*before, *referee.way(way or name)], name)
        try:
            said = program.wait_for(["go", "no-device", "failed"])
            if said != "go":
                raise Trouble(f"it said {program.all_lines(1)}")
            time.sleep(settle)
            part, left = measure(session, pid, seconds)
            # What it did and how it ended, if it has.
            if program.process.poll() is not None:
                raise Trouble(f"it ended: {program.all_lines(1)}")
            if any(line.startswith("failed") for line in drain(program)):
                raise Trouble(f"it said {program.lines}")
            if progress and part < .01:
                raise Stuck(f"of 0.3 it has {part:.3f}, the other tenant {left:.2f}")
            verdict = judge_share(part, left, saturates)
            if verdict[0] == "open" and notice:
                verdict = noticed(session, verdict[1])
        finally:
            session.end(program)
        return verdict
    check.order = 1
    check.slow = slow
    return check


def slow_release(referee, name):
    """The driver's own call to release the primary context does not return; the gate makes one
    before it."""
    session = referee.have_session()
    referee.have_neighbour()
    session.world.put("cuda-faults", "cuDevicePrimaryCtxRelease_v2 1+1 hang")
    try:
        return share(saturates=False)(referee, name)
    finally:
        session.world.put("cuda-faults", "")


slow_release.order = 1


def drain(program):
    try:
        while program.line(0) is not None:
            pass
    except TimeoutError:
        pass
    return program.lines


def paid(way=None, seconds=3.0, after=8.0, kind=None):
    """More for a while, and less afterwards: charged, if in the long run it has its share."""
    def check(referee, name):
        session = referee.have_session(**(kind or {}))
        pid = referee.have_neighbour()
        session.notice_from_here()
        program = session.start(MEMORY, referee.way(way or name), name)
        try:
            if program.wait_for(["go", "failed"]) != "go":
                raise Trouble(f"it said {program.lines}")
            before = session.stats()
            time.sleep(seconds)
            first = ran(before, session.stats(), pid)
            if first[0] < .01:
                raise Stuck(f"of 0.3 it has {first[0]:.3f}, the other tenant {first[1]:.2f}")
            if judge_share(*first, False)[0] == "held":
                return judge_share(*first, False)
            time.sleep(after)
            part, left = ran(before, session.stats(), pid)
            facts = (f"{first[0]:.3f} in {seconds:.0f} s, the other tenant {first[1]:.2f}; in the long "
                     f"run {judge_share(part, left, False)[1]}")
            return ("charged", facts) if part <= SHARE + TOLERANCE else noticed(session, facts)
        finally:
            session.end(program)
    check.order = 1
    check.slow = True
    return check


def gaps(trace, pid, begin, end):
    """The longest time in which the process did not run."""
    longest, last = 0, begin
    for _, start, stop in sorted(line for line in trace if line[0] == pid and line[2] > begin):
        longest, last = max(longest, start - last), max(last, stop)
    return max(longest, end - last)


def stall(way=None, at_most=1.2, seconds=3.0, kind=None):
    """The loss of others: the longest time in which the other tenant does not run at all."""
    def check(referee, name):
        session = referee.have_session(cuda="\ntrace 1", **(kind or {}))
        pid = referee.have_neighbour()
        program = session.start(MEMORY, referee.way(way or name), name)
        try:
            if program.wait_for(["go", "failed"]) != "go":
                raise Trouble(f"it said {program.lines}")
            before = session.stats()
            time.sleep(seconds)
            after = session.stats()
            longest = gaps(session.world.trace(), pid, before[0], after[0]) / 1e6
        finally:
            session.end(program)
        _, left = ran(before, after, pid)
        facts = f"the other tenant did not run for {longest:.0f} ms at the longest, and ran {left:.2f}"
        if longest > at_most * 1000:
            return "open", facts
        return ("charged" if longest > NOTICEABLE * 1000 else "held"), facts
    check.order = 1
    check.slow = True
    return check


# --- Programs that print the result themselves ---

def yes_or_no(way=None, neighbour=True, seconds=60):
    def check(referee, name):
        if not neighbour:
            referee.close()
        session = referee.have_session()
        if neighbour:
            referee.have_neighbour()
        program = session.start(MEMORY, referee.way(way or name), name)
        try:
            said = program.wait_for(["yes", "no", "failed"], seconds)
        except Trouble as trouble:
            raise Stuck(str(trouble)) from None
        finally:
            session.end(program)
        if said is None or said.startswith("failed"):
            raise Trouble(f"it said {program.lines}")
        return ("open" if said.startswith("yes") else "held"), said
    check.order = 1 if neighbour else 2
    return check


def endless(referee, name):
    """The others continue beside it after a second, and the agent reports that it hangs."""
    referee.close()
    session = referee.have_session(watch="every: 1s, hang: 2s")
    pid = referee.have_neighbour()
    session.notice_from_here()
    program = session.start(MEMORY, referee.way(name), name)
    program.wait_for(["go"])
    time.sleep(1.5)
    part, left = measure(session, pid, 3)
    return noticed(session, f"then {part:.2f} of what ran; the other tenant ran {left:.2f}")


endless.order, endless.slow = 2, True


# With the kernel driver, by which the agent ends turns.
HARDWARE = {"kernel": True}


def comes_late(referee, name):
    """How soon a new program runs on a GPU that another keeps full."""
    if not MEASURES:
        raise Skipped("a figure of time: ./dev measure")
    referee.close()
    session = referee.have_session(cuda="\ntrace 1")
    full = session.start(MEMORY, referee.way("queue"), "full")
    full.wait_for(["go"])
    time.sleep(.3)
    waits = []
    for _ in range(5):
        late = session.start(["--share", "0.3"], referee.way("first-kernel"), name)
        submitted = int(late.wait_for(["submitted"]).split()[1])
        late.wait_for(["done"])
        pid = session.leases()[name]["processes"][0]["pid"]
        began = min(line[1] for line in session.world.trace() if line[0] == pid)
        waits.append((began - submitted) / 1e6)
        session.end(late)
    facts = f"its first kernel began after {max(waits):.1f} ms at the latest, of {len(waits)}"
    return ("held" if min(waits) < 50 and max(waits) < 250 else "open"), facts


comes_late.order = 2


def as_other_user(referee, name):
    """A program with the set-user-ID bit: the loader ignores LD_PRELOAD. It is not started, or runs
    as another user."""
    if os.geteuid() != 0:
        raise Skipped("only root may")
    session = referee.have_session()
    session.notice_from_here()
    before = set(session.stats()[1])
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "program")
        shutil.copy(referee.loader(name)[0], copy)
        os.chmod(folder, 0o755)
        session.world.let_others_in()
        os.chown(copy, 65534, 65534)
        os.chmod(copy, 0o6755)
        program = session.start(MEMORY, [copy, "absolute", referee.loader(name)[2]], name)
        try:
            said = program.wait_for(["got", "no-device", "failed", "cleave"])
            if said and said.startswith("cleave:") and "set-user-ID" in said:
                return "held", "not started"
            if said is None or not said.startswith("got"):
                raise Trouble(f"it said {program.all_lines(1)}")
            return judge_memory(session, [said], took(session, before))
        finally:
            session.end(program)


as_other_user.order = 0

VISIBLE = (None, "", "0", "1", "-1", "0,1", "1,0", "0,0", "00", " 0", "+0", "0x0", "99", "2147483648",
           "GPU-", "GPU", "gpu-", "MIG-0", "0;1", ",0", "none", "0, 1", "all")


def devices(referee, name):
    """Lists of devices as programs and schedulers write them: none shows the other GPU."""
    referee.close()
    session = referee.have_session(node="gpu H100-80GB\ngpu H100-80GB")
    seen = {}
    for said in VISIBLE:
        env = ["env", "-u", "CUDA_VISIBLE_DEVICES"]
        env += [f"CUDA_VISIBLE_DEVICES={said}"] if said is not None else []
        program = session.start(MEMORY, [*env, *referee.way("count")], name)
        line = program.wait_for(["devices"])
        session.end(program)
        seen[said] = line
    more = {said: line for said, line in seen.items()
            if line not in ("devices 1 code 0", "devices 0 code 100")}
    shown = sum(line == "devices 1 code 0" for line in seen.values())
    return ("open" if more else "held"), f"{shown} of {len(seen)} show the lease's own; {more}"


devices.order = 2


def deaf(referee, name):
    """With two GPUs, a program whose setenv does nothing."""
    referee.close()
    session = referee.have_session(node="gpu H100-80GB\ngpu H100-80GB")
    program = session.start(MEMORY, ["env", "-u", "CUDA_VISIBLE_DEVICES",
                                     worlds.built("tests/bypass/bypass-cuda-deaf")], name)
    line = program.wait_for(["devices"])
    return ("held" if line in ("devices 1 code 0", "devices 0 code 100") else "open"), str(line)


deaf.order = 2


def other_lease(referee, name):
    """With the socket of a lease that has more."""
    referee.close()
    session = referee.have_session()
    bigger = session.start(["--share", "0.1", "--memory", "8G"], referee.way("hold"), "bigger")
    bigger.wait_for(["go"])
    before = set(session.stats()[1])
    path = session.leases()["bigger"]["socket"]
    program = session.start(
        MEMORY, ["env", f"CLEAVE_LEASE={path}", *referee.way("allocations")], name)
    line = program.wait_for(["got", "no-device"])
    if line.startswith("no-device"):
        return "held", "refused by the agent"
    lines = program.all_lines(.7)
    return judge_memory(session, lines, took(session, before))


other_lease.order = 2


def quota_changes(referee, name):
    """Smaller and larger while the program has memory (HAMi 1674)."""
    session = referee.have_session()
    program = session.start(MEMORY, referee.way("step"), name)
    said = []

    def step(times=1):
        for _ in range(times):
            program.process.stdin.write(b"x")
            program.process.stdin.flush()
            said.append(program.wait_for(["step"]).split()[1])

    def resize(n_bytes):
        status, _ = session.agent.request("PATCH", f"/v1/leases/{name}", {"memory_bytes": n_bytes})
        if status != 200:
            raise Trouble(f"status {status}")

    try:
        program.wait_for(["go"])
        step(8)
        resize(QUOTA // 4)
        step()
        resize(QUOTA // 2 + PIECE)
        step(2)
    finally:
        session.end(program)
    good = said == ["0"] * 8 + ["2", "0", "2"]
    return ("held" if good else "open"), f"of 64 MiB each: {' '.join(said)}"


quota_changes.order = 0


def capped(referee, name):
    """Alone on the GPU, with a cap (HAMi 737)."""
    referee.close()
    session = referee.have_session()
    program = session.start(["--share", "0.3", "--cap", "0.3"], referee.way("queue"), name)
    program.wait_for(["go"])
    time.sleep(.5)
    before = session.stats()
    time.sleep(2)
    after = session.stats()
    busy = [sum(p["run_ns"] for p in stats[1].values()) for stats in (before, after)]
    part = (busy[1] - busy[0]) / (after[0] - before[0])
    return ("held" if part < SHARE + TOLERANCE else "open"), f"{part:.3f} of the time"


capped.order = 2


def two_gpus(referee, name):
    """The limits of one GPU hold on the other (HAMi-core 104)."""
    referee.close()
    session = referee.have_session(node="gpu H100-80GB\ngpu H100-80GB")
    pids = {}
    for gpu in ("gpu0", "gpu1"):
        for part in (.3, .7):
            full = [worlds.built("src/cli/cleave"), "run", "--socket", session.agent.api, "--share",
                    str(part), "--name", f"{gpu}-{part}", "--device", gpu, "--",
                    *referee.way("neighbour")]
            program = Program(f"{gpu}-{part}", full, session.agent.env)
            session.programs.append(program)
            program.wait_for(["go"])
            pids[gpu, part] = session.leases()[program.name]["processes"][0]["pid"]
    time.sleep(.4)
    before = session.stats()[1]
    time.sleep(2)
    after = session.stats()[1]
    did = {key: after[pid]["run_ns"] - before[pid]["run_ns"] for key, pid in pids.items()}
    parts = [did[gpu, .3] / (did[gpu, .3] + did[gpu, .7]) for gpu in ("gpu0", "gpu1")]
    worst = max(abs(part - .3) for part in parts)
    facts = f"{parts[0]:.3f} and {parts[1]:.3f} of what ran, for shares of .3"
    return ("held" if worst < TOLERANCE else "open"), facts


two_gpus.order = 2


def swings(referee, name):
    """The share in every 100 ms, not only on average (HAMi-core 37)."""
    if not MEASURES:
        raise Skipped("a figure of time: ./dev measure")
    referee.close()
    session = referee.have_session(cuda="\ntrace 1")
    pid = referee.have_neighbour()
    program = session.start(MEMORY, referee.way("queue"), name)
    program.wait_for(["go"])
    time.sleep(2.6)
    now = session.stats()[0]
    text = session.world.trace()
    session.end(program)
    parts = []
    for window in range(20):
        begin = now - 2_200_000_000 + window * 100_000_000
        did = {True: 0, False: 0}
        for line in text:
            did[line[0] == pid] += max(0, min(line[2], begin + 100_000_000) - max(line[1], begin))
        parts.append(did[False] / max(sum(did.values()), 1))
    worst = max(abs(part - SHARE) for part in parts)
    facts = f"between {min(parts):.2f} and {max(parts):.2f} in windows of 100 ms"
    return ("held" if worst < .2 else "open"), facts


swings.order = 2


def hooked(options):
    """The gate's symbols, with their variants."""
    names = []
    with open(options.hooks, encoding="utf-8") as file:
        for line in file:
            match = re.match(r"(?:gate|own|refuse)\s+(\w+) \d+ (-|pt[ds][sz])", line)
            if match:
                names.append(match[1])
                names += [f"{match[1]}_{match[2]}"] * (match[2] != "-")
    return names


def forged(referee, name):
    """The gate returns an error where the driver does."""
    referee.close()
    session = referee.have_session()
    names, wrong = hooked(referee.options), []
    for pattern in ("zero", "nothing", "ones"):
        said = []
        for start in (session.start_outside, lambda *a: session.start(MEMORY, *a)):
            program = start(referee.way("forged", pattern), name)
            program.process.stdin.write("\n".join(names).encode())
            program.process.stdin.close()
            program.wait_for(["called"], 60)
            said.append(set(program.lines))
            session.end(program)
        wrong += [f"{line} ({pattern})" for line in sorted(said[1] - said[0])]
    facts = f"{len(names)} calls by three; {', '.join(wrong) or 'none crashes or hangs'}"
    return ("open" if wrong else "held"), facts


forged.order, forged.slow = 2, True
