# SPDX-License-Identifier: Apache-2.0
"""TCP ports for the servers of a test."""
import random
import socket

# Below the ports that Linux gives to outgoing connections (net.ipv4.ip_local_port_range
# begins at 32768): a connection of another test cannot take the port between its choice
# here and the server's bind().
FIRST, LAST = 10000, 32767


def free_ports(n):
    """N distinct ports that have no listener on any address of this machine."""
    found = set()
    while len(found) < n:
        port = random.SystemRandom().randint(FIRST, LAST)
        with socket.socket() as s:
            try:
                s.bind(("", port))
            except OSError:
                continue
        found.add(port)
    return sorted(found)


def free_port():
    return free_ports(1)[0]
