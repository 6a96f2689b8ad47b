#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the packages in a separate root, upgrades them under a running program, and removes
them.

usage: test_packages.py PACKAGES NEXT ROOT TENANT

PACKAGES and NEXT are folders of packages, the second of a higher version; ROOT is where a
bare Debian is kept from run to run; TENANT is the program of the benchmarks.  The console is opened
with what ./dev web has fetched.
"""
import gzip
import os
import re
import shutil
import stat
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))
import root as roots  # noqa: E402
from harness import UnixConnection, request, wait_until  # noqa: E402
from ports import free_port  # noqa: E402

SKIP = 77
USER = "tenant"
WEB = Path(__file__).resolve().parent.parent.parent / "web"
STEP_US = 1000
RECORD = struct.Struct("=QQII")  # bench/tenant.h
PAUSE_MAX_MS = 1000


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


class Program:
    """The tenant in a share, as a user starts it."""

    def __init__(self, root, name):
        self.log = root.path / f"tmp/{name}.0"
        self.process = root.start(
            USER, "cleave", "run", "--name", name, "--share", "0.5", "--", "/tmp/steps",
            "--mode", "sync", "--kernel", str(STEP_US), "--log", f"/tmp/{name}")
        self.say("run")

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"the program did not answer '{line}': {self.process.wait()}"

    def end(self):
        """(start, end) of each step in nanoseconds."""
        self.say("pause")
        self.process.stdin.write("quit\n")
        self.process.stdin.flush()
        assert self.process.wait(30) == 0
        data = self.log.read_bytes()
        return [record[:2] for record in RECORD.iter_unpack(data) if record[2] == 1]


def longest_pause_ms(steps, since_ns, until_ns):
    """Between two steps, of the programs that ran in that time."""
    longest = 0
    for (_, end), (start, _) in zip(steps, steps[1:]):
        if start > since_ns and end < until_ns:
            longest = max(longest, start - end)
    return longest / 1e6


def check_installed(root):
    path = root.path
    assert "cleave-viewer:" in (path / "etc/group").read_text()
    modes = {p: stat.S_IMODE((path / p).stat().st_mode) for p in ("run/cleave", "var/lib/cleave")}
    assert modes == {"run/cleave": 0o755, "var/lib/cleave": 0o700}, modes
    for link in ("multi-user.target.wants/cleaved.service", "sockets.target.wants/cleaved.socket"):
        link = path / "etc/systemd/system" / link
        assert link.is_symlink() and (path / "lib/systemd/system" / link.name).exists(), link
    # A user may enable the user units.
    assert (path / "usr/lib/systemd/user/cleaved.socket").exists()
    assert not (path / "etc/systemd/user/sockets.target.wants/cleaved.socket").exists()
    root.run("ldd", "/usr/bin/cleave")


def check_console(service):
    """Each file of the console is in the packages."""
    connection = UnixConnection(service.api)
    seen, wanted = set(), ["/"]
    while wanted:
        path = wanted.pop()
        seen.add(path)
        connection.request("GET", path)
        answer = connection.getresponse()
        data = answer.read()
        assert answer.status == 200, (path, answer.status)
        if path == "/":  # packed, as all of them
            wanted += re.findall(r'(?:src|href)="(/[^"]+)"', gzip.decompress(data).decode())
    connection.close()
    assert any(path.endswith(".js") for path in seen), seen


def show_console(root, port):
    """In a browser, over the network and with a token, as an administrator opens it."""
    token = root.run("cleave", "token", "create", "browser", "--scope=admin").split()[-1]
    done = subprocess.run(["node", "test/run.mjs", "installed", f"http://127.0.0.1:{port}", token],
                          cwd=WEB, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    print("ok", done.stdout.strip())


def version(root):
    words = {root.run(name, "--version").split()[-1] for name in ("cleave", "cleaved")}
    assert len(words) == 1, words
    return words.pop()


def the_lease(service, name):
    status, lease = request(service.api, "GET", f"/v1/leases/{name}")
    return lease if status == 200 else None


def wait_attached(service, name):
    assert wait_until(lambda: (the_lease(service, name) or {}).get("processes"), 30), name


def check_journal(service, lease):
    """The fields of a lease can be searched for."""
    wanted = (f"CLV_LEASE={lease['id']}", f"CLV_LEASE_NAME={lease['name']}", "PRIORITY=6",
              "CLV_EVENT=lease_created")
    assert wait_until(lambda: any(all(word in text.split("\n") for word in wanted)
                                  for text in service.written), 5), service.written


def check_hanging_journal(service):
    """No request waits for it, and the lines that it does not take are counted."""
    service.is_read.clear()
    began = time.monotonic()
    for n in range(30):
        status, lease = request(service.api, "POST", "/v1/leases", {
            "name": f"brief-{n}", "keep": True, "share": .01})
        assert status == 201, lease
        assert request(service.api, "DELETE", f"/v1/leases/brief-{n}")[0] == 204
        service.notify.receive(0)
    assert time.monotonic() - began < 10, "the journal keeps the agent"
    service.is_read.set()
    time.sleep(2)
    request(service.api, "POST", "/v1/leases", {"name": "after", "keep": True, "share": .01})
    request(service.api, "DELETE", "/v1/leases/after")
    assert wait_until(lambda: any("lines were lost" in text for text in service.written), 5)


def restart(service):
    """Stops and starts it; a caller waits meanwhile. Returns (from, until) in ns."""
    answers = []
    began = now_ns()
    service.stop()
    caller = threading.Thread(
        target=lambda: answers.append(request(service.api, "GET", "/v1/leases")), daemon=True)
    caller.start()
    service.start()
    caller.join(20)
    assert answers and answers[0][0] == 200, answers
    return began, now_ns()


def upgrade(root, service, packages):
    """Under a running program."""
    program = Program(root, "steps")
    wait_attached(service, "steps")
    before = the_lease(service, "steps")
    time.sleep(2)
    quiet_from = now_ns()
    time.sleep(4)
    dpkg_from, old = now_ns(), version(root)
    root.install(packages.values())
    dpkg_until, new = now_ns(), version(root)
    assert new != old, f"both packages are of version {old}"
    restart_from, restart_until = restart(service)
    wait_attached(service, "steps")
    time.sleep(3)
    after = the_lease(service, "steps")
    for key in ("id", "name", "share", "memory_bytes", "holder_pid", "created_at"):
        assert after[key] == before[key], (key, before, after)
    assert [p["pid"] for p in after["processes"]] == [p["pid"] for p in before["processes"]]
    assert request(service.api, "GET", "/v1/version")[1]["version"] == new
    assert after["turns"] >= before["turns"]
    check_journal(service, before)
    end_ns = now_ns()
    steps = program.end()
    assert steps[-1][1] > end_ns - 1000000000, "the program was stalled at the end"
    report(old, new, steps, {
        "before": (quiet_from, dpkg_from), "while dpkg works": (dpkg_from, dpkg_until),
        "over the restart": (restart_from, restart_until),
        "in 3 s after it": (restart_until, end_ns)})


def report(old, new, steps, times):
    pauses = {what: longest_pause_ms(steps, *span) for what, span in times.items()}
    away_ms = (times["over the restart"][1] - times["over the restart"][0]) / 1e6
    print(f"steps: {len(steps)} of {STEP_US / 1000:g} ms, upgraded from {old} to {new}, "
          f"without an agent for {away_ms:.0f} ms")
    print("pause: the longest " + ", ".join(f"{what} {ms:.1f} ms" for what, ms in pauses.items()))
    assert pauses["over the restart"] < PAUSE_MAX_MS, pauses


def remove(root, service):
    """With a program that continues without any of it; then remaining files are searched for."""
    program = Program(root, "last")
    wait_attached(service, "last")
    time.sleep(1)
    service.close()
    root.run("dpkg", "--remove", *roots.OWN)
    assert any((root.path / "var/lib/cleave").iterdir()), "the state is for a purge to remove"
    removed_ns = now_ns()
    time.sleep(1)
    steps = program.end()
    assert steps[-1][1] > removed_ns, "the program did not outlive the packages"
    root.run("dpkg", "--purge", *roots.OWN)
    shutil.rmtree(root.path / "etc/cleave")


def check_left(root, before):
    """No file; but the group stays, because its number must not be assigned again."""
    left = sorted(root.files() - before)
    assert not left, left
    assert "cleave-viewer:" in (root.path / "etc/group").read_text()


def listen(root):
    """Settings of the administrator, which a purge leaves: removed with the agent that has read
    them."""
    port, folder = free_port(), root.path / "etc/cleave"
    folder.mkdir(exist_ok=True)
    (folder / "cleaved.yaml").write_text(
        f"version: 1\nlisten: {{address: 127.0.0.1, port: {port}}}\n")
    return port


def prepare(root, tenant):
    root.run("useradd", "--create-home", USER)
    shutil.copy(tenant, root.path / "tmp/steps")
    (root.path / "tmp").chmod(0o1777)


def main():
    packages, following = (roots.packages_in(folder) for folder in sys.argv[1:3])
    base, tenant = map(os.path.abspath, sys.argv[3:5])
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        print("needs root and debootstrap")
        return SKIP
    if len(packages) < len(roots.OWN) or len(following) < len(roots.OWN):
        print("there are no packages: ./dev package --test")
        return SKIP
    roots.enter_namespace()
    roots.make_base(base, [*roots.FOR_PROGRAMS, *roots.depends(packages.values())])
    root = roots.Root(base)
    try:
        prepare(root, tenant)
        before = root.files()
        root.install(packages.values())
        check_installed(root)
        service = roots.Service(root)
        port = listen(root)
        service.start()
        try:
            check_console(service)
            show_console(root, port)
            check_hanging_journal(service)
            upgrade(root, service, following)
            check_installed(root)
            remove(root, service)
        except BaseException:
            print(service.said(), *service.written[-8:])
            raise
        finally:
            if service.process.poll() is None:
                service.process.kill()
        check_left(root, before)
    finally:
        root.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
