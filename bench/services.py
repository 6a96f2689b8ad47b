# SPDX-License-Identifier: Apache-2.0
"""Services of a compose file under load: failed requests while replicas come and go and programs are
killed, what cleave adds to the start of a replica that a request wakes, and what services that
sleep cost.

Podman, HAProxy, the agent and the programs are those of tests/services, which has the settings."""
import contextlib
import http.client
import os
import random
import signal
import socket
import statistics
import sys
import time
from pathlib import Path

from tenants import BenchError

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests/services"))
import bed  # noqa: E402

REQUESTS, QUICK_REQUESTS = 10_000, 300
WAKES, QUICK_WAKES = 10, 2
SLEEPERS, QUICK_SLEEPERS = 50, 5  # of each of two projects
IDLE_SECONDS, QUICK_IDLE_SECONDS = 30, 3
SLEEPS = {"autoscaling": {"minReplicas": 1, "maxReplicas": 2, "idleMinutesBeforeScalingDown": 2},
          "serverlessConfiguration": {"enableAutoStop": True, "targetPort": 8080}}
SHARE = {"share": .2}


class Machine(bed.Bed):
    def runTest(self):
        """The bench calls the parts."""


def machine(context):
    bed.PROGRAMS.update(cleave=str(context.build / "src/cli/cleave"),
                        cleaved=str(context.build / "src/agent/cleaved"),
                        gates=str(context.build / "src/gate"))
    one = Machine()
    try:
        one.setUp()
    except BaseException:
        one.doCleanups()
        raise
    return one


# --- Failed requests ---

class Requests:
    """Threads that send requests, with a connection each or a new one each time, until a number is
    reached and the programme of changes has ended."""

    def __init__(self, port, least):
        self.loads = [bed.Load(port, keep_alive=i % 2 == 0) for i in range(4)]
        self.least = least

    def n(self):
        return sum(load.n for load in self.loads)

    def end(self):
        while self.n() < self.least:
            time.sleep(.1)
        return [failure for load in self.loads for failure in load.end().failures]


def scale(one, path, rng):
    one.cleave("scale", f"web={rng.randint(1, 2)}")


def update(one, path, rng):
    web = one.web(rng.randrange(1_000_000))
    one.cleave("up", one.file(web=web))


def kill_a_replica(one, path, rng):
    name = rng.choice(one.containers())
    pid = int(one.engine("inspect", name, "--format={{.State.Pid}}"))
    if pid > 1:
        os.kill(pid, signal.SIGKILL)
    time.sleep(rng.uniform(.2, 2))


def kill_the_supervisor(one, path, rng):
    pid = one.supervisor()
    if pid:
        os.kill(pid, signal.SIGKILL)
    time.sleep(rng.uniform(0, 1))
    one.cleave("up", path)


CHANGES = (scale, update, kill_a_replica, kill_the_supervisor)


def measure_failures(context, one, seed):
    rng, port = random.Random(seed), bed.free_port()
    one.web = lambda version: one.service(
        port, environment={"VERSION": str(version), "DEVICE": "1"}, deploy={"replicas": 2},
        **{"x-cleave": SHARE})
    path = one.file(web=one.web(0))
    one.cleave("up", path)
    requests = Requests(port, QUICK_REQUESTS if context.quick else REQUESTS)
    n = 0
    for _ in range(1 if context.quick else 5):
        for change in rng.sample(CHANGES, len(CHANGES)):
            change(one, path, rng)
            n += 1
    failures = requests.end()
    for failure in failures[:5]:
        context.tell(f"services: a request failed: {failure}")
    one.cleave("down", one.name)
    return requests.n(), n, len(failures)


# --- Waking ---

def seconds_to_answer(port, timeout=60):
    began = time.monotonic()
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
            connection.request("GET", "/")
            status = connection.getresponse().status
            connection.close()
        except OSError:
            status = None
        if status == 200:
            return time.monotonic() - began
        if time.monotonic() - began > timeout:
            raise BenchError(f"no answer within {timeout} s: status {status}")
        time.sleep(.002)


