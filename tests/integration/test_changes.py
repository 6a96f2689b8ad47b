# SPDX-License-Identifier: Apache-2.0
"""Changes of the list of leases since a revision: a client that applies them has the list that
the agent shows.

usage: as harness.py says
"""
import random
import signal
import sys

from harness import NOBODY, Case, SystemCase, main, wait_until

MIB = 1 << 20
ENDED = 1024  # that the agent keeps, docs/api.md
# They follow the clock, also of a lease that computes nothing.
CLOCKED = ("lag_seconds", "tenant_debt_seconds", "held_seconds", "waited_seconds", "share_used",
           "holding", "busy_seconds", "turns")


def still(lease):
    return {name: value for name, value in lease.items() if name not in CLOCKED}


class Mirror:
    """A client's copy of the list."""

    def __init__(self, get, limit=1000):
        self.get, self.limit = get, limit
        self.leases, self.revision = {}, None
        self.n_whole = self.n_items = 0

    def refresh(self):
        since = f"&since={self.revision}" if self.revision else ""
        after, first = "", None
        while True:
            answer = self.get(f"/v1/leases?limit={self.limit}{since}{after}")
            if first is None:
                first = answer
                if answer["whole"]:
                    self.leases = {}
                    self.n_whole += 1
            self.n_items += len(answer["items"])
            for lease in answer["items"]:
                self.leases[lease["id"]] = lease
            for ended in answer["ended"]:
                self.leases.pop(ended, None)
            if answer["next"] is None:
                break
            after = f"&after={answer['next']}"
        self.revision = first["revision"]
        return self.leases


