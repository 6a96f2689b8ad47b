#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks an agent's API as a user without permissions: refused changes, requests for what does
not exist, connections that send half a request, and malformed requests, as fast as it can.

usage: attacker.py SOCKET SECONDS [UID [PORT [CERTIFICATE]]]

With a port it comes over the network, with a certificate by TLS.  Prints {"WAY": number of
requests} as JSON."""
import contextlib
import json
import os
import socket
import ssl
import sys
import time

HEAD = b" HTTP/1.1\r\nHost: x\r\n"
WAYS = {
    "backup": b"POST /v1/backup" + HEAD + b"\r\n",
    "token": b"POST /v1/tokens" + HEAD + b"Content-Length: 29\r\n\r\n"
             b'{"name":"a","scope":"admin" }',
    "cordon": b"POST /v1/devices/gpu0/cordon" + HEAD + b"\r\n",
    "lease": b"DELETE /v1/leases/another" + HEAD + b"\r\n",
    "path": b"POST /v1/nothing" + HEAD + b"\r\n",
    "malformed": b"POST /v1/backup" + HEAD + b"Content-Length : 5\r\n\r\n",
    "half": b"POST /v1/backup" + HEAD,
    "odd": b"GET  /v1/version HTTP/1.1\n\n",
}
KEPT = 50  # connections with half a request


class Attacker:
    def __init__(self, path, port, certificate):
        self.path, self.port = path, port
        self.tls = certificate and ssl.create_default_context(cafile=certificate)
        self.socket, self.kept, self.counts = None, [], {}

    def open(self):
        s = (socket.create_connection(("127.0.0.1", self.port), 5) if self.port
             else socket.socket(socket.AF_UNIX))
        s.settimeout(5)
        if not self.port:
            s.connect(self.path)
        return self.tls.wrap_socket(s, server_hostname="127.0.0.1") if self.tls else s

    def send(self, way):
        if way == "half":
            self.kept = self.kept[-KEPT:] + [self.open()]
            self.kept[-1].sendall(WAYS[way])
        else:
            self.socket = self.socket or self.open()
            self.socket.sendall(WAYS[way])
            text = self.socket.recv(65536)
            if not text or b"Connection: close" in text:
                self.socket = None
        self.counts[way] = self.counts.get(way, 0) + 1

    def run(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for way in WAYS:
                try:
                    self.send(way)
                except OSError:
                    self.socket = None
        print(json.dumps(self.counts), flush=True)


def main():
    path, seconds = sys.argv[1], float(sys.argv[2])
    uid, port, certificate = (sys.argv[3:] + [""] * 3)[:3]
    if uid:
        with contextlib.suppress(PermissionError):
            os.setgroups([])
        os.setresgid(int(uid), int(uid), int(uid))
        os.setresuid(int(uid), int(uid), int(uid))
    Attacker(path, int(port or 0), certificate).run(seconds)


if __name__ == "__main__":
    main()
