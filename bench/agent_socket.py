# SPDX-License-Identifier: Apache-2.0
"""HTTP over the agent's Unix socket."""
import http.client
import json
import socket
import time

from tenants import BenchError


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("agent", timeout=60)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)

    def ask(self, method, url, body=None):
        self.request(method, url, json.dumps(body) if body else None)
        answer = self.getresponse()
        data = answer.read()
        if answer.status >= 300:
            raise BenchError(f"{method} {url}: {data[:200].decode(errors='replace')}")
        return data

    def timed(self, method, url, body=None):
        """The milliseconds of a request, and its answer."""
        began = time.monotonic()
        data = self.ask(method, url, body)
        return 1000 * (time.monotonic() - began), data


def leases_of(connection):
    """The first page of leases, a hundred at most."""
    return json.loads(connection.ask("GET", "/v1/leases"))["items"]
