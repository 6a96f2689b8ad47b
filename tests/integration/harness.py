# SPDX-License-Identifier: Apache-2.0
"""Runs the real cleaved in folders of its own, and processes that hold its leases.

usage of the tests: test_X.py CLEAVED FAULTY_DRIVER [unittest arguments]

A Holder is a process of its own: a lease belongs to the process that requested it, so tests
must be able to kill it.  It is controlled by lines of JSON on its stdin.
"""
import array
import ctypes
import http.client
import json
import mmap
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

NOBODY = 65534
PATIENCE_S = 60
HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = {}  # "cleaved", "driver": paths, from the command line
MAGIC, VERSION, NO_SLOT = 0x43564C43, 1, 0xFFFFFFFF
HELLO = struct.Struct("=8I")
REPLY = struct.Struct("=IIiI128s128sII256s")
DEVICES_BYTES = 4096  # at the end of a longer reply
SLOT_BYTES, MEMORY_OFFSET, WAITING_OFFSET, REPORT_BYTES = 64, 16, 48, 65536


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=PATIENCE_S):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def request(path, method, url, body=None, timeout=PATIENCE_S):
    """(status, parsed body or None)"""
    connection = UnixConnection(path, timeout)
    if body is not None and not isinstance(body, (str, bytes)):
        body = json.dumps(body)
    try:
        connection.request(method, url, body)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None
    finally:
        connection.close()


def writable_cgroups():
    """The folder in which cgroups can be created: version 2's, else systemd's of version 1."""
    found = {}
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            _, path, kind, options = line.split()[:4]
            if kind == "cgroup2" or (kind == "cgroup" and "name=systemd" in options):
                found.setdefault(kind, path)
    for kind in ("cgroup2", "cgroup"):
        if kind in found and os.access(found[kind], os.W_OK):
            return found[kind]
    return None


def wait_until(condition, seconds=PATIENCE_S):
    """Waits for a condition.  The limit is for a hang, so it is long enough for a busy machine."""
    until = time.monotonic() + max(seconds, PATIENCE_S)
    while time.monotonic() < until:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    return condition()


