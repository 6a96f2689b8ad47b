#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sockets where gates attach, and the leases that an agent adopts from an earlier one."""
import contextlib
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest

import fuse_file
from cli_sandbox import is_alive, state_of
from harness import (DEVICES_BYTES, HELLO, HERE, MAGIC, NO_SLOT, REPLY, Case, UnixConnection,
                     attach, main, wait_until)

KERNEL = tuple(int(number) for number in os.uname().release.split(".")[:2])


def read_recorded():
    """{name: message}, as gates and agents of the version before sent them."""
    messages = {}
    with open(os.path.join(HERE, "recorded", "attach.txt"), encoding="ascii") as file:
        rows = [line.split() for line in file if not line.startswith("#")]
    for name, length, *spans in rows:
        data = bytearray(int(length))
        for at, text in (span.split(":") for span in spans):
            part = bytes.fromhex(text)
            data[int(at):int(at) + len(part)] = part
        messages[name] = bytes(data)
    return messages


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii") as file:
        return file.read().strip()


def lingering_socket(case):
    """The kernel closes it once its peer has read, which never does."""
    server = socket.create_server(("127.0.0.1", 0))
    lingering = socket.create_connection(server.getsockname())
    peer, _ = server.accept()
    for kept in (server, peer):
        case.addCleanup(kept.close)
    lingering.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("2i", 1, 3600))
    lingering.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            lingering.send(bytes(65536))
    return lingering


def lingers(sock):
    return any(sock.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8)[:4])


def close_at_once(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes(8))
    sock.close()


