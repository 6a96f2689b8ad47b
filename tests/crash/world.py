# SPDX-License-Identifier: Apache-2.0
"""An agent, tenants, and the runner's observations: the tenants' accounts, the agent's answers, its
pages."""
import collections
import http.client
import json
import mmap
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "integration"))
from measured import MEASURES, bound  # noqa: E402

WORDS = ("state pid held_bytes stage pending_bytes submitted completed last_completion_ns "
         "max_stall_ns error wrong verified freeze frozen n_allocations n_refused act acted "
         "child child_code hold held").split()
RUNNING, FAILED = 1, 2
ALLOCATING = 1
ACTS = {name: number for number, name in enumerate(
    ("none", "closefrom", "raw-clone", "vfork-exec", "fork-exec", "exec-self",
     "exec-other"))}
MIB = 1 << 20
GRANTED = 3
PATIENCE_S = 60  # a bound for what hangs
# When measured: a holder that does not drain stalls the others for one drain timeout.
MAX_STALL_S = 1.5
SLOT = struct.Struct("=QQQ")  # entered, done, memory_bytes
SLOT_BYTES, SLOTS = 64, 1024


class Failure(Exception):
    """A violated expectation."""


def expect(condition, *what):
    if not condition:
        raise Failure(" ".join(str(w) for w in what))


def wait_until(condition, seconds, what, pause=0.005):
    """Returns the condition's value; fails if it stays false, for the given time where that is
    measured."""
    seconds = bound(seconds, max(seconds, PATIENCE_S))
    until = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > until:
            raise Failure(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(pause)


def continues(*accounts, n_kernels=20, errors=str):
    """Each program completes so many more kernels, at any speed."""
    before = [account.completed for account in accounts]

    def done():
        return [account.completed - first for account, first in zip(accounts, before)]
    wait_until(lambda: min(done()) >= n_kernels, PATIENCE_S, lambda: f"{n_kernels} kernels each: "
               f"{done()} are complete: {[a.error_text() for a in accounts]} {errors()}")


def was_not_stalled(name, account):
    """Returns the longest time without a completion."""
    stall_s = account.stall_ns() / 1e9
    expect(stall_s < MAX_STALL_S or not MEASURES, name, f"was stalled for {stall_s:.2f} s")
    continues(account, n_kernels=3)
    return stall_s


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Account:
    """A tenant's own account, which survives it."""

    def __init__(self, path):
        self.path = path
        with open(path, "a+b") as file:
            file.truncate(4096)
            self.map = mmap.mmap(file.fileno(), 4096)

    def __getattr__(self, name):
        if name not in WORDS:
            raise AttributeError(name)
        return struct.unpack_from("=Q", self.map, WORDS.index(name) * 8)[0]

    def put(self, name, value):
        struct.pack_into("=Q", self.map, WORDS.index(name) * 8, value)

    def stall_ns(self):
        """The longest time without a completion, including the current one."""
        last = self.last_completion_ns
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) - last if last else 0
        return max(self.max_stall_ns, now)

    def forgive(self):
        self.put("max_stall_ns", 0)

    def freeze(self):
        self.put("freeze", 1)

    def thaw(self):
        self.put("freeze", 0)

    def is_alive(self):
        try:
            with open(f"/proc/{self.pid}/stat", encoding="utf-8", errors="replace") as file:
                return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
        except (FileNotFoundError, ProcessLookupError):
            return False

    def error_text(self):
        code = struct.unpack("=q", struct.pack("=Q", self.error))[0]
        return f"pid {self.pid} state {self.state} error {code} wrong {self.wrong}"


class Pages:
    """A lease's pages as they are now, read through the agent's descriptors."""

    def __init__(self, agent_pid, tenant_pid):
        inodes = {"control": set(), "report": set()}  # including those of earlier agents
        with open(f"/proc/{tenant_pid}/maps", encoding="utf-8") as maps:
            for line in maps:
                for name, known in inodes.items():
                    if f"memfd:cleave-{name}" in line:
                        known.add(int(line.split()[4]))
        self.maps = {}
        folder = f"/proc/{agent_pid}/fd"
        for fd in os.listdir(folder):
            path = f"{folder}/{fd}"
            try:
                if "memfd:cleave-" not in os.readlink(path):
                    continue
                inode = os.stat(path).st_ino
            except FileNotFoundError:
                continue
            for name, wanted in inodes.items():
                if inode in wanted:
                    with open(path, "rb") as file:
                        self.maps[name] = mmap.mmap(
                            file.fileno(), 0, prot=mmap.PROT_READ)
        expect(len(self.maps) == 2, "no lease pages of process", tenant_pid)

    def look(self):
        """(phase, commands in flight, charged bytes) of the lease."""
        control, report = self.maps["control"], self.maps["report"]
        phase = struct.unpack_from("=I", control, 8)[0] & 3
        in_flight = charged = 0
        for slot in range(min(struct.unpack_from("=I", control, 48)[0], SLOTS)):
            entered, done, memory = SLOT.unpack_from(report, slot * SLOT_BYTES)
            in_flight += max(0, entered - done)
            charged += memory
        return phase, in_flight, charged


