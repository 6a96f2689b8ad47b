#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Request smuggling through an HTTP proxy in front of the agent.  The proxy refuses DELETE, and
reaches the agent by its Unix socket, as an admin: a DELETE that the agent counts was hidden in
another request.

usage: test_proxy.py CLEAVED FAULTY_DRIVER Haproxy|Nginx"""
import os
import shutil
import socket
import subprocess
import sys

from harness import UnixConnection, main, wait_until
from test_hostile import AMBIGUOUS, INNER, LINES, HostileCase
from ports import free_port

SBIN = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


class ProxyCase(HostileCase):
    program = None

    def setUp(self):
        super().setUp()
        self.front = free_port()
        path = self.write("proxy.conf", self.make_config())
        self.proxy = subprocess.Popen(self.command(path), stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.proxy.stderr.close)
        self.addCleanup(self.proxy.wait)
        self.addCleanup(self.proxy.terminate)
        self.assertTrue(wait_until(self.is_up), "the proxy does not answer")

    def open(self, tcp=False, timeout=10):
        return socket.create_connection(("127.0.0.1", self.front), timeout)

    def is_up(self):
        if self.proxy.poll() is not None:
            self.fail(self.proxy.stderr.read())
        try:
            return b" 200 " in self.say(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        except ConnectionError:
            return False

    def n_deletes(self):
        connection = UnixConnection(self.agent.api)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return sum('method="DELETE"' in line for line in text.splitlines()
                   if line.startswith("cleave_api_requests_total"))

    def try_all(self):
        self.assertIn(b" 200 ", self.say(b"GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n"))
        self.assertIn(b" 403 ", self.say(INNER))
        body = b"POST /v1/plan HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
        self.assertIn(b"problem+json", self.say(body))
        shapes = {line: line + b"Host: x\r\n\r\n" + INNER for line in LINES}
        for name, rest in AMBIGUOUS.items():
            for method in (b"POST /v1/plan", b"GET /v1/version"):
                shapes[name, method] = method + b" HTTP/1.1\r\nHost: x\r\n" + rest
        for name, data in shapes.items():
            # The proxy may use a connection to the agent again for the second request.
            with self.subTest(name):
                self.say(data)
                self.say(b"GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertEqual(self.n_deletes(), 0)
        self.assert_well()


class Haproxy(ProxyCase):
    program = "haproxy"

    def command(self, path):
        return [shutil.which(self.program, path=SBIN), "-db", "-f", path]

    def make_config(self):
        return f"""
global
    maxconn 100
defaults
    mode http
    timeout connect 5s
    timeout client 5s
    timeout server 5s
    option http-keep-alive
    http-reuse always
frontend front
    bind 127.0.0.1:{self.front}
    http-request deny if METH_DELETE
    default_backend agent
backend agent
    server agent unix@{self.agent.api}
"""

    def test_smuggling(self):
        self.try_all()

    def test_smuggling_through_a_lax_one(self):
        """A proxy that forwards what it should refuse."""
        self.proxy.terminate()
        self.proxy.wait()
        path = self.write("lax.conf", self.make_config().replace(
            "option http-keep-alive", "option http-keep-alive\n"
            "    option accept-invalid-http-request\n    option accept-invalid-http-response"))
        self.proxy = subprocess.Popen(self.command(path), stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(self.proxy.wait)
        self.addCleanup(self.proxy.terminate)
        self.assertTrue(wait_until(self.is_up))
        self.try_all()


class Nginx(ProxyCase):
    program = "nginx"

    def command(self, path):
        return [shutil.which(self.program, path=SBIN), "-p", self.files, "-c", path]

    def make_config(self):
        return f"""
daemon off;
master_process off;
pid {self.files}/nginx.pid;
error_log {self.files}/error.log;
events {{ worker_connections 100; }}
http {{
    access_log off;
    client_body_temp_path {self.files}/body;
    proxy_temp_path {self.files}/proxy;
    fastcgi_temp_path {self.files}/fastcgi;
    uwsgi_temp_path {self.files}/uwsgi;
    scgi_temp_path {self.files}/scgi;
    ignore_invalid_headers off;
    underscores_in_headers on;
    upstream agent {{ server unix:{self.agent.api}; keepalive 4; }}
    server {{
        listen 127.0.0.1:{self.front};
        location / {{
            if ($request_method = DELETE) {{ return 403; }}
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $host;
            proxy_request_buffering off;
            proxy_pass http://agent;
        }}
    }}
}}
"""

    def test_smuggling(self):
        self.try_all()


if __name__ == "__main__":
    if not shutil.which(sys.argv[3].lower(), path=SBIN):
        print(f"{sys.argv[3].lower()} is not installed: ./dev deps installs it")
        sys.exit(77)
    main()
