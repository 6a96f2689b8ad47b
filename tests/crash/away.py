# SPDX-License-Identifier: Apache-2.0
"""Programs whose clocks differ from the agent's, and agents that are stopped: one case each, beside
a second tenant, counted in completed kernels.

usage: away.py --build BUILD [--pocl] [CASE...]"""
import os
import select
import shutil
import signal
import subprocess
import sys
import time

from cases import Skipped, main
from world import PATIENCE_S, Failure, Tenant, continues, expect, kill, wait_until

# The double's kernels take their time by the program's clock.
ON_POCL_ONLY = {"clock-stands", "clock-backwards"}


def counts(case, *accounts, n_kernels=60):
    continues(*accounts, n_kernels=n_kernels, errors=case.subject.errors if case.subject else str)


def begin_with(case, prefix, options=("--cap", "0.5")):
    case.subject = Tenant(case.world, "subject", 0.3, 64 << 20, ["kernel=1000", "seed=5"],
                          options, prefix)
    case.subject.wait_running(20)
    return case.subject.account


def works_with(case, prefix):
    """Beside a second tenant, under a cap: all turns have deadlines."""
    account = begin_with(case, prefix)
    counts(case, account, case.neighbour.account)
    last = case.restart_agent()
    case.all_back(last, 5.0)
    counts(case, account)
    case.end()


def in_time_namespace(case, seconds):
    wrapper = ["unshare", "-T", "--monotonic", str(seconds)]
    if os.geteuid() != 0:
        wrapper = ["unshare", "-U", "-r", "-T", "--monotonic", str(seconds)]
    tried = subprocess.run([*wrapper, "true"], capture_output=True, check=False)
    if tried.returncode != 0:
        raise Skipped(f"no time namespaces here: {tried.stderr.decode().strip()}")
    works_with(case, wrapper)


def case_namespace_ahead(case):
    in_time_namespace(case, 1000)


def case_namespace_behind(case):
    in_time_namespace(case, -int(time.clock_gettime(time.CLOCK_MONOTONIC) / 2))


def case_namespace_a_little_off(case):
    in_time_namespace(case, 1)


def with_faketime(case, shift):
    if not shutil.which("faketime"):
        raise Skipped("faketime is not installed")
    works_with(case, ["faketime", "-f", shift])


def case_faketime_ahead(case):
    with_faketime(case, "+1d")


def case_faketime_behind(case):
    with_faketime(case, "-20s")


def case_faketime_slow(case):
    with_faketime(case, "+0 x0.1")


def case_faketime_quick(case):
    with_faketime(case, "+0 x10")


def at_rate(case, rate):
    library = os.path.join(case.world.build, "tests/crash/libwrong-clock.so")
    works_with(case, ["env", f"LD_PRELOAD={library}", f"CLEAVE_TEST_CLOCK_RATE={rate}"])


def case_clock_stands(case):
    at_rate(case, 0)


def case_clock_backwards(case):
    at_rate(case, -1)


def case_clock_at_triple_rate(case):
    at_rate(case, 3)


def stop_agent(case):
    """Waits until the kernel reports all its threads as stopped."""
    pid = case.world.agent.pid
    os.kill(pid, signal.SIGSTOP)

    def is_stopped():
        states = []
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/stat", encoding="utf-8") as file:
                states.append(file.read().rsplit(")", 1)[1].split()[0])
        return all(state == "T" for state in states)
    wait_until(is_stopped, 5, "the agent is stopped")


def held_seconds(case):
    return sum(lease["held_seconds"] for lease in case.world.leases().values())


def case_stopped_agent(case):
    """All tenants continue, quotas hold, and no lease is charged for the time."""
    account, neighbour = case.begin(), case.neighbour.account
    for _ in range(3):
        counts(case, account, neighbour, n_kernels=20)
        before, looked = held_seconds(case), time.monotonic()
        refused = account.n_refused
        stop_agent(case)
        began = time.monotonic()
        counts(case, account, neighbour)
        wait_until(lambda: account.n_refused > refused, PATIENCE_S, "the quota holds")
        time.sleep(max(0, 2.5 - (time.monotonic() - began)))
        stopped_s = time.monotonic() - began
        os.kill(case.world.agent.pid, signal.SIGCONT)
        charged_s = held_seconds(case) - before
        # Around a hand-over both leases pay; the arbiter's last step is charged as well.
        most_s = 2 * (time.monotonic() - looked - stopped_s) + 0.5
        expect(charged_s < most_s, f"{charged_s:.2f} s were charged, at most {most_s:.2f} s are "
               f"due: the agent was stopped for {stopped_s:.2f} s")
        counts(case, account, neighbour)
    case.end()


