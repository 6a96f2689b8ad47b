# SPDX-License-Identifier: Apache-2.0
"""The kinds of kills. Each takes the crash suite's state and a source of randomness, kills, and
returns what is counted; run.py checks the same invariants after all of them."""
import os
import threading
import time

from world import ALLOCATING, GRANTED, MIB, Pages, Failure, expect, kill, wait_until

TAKE_OVER_S = 2.0


def start_victim(suite, rng, **more):
    share = rng.choice((0.3, 0.5, 0.6))
    memory = rng.choice((24, 48, 64)) * MIB
    arguments = [f"kernel={rng.choice((300, 1000, 3000))}", f"depth={rng.choice((4, 16))}",
                 f"seed={rng.randrange(1, 1 << 30)}", f"max={MIB * 3 // 4}"]
    arguments += more.pop("arguments", [])
    suite.n_victims += 1
    return suite.world.start(f"victim{suite.n_victims}", share, memory, arguments, **more)


def strike(suite, pid, pages, account):
    """Kills the tenant and returns what it was doing."""
    phase, in_flight, charged = pages.look()
    held_before = account.held_bytes
    kill(pid)
    wait_until(lambda: not account.is_alive(), 5, f"process {pid} is dead", pause=0.0005)
    hits = ["tenant kills"]
    if phase == GRANTED and in_flight > 0:
        hits.append("granted, work in flight")
    elif in_flight > 0:
        hits.append("work in flight, turn over")
    # Charged, and the driver has not answered yet.
    if account.stage == ALLOCATING and charged > held_before:
        hits.append("between reserve and allocation")
    elif account.stage:
        hits.append("elsewhere in an allocation or a free")
    return hits


def running_victim(suite, rng, **more):
    victim = start_victim(suite, rng, **more)
    victim.wait_running()
    account = victim.account
    wait_until(lambda: account.completed > 0, 5, "the victim's first kernel")
    pages = Pages(suite.world.agent.pid, account.pid)
    time.sleep(rng.uniform(0, 0.15))
    return victim, pages


def kill_tenant(suite, rng):
    victim, pages = running_victim(suite, rng)
    hits = strike(suite, victim.account.pid, pages, victim.account)
    code = victim.gone()
    expect(code == 137, "cleave run ended with", code, "and not 137")
    return hits


def kill_starting(suite, rng):
    victim = start_victim(suite, rng)
    time.sleep(rng.uniform(0, 0.12))
    wrapper = victim.process.pid
    try:
        with open(f"/proc/{wrapper}/task/{wrapper}/children", encoding="utf-8") as file:
            children = [int(c) for c in file.read().split()]
    except FileNotFoundError:
        children = []
    if children and rng.random() < 0.7:
        started = victim.account.pid != 0
        kill(children[0])
        what = "tenant, starting" if started else "tenant, before its first line"
    else:
        kill(wrapper)
        what = "cleave run, starting"
        victim.gone()
        end_orphans(suite, victim)
        return [what]
    victim.gone()
    return [what]


def end_orphans(suite, victim):
    """The program of a killed cleave run goes on, or was never started."""
    time.sleep(0.05)
    for pid in os.listdir("/proc"):
        if not pid.isdigit():
            continue
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if victim.account.path.encode() in words:
            kill(int(pid))


def kill_wrapper(suite, rng):
    victim, pages = running_victim(suite, rng)
    victim.process.kill()
    victim.process.wait()
    before = victim.account.completed
    wait_until(lambda: victim.account.completed > before + 2, 2,
               "the program continues without its cleave run")
    suite.world.check_exact()
    time.sleep(rng.uniform(0, 0.05))
    hits = strike(suite, victim.account.pid, pages, victim.account)
    suite.world.tenants.remove(victim)
    return ["cleave run"] + hits


def take_over(suite, before, killed_at):
    """Starts a new agent, and waits until all tenants are attached."""
    world = suite.world
    ready_s = world.start_agent()
    last = suite.last_event
    leases = world.leases()
    for name, lease in before.items():
        if name not in {t.name for t in world.tenants}:
            continue
        expect(name in leases, "the new agent does not know the lease", name)
        expect(leases[name]["id"] == lease["id"], name, "has another id now")
        for field in ("share", "memory_bytes", "class", "created_at"):
            expect(leases[name][field] == lease[field], name, field, "was", lease[field],
                   "and is", leases[name][field])
    living = {a.pid for t in world.tenants for a in t.living()}
    begin = time.monotonic()
    wait_until(lambda: living <= world.attached_since(last), TAKE_OVER_S,
               lambda: f"processes {living - world.attached_since(last)} are back")
    suite.note("ready_s", ready_s)
    suite.note("taken_over_s", time.monotonic() - begin)
    suite.note("no_agent_s", time.monotonic() - killed_at)
    completed = {a.pid: a.completed for t in suite.neighbours for a in t.accounts}
    turns = {n: l["turns"] for n, l in world.leases().items()}
    wait_until(lambda: all(a.completed > completed[a.pid] + 2
                           for t in suite.neighbours for a in t.accounts), 1.5,
               "all permanent tenants make progress under the new agent")
    wait_until(lambda: all(world.leases()[t.name]["turns"] > turns[t.name]
                           for t in suite.neighbours), 1.5,
               "the device is handed round by the new agent")
    suite.new_agent()


