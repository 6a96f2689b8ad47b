#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The packages where systemd is the first process: in a virtual machine, run by QEMU without a
hypervisor. in-guest.sh has the checks.

usage: test_systemd.py PACKAGES NEXT ROOT TENANT KERNEL

As test_packages.py; KERNEL is where tests/guest keeps the machine's kernel.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "guest"))
import machine  # noqa: E402
import root as roots  # noqa: E402

SKIP = 77
DISK_MIB = 2500
CHECKS = 19
TIMEOUT_S = 800
# No terminals and no logins; a watchdog short enough for a test.
OFF = ("serial-getty@ttyS0.service", "getty@tty1.service", "systemd-logind.service",
       "dev-ttyS0.device")
CHECK_UNIT = """[Unit]
After=multi-user.target
[Service]
ExecStart=/opt/in-guest.sh
"""
WATCHDOG = """[Service]
WatchdogSec=5s
"""


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def furnish(root, packages, following, tenant):
    for name, files in (("packages", packages), ("next", following)):
        (root.path / "opt" / name).mkdir()
        for file in files.values():
            shutil.copy(file, root.path / "opt" / name)
    shutil.copy(tenant, root.path / "opt/steps")
    shutil.copy(HERE / "in-guest.sh", root.path / "opt")
    root.run("useradd", "--create-home", "tenant")
    units = root.path / "etc/systemd/system"
    write(units / "check.service", CHECK_UNIT)
    write(units / "cleaved.service.d/watchdog.conf", WATCHDOG)
    wants = units / "multi-user.target.wants"
    wants.mkdir(exist_ok=True)
    (wants / "check.service").symlink_to("../check.service")
    for name in OFF:
        (units / name).symlink_to("/dev/null")


def make_disk(root, path):
    root.leave_host()
    with open(path, "wb") as disk:
        disk.truncate(DISK_MIB << 20)
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", root.path, path], check=True)


def start(kernel, disk, console):
    return subprocess.Popen(
        [machine.QEMU, "-M", "q35", "-accel", "tcg,thread=multi", "-smp", "2", "-cpu", "max",
         "-m", "2048", "-display", "none", "-monitor", "none", "-nodefaults", "-no-reboot",
         "-serial", f"file:{console}", "-kernel", kernel,
         "-append", "root=/dev/nvme0n1 rw init=/lib/systemd/systemd console=ttyS0 quiet "
         "systemd.show_status=0 tsc=unstable",
         "-drive", f"file={disk},format=raw,if=none,id=disk", "-device",
         "nvme,drive=disk,serial=cleave"], stdin=subprocess.DEVNULL)


def follow(process, console):
    """Returns the output, once it has "end" or the machine has ended."""
    until = time.monotonic() + TIMEOUT_S
    while time.monotonic() < until:
        ended = process.poll() is not None
        text = console.read_text(errors="replace") if console.exists() else ""
        if "\nend" in text or ended:
            break
        time.sleep(1)
    process.kill()
    process.wait()
    return text.replace("\r", "")


def judge(text):
    print(text)
    lines = text.splitlines()
    passed = [line for line in lines if line.startswith("ok ")]
    failed = [line for line in lines if line.startswith("not ok ")]
    print(f"{len(passed)} of {CHECKS} checks")
    return 0 if len(passed) == CHECKS and not failed else 1


def main():
    packages, following = (roots.packages_in(folder) for folder in sys.argv[1:3])
    base, tenant, kernel_folder = map(os.path.abspath, sys.argv[3:6])
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        print("needs root and debootstrap")
        return SKIP
    if len(packages) < len(roots.OWN) or len(following) < len(roots.OWN):
        print("there are no packages: ./dev package --test")
        return SKIP
    try:
        kernel, _ = machine.find_kernel(Path(kernel_folder))
    except machine.Missing as missing:
        print(missing)
        return SKIP
    roots.enter_namespace()
    roots.make_base(base, [*roots.FOR_PROGRAMS, *roots.depends(packages.values())])
    root = roots.Root(base)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(base)) as folder:
        disk, console = Path(folder) / "disk", Path(folder) / "console"
        try:
            furnish(root, packages, following, tenant)
            make_disk(root, disk)
        finally:
            root.close()
        return judge(follow(start(kernel, disk, console), console))


if __name__ == "__main__":
    sys.exit(main())
