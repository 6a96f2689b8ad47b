#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks that take over a minute: the agent closes connections of slow clients."""
import select
import time

from harness import main
from test_hostile import HostileCase


class Slow(HostileCase):
    def test_slow_clients_are_closed(self):
        """However small the parts of a request, and whatever the client sends."""
        slow = [self.open(tcp=i % 2) for i in range(4)]
        slow[0].sendall(b"GET /v1/version HTTP/1.1\r\nX-A: ")
        slow[1].sendall(b"GET /v1/version HTTP/1.1\r\nX-A: ")
        slow[2].sendall(b"POST /v1/plan HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n")
        slow[3].sendall(b"POST /v1/plan HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        begin, ended = time.monotonic(), set()
        while len(ended) < 4 and time.monotonic() - begin < 100:
            for i, s in enumerate(slow):
                try:
                    s.sendall(b"1\r\nx\r\n" if i == 3 else b"a")
                    if select.select([s], [], [], 0)[0] and not s.recv(100):
                        ended.add(i)
                except OSError:
                    ended.add(i)
            time.sleep(0.5)
        self.assertEqual(ended, {0, 1, 2, 3})
        self.assertGreater(time.monotonic() - begin, 30)
        self.assert_well()


if __name__ == "__main__":
    main()