def stalls_ms(case, *accounts):
    """For each account, how long the stopped agent delayed its completions, in the worst of several
    times but one."""
    stalls = []
    for _ in range(5):
        counts(case, *accounts, n_kernels=20)
        for account in accounts:
            account.forgive()
        stop_agent(case)
        time.sleep(0.5)
        stalls.append([account.stall_ns() / 1e6 for account in accounts])
        os.kill(case.world.agent.pid, signal.SIGCONT)
    print("# stalls in ms:", *([f"{ms:.0f}" for ms in each] for each in zip(*stalls)))
    return [sorted(each)[-2] for each in zip(*stalls)]


def case_stopped_agent_delays(case):
    """No tenant by more than 100 ms, neither alone nor beside others."""
    neighbour = case.neighbour.account
    (alone,) = stalls_ms(case, neighbour)
    account = case.begin(["kernel=1000", "seed=5"])
    beside = stalls_ms(case, account, neighbour)
    said = f"{alone:.0f} ms alone, {beside[0]:.0f} and {beside[1]:.0f} ms beside each other"
    print(f"# they were stalled for {said}")
    expect(max(alone, *beside) <= 100, "they were stalled for", said)
    case.end()


def case_stopped_agent_and_new_program(case):
    """A new program is told within seconds what it waits for, and continues with the agent."""
    case.begin()
    clone = os.path.join(case.world.build, "tests/crash/crash-clone")
    words = [case.world.cleave, "run", "--share", "0.1", "--memory", "16M", "--name", "late",
             "--", "sh", "-c", f"echo ready; read go; exec '{clone}' 1048576"]
    with subprocess.Popen(words, env=case.world.env, stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        expect(run.stdout.readline() == "ready\n", "the new program has not begun")
        stop_agent(case)
        run.stdin.write("\n")
        run.stdin.flush()
        is_told = select.select([run.stderr], [], [], PATIENCE_S)[0]
        line = run.stderr.readline() if is_told else ""
        os.kill(case.world.agent.pid, signal.SIGCONT)
        pid = int(run.stdout.readline())
        if pid > 0:
            kill(pid)
    expect(f"waits for the agent (process {case.world.agent.pid})" in line, "it said:", line)
    expect(pid > 0, "the new program got", pid)
    case.end()


def case_stopped_agent_beside_comer(case):
    """A program that began to wait before the agent was stopped is let in as well."""
    account, neighbour = case.begin(), case.neighbour.account
    account.put("hold", 1)
    wait_until(lambda: account.held, 5, "the subject is idle")
    stop_agent(case)
    account.put("hold", 0)
    counts(case, account, neighbour)
    os.kill(case.world.agent.pid, signal.SIGCONT)
    counts(case, account, neighbour)
    case.end()


def hang_agent(case, how):
    """All threads of the agent hang, without being stopped."""
    hang = os.path.join(case.world.build, "tests/crash/crash-hang")
    done = subprocess.run([hang, str(case.world.agent.pid), "all", how], capture_output=True,
                          text=True, timeout=60, check=False)
    if done.returncode == 77:
        raise Skipped(f"no process can be made to hang here: {done.stderr}")
    expect(done.returncode == 0, "hang:", done.stderr)


def beside_hung_agent(case, how):
    """All tenants continue and quotas hold, and the next agent takes them over."""
    account, neighbour = case.begin(), case.neighbour.account
    counts(case, account, neighbour, n_kernels=20)
    last_events = case.world.last_event()
    hang_agent(case, how)
    refused = account.n_refused
    counts(case, account, neighbour)
    wait_until(lambda: account.n_refused > refused, PATIENCE_S, "the quota holds")
    case.world.kill_agent()
    case.world.start_agent()
    case.all_back(last_events, 5.0)
    counts(case, account, neighbour)
    case.end()


def case_hung_agent_sleeps(case):
    beside_hung_agent(case, "sleep")


def case_hung_agent_computes(case):
    beside_hung_agent(case, "compute")


def case_stopped_agent_is_killed(case):
    account, neighbour = case.begin(), case.neighbour.account
    stop_agent(case)
    counts(case, account, neighbour, n_kernels=20)
    last_events = case.world.seen_event
    case.world.kill_agent()
    counts(case, account, neighbour, n_kernels=20)
    case.world.start_agent()
    case.all_back(last_events, 5.0)
    counts(case, account, neighbour)
    case.end()


if __name__ == "__main__":
    try:
        sys.exit(main(globals()))
    except Failure as failure:
        sys.exit(str(failure))
