# SPDX-License-Identifier: Apache-2.0
"""Acts of programs on processes and descriptors, and agents that die meanwhile: one case each, with
its own agent, beside a second tenant that must not be disturbed.

usage: cases.py --build BUILD [--pocl] [CASE...]"""
import argparse
import fnmatch
import os
import signal
import subprocess
import sys
import time

from world import (ACTS, MIB, PATIENCE_S, RUNNING, Failure, Tenant, World, continues, expect,
                   kill, wait_until, was_not_stalled)


class Skipped(Exception):
    """The case's requirements are missing here."""


class Case:
    def __init__(self, build, use_double):
        self.world = World(build, use_double)
        self.world.start_agent()
        self.neighbour = self.start("neighbour", ["kernel=500", "seed=3"])
        self.neighbour.wait_running(20)
        self.neighbour.account.forgive()
        self.subject = None

    def start(self, name, arguments, share=0.3, memory=64 * MIB):
        return Tenant(self.world, name, share, memory, arguments)

    def begin(self, arguments=("kernel=1000", "seed=5")):
        self.subject = self.start("subject", list(arguments))
        self.subject.wait_running()
        account = self.subject.account
        wait_until(lambda: account.n_allocations > 10, 5, "the subject allocates")
        return account

    def act(self, name):
        account = self.subject.account
        before = account.acted
        account.put("act", ACTS[name])
        wait_until(lambda: account.acted > before, 5, f"{name} is done")

    def works(self, account=None, seconds=2.0):
        account = account or self.subject.account
        before = account.completed
        wait_until(lambda: account.completed > before + 5, seconds,
                   lambda: "the subject continues: " + account.error_text() + " "
                   + self.subject.errors())

    def neighbour_is_well(self):
        account = self.neighbour.account
        expect(account.error == 0 and account.wrong == 0 and account.is_alive(),
               "the second tenant:", account.error_text(), self.neighbour.errors())
        was_not_stalled("the second tenant", account)

    def restart_agent(self, pause_s=0.05):
        last = self.world.last_event()
        self.world.kill_agent()
        time.sleep(pause_s)
        self.world.start_agent()
        return last

    def all_back(self, last, seconds=2.0):
        living = {a.pid for t in self.world.tenants for a in t.living()}
        wait_until(lambda: living <= self.world.attached_since(last), seconds,
                   lambda: f"{living - self.world.attached_since(last)} are back "
                   f"(the subject is {self.subject.account.pid})")

    def end(self):
        """Ends the subject and all its processes."""
        for account in self.subject.living():
            kill(account.pid)
        self.subject.gone()
        self.world.check_exact()
        self.world.check_files()
        self.neighbour_is_well()


def case_raw_clone(case):
    """A child by the bare system call has no device and disturbs no other process."""
    account = case.begin()
    for _ in range(3):
        case.act("raw-clone")
        expect(account.child_code == 0, "the child ended with status", account.child_code)
    case.works()
    case.world.check_exact()
    case.end()


def case_vfork_exec(case):
    account = case.begin()
    for _ in range(5):
        case.act("vfork-exec")
        expect(account.child_code == 0, "the child ended with status", account.child_code)
    case.works()
    case.world.check_exact()
    case.end()


def case_fork_exec(case):
    """A child that becomes a separate tenant program is in the same lease."""
    case.begin()
    child = case.subject.add_child_account(".child")
    case.act("fork-exec")
    wait_until(lambda: child.state == RUNNING, 5, "the child runs")
    case.works(child)
    case.works()
    case.world.check_exact()
    kill(case.subject.account.pid)
    case.works(child)
    case.world.check_exact()
    case.end()


def case_exec(case):
    """The new program is the same process, and holds nothing of the old one."""
    account = case.begin()
    pid = account.pid
    for _ in range(3):
        case.act("exec-self")
        try:
            wait_until(lambda: account.state == RUNNING, 5, "the new program runs")
        except Failure as failure:
            raise Failure(f"{failure}: {account.error_text()}") from None
        expect(account.pid == pid, "the process is another one")
        case.works()
        case.world.check_exact()
    case.end()


def case_exec_away(case):
    """A program without a device holds no memory and no turn, and its lease ends with its cleave
    run."""
    case.begin()
    case.act("exec-other")
    wait_until(lambda: case.world.leases()["subject"]["memory_used_bytes"] == 0, 3,
               "the memory is free again")
    wait_until(lambda: not case.world.leases()["subject"]["processes"], 3,
               "no process is attached")
    case.end()


