# SPDX-License-Identifier: Apache-2.0
"""libvirtd of this machine, in namespaces of its own (mounts, the machine's name, processes), and the
agent on a simulated node.  Virtual machines are emulated (TCG) and have no disk; they end with the
first process of their namespace.
"""
import ctypes
import glob
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../integration"))
import harness  # noqa: E402 (it is over there)
from harness import wait_until  # noqa: E402

PROGRAMS = {}  # "cleave", "cleaved": paths
PR_SET_PDEATHSIG = 1
# Folders that libvirtd writes to, each covered in its namespace.
FOLDERS = ("/etc/libvirt", "/var/lib/libvirt", "/var/cache/libvirt", "/var/log/libvirt",
           "/run/libvirt")
LIBVIRTD_CONF = """
unix_sock_dir = "{folder}"
unix_sock_group = "root"
unix_sock_rw_perms = "0700"
auth_unix_ro = "none"
auth_unix_rw = "none"
log_outputs = "3:file:{folder}/libvirtd.log"
"""
QEMU_CONF = """
stdio_handler = "file"
security_driver = "none"
user = "root"
group = "root"
cgroup_controllers = []
namespaces = []
remember_owner = 0
"""
START = """
set -eu
hostname {host}
for each in {folders}; do mount -t tmpfs none $each; done
# The user that libvirt's packages make, and whose number it asks for at its start.
for each in passwd group; do
	cp /etc/$each {folder}/$each
	grep -q ^libvirt-qemu: {folder}/$each || echo "libvirt-qemu:x:64055:{rest}" >>{folder}/$each
	mount --bind {folder}/$each /etc/$each
done
mkdir -p /etc/libvirt/hooks/qemu.d
cp {folder}/qemu.conf /etc/libvirt/
[ ! -e {folder}/hook ] || cp {folder}/hook /etc/libvirt/hooks/qemu.d/cleave
while {libvirtd} -f {folder}/libvirtd.conf -p {folder}/libvirtd.pid; do
	while [ -e {folder}/hold ]; do sleep .1; done
done
"""
DOMAIN = """<domain type='qemu'>
  <name>{name}</name>
  <uuid>{uuid}</uuid>
  <memory unit='MiB'>32</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='{machine}'>hvm</type></os>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <controller type='usb' model='none'/>
    <memballoon model='none'/>
    {devices}
  </devices>
</domain>
"""
HOSTDEV = """<hostdev mode='subsystem' type='pci' managed='yes'><source>
<address domain='0x{0}' bus='0x{1}' slot='0x{2}' function='0x{3}'/></source>{4}</hostdev>"""
HOOK = """#!/bin/sh
exec {cleave_vms} hook --socket {api} -- "$@"
"""


def missing():
    """Why there is no libvirt here, or None."""
    if os.geteuid() != 0:
        return "needs root, as libvirtd does"
    for name in ("libvirtd", "virsh", "qemu-system-x86_64", "unshare"):
        if not shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
            return f"{name} is not installed"
    if not os.path.exists(cleave_vms()):
        return "cleave-vms was not built: libvirt or libxml2 is not here"
    return None


def cleave_vms():
    return PROGRAMS["cleave"] + "-vms"


def copy_programs():
    """Goes on with copies, so that what they leave in /tmp is told from that of other tests; returns
    their folder."""
    folder = tempfile.mkdtemp(prefix="clv-vm-programs-", dir="/dev/shm")
    before = os.path.dirname(os.path.realpath(PROGRAMS["cleave"]))
    # Where they look for the library.
    os.symlink(os.path.join(before, "../client"), os.path.join(folder, "client"))
    os.mkdir(os.path.join(folder, "cli"))
    for name in ("cleave", "cleave-vms"):
        shutil.copy(os.path.join(before, name), os.path.join(folder, "cli", name))
    PROGRAMS["cleave"] = os.path.join(folder, "cli", "cleave")
    return folder


def left_by_ssh():
    """The folders in /tmp in which libvirt finds the ssh of a move, of these programs."""
    return [os.path.dirname(link) for link in glob.glob("/tmp/cleave-ssh-*/ssh")
            if os.path.realpath(link) == os.path.realpath(cleave_vms())]


