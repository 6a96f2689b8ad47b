#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The packages cleave-vms and cleave-pacemaker in a root of their own, with libvirt, QEMU and
Pacemaker's programs: what they install is where these look for it, and works.

usage: test_vms.py PACKAGES ROOT

PACKAGES is a folder of packages; ROOT is where a Debian with these programs is kept.
"""
import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
for folder in ("integration", "bridge"):
    sys.path.insert(0, str(HERE.parent / folder))
import libvirt_bed  # noqa: E402
import root as roots  # noqa: E402

SKIP = 77
PACKAGES = ("cleave", "cleave-agent", "cleave-vms", "cleave-pacemaker", "libcleave0")
PROGRAMS = ("libvirt-daemon", "libvirt-daemon-driver-qemu", "libvirt-clients", "qemu-system-x86", "seabios",
            "pacemaker-cli-utils", "resource-agents", "libxml2-utils")
UNIT = "lib/systemd/system/cleave-vms.service"
HOOK = "etc/libvirt/hooks/qemu.d/cleave"
OCF = "usr/lib/ocf/resource.d/cleave"
# Each file, its package, and whether it is run.
FILES = (
    ("usr/bin/cleave-vms", "cleave-vms", True),
    (HOOK, "cleave-vms", True),
    (UNIT, "cleave-vms", False),
    (f"{OCF}/gpu", "cleave-pacemaker", True),
    (f"{OCF}/pool", "cleave-pacemaker", True),
    ("usr/lib/ocf/lib/cleave/functions", "cleave-pacemaker", False),
    ("usr/share/man/man1/cleave-vms.1.gz", "cleave", False),
    ("usr/share/man/man1/cleave-assign.1.gz", "cleave", False),
    ("usr/share/man/man1/cleave-unassign.1.gz", "cleave", False),
    ("usr/share/man/man1/cleave-pool.1.gz", "cleave", False),
)
NODE = """version: 1
name: lab
devices:
  - {model: Flex 170, at-start: {vf-count: 4}}
  - {model: L40S, pci: "0000:3b:00.0"}
"""
NUMBER = "17fe7877-0f22-429c-b7ca-bfbe62be5678"
PATIENCE_S = 120


def wait_until(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(.2)


def packages_in(folder):
    """{name: file} of those that this test installs."""
    found = {}
    for name in PACKAGES:
        found.update((name, file) for file in sorted(Path(folder).glob(f"{name}_*.deb")))
    return found


def check_files(root):
    for name, package, is_run in FILES:
        mode = (root.path / name).stat().st_mode
        assert bool(mode & stat.S_IXUSR) == is_run, (name, oct(mode))
        assert root.run("dpkg", "-S", f"/{name}").startswith(f"{package}: "), name
    wants = root.path / "etc/systemd/system/multi-user.target.wants/cleave-vms.service"
    assert wants.is_symlink() and (root.path / os.readlink(wants).lstrip("/")).exists()
    root.run("systemd-analyze", "verify", "--man=no", f"/{UNIT}")
    print("ok each file is at its place, and of one package")


def check_agents(root):
    """As Pacemaker finds them, and asks them."""
    listed = root.run("crm_resource", "--list-agents", "ocf:cleave").split()
    assert sorted(listed) == ["gpu", "pool"], listed
    for name in listed:
        described = root.run("crm_resource", "--show-metadata", f"ocf:cleave:{name}")
        assert f'<resource-agent name="{name}"' in described, described
        root.run("sh", "-c", f"OCF_ROOT=/usr/lib/ocf /{OCF}/{name} meta-data | xmllint --noout -")
    environment = ("env", "OCF_ROOT=/usr/lib/ocf", "OCF_RESOURCE_INSTANCE=vm1", "OCF_RESKEY_pool=x")
    root.run("cleave", "pool", "create", "x", "gpu1")
    for action, lease in (("start", "vm1"), ("monitor", "vm1"), ("stop", "")):
        root.run(*environment, f"/{OCF}/gpu", action)
        assert lease in root.run("cleave", "pool", "list", "x"), action
    root.run("cleave", "pool", "remove", "x")
    print("ok Pacemaker finds the agents, and they hold a device")


class Machine:
    """A virtual machine of the root's libvirt, defined again for each start."""

    def __init__(self, root):
        self.root = root

    def start(self, devices):
        """What virsh writes when it starts the machine with these devices."""
        xml = libvirt_bed.DOMAIN.format(name="desktop", uuid=NUMBER, devices=devices, machine="q35")
        (self.root.path / "tmp/domain.xml").write_text(xml)
        self.virsh("define", "/tmp/domain.xml")
        return self.virsh("start", "desktop", check=False)

    def virsh(self, *words, check=True):
        """Both outputs in one."""
        return self.root.run("sh", "-c", 'exec virsh -q "$@" 2>&1', "sh", *words, check=check)

    def runs(self):
        return self.virsh("domstate", "desktop").strip() == "running"

    def end(self):
        self.virsh("destroy", "desktop", check=False)
        self.virsh("undefine", "desktop", check=False)


