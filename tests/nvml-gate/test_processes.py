# SPDX-License-Identifier: Apache-2.0
"""The processes on the GPU, and their utilization, as a program in a lease sees them.

usage: test_processes.py --build BUILD [unittest arguments]
"""
import os
import shutil
import sys
import unittest

import looking
import machine
import worlds
from harness import wait_until
from looking import INSUFFICIENT, INVALID, MIB, NOT_FOUND

ROOM = ('lambda name, n, items: [lib.code(name, device(), None if n is None else byref(n), '
        'items and (Process * 9)()), getattr(n, "value", None)]')
COMPUTE = "nvmlDeviceGetComputeRunningProcesses_v3"


class Lists(looking.Case):
    def two_leases(self, **more):
        """Two processes in one, one in the other; returns the memory of each: {pid: bytes}."""
        self.begin(**more)
        own, neighbour = self.look(), self.look()
        child = self.ask(own, "spawn()")
        self.assertEqual(self.ask(own, "cuda().alloc(300)"), 0)
        self.assertEqual(self.ask(own, "of('cuda().alloc(40)')"), 0)
        self.assertEqual(self.ask(neighbour, "cuda().alloc(500)"), 0)
        return (own, {str(own.pid_there): 300 * MIB, str(child): 40 * MIB},
                neighbour, {str(neighbour.pid_there): 500 * MIB})

    def test_processes_of_the_lease(self):
        for driver, n_forms in (("r450", 1), ("r470", 2), ("r580", 3)):
            with self.subTest(driver):
                own, its, neighbour, theirs = self.two_leases(driver=driver)
                found = self.ask(own, "processes()")
                self.assertEqual(len(found), n_forms)
                for form, processes in found.items():
                    self.assertEqual(processes, its, form)
                for processes in self.ask(neighbour, "processes()").values():
                    self.assertEqual(processes, theirs)
                for processes in self.ask(own, "processes('Graphics')").values():
                    self.assertEqual(processes, {})
                self.doCleanups()

    def test_room(self):
        own, its, _, _ = self.two_leases()
        for count, items, code, n in (
                ("c_uint(0)", "None", INSUFFICIENT, 2), ("c_uint(1)", "1", INSUFFICIENT, 2),
                ("c_uint(2)", "1", 0, 2), ("c_uint(9)", "1", 0, 2),
                ("c_uint(2)", "None", INVALID, 2), ("None", "1", INVALID, None)):
            found = self.ask(own, f"({ROOM})('{COMPUTE}', {count}, {items})")
            self.assertEqual(found, [code, n], (count, items))
        for mode, room, answer in ((0, 0, [INSUFFICIENT, 2, {}]), (0, 1, [INSUFFICIENT, 2, {}]),
                                   (0, 4, [0, 2, its]), (3, 2, [0, 2, its]), (1, 4, [0, 0, {}]),
                                   (1, 0, [0, 0, {}]), (7, 4, [INVALID, 4, {}])):
            self.assertEqual(self.ask(own, f"details({mode}, {room})"), answer, (mode, room))
        self.assertEqual(self.ask(own, f"lib.code('{COMPUTE}', None, byref(c_uint(0)), None)"),
                         INVALID)

    def test_many(self):
        """More processes than are queried at once."""
        self.begin(cuda="")
        own = self.look()
        strangers = "\n".join(f"{pid} 0 - - 4096 M" for pid in range(900001, 900064))
        self.world.put("processes", f"{strangers}\n{own.pid_there} 0 - - 8192 M")
        self.assertEqual(self.ask(own, "processes('MPSCompute')"),
                         {"_v3": {str(own.pid_there): 0}})

    def test_utilization_of_each(self):
        own, its, neighbour, theirs = self.two_leases()
        self.world.put("utilization", "\n".join(f"{pid} 0 20" for pid in [*its, *theirs, 900001]))
        of_share = 80  # 20 % of the GPU, as a part of a quarter of it
        self.assertEqual(self.ask(own, "uses()"), [0, dict.fromkeys(its, of_share)])
        self.assertEqual(self.ask(neighbour, "uses()"), [0, dict.fromkeys(theirs, of_share)])
        self.assertEqual(self.ask(own, "use_infos()"), [0, dict.fromkeys(its, of_share)])
        self.assertEqual(self.ask(own, "uses(since=1 << 60)")[0], NOT_FOUND)
        self.assertEqual(self.ask(own, "uses(room=1)")[0], INSUFFICIENT)
        self.assertEqual(self.ask(own, "cuda().free()"), 0)
        idle = self.look()
        self.assertEqual(self.ask(idle, "uses()")[0], NOT_FOUND)
        self.assertEqual(self.ask(idle, "use_infos()")[0], NOT_FOUND)

    def test_accounts(self):
        own, its, _, theirs = self.two_leases()
        pids = self.ask(own, 'lib.array("nvmlDeviceGetAccountingPids", device(), kind=c_uint) and '
                             '[p for p in lib.array("nvmlDeviceGetAccountingPids", device(), '
                             'kind=c_uint)]')
        self.assertEqual(sorted(map(str, pids)), sorted(its))
        self.assertEqual([self.ask(own, f"account({pid})") for pid in its], [0, 0])
        self.assertEqual([self.ask(own, f"account({pid})") for pid in theirs], [NOT_FOUND])

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs unshare and root")
    def test_in_a_pid_namespace(self):
        """The driver has the host's numbers, and so has the agent."""
        self.begin()
        process = self.start(
            "unshare", "--pid", "--fork", "--kill-child", sys.executable,
            os.path.join(looking.HERE, "look.py"), looking.DECLARATIONS,
            options=("--share", "0.25", "--memory", "1G", "--name", "own"))
        self.assertEqual(self.ask(process, "start()"), 1)
        self.assertEqual(self.ask(process, "cuda().alloc(30)"), 0)
        shown, = self.agent.get("/v1/leases/own")["processes"]
        self.assertEqual(self.ask(process, "processes()")["_v3"], {str(shown["pid"]): 30 * MIB})