def leave_without_agent(rng):
    time.sleep(rng.choice((0, 0, rng.uniform(0, 0.3))))


def kill_agent(suite, rng):
    before = suite.world.leases()
    suite.last_event = suite.world.last_event()
    time.sleep(rng.uniform(0, 0.05))
    suite.world.kill_agent()
    killed_at = time.monotonic()
    leave_without_agent(rng)
    take_over(suite, before, killed_at)
    return ["agent"]


def kill_both(suite, rng):
    victim, pages = running_victim(suite, rng)
    before = suite.world.leases()
    suite.last_event = suite.world.last_event()
    del before[victim.name]
    first = rng.random() < 0.5
    if first:
        suite.world.kill_agent()
        killed_at = time.monotonic()
        time.sleep(rng.choice((0, rng.uniform(0, 0.1))))
    hits = strike(suite, victim.account.pid, pages, victim.account)
    if not first:
        time.sleep(rng.choice((0, 0, rng.uniform(0, 0.002))))
        suite.world.kill_agent()
        killed_at = time.monotonic()
    victim.gone()
    leave_without_agent(rng)
    take_over(suite, before, killed_at)
    return hits + ["agent", "agent and tenant"]


def kill_agent_beside_victim(suite, rng):
    """The victim survives the agent, is taken over, and dies under the new one."""
    victim, _ = running_victim(suite, rng)
    kill_agent(suite, rng)
    suite.world.check_exact()
    pages = Pages(suite.world.agent.pid, victim.account.pid)
    time.sleep(rng.uniform(0, 0.1))
    hits = strike(suite, victim.account.pid, pages, victim.account)
    victim.gone()
    return hits + ["agent"]


def kill_of_a_family(suite, rng):
    victim = start_victim(suite, rng, arguments=["children=1"])
    child = victim.add_child_account(".0")
    victim.wait_running()
    wait_until(lambda: child.completed > 0 and victim.account.completed > 0, 5,
               "both processes work")
    pages = Pages(suite.world.agent.pid, child.pid)
    time.sleep(rng.uniform(0, 0.1))
    dies, stays = (child, victim.account) if rng.random() < 0.5 else (victim.account, child)
    what = "child" if dies is child else "parent"
    kill(dies.pid)
    wait_until(lambda: not dies.is_alive(), 5, "the process is dead")
    suite.world.check_exact()
    before = stays.completed
    wait_until(lambda: stays.completed > before + 2, 2, "the other one continues")
    time.sleep(rng.uniform(0, 0.03))
    hits = strike(suite, stays.pid, pages, stays)
    victim.gone()
    return hits + [what]


def kill_agent_while_creating(suite, rng):
    """Leases whose creation was answered with 201 must exist afterwards."""
    world, answered, done = suite.world, {}, threading.Event()

    def create():
        for i in range(1000):
            body = {"name": f"made{i}", "share": 0.001, "memory_bytes": MIB}
            try:
                status, lease = world.request("POST", "/v1/leases", body)
            except OSError:
                break
            if status != 201:
                answered[f"made{i}"] = status
                break
            answered[f"made{i}"] = lease["id"]
        done.set()

    before = world.leases()
    suite.last_event = world.last_event()
    thread = threading.Thread(target=create)
    thread.start()
    time.sleep(rng.uniform(0.002, 0.08))
    world.kill_agent()
    killed_at = time.monotonic()
    done.wait(60)
    thread.join()
    take_over(suite, before, killed_at)
    made = {n: l["id"] for n, l in world.leases().items() if n.startswith("made")}
    for name, answer in answered.items():
        expect(not isinstance(answer, int), "a lease was refused with", answer)
        expect(made.get(name) == answer, "the lease", name, "was answered with 201 and is",
               made.get(name))
    expect(len(made) <= len(answered) + 1, len(made), "leases are there,", len(answered),
           "were answered")
    for lease in made.values():
        expect(world.request("DELETE", f"/v1/leases/{lease}")[0] in (200, 204),
               "a lease cannot be released")
    suite.note("leases before the kill", len(answered))
    return ["agent", "agent, creating leases"]