def attach(path, old_slot=NO_SLOT, report_fd=None, raw=None, timeout=PATIENCE_S):
    """Speaks the attach protocol: (reply as a dictionary, socket, fds)."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(timeout)
    s.connect(path)
    data = HELLO.pack(MAGIC, VERSION, 1, 1, old_slot, 0, 0, 0) if raw is None else raw
    if data is not None and data != b"silent":
        if report_fd is None:
            s.sendmsg([data])
        else:
            s.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                array.array("i", [report_fd]))])
    message, fds, _, _ = socket.recv_fds(s, 8192, 4)
    if len(message) not in (REPLY.size, REPLY.size + DEVICES_BYTES):
        s.close()
        return {"status": None, "bytes": len(message)}, None, []
    (_, version, status, slot, platform, model, ordinal, pid, text) = REPLY.unpack_from(message)
    reply = {"version": version, "status": status, "slot": slot, "ordinal": ordinal, "pid": pid,
             "devices": message[REPLY.size:].split(b"\0")[0].decode(), "bytes": len(message),
             "platform": platform.split(b"\0")[0].decode(),
             "model": model.split(b"\0")[0].decode(),
             "message": text.split(b"\0")[0].decode(), "n_fds": len(fds), "raw": message.hex()}
    return reply, s, fds


class Attachment:
    """One attached 'gate' inside a holder."""

    def __init__(self, path, old=None):
        self.old = old
        old_fd = old.fds[1] if old else None
        self.reply, self.socket, self.fds = attach(
            path, old.reply["slot"] if old else NO_SLOT, old_fd)
        self.page = None
        if self.reply["status"] == 0:
            self.page = mmap.mmap(self.fds[1], REPORT_BYTES)

    def memory(self, value=None):
        at = self.reply["slot"] * SLOT_BYTES + MEMORY_OFFSET
        if value is not None:
            self.page[at:at + 8] = struct.pack("=Q", value)
        return struct.unpack("=Q", self.page[at:at + 8])[0]

    def commands(self, entered, done):
        """Reports the numbers of commands that entered and that are complete."""
        at = self.reply["slot"] * SLOT_BYTES
        self.page[at:at + 16] = struct.pack("=QQ", entered, done)

    def run(self, seconds):
        """Waits for a turn, and submits one command of that duration."""
        control = mmap.mmap(self.fds[0], 4096, prot=mmap.PROT_READ)
        self.stand_in_line(1)
        while struct.unpack_from("=I", control, 8)[0] & 3 == 0:
            time.sleep(0.0002)
        self.commands(1, 0)
        self.stand_in_line(0)
        time.sleep(seconds)
        self.commands(1, 1)
        self.stand_in_line(0)

    def stand_in_line(self, n_threads):
        at = self.reply["slot"] * SLOT_BYTES + WAITING_OFFSET
        self.page[at:at + 4] = struct.pack("=I", n_threads)
        os.write(self.fds[2], b"x")


EPOLL_EVENT = struct.Struct("=IQ")
EXPORTS = struct.Struct("=8I")
EXPORTS_MAGIC = 0x45564c43


def export_memory(attachment, n_bytes):
    """Exports memory to a file that a process outside keeps, and sends the list of it.  Returns
    that process."""
    libc = ctypes.CDLL(None, use_errno=True)
    file, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    watched = libc.epoll_create1(os.O_CLOEXEC)
    event = ctypes.create_string_buffer(EPOLL_EVENT.pack(0, 7 << 32 | n_bytes >> 12))
    assert libc.epoll_ctl(watched, 1, file.fileno(), event) == 0
    keeper = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, start_new_session=True,
                              pass_fds=[file.fileno()])
    other.close()
    attachment.memory(n_bytes)
    socket.send_fds(attachment.socket, [EXPORTS.pack(EXPORTS_MAGIC, *[0] * 7)], [watched])
    return keeper.pid


def have_many_maps(n):
    """Makes an address space that takes long to read: adjacent pages have different protection."""
    libc = ctypes.CDLL(None)
    page = mmap.PAGESIZE
    libc.mmap.restype = ctypes.c_size_t
    start = libc.mmap(None, ctypes.c_size_t(n * page), 1, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
                      -1, ctypes.c_size_t(0))
    for i in range(0, n, 2):
        libc.mprotect(ctypes.c_size_t(start + i * page), ctypes.c_size_t(page), 3)


def serve_holder(api_path):
    """The body of a Holder's process."""
    attachments, many = [], []
    connection = UnixConnection(api_path)
    for line in sys.stdin:
        order = json.loads(line)
        do, result = order["do"], None
        if do == "request":
            body = order["body"]
            for _ in range(2):
                try:
                    connection.request(order["method"], order["url"],
                                       None if body is None else json.dumps(body))
                    answer = connection.getresponse()
                    text = answer.read()
                    break
                except ConnectionError:
                    connection.close()  # to an earlier agent
            result = [answer.status, json.loads(text) if text else None]
        elif do == "attach":
            attachments.append(Attachment(order["socket"]))
            result = attachments[-1].reply
        elif do == "reattach":
            attachments.append(Attachment(order["socket"], attachments[-1]))
            result = attachments[-1].reply
        elif do == "attach_raw":
            result = attach(order["socket"], raw=bytes.fromhex(order["hex"]))[0]
        elif do == "attach_many":
            result = []
            for _ in range(order["n"]):
                a = Attachment(order["socket"])
                result.append(a.reply["status"])
                for fd in a.fds:
                    os.close(fd)
                attachments.append(a)
        elif do == "connect_many":
            for _ in range(order["n"]):
                many.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
                many[-1].connect(api_path)
            many[-1].settimeout(5)
            try:
                result = many[-1].recv(1) == b""  # the agent closed the connection
            except OSError as error:
                result = not isinstance(error, TimeoutError)
        elif do == "come_and_go":
            result = []
            for _ in range(order["n"]):
                a = Attachment(order["socket"])
                result.append(a.reply["status"])
                a.socket.close()
                for fd in a.fds:
                    os.close(fd)
                attachments.append(a)
            have_many_maps(order["maps"])  # at lower addresses than the lease pages, so before them in /proc
        elif do == "memory":
            result = attachments[-1].memory(order.get("value"))
        elif do == "commands":
            result = attachments[-1].commands(order["entered"], order["done"])
        elif do == "export_memory":
            result = export_memory(attachments[-1], order["n_bytes"])
        elif do == "stand_in_line":
            result = attachments[-1].stand_in_line(order["threads"])
        elif do == "run":
            result = attachments[-1].run(order["seconds"])
        elif do == "control_is_sealed":
            try:
                mmap.mmap(attachments[-1].fds[0], 4096)
                result = False
            except PermissionError:
                result = True
        elif do == "hung_up":
            s = attachments[-1].socket
            s.settimeout(order["timeout"])
            try:
                result = s.recv(1) == b""
            except TimeoutError:
                result = False
        elif do == "attach_in_child":
            r, w = os.pipe()
            pid = os.fork()
            if pid == 0:
                if order.get("orphan") and os.fork():
                    os._exit(0)
                a = Attachment(order["socket"])
                os.write(w, json.dumps([os.getpid(), a.reply]).encode())
                time.sleep(600)
                os._exit(0)
            if order.get("orphan"):
                os.waitpid(pid, 0)
            result = json.loads(os.read(r, 65536))
        elif do == "spawn":
            result = subprocess.Popen(order["command"], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, start_new_session=True).pid
        elif do == "exec":
            sys.stdout.write("null\n")
            sys.stdout.flush()
            os.execvp("sleep", ["sleep", "600"])
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()


