# SPDX-License-Identifier: Apache-2.0
"""The double of kube-scheduler asks the real extender; a double of the API server gets its
bindings.

usage: test_extender.py EXTENDER [unittest arguments]
"""
import http.client
import json
import os
import random
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest

import scheduler
from api_server import ApiServer
from bed import wait_until

EXTENDER = os.path.abspath(sys.argv[1])
GIB = 1024  # in MiB


def device(free_milli, free_mib=None, memory_mib=80 * GIB, model="H100", name="gpu0"):
    return {"name": name, "model": model, "memory_mib": memory_mib, "free_milli": free_milli,
            "free_mib": memory_mib * free_milli // 1000 if free_mib is None else free_mib}


def node(name, *devices):
    return scheduler.node(name, [dict(each, name=f"gpu{i}") for i, each in enumerate(devices)])


def container(name, share, memory, **more):
    wanted = {"cleave.dev/gpu-share": share, "cleave.dev/gpu-memory": memory, "cpu": "500m"}
    return scheduler.container(
        name, {key: str(value) for key, value in wanted.items() if value}, **more)


def pod(name, *containers, init=()):
    """Containers: (share in hundredths, memory in MiB), and of an init container that
    restarts "Always" behind these."""
    return scheduler.pod(
        name, [container(f"c{i}", *each) for i, each in enumerate(containers)],
        [container(f"i{i}", *each[:2], **({"restartPolicy": each[2]} if each[2:] else {}))
         for i, each in enumerate(init)])


class WithServer(unittest.TestCase):
    """A double of the API server, and the settings to reach it."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cleave-extender-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.api = ApiServer()
        self.addCleanup(self.api.close)
        self.config = os.path.join(self.folder, "kubeconfig")
        self.api.kubeconfig(self.config)


class Case(WithServer):
    is_answering = True  # the API server, when the extender starts
    before = []  # a program that starts the extender

    def setUp(self):
        super().setUp()
        self.start()

    def start(self, *options):
        self.process = subprocess.Popen(
            [*self.before, EXTENDER, "--listen=127.0.0.1:0", f"--kubeconfig={self.config}",
             *options],
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.process.stderr.close)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        line = self.process.stderr.readline()
        self.assertIn("listens", line)
        self.port = int(line.split()[-1])
        self.log = []
        threading.Thread(target=self.read_log, args=(self.process.stderr,), daemon=True).start()
        if self.is_answering:
            self.assertTrue(wait_until(lambda: self.get("/readyz")[0] == 200), self.log)

    def read_log(self, lines):
        try:
            self.log.extend(lines)
        except ValueError:
            pass  # closed

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def post(self, path, body, raw=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("POST", path, json.dumps(body) if raw is None else raw)
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if answer.status == 200 else text.decode()
        finally:
            connection.close()

    def ask(self, path, body):
        status, answer = self.post(path, body)
        self.assertEqual(status, 200, answer)
        return answer

    def filter(self, wanted, *nodes):
        answer = self.ask("/filter", scheduler.args(wanted, nodes))
        self.assertEqual(answer["Error"], "")
        return [each["metadata"]["name"] for each in answer["Nodes"]["items"]], \
            answer["FailedNodes"]

    def scores(self, wanted, *nodes):
        return {each["Host"]: each["Score"] for each in self.ask(
            "/prioritize", scheduler.args(wanted, nodes))}

    def filter_names(self, wanted, *names):
        answer = self.ask("/filter", scheduler.names_args(wanted, names))
        self.assertEqual(answer["Error"], "")
        self.assertIsNone(answer.get("Nodes"))
        return answer["NodeNames"], answer["FailedNodes"]

    def bind(self, name, to):
        return self.ask("/bind", scheduler.binding(name, to))["Error"]


class Answers(Case):
    def test_which_nodes_will_do(self):
        """By a single device, in compute and in memory; the sum over devices does not count."""
        fit, failed = self.filter(
            pod("a", (50, 30 * GIB)), node("whole", device(1000)), node("tight", device(500, 30 * GIB)),
            node("sum", device(400), device(400)), node("no-memory", device(900, 20 * GIB)),
            node("none"), scheduler.node("bare"))
        self.assertEqual(fit, ["whole", "tight"])
        self.assertEqual(set(failed), {"sum", "no-memory", "none", "bare"})
        self.assertIn("most: 40 hundredths", failed["sum"])
        # kube-scheduler 1.20 takes the text of an event as a format of Go's Printf.
        self.assertNotIn("%", "".join(failed.values()))
        self.assertIn(str(20 * GIB), failed["no-memory"])

    def test_memory_alone_is_a_share_of_that_size(self):
        fit, _ = self.filter(pod("a", (0, 40 * GIB)), node("half", device(500)),
                             node("less", device(490, 80 * GIB)))
        self.assertEqual(fit, ["half"])

    def test_unit_of_memory_in_the_resource_s_name(self):
        wanted = [scheduler.container("c", {f"cleave.dev/gpu-memory{unit}": str(n)})
                  for unit, n in (("-1gi", 10), ("-256mi", 8), ("", 1024))]
        wanted[0]["resources"]["limits"]["cleave.dev/gpu-memory-none"] = "9"
        for gib, will_do in ((13, True), (12.9, False)):
            fit, _ = self.filter(scheduler.pod("a", wanted),
                                 node("n", device(1000, int(gib * GIB))))
            self.assertEqual(bool(fit), will_do, gib)

    def test_each_container_has_a_device(self):
        two = pod("a", (60, 0), (60, 0))
        fit, failed = self.filter(two, node("one", device(1000)),
                                  node("two", device(1000), device(700)))
        self.assertEqual((fit, list(failed)), (["two"], ["one"]))

    def test_init_containers(self):
        """They end one after another, except those that restart and stay: Kubernetes' rule."""
        always, one = "Always", node("one", device(1000))
        for containers, init, fits in (
                (((30, 0),), ((80, 0),), True),
                (((60, 0),), ((60, 0), (70, 0)), True),
                (((60, 0),), ((60, 0, always),), False),
                (((30, 0),), ((80, 0), (30, 0, always)), True),
                (((30, 0),), ((30, 0, always), (80, 0)), False),
                (((30, 0),), ((30, 0, always), (40, 0), (70, 0)), True),
                ((), ((50, 0),), True)):
            with self.subTest(containers=containers, init=init):
                fit, _ = self.filter(pod("a", *containers, init=init), one)
                self.assertEqual(fit, ["one"] if fits else [])
        fit, failed = self.filter(pod("a", (30, 0), init=((80, 0),)), node("n", device(500)))
        self.assertEqual(fit, [])
        self.assertIn("80 hundredths", failed["n"])

    def test_what_init_containers_hold(self):
        """The most that the pod has on a device at a time."""
        gpu, always = node("n", device(1000)), "Always"
        for name, containers, init, held in (
                ("init", ((20, 0), (10, 0)), ((60, 0), (70, 0)), 70),
                ("sum", ((40, 0), (30, 0)), ((60, 0),), 70),
                ("sidecar", ((20, 0),), ((30, 0, always), (40, 0)), 70),
                ("late", ((40, 0),), ((60, 0), (30, 0, always)), 70)):
            with self.subTest(name):
                self.filter(pod(name, *containers, init=init), gpu)
                self.assertEqual(self.bind(name, "n"), "")
                fit, failed = self.filter(pod("b", (31, 0)), gpu)
                self.assertEqual(fit, [], held)
                self.assertIn(f"{100 - held} hundredths", failed["n"])
                self.assertEqual(self.filter(pod("b", (30, 0)), gpu)[0], ["n"])
                self.filter(pod("none"), node("n", device(1000 - 10 * held)))
                self.filter(pod("none"), gpu)

    def test_what_is_left_is_of_use(self):
        """A device that becomes full is better than a whole one that is divided."""
        scores = self.scores(pod("a", (50, 40 * GIB)), node("fills", device(500)),
                             node("breaks", device(1000)), node("no", device(100)))
        self.assertEqual((scores["fills"], scores["no"]), (10, 0))
        self.assertLess(scores["breaks"], 10)
        self.assertEqual(self.scores(pod("b", (10, 0)), node("x", device(500)))["x"], 10)

    def test_pods_that_ask_for_nothing_of_ours(self):
        fit, failed = self.filter(pod("a"), node("n", device(0)), node("m"))
        self.assertEqual((fit, failed), (["n", "m"], {}))

    def test_binding(self):
        self.filter(pod("a", (30, 0)), node("n", device(500)))
        self.assertEqual(self.bind("a", "n"), "")
        self.assertEqual(self.api.bound, {("ns", "a"): "n"})

    def test_two_pods_and_one_place(self):
        """Both pods were told that they fit, and one gets the place."""
        half = node("n", device(500))
        for name in "ab":
            self.assertEqual(self.filter(pod(name, (50, 0)), half)[0], ["n"])
        self.assertEqual(self.bind("a", "n"), "")
        self.assertIn("0 hundredths", self.bind("b", "n"))
        self.assertEqual(self.filter(pod("b", (50, 0)), half)[0], [],
                         "nor before the node has reported the first")
        full = node("n", device(0))
        self.assertEqual(self.filter(pod("b", (50, 0)), full)[0], [])
        self.assertEqual(self.filter(pod("b", (50, 0)), half)[0], ["n"],
                         "nor twice, once it has reported it and its end")

    def test_failed_binding_is_released(self):
        half = node("n", device(500))
        self.api.bound[("ns", "a")] = "elsewhere"
        self.filter(pod("a", (50, 0)), half)
        self.assertIn("already assigned", self.bind("a", "n"))
        self.filter(pod("b", (50, 0)), half)
        self.assertEqual(self.bind("b", "n"), "")

    def test_late_binding(self):
        """Binding comes late, after requests for other nodes."""
        self.filter(pod("a", (50, 0)), node("n", device(500)))
        self.filter(pod("b", (50, 0)), node("m", device(500)))
        self.assertEqual((self.bind("a", "n"), self.bind("b", "m")), ("", ""))

    def test_wrong_questions(self):
        self.assertEqual(self.post("/filter", None, raw="{")[0], 400)
        self.assertEqual(self.post("/nothing", {})[0], 404)
        for wanted, word in ((None, "pod"), (pod("a", (101, 0)), "100"),
                             (pod("a", ("x", 0)), "whole number"),
                             (pod("a", (-5, 0)), "whole number"),
                             (pod("a", init=((101, 0),)), "100")):
            body = scheduler.args(wanted, ())
            self.assertIn(word, self.ask("/filter", body)["Error"])
            self.assertEqual(self.ask("/prioritize", body), [])
        self.assertIn("judged", self.bind("unknown", "n"))
        self.filter(pod("a", (10, 0)), node("n", device(500)))
        self.assertIn("name", self.ask(
            "/bind", dict(scheduler.binding("a", "n"), PodName="../../x"))["Error"])
        odd = scheduler.node("odd", [{"free_milli": -1}, 7])
        broken = scheduler.node("broken", annotations={scheduler.ANNOTATION: "{"})
        self.assertEqual(self.filter(pod("a", (10, 0)), odd, broken)[0], [])

    def test_keys_in_another_case(self):
        """A client in another language may follow the style of Kubernetes' other types."""
        def lower(body):
            return {key[0].lower() + key[1:]: value for key, value in body.items()}
        asked = scheduler.args(pod("a", (50, 0)), [node("n", device(500))])
        self.assertEqual(self.ask("/filter", lower(asked)), self.ask("/filter", asked))
        self.assertEqual(self.ask("/prioritize", lower(asked)), [{"Host": "n", "Score": 10}])
        self.assertEqual(self.ask("/bind", lower(scheduler.binding("a", "n"))), {"Error": ""})
        self.assertEqual(self.api.bound, {("ns", "a"): "n"})

    def test_nodes_on_which_preemption_does_not_help(self):
        answer = self.ask("/filter", scheduler.args(
            pod("a", (50, 0)), [scheduler.node("bare"), node("full", device(0))]))
        self.assertEqual(set(answer["FailedNodes"]), {"bare", "full"})
        self.assertEqual(set(answer["FailedAndUnresolvableNodes"]), {"bare"})

    def test_a_thousand_nodes(self):
        chance = random.Random(1)
        nodes = [node(f"n{i}", *(device(chance.randrange(0, 1001, 50)) for _ in range(8)))
                 for i in range(1000)]
        fit, failed = self.filter(pod("a", (30, 0)), *nodes)
        self.assertEqual(len(fit) + len(failed), 1000)

    def test_ends_by_a_signal(self):
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(60), 0)


