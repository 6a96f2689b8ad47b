# SPDX-License-Identifier: Apache-2.0
"""A virtual machine with an IOMMU and an NVMe disk that has virtual functions, run by QEMU
without the help of a hypervisor, and a program in it that answers on a serial line.

Its kernel is Debian's for clouds, taken from the package as it is: from where
CLEAVE_GUEST_KERNEL says (a folder with boot/ and lib/modules/), or fetched once with
apt-get download."""
import gzip
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

QEMU = "qemu-system-x86_64"
PACKAGE = "linux-image-cloud-amd64"
MODULES = ("virt/lib/irqbypass", "drivers/vfio/vfio", "drivers/vfio/vfio_virqfd",
           "drivers/vfio/vfio_iommu_type1", "drivers/vfio/pci/vfio-pci-core",
           "drivers/vfio/pci/vfio-pci")
# no_timer_check: the kernel counts the emulated timer's ticks over some milliseconds, and panics
# ("IO-APIC + timer doesn't work!") if QEMU has no processor for that long.
COMMAND_LINE = ("console=ttyS0 quiet panic=-1 intel_iommu=on tsc=unstable no_timer_check "
                "CLEAVE_SRIOV_CLASSES=0108")


class Missing(Exception):
    """What a machine needs and is not to be had, for people."""


def run(*argv, **options):
    return subprocess.run(argv, capture_output=True, text=True, **options)


def fetch_kernel(folder):
    """Downloads and unpacks the package that PACKAGE depends on."""
    for tool in ("apt-cache", "apt-get", "dpkg-deb"):
        if not shutil.which(tool):
            raise Missing(f"no kernel for a guest: no {tool} here; set CLEAVE_GUEST_KERNEL "
                          "to a folder with boot/ and lib/modules/")
    found = re.search(r"Depends: (linux-image-\S+)", run("apt-cache", "depends", PACKAGE).stdout)
    if not found:
        raise Missing(f"no kernel for a guest: apt-cache knows no {PACKAGE}")
    download = folder / "download"
    download.mkdir(parents=True, exist_ok=True)
    done = run("apt-get", "download", found[1], cwd=download)
    packages = list(download.glob("*.deb"))
    if done.returncode or not packages:
        raise Missing(f"no kernel for a guest: apt-get cannot fetch {found[1]}")
    kernel = folder / "kernel.part"
    shutil.rmtree(kernel, ignore_errors=True)
    run("dpkg-deb", "-x", packages[0], kernel, check=True)
    shutil.rmtree(download)
    kernel.rename(folder / "kernel")


def find_kernel(folder):
    """(image, folder of its modules)"""
    if not shutil.which(QEMU):
        raise Missing(f"no {QEMU}: install the package qemu-system-x86")
    root = Path(os.environ.get("CLEAVE_GUEST_KERNEL", folder / "kernel"))
    if not root.exists():
        fetch_kernel(folder)
    images = sorted(root.glob("boot/vmlinuz-*"))
    modules = sorted(root.glob("lib/modules/*/kernel"))
    if not images or not modules:
        raise Missing(f"{root} has no boot/vmlinuz-* or no lib/modules")
    return images[-1], modules[-1]


def cpio_entry(number, name, mode, data):
    head = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
    entry = b"070701" + b"".join(b"%08X" % value for value in head)
    entry += name.encode() + b"\0"
    entry += b"\0" * (-len(entry) % 4)
    return entry + data + b"\0" * (-len(data) % 4)


def make_archive(files, path):
    """What the kernel unpacks as its first root file system; files: name to bytes."""
    folders = {"dev", "proc", "sys"}
    for name in files:
        folders |= {str(parent) for parent in Path(name).parents} - {"."}
    entries = [(name, stat.S_IFDIR | 0o755, b"") for name in sorted(folders)]
    entries += [(name, stat.S_IFREG | 0o755, data) for name, data in files.items()]
    archive = b"".join(cpio_entry(i, *entry) for i, entry in enumerate(entries, 1))
    path.write_bytes(gzip.compress(archive + cpio_entry(0, "TRAILER!!!", 0, b""), 1))


def libraries(program):
    """The shared objects that a program is loaded with, by the path it finds them at."""
    listed = run("ldd", program, check=True).stdout
    return re.findall(r"(?:=> )?(/\S+) \(0x", listed)


def read_with_libraries(program, name):
    files = {name: Path(program).read_bytes()}
    for library in libraries(program):
        files[library.lstrip("/")] = Path(library).read_bytes()
    return files


def command(init, program, arguments, folder):
    """The command line of QEMU; its standard input and output are the serial line."""
    image, modules = find_kernel(folder)
    files = {**read_with_libraries(init, "init"), **read_with_libraries(program, "program"),
             "command": f"/program {arguments}\n".encode()}
    for name in MODULES:
        files[f"{Path(name).name}.ko"] = (modules / f"{name}.ko").read_bytes()
    files["modules"] = "".join(f"/{Path(name).name}.ko\n" for name in MODULES).encode()
    archive = folder / "initramfs.gz"
    make_archive(files, archive)
    devices = ("intel-iommu,intremap=on", "pcie-root-port,slot=1,id=rp1",
               "nvme-subsys,id=subsys0",
               "nvme,serial=cl,subsys=subsys0,bus=rp1,sriov_max_vfs=4,sriov_vq_flexible=8,"
               "sriov_vi_flexible=4,max_ioqpairs=10,msix_qsize=6")
    argv = [QEMU, "-M", "q35,accel=tcg", "-cpu", "max", "-m", "512", "-display", "none",
            "-monitor", "none", "-nodefaults", "-no-reboot",
            "-serial", f"file:{folder / 'console'}", "-serial", "stdio",
            "-kernel", image, "-initrd", archive, "-append", COMMAND_LINE]
    for device in devices:
        argv += ["-device", device]
    return argv
