#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small double of the agent's API (docs/api.md), to test the command line alone.

It keeps leases in memory, admits by share and memory, queues in order, and ends a lease
when its holder is dead.  It enforces nothing, and shares no code with the agent.  Variables
of the environment cause faults: DOUBLE_API (another API version), DOUBLE_PROBLEM ("status
code" for every new lease), DOUBLE_ATTACHED (pids shown as attached), DOUBLE_LEAVES (a file:
the double that can create it ends after its first answer), DOUBLE_SLOW (seconds before the
first answer).
"""
import argparse
import http.server
import json
import os
import select
import socket
import socketserver
import struct
import sys
import threading
import time
from datetime import datetime, timezone
from urllib.parse import parse_qs, unquote, urlsplit

MEMORY = 16 << 30
lock = threading.Condition()
leases = []
events = []
started_at = time.monotonic()
answered_at = [started_at]
options = argparse.Namespace(runtime_dir=None)


def now():
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def runtime():
    if options.runtime_dir:
        return options.runtime_dir
    base = os.environ.get("XDG_RUNTIME_DIR")
    return os.path.join(base, "cleave") if base else "/tmp/cleave-%d" % os.getuid()


class Problem(Exception):
    def __init__(self, status, code, detail):
        super().__init__(detail)
        self.status, self.code = status, code


def event(kind, lease, message):
    events.append({"id": len(events) + 1, "time": now(), "type": kind,
                   "lease": lease["id"], "name": lease["name"],
                   "device": lease["device"], "uid": os.getuid(), "message": message})


def active():
    return [each for each in leases if each["state"] == "active"]


def fits(lease):
    others = [each for each in active() if each is not lease]
    return (lease["overcommit"] or
            sum(each["share"] for each in others) + lease["share"] <= 1.000001 and
            sum(each["memory_bytes"] for each in others) + lease["memory_bytes"] <= MEMORY)


def admit():
    """Queued leases that fit become active, strictly in order."""
    queued = [each for each in leases if each["state"] == "queued"]
    while queued and fits(queued[0]):
        first = queued.pop(0)
        first.update(state="active", queue_position=None)
        event("lease_created", first, "from the queue")
    for position, each in enumerate(queued, 1):
        each["queue_position"] = position
    lock.notify_all()


def reap():
    while True:
        time.sleep(0.05)
        with lock:
            dead = [each for each in leases if not alive(each["holder_pid"])]
            for each in dead:
                leases.remove(each)
                event("lease_ended", each, "its holder has ended")
            if dead:
                admit()


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def find(name):
    for each in leases:
        if name in (each["id"], each["name"]):
            return each
    raise Problem(404, "not_found", "there is no lease '%s': see cleave ps" % name)


def create(body, pid):
    fault = os.environ.get("DOUBLE_PROBLEM")
    if fault:
        status, code = fault.split()
        raise Problem(int(status), code, "the double was told to say %s" % code)
    if body.get("device", "gpu0") not in ("gpu0", "UUID-0"):
        raise Problem(404, "no_such_device", "there is no device '%s': the devices are "
                      "gpu0" % body["device"])
    memory = body.get("memory_bytes") or int(body["share"] * MEMORY)
    share = body.get("share") or memory / MEMORY
    if memory > MEMORY:
        raise Problem(413, "too_large", "gpu0 has only 16 GiB: ask for less")
    taken = {each["name"] for each in leases}
    name = body.get("name") or body.get("command", "lease")
    if body.get("name") in taken:
        raise Problem(409, "name_in_use", "'%s' is taken: choose another name" % name)
    number = 2
    while name in taken:
        name = "%s-%d" % (body.get("command", "lease"), number)
        number += 1
    lease = {"id": "l%016x" % time.time_ns(), "name": name, "tenant": "me",
             "uid": os.getuid(), "device": "gpu0", "state": "queued", "share": share,
             "cap": body.get("cap"), "memory_bytes": memory,
             "class": body.get("class", "normal"),
             "overcommit": body.get("overcommit", False), "queue_position": None,
             "created_at": now(), "holder_pid": pid, "command": body.get("command"),
             "share_used": 0.0, "held_seconds": 0.0, "memory_used_bytes": 0,
             "waiting": False, "holding": False,
             "processes": [{"pid": int(each), "memory_used_bytes": 0,
                            "attached_at": now()}
                           for each in os.environ.get("DOUBLE_ATTACHED", "").split()]}
    folder = os.path.join(runtime(), "lease", lease["id"])
    lease["socket"] = os.path.join(folder, "lease.sock")
    if not fits(lease) and not body.get("wait"):
        raise Problem(409, "does_not_fit", "gpu0 has not that much left: ask for less, or "
                      "add --wait")
    os.makedirs(folder)
    open(lease["socket"], "w").close()
    leases.append(lease)
    event("lease_queued", lease, "asked for")
    admit()
    return lease


def devices():
    return [{"name": "gpu0", "uuid": "UUID-0", "model": "Double of a device", "vendor": "none",
             "driver": "1", "type": "gpu", "backend": "opencl", "executor": "gate",
             "platform": "double", "compute_units": 2, "memory_bytes": MEMORY,
             "share_promised": sum(each["share"] for each in active()),
             "memory_promised_bytes": sum(each["memory_bytes"] for each in active()),
             "memory_used_bytes": 0, "leases": len(active()),
             "queued": len(leases) - len(active()),
             "turn_seconds": 0.016, "hand_over_seconds": 0.0001}]


def leave_once():
    path = os.environ.get("DOUBLE_LEAVES")
    if path and not os.path.exists(path):
        open(path, "w").close()
        os.unlink(os.path.join(runtime(), "api.sock"))
        os._exit(0)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def peer(self):
        raw = self.connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return struct.unpack("3i", raw)[0]

    def answer(self, status, value=None, kind="application/json"):
        slow = float(os.environ.get("DOUBLE_SLOW", "0"))
        time.sleep(max(0, started_at + slow - time.monotonic()))
        text = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if text:
            self.wfile.write(text)

    def is_gone(self):
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""

    def route(self, method):
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        parts = url.path.strip("/").split("/")
        self.raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        is_json = self.headers.get("Content-Type") == "application/json"
        body = json.loads(self.raw) if self.raw and is_json else {}
        answered_at[0] = time.monotonic()
        if parts == ["v1", "version"]:
            return 200, {"version": "double", "api": int(os.environ.get("DOUBLE_API", "1")),
                         "pid": os.getpid(), "started_at": now()}
        if parts == ["v1", "devices"]:
            return 200, {"items": devices()}
        if parts == ["v1", "events"]:
            return 200, {"items": self.wait_events(query)}
        if parts == ["v1", "leases"]:
            if method == "POST":
                return 201, create(body, self.peer())
            return 200, {"items": leases}
        if parts[:2] == ["v1", "leases"] and len(parts) == 3:
            return self.route_lease(method, find(unquote(parts[2])), query, body)
        return self.route_more(method, parts, query, body)

    def route_more(self, method, parts, query, body):
        """Further routes of derived doubles."""
        raise Problem(404, "no_such_path", "the API has no such path")

    def route_lease(self, method, lease, query, body):
        if method == "DELETE":
            if lease["processes"] and "force" not in query:
                raise Problem(409, "in_use", "it has attached processes")
            leases.remove(lease)
            event("lease_ended", lease, "released")
            admit()
            return 204, None
        if method == "PATCH":
            before = dict(lease)
            lease.update(body)
            if not fits(lease):
                lease.update(before)
                raise Problem(409, "does_not_fit", "gpu0 has not that much left")
            event("lease_resized", lease, "by its owner")
        elif "wait_ms" in query:
            self.wait_queued(lease, int(query["wait_ms"]) / 1000)
        return 200, lease

    def wait_queued(self, lease, seconds):
        position, until = lease["queue_position"], time.monotonic() + seconds
        while lease["state"] == "queued" and lease["queue_position"] == position:
            left = until - time.monotonic()
            if left <= 0 or self.is_gone():
                break
            lock.wait(min(left, 0.05))
        if lease not in leases:
            raise Problem(404, "not_found", "that lease has ended")

    def wait_events(self, query):
        until = time.monotonic() + int(query.get("wait_ms", 0)) / 1000
        after, limit = int(query.get("after", 0)), int(query.get("limit", 100))
        while True:
            found = [each for each in events if each["id"] > after][:limit]
            if found or time.monotonic() >= until or self.is_gone():
                return found
            lock.wait(0.05)

    def handle_method(self, method):
        try:
            with lock:
                status, value = self.route(method)
                text = json.loads(json.dumps(value))
            self.answer(status, text)
            leave_once()
        except Problem as problem:
            self.answer(problem.status, {
                "type": "about:blank", "title": "Problem", "status": problem.status,
                "code": problem.code, "detail": str(problem)}, "application/problem+json")

    def do_GET(self):
        self.handle_method("GET")

    def do_POST(self):
        self.handle_method("POST")

    def do_PATCH(self):
        self.handle_method("PATCH")

    def do_DELETE(self):
        self.handle_method("DELETE")


class Quiet(Handler):
    """A client that disconnects before its answer is not an error."""

    def handle(self):
        try:
            super().handle()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def finish(self):
        try:
            super().finish()
        except (BrokenPipeError, ConnectionResetError):
            pass


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64


def main(handler=Quiet):
    parser = argparse.ArgumentParser()
    parser.add_argument("--ready-fd", type=int)
    parser.add_argument("--idle-exit", type=float)
    parser.add_argument("--runtime-dir")
    parser.add_argument("--state-dir")
    parser.add_argument("--sim")
    parser.parse_args(namespace=options)
    path = os.path.join(runtime(), "api.sock")
    os.makedirs(runtime(), mode=0o700, exist_ok=True)
    started = os.environ.get("DOUBLE_STARTED")
    if started:
        with open(started, "a") as file:
            file.write("%d\n" % os.getpid())
    if os.path.exists(path):
        os.unlink(path)
    server = Server(path, handler)
    threading.Thread(target=reap, daemon=True).start()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    if options.ready_fd is not None:
        os.write(options.ready_fd, b"\n")
        os.close(options.ready_fd)
    while not options.idle_exit or leases or \
            time.monotonic() - answered_at[0] < options.idle_exit:
        time.sleep(0.2)
    os.unlink(path)


if __name__ == "__main__":
    sys.exit(main())
