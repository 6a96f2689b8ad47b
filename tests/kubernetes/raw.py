# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 by hand, for frames that no library would send."""
import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def text(value):
    value = value.encode() if isinstance(value, str) else value
    assert len(value) < 127
    return bytes([len(value)]) + value


def headers(*pairs):
    return b"".join(b"\0" + text(name) + text(value) for name, value in pairs)


def grpc_headers(path, **more):
    pairs = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "localhost",
             "content-type": "application/grpc", "te": "trailers",
             **{name.replace("_", "-"): value for name, value in more.items()}}
    return headers(*pairs.items())


def message(data=b"", compressed=0):
    return struct.pack(">BI", compressed, len(data)) + data


class Connection:
    def __init__(self, path, settings=b""):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)  # with a timeout it would fail where the backlog is full
        self.socket.settimeout(60)
        self.socket.sendall(PREFACE + frame(SETTINGS, payload=settings))
        self.buffer = b""

    def send(self, *frames):
        self.socket.sendall(b"".join(frames))

    def ask(self, stream, path, data=None, **more):
        self.send(frame(HEADERS, END_HEADERS, stream, grpc_headers(path, **more)))
        self.send(frame(DATA, END_STREAM, stream, message() if data is None else data))

    def read(self):
        """(kind, flags, stream, payload), or None at its end."""
        while True:
            if len(self.buffer) >= 9:
                length = int.from_bytes(self.buffer[:3], "big")
                kind, flags, stream = struct.unpack(">BBI", self.buffer[3:9])
                if len(self.buffer) >= 9 + length:
                    payload = self.buffer[9:9 + length]
                    self.buffer = self.buffer[9 + length:]
                    return kind, flags, stream, payload
            try:
                more = self.socket.recv(65536)
            except ConnectionError:
                return None
            if not more:
                return None
            self.buffer += more

    def until(self, *kinds):
        """The first frame of these kinds; None: the connection ended before."""
        while True:
            got = self.read()
            if got is None or got[0] in kinds:
                return got

    def close(self):
        self.socket.close()
