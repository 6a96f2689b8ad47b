#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command with the capabilities and the system calls of a unit, without systemd.

usage: confine.py [--root=FOLDER] [--without=CAPABILITY] UNIT COMMAND...

A system call that is not allowed kills: the unit would answer EPERM, which could pass
unnoticed here.  Without systemd-analyze or libseccomp there is no filter."""
import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path

PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
SCMP_ACT_KILL_PROCESS, SCMP_ACT_ALLOW = 0x80000000, 0x7FFF0000
CAPABILITIES = """chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap
    linux_immutable net_bind_service net_broadcast net_admin net_raw ipc_lock ipc_owner
    sys_module sys_rawio sys_chroot sys_ptrace sys_pacct sys_admin sys_boot sys_nice
    sys_resource sys_time sys_tty_config mknod lease audit_write audit_control setfcap
    mac_override mac_admin syslog wake_alarm block_suspend audit_read perfmon bpf
    checkpoint_restore""".split()


def settings(unit, name):
    """The words of all lines of that name."""
    lines = re.findall(rf"^{name}=(.*)$", Path(unit).read_text(), re.M)
    return " ".join(lines).split()


def members(name):
    """The system calls of a set of systemd's."""
    if not name.startswith("@"):
        return {name}
    done = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", name],
                          capture_output=True, text=True, check=True)
    found = set()
    for line in done.stdout.splitlines()[1:]:
        word = line.strip()
        if word and not word.startswith("#"):
            found |= members(word)
    return found


def allowed_calls(unit):
    try:
        return set().union(*(members(name) for name in settings(unit, "SystemCallFilter")))
    except FileNotFoundError:
        return set()


def filter_for(names):
    """A loaded library and a filter to be loaded, or None."""
    try:
        library = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        return None
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(SCMP_ACT_KILL_PROCESS))
    for name in names:
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number != -1:
            library.seccomp_rule_add(context, SCMP_ACT_ALLOW, number, 0)
    return library, context


def drop_all_but(kept):
    libc = ctypes.CDLL(None, use_errno=True)
    for number, name in enumerate(CAPABILITIES):
        if f"CAP_{name.upper()}" not in kept:
            libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def main():
    arguments, root, without = sys.argv[1:], None, set()
    while arguments[0].startswith("--"):
        option, value = arguments.pop(0).split("=", 1)
        if option == "--root":
            root = value
        else:
            without.add(value)
    unit, *command = arguments
    names = allowed_calls(unit)
    seccomp = filter_for(names) if names else None
    kept = set(settings(unit, "CapabilityBoundingSet")) - without
    if root:
        os.chroot(root)
        os.chdir("/")
    drop_all_but(kept)
    if seccomp and seccomp[0].seccomp_load(seccomp[1]) < 0:
        sys.exit("confine.py: no filter can be set")
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