def case_exec_away_without_agent(case):
    """The same without an agent, beside a process that keeps the page."""
    case.begin(["kernel=1000", "seed=5", "children=1"])
    child = case.subject.add_child_account(".0")
    wait_until(lambda: child.state == RUNNING, 5, "the child runs")
    last = case.world.last_event()
    case.world.kill_agent()
    case.act("exec-other")
    case.world.start_agent()
    wait_until(lambda: child.pid in case.world.attached_since(last), 2, "the child is back")
    wait_until(lambda: [p["pid"] for p in case.world.leases()["subject"]["processes"]] ==
               [child.pid], 5, lambda: "the child alone is attached: "
               + str(case.world.leases()["subject"]["processes"]))
    case.works(child)
    case.end()


def closefrom(case):
    account = case.begin()
    for _ in range(3):
        case.act("closefrom")
        case.works()
        time.sleep(0.3)
        case.world.check_exact()
    time.sleep(1.2)
    case.works()
    case.world.check_exact()
    turns = case.world.leases()["neighbour"]["turns"]
    time.sleep(0.5)
    expect(case.world.leases()["neighbour"]["turns"] > turns, "no turns are given")
    overdue = case.world.leases()["subject"]["overdue"]
    time.sleep(1)
    expect(case.world.leases()["subject"]["overdue"] == overdue,
           "its turns end late for ever")
    return account


def case_closefrom(case):
    """A program that closes unknown descriptors is attached again, once."""
    closefrom(case)
    case.end()


def case_closefrom_idle(case):
    """The same while it submits nothing: the next turn comes in time."""
    account = case.begin()
    account.put("hold", 1)
    wait_until(lambda: account.held, 5, "the subject is idle")
    case.act("closefrom")
    time.sleep(1.5)
    case.neighbour_is_well()
    case.world.check_exact()
    account.put("hold", 0)
    case.works()
    case.world.check_exact()
    case.end()


def case_closefrom_then_agents(case):
    """Descriptor numbers that were closed and reused are not closed again."""
    closefrom(case)
    for _ in range(4):
        last = case.restart_agent()
        case.all_back(last)
        case.works()
        case.world.check_exact()
    case.end()


def case_closefrom_without_agent(case):
    """The page itself is lost when both end: the memory in use is carried over."""
    case.begin()
    for _ in range(3):
        last = case.world.last_event()
        case.world.kill_agent()
        case.act("closefrom")
        time.sleep(0.05)
        case.world.start_agent()
        case.all_back(last, 4.0)
        case.works(seconds=4.0)
        case.world.check_exact()
    expect(case.subject.account.error == 0, "the subject got an error")
    case.end()


def case_forked_chain(case):
    """A child has its own descriptors, and not also its parents'."""
    chain = os.path.join(case.world.build, "tests/crash/crash-chain")
    done = subprocess.run(
        [case.world.cleave, "run", "--share", "0.1", "--", chain, "12"], timeout=60,
        env=case.world.env, capture_output=True, text=True, check=False)
    counts = [int(line) for line in done.stdout.split()]
    expect(done.returncode == 0 and len(counts) == 12, done.returncode, counts, done.stderr)
    expect(len(set(counts)) == 1, "descriptors of the generations:", counts)
    case.neighbour_is_well()


# A program that adopts its children's orphans, and waits until there are none.
SUBREAPER = """
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
subprocess.Popen(sys.argv[1:])
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
"""


def case_shared_memory(case):
    """A child that shares its parent's memory (CLONE_VM) keeps the parent's allocations after its
    end; four of them have no more than the quota."""
    run_clones(case, [])


def case_shared_memory_below_a_subreaper(case):
    """The same where another process adopts the orphans than cleave or init."""
    run_clones(case, [sys.executable, "-c", SUBREAPER])


def case_shared_memory_after_exec(case):
    """The same where the parent does not end, but executes another program."""
    run_clones(case, [], "exec", n=2)