def copy_for_others():
    """Copies this file to a folder that every user can read."""
    folder = tempfile.mkdtemp(prefix="cleave-agent-")
    os.chmod(folder, 0o755)
    return shutil.copy(os.path.abspath(__file__), folder)


class Holder:
    def __init__(self, agent, user=None, script=os.path.abspath(__file__)):
        self.process = subprocess.Popen(
            ["/usr/bin/python3" if user else sys.executable, script, agent.api],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, user=user, cwd="/")
        self.pid = self.process.pid
        self.children, self.sessions = [], []

    def ready(self):
        """Returns once the process serves."""
        self.do("nothing")

    def do(self, what, **order):
        self.send(what, **order)
        result = self.receive()
        if what == "attach_in_child":
            self.children.append(result[0])
        elif what in ("spawn", "export_memory"):
            self.sessions.append(result)
        return result

    def send(self, what, **order):
        self.process.stdin.write(json.dumps({"do": what, **order}) + "\n")
        self.process.stdin.flush()

    def receive(self):
        line = self.process.stdout.readline()
        assert line, "the holder has died"
        return json.loads(line)

    def request(self, method, url, body=None):
        return self.do("request", method=method, url=url, body=body)

    def lease(self, **wanted):
        status, answer = self.request("POST", "/v1/leases", wanted)
        assert status == 201, (status, answer)
        return answer

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def end(self):
        """Ends the agent and all processes that it started."""
        if self.process.poll() is None:
            self.kill()
        for kill, number in ([(os.kill, child) for child in self.children] +
                             [(os.killpg, session) for session in self.sessions]):
            try:
                kill(number, signal.SIGKILL)
            except ProcessLookupError:
                pass


