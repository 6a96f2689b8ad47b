# SPDX-License-Identifier: Apache-2.0
"""An agent of a bench's own, in folders of its own."""
import http.client
import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from agent_socket import Connection
from tenants import BenchError

NODE = "version: 1\nname: bench\ndevices:\n"
ENTRY = "  - {model: A100-40GB, count: %d}\n"
PER_ENTRY = 1000
MEMORY = Path("/dev/shm")


def pss_mb(pid, kind="Pss"):
    """The memory of a process, with its part of each page that others share.  Pss_Anon: without
    files, whose part depends on which other programs have them, too."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(f"{kind}:"):
            return int(line.split()[1]) / 1000
    raise BenchError("the kernel tells no PSS")


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Agent:
    """cleaved on a node with n simulated devices, or on this machine's, in temporary folders."""

    def __init__(self, build, n_devices, arguments=()):
        self.arguments = list(arguments)
        self.log = subprocess.DEVNULL
        self.program = Path(build) / "src/agent/cleaved"
        self.folder = tempfile.TemporaryDirectory(prefix="cleave-bench-")
        self.root = Path(self.folder.name)
        # Sockets are in memory, as in /run, and the state file is on a disk.
        self.runtime = tempfile.TemporaryDirectory(
            prefix="cleave-bench-", dir=MEMORY if MEMORY.is_dir() else None)
        if n_devices:
            self.simulate(n_devices)
        self.socket = Path(self.runtime.name) / "run/api.sock"
        self.process = None

    def simulate(self, n_devices):
        entries = [ENTRY % min(PER_ENTRY, n_devices - done)
                   for done in range(0, n_devices, PER_ENTRY)]
        (self.root / "node.yaml").write_text(NODE + "".join(entries))
        self.arguments.append(f"--sim={self.root / 'node.yaml'}")

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
            [str(self.program), "--foreground", f"--runtime-dir={self.socket.parent}",
             f"--state-dir={self.root / 'state'}", f"--lock-dir={self.runtime.name}",
             *self.arguments],
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
        return processor_seconds(self.process.pid)
