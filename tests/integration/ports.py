# SPDX-License-Identifier: Apache-2.0
"""TCP ports for the servers of a test."""
import random
import socket

# Below the ports that Linux gives to outgoing connections (net.ipv4.ip_local_port_range
# begins at 32768): a connection of another test cannot take the port between its choice
# here and the server's bind().
FIRST, LAST = 10000, 32767
# Names that hold the ports for this process, also from the tests beside it: a server may
# open its port late, or close it for a while.
held = []


def hold(port):
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0cleave-test-port-{port}")
    except OSError:
        name.close()
        return False
    held.append(name)
    return True


def free_ports(n):
    """N distinct ports that have no listener on any address of this machine, and that no other
    test has chosen."""
    found = set()
    while len(found) < n:
        port = random.SystemRandom().randint(FIRST, LAST)
        with socket.socket() as s:
            try:
                s.bind(("", port))
            except OSError:
                continue
        if hold(port):
            found.add(port)
    return sorted(found)


def free_port():
    return free_ports(1)[0]
