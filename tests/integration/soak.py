#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A day's worth of mixed load on the API of one simulated node, as fast as possible: tenants
that come and go, queues, resizes, layouts, streams without a reader, callers that stop within
a request, tokens, backups, a clock that jumps, agents that are killed.

usage: soak.py CLEAVED DRIVER [--seconds N] [--seed S]

The test records what the agent has acknowledged, and compares the agent's lists with that:
no object may be lost or left over, every sum must be exact, and the agent's descriptors, memory
and files stay within bounds.  The seed repeats the order of requests, not their exact times.
"""
import argparse
import collections
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time

import harness
from harness import Agent, Holder, wait_until
from web_client import EXAMPLES, Client

DEVICES = [f"gpu{i}" for i in range(6)]
DIVIDED = 6  # the index of the device whose layout changes
MIB = 1 << 20
LEASES_MAX, HOLDERS, STREAMS_MAX, SLOW_MAX, TOKENS_MAX = 300, 6, 24, 24, 30
CHECK_EVERY = 200
FDS_MAX, RSS_MAX = 200 + LEASES_MAX + STREAMS_MAX + SLOW_MAX, 64 * MIB
HISTORY_MAX = 65 * MIB
DAY = 86400
LAYOUT = """version: 1
on-busy: fail
devices:
  - select: {index: [%d]}
    mig: %s