def start_bare(one, i):
    """The same container by podman alone, from its command to the first answer."""
    port = bed.free_port()
    options = [f"--volume={each}" for each in one.service()["volumes"]]
    began = time.monotonic()
    one.engine("run", "--detach", f"--name=bare-{i}", f"--publish=127.0.0.1:{port}:8080", *options,
               bed.IMAGE, "python3", "/srv/replica.py")
    seconds_to_answer(port)
    took = time.monotonic() - began
    one.engine("rm", "--force", "--time=0", f"bare-{i}")
    return took


def measure_wakes(context, one):
    """(bare, waked) seconds, in turn."""
    port, pairs = bed.free_port(), []
    one.up(web=one.service(port, **{"x-omnistrate-capabilities": SLEEPS}))
    for i in range(QUICK_WAKES if context.quick else WAKES):
        one.wait_until(lambda: one.status()["web"]["state"] == "asleep" and not one.containers(), "sleep")
        bare = start_bare(one, i)
        pairs.append((bare, seconds_to_answer(port)))
    one.cleave("down", one.name)
    return pairs


# --- Sleepers ---

def descendants(pid):
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += descendants(int(child))
    return found


def cpu_seconds(pids):
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def pss_bytes(pid):
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) << 10
    return 0


def programs_of(one):
    """The supervisor, and the proxies, which outlive it."""
    folder = Path(one.folder, "services", one.name)
    pids = {one.supervisor()}
    for path in folder.glob("*.pid"):
        pids |= set(descendants(int(path.read_text())))
    return sorted(pids | set(descendants(one.supervisor())))


def free_ports(n):
    """Different ones."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(n)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def measure_sleepers(context, machines):
    n = QUICK_SLEEPERS if context.quick else SLEEPERS
    ports = free_ports(n * len(machines))
    for one in machines:
        services = {f"s{i}": one.service(ports.pop(), **{"x-omnistrate-capabilities": {
            **SLEEPS, "autoscaling": {"minReplicas": 0, "maxReplicas": 1}}}) for i in range(n)}
        one.up(**services)
        one.wait_until(lambda one=one: all(each["state"] == "asleep" for each in one.status().values()),
                       "sleep", 600)
    pids = [pid for one in machines for pid in programs_of(one)]
    seconds = QUICK_IDLE_SECONDS if context.quick else IDLE_SECONDS
    before = cpu_seconds(pids)
    time.sleep(seconds)
    part = (cpu_seconds(pids) - before) / seconds
    return part, sum(map(pss_bytes, pids))


def with_machines(context, n, function):
    machines = []
    try:
        for _ in range(n):
            machines.append(machine(context))
        return function(machines)
    finally:
        for one in machines:
            one.doCleanups()


def run(context):
    if not context.with_cleave or not any(map(context.wants, ("failures", "wake", "sleepers"))):
        return
    why = bed.why_not()
    if why:
        context.leave_out("services", why)
        return
    if context.wants("failures"):
        seed = random.randrange(1 << 32)
        context.tell(f"services: seed {seed}")
        n, changes, failed = with_machines(
            context, 1, lambda machines: measure_failures(context, machines[0], seed))
        context.add("services", "failures", "requests", n, "requests")
        context.add("services", "failures", "changes", changes, "changes")
        context.add("services", "failures", "failed", failed, "requests")
    if context.wants("wake"):
        pairs = with_machines(context, 1, lambda machines: measure_wakes(context, machines[0]))
        added = [(waked - bare) * 1000 for bare, waked in pairs]
        context.add("services", "wake", "bare_p50", statistics.median(b for b, _ in pairs) * 1000, "ms")
        context.add("services", "wake", "added_p50", statistics.median(added), "ms")
    if context.wants("sleepers"):
        part, n_bytes = with_machines(context, 2, lambda machines: measure_sleepers(context, machines))
        context.add("services", "sleepers", "cpu", part * 100, "percent")
        context.add("services", "sleepers", "memory", n_bytes / 1e6, "MB")
