# SPDX-License-Identifier: Apache-2.0
"""Tenants that are cgroups: a process in one is that tenant, whatever its user.

usage: as harness.py says
"""
import os
import resource
import tempfile
import unittest

from harness import Holder, main, writable_cgroups
from web_client import WebCase

GIB = 1 << 30


ROOT = writable_cgroups() if os.geteuid() == 0 else None


@unittest.skipUnless(ROOT, "needs root and cgroups that can be written")
class Cgroups(WebCase):
    system = True

    def make_settings(self):
        self.folder = tempfile.mkdtemp(prefix="cleave-test-", dir=ROOT)
        self.addCleanup(self.remove_cgroups)
        self.name = os.path.basename(self.folder)
        return {"version": 1, "listen": {"port": self.port}, "tenants": [
            {"cgroup": f"/{self.name}/team-*", "name": "teams", "share": 0.5, "leases": 2},
            {"cgroup": f"/{self.name}/lab", "name": "lab", "classes": ["batch"]}]}

    def remove_cgroups(self):
        for path, _, _ in os.walk(self.folder, topdown=False):
            os.rmdir(path)

    def inside(self, path):
        """A holder in a cgroup."""
        folder = os.path.join(self.folder, path)
        os.makedirs(folder, exist_ok=True)
        holder = Holder(self.agent)
        self.holders.append(holder)
        with open(os.path.join(folder, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(holder.pid))
        return holder

    def want(self, holder, **wanted):
        return holder.request("POST", "/v1/leases", {"memory_bytes": GIB, **wanted})

    def test_who_he_is(self):
        """Root in a tenant's cgroup is that tenant; outside of it, root is root."""
        for path, subject, scope in (("team-a", "@teams", "tenant"), ("lab", "@lab", "tenant"),
                                     ("team-b/below/it", "@teams", "tenant"),
                                     ("team", "root", "admin"), ("laboratory", "root", "admin"),
                                     ("other/lab", "root", "admin")):
            with self.subTest(path):
                status, who = self.inside(path).request("GET", "/v1/whoami")
                self.assertEqual((status, who["subject"], who["scope"]), (200, subject, scope))
                self.assertEqual(who["uid"], None if subject[0] == "@" else 0)

    def test_his_leases_are_his_cgroups(self):
        mine, colleague = self.inside("team-a"), self.inside("team-b")
        stranger, admin = self.inside("lab"), self.client("root")
        status, lease = self.want(mine, share=.2, name="train")
        self.assertEqual((status, lease["tenant"], lease["uid"]), (201, "@teams", 0))
        self.assertEqual(self.want(stranger, share=.2, name="train", **{"class": "batch"})[0],
                         201, "names are each tenant's own")
        self.assertEqual(admin.send("POST", "/v1/leases",
                                    {"share": .1, "name": "train"}).status, 201)
        for who, seen in ((mine, 1), (colleague, 1), (stranger, 1)):
            self.assertEqual(len(who.request("GET", "/v1/leases")[1]["items"]), seen)
        self.assertEqual(len(admin.get("/v1/leases")["items"]), 3)
        self.assertEqual(stranger.request("DELETE", f"/v1/leases/{lease['id']}")[0], 404)
        self.assertEqual(colleague.request("DELETE", f"/v1/leases/{lease['id']}")[0], 204)
        events = mine.request("GET", "/v1/events")[1]["items"]
        self.assertEqual({e["lease"] for e in events if e["lease"]}, {lease["id"]})

    def test_what_he_may_have(self):
        mine, colleague, lab = self.inside("team-a"), self.inside("team-b"), self.inside("lab")
        self.assertEqual(self.want(mine, share=.3)[0], 201)
        self.refused(self.want(colleague, share=.3), 409, "does_not_fit", "0.5")
        self.assertEqual(self.want(colleague, share=.2)[0], 201)
        self.refused(self.want(colleague, share=.01), 409, "does_not_fit")
        self.refused(self.want(lab, share=.1), 403, "not_permitted", "batch")
        tenants = {t["name"]: t for t in self.client("root").get("/v1/tenants")["items"]}
        self.assertEqual((tenants["@teams"]["leases"], tenants["@teams"]["uid"]), (2, None))
        self.assertEqual(tenants["@teams"]["allowance"]["share"], .5)

    def test_he_is_no_admin(self):
        mine = self.inside("team-a")
        self.assertEqual(mine.request("POST", "/v1/devices/gpu0/cordon")[0], 403)
        self.refused(self.want(mine, share=.3, overcommit=True), 403, "not_permitted")

    def test_joins_only_his_processes(self):
        """Root in a container sees no process outside of it, and can make none a holder."""
        mine, colleague = self.inside("team-a"), self.inside("team-b")
        lease = self.want(mine, share=.2)[1]
        path = f"/v1/leases/{lease['id']}/holders"
        for pid in (self.inside("lab").pid, self.inside("other").pid, 1):
            with self.subTest(pid):
                self.refused(mine.request("POST", path, {"pid": pid}), 403, "not_permitted",
                             "@teams")
        self.assertEqual(mine.request("POST", path, {"pid": colleague.pid})[0], 200)
        self.assertEqual(self.client("root").send("POST", path, {
            "pid": self.inside("other").pid}).status, 200, "an admin may")

    def test_his_connections_are_counted_as_his(self):
        """Although the tenant's process is root's, other processes of root can still connect."""
        greedy = self.inside("lab")
        self.assertEqual(greedy.request("GET", "/v1/whoami")[0], 200)
        resource.prlimit(greedy.pid, resource.RLIMIT_NOFILE, (4096, 4096))
        self.assertFalse(greedy.do("connect_many", n=1000))
        self.assertTrue(greedy.do("connect_many", n=100))
        self.assertEqual(self.inside("team-a").request("GET", "/v1/whoami")[0], 200)
        self.assertEqual(self.agent.get("/v1/whoami")["scope"], "admin")

    def test_the_next_agent_knows_him(self):
        mine = self.inside("team-a")
        lease = self.want(mine, share=.2)[1]
        self.agent.stop()
        self.agent.start()
        self.assertEqual([e["id"] for e in mine.request("GET", "/v1/leases")[1]["items"]],
                         [lease["id"]])
        self.assertEqual(self.inside("lab").request("GET", "/v1/leases")[1]["items"], [])

    def test_a_token_of_his(self):
        lease = self.want(self.inside("team-a"), share=.2)[1]
        self.want(self.inside("lab"), share=.2, **{"class": "batch"})
        admin = self.client("root")
        answer = admin.send("POST", "/v1/tokens", {
            "name": "x", "scope": "tenant", "tenant": "@teams"})
        self.assertEqual(answer.status, 201, answer)
        seen = self.over_tcp(answer.json["secret"]).get("/v1/leases")["items"]
        self.assertEqual([each["id"] for each in seen], [lease["id"]])
        self.assertEqual(admin.send("POST", "/v1/tokens", {
            "name": "x", "scope": "tenant", "tenant": "@nobody"}).status, 400)


if __name__ == "__main__":
    main()