def die_with_parent():
    """A test that is killed leaves no daemon.  unshare ignores other signals, and its child dies
    with it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def hostdev(address, lease=None):
    alias = f"<alias name='ua-cleave-{lease}'/>" if lease else ""
    domain, bus, rest = address.split(":")
    return HOSTDEV.format(domain, bus, *rest.split("."), alias)


class Libvirt:
    def __init__(self, host="host1", api=None):
        self.folder = tempfile.mkdtemp(prefix="clv-libvirt-", dir="/dev/shm")
        self.host = host
        self.uri = f"qemu+unix:///system?socket={self.folder}/libvirt-sock"
        self.process = None
        for name, text in (("libvirtd.conf", LIBVIRTD_CONF), ("qemu.conf", QEMU_CONF)):
            self.write(name, text.format(folder=self.folder))
        if api:
            self.write("hook", HOOK.format(cleave_vms=cleave_vms(), api=api))
            os.chmod(os.path.join(self.folder, "hook"), 0o755)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def start(self):
        libvirtd = shutil.which("libvirtd", path="/usr/sbin:/usr/bin")
        for folder in FOLDERS:
            os.makedirs(folder, exist_ok=True)
        script = START.format(host=self.host, folders=" ".join(FOLDERS), folder=self.folder,
                              libvirtd=libvirtd, rest="64055::/:/usr/sbin/nologin")
        self.process = subprocess.Popen(
            ["unshare", "-m", "-u", "-p", "-f", "--kill-child", "--mount-proc", "sh", "-c", script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=die_with_parent)
        self.wait()

    def wait(self):
        wait_until(lambda: self.process.poll() is not None or self.answers())
        assert self.answers(), self.log()

    def answers(self):
        return self.virsh("version", check=False)[0] == 0

    def inside(self, *words):
        """Runs a command in the namespaces."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children",
                  encoding="ascii") as file:
            first = file.read().strip()
        subprocess.run(["nsenter", "-t", first, "-m", "-p", *words], check=True)

    def signal(self, name):
        """To the daemon alone: its virtual machines stay."""
        self.inside("kill", f"-{name}", self.number())

    def stop(self):
        """Ends the daemon, until go_on()."""
        self.write("hold", "")
        self.signal("TERM")
        assert wait_until(lambda: not self.answers()), self.log()

    def go_on(self):
        os.unlink(os.path.join(self.folder, "hold"))
        self.wait()

    def restart(self):
        before = self.number()
        self.signal("TERM")
        assert wait_until(lambda: self.number() not in ("", before)), self.log()
        self.wait()

    def number(self):
        """Of the daemon, in its namespace."""
        try:
            with open(os.path.join(self.folder, "libvirtd.pid"), encoding="ascii") as file:
                return file.read().strip()
        except FileNotFoundError:
            return ""

    def log(self):
        path = os.path.join(self.folder, "libvirtd.log")
        if not os.path.exists(path):
            return "libvirtd has written no log"
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def virsh(self, *words, check=True):
        """(exit code, output with that of stderr)"""
        done = subprocess.run(["virsh", "-q", "-c", self.uri, *words], capture_output=True,
                              text=True, timeout=120, check=False)
        assert not check or done.returncode == 0, (words, done.stderr)
        return done.returncode, done.stdout + done.stderr

    def define(self, name, devices="", machine="q35", number=None):
        """The domain's UUID; a new one, unless it is given."""
        number = number or str(uuid.uuid4())
        xml = DOMAIN.format(name=name.replace("&", "&amp;").replace("<", "&lt;"), uuid=number,
                            devices=devices, machine=machine)
        self.virsh("define", self.write("domain.xml", xml))
        return number

    def kill(self, name):
        """Its emulator, as if the machine had crashed."""
        self.inside("sh", "-c", f"kill -KILL $(cat /run/libvirt/qemu/{name}.pid)")

    def forget(self, name):
        """Its definition, while the daemon is not there."""
        self.inside("rm", f"/etc/libvirt/qemu/{name}.xml")

    def xml(self, name, *words):
        return self.virsh("dumpxml", *words, name)[1]

    def state(self, name):
        return self.virsh("domstate", name)[1].strip()

    def clear(self):
        """Ends and undefines all domains."""
        for number in self.virsh("list", "--all", "--uuid")[1].split():
            self.virsh("destroy", number, check=False)
            self.virsh("undefine", number, check=False)

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Node:
    """The agent on a simulated node."""

    def __init__(self, text):
        self.folder = tempfile.mkdtemp(prefix="clv-vm-node-", dir="/dev/shm")
        harness.PROGRAMS["cleaved"] = PROGRAMS["cleaved"]
        path = os.path.join(self.folder, "node.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        self.agent = harness.Agent(self.folder, [f"--sim={path}"])
        self.agent.start()

    @property
    def api(self):
        return self.agent.api

    def partitions(self):
        """Names and addresses."""
        return {each["name"]: each["address"] for device in self.agent.get("/v1/node")["devices"]
                for each in device["partitions"]}

    def leases(self):
        return self.agent.get("/v1/leases")["items"]

    def close(self):
        self.agent.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Between:
    """A socket between the command line and the agent; change gets what is sent to the agent, and
    returns what the agent gets."""

    def __init__(self, node, change):
        self.path, self.node, self.change = os.path.join(node.folder, "between"), node, change
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.pass_on, args=[client], daemon=True).start()

    def pass_on(self, client):
        with client, socket.socket(socket.AF_UNIX) as agent:
            agent.connect(self.node.api)
            while True:
                for source in select.select([client, agent], [], [])[0]:
                    data = source.recv(65536)
                    if not data:
                        return
                    if source is client:
                        agent.sendall(self.change(data))
                    else:
                        client.sendall(data)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        os.unlink(self.path)


class Cleave:
    """The command line, with an agent and a libvirt."""

    def __init__(self, api, uri):
        self.env = dict(os.environ, CLEAVE_SOCKET=api, LIBVIRT_DEFAULT_URI=uri, LC_ALL="C.UTF-8")

    def start(self, *words):
        return subprocess.Popen([PROGRAMS["cleave"], *words], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.env)

    def run(self, *words, env=None, **more):
        return subprocess.run([PROGRAMS["cleave"], *words], capture_output=True, text=True,
                              timeout=300, check=False, stdin=subprocess.DEVNULL,
                              env=dict(self.env, **(env or {})), **more)

    def json(self, *words):
        done = self.run(*words, "-o", "json")
        assert done.returncode == 0, (words, done.stderr)
        return json.loads(done.stdout)
