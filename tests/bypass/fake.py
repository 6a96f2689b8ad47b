# SPDX-License-Identifier: Apache-2.0
"""A program that is its own agent: each process that attaches gets the whole device, and memory
without a limit.

usage: fake.py named|beside|linked|vendors|later COMMAND...
       fake.py now

named: CLEAVE_LEASE names the fake agent's socket.  beside: that socket is also beside a link to the
gate, by which the program loads it.  linked: it is in the place of the lease's own.  vendors: it is
in the place of the link to that, in the drivers' folder and in the folder that is mounted there.
now, later: the same by two programs of one lease, of which the first puts the link there.
What the device is called is learned from the lease's agent.
"""
import array
import ctypes
import os
import signal
import socket
import struct
import sys
import tempfile

HELLO_BYTES, REPLY_BYTES = 32, 4632
CONTROL_BYTES, REPORT_BYTES = 4096, 65536 + 8192 + 32768
PR_SET_PDEATHSIG = 1
VENDORS = "/etc/OpenCL/vendors"
OPEN = 1 << 2 | 1  # the first turn, which no other lease ends
FOR_EVER_NS = 10 ** 9


def control_page():
    """Version and length; phase, window_commands, window_ns; deadline, quota, memory."""
    page = bytearray(CONTROL_BYTES)
    struct.pack_into("=IIIIQQQQ", page, 0, 1, 0, OPEN, 1024, FOR_EVER_NS, 0, 1 << 40, 0)
    struct.pack_into("=I", page, 48, 1024)  # slots_used
    fd = os.memfd_create("page")
    os.write(fd, page)
    return fd


def report_page():
    fd = os.memfd_create("page")
    os.ftruncate(fd, REPORT_BYTES)
    return fd


def ask(real, hello):
    """What the lease's agent says to it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as agent:
        agent.connect(real)
        agent.send(hello)
        reply, fds, _, _ = socket.recv_fds(agent, REPLY_BYTES, 8)
        for fd in fds:
            os.close(fd)
    return reply


def serve(listener, real):
    files = [control_page(), report_page(), os.pipe()[1]]
    kept = []
    while True:
        program, _ = listener.accept()
        kept.append(program)
        hello = program.recv(HELLO_BYTES)
        if len(hello) == HELLO_BYTES:
            program.sendmsg([ask(real, hello)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                                  array.array("i", files))])


def link_gate(folder, lease):
    """The gate, and what it looks for beside itself."""
    for variable in ("LD_PRELOAD", "OPENCL_LAYERS"):
        gate = os.environ.get(variable, "").split(":")[0]
        if "/libcleave-" in gate:
            path = os.path.join(folder, os.path.basename(gate))
            os.symlink(os.path.realpath(gate), path)
            os.environ[variable] = path
            os.environ.setdefault("LD_PRELOAD", path)
    for name in ("drivers.real", "drivers.below", "vendors.real"):
        os.symlink(os.path.join(lease, name), os.path.join(folder, name))


def replace_link(path):
    """Puts a link to the path where the gate looks for the lease."""
    for folder in (VENDORS, f"{os.path.realpath(f'{VENDORS}/vendors.real')}/../vendors"):
        link = os.path.join(folder, "lease.sock")
        try:
            if os.path.lexists(link):
                os.unlink(link)
            os.symlink(path, link)
        except OSError as error:
            print(f"# {link}: {error.strerror}", file=sys.stderr)


def main():
    how, *command = sys.argv[1:]
    real = os.environ["CLEAVE_LEASE"]
    if how in ("now", "later"):
        path = os.path.join(os.environ["XDG_RUNTIME_DIR"], "fake.sock")
    else:
        path = os.path.join(tempfile.mkdtemp(prefix="clv-"), "lease.sock")
    if how == "beside":
        link_gate(os.path.dirname(path), os.path.dirname(real))
    if how == "linked":
        path, real = real, f"{real}.real"
        os.rename(path, real)
    if how in ("vendors", "now"):
        replace_link(path)
    if how == "now":
        return
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen()
    program = os.getpid()
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == program:  # it may have ended before
            serve(listener, real)
        os._exit(0)
    listener.close()
    os.environ["CLEAVE_LEASE"] = path
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
