# SPDX-License-Identifier: Apache-2.0
"""A Debian for a virtual machine, with libvirt, QEMU and the modules of the machine's kernel, as the
image of a disk: made once, in about a minute, in ~/.cache/cleave/guest."""
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import machine

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "packaging"))
import root as roots  # noqa: E402

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "cleave/guest"
PACKAGES = ("kmod", "resource-agents", "tini", "libvirt-clients", "libvirt-daemon",
            "qemu-system-x86", "seabios")
TOOLS = ("debootstrap", "mke2fs")
SIZE_MIB, START_MIB = 3000, 1
DISK_ID = 0xc1ea7e00  # by which the kernel finds the partition: names of disks have no order
ROOT = f"root=PARTUUID={DISK_ID:08x}-01 rw rootwait init=/init"
# The program of the second disk, whose file system has the label cleave.
INIT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
for folder in /run /tmp /dev/shm; do mount -t tmpfs tmpfs "$folder"; done
mount -t cgroup2 cgroup2 /sys/fs/cgroup
until mount LABEL=cleave /opt; do sleep 0.1; done
exec tini -s -- /opt/serve
"""


def why_not():
    if os.geteuid() != 0:
        return "needs root"
    missing = [tool for tool in TOOLS if not shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin")]
    return f"{', '.join(missing)}: not installed (./dev deps)" if missing else None


def partition_table():
    """One partition, in the form that every system reads."""
    first, count = START_MIB * 2048, (SIZE_MIB - START_MIB) * 2048
    entry = bytes((0, 0, 0, 0, 0x83, 0, 0, 0)) + first.to_bytes(4, "little") \
        + count.to_bytes(4, "little")
    return bytes(440) + DISK_ID.to_bytes(4, "little") + bytes(2) + entry + bytes(48) + b"\x55\xaa"


def make_image(base, modules, path):
    """modules: the kernel's folder lib/modules/VERSION."""
    inside = base / "lib/modules" / modules.name
    shutil.rmtree(base / "lib/modules", ignore_errors=True)
    shutil.copytree(modules, inside)
    subprocess.run(["chroot", base, "depmod", modules.name], check=True)
    (base / "init").write_text(INIT)
    (base / "init").chmod(0o755)
    new = path.with_suffix(".new")
    with open(new, "wb") as disk:
        disk.truncate(SIZE_MIB << 20)
        disk.write(partition_table())
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-E", f"offset={START_MIB << 20}", "-d", base, new,
                    f"{SIZE_MIB - START_MIB}M"], check=True, stdin=subprocess.DEVNULL)
    new.rename(path)


def find():
    """(kernel, image of the disk)"""
    CACHE.mkdir(parents=True, exist_ok=True)
    kernel, modules = machine.find_kernel(CACHE)
    modules = modules.parent
    wanted = hashlib.sha256(f"{INIT}{PACKAGES}{modules.name}".encode()).hexdigest()[:12]
    image = CACHE / f"disk-{wanted}"
    if not image.exists():
        for old in CACHE.glob("disk-*"):
            old.unlink()
        roots.make_base(str(CACHE / "root"), list(PACKAGES))
        make_image(CACHE / "root", modules, image)
    return kernel, image