def case_shared_memory_that_grows(case):
    """Such a child allocates more after its parent's end: no more than the quota in all."""
    quota, piece = 16 * MIB, 4 * MIB
    clone = os.path.join(case.world.build, "tests/crash/crash-clone")
    words = [case.world.cleave, "run", "--share", "0.1", "--memory", str(quota), "--name",
             "clones", "--", "sh", "-c", f"'{clone}' {piece} more; true"]
    with subprocess.Popen(words, env=case.world.env, stdout=subprocess.PIPE, text=True) as run:
        pid = int(run.stdout.readline())
        try:
            expect(pid > 0, "the clone is", pid)
            expect(int(run.stdout.readline()) == (quota - piece) // MIB, "what it has allocated")
            lease = case.world.leases()["clones"]
            expect(lease["memory_used_bytes"] == quota, lease["memory_used_bytes"])
            expect([p["pid"] for p in lease["processes"]] == [pid], lease["processes"])
        finally:
            kill(pid)
        run.wait(60)
    case.neighbour_is_well()


def run_clones(case, before, *how, n=4):
    quota, piece = 16 * MIB, 12 * MIB
    clone = os.path.join(case.world.build, "tests/crash/crash-clone")
    script = " ; ".join([" ".join([f"'{clone}'", str(piece), *how])] * n) + "; true"
    words = [case.world.cleave, "run", "--share", "0.1", "--memory", str(quota), "--name",
             "clones", "--", *before, "sh", "-c", script]
    with subprocess.Popen(words, env=case.world.env, stdout=subprocess.PIPE, text=True) as run:
        clones = [int(run.stdout.readline()) for _ in range(n)]
        try:
            look_at_clones(case, clones, piece)
        finally:
            for pid in clones:
                if pid > 0:
                    kill(pid)
        run.wait(60)
    case.neighbour_is_well()


def look_at_clones(case, clones, piece):
    expect(set(clones[1:]) == {-4}, "the clones after the first one are", clones[1:])

    def lease():
        return case.world.leases()["clones"]

    def is_known():
        return [process["pid"] for process in lease()["processes"]] == clones[:1]
    wait_until(is_known, 5, "the clone is in the lease")
    expect(lease()["memory_used_bytes"] == piece, lease()["memory_used_bytes"])
    last = case.restart_agent()
    wait_until(lambda: case.neighbour.account.pid in case.world.attached_since(last), 5,
               "the second tenant is attached again")
    wait_until(is_known, 5, "the next agent knows the clone")
    wait_until(lambda: lease()["memory_used_bytes"] == piece, 5,
               lambda: f"the next agent counts its memory: {lease()['memory_used_bytes']}")
    done = subprocess.run([case.world.cleave, "release", "--force", "clones"],
                          env=case.world.env, timeout=30, check=False)
    expect(done.returncode == 0, "release --force:", done.returncode)
    wait_until(lambda: not os.path.exists(f"/proc/{clones[0]}"), 20, "the clone is gone")


def leave_without_agent(case, *how):
    """The parent ends, or executes another program, while there is no agent."""
    quota, piece = 16 * MIB, 12 * MIB
    clone = os.path.join(case.world.build, "tests/crash/crash-clone")
    script = " ".join([f"'{clone}'", str(piece), "wait", *how]) + "; true"
    words = [case.world.cleave, "run", "--share", "0.1", "--memory", str(quota), "--name",
             "clones", "--", "sh", "-c", script]
    with subprocess.Popen(words, env=case.world.env, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as run:
        pid = int(run.stdout.readline())
        expect(pid > 0, "the clone is", pid)
        try:
            (parent,) = [p["pid"] for p in case.world.leases()["clones"]["processes"]]
            last = case.world.last_event()
            case.world.kill_agent()
            run.stdin.write("\n")
            run.stdin.flush()
            wait_until(lambda: crash_clone_is_gone(parent), 5, "the parent is gone")
            case.world.start_agent()
            look_at_left(case, pid, piece, last)
        finally:
            kill(pid)
        run.wait(60)
    wait_until(lambda: "clones" not in case.world.leases(), 20, "the lease has ended")
    case.neighbour_is_well()


def crash_clone_is_gone(pid):
    try:
        return "crash-clone" not in os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return True


def look_at_left(case, pid, piece, last):
    def lease():
        return case.world.leases()["clones"]

    def are_known():
        return [process["pid"] for process in lease()["processes"]] == [pid]

    def is_counted():
        items = case.world.get(f"/v1/events?limit=10000&after={last}")["items"]
        return lease()["memory_used_bytes"] == piece or any(
            e["type"] == "processes_unchecked" and f"process {pid} " in e["message"]
            for e in items)
    wait_until(are_known, 8, lambda: f"the agent knows {pid}: {lease()['processes']}")
    wait_until(is_counted, 8, lambda: f"{lease()['memory_used_bytes']} are counted")


def case_shared_memory_left_without_an_agent(case):
    leave_without_agent(case)


def case_shared_memory_left_by_exec_without_an_agent(case):
    leave_without_agent(case, "exec")


def case_alone(case):
    """A busy process that is alone on the device finds the next agent as well."""
    account = case.neighbour.account
    for tenants in (1, 2):
        if tenants == 2:
            case.begin()
        for _ in range(2):
            last = case.restart_agent(0.2)
            case.all_back(last)
            case.world.check_exact()
    expect(account.error == 0, "the second tenant got an error")
    case.end()


def case_only_memory(case):
    """A process that never submitted is taken over as well, and held to its quota."""
    account = case.begin(["submits=0", "seed=5"])
    case.world.check_exact()
    last = case.restart_agent()
    case.all_back(last, 3.0)
    case.world.check_exact()
    refused = account.n_refused
    wait_until(lambda: account.n_refused > refused, 3, "it is refused what is too much")
    case.end()


def case_idle_memory(case):
    """The charge of a process that is idle when the agent dies is exact under the next."""
    account = case.begin()
    account.put("hold", 1)
    wait_until(lambda: account.held, 5, "the subject is idle")
    for _ in range(2):
        last = case.restart_agent()
        case.all_back(last)
        case.world.check_exact()
    account.put("hold", 0)
    case.works()
    case.end()


def case_no_agent_for_long(case):
    """Without an agent all tenants compute, and none allocates beyond the quota."""
    account = case.begin()
    last = case.world.last_event()
    case.world.kill_agent()
    refused = account.n_refused
    continues(account, case.neighbour.account)
    wait_until(lambda: account.n_refused > refused, PATIENCE_S, "the quota holds")
    case.world.start_agent()
    case.all_back(last)
    case.world.check_exact()
    case.end()


def stop_as_holder(case, account, overdue):
    """Stops the subject while it holds the device, so that the second tenant waits until the turn
    is overdue.  One that waits for a processor of a busy machine goes on without that."""
    neighbour = case.neighbour.account
    for _ in range(100):
        neighbour.forgive()
        os.kill(account.pid, signal.SIGSTOP)
        time.sleep(0.2)
        if neighbour.stall_ns() > 150e6:
            before = neighbour.completed
            wait_until(lambda: overdue() or neighbour.completed > before, PATIENCE_S,
                       "the subject's turn is overdue, or it had none")
            if overdue():
                return
        os.kill(account.pid, signal.SIGCONT)
        time.sleep(0.05)
    raise Failure("in 100 attempts the subject was never stopped as the holder")


def case_stopped_tenant(case):
    """A stopped holder costs the others one timeout, and recovers."""
    account = case.begin()

    def overdue():
        return case.world.leases()["subject"]["overdue"]
    stop_as_holder(case, account, overdue)
    case.neighbour_is_well()
    continues(case.neighbour.account, n_kernels=200)
    expect(overdue() == 1, "the subject delayed", overdue(), "turns of the second tenant")
    last = case.restart_agent()
    expect("subject" in case.world.leases(), "the stopped tenant's lease is gone")
    os.kill(account.pid, signal.SIGCONT)
    case.all_back(last, 3.0)
    case.works()
    case.subject.account.forgive()
    case.world.check_exact()
    case.end()


# A process that is stopped while it holds the double's device blocks all others, which a real
# device does not.
ON_POCL_ONLY = {"stopped-tenant"}


def chosen(cases, patterns):
    """The named ones, or all, without those named behind a "!"."""
    wanted = [pattern for pattern in patterns if not pattern.startswith("!")]
    without = [pattern[1:] for pattern in patterns if pattern.startswith("!")]

    def is_any(name, those):
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in those)
    return [name for name in cases
            if (is_any(name, wanted) or not wanted) and not is_any(name, without)]


def main(module):
    """Runs the module's cases, or the chosen ones."""
    cases = {name[5:].replace("_", "-"): function
             for name, function in module.items() if name.startswith("case_")}
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--pocl", action="store_true")
    parser.add_argument("case", nargs="*")
    arguments = parser.parse_args()
    names = chosen(cases, arguments.case)
    failures = 0
    print(f"1..{len(names)}")
    for number, name in enumerate(names, 1):
        case, begin = None, time.monotonic()
        try:
            case = Case(arguments.build,
                        not arguments.pocl and name not in module["ON_POCL_ONLY"])
            cases[name](case)
            print(f"ok {number} - {name} # {time.monotonic() - begin:.1f} s", flush=True)
        except Skipped as reason:
            print(f"ok {number} - {name} # SKIP {reason}", flush=True)
        except (Failure, OSError, KeyError) as failure:
            failures += 1
            print(f"not ok {number} - {name}\n# {type(failure).__name__}: {failure}\n"
                  f"# again: {sys.argv[0]} --build {arguments.build} {name}", flush=True)
        finally:
            if case:
                case.world.close()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(globals()))
