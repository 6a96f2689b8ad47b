# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster of this machine alone: munged, slurmctld, two slurmd, and the system's
agent of cleave, in folders of their own.

All nodes are this machine, and so is their agent: each node has a state folder of its own,
as it would have on a machine of its own.
"""
import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../integration"))
from harness import request  # noqa: E402 (it is over there)
from ports import free_ports  # noqa: E402

PROGRAMS = {}  # "cleave", "cleaved", "plugin", "tenant": paths
DAEMONS = ("munged", "slurmctld", "slurmd")
NODES = ("n1", "n2")
USER = "nobody"
PR_SET_PDEATHSIG = 1
SLURM_CONF = """
ClusterName=cleave
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/ctld
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
PropagateResourceLimits=NONE
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
GresTypes=cleave,gpu
KillWait=2
InactiveLimit=0
UnkillableStepTimeout=20
MinJobAge=300
JobRequeue=1
Prolog={folder}/prolog
Epilog={folder}/epilog
PlugStackConfig={folder}/plugstack.conf{node}
DebugFlags=NO_CONF_HASH
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""


def missing():
    """Why no cluster can be started here, or None."""
    if os.geteuid() != 0:
        return "needs root, as slurmd does"
    for name in DAEMONS:
        if not find(name):
            return f"{name} is not installed"
    if not os.path.exists(PROGRAMS["plugin"]):
        return "the plugin was not built: slurm/spank.h is not here"
    return None