class ManyPods(Case):
    """Bound from several threads in a random order, to nodes whose reports come late."""

    def test_nothing_is_given_twice(self):
        chance, lock = random.Random(7), threading.Lock()
        free = {f"n{i}": 1000 for i in range(6)}
        told = {name: (milli, 1) for name, milli in free.items()}  # and the version
        versions = iter(range(2, 1000))

        def nodes():
            with lock:
                return [scheduler.node(name, [device(milli)], version=version)
                        for name, (milli, version) in told.items()]

        def work(numbers):
            for i in numbers:
                share = chance.choice((10, 20, 30, 50))
                fit, _ = self.filter(pod(f"p{i}", (share, 0)), *nodes())
                if not fit:
                    continue
                to = chance.choice(fit)
                if self.bind(f"p{i}", to) == "":
                    with lock:
                        free[to] -= 10 * share
                        if chance.random() < .5:
                            told[to] = free[to], next(versions)
        threads = [threading.Thread(target=work, args=(range(k, 120, 4),)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(all(milli >= 0 for milli in free.values()), free)
        self.assertLess(sum(free.values()), 3000, "and most of it is given")


class Tls(WithServer):
    def path(self, name):
        return os.path.join(self.folder, name)

    def make(self, name, *more):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
                        "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", self.path(name + ".key"), "-out", self.path(name + ".crt"), *more],
                       check=True, capture_output=True)

    def refused(self, *options):
        answer = subprocess.run([EXTENDER, f"--kubeconfig={self.config}", *options],
                                capture_output=True, text=True, timeout=60, check=False)
        self.assertIn(answer.returncode, (64, 125))
        self.assertEqual(len(answer.stderr.splitlines()), 1, answer.stderr)
        return answer.stderr

    def test_what_is_refused(self):
        self.assertIn("--client-ca", self.refused("--listen=0.0.0.0:0"))
        self.assertIn("--key", self.refused("--certificate=x"))
        self.assertIn("TLS", self.refused("--client-ca=x"))
        self.assertIn("numeric", self.refused("--listen=localhost:1"))
        self.assertIn("ADDRESS:PORT", self.refused("--listen=1"))
        self.assertIn("no-such-file", self.refused("--kubeconfig=/no-such-file"))

    def test_who_may_ask(self):
        for name in ("server", "scheduler", "stranger"):
            self.make(name)
        process = subprocess.Popen(
            [EXTENDER, "--listen=127.0.0.1:0", f"--kubeconfig={self.config}",
             f"--certificate={self.path('server.crt')}", f"--key={self.path('server.key')}",
             f"--client-ca={self.path('scheduler.crt')}"], stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        port = int(process.stderr.readline().split()[-1])

        def status(who):
            context = ssl.create_default_context(cafile=self.path("server.crt"))
            if who:
                context.load_cert_chain(self.path(who + ".crt"), self.path(who + ".key"))
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=60,
                                                     context=context)
            connection.request("POST", "/filter", json.dumps(scheduler.FILTER))
            try:
                return connection.getresponse().status
            finally:
                connection.close()
        self.assertEqual(status("scheduler"), 200)
        self.assertEqual(status(None), 401)
        self.assertEqual(status("stranger"), 401)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