def address_of(root, partition):
    """As cleave partition list shows it."""
    for line in root.run("cleave", "partition", "list").splitlines():
        if line.startswith(partition):
            return line.split()[-1]
    raise AssertionError(partition)


def check_hook(root, machine):
    """A machine with a partition that it was not assigned does not start; others do."""
    address = address_of(root, "gpu0/vf:4@1")
    said = machine.start(libvirt_bed.hostdev(address))
    assert "desktop is not started" in said and "gpu0/vf:4@1" in said, said
    assert not machine.runs()
    machine.end()
    said = machine.start("")
    assert machine.runs(), said
    root.run("cleave", "vms")
    machine.end()
    print("ok libvirt runs the hook")


def check_removed(root, machine):
    """The hook is a settings file, which stays until a purge: it stops no machine."""
    root.run("dpkg", "--remove", "cleave-vms")
    assert (root.path / HOOK).exists() and not (root.path / "usr/bin/cleave-vms").exists()
    said = machine.start("")
    assert machine.runs(), said
    machine.end()
    root.run("dpkg", "--purge", "cleave-vms", "cleave-pacemaker")
    for name, package, _ in FILES:
        assert package == "cleave" or not (root.path / name).exists(), name
    print("ok machines start after the package is removed")


def is_up(root, daemon, word, *command):
    assert daemon.poll() is None, daemon.args
    return word in root.run(*command, check=False)


def start_daemons(root):
    """In the root, with the settings for a test: no control groups, no other user.  The user is one
    that libvirt asks for, and that a package of its makes which needs systemd to run."""
    root.run("useradd", "--system", "libvirt-qemu")
    (root.path / "etc/libvirt/qemu.conf").write_text(libvirt_bed.QEMU_CONF)
    (root.path / "etc/libvirt/libvirtd.conf").write_text(
        libvirt_bed.LIBVIRTD_CONF.format(folder="/run/libvirt"))
    (root.path / "run/libvirt").mkdir(exist_ok=True)
    (root.path / "etc/node.yaml").write_text(NODE)
    agent, libvirt = daemons = [
        subprocess.Popen(["chroot", root.path, *words], stdin=subprocess.DEVNULL)
        for words in (("cleaved", "--system", "--sim=/etc/node.yaml", "--foreground"),
                      ("libvirtd",))]
    wait_until(lambda: is_up(root, agent, "Flex", "cleave", "devices"))
    wait_until(lambda: is_up(root, libvirt, "libvirt", "virsh", "-q", "version"))
    return daemons


def check(root):
    machine = Machine(root)
    daemons = start_daemons(root)
    try:
        check_agents(root)
        check_hook(root, machine)
        check_removed(root, machine)
    finally:
        machine.end()
        for daemon in daemons:
            daemon.terminate()
            daemon.wait(60)


def main():
    packages = packages_in(sys.argv[1])
    base = os.path.abspath(sys.argv[2])
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        print("needs root and debootstrap")
        return SKIP
    if len(packages) < len(PACKAGES):
        print("there are no packages: ./dev package --test")
        return SKIP
    roots.enter_namespace()
    own = {f"{name}" for name in PACKAGES}
    needed = set(roots.depends(packages.values())) - own
    roots.make_base(base, sorted({*PROGRAMS, *needed}))
    root = roots.Root(base)
    try:
        root.install(packages.values())
        check_files(root)
        check(root)
    finally:
        root.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