class Tenant:
    """cleave run and the program in it."""

    def __init__(self, world, name, share, memory, arguments=(), wrapper=(), prefix=()):
        self.world, self.name, self.share, self.memory = world, name, share, memory
        self.account = world.account(name)
        self.accounts = [self.account]
        self.error_path = os.path.join(world.folder, f"{name}.err")
        with open(self.error_path, "wb") as errors:
            self.process = subprocess.Popen(
                [world.cleave, "run", "--share", str(share), "--memory", str(memory),
                 "--name", name, *wrapper, "--", *prefix, world.tenant,
                 self.account.path, f"quota={memory}", *arguments],
                env=world.env, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
        world.tenants.append(self)

    def add_child_account(self, suffix):
        account = Account(self.account.path + suffix)
        self.world.paths.append(account.path)
        self.accounts.append(account)
        return account

    def errors(self):
        with open(self.error_path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()[-600:]

    def wait_running(self, seconds=10):
        def check():
            code = self.process.poll()
            if code is not None:
                raise Failure(f"{self.name} ended with {code} at its start: {self.errors()}")
            return all(a.state == RUNNING for a in self.accounts)
        wait_until(check, seconds, lambda: f"{self.name} runs: {self.errors()}")

    def living(self):
        return [a for a in self.accounts if a.pid and a.is_alive()]

    def end(self):
        for account in self.living():
            kill(account.pid)
        self.process.kill()
        self.process.wait()
        if self in self.world.tenants:
            self.world.tenants.remove(self)

    def gone(self):
        self.process.wait(60)
        if self in self.world.tenants:
            self.world.tenants.remove(self)
        return self.process.returncode


class World:
    agent_arguments = ()

    def __init__(self, build, use_double=True, alloc_us=700):
        self.build = os.path.abspath(build)
        self.cleave = os.path.join(self.build, "src/cli/cleave")
        self.cleaved = os.path.join(self.build, "src/agent/cleaved")
        self.tenant = os.path.join(self.build, "tests/crash/crash-tenant")
        self.folder = tempfile.mkdtemp(prefix="clvc-")
        self.runtime = os.path.join(self.folder, "run", "cleave")
        self.locks = os.path.join(self.folder, "locks")
        for path in ("run", "state", "locks"):
            os.mkdir(os.path.join(self.folder, path), 0o700)
        self.api = os.path.join(self.runtime, "api.sock")
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith(("CLEAVE_", "OPENCL_", "OCL_"))}
        self.env.update(
            XDG_RUNTIME_DIR=os.path.join(self.folder, "run"),
            XDG_STATE_HOME=os.path.join(self.folder, "state"),
            CLEAVE_LOCK_DIR=self.locks, CLEAVE_SOCKET=self.api, NO_COLOR="1")
        if use_double:
            self.env.update(
                OCL_ICD_VENDORS=os.path.join(self.build, "tests/doubles/opencl/vendors"),
                CLEAVE_DOUBLE_DEVICE=os.path.join(self.folder, "device"),
                CLEAVE_DOUBLE_MEMORY="2G", CLEAVE_DOUBLE_ALLOC_US=str(alloc_us))
        self.use_double = use_double
        self.tenants, self.paths = [], []
        self.agent = None
        self.n_accounts = self.seen_event = 0
        self.log_path = os.path.join(self.folder, "log")

    def account(self, name):
        self.n_accounts += 1
        path = os.path.join(self.folder, f"{name}.{self.n_accounts}")
        self.paths.append(path)
        return Account(path)

    # The agent

    def start_agent(self):
        """Returns the seconds until it was ready."""
        begin = time.monotonic()
        ready, write_end = os.pipe()
        with open(self.log_path, "ab") as log:
            self.agent = subprocess.Popen(
                [self.cleaved, *self.agent_arguments, "--foreground",
                 f"--ready-fd={write_end}"],
                env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=[write_end])
        os.close(write_end)
        byte = os.read(ready, 1)
        os.close(ready)
        expect(byte == b"1", "the agent does not start:", self.log())
        return time.monotonic() - begin

    def kill_agent(self):
        self.agent.kill()
        self.agent.wait()

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()[-1500:]

    def request(self, method, url, body=None, timeout=60):
        """(status, parsed body or None); OSError when the agent ends meanwhile."""
        connection = http.client.HTTPConnection("localhost", timeout=timeout)
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.sock.settimeout(timeout)
        try:
            connection.sock.connect(self.api)
            connection.request(
                method, url, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else None
        except http.client.HTTPException as error:
            raise OSError("no answer") from error
        finally:
            connection.close()

    def get(self, url):
        status, answer = self.request("GET", url)
        expect(status == 200, url, status, answer)
        return answer

    def leases(self):
        return {lease["name"]: lease for lease in self.get("/v1/leases")["items"]}

    def listed(self):
        """The same as the list that a user gets."""
        done = subprocess.run([self.cleave, "ps", "-o", "json"], env=self.env, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        expect(done.returncode == 0, "cleave ps:", done.returncode, done.stderr)
        return {lease["name"]: lease for lease in json.loads(done.stdout)["items"]}

    def last_event(self):
        while True:
            items = self.get(f"/v1/events?limit=10000&after={self.seen_event}")["items"]
            if not items:
                return self.seen_event
            self.seen_event = items[-1]["id"]

    def attached_since(self, event_id):
        """The processes that attached after that event."""
        items = self.get(f"/v1/events?limit=10000&after={event_id}")["items"]
        return {int(e["message"].split()[1]) for e in items
                if e["type"] == "process_attached"}

    # Invariants

    def problem(self, leases, devices):
        """Why the ledger is not exact, or None."""
        wanted = {t.name: t for t in self.tenants}
        if set(leases) != set(wanted):
            return f"leases are {sorted(leases)} and should be {sorted(wanted)}"
        for name, tenant in wanted.items():
            lease, living = leases[name], tenant.living()
            held = sum(a.held_bytes for a in living)
            if lease["memory_used_bytes"] != held:
                return (f"{name} uses {lease['memory_used_bytes']} by the ledger and holds "
                        f"{held}; processes {lease['processes']}")
            pids = sorted(p["pid"] for p in lease["processes"])
            if pids != sorted(a.pid for a in living):
                return f"{name} has processes {pids}, not {[a.pid for a in living]}"
        memory = sum(t.memory for t in self.tenants)
        share = sum(t.share for t in self.tenants)
        device = devices["items"][0]
        if device["memory_promised_bytes"] != memory:
            return f"{device['memory_promised_bytes']} bytes are promised, not {memory}"
        if abs(device["share_promised"] - share) > 1e-5:
            return f"{device['share_promised']} is promised, not {share}"
        if device["leases"] != len(self.tenants) or device["queued"]:
            return f"the device counts {device['leases']} leases, {device['queued']} queued"
        return None

    def check_exact(self, seconds=2.5):
        accounts = [a for t in self.tenants for a in t.living()]
        for account in accounts:
            account.freeze()
        try:
            wait_until(lambda: all(a.frozen or not a.is_alive() for a in accounts), 5,
                       lambda: "tenants are stalled: " + "; ".join(
                           a.error_text() for a in accounts if not a.frozen))
            wait_until(lambda: not self.problem(self.leases(), self.get("/v1/devices")),
                       seconds,
                       lambda: self.problem(self.leases(), self.get("/v1/devices")))
            leases = self.listed()
            problem = self.problem(leases, self.get("/v1/devices"))
            expect(not problem, "cleave ps:", problem)
        finally:
            for account in accounts:
                account.thaw()
        return leases

    def check_files(self):
        """No file of an ended lease is left in the agent's folders."""
        ids = {lease["id"] for lease in self.leases().values()}

        def strays():
            folder = os.path.join(self.runtime, "lease")
            return set(os.listdir(folder)) - ids if os.path.isdir(folder) else set()
        wait_until(lambda: not strays(), 1,
                   lambda: "folders of ended leases are left: " + str(
                       [(s, os.listdir(os.path.join(self.runtime, "lease", s)))
                        for s in strays()]))
        known = {"api.sock", "cleaved.lock", "cleaved.log", "lease"}
        left = {name for name in os.listdir(self.runtime)} - known
        expect(not {n for n in left if not n.startswith("device")},
               "files are left in the runtime folder:", left)

    def footprint(self):
        """The agent's descriptors, pages and resident bytes."""
        pid, links = self.agent.pid, []
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                links.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
            except FileNotFoundError:
                pass
        with open(f"/proc/{pid}/status", encoding="utf-8") as status:
            rss = next(int(line.split()[1]) * 1024 for line in status
                       if line.startswith("VmRSS"))
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            n_maps = sum("memfd:cleave" in line for line in maps)
        kinds = collections.Counter(re.sub("[0-9]+", "N", link) for link in links)
        return {"fds": len(links), "memfds": sum("memfd:" in link for link in links),
                "maps": n_maps, "rss": rss, "locks": len(os.listdir(self.locks)),
                "kinds": dict(kinds)}

    def settled_footprint(self):
        """The agent opens its history within a second of its start, not at once."""
        def is_settled():
            return any(link.endswith("/history") for link in self.footprint()["kinds"])
        wait_until(is_settled, 5, "the history is open")
        return self.footprint()

    def check_lock(self):
        """The agent still holds the device's lock alone."""
        expect(os.listdir(self.locks) or not self.tenants, "no device is locked")

    def close(self, keep=False):
        for tenant in list(self.tenants):
            tenant.end()
        if self.agent and self.agent.poll() is None:
            self.agent.terminate()
            try:
                self.agent.wait(60)
            except subprocess.TimeoutExpired:
                self.agent.kill()
                self.agent.wait()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)
