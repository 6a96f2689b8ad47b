# SPDX-License-Identifier: Apache-2.0
"""A machine for a node of Kubernetes: mount, process, network and host-name namespaces on a Debian
of its own, with control groups of its own.  Its settings of the kernel, network and folders end
with it."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

import bed

sys.path.insert(0, os.path.join(bed.ROOT, "tests/bridge"))
import engine_root  # noqa: E402
import engines  # noqa: E402

ADDRESS, NAME = "10.0.0.1", "node1"
# Settings of the whole machine that kubelet writes: it finds what it wants, in files.
TUNABLES = {"vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10,
            "kernel/panic_on_oops": 1, "kernel/keys/root_maxkeys": 1000000,
            "kernel/keys/root_maxbytes": 25000000}
# Control groups of version 1: a process, and what it starts, is below the group of this name.
JOIN = r"""
name=$1
shift
for all in /sys/fs/cgroup/*/cgroup.procs; do
	group=${all%/*}/$name
	if mkdir "$group" 2>/dev/null && [ -e "$group/cpuset.cpus" ]; then
		cat "$group/../cpuset.cpus" >"$group/cpuset.cpus"
		cat "$group/../cpuset.mems" >"$group/cpuset.mems"
	fi
	echo $$ >"$group/cgroup.procs"
done
exec "$@"
"""
# Kubelet mounts what containers see later, so the mounts are shared, with each other only.
ENTER = r"""
set -e
top=$1 base=$2 state=$3 tunables=$4 address=$5 name=$6
shift 6
mount -t tmpfs tmpfs "$top"
mkdir "$top/r" "$top/upper" "$top/work"
mount -t overlay overlay -o "lowerdir=$base,upperdir=$top/upper,workdir=$top/work" "$top/r"
cd "$top/r"
for folder in run tmp; do mount -t tmpfs tmpfs "$folder"; done
mount --bind "$state" var/lib
mount -t proc proc proc
mount -t sysfs sysfs sys
for folder in /dev /sys/fs/cgroup "$@"; do
	mkdir -p ".$folder"
	mount --rbind "$folder" ".$folder"
done
for setting in $tunables; do
	file=run/tunables/${setting%=*}
	mkdir -p "${file%/*}"
	echo "${setting#*=}" >"$file"
	mount --bind "$file" "proc/sys/${setting%=*}"
done
hostname "$name"
ip link set lo up
ip address add "$address/32" dev lo
pivot_root . .
umount -l .
cd /
mount --make-rshared /
echo "127.0.0.1 localhost $name" >/etc/hosts
: >/etc/resolv.conf
echo ready
exec tini -s -- cat
"""


class Node(engine_root.Root):
    """state: the folder that is /var/lib; folders: of this machine, under the same names in there."""

    def __init__(self, base, state, folders):
        self.top = tempfile.mkdtemp(prefix="cleave-node-")
        self.state, self.logs = state, os.path.join(state, "logs")
        os.makedirs(self.logs, exist_ok=True)
        self.group = f"cleave-test-{os.getpid()}"
        tunables = " ".join(f"{name}={value}" for name, value in TUNABLES.items())
        self.init = subprocess.Popen(
            ["sh", "-c", JOIN, "sh", self.group, "unshare", "--mount", "--pid", "--net", "--uts",
             "--fork", "--kill-child", "--propagation", "private", "sh", "-c", ENTER, "sh",
             self.top, base, state, tunables, ADDRESS, NAME, *folders],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.init.stdout.readline() == "ready\n"
        with open(f"/proc/{self.init.pid}/task/{self.init.pid}/children", encoding="ascii") as file:
            self.pid = file.read().split()[0]
        self.daemons = {}

    def close(self):
        super().close()
        for daemon in self.daemons.values():
            daemon.wait()
        engines.forget_groups(self.group)
        shutil.rmtree(self.state, ignore_errors=True)

    def command(self, *words):
        return ["nsenter", "--target", self.pid, "--mount", "--pid", "--net", "--uts", "--", "env",
                "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", *words]

    # --- Daemons ---

    def start(self, name, *words):
        with open(os.path.join(self.logs, name), "ab") as log:
            self.daemons[name] = subprocess.Popen(
                ["sh", "-c", JOIN, "sh", self.group, *self.command(*words)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop(self, name):
        """As the service manager does it.  nsenter waits for the daemon, its only child."""
        daemon = self.daemons.pop(name)
        with open(f"/proc/{daemon.pid}/task/{daemon.pid}/children", encoding="ascii") as file:
            os.kill(int(file.read().split()[0]), 15)
        daemon.wait(60)

    def log(self, name, n_bytes=3000):
        with open(os.path.join(self.logs, name), encoding="utf-8", errors="replace") as log:
            # Go's programs end with the stacks of all their threads.
            return log.read().split("\ngoroutine ")[0][-n_bytes:]

    def until(self, name, condition, seconds=120):
        """Until what the daemon is to do is done; fails with its log where it is not."""
        end = time.monotonic() + seconds
        while not (value := condition()):
            ended = self.daemons[name].poll() is not None
            assert not ended and time.monotonic() < end, self.log(name)
            time.sleep(.2)
        return value
