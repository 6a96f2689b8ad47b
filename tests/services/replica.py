#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The program of the services of these tests: an HTTP server that computes on its device.

GET /              who answered: the container's name, VERSION and how many processors' seconds of
                   the device it has computed
GET /compute?ms=N  computes for N milliseconds
GET /wait?ms=N     waits, and then answers
GET /stream?n=N    N lines, one each 20 ms

FAILS=1: it ends at once. NEVER=1: it never listens. DEVICE=1: it has an OpenCL device."""
import json
import os
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

SOURCE = """__kernel void work(__global float *x) {
    float y = x[get_global_id(0)];
    for (int i = 0; i < 100000; i++) y = y * 0.999f + 1.0f;
    x[get_global_id(0)] = y; }"""


class Device:
    def __init__(self):
        import pyopencl as cl
        self.context = cl.create_some_context(interactive=False)
        self.queue = cl.CommandQueue(self.context)
        self.work = cl.Program(self.context, SOURCE).build().work
        self.buffer = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, 256)
        self.memory = self.context.devices[0].global_mem_size

    def compute(self, seconds):
        until = time.monotonic() + seconds
        while True:
            self.work(self.queue, (1,), (1,), self.buffer)
            self.queue.finish()
            if time.monotonic() >= until:
                return


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are sent at once: no proxy can repeat a request of which it has half an answer.
    wbufsize = -1
    device = None

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        asked = urlparse(self.path)
        values = {key: int(value[0]) for key, value in parse_qs(asked.query).items()}
        if asked.path == "/stream":
            return self.stream(values["n"])
        if asked.path == "/wait":
            time.sleep(values["ms"] / 1000)
        if self.device:
            self.device.compute(values.get("ms", 0) / 1000 if asked.path == "/compute" else 0)
        body = json.dumps({"name": socket.gethostname(), "version": os.environ.get("VERSION", ""),
                           "memory": self.device.memory if self.device else 0}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def stream(self, n):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for i in range(n):
            line = f"{i}\n".encode()
            self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
            self.wfile.flush()
            time.sleep(.02)
        self.wfile.write(b"0\r\n\r\n")


def main():
    print("started", os.environ.get("VERSION", ""), flush=True)
    if os.environ.get("FAILS"):
        sys.exit(3)
    if os.environ.get("NEVER"):
        time.sleep(3600)
    if os.environ.get("DEVICE"):
        Handler.device = Device()
    server = ThreadingHTTPServer(("0.0.0.0", 8080), Handler)
    server.request_queue_size = 128
    server.serve_forever()


if __name__ == "__main__":
    main()
