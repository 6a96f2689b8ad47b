# SPDX-License-Identifier: Apache-2.0
"""The agent as a service: ten thousand leases on a hundred simulated devices, requests beside
running tenants, streams of events, and agents that replace each other.

Times are measured by a client on the Unix socket and include the client's own part.
"""
import contextlib
import http.client
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import upgrade
from agent_socket import Connection
from tenants import BenchError, Lease, Session

DEVICES, LEASES, FEW = 100, 10_000, 10
QUICK_LEASES = 500
RELEASES = 2_000
LOOKS = 20
PAGE, READINGS = 100, 5
WHOLE_PAGE, CHANGED = 100, 20
IDLE_SECONDS, QUICK_IDLE_SECONDS = 20, 2
STREAMS, QUICK_STREAMS = 500, 50
STREAM_EVENTS = 20
REQUESTS_PER_SECOND = 1_000
BESIDE_SECONDS, QUICK_BESIDE_SECONDS = 10, 2
NODE = "version: 1\nname: bench\ndevices:\n"
ENTRY = "  - {model: A100-40GB, count: %d}\n"
PER_ENTRY = 1000
# A new lease writes some eight pages of the state file's log.
DISK_EVERY, DISK_ROOM, DISK_BLOCK = 10, 64, bytes(32 << 10)
MEMORY = Path("/dev/shm")
ATTACKER = Path(__file__).resolve().parent.parent / "tests/integration/attacker.py"
ATTACKERS, ATTACK_SECONDS, QUICK_ATTACK_SECONDS = 16, 60, 5
ATTACK_ASKED_PER_SECOND = 100


class Agent:
    """cleaved on a node with n simulated devices, in temporary folders."""

    def __init__(self, build, n_devices, arguments=()):
        self.arguments = list(arguments)
        self.log = subprocess.DEVNULL
        self.program = Path(build) / "src/agent/cleaved"
        self.folder = tempfile.TemporaryDirectory(prefix="cleave-bench-")
        self.root = Path(self.folder.name)
        # Sockets are in memory, as in /run, and the state file is on a disk.
        self.runtime = tempfile.TemporaryDirectory(
            prefix="cleave-bench-", dir=MEMORY if MEMORY.is_dir() else None)
        entries = [ENTRY % min(PER_ENTRY, n_devices - done)
                   for done in range(0, n_devices, PER_ENTRY)]
        (self.root / "node.yaml").write_text(NODE + "".join(entries))
        self.socket = Path(self.runtime.name) / "run/api.sock"
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        self.folder.cleanup()
        self.runtime.cleanup()

    def start(self):
        """Starts the agent; returns the milliseconds until it is ready to create leases."""
        began = time.monotonic()
        self.process = subprocess.Popen(
            [str(self.program), "--foreground", f"--sim={self.root / 'node.yaml'}",
             f"--runtime-dir={self.socket.parent}", f"--state-dir={self.root / 'state'}",
             f"--lock-dir={self.runtime.name}", *self.arguments],
            stderr=self.log)
        while time.monotonic() < began + 60:
            try:
                connection = Connection(self.socket)
                if json.loads(connection.ask("GET", "/readyz"))["ready"]:
                    return 1000 * (time.monotonic() - began)
            except (OSError, BenchError, http.client.HTTPException):
                pass
            finally:
                connection.close()
            time.sleep(0.001)
        raise BenchError("cleaved was not ready within a minute")

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(60)

    def connect(self):
        return Connection(self.socket)

    def resident_mb(self):
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1000
        raise BenchError("cleaved has ended")

    def processor_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


class Disk:
    """The time in which the disk alone writes and syncs as much as a new lease writes."""

    def __init__(self, folder):
        self.file = tempfile.TemporaryFile(dir=folder)
        for _ in range(DISK_ROOM):
            self.file.write(DISK_BLOCK)
        self.file.flush()
        os.fsync(self.file.fileno())
        self.took = []

    def write(self):
        at = len(self.took) % DISK_ROOM * len(DISK_BLOCK)
        os.pwrite(self.file.fileno(), DISK_BLOCK, at)
        began = time.monotonic()
        os.fdatasync(self.file.fileno())
        self.took.append(1000 * (time.monotonic() - began))


