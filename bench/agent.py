# SPDX-License-Identifier: Apache-2.0
"""The agent as a service: ten thousand leases on a hundred simulated devices, requests beside
running tenants, streams of events, and agents that replace each other.

Times are measured by a client on the Unix socket and include the client's own part.
"""
import contextlib
import json
import os
import sqlite3
import tempfile
import threading
import time

import agent_attack
import upgrade
from agent_process import Agent
from agent_socket import Connection
from measure import percentile
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
# A new lease writes some eight pages of the state file's log.
DISK_EVERY, DISK_ROOM, DISK_BLOCK = 10, 64, bytes(32 << 10)


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


def measure_beside(context):
    """The shares of three tenants, by their kernels' time, with and without the requests."""
    seconds = QUICK_BESIDE_SECONDS if context.quick else BESIDE_SECONDS
    promised = {"a": 0.2, "b": 0.5, "c": 0.3}
    with Session(context.build, True) as session:
        calibration = session.calibrate()
        tenants = [session.spawn(name, ["--kernel", 1000, "--cal", calibration],
                                 Lease(share))
                   for name, share in promised.items()]
        alone = session.block(tenants, seconds).parts()
        asker = Asker(session.folder / "run/cleave/api.sock")
        asker.start()
        beside = session.block(tenants, seconds).parts()
        asker.is_over.set()
        asker.join()
    context.add("agent", "requests", "rate", asker.n / asker.seconds, "per second")
    context.add("agent", "requests", "worst_change",
                100 * max(abs(beside[name] - alone[name]) for name in promised), "points")


def replace(case):
    def act(context):
        with Session(context.build, True) as session:
            upgrade.run(context, session, case, upgrade.NUMBERS[case])
    return act


CASES = {"many": measure_many, "few": measure_few, "streams": measure_streams,
         "requests": measure_beside, **agent_attack.CASES,
         **{case: replace(case) for case in upgrade.NUMBERS}}


def run(context):
    if not context.with_cleave:
        return
    for name, act in CASES.items():
        if context.wants(name):
            act(context)