class Attach(Case):
    def start_lease(self, **wanted):
        holder = self.holder()
        return holder, holder.lease(**{"share": 0.3, "name": "a", **wanted})

    def start_exporter(self, name):
        """A process in a lease that outlives it."""
        exporter = self.holder()
        lease = exporter.lease(share=.3, name=name, memory_bytes=64 << 20, keep=True)
        self.agent.request("POST", f"/v1/leases/{name}/holders", {"pid": exporter.pid})
        self.assertEqual(exporter.do("attach", socket=lease["socket"])["status"], 0)
        return exporter, lease

    def check_charged(self, name, keeper):
        """Of the process that has ended the agent has received the file that it sent."""
        self.assertTrue(wait_until(lambda: not self.lease(name)["processes"]))
        self.assertEqual(self.lease(name)["memory_overhead_bytes"], 16 << 20)
        os.kill(keeper, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: self.lease(name)["memory_overhead_bytes"] == 0))

    def check_export(self, name, exporter):
        keeper = exporter.do("export_memory", n_bytes=16 << 20)
        exporter.kill()
        self.check_charged(name, keeper)

    def test_message_before_the_end(self):
        """The agent sees that a process has ended before it has read what that sent last."""
        exporter, _ = self.start_exporter("a")
        self.agent.process.send_signal(signal.SIGSTOP)
        self.addCleanup(self.agent.process.send_signal, signal.SIGCONT)
        keeper = exporter.do("export_memory", n_bytes=16 << 20)
        exporter.kill()
        self.agent.process.send_signal(signal.SIGCONT)
        self.check_charged("a", keeper)

    def helpers(self, name):
        """The agent's children of that name."""
        pid = self.agent.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return {int(child) for child in file.read().split() if name_of(child) == name}

    def is_waiting(self):
        """Whether the agent waits for one of its children."""
        call = UnixConnection(self.agent.api)
        self.addCleanup(call.close)
        call.request("GET", "/v1/version")
        return not select.select([call.sock], [], [], .5)[0]

    def send_files(self, path, fds, n):
        """The agent answers n times: it has received the files of each message before."""
        for _ in range(n):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                s.settimeout(60)
                s.connect(path)
                socket.send_fds(s, [HELLO.pack(MAGIC, 1, 1, 1, NO_SLOT, 0, 0, 0)], fds)
                self.assertIn(b"was not started inside the lease", s.recv(8192))

    def test_files_of_many_messages(self):
        """One child receives those that gates may send, and a lease's own one what else its
        processes send."""
        page, long = os.memfd_create("page"), os.memfd_create("long")
        self.addCleanup(os.close, page)
        self.addCleanup(os.close, long)
        os.ftruncate(long, 1 << 30)
        leases = [self.start_lease(name=name, share=.1)[1]["socket"] for name in "abcd"]
        self.send_files(leases[0], [page], 1)
        children = self.helpers("cleaved-files")
        own = list(children)  # the one for all leases becomes a lease's own, and is replaced
        for lease, files in zip(leases[1:], ([page, page], [long], [0])):
            self.send_files(lease, files, 5)
            self.assertEqual(self.helpers("cleaved-files"), children)
            for other in leases:
                self.send_files(other, [page], 5)
            before, children = children, self.helpers("cleaved-files")
            self.assertEqual(len(children - before), 1)
            self.assertLess(before, children)
            own += children - before
        self.agent.request("DELETE", "/v1/leases/b")
        # A killed child is there until the kernel has ended it.  The one for all leases may have
        # been replaced on a busy machine.
        self.assertTrue(wait_until(lambda: own[0] not in self.helpers("cleaved-files")))
        self.assertLessEqual(set(own[1:3]), self.helpers("cleaved-files"))

    def test_child_that_is_killed(self):
        """Also when it has been asked: no file is lost."""
        exporter, lease = self.start_exporter("a")
        page = os.memfd_create("page")
        self.addCleanup(os.close, page)
        self.send_files(lease["socket"], [page], 1)
        child, = self.helpers("cleaved-files")
        os.kill(child, signal.SIGSTOP)
        keeper = exporter.do("export_memory", n_bytes=16 << 20)
        self.assertTrue(wait_until(self.is_waiting))
        os.kill(child, signal.SIGKILL)
        exporter.kill()
        self.check_charged("a", keeper)

    def test_release_after_the_end(self):
        """Whether another process has the memory of one that has ended is not known at once."""
        holder, lease = self.start_lease()
        other = holder.lease(share=0.1, name="other")
        # It has the same addresses.
        self.assertEqual(holder.do("attach_in_child", socket=other["socket"])[1]["status"], 0)
        child, reply = holder.do("attach_in_child", socket=lease["socket"])
        self.assertEqual(reply["status"], 0, reply)
        reader, = self.helpers("cleaved-maps")
        os.kill(reader, signal.SIGSTOP)
        os.kill(child, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: not is_alive(child)))
        status, answer = self.agent.request("DELETE", "/v1/leases/a")
        self.assertEqual(status, 204, answer)
        self.assertEqual([lease["name"] for lease in self.leases()], ["other"])

    def test_pages(self):
        holder, lease = self.start_lease()
        reply = holder.do("attach", socket=lease["socket"])
        device = self.agent.get("/v1/devices")["items"][0]
        self.assertEqual((reply["status"], reply["slot"], reply["n_fds"]), (0, 0, 3))
        self.assertEqual((reply["model"], reply["platform"]),
                         (device["model"], device["platform"]))
        self.assertTrue(holder.do("control_is_sealed"))
        holder.do("memory", value=12345)
        shown = self.lease("a")
        self.assertEqual(shown["memory_used_bytes"], 12345)
        self.assertEqual(shown["processes"][0]["pid"], holder.pid)
        self.assertEqual(shown["processes"][0]["memory_used_bytes"], 12345)
        self.assertTrue(wait_until(lambda: self.agent.events("process_attached")))

    def test_child_and_orphan(self):
        holder, lease = self.start_lease()
        child, reply = holder.do("attach_in_child", socket=lease["socket"])
        self.assertEqual(reply["status"], 0)
        os.kill(child, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: not self.lease("a")["processes"]))

    def test_lease_outlives_holder(self):
        holder, lease = self.start_lease()
        child, reply = holder.do("attach_in_child", socket=lease["socket"])
        self.assertEqual(reply["status"], 0)
        holder.kill()
        time.sleep(0.3)
        shown = self.lease("a")
        self.assertEqual([p["pid"] for p in shown["processes"]], [child])
        os.kill(child, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: not self.leases()))

    def test_released_as_its_process_ends(self):
        """A launcher releases its lease as soon as its program has ended: the agent, which may have
        been busy, handles that end first."""
        ended = []
        for name in "abcdef":
            holder, lease = self.start_lease(name=name, share=.1)
            ended.append(holder.do("attach_in_child", socket=lease["socket"])[0])
        calls = [UnixConnection(self.agent.api) for _ in ended]
        self.agent.process.send_signal(signal.SIGSTOP)
        for name, call in zip("abcdef", calls):
            self.addCleanup(call.close)
            call.request("DELETE", f"/v1/leases/{name}")
        for pid in ended:
            os.kill(pid, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: not any(map(is_alive, ended))))
        self.agent.process.send_signal(signal.SIGCONT)
        self.assertEqual([call.getresponse().status for call in calls], [204] * len(calls))

    def test_strangers(self):
        _, lease = self.start_lease()
        stranger = self.holder()
        reply = stranger.do("attach", socket=lease["socket"])
        self.assertEqual(reply["status"], -1)
        self.assertIn(str(stranger.pid), reply["message"])
        self.assertIn("cleave run", reply["message"])
        self.assertEqual(reply["n_fds"], 0)
        self.assertTrue(wait_until(lambda: self.agent.events("process_refused")))

    def test_versions(self):
        holder, lease = self.start_lease()
        for hello, words in (
                (HELLO.pack(MAGIC, 7, 1, 1, 0, 0, 0, 0), ["7", "1"]),
                (HELLO.pack(MAGIC, 1, 1, 9, 0, 0, 0, 0), ["9", "1"]),
                (HELLO.pack(MAGIC, 1, 99, 1, 0, 0, 0, 0), ["99"]),
                (struct.pack("=II", MAGIC, 3), ["3", "1"])):
            reply = holder.do("attach_raw", socket=lease["socket"], hex=hello.hex())
            self.assertEqual(reply["status"], -93, reply)  # EPROTONOSUPPORT
            for word in words:
                self.assertIn(word, reply["message"])

    def test_longer_reply(self):
        """Only for a gate that declares that it can read it; a refusal has the short form."""
        holder, lease = self.start_lease()
        device = self.agent.get("/v1/devices")["items"][0]
        first = REPLY.size
        for room, length in ((0, first), (first, first), (first + DEVICES_BYTES - 1, first),
                             (first + DEVICES_BYTES, first + DEVICES_BYTES),
                             (1 << 31, first + DEVICES_BYTES)):
            hello = HELLO.pack(MAGIC, 1, 1, 1, NO_SLOT, room, 0, 0)
            reply = holder.do("attach_raw", socket=lease["socket"], hex=hello.hex())
            self.assertEqual((reply["status"], reply["bytes"]), (0, length), room)
            self.assertEqual(reply["pid"], holder.pid)
            self.assertEqual(reply["devices"], device["uuid"] if length > first else "")
        reply, _, _ = attach(lease["socket"], raw=hello)
        self.assertEqual((reply["status"], reply["bytes"]), (-1, first))

    def test_as_recorded(self):
        """A gate of the version before gets, byte for byte, what its own agent answered, but for
        what is this process's and this device's."""
        holder, lease = self.start_lease()
        recorded = read_recorded()
        own = {name: holder.do("attach", socket=lease["socket"])[name]
               for name in ("platform", "model", "ordinal")}
        devices = self.agent.get("/v1/devices")["items"][0]["uuid"].encode()
        for hello, name in (("hello-opencl", "reply"), ("hello-first", "reply-first")):
            reply = holder.do("attach_raw", socket=lease["socket"], hex=recorded[hello].hex())
            wanted = bytearray(recorded[name])
            magic, version, status = REPLY.unpack_from(wanted)[:3]
            REPLY.pack_into(wanted, 0, magic, version, status, reply["slot"],
                            own["platform"].encode(), own["model"].encode(), own["ordinal"],
                            holder.pid, b"")
            wanted[REPLY.size:] = devices.ljust(len(wanted) - REPLY.size, b"\0") \
                if len(wanted) > REPLY.size else b""
            self.assertEqual(bytes.fromhex(reply["raw"]), bytes(wanted), hello)
            self.assertEqual(reply["n_fds"], 3)
        for api in ("cuda", "hip"):
            reply = holder.do("attach_raw", socket=lease["socket"],
                              hex=recorded[f"hello-{api}"].hex())
            self.assertEqual((reply["status"], reply["bytes"], reply["model"]),
                             (0, len(recorded["reply"]), devices.decode()), api)
        refused, _, _ = attach(lease["socket"], raw=recorded["hello-opencl"])
        self.assertEqual(refused["raw"][:32], recorded["refusal"].hex()[:32])
        self.assertEqual(refused["bytes"], len(recorded["refusal"]))

    def test_garbage(self):
        holder, lease = self.start_lease()
        chance = random.Random(1)
        for n in (1, 4, 7, 8, 31, 33, 256, 257, 4096, 60000):
            data = bytes(chance.randrange(256) for _ in range(n))
            reply = holder.do("attach_raw", socket=lease["socket"], hex=data.hex())
            self.assertEqual(reply["status"], -71, (n, reply))  # EPROTO
        good = HELLO.pack(MAGIC, 1, 1, 1, 5, 1, 2, 3)
        reply = holder.do("attach_raw", socket=lease["socket"], hex=good.hex())
        self.assertEqual(reply["status"], 0)

    def test_silent_and_vanishing_peers(self):
        holder, lease = self.start_lease()
        silent = []
        for _ in range(50):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.connect(lease["socket"])
            silent.append(s)
        for s in silent[:25]:
            s.close()
        self.assertEqual(holder.do("attach", socket=lease["socket"])["status"], 0)
        self.assertEqual(select.select(silent[25:], [], [], 0)[0], [], "they are waited for still")
        for s in silent[25:]:
            s.settimeout(60)
            self.assertIn(b"no hello", s.recv(1024))
            self.assertEqual(s.recv(1024), b"")
            s.close()

    @unittest.skipUnless(fuse_file.is_possible(), "needs root and /dev/fuse")
    def test_files_that_do_not_close(self):
        """A file system that does not answer keeps a child of the agent, and neither the agent nor
        the files of other leases."""
        exporters = {name: self.start_exporter(name) for name in "abc"}
        file = fuse_file.File()
        self.addCleanup(file.end)
        for n in range(12):
            self.send_files(exporters["a"][1]["socket"], [file.fd] * (1 + n % 3), 1)
        self.send_files(exporters["c"][1]["socket"], [file.fd], 1)
        self.assertTrue(wait_until(lambda: len(file.closed) == 2))
        self.assertNotIn(self.agent.process.pid, file.closed)
        self.check_export("b", exporters["b"][0])
        children = self.helpers("cleaved-files")
        self.assertEqual(len(children), 3)
        self.agent.request("DELETE", "/v1/leases/c?force=true")
        self.assertEqual(self.helpers("cleaved-files"), children)
        file.end()
        self.assertTrue(wait_until(lambda: "D" not in map(state_of, children)))
        page = os.memfd_create("page")
        self.addCleanup(os.close, page)
        self.send_files(exporters["a"][1]["socket"], [page], 2)
        self.check_export("a", exporters["a"][0])
        self.assertEqual(len(self.helpers("cleaved-files")), 2)

    @unittest.skipUnless(fuse_file.is_possible(), "needs root and /dev/fuse")
    def test_files_of_ended_leases_that_do_not_close(self):
        """A tenant does not get more children of the agent by ending its leases."""
        holder = self.holder()
        file = fuse_file.File()  # no process can be started until it answers
        self.addCleanup(file.end)
        for n in range(20):
            self.send_files(holder.lease(share=.1, name="a")["socket"], [file.fd], 1)
            self.assertTrue(wait_until(lambda: len(file.closed) >= min(n + 1, 16)))
            self.assertEqual(self.agent.request("DELETE", "/v1/leases/a")[0], 204)
        self.assertEqual(len(self.helpers("cleaved-files")), 16)

    def test_sockets_that_linger(self):
        """To close one keeps who does it waiting as long as its owner has set."""
        _, lease = self.start_lease()
        lingering, unread = lingering_socket(self), lingering_socket(self)
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(s.close)
        self.agent.process.send_signal(signal.SIGSTOP)
        s.connect(lease["socket"])
        s.send(b"no hello")
        socket.send_fds(s, [b"more"], [unread.fileno()])
        unread.close()
        self.agent.process.send_signal(signal.SIGCONT)
        call = socket.socket(socket.AF_UNIX)
        self.addCleanup(call.close)
        call.connect(self.agent.api)
        if KERNEL < (6, 16):
            socket.send_fds(call, [b"GET"], [lingering.fileno()])
        else:
            with self.assertRaises(PermissionError):
                socket.send_fds(call, [b"GET"], [lingering.fileno()])
            lingering.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes(8))
        lingering.close()
        self.assertEqual(len(self.leases()), 1)

    def test_sockets_linger_no_more(self):
        """A child closes them, and turns off what would keep it waiting: of a refused process and
        of one that is attached."""
        holder, lease = self.start_lease()
        refused, attached = lingering_socket(self), lingering_socket(self)
        for sock in (refused, attached):
            self.addCleanup(close_at_once, sock)
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(s.close)
        self.agent.process.send_signal(signal.SIGSTOP)
        s.connect(lease["socket"])
        s.send(b"no hello")
        socket.send_fds(s, [b"more"], [refused.fileno()])
        self.agent.process.send_signal(signal.SIGCONT)
        self.assertTrue(wait_until(lambda: not lingers(refused)))
        self.assertIn(b"no hello of a cleave gate", s.recv(8192))
        self.assertEqual(len(self.helpers("cleaved-closer")), 1)
        self.send_files(lease["socket"], [attached.fileno()], 1)
        self.assertTrue(wait_until(lambda: not lingers(attached)))

    def test_no_more_than_1024(self):
        holder, lease = self.start_lease()
        statuses = holder.do("attach_many", socket=lease["socket"], n=1026)
        self.assertEqual(statuses[:1024], [0] * 1024)
        self.assertEqual(statuses[1024:], [-28, -28])  # ENOSPC
        self.assertEqual(len(self.lease("a")["processes"]), 1024)
        holder.kill()
        self.assertTrue(wait_until(lambda: not self.leases()))

    def test_many_end_at_once(self):
        """Each of them might have a sharer among the children of the others' ancestors."""
        holder, lease = self.start_lease()
        begin = self.agent.cpu_seconds()
        children = [holder.do("attach_in_child", socket=lease["socket"])[0] for _ in range(300)]
        self.assertEqual(len(self.lease("a")["processes"]), 300)
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        before = self.agent.cpu_seconds()
        self.assertTrue(wait_until(lambda: not self.lease("a")["processes"]))
        # Their ends are no more work than a few searches for each would be.
        self.assertLess(self.agent.cpu_seconds() - before, 20 * (before - begin))

    def test_come_and_go(self):
        """A process that attaches and leaves again and again, and takes long to examine, does not
        delay the agent for others."""
        holder, lease = self.start_lease(share=0.1)
        neighbour = self.holder()
        other = neighbour.lease(share=0.1, name="b")
        statuses = holder.do("come_and_go", socket=lease["socket"], n=200, maps=40000)
        self.assertEqual(statuses, [0] * 200)
        for _ in range(20):
            self.assertEqual(neighbour.do("attach", socket=other["socket"])["status"], 0)
            self.leases()
        self.assertEqual(len(self.lease("a")["processes"]), 200)

    def test_exec_gives_the_slot_back(self):
        holder, lease = self.start_lease()
        holder.do("attach", socket=lease["socket"])
        holder.do("memory", value=777)
        self.assertEqual(self.lease("a")["memory_used_bytes"], 777)
        holder.do("exec")
        self.assertTrue(wait_until(lambda: not self.lease("a")["processes"]))
        self.assertEqual(self.lease("a")["memory_used_bytes"], 0)

    def test_release(self):
        holder, lease = self.start_lease()
        child, _ = holder.do("attach_in_child", socket=lease["socket"])
        self.refused(self.agent.request("DELETE", "/v1/leases/a"), 409, "in_use",
                     "--force")
        self.assertEqual(self.agent.request("DELETE", "/v1/leases/a?force=true"),
                         (204, None))
        self.assertEqual(self.leases(), [])
        self.assertFalse(os.path.exists(lease["socket"]))
        self.assertIsNone(holder.process.poll())

    def test_release_by_kill(self):
        status, lease = self.agent.request(
            "POST", "/v1/leases", {"share": 0.1, "name": "b"})
        self.assertEqual(status, 201)
        program = ("import sys; sys.path.insert(0, sys.argv[1]); import harness, signal,"
                   "time; signal.signal(15, signal.SIG_IGN);"
                   "a = harness.Attachment(sys.argv[2]);"
                   "print(a.reply['status'], flush=True); time.sleep(600)")
        # A child of this process, which is the lease's holder.
        with subprocess.Popen([sys.executable, "-c", program, HERE, lease["socket"]],
                              stdout=subprocess.PIPE, text=True) as stubborn:
            self.assertEqual(stubborn.stdout.readline(), "0\n")
            begin = time.monotonic()
            status, _ = self.agent.request("DELETE", "/v1/leases/b?force=true")
            self.assertEqual(status, 204)
            self.assertGreater(time.monotonic() - begin, 4.5)
            self.assertEqual(stubborn.wait(60), -signal.SIGKILL)


