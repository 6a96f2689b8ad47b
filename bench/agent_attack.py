# SPDX-License-Identifier: Apache-2.0
"""Attacks on the agent's API by callers without permissions: what others' requests and two running
tenants notice of them, and what they make the agent write.

Root attacks as a user without permissions and over the network without a token; another user's
agent serves no one else, so that user attacks over the network only."""
import contextlib
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from agent_process import Agent
from agent_socket import Connection
from measure import percentile
from tenants import BenchError, Lease, Session

ATTACKER = Path(__file__).resolve().parent.parent / "tests/integration/attacker.py"
ATTACKERS, SECONDS, QUICK_SECONDS = 16, 60, 5
ASKED_PER_SECOND = 100
BESIDE_SECONDS, QUICK_BESIDE_SECONDS = 15, 5
STARTS_SECONDS = 1  # of the attackers' programs
PROMISED = {"a": 0.3, "b": 0.7}
NOBODY = "65534"
# The attackers come from 127.0.0.1.
OTHER_ADDRESS = ("127.0.0.2", 0)


class Target:
    """An agent that serves the network, too."""

    def __init__(self, context, folder, n_devices, with_tls):
        self.port, self.certificate = free_port(), ""
        listen = f"port: {self.port}, address: 127.0.0.1"
        if with_tls:
            self.certificate, key = make_certificate(folder)
            listen += f", certificate: {self.certificate}, key: {key}"
        settings = Path(folder) / "settings.yaml"
        settings.write_text(f"version: 1\nlisten: {{{listen}}}\n")
        is_root = os.geteuid() == 0
        self.is_remote = with_tls or not is_root
        self.agent = Agent(context.build, n_devices,
                           ["--config", str(settings)] + ["--system"] * is_root)

    def attack(self, seconds):
        """Starts the attackers."""
        remote = ["", str(self.port), str(self.certificate)] if self.is_remote else [NOBODY]
        # Over the network they come from other machines, so they get the processors last.
        last = ["nice", "-n", "19"] if self.is_remote else []
        return [subprocess.Popen(
            [*last, sys.executable, str(ATTACKER), str(self.agent.socket), str(seconds), *remote],
            stdout=subprocess.PIPE, text=True) for _ in range(ATTACKERS)]

    def written(self):
        """Bytes of the state and of the log."""
        root = self.agent.root
        return sum(path.stat().st_size
                   for path in [root / "log", *(root / "state").glob("*.db*")])

    def connect_with_token(self):
        connection = TokenConnection(self)
        connection.ask("GET", "/v1/leases")
        return connection


class TokenConnection(Connection):
    """Over TLS, with a token, from another address than the attackers'."""

    def __init__(self, target):
        super().__init__(target.agent.socket)
        self.secret = json.loads(self.ask(
            "POST", "/v1/tokens", {"name": "bench", "scope": "viewer"}))["secret"]
        self.close()
        self.target = target

    def connect(self):
        if not hasattr(self, "target"):
            super().connect()
            return
        context = ssl.create_default_context(cafile=self.target.certificate)
        self.sock = context.wrap_socket(socket.create_connection(
            ("127.0.0.1", self.target.port), self.timeout, OTHER_ADDRESS),
            server_hostname="127.0.0.1")

    def request(self, method, url, body=None, headers=None, **options):
        if hasattr(self, "secret"):
            headers = {"Authorization": f"Bearer {self.secret}"}
        super().request(method, url, body, headers or {}, **options)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def make_certificate(folder):
    """Self-signed, for 127.0.0.1: (certificate, key)."""
    paths = [str(Path(folder) / name) for name in ("tls.crt", "tls.key")]
    try:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-days", "2", "-subj", "/CN=cleave", "-addext",
             "subjectAltName=IP:127.0.0.1", "-out", paths[0], "-keyout", paths[1]],
            check=True, capture_output=True)
    except OSError as error:
        raise BenchError(f"openssl: {error.strerror}: install openssl") from None
    return paths


@contextlib.contextmanager
def running(context, n_devices, with_tls):
    with tempfile.TemporaryDirectory(prefix="cleave-bench-") as folder:
        target = Target(context, folder, n_devices, with_tls)
        with (target.agent.root / "log").open("wb") as target.agent.log, target.agent:
            os.chmod(target.agent.runtime.name, 0o755)
            yield target


def rate_of(attackers, seconds):
    n = sum(sum(json.loads(process.communicate()[0]).values()) for process in attackers)
    if n == 0:
        raise BenchError("the attackers sent nothing")
    return n / seconds


def ask_beside(connections, seconds):
    """The milliseconds of requests over each connection."""
    took, until = [[] for _ in connections], time.monotonic() + seconds
    while time.monotonic() < until:
        for i, connection in enumerate(connections):
            took[i].append(connection.timed("GET", "/v1/leases")[0])
        time.sleep(1 / ASKED_PER_SECOND)
    return took


def measure(context, case, with_tls):
    seconds = QUICK_SECONDS if context.quick else SECONDS
    with running(context, 1, with_tls) as target:
        connections = [target.agent.connect()]
        if with_tls:
            connections.append(target.connect_with_token())
        ask_beside(connections, 0)
        before = target.written()
        attackers = target.attack(seconds)
        took = ask_beside(connections, seconds)
        rate = rate_of(attackers, seconds)
        grown = target.written() - before
        for connection in connections:
            connection.close()
    context.add("agent", case, "rate", rate, "per second")
    for name, times in zip(("others_p99", "token_p99"), took):
        context.add("agent", case, name, percentile(times, 0.99), "ms")
    context.add("agent", case, "written", grown / 1e6, "MB")


def held_parts(session, tenants, seconds):
    """Each tenant's part of the time for which they hold the device, by the ledger."""
    begin = session.start(tenants)
    before = session.ledger()
    time.sleep(seconds)
    after = session.ledger()
    session.stop(tenants, begin)
    held = {name: after[name] - before[name] for name in PROMISED}
    return {name: held[name] / sum(held.values()) for name in PROMISED}


def measure_shares(context, case, with_tls):
    """The parts of two tenants that compute, with and without attackers.  Held time and not work,
    because the attackers are programs on the processors that are the device here."""
    seconds = QUICK_BESIDE_SECONDS if context.quick else BESIDE_SECONDS
    with running(context, 0, with_tls) as target, Session(context.build, True) as session:
        session.environment["CLEAVE_SOCKET"] = str(target.agent.socket)
        calibration = session.calibrate()
        tenants = [session.spawn(name, ["--kernel", 1000, "--cal", calibration], Lease(share))
                   for name, share in PROMISED.items()]
        alone = held_parts(session, tenants, seconds)
        attackers = target.attack(seconds + STARTS_SECONDS)
        time.sleep(STARTS_SECONDS)
        beside = held_parts(session, tenants, seconds)
        rate_of(attackers, seconds)
        session.end_tenants()
    context.add("agent", case, "worst_change",
                100 * max(abs(beside[name] - alone[name]) for name in PROMISED), "points")


def run(case, with_tls):
    def act(context):
        measure(context, case, with_tls)
        measure_shares(context, case, with_tls)
    return act


CASES = {"attack": run("attack", False), "attack-tls": run("attack-tls", True)}
