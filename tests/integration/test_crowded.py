# SPDX-License-Identifier: Apache-2.0
"""Tenants that give the agent as much to read as they can: processes with as many mappings as the
kernel allows, about, and messages with files without end.  It answers all the same.

usage: as harness.py says
"""
import shutil
import sys
import tempfile
import time
from pathlib import Path

from harness import Case, main, wait_until
from measured import bound

# 85 ms of a processor to read, and a size that changes.
UNATTACHED = """
import ctypes, sys, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_size_t
def add(n):
    for i in range(n):
        libc.mmap(None, ctypes.c_size_t(4096), 1 + i % 2, 0x22, -1, ctypes.c_long(0))
add(63000)
open(sys.argv[1], "w").close()
while True:
    add(1)
    time.sleep(.3)
"""
# Attaches, closes the connection, and maps a file with a path as long as it may be: to see whether
# it still has its page the agent has to read all that.
DETACHED = """
import ctypes, os, sys, time
sys.path.insert(0, sys.argv[4])
from harness import Attachment
attachment = Attachment(sys.argv[3])
attachment.socket.close()
os.chdir(sys.argv[2])
for _ in range(15):
    os.mkdir("d" * 250)
    os.chdir("d" * 250)
fd = os.open("file", os.O_RDWR | os.O_CREAT, 0o600)
os.ftruncate(fd, 4096)
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_size_t
for i in range(63000):
    libc.mmap(None, ctypes.c_size_t(4096), 1 + i % 2, 1, fd, ctypes.c_long(0))
open(sys.argv[1], "w").close()
time.sleep(600)
"""
# The agent forks for each message that brings a file.
FLOOD = """
import os, socket, struct, sys
sys.path.insert(0, sys.argv[3])
from harness import EXPORTS, EXPORTS_MAGIC, Attachment
attachment = Attachment(sys.argv[2])
attachment.socket.setblocking(True)
file = os.memfd_create("file")
open(sys.argv[1], "w").close()
while True:
    socket.send_fds(attachment.socket, [EXPORTS.pack(EXPORTS_MAGIC, *[0] * 7)], [file])
"""
N = bound(8, 4)
SECONDS = bound(10, 5)


class Crowded(Case):
    def setUp(self):
        super().setUp()
        self.folder = Path(tempfile.mkdtemp(prefix="cleave-crowded-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.n_ready = 0

    def crowd(self, holder, text, *arguments):
        ready = self.folder / f"ready-{self.n_ready}"
        self.n_ready += 1
        holder.do("spawn", command=[sys.executable, "-c", text, str(ready), *arguments])

    def check_answers(self):
        """Few of the requests, one after the other, wait for long."""
        self.assertTrue(wait_until(
            lambda: len(list(self.folder.glob("ready-*"))) == self.n_ready))
        end, waits = time.monotonic() + SECONDS, []
        while time.monotonic() < end:
            begin = time.monotonic()
            self.agent.get("/v1/version")
            waits.append(time.monotonic() - begin)
            time.sleep(.005)
        long = [wait for wait in waits if wait > .05]
        # Where an agent reads all of it, requests wait for seconds, and few are answered.
        self.assertLessEqual(len(long), len(waits) / 20)
        self.assertLess(sum(long), bound(3, float("inf")))

    def test_processes_that_never_attached(self):
        holder = self.holder()
        lease = holder.lease(share=.1)
        for _ in range(N):
            self.crowd(holder, UNATTACHED)
        self.check_answers()
        event, = self.agent.events("processes_unchecked")
        self.assertEqual(event["lease"], lease["id"])

    def test_processes_that_closed_their_connections(self):
        for i in range(N):
            holder, folder = self.holder(), self.folder / str(i)
            folder.mkdir()
            lease = holder.lease(share=.05)
            self.crowd(holder, DETACHED, str(folder), lease["socket"], str(Path(__file__).parent))
        self.check_answers()
        # What cannot be looked at stays attached.
        self.assertEqual([len(lease["processes"]) for lease in self.leases()], [1] * N)

    def test_messages_with_files_without_end(self):
        for _ in range(2 * N):
            holder = self.holder()
            lease = holder.lease(share=.05)
            self.crowd(holder, FLOOD, lease["socket"], str(Path(__file__).parent))
        self.check_answers()
        # Neither is the connection of another process closed, nor this one's.
        self.assertEqual([len(lease["processes"]) for lease in self.leases()], [1] * 2 * N)


if __name__ == "__main__":
    sys.exit(main())