def find(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def wait_until(condition, seconds=60):
    until = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > until:
            return value
        time.sleep(0.02)


def die_with_parent():
    """A test that is killed leaves no daemon."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Cluster:
    """Started once for all tests of a file."""

    def __init__(self, agent_arguments=(), plugin_arguments="full=requeue"):
        self.folder = tempfile.mkdtemp(prefix="clv-slurm-", dir="/dev/shm")
        os.chmod(self.folder, 0o755)
        self.processes = {}
        self.agent_arguments = list(agent_arguments)
        self.agent_state = os.path.join(self.folder, "agent")
        self.plugin_arguments = plugin_arguments
        self.runtime = os.path.join(self.folder, "run")
        self.api = os.path.join(self.runtime, "api.sock")
        self.conf = os.path.join(self.folder, "slurm.conf")
        self.work = os.path.join(self.folder, "work")
        os.mkdir(self.work)
        os.mkdir(os.path.join(self.folder, "locks"))
        for user in ("root", USER):
            os.mkdir(self.cache_of(user))
            os.chmod(self.cache_of(user), 0o777)
        os.chmod(self.work, 0o1777)
        self.env = {key: value for key, value in os.environ.items()
                    if not key.startswith(("SLURM", "SBATCH", "SALLOC", "CLEAVE_", "OPENCL_",
                                           "OCL_"))}
        self.env.update(SLURM_CONF=self.conf, LC_ALL="C.UTF-8")

    # --- Starting and ending ---

    def start(self):
        self.start_munge()
        self.write_conf()
        self.start_agent()
        self.start_controller()
        for node in NODES:
            self.start_node(node)
        assert wait_until(self.is_idle, 20), self.logs()

    def is_idle(self):
        states = self.ask("sinfo", "-hN", "-o", "%T").split()
        return len(states) == len(NODES) and set(states) == {"idle"}

    def is_in_service(self):
        """No node is out of service, or has a job whose end is not over."""
        states = self.ask("sinfo", "-hN", "-o", "%T").split()
        return len(states) == len(NODES) and set(states) <= {"idle", "mixed", "allocated"}

    def spawn(self, name, command, **more):
        log = open(os.path.join(self.folder, f"{name}.out"), "ab")
        with log:
            self.processes[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env,
                cwd=self.folder, start_new_session=True, preexec_fn=die_with_parent, **more)
        return self.processes[name]

    def start_munge(self):
        folder = os.path.join(self.folder, "munge")
        os.mkdir(folder, 0o755)
        key = os.path.join(folder, "key")
        with open(key, "wb") as file:
            file.write(os.urandom(1024))
        os.chmod(key, 0o400)
        self.munge_socket = os.path.join(folder, "socket")
        self.spawn("munged", [
            find("munged"), "--force", "--foreground", f"--key-file={key}",
            f"--socket={self.munge_socket}", f"--pid-file={folder}/pid",
            f"--log-file={folder}/log", f"--seed-file={folder}/seed", "--num-threads=2"])
        assert wait_until(lambda: os.path.exists(self.munge_socket))

    def write_conf(self):
        ports = free_ports(1 + len(NODES))
        host = socket.gethostname()
        nodes = "".join(
            f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=8 "
            f"RealMemory=1000 Gres=cleave:100,gpu:1 State=UNKNOWN\n"
            for node, port in zip(NODES, ports[1:]))
        for name, words in (("prolog", f"prolog {self.folder}/layout.yaml"),
                            ("epilog", "epilog")):
            path = os.path.join(self.folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n[ -e {self.folder}/layout.yaml ] || exit 0\n"
                           f"exec {PROGRAMS['cleave']} slurm --socket={self.api} "
                           f"--kept={self.folder}/kept {words} 2>>{self.folder}/scripts.out\n")
            os.chmod(path, 0o755)
        for node in ("", *NODES):
            with open(self.conf_of(node), "w", encoding="utf-8") as file:
                file.write(SLURM_CONF.format(
                    host=host, port=ports[0], folder=self.folder, nodes=nodes,
                    node=node))
        with open(os.path.join(self.folder, "gres.conf"), "w", encoding="utf-8") as file:
            file.write("Name=cleave Count=100\nName=gpu File=/dev/full\n")
        for node in ("", *NODES):
            self.write_plugstack(node, "optional", self.plugin_arguments)

    def cache_of(self, user):
        """Of compiled kernels, which others may not write to."""
        return os.path.join(self.folder, f"work/cache-{user}")

    def conf_of(self, node):
        return self.conf + node

    def state_of(self, node, job=""):
        return os.path.join(self.folder, f"state-{node}", str(job))

    def write_plugstack(self, node, kind, arguments=""):
        with open(os.path.join(self.folder, "plugstack.conf" + node), "w",
                  encoding="utf-8") as file:
            file.write(f"{kind} {PROGRAMS['plugin']} cleave={PROGRAMS['cleave']} "
                       f"socket={self.api} state={self.state_of(node)[:-1]} "
                       f"{f'node={node}' if node else ''} {arguments}\n")

    def start_agent(self):
        ready, write_end = os.pipe()
        self.spawn("cleaved", [
            PROGRAMS["cleaved"], "--system", "--foreground", f"--ready-fd={write_end}",
            "--runtime-dir", self.runtime, "--state-dir", self.agent_state,
            "--lock-dir", os.path.join(self.folder, "locks"), *self.agent_arguments],
            pass_fds=[write_end])
        os.close(write_end)
        byte = os.read(ready, 1)
        os.close(ready)
        assert byte == b"1", self.read("cleaved.out")

    def start_controller(self):
        self.spawn("slurmctld", [find("slurmctld"), "-D", "-f", self.conf])
        assert wait_until(lambda: self.run("scontrol", "ping").returncode == 0), self.logs()

    def start_node(self, node):
        self.spawn(node, [find("slurmd"), "-D", "-f", self.conf_of(node), "-N", node])

    def kill(self, name, number=signal.SIGKILL):
        """The daemon alone: what it started goes on."""
        self.processes[name].send_signal(number)
        self.processes[name].wait(60)

    def revive(self, name):
        """What was killed, unless it runs again."""
        if self.processes[name].poll() is None:
            return
        if name in NODES:
            self.start_node(name)
        else:
            self.start_agent()

    def close(self):
        self.run("scancel", "--user=root")
        self.run("scancel", f"--user={USER}")
        wait_until(lambda: not self.ask("squeue", "-h"), 10)
        for name in (*NODES, "slurmctld", "cleaved", "munged"):
            process = self.processes.get(name)
            if process and process.poll() is None:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- Asking ---

    def run(self, *command, user=None, timeout=60, env=None, cwd=None):
        """As Slurm's users do."""
        more = {}
        if user:
            entry = pwd.getpwnam(user)
            more = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        program = find(command[0]) or command[0]
        return subprocess.run(
            [program, *command[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, timeout=timeout, cwd=cwd or self.work,
            env=dict(self.env, POCL_CACHE_DIR=self.cache_of(user or "root"),
                     HOME=self.work, **(env or {})), **more)

    def ask(self, *command, **more):
        result = self.run(*command, **more)
        assert result.returncode == 0, (command, result)
        return result.stdout.strip()

    def script(self, text, *options, user=None):
        """The id of a job that is this script."""
        path = os.path.join(tempfile.mkdtemp(prefix="job-", dir=self.work), "script")
        os.chmod(os.path.dirname(path), 0o777)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/bash\n" + text)
        os.chmod(path, 0o755)
        return self.ask("sbatch", "--parsable", f"--output={os.path.dirname(path)}/out",
                        *options, path, user=user)

    def start_again(self, job):
        """A job that was queued again.  Within the second in which it ended slurmd takes it
        for the one that was killed."""
        time.sleep(1.1)
        self.ask("scontrol", "update", f"JobId={job}", "StartTime=now")

    def touch(self, name):
        """What a job waits for."""
        with open(os.path.join(self.work, name), "w", encoding="utf-8"):
            pass

    def job(self, job):
        """What scontrol says of it, as a dictionary."""
        text = self.ask("scontrol", "-o", "show", "job", str(job))
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    def comment(self, job):
        return self.ask("squeue", "-h", "-t", "all", "-o", "%k", "-j", str(job))

    def state(self, job):
        return self.job(job)["JobState"]

    def running(self, job, seconds=60):
        assert wait_until(lambda: self.state(job) == "RUNNING", seconds), self.job(job)

    def lease(self, job, node=None):
        """Of the job on a node, or None."""
        found = [each for each in self.leases()
                 if each["name"] == f"slurm-{job}-{node or NODES[0]}"]
        return found[0] if found else None

    def is_clean(self, job):
        """Nothing is left of it on any node."""
        return not any(self.lease(job, node) or os.path.exists(self.state_of(node, job))
                       for node in NODES)

    def output(self, job):
        """Of a job that ended before it began there is none."""
        path = self.job(job)["StdOut"]
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def ended(self, job, seconds=90):
        """Its state once all of it is over."""
        def state():
            what = self.job(job)["JobState"]
            return what if what not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING",
                                        "SUSPENDED", "REQUEUED") else None
        return wait_until(state, seconds)

    def leases(self):
        return request(self.api, "GET", "/v1/leases")[1]["items"]

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def logs(self):
        return "\n".join(f"--- {name}\n" + self.read(name)[-3000:]
                         for name in sorted(os.listdir(self.folder))
                         if name.endswith((".log", ".out")))