class Adoption(Case):
    def test_kill_9_and_restart(self):
        holder, waiting = self.holder(), self.holder()
        lease = holder.lease(share=0.6, memory_bytes=64 << 20, cap=0.8, name="a",
                             command="prog", **{"class": "latency"})
        holder.do("attach", socket=lease["socket"])
        holder.do("memory", value=4242)
        queued = waiting.lease(share=0.6, memory_bytes=1 << 20, name="q", wait=True)
        self.assertEqual(queued["state"], "queued")
        dying = self.holder()
        dying.lease(share=0.1, memory_bytes=1 << 20, name="dying", overcommit=True)

        self.agent.stop(signal.SIGKILL)
        dying.kill()
        self.assertTrue(holder.do("hung_up", timeout=5))
        self.agent.start()
        after = self.lease("a")
        for key in ("id", "name", "share", "cap", "memory_bytes", "class", "socket",
                    "holder_pid", "command", "created_at", "device", "state"):
            self.assertEqual(after[key], lease[key], key)
        self.assertEqual([p["pid"] for p in after["processes"]], [holder.pid])
        self.assertEqual(self.lease("q")["queue_position"], 1)
        self.refused(self.agent.request("GET", "/v1/leases/dying"), 404, "not_found")
        self.refused(self.agent.request("POST", "/v1/leases", {"share": 0.5}), 409,
                     "does_not_fit")

        # The gate attaches again with its old page: same slot, and the ledger continues.
        reply = holder.do("reattach", socket=lease["socket"])
        self.assertEqual((reply["status"], reply["slot"]), (0, 0))
        self.assertEqual(holder.do("memory"), 4242)
        self.assertEqual(self.lease("a")["memory_used_bytes"], 4242)
        self.assertEqual(len(self.lease("a")["processes"]), 1)
        holder.kill()
        self.assertTrue(wait_until(lambda: [l["name"] for l in self.leases()] == ["q"]))
        self.assertEqual(self.lease("q")["state"], "active")
        kinds = [e["type"] for e in self.agent.events()]
        self.assertEqual(kinds.count("agent_started"), 2)
        self.assertEqual(kinds.count("lease_adopted"), 2)

    def test_dead_process_does_not_count_after_adoption(self):
        holder = self.holder()
        lease = holder.lease(share=0.5, name="a")
        child, _ = holder.do("attach_in_child", socket=lease["socket"])
        self.assertEqual(holder.do("attach", socket=lease["socket"])["slot"], 1)
        holder.do("memory", value=11)
        self.agent.stop(signal.SIGKILL)
        os.kill(child, signal.SIGKILL)
        time.sleep(0.1)
        self.agent.start()
        reply = holder.do("reattach", socket=lease["socket"])
        self.assertEqual((reply["status"], reply["slot"]), (0, 1))
        shown = self.lease("a")
        self.assertEqual([p["pid"] for p in shown["processes"]], [holder.pid])
        self.assertEqual(shown["memory_used_bytes"], 11)

    def test_newcomer_waits_for_the_page(self):
        holder = self.holder()
        lease = holder.lease(share=0.5, name="a")
        holder.do("attach", socket=lease["socket"])
        holder.do("memory", value=99)
        self.agent.stop(signal.SIGKILL)
        self.agent.start()
        # A new process of the lease attaches before the old one does.
        _, reply = holder.do("attach_in_child", socket=lease["socket"])
        self.assertEqual((reply["status"], reply["slot"]), (0, 1))
        self.assertEqual(len(self.lease("a")["processes"]), 2)

    def test_stop_and_start_keeps_leases(self):
        holder = self.holder()
        lease = holder.lease(share=0.5, name="a")
        holder.do("attach", socket=lease["socket"])
        for _ in range(3):
            self.assertEqual(self.agent.stop(), 0)
            self.assertFalse(os.path.exists(self.agent.api))
            self.agent.start()
            self.assertEqual(self.lease("a")["id"], lease["id"])
            self.assertEqual(holder.do("reattach", socket=lease["socket"])["status"], 0)
        holder.kill()
        self.assertTrue(wait_until(lambda: not self.leases()))

    def test_damaged_state_file(self):
        self.assertEqual(self.agent.stop(), 0)
        with open(os.path.join(self.agent.state, "cleaved.db"), "wb") as f:
            f.write(b"no database" * 1000)
        self.agent.start()
        self.refused(self.holder().request("POST", "/v1/leases", {"share": 0.1}), 500,
                     "internal", "cleaved.db")
        self.assertEqual(self.agent.get("/v1/leases")["items"], [])


if __name__ == "__main__":
    main()
