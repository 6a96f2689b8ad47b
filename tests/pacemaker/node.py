# SPDX-License-Identifier: Apache-2.0
"""Nodes of a Pacemaker cluster: each a machine of its own in namespaces (mounts, processes, network,
host name) on a Debian with corosync and Pacemaker, with this build's cleave and a simulated GPU.
A fence agent asks this program to turn a node off."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "packaging"))
import root as roots  # noqa: E402

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "cleave/pacemaker"
PACKAGES = (
    "pacemaker", "corosync", "crmsh", "pcs", "resource-agents", "pacemaker-cli-utils", "tini",
    "libxml2-utils", "procps", "iproute2", "libvirt-clients", "libvirt-daemon",
    "python3-cffi-backend",  # a virtual package of pcs needs it, which debootstrap does not follow
    # What cleave is linked with.
    "libjansson4", "libmicrohttpd12", "libsqlite3-0", "libsmartcols1", "libncurses6", "libyaml-0-2",
    "libsystemd0", "libnettle8", "zlib1g")
AGENTS = HERE.parent.parent / "packaging/pacemaker"
PATIENCE_S = 120
# libvirt's driver "test", in the daemon, runs a machine with any device; QEMU starts none with a GPU
# of a simulated node.
LIBVIRT = "test+unix:///default?socket=/run/libvirt/libvirt-sock"
STATE = ("cleave", "corosync", "pacemaker")
COROSYNC = """totem {{
	version: 2
	cluster_name: test
	transport: udpu
	token: 1000
	crypto_cipher: none
	crypto_hash: none
}}
nodelist {{
{nodes}}}
quorum {{
	provider: corosync_votequorum
	two_node: 1
	wait_for_all: 0
}}
logging {{
	to_syslog: no
	to_stderr: yes
}}
"""
NODE = "\tnode {{\n\t\tname: {name}\n\t\tnodeid: {id}\n\t\tring0_addr: {address}\n\t}}\n"
# A power switch: it asks by a file, and waits for the answer.
FENCE = r"""#!/bin/sh
action=
while read -r line; do
	case $line in
	action=*) action=${line#*=} ;;
	plug=* | port=*) port=${line#*=} ;;
	esac
done
case $action in
metadata)
	cat <<-'END'
	<?xml version="1.0"?>
	<resource-agent name="fence_test" shortdesc="a switch of the test">
	<longdesc>a switch of the test</longdesc>
	<parameters>
	<parameter name="action" required="1"><content type="string" default="off"/></parameter>
	<parameter name="port" required="0"><content type="string"/></parameter>
	</parameters>
	<actions><action name="on"/><action name="off"/><action name="reboot"/>
	<action name="monitor"/><action name="status"/><action name="list"/><action name="metadata"/>
	</actions></resource-agent>
	END
	;;
off | reboot)
	: >"/switch/$port.off"
	until [ -e "/switch/$port.is-off" ]; do sleep 0.1; done
	;;
esac
"""
ENTER = r"""
set -e
top=$1 base=$2 state=$3 switch=$4 boot=$5 name=$6
shift 6
mount -t tmpfs tmpfs "$top"
mkdir "$top/r" "$top/upper" "$top/work"
mount -t overlay overlay -o "lowerdir=$base,upperdir=$top/upper,workdir=$top/work" "$top/r"
cd "$top/r"
for folder in run tmp; do mount -t tmpfs tmpfs "$folder"; done
mkdir -p switch run/boot run/lock
mount --bind "$switch" switch
for folder in cleave corosync pacemaker; do
	if [ ! -e "$state/$folder" ]; then
		mkdir -p "var/lib/$folder"
		cp -a "var/lib/$folder" "$state/$folder"
	fi
	mkdir -p "var/lib/$folder"
	mount --bind "$state/$folder" "var/lib/$folder"
done
mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /dev dev
mount -t tmpfs tmpfs dev/shm
echo "$boot" >run/boot/id
mount --bind run/boot/id proc/sys/kernel/random/boot_id
for folder; do
	mkdir -p ".$folder"
	mount --rbind "$folder" ".$folder"