def a_share(n, n_devices):
    """The share of one of n leases that together fill the devices."""
    return {"share": round(n_devices / max(n, n_devices), 6), "memory_bytes": 1 << 20}


def create(connection, names, n_devices, total, disk=None):
    """Creates the leases of these numbers, of total ones.  Returns the milliseconds of each, and
    the ids; times the disk between them."""
    took, ids = [], []
    for i in names:
        if disk and i % DISK_EVERY == 0:
            disk.write()
        ms, data = connection.timed("POST", "/v1/leases", {
            **a_share(total, n_devices), "device": f"gpu{i % n_devices}", "name": f"lease-{i}"})
        took.append(ms)
        ids.append(json.loads(data)["id"])
    return took, ids


def change_leases(connection, method, requests, disk):
    """Sends requests (URL, body); returns the milliseconds of each; times the disk between
    them."""
    took = []
    for i, request in enumerate(requests):
        if i % DISK_EVERY == 0:
            disk.write()
        took.append(connection.timed(method, *request)[0])
    return took


def add_changes(context, name, took, disk):
    """The 99th percentile, and by how much it exceeds what the disk alone explains."""
    most = percentile(took, 0.99)
    context.add("agent", "many", f"{name}_p99", most, "ms")
    context.add("agent", "many", f"{name}_over_disk",
                most - 1.5 * percentile(disk.took, 0.99), "ms")


def look(connection, url):
    return percentile([connection.timed("GET", url)[0] for _ in range(LOOKS)], 0.5)


def reading_ms(path):
    """The time in which SQLite alone reads the leases of a state file."""
    began = time.monotonic()
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        for table in ("leases", "lease_devices", "holders", "processes"):
            database.execute(f"SELECT * FROM {table}").fetchall()
    return 1000 * (time.monotonic() - began)


def measure_many(context):
    n = QUICK_LEASES if context.quick else LEASES
    with Agent(context.build, DEVICES) as agent:
        connection = agent.connect()
        disk = Disk(agent.root)
        first, first_ids = create(connection, range(PAGE), DEVICES, n, disk)
        page_of_few = look(connection, "/v1/leases")
        took, ids = create(connection, range(PAGE, n), DEVICES, n, disk)
        took, ids = first + took, first_ids + ids
        context.add("agent", "many", "create_p50", percentile(took, 0.5), "ms")
        context.add("agent", "many", "disk_p50", percentile(disk.took, 0.5), "ms")
        context.add("agent", "many", "disk_p99", percentile(disk.took, 0.99), "ms")
        add_changes(context, "create", took, disk)
        page = look(connection, "/v1/leases")
        context.add("agent", "many", "first_page", page, "ms")
        context.add("agent", "many", "first_page_ratio", page / page_of_few, "x")
        measure_console(context, connection, ids)
        context.add("agent", "many", "scrape", look(connection, "/metrics"), "ms")
        context.add("agent", "many", "resident", agent.resident_mb(), "MB")
        connection.close()
        measure_idle(context, agent)
        # The leases are adopted, because their holder, this process, is alive.
        agent.stop()
        reading = percentile([reading_ms(agent.root / "state/cleaved.db")
                              for _ in range(READINGS)], 0.5)
        ready = agent.start()
        context.add("agent", "many", "ready", ready, "ms")
        context.add("agent", "many", "ready_ratio", ready / reading, "x")
        connection = agent.connect()
        names = ids[:min(n, RELEASES)]
        add_changes(context, "release", change_leases(
            connection, "DELETE", [(f"/v1/leases/{name}",) for name in names], disk), disk)
        add_changes(context, "placed", change_leases(
            connection, "POST", [("/v1/leases", a_share(n, DEVICES))] * len(names), disk), disk)
        connection.close()


