# SPDX-License-Identifier: Apache-2.0
"""How much of the machine is used by programs that are not part of the bench: this makes figures
noisy.

The bench's own processes are recognized by a variable of their environment, which its daemons
have as well, or by their parents.
"""
import os
import threading
import time
from pathlib import Path

MARK = "CLEAVE_BENCH"
MOST_OF_OTHERS = 0.05  # of the machine, before figures are called noisy
LOOK_SECONDS = 1.0  # a child of init that ends between two samples is counted up to the first
TICKS = os.sysconf("SC_CLK_TCK")


def machine_seconds():
    """Seconds for which the machine's processors were neither idle nor waiting for a disk."""
    with open("/proc/stat", encoding="ascii") as stat:
        ticks = [int(field) for field in stat.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / TICKS


def stat_of(pid):
    """(parent, start time, seconds of the process and of the children that it reaped), or None."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return int(fields[1]), int(fields[19]), sum(map(int, fields[11:15])) / TICKS


class Own:
    """The processor time of this process and of all its descendants."""

    def __init__(self):
        self.mark = f"{MARK}={os.getpid()}".encode()
        os.environ[MARK] = str(os.getpid())
        self.known = {}  # (pid, start time): whether the process is the bench's
        self.seen = {}  # of the bench's processes: (parent, seconds) at the last sample
        self.gone_seconds = 0.0  # of ended processes that no process of the bench reaped
        self.lock = threading.Lock()

    def is_ours(self, pid, parent, began):
        key = (pid, began)
        if key not in self.known:
            try:
                marked = self.mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            except OSError:
                marked = False
            self.known[key] = marked or any(
                ours and parent == of for (of, _), ours in self.known.items())
        return self.known[key]

    def look(self):
        """Samples /proc; returns the processor seconds so far."""
        with self.lock:
            now = {}
            for name in filter(str.isdigit, os.listdir("/proc")):
                found = stat_of(name)
                if found and (int(name) == os.getpid() or
                              self.is_ours(int(name), found[0], found[1])):
                    now[int(name), found[1]] = found[0], found[2]
            pids = {pid for pid, _ in now}
            self.gone_seconds += sum(seconds for key, (parent, seconds) in self.seen.items()
                                     if key not in now and parent not in pids)
            self.known = {key: ours for key, ours in self.known.items() if key in now or not ours}
            self.seen = now
            return self.gone_seconds + sum(seconds for _, seconds in now.values())


class Company:
    """The part of the machine that other programs used between two samples."""

    def __init__(self):
        self.own = Own()
        self.last = self.look()
        threading.Thread(target=self.go_on, daemon=True).start()

    def go_on(self):
        while True:
            time.sleep(LOOK_SECONDS)
            self.own.look()

    def look(self):
        return time.monotonic(), machine_seconds(), self.own.look()

    def part(self, least_seconds=0.0):
        """The part since the last call that returned one; None: least_seconds have not passed."""
        now = self.look()
        passed, busy, ours = (b - a for a, b in zip(self.last, now))
        if passed <= least_seconds:
            return None
        self.last = now
        return max(0.0, busy - ours) / (passed * os.cpu_count())
