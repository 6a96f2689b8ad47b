# SPDX-License-Identifier: Apache-2.0
"""Attaches to its lease as a gate for CUDA, and reports channels that it does not have, with files
that are not a GPU's."""
import array
import os
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import fuse_file  # noqa: E402

HELLO = struct.pack("=8I", 0x43564c43, 1, 2, 1, 0xffffffff, 0, 0, 0)
OBJECT = struct.Struct("=8I")
GROUP, CHANNEL, SUBDEVICE = 0xa06c, 0xc86f, 0x2080


def tell(lease, handle, kind, fd=None, magic=0x43564c43):
    files = [] if fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
    lease.sendmsg([OBJECT.pack(magic, handle // 100, 5, handle, kind, 0, 0, 0)], files)


def attach():
    lease = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    lease.connect(os.environ["CLEAVE_LEASE"])
    lease.sendmsg([HELLO])
    assert len(lease.recv(1024)) == 536
    return lease


def tell_of_silent_file(lease):
    """Any process that asks for its attributes may wait for ever for the answer."""
    file = fuse_file.File()
    for handle in range(5000, 5020):
        tell(lease, handle, GROUP, file.fd)
        attach().close()
    assert not [pid for pid in file.asked if pid != os.getpid()], file.asked
    file.end()


def main():
    lease = attach()
    null, (out, _) = os.open("/dev/null", os.O_RDWR), os.pipe()
    for fd in (null, out, lease.fileno(), None):
        for handle in range(100, 3000, 7):
            tell(lease, handle, (GROUP, CHANNEL, SUBDEVICE)[handle % 3], fd)
    tell(lease, 200, 0)
    tell(lease, 200, 0xffff, null, magic=1)
    for size in (1, 31, 33, 4096):
        lease.sendmsg([b"x" * size], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                       array.array("i", [null, out, null]))])
    if fuse_file.is_possible():
        tell_of_silent_file(lease)
    return 0


if __name__ == "__main__":
    sys.exit(main())