def fetch_all(connection):
    """All leases as the console fetches them at first: the milliseconds of each page, and the
    revision of the last: nothing changes between them."""
    took, revision, after = [], None, ""
    while after is not None:
        ms, data = connection.timed("GET", f"/v1/leases?limit={WHOLE_PAGE}{after}")
        answer = json.loads(data)
        took.append(ms)
        after = answer["next"] and f"&after={answer['next']}"
        revision = answer["revision"]
    return took, revision


def measure_console(context, connection, ids):
    """What the console requests each second: devices, and leases that have changed since."""
    devices = look(connection, "/v1/devices")
    whole, revision = fetch_all(connection)
    took = []
    for n in range(LOOKS):
        for i in range(CHANGED):
            connection.ask("PATCH", f"/v1/leases/{ids[(n * CHANGED + i) % len(ids)]}",
                           {"class": "batch" if n % 2 == 0 else "latency"})
        ms, data = connection.timed("GET", f"/v1/leases?limit={WHOLE_PAGE}&since={revision}")
        answer = json.loads(data)
        revision = answer["revision"]
        took.append(ms)
        if len(answer["items"]) != CHANGED:
            raise BenchError(f"{len(answer['items'])} leases have changed, not {CHANGED}")
    changes = percentile(took, 0.5)
    context.add("agent", "many", "devices", devices, "ms")
    context.add("agent", "many", "leases_page", percentile(whole, 0.5), "ms")
    context.add("agent", "many", "changes", changes, "ms")
    context.add("agent", "many", "console", devices + changes, "ms")


def measure_idle(context, agent):
    context.add("agent", "many", "idle_cpu", idle_percent(
        agent, QUICK_IDLE_SECONDS if context.quick else IDLE_SECONDS), "percent")


def idle_percent(program, seconds):
    """Percent of one processor that the idle agent uses."""
    before = program.processor_seconds()
    time.sleep(seconds)
    return 100 * (program.processor_seconds() - before) / seconds


def measure_few(context):
    with Agent(context.build, 1) as agent:
        connection = agent.connect()
        create(connection, range(FEW), 1, FEW)
        context.add("agent", "few", "resident", agent.resident_mb(), "MB")
        connection.close()


class Stream(threading.Thread):
    """Reads events until it has read the last one."""

    def __init__(self, agent, last_name):
        super().__init__(daemon=True)
        self.last_name = last_name
        self.seen = []
        self.connection = agent.connect()
        self.connection.request("GET", "/v1/events/stream")
        self.answer = self.connection.getresponse()

    def run(self):
        for line in self.answer:
            if not line.startswith(b"data: "):
                continue
            event = json.loads(line[6:])
            self.seen.append(event["id"])
            if event["name"] == self.last_name:
                return


def measure_streams(context):
    n = QUICK_STREAMS if context.quick else STREAMS
    with Agent(context.build, 1) as agent:
        streams = [Stream(agent, f"lease-{STREAM_EVENTS - 1}") for _ in range(n)]
        for stream in streams:
            stream.start()
        connection = agent.connect()
        began = time.monotonic()
        create(connection, range(STREAM_EVENTS), 1, STREAM_EVENTS)
        for stream in streams:
            stream.join(30)
        took = time.monotonic() - began
        whole = sum(stream.seen == list(range(stream.seen[0], stream.seen[0] + STREAM_EVENTS))
                    for stream in streams if stream.seen)
        context.add("agent", "streams", "incomplete", n - whole, "")
        context.add("agent", "streams", "events_per_second", n * STREAM_EVENTS / took,
                    "per second")
        for stream in streams:
            stream.connection.close()
        connection.close()