"""
PARTS = "    partitions:\n      - {profile: %s, count: %d}\n"


class Broken(Exception):
    """A condition of the test does not hold."""


def expect(condition, *what):
    if not condition:
        raise Broken(" ".join(str(w) for w in what))


class Soak:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.files = tempfile.mkdtemp(prefix="cleave-soak-")
        os.chmod(self.files, 0o755)
        self.clock = os.path.join(self.files, "clock")
        self.shift(0)
        node = shutil.copy(os.path.join(EXAMPLES, "dgx-a100.yaml"), self.files)
        library = os.path.join(os.path.dirname(harness.PROGRAMS["driver"]),
                               "libshifted-clock.so")
        self.agent = Agent(arguments=["--sim", node], env={
            "LD_PRELOAD": library, "CLEAVE_TEST_CLOCK": self.clock,
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"})
        self.counts = collections.Counter()
        self.leases, self.tokens, self.cordoned = {}, {}, set()
        self.holders, self.streams, self.slow = [], [], []
        self.n = 0
        self.last_event = 0
        self.client = None
        self.ready_ms = []

    def shift(self, seconds):
        with open(self.clock + ".new", "w") as file:
            file.write(str(seconds))
        os.rename(self.clock + ".new", self.clock)

    def begin(self):
        self.start()
        self.holders = [Holder(self.agent) for _ in range(HOLDERS)]

    def start(self):
        self.ready_ms.append(1000 * self.agent.start())
        self.client = Client(self.agent.api)
        wait_until(lambda: self.client.send("GET", "/readyz").status == 200)

    def send(self, method, url, body=None, may=(200, 201, 202, 204)):
        """Sends a request; returns its answer if the answer is one of the allowed ones."""
        answer = self.client.send(method, url, body)
        expect(answer.status in may, method, url, body, answer)
        self.counts[answer.status] += 1
        return answer

    def forget_closed(self, sockets, most):
        while len(sockets) > most:
            sockets.pop(self.rng.randrange(len(sockets))).close()

    # The actions

    def create(self):
        holder = self.rng.choice(self.holders)
        self.n += 1
        wanted = {"share": self.rng.choice((0.01, 0.05, 0.2, 0.5)), "name": f"s{self.n}",
                  "memory_bytes": self.rng.randrange(1, 4096) * MIB,
                  "device": self.rng.choice(DEVICES), "wait": self.rng.random() < 0.5}
        if len(self.leases) >= LEASES_MAX:
            return
        status, answer = holder.request("POST", "/v1/leases", wanted)
        expect(status in (201, 409), wanted, status, answer)
        self.counts[status] += 1
        if status == 201:
            self.leases[answer["id"]] = {"name": wanted["name"], "share": wanted["share"],
                                         "memory_bytes": wanted["memory_bytes"],
                                         "holder": holder, "socket": answer["socket"]}

    def resize(self):
        if not self.leases:
            return
        name = self.rng.choice(list(self.leases))
        share = self.rng.choice((0.01, 0.03, 0.1, 0.3))
        if self.send("PATCH", f"/v1/leases/{name}", {"share": share},
                     (200, 409)).status == 200:
            self.leases[name]["share"] = share

    def release(self):
        if self.leases:
            name = self.rng.choice(list(self.leases))
            # Not a lease with an attached process.
            if self.send("DELETE", f"/v1/leases/{name}", may=(204, 409)).status == 204:
                del self.leases[name]

    def attach(self):
        """Attaches in an active lease; the process may stay in it when the lease's holder is dead."""
        active = [name for name in self.leases
                  if self.send("GET", f"/v1/leases/{name}").json["state"] == "active"
                  ] if self.rng.random() < 0.1 else []
        if active:
            lease = self.leases[self.rng.choice(active)]
            reply = lease["holder"].do("attach", socket=lease["socket"])
            expect(reply["status"] == 0 or "slot" in reply["message"], reply)

    def holder_dies(self):
        at = self.rng.randrange(HOLDERS)
        gone = self.holders[at]
        gone.end()
        self.holders[at] = Holder(self.agent)
        self.leases = {k: v for k, v in self.leases.items() if v["holder"] is not gone}

    def read(self):
        for url in self.rng.sample((
                "/v1/leases?limit=7", "/v1/devices", "/metrics", "/v1/node", "/v1/audit",
                "/v1/tenants", "/openapi.json", "/v1/operations", "/v1/whoami",
                "/v1/history?of=device:gpu0", "/v1/events?limit=100"), 3):
            self.send("GET", url)

    def stream(self):
        """Opens a stream that no client reads."""
        self.streams.append(self.talk(b"GET /v1/events/stream HTTP/1.1\r\nHost: x\r\n\r\n"))
        self.forget_closed(self.streams, STREAMS_MAX)

    def stop_short(self):
        words = (b"POST /v1/leases HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{\"sha",
                 b"GET /v1/le", b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 3, b"")
        self.slow.append(self.talk(self.rng.choice(words)))
        self.forget_closed(self.slow, SLOW_MAX)

    def talk(self, words):
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.agent.api)
        s.sendall(words)
        return s

    def token(self):
        if len(self.tokens) < TOKENS_MAX and self.rng.random() < 0.6:
            answer = self.send("POST", "/v1/tokens", {"name": "soak", "scope": "viewer"}).json
            self.tokens[answer["id"]] = answer["secret"]
        elif self.tokens:
            self.send("DELETE", "/v1/tokens/" + self.tokens.popitem()[0])

    def cordon(self):
        device = self.rng.choice(DEVICES)
        do, act = (("uncordon", self.cordoned.discard) if device in self.cordoned
                   else ("cordon", self.cordoned.add))
        self.send("POST", f"/v1/devices/{device}/{do}")
        act(device)

    def apply(self):
        text = LAYOUT % (DIVIDED, self.rng.choice(("on", "off")))
        if text.endswith("on\n"):
            text += PARTS % self.rng.choice((("1g.5gb", 7), ("3g.20gb", 2), ("2g.10gb", 3)))
        answer = self.send("POST", "/v1/apply", text, (202, 409))
        if answer.status == 202 and self.rng.random() < 0.7:
            self.finish(answer.json["id"])

    def finish(self, operation):
        expect(wait_until(lambda: self.client.get(f"/v1/operations/{operation}")["state"]
                          in ("done", "failed", "rolled_back", "cancelled"), 30),
               "an operation does not end:", self.client.get("/v1/operations")["items"][-1:])

    def backup(self):
        folder = os.path.join(self.agent.state, "backup")
        self.send("POST", "/v1/backup")
        for name in sorted(os.listdir(folder))[:-3]:
            os.unlink(os.path.join(folder, name))

    def jump(self):
        self.shift(self.rng.choice((0, -3600, 3600, -30 * DAY, 400 * DAY)))
        self.read()
        self.shift(0)

    def kill_agent(self):
        """Kills the agent during a request, whose answer may or may not arrive."""
        self.n += 1
        name, answers = f"s{self.n}", []
        asker = threading.Thread(target=self.ask_to_be_lost, args=(name, answers))
        asker.start()
        time.sleep(self.rng.random() * 0.004)
        self.end_agent(signal.SIGKILL)
        asker.join()
        found = {lease["name"]: lease for lease in self.listed()}
        expect(name in found or 201 not in answers, name, "was acknowledged and is lost")
        if name in found:
            self.send("DELETE", "/v1/leases/" + found[name]["id"])
        self.check()

    def ask_to_be_lost(self, name, answers):
        client = Client(self.agent.api, timeout=30)
        try:
            connection = client.open()
            connection.request("POST", "/v1/leases", b'{"share":0.001,"memory_bytes":1048576,'
                               b'"device":"gpu7","name":"%s"}' % name.encode())
            answers.append(connection.getresponse().status)
        except (OSError, harness.http.client.HTTPException):
            pass

    def replace_agent(self):
        self.end_agent(signal.SIGTERM)
        self.check()

    def end_agent(self, number):
        code = self.agent.stop(number)
        expect(code in (0, -number), "the agent ended with", code, self.agent.log()[-2000:])
        for s in self.streams + self.slow:
            s.close()
        self.streams, self.slow = [], []
        self.start()

    # The conditions

    def listed(self):
        items, after = [], ""
        while True:
            page = self.client.get("/v1/leases?limit=100" + after)
            items += page["items"]
            if page["next"] is None:
                return items
            after = f"&after={page['next']}"

    def problem(self):
        items = {lease["id"]: lease for lease in self.listed()}
        if items.keys() != self.leases.keys():
            return ("lost:", self.leases.keys() - items.keys(), "left over:",
                    [items[i] for i in items.keys() - self.leases.keys()])
        sums = collections.Counter()
        for name, lease in items.items():
            for key in ("name", "share", "memory_bytes"):
                if lease[key] != self.leases[name][key]:
                    return (name, key, lease[key], "not", self.leases[name][key])
            if lease["state"] == "active":
                sums[lease["devices"][0]["name"]] += round(lease["share"] * 1e6)
                sums[lease["devices"][0]["name"], "bytes"] += lease["memory_bytes"]
        for device in self.client.get("/v1/devices")["items"]:
            promised = round(device["share_promised"] * 1e6)
            if promised != sums[device["name"]] or promised > 1000000:
                return (device["name"], "has promised", promised, "of", sums[device["name"]])
            if device["memory_promised_bytes"] != sums[device["name"], "bytes"]:
                return (device["name"], "has promised", device["memory_promised_bytes"])
        return None

    def check(self):
        expect(wait_until(lambda: not self.problem()), *(self.problem() or ()))
        tokens = {token["id"] for token in self.client.get("/v1/tokens")["items"]}
        expect(tokens == set(self.tokens), "tokens are", tokens, "not", set(self.tokens))
        self.check_events()
        self.check_footprint()

    def check_events(self):
        ids = [e["id"] for e in
               self.client.get(f"/v1/events?limit=10000&after={self.last_event}")["items"]]
        expect(ids == sorted(set(ids)), "events are not in order:", ids)
        expect(not ids or ids[0] > self.last_event, "events come again")
        # The last events need not survive a kill.
        self.last_event = max(ids[-1] - 1000, self.last_event) if ids else self.last_event

    def check_footprint(self):
        pid = self.agent.process.pid
        n_fds = len(os.listdir(f"/proc/{pid}/fd"))
        expect(n_fds < FDS_MAX, "the agent has", n_fds, "descriptors")
        with open(f"/proc/{pid}/status") as status:
            rss = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS"))
        expect(rss < RSS_MAX, "the agent has", rss >> 20, "MB")
        history = os.path.join(self.agent.state, "history")
        if os.path.exists(history):
            expect(os.stat(history).st_size <= HISTORY_MAX, "the history is too long")
        self.counts["rss"] = max(self.counts["rss"], rss)
        self.counts["fds"] = max(self.counts["fds"], n_fds)

    # name, weight: of a thousand
    ACTS = (("create", 330), ("resize", 150), ("release", 200), ("attach", 60), ("read", 120),
            ("stream", 30), ("stop_short", 40), ("token", 30), ("cordon", 10), ("apply", 5),
            ("holder_dies", 10), ("backup", 3), ("jump", 4), ("kill_agent", 4),
            ("replace_agent", 2))

    def run(self, seconds):
        names, weights = zip(*self.ACTS)
        until, n = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            act = self.rng.choices(names, weights)[0]
            try:
                getattr(self, act)()
                n += 1
                if n % CHECK_EVERY == 0:
                    self.check()
            except (AssertionError, OSError) as error:
                raise Broken(f"{act}: {type(error).__name__}: {error}") from error
            self.counts[act] += 1
        self.check()
        return n

    def close(self):
        for holder in self.holders:
            holder.end()
        for s in self.streams + self.slow:
            s.close()
        self.agent.close()
        shutil.rmtree(self.files, ignore_errors=True)


def report(soak, n, seconds):
    counts = soak.counts
    print(f"# {n} acts in {seconds:.0f} s: " + ", ".join(
        f"{name} {counts[name]}" for name, _ in soak.ACTS))
    print(f"# made {counts[201]}, refused {counts[409]}; at most {counts['fds']} descriptors "
          f"and {counts['rss'] / MIB:.1f} MiB; starts of {max(soak.ready_ms):.0f} ms at most")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cleaved")
    parser.add_argument("driver")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    options = parser.parse_args()
    harness.PROGRAMS.update(cleaved=options.cleaved, driver=options.driver)
    print(f"# seed {options.seed}", flush=True)
    soak, n, bad = Soak(options.seed), 0, ""
    began = time.monotonic()
    try:
        soak.begin()
        n = soak.run(options.seconds)
    except Broken as broken:
        bad = "not "
        print(f"# {broken}\n# the agent's last words: {soak.agent.log()[-1500:]}")
    report(soak, n, time.monotonic() - began)
    soak.close()
    print(f"{bad}ok - soak")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