class Changes(Case):
    def mirror(self, **options):
        mirror = Mirror(self.agent.get, **options)
        mirror.refresh()
        return mirror

    def keep(self, **wanted):
        status, lease = self.agent.request(
            "POST", "/v1/leases", {"share": .05, "memory_bytes": MIB, "keep": True, **wanted})
        self.assertEqual(status, 201, lease)
        return lease

    def is_same(self, mirror):
        wanted = [still(lease) for lease in self.agent.get("/v1/leases?limit=1000")["items"]]
        return [still(lease) for lease in mirror.refresh().values()] == wanted

    def check(self, mirror, *words):
        """A change that was missed stays missed."""
        self.assertTrue(wait_until(lambda: self.is_same(mirror)), words)

    def random_operation(self, draw):
        leases = self.leases()
        lease = draw.choice(leases) if leases else None
        kind = draw.choice(["keep", "keep", "wait", "hold", "release", "resize", "attach", "memory",
                            "line", "end"])
        if kind in ("keep", "wait") and len(leases) < 12:
            wanted = {"share": .45, "wait": True} if kind == "wait" else {}
            self.agent.request("POST", "/v1/leases", {
                "share": .05, "memory_bytes": MIB, "keep": True, "admit": "socket",
                "class": draw.choice(["normal", "batch"]), **wanted})
        elif kind == "hold" and len(self.holders) < 6:
            holder = self.holder()
            status, mine = holder.request("POST", "/v1/leases", {
                "share": .05, "memory_bytes": 8 * MIB, "wait": draw.random() < .5})
            if status == 201 and mine["state"] == "active":
                holder.do("attach", socket=mine["socket"])
        elif kind == "release" and lease:
            self.agent.request("DELETE", f"/v1/leases/{lease['id']}?force=true")
        elif kind == "resize" and lease:
            self.agent.request("PATCH", f"/v1/leases/{lease['id']}", draw.choice([
                {"share": draw.choice([.04, .06])}, {"memory_bytes": 2 * MIB}, {"class": "latency"},
                {"cap": .5}, {"cap": None}, {"share_range": {"least": .05, "most": .2}}]))
        elif kind in ("attach", "memory", "line", "end") and self.holders:
            holder = draw.choice(self.holders)
            self.use(holder, kind, draw)
        return kind

    def use(self, holder, kind, draw):
        if kind == "end":
            self.holders.remove(holder)
            holder.end()
            return
        mine = [lease for lease in self.leases() if lease["holder_pid"] == holder.pid]
        if not mine or mine[0]["state"] != "active" or not mine[0]["processes"]:
            return
        if kind == "attach":
            holder.do("attach_in_child", socket=mine[0]["socket"])
        elif kind == "memory":
            holder.do("memory", value=draw.randrange(8) * MIB)
        else:
            holder.do("run", seconds=.002)

    def test_any_change_arrives(self):
        seed = random.randrange(1 << 32)
        draw = random.Random(seed)
        mirrors = [self.mirror(), self.mirror(limit=2)]
        done = []
        for _ in range(80):
            done.append(self.random_operation(draw))
            for mirror in mirrors:
                self.check(mirror, "seed", seed, done)
        self.assertEqual(mirrors[0].n_whole, 1)

    def test_what_stays_is_not_sent(self):
        for name in "abc":
            self.keep(name=name)
        mirror = self.mirror()
        before = mirror.n_items
        mirror.refresh()
        self.assertEqual(mirror.n_items, before)
        self.agent.request("PATCH", "/v1/leases/b", {"share": .1})
        mirror.refresh()
        self.assertEqual(mirror.n_items, before + 1)

    def test_work_arrives(self):
        leases = []
        for _ in range(2):
            holder = self.holder()
            leases.append(holder.lease(share=.5, memory_bytes=MIB)["id"])
            holder.do("attach", socket=self.leases()[-1]["socket"])
        mirror = self.mirror()
        for holder in self.holders:
            holder.do("stand_in_line", threads=1)
        for lease in leases:
            self.assertTrue(wait_until(lambda: mirror.refresh()[lease]["held_seconds"] > .5))
            self.assertTrue(wait_until(lambda: mirror.refresh()[lease]["share_used"] > .3))
        for holder in self.holders:
            holder.do("stand_in_line", threads=0)
        for lease in leases:
            self.assertTrue(wait_until(lambda: mirror.refresh()[lease]["share_used"] == 0))
        for holder in self.holders:
            holder.kill()
        self.assertTrue(wait_until(lambda: not mirror.refresh()))

    def test_places_in_line_arrive(self):
        """No other request asks for them, so that only the list finds out."""
        self.keep(share=.9)
        for name in "ab":
            self.keep(name=name, share=.9, wait=True)
        mirror = self.mirror()

        def places():
            return [lease["queue_position"] for lease in mirror.refresh().values()]

        self.assertEqual(places(), [None, 1, 2])
        self.agent.request("DELETE", "/v1/leases/a")
        self.assertTrue(wait_until(lambda: places() == [None, 1]), places())

    def test_another_agent(self):
        """The revisions of an earlier agent mean nothing."""
        self.keep(name="a")
        mirror = self.mirror()
        self.agent.stop(signal.SIGKILL)
        self.agent.start()
        self.keep(name="b")
        self.check(mirror)
        self.assertEqual((mirror.n_whole, len(mirror.leases)), (2, 2))

    def test_too_many_have_ended(self):
        self.keep(name="a")
        mirror, recent = self.mirror(), self.mirror()
        gone = [self.keep(name="gone")]
        recent.refresh()
        self.agent.request("DELETE", "/v1/leases/gone")
        mirror.refresh()
        self.assertEqual(mirror.n_whole, 1)
        for _ in range(ENDED):
            gone.append(self.keep(name="gone"))
            self.agent.request("DELETE", "/v1/leases/gone")
        self.check(mirror)
        self.assertEqual(mirror.n_whole, 1)
        self.check(recent)
        self.assertEqual(recent.n_whole, 2)

    def test_refusals(self):
        revision = self.mirror().revision
        for since in ("1", "x-1", revision + "0000000000000000000000", revision + " ",
                      "-" + revision, revision.upper() + "x", f"{revision}-1"):
            self.refused(self.agent.request("GET", f"/v1/leases?since={since.replace(' ', '%20')}"),
                         400, "bad_request", "the revision of an earlier answer")
        for also in ("tenant=x", "device=gpu0", "state=queued"):
            self.refused(self.agent.request("GET", f"/v1/leases?since={revision}&{also}"),
                         400, "bad_request", "leave tenant, device and state out")


class Tenants(SystemCase):
    def test_only_own_leases(self):
        mine, theirs = self.other(NOBODY), self.other(NOBODY - 1)

        def get(url):
            status, answer = mine.request("GET", url)
            self.assertEqual(status, 200, answer)
            return answer

        mirror = Mirror(get)
        mirror.refresh()
        for holder in (mine, theirs):
            holder.request("POST", "/v1/leases", {"name": "a", "share": .1})
        self.assertEqual([lease["holder_pid"] for lease in mirror.refresh().values()], [mine.pid])
        revision = mirror.revision
        for holder in (theirs, mine):
            self.assertEqual(holder.request("DELETE", "/v1/leases/a")[0], 204)
        answer = get(f"/v1/leases?since={revision}")
        self.assertEqual(answer["ended"], list(mirror.leases))
        self.assertEqual(get(f"/v1/leases?since={answer['revision']}")["ended"], [])


if __name__ == "__main__":
    sys.exit(main())