class Agent:
    def __init__(self, folder=None, arguments=(), env=None):
        self.folder = folder or tempfile.mkdtemp(prefix="cleave-agent-")
        self.owns_folder = folder is None
        self.runtime = os.path.join(self.folder, "run")
        self.state = os.path.join(self.folder, "state")
        self.locks = os.path.join(self.folder, "locks")
        os.makedirs(self.locks, exist_ok=True)
        self.api = os.path.join(self.runtime, "api.sock")
        self.log_path = os.path.join(self.folder, "log")
        self.arguments = list(arguments)
        self.env = dict(os.environ, **(env or {}))
        self.process = None

    def command(self):
        return [PROGRAMS["cleaved"], "--runtime-dir", self.runtime, "--state-dir", self.state,
                "--lock-dir", self.locks, *self.arguments]

    def start(self):
        """Starts the agent; returns the seconds until it was ready."""
        begin = time.monotonic()
        ready, write_end = os.pipe()
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [*self.command(), "--foreground", f"--ready-fd={write_end}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=[write_end], env=self.env)
        os.close(write_end)
        byte = os.read(ready, 1)
        os.close(ready)
        assert byte == b"1", self.log()
        return time.monotonic() - begin

    def cpu_seconds(self):
        """Processor seconds that the agent's process has used."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def stop(self, with_signal=signal.SIGTERM):
        self.process.send_signal(with_signal)
        return self.process.wait(60)

    def close(self):
        if self.process and self.process.poll() is None:
            self.stop()
        code = self.process.returncode if self.process else 0
        if self.owns_folder:
            shutil.rmtree(self.folder, ignore_errors=True)
        return code

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def request(self, method, url, body=None, timeout=PATIENCE_S):
        return request(self.api, method, url, body, timeout)

    def get(self, url, timeout=PATIENCE_S):
        status, answer = self.request("GET", url, timeout=timeout)
        assert status == 200, (status, answer)
        return answer

    def events(self, kind=None):
        items, after = [], 0
        while after is not None:
            page = self.get(f"/v1/events?after={after}")
            items += page["items"]
            after = page["next"]
        return [e for e in items if kind is None or e["type"] == kind]


class Case(unittest.TestCase):
    """Each test has an agent of its own."""

    arguments = ()
    env = None

    def setUp(self):
        self.holders = []
        self.agent = Agent(arguments=self.arguments, env=self.env)
        self.addCleanup(self.end)
        self.agent.start()

    def end(self):
        for holder in self.holders:
            holder.end()
        code = self.agent.stop() if self.agent.process.poll() is None else 0
        log = self.agent.log()
        self.agent.close()
        self.assertEqual(code, 0, log)
        for word in ("Sanitizer", "runtime error"):
            self.assertNotIn(word, log)

    def holder(self):
        holder = Holder(self.agent)
        self.holders.append(holder)
        return holder

    def leases(self):
        return self.agent.get("/v1/leases")["items"]

    def lease(self, name):
        return self.agent.get(f"/v1/leases/{name}")

    def refused(self, answer, status, code, *words):
        self.assertEqual(answer[0], status, answer)
        problem = answer[1]
        self.assertEqual(problem["code"], code)
        self.assertEqual(problem["status"], status)
        self.assertEqual(problem["type"], "about:blank")
        self.assertNotIn("\n", problem["detail"])
        for word in words:
            self.assertIn(word, problem["detail"])


@unittest.skipUnless(os.geteuid() == 0, "needs root, as the system's agent does")
class SystemCase(Case):
    """The agent is root's, and the holders are other users."""

    arguments = ["--system"]

    def setUp(self):
        super().setUp()
        os.chmod(self.agent.folder, 0o755)
        self.script = copy_for_others()
        self.addCleanup(shutil.rmtree, os.path.dirname(self.script))

    def other(self, uid=NOBODY):
        holder = Holder(self.agent, uid, self.script)
        self.holders.append(holder)
        return holder


def main():
    PROGRAMS["cleaved"], PROGRAMS["driver"] = map(os.path.abspath, sys.argv[1:3])
    PROGRAMS["cleave"] = os.path.join(os.path.dirname(PROGRAMS["cleaved"]), "../cli/cleave")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])


if __name__ == "__main__":
    serve_holder(sys.argv[1])
