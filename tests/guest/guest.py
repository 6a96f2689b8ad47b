# SPDX-License-Identifier: Apache-2.0
"""A virtual machine with an IOMMU and a device with virtual functions, which runs Debian with
libvirt and this build's cleave.  Its second disk keeps cleave's state when it boots again."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import debian
import machine

PATIENCE_S = 120  # for what hangs; the processor is emulated
DISK_MIB = 256
KERNEL = "console=ttyS0 quiet panic=-1 tsc=unstable no_timer_check CLEAVE_SRIOV_CLASSES=0108"
NVME = ("pcie-root-port,slot=1,id=rp1", "nvme-subsys,id=subsys0",
        "nvme,serial=cl,subsys=subsys0,bus=rp1,sriov_max_vfs=4,sriov_vq_flexible=8,"
        "sriov_vi_flexible=4,max_ioqpairs=10,msix_qsize=6")
# Of the guest's own Debian.
NOT_COPIED = ("libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "ld-linux")
# What it defines stays over boots.
LIBVIRT = """set -e
mkdir -p /var/log/libvirt/qemu /var/lib/libvirt /opt/libvirt
[ -e /opt/libvirt/qemu.conf ] || {
	cp -a /etc/libvirt/. /opt/libvirt
	cat >>/opt/libvirt/qemu.conf <<-'END'
	stdio_handler = "file"
	security_driver = "none"
	user = "root"
	group = "root"
	cgroup_controllers = []
	namespaces = []
	END
}
mount --bind /opt/libvirt /etc/libvirt
modprobe vfio-pci
useradd --system libvirt-qemu
libvirtd --daemon
until virsh -c qemu:///system list; do sleep 1; done
"""
# A machine without an operating system: its firmware finds nothing to boot.
DOMAIN = """<domain type='qemu'>
  <name>{name}</name>
  <memory unit='MiB'>64</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <features><acpi/></features>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <controller type='usb' model='none'/>
    <memballoon model='none'/>
  </devices>
</domain>
"""
# Answers each line, a command in base64, with a line: its exit code and its output.
SERVE = r"""#!/bin/sh
export LD_LIBRARY_PATH=/opt/lib PATH=/opt/bin:$PATH
exec 3<>/dev/ttyS1
stty -F /dev/ttyS1 raw -echo
echo ready >&3
while read -r line <&3; do
	echo "$line" | base64 -d >/tmp/command
	sh /tmp/command >/tmp/output 2>&1 </dev/null
	echo "$? $(base64 -w0 /tmp/output)" >&3
done
"""


def libraries_of(program):
    for library in machine.libraries(program):
        if not Path(library).name.startswith(NOT_COPIED):
            yield library


class Guest:
    """programs: of this build, by the name that they have in the guest."""

    def __init__(self, programs, files=None):
        self.folder = Path(tempfile.mkdtemp(prefix="cleave-guest-"))
        self.kernel, self.image = debian.find()
        self.make_disk(programs, files or {})
        self.qemu = None

    def make_disk(self, programs, files):
        tree = self.folder / "tree"
        for name in ("bin", "lib", "state"):
            (tree / name).mkdir(parents=True)
        for name, program in programs.items():
            shutil.copy(program, tree / "bin" / name)
            for library in libraries_of(program):
                shutil.copy(library, tree / "lib")
        for name, text in {"serve": SERVE, **files}.items():
            path = tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        with open(self.folder / "disk", "wb") as disk:
            disk.truncate(DISK_MIB << 20)
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "-L", "cleave", "-d", tree,
                        self.folder / "disk"], check=True)

    def boot(self, iommu=True):
        argv = [machine.QEMU, "-M", "q35,accel=tcg", "-cpu", "max", "-m", "1500", "-display", "none",
                "-monitor", "none", "-nodefaults", "-no-reboot",
                "-serial", f"file:{self.folder / 'console'}", "-serial", "stdio",
                "-kernel", self.kernel, "-append",
                f"{KERNEL} {debian.ROOT}{' intel_iommu=on' if iommu else ''}"]
        for name, path, more in (("root", self.image, ",snapshot=on"),
                                 ("own", self.folder / "disk", "")):
            argv += ["-drive", f"if=none,id={name},format=raw,file={path}{more}",
                     "-device", f"nvme,serial={name},drive={name}"]
        for device in (*(("intel-iommu,intremap=on",) if iommu else ()), *NVME):
            argv += ["-device", device]
        self.qemu = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     env={**os.environ, "TMPDIR": str(self.folder)})
        assert self.hear() == "ready", self.console()

    def console(self):
        return (self.folder / "console").read_text(errors="replace")[-4000:]

    def hear(self):
        line = b""
        until = time.monotonic() + PATIENCE_S
        while not line.endswith(b"\n"):
            left = until - time.monotonic()
            ready = select.select([self.qemu.stdout], [], [], max(left, 0))[0]
            more = os.read(self.qemu.stdout.fileno(), 65536) if ready else b""
            assert more, f"the guest does not answer ({line}):\n{self.console()}"
            line += more
        return line.decode().strip()

    def call(self, command):
        """(exit code, output)"""
        self.qemu.stdin.write(base64.b64encode(command.encode()) + b"\n")
        self.qemu.stdin.flush()
        code, _, output = self.hear().partition(" ")
        return int(code), base64.b64decode(output).decode()

    def run(self, command, code=0):
        done, output = self.call(command)
        assert done == code, f"{command}: {done}, not {code}: {output}"
        return output

    def read(self, command):
        """What cleave shows as JSON."""
        return json.loads(self.run(f"cleave {command} -o json"))

    def until(self, command, pause_s=1):
        """Until the command succeeds."""
        until = time.monotonic() + PATIENCE_S
        while (done := self.call(command))[0]:
            assert time.monotonic() < until, f"{command}: {done}"
            time.sleep(pause_s)
        return done[1]

    def power_off(self):
        """The disks are written, and no program is asked to end."""
        self.call("sync")
        self.qemu.kill()
        self.qemu.wait()
        self.qemu.stdin.close()
        self.qemu.stdout.close()
        self.qemu = None

    def close(self):
        if self.qemu:
            self.power_off()
        shutil.rmtree(self.folder)