class Busy(looking.Case):
    def test_of_the_share(self):
        """All of a quarter is 100 %, and another lease's use is not seen."""
        self.begin()
        worker, idle = self.look(), self.look()
        self.world.put("readings", "0 busy 77")
        program = machine.program("cuda-tenant")
        self.ask(worker, f'state.update(p=subprocess.Popen(["{program}", "queue", "100000", "60"],'
                         ' stdout=subprocess.DEVNULL))')
        self.assertTrue(wait_until(lambda: self.ask(worker, "rates()") == [100, 38]))
        self.assertEqual(self.ask(idle, "rates()"), [0, 0])
        self.ask(worker, 'state["p"].kill()')
        self.assertTrue(wait_until(lambda: self.ask(worker, "rates()") == [0, 0], 10))

    def test_a_part_of_the_share(self):
        """A kernel of 1 ms, then a pause of the same length: as in the agent, in parts of the
        share."""
        self.begin()
        program = machine.program("cuda-tenant")
        for share in ("0.4", "1"):
            worker = self.look("--name", "own", share=share)
            self.ask(worker, f'state.update(p=subprocess.Popen(["{program}", "gaps", "1000000", '
                             '"60"], stdout=subprocess.DEVNULL))')
            self.assertTrue(wait_until(lambda: self.shown(worker) > 5, 10))
            self.assertTrue(wait_until(
                lambda: abs(self.shown(worker) - self.of_agent(float(share))) < 2, 10), share)
            self.assertLess(self.of_agent(1), 100, "it pauses")
            self.ask(worker, 'state["p"].kill()')
            worker.stdin.close()
            self.assertEqual(worker.wait(60), 0)

    def shown(self, process):
        return self.ask(process, "rates()")[0]

    def of_agent(self, share):
        return min(100, 100 * self.agent.get("/v1/leases/own")["share_used"] / share)


if __name__ == "__main__":
    worlds.set_build(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
