# SPDX-License-Identifier: Apache-2.0
"""Launches in a loop while the agent is replaced: the longest time in which no kernel of a tenant
started, and the leases that the successor does not have."""
import os
import signal
import subprocess
import time

import measure
from agent_socket import Connection, leases_of
from tenants import BenchError, Lease, raw_ns, wait_until

ROUNDS, QUICK_ROUNDS = 20, 2
SPAN_SECONDS = 1.5  # time for every gate to find the successor
KERNEL_US = 1000
PROMISED = {"a": 0.5, "b": 0.5}


class Successors:
    """One agent after the other over the same state."""

    def __init__(self, session):
        self.session = session
        self.socket = session.folder / "run/cleave/api.sock"
        self.process = None
        self.start()

    def start(self):
        ready, write_end = os.pipe()
        self.process = subprocess.Popen(
            [str(self.session.build / "src/agent/cleaved"), "--foreground",
             f"--ready-fd={write_end}"],
            env=self.session.environment, stderr=subprocess.DEVNULL, pass_fds=[write_end])
        os.close(write_end)
        with os.fdopen(ready, "rb") as told:
            if told.read(1) != b"1":
                raise BenchError("cleaved does not start")

    def replace(self, number):
        self.process.send_signal(number)
        self.process.wait(30)
        self.start()

    def attached(self):
        """The names of the leases that have an attached process."""
        connection = Connection(self.socket)
        try:
            return {lease["name"] for lease in leases_of(connection) if lease["processes"]}
        finally:
            connection.close()

    def close(self):
        self.process.terminate()
        self.process.wait(30)


def longest_pause_ms(records, begin, end):
    """The longest time from the end of a kernel to the start of the next that overlaps the span."""
    kernels = measure.kernels(records)
    pauses = [after[0] - before[1] for before, after in zip(kernels, kernels[1:])
              if after[0] > begin and before[1] < end]
    return max(pauses, default=end - begin) / 1e6


def worst_pause_ms(block, begin, end):
    return max(longest_pause_ms(block.records[name], begin, end) for name in block.records)


def run(context, session, case, number):
    """Each round has a span without and a span with a new agent."""
    agent = Successors(session)
    calibration = session.calibrate()
    tenants = [session.spawn(name, ["--mode", "sync", "--kernel", KERNEL_US, "--cal",
                                    calibration], Lease(share))
               for name, share in PROMISED.items()]
    replaced, calm, lost = [], [], 0
    for _ in range(QUICK_ROUNDS if context.quick else ROUNDS):
        begin = session.start(tenants)
        wait_until(begin + int(SPAN_SECONDS * 1e9))
        at = raw_ns()
        agent.replace(number)
        time.sleep(SPAN_SECONDS)
        block = session.stop(tenants, begin)
        calm.append(worst_pause_ms(block, begin, at))
        replaced.append(worst_pause_ms(block, at, block.end))
        lost += len(PROMISED.keys() - agent.attached())
    session.end_tenants()
    agent.close()
    for metric, pauses in (("longest_pause", replaced), ("calm_pause", calm)):
        context.add("agent", case, metric, max(pauses), "ms")
    context.add("agent", case, "lost", lost, "")


NUMBERS = {"upgrade": signal.SIGTERM, "kill": signal.SIGKILL}