class Asker(threading.Thread):
    """Sends a fixed number of requests a second until it is stopped."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.connection = Connection(path)
        self.is_over = threading.Event()
        self.n, self.seconds = 0, 0.0

    def run(self):
        began = time.monotonic()
        while not self.is_over.is_set():
            self.connection.ask("GET", "/v1/leases")
            self.n += 1
            time.sleep(max(0, began + self.n / REQUESTS_PER_SECOND - time.monotonic()))
        self.seconds = time.monotonic() - began
        self.connection.close()


def shares_of(block):
    """Each tenant's part of the work of all."""
    return {name: block.rate(name) / block.work_rate() for name in block.records}


def measure_beside(context):
    """The shares of three tenants, by their kernels' time, with and without the requests."""
    seconds = QUICK_BESIDE_SECONDS if context.quick else BESIDE_SECONDS
    promised = {"a": 0.2, "b": 0.5, "c": 0.3}
    with Session(context.build, True) as session:
        calibration = session.calibrate()
        tenants = [session.spawn(name, ["--kernel", 1000, "--cal", calibration],
                                 Lease(share))
                   for name, share in promised.items()]
        alone = shares_of(session.block(tenants, seconds))
        asker = Asker(session.folder / "run/cleave/api.sock")
        asker.start()
        beside = shares_of(session.block(tenants, seconds))
        asker.is_over.set()
        asker.join()
    context.add("agent", "requests", "rate", asker.n / asker.seconds, "per second")
    context.add("agent", "requests", "worst_change",
                100 * max(abs(beside[name] - alone[name]) for name in promised), "points")


def attack_arguments(folder):
    """Settings with a port: (arguments of the agent, arguments of an attacker).  Root attacks as a
    user without permissions; another user's agent serves no one else, so the attacker comes over
    the network without a token."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = Path(folder) / "settings.yaml"
    settings.write_text(f"version: 1\nlisten: {{port: {port}}}\n")
    if os.geteuid() == 0:
        return ["--config", str(settings), "--system"], ["65534"]
    return ["--config", str(settings)], ["", str(port)]


def size_of(folder):
    """Bytes of the state and of the log."""
    return sum(path.stat().st_size for path in [folder / "log", *(folder / "state").glob("*.db*")])


def measure_attack(context):
    """The requests of another user beside an attacker, and what the attacker makes the agent
    write."""
    seconds = QUICK_ATTACK_SECONDS if context.quick else ATTACK_SECONDS
    with tempfile.TemporaryDirectory(prefix="cleave-bench-") as folder:
        own, attackers = attack_arguments(folder)
        agent = Agent(context.build, 1, own)
        with (agent.root / "log").open("wb") as agent.log, agent:
            os.chmod(agent.runtime.name, 0o755)
            connection = agent.connect()
            connection.ask("GET", "/v1/leases")
            before = size_of(agent.root)
            processes = [subprocess.Popen(
                [sys.executable, str(ATTACKER), str(agent.socket), str(seconds), *attackers],
                stdout=subprocess.PIPE, text=True) for _ in range(ATTACKERS)]
            took, until = [], time.monotonic() + seconds
            while time.monotonic() < until:
                took.append(connection.timed("GET", "/v1/leases")[0])
                time.sleep(1 / ATTACK_ASKED_PER_SECOND)
            n = sum(sum(json.loads(process.communicate()[0]).values()) for process in processes)
            grown = size_of(agent.root) - before
            connection.close()
    context.add("agent", "attack", "rate", n / seconds, "per second")
    context.add("agent", "attack", "others_p99", percentile(took, 0.99), "ms")
    context.add("agent", "attack", "written", grown / 1e6, "MB")


def replace(case):
    def act(context):
        with Session(context.build, True) as session:
            upgrade.run(context, session, case, upgrade.NUMBERS[case])
    return act


CASES = {"many": measure_many, "few": measure_few, "streams": measure_streams,
         "requests": measure_beside, "attack": measure_attack,
         **{case: replace(case) for case in upgrade.NUMBERS}}


def run(context):
    if not context.with_cleave:
        return
    for name, act in CASES.items():
        if context.wants(name):
            act(context)