def kill_agent_while_setting(suite, rng):
    """The share is the last one answered, or the one requested at the end."""
    world, tenant = suite.world, suite.neighbours[0]
    lease = world.leases()[tenant.name]["id"]
    asked, answered, done = [tenant.share], [tenant.share], threading.Event()

    def resize():
        for i in range(100000):
            share = round(0.1 + 0.001 * (i % 150), 3)
            asked.append(share)
            try:
                status, answer = world.request(
                    "PATCH", f"/v1/leases/{lease}", {"share": share})
            except OSError:
                break
            if status != 200:
                asked.append((status, answer))
                break
            answered.append(share)
        done.set()

    before = world.leases()
    suite.last_event = world.last_event()
    thread = threading.Thread(target=resize)
    thread.start()
    time.sleep(rng.uniform(0.002, 0.08))
    world.kill_agent()
    killed_at = time.monotonic()
    done.wait(60)
    thread.join()
    expect(not isinstance(asked[-1], tuple), "set was refused:", asked[-1])
    del before[tenant.name]
    take_over(suite, before, killed_at)
    now = world.leases()[tenant.name]
    expect(now["id"] == lease, "the lease has another id")
    expect(any(abs(now["share"] - s) < 1e-6 for s in (answered[-1], asked[-1])),
           "the share is", now["share"], "and", answered[-1], "was answered,", asked[-1],
           "asked for")
    status, answer = world.request("PATCH", f"/v1/leases/{lease}", {"share": tenant.share})
    expect(status == 200, "set:", status, answer)
    suite.note("sets before the kill", len(answered) - 1)
    return ["agent", "agent, setting a share"]


def kill_agent_while_attaching(suite, rng):
    """Each program started meanwhile runs in a lease or has ended with an error message."""
    world = suite.world
    before = world.leases()
    suite.last_event = world.last_event()
    starting = [start_victim_small(suite, rng) for _ in range(2)]
    time.sleep(rng.uniform(0, 0.15))
    world.kill_agent()
    killed_at = time.monotonic()
    for tenant in starting:
        world.tenants.remove(tenant)
    leave_without_agent(rng)
    take_over(suite, before, killed_at)
    n_running = 0
    for tenant in starting:
        wait_until(lambda: tenant.process.poll() is not None or
                   tenant.account.state == 1, 8,
                   lambda: f"{tenant.name} runs or has ended: {tenant.errors()}")
        if tenant.process.poll() is not None:
            expect(tenant.process.returncode in (3, 69, 125), tenant.name, "ended with",
                   tenant.process.returncode, tenant.errors())
            expect("leave" in tenant.errors() or "tenant" in tenant.errors(),
                   "no word why", tenant.name, "ended")
            continue
        n_running += 1
        world.tenants.append(tenant)
        now = tenant.account.completed
        wait_until(lambda: tenant.account.completed > now + 2, 2,
                   lambda: f"{tenant.name} works: {tenant.account.error_text()}")
    world.check_exact()
    for tenant in starting:
        if tenant.process.poll() is None:
            kill(tenant.account.pid)
            tenant.gone()
    suite.note("started through the kill", n_running)
    return ["agent", "agent, tenants attaching"]


def kill_agent_twice(suite, rng):
    """The second agent dies during its takeover."""
    before = suite.world.leases()
    suite.last_event = suite.world.last_event()
    suite.world.kill_agent()
    killed_at = time.monotonic()
    for _ in range(rng.randrange(1, 4)):
        suite.world.start_agent()
        time.sleep(rng.choice((0, rng.uniform(0, 0.02), rng.uniform(0, 0.15))))
        suite.world.kill_agent()
    leave_without_agent(rng)
    take_over(suite, before, killed_at)
    return ["agent", "agent, again while it takes over"]


def kill_without_agent(suite, rng):
    """Leases that end while there is no agent are gone under the next one."""
    world = suite.world
    victim = start_victim(suite, rng, arguments=["children=1"])
    child = victim.add_child_account(".0")
    victim.wait_running()
    before = world.leases()
    suite.last_event = world.last_event()
    time.sleep(rng.uniform(0, 0.1))
    world.kill_agent()
    killed_at = time.monotonic()
    time.sleep(rng.choice((0, 0, rng.uniform(0, 0.1))))
    who = rng.choice(("child", "parent", "cleave run", "cleave run and parent", "all"))
    if "cleave run" in who or who == "all":
        victim.process.kill()
        victim.process.wait()
    if "parent" in who or who == "all":
        kill(victim.account.pid)
    if who in ("child", "all"):
        kill(child.pid)
    time.sleep(rng.choice((0, rng.uniform(0, 0.05))))
    if who == "all":
        world.tenants.remove(victim)
    take_over(suite, before, killed_at)
    world.check_exact()
    if who != "all":
        for account in victim.living():
            before = account.completed
            wait_until(lambda a=account, b=before: a.completed > b + 2, 2,
                       "the remaining programs continue")
        for account in victim.living():
            kill(account.pid)
        victim.gone()
    return ["agent", "without agent: " + who]


def start_victim_small(suite, rng):
    suite.n_victims += 1
    return suite.world.start(f"victim{suite.n_victims}", 0.1, 32 * MIB,
                             ["kernel=500", f"seed={rng.randrange(1, 1 << 30)}"])


# Weights, in per cent.
TENANT_KINDS = (
    (kill_tenant, 52),
    (kill_starting, 8),
    (kill_wrapper, 6),
    (kill_of_a_family, 6),
)
AGENT_KINDS = (
    (kill_agent, 7),
    (kill_agent_beside_victim, 5),
    (kill_both, 5),
    (kill_agent_twice, 4),
    (kill_without_agent, 5),
    (kill_agent_while_creating, 3),
    (kill_agent_while_setting, 4),
    (kill_agent_while_attaching, 4),
)
KINDS = TENANT_KINDS + AGENT_KINDS
