# SPDX-License-Identifier: Apache-2.0
"""Stands in for the service manager: a socket for notifications, sockets handed over."""
import array
import os
import socket

START = 'LISTEN_PID=$$ WATCHDOG_PID=$$ exec "$@"'  # both must be the agent's own


class Manager:
    def __init__(self, path):
        self.path = path
        self.notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notified.bind(path)
        self.messages, self.stored = [], {}

    def close(self):
        self.notified.close()
        for kept in self.stored.values():
            kept.close()

    def environment(self, n_sockets=0, names="", watchdog_us=None):
        env = {"NOTIFY_SOCKET": self.path}
        if n_sockets:
            env.update(LISTEN_FDS=str(n_sockets), LISTEN_FDNAMES=names)
        if watchdog_us:
            env["WATCHDOG_USEC"] = str(watchdog_us)
        return env

    def receive(self, timeout=5):
        """The next message as a dictionary; None when there is none."""
        self.notified.settimeout(timeout)
        try:
            text, ancillary, _, _ = self.notified.recvmsg(4096, socket.CMSG_SPACE(4))
        except (TimeoutError, BlockingIOError):
            return None
        message = dict(line.split("=", 1) for line in text.decode().splitlines())
        for _, kind, data in ancillary:
            if kind == socket.SCM_RIGHTS:
                fd = array.array("i", data)[0]
                self.stored[message.get("FDNAME")] = socket.socket(fileno=fd)
        self.messages.append(message)
        return message

    def wait_for(self, key, text="", timeout=60):
        """The first message from here on that has the key and the text in its value."""
        while True:
            message = self.receive(timeout)
            assert message is not None, (key, text, self.messages)
            if text in message.get(key, "\0"):
                return message[key]


def listen(path, mode=0o600):
    """Like a socket unit."""
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(path)
    os.chmod(path, mode)
    listening.listen(4096)
    return listening


def command_with(command, fds):
    """(command, pass_fds): the descriptors are 3, 4, ... when it runs, as required."""
    moves = " ".join(f"{3 + at}<&{fd}" for at, fd in enumerate(fds))
    script = (f"exec {moves}; " if moves else "") + START
    return ["/bin/bash", "-c", script, "bash", *command], list(fds)