done
hostname "$name"
ip link set lo up
pivot_root . .
umount -l .
cd /
echo ready
exec tini -s -- cat
"""


class Node:
    """state: the folder of what stays over a reboot; folders: of this machine, under the same names
    in there."""

    def __init__(self, name, number, cluster):
        self.name, self.number, self.cluster = name, number, cluster
        self.address = f"10.9.0.{number}"
        self.state = cluster.folder / name
        self.state.mkdir(exist_ok=True)
        self.daemons = {}
        self.init = self.pid = None

    def boot(self):
        top = self.cluster.folder / f"root-{self.name}"
        top.mkdir(exist_ok=True)
        self.init = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child",
             "--propagation", "private", "sh", "-c", ENTER, "sh", top, CACHE / "root", self.state,
             self.cluster.switch, str(uuid.uuid4()), self.name, self.cluster.build],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.init.stdout.readline() == "ready\n"
        children = Path(f"/proc/{self.init.pid}/task/{self.init.pid}/children")
        self.pid = children.read_text().split()[0]
        self.furnish()

    def furnish(self):
        for path, text in self.cluster.files(self).items():
            self.write(path, text)
        for agent in ("gpu", "pool"):
            self.write(f"/usr/lib/ocf/resource.d/cleave/{agent}", (AGENTS / agent).read_text())
        self.write("/usr/lib/ocf/lib/cleave/functions", (AGENTS / "functions").read_text())
        self.write("/usr/sbin/fence_test", FENCE)
        for program in ("cli/cleave", "agent/cleaved"):
            self.run("ln", "-sf", f"{self.cluster.build}/src/{program}", "/usr/bin/")

    def power_off(self):
        self.init.kill()
        self.init.wait()
        for daemon in self.daemons.values():
            daemon.wait()
        self.init.stdin.close()
        self.init.stdout.close()
        self.daemons = {}
        self.init = None

    # --- Programs ---

    def command(self, *words):
        return ["nsenter", "--target", self.pid, "--mount", "--pid", "--net", "--uts", "--ipc", "--",
                "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8",
                *map(str, words)]

    def call(self, *words, **more):
        return subprocess.run(self.command(*words), capture_output=True, text=True, check=False,
                              timeout=PATIENCE_S, **more)

    def run(self, *words, **more):
        done = self.call(*words, **more)
        assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def write(self, path, text):
        self.run("sh", "-c", 'mkdir -p "${1%/*}" && cat >"$1" && chmod 755 "$1"', "sh", path,
                 input=text)

    def start(self, name, *words):
        with open(self.state / f"{name}.log", "ab") as log:
            self.daemons[name] = subprocess.Popen(self.command(*words), stdin=subprocess.DEVNULL,
                                                  stdout=log, stderr=log)

    def kill(self, name, number):
        """Sends a signal to a daemon, the only child of its nsenter."""
        pid = self.daemons[name].pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        os.kill(int(children[0]), number)

    # --- cleave and the cluster ---

    def start_agent(self):
        self.start("cleaved", "cleaved", "--system", "--sim=/etc/cleave/node.yaml", "--foreground")
        wait_until(lambda: self.call("cleave", "devices").returncode == 0)

    def start_libvirt(self):
        """The driver forgets all when no connection is left: one stays."""
        self.run("useradd", "--system", "libvirt-qemu")  # as libvirt's packages do
        self.start("libvirtd", "libvirtd")
        wait_until(lambda: self.call("virsh", "-c", LIBVIRT, "version").returncode == 0)
        self.start("virsh", "virsh", "-c", LIBVIRT, "event", "--loop", "--all")

    def start_cluster(self):
        if self.cluster.has_libvirt:
            self.start_libvirt()
        self.start("corosync", "corosync", "-f")
        wait_until(lambda: self.call("corosync-cmapctl", "-g",
                                     "runtime.votequorum.this_node_id").returncode == 0)
        self.start("pacemakerd", "pacemakerd")

    def leases(self):
        items = json.loads(self.run("cleave", "ps", "-o", "json"))["items"]
        return sorted((each["name"], each["device"]) for each in items)


class Cluster:
    """Two nodes.  gpus: how many each has."""

    def __init__(self, build, gpus=(1, 1), model="L40S", has_libvirt=False):
        self.build = os.path.realpath(build)
        self.folder = Path(tempfile.mkdtemp(prefix="cleave-pacemaker-"))
        self.switch = self.folder / "switch"
        self.switch.mkdir()
        self.gpus, self.model, self.has_libvirt = gpus, model, has_libvirt
        self.nodes = [Node(f"n{i}", i, self) for i in (1, 2)]
        self.is_closed = threading.Event()
        self.watcher = threading.Thread(target=self.watch_switch, daemon=True)
        self.watcher.start()

    def files(self, node):
        nodes = "".join(NODE.format(name=each.name, id=each.number, address=each.address)
                        for each in self.nodes)
        gpus = self.gpus[node.number - 1]
        addresses = ", ".join(f'"0000:{0x3b + i:02x}:00.0"' for i in range(gpus))
        return {"/etc/corosync/corosync.conf": COROSYNC.format(nodes=nodes),
                "/etc/cleave/node.yaml": f"version: 1\nname: {node.name}\ndevices:\n"
                f"  - {{model: {self.model}, count: {gpus}, pci: [{addresses}]}}\n"}

    def boot(self):
        for node in self.nodes:
            node.boot()
        self.connect()
        for node in self.nodes:
            node.start_agent()

    def connect(self):
        """A cable between the two; the end of a node that was off is gone with it."""
        first, second = self.nodes
        subprocess.run(["ip", "link", "add", "eth0", "netns", first.pid, "type", "veth", "peer",
                        "name", "eth0", "netns", second.pid], check=True)
        for node in self.nodes:
            node.run("ip", "address", "add", f"{node.address}/24", "dev", "eth0")
            node.run("ip", "link", "set", "eth0", "up")

    def bring_back(self, node):
        """After it was turned off."""
        (self.switch / f"{node.name}.is-off").unlink()
        node.boot()
        self.connect()
        node.start_agent()
        node.start_cluster()

    def watch_switch(self):
        while not self.is_closed.wait(.1):
            for node in self.nodes:
                off = self.switch / f"{node.name}.off"
                if off.exists():
                    off.unlink()
                    if node.init:
                        node.power_off()
                    (self.switch / f"{node.name}.is-off").touch()

    def close(self):
        self.is_closed.set()
        self.watcher.join()
        for node in self.nodes:
            if node.init:
                node.power_off()
        shutil.rmtree(self.folder, ignore_errors=True)


def why_not():
    if os.geteuid() != 0:
        return "needs root"
    for tool in ("debootstrap", "unshare", "nsenter", "ip"):
        if not shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin"):
            return f"{tool} is not installed"
    return None


def make_base():
    CACHE.mkdir(parents=True, exist_ok=True)
    roots.make_base(str(CACHE / "root"), list(PACKAGES))


def wait_until(condition, seconds=PATIENCE_S):
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it does not happen"
        time.sleep(.2)
    return value
