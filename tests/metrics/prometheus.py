#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus scrapes a real agent on a simulated node, over TCP with a token,
evaluates the rules, and answers every query of the dashboard.

usage: prometheus.py CLEAVED FAULTY_DRIVER [TEST...]
"""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import urllib.error
import urllib.parse
import urllib.request

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "integration"))
from harness import Case, main, wait_until  # noqa: E402
from ports import free_port  # noqa: E402

RULES = os.path.join(ROOT, "packaging", "prometheus", "cleave.rules.yml")
DASHBOARD = os.path.join(ROOT, "packaging", "grafana", "cleave.json")
NODE = os.path.join(ROOT, "examples", "dgx-a100.yaml")
SETTINGS = """version: 1
listen: {{address: 127.0.0.1, port: {port}}}
"""
CONFIGURATION = """global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: cleave
    authorization: {{credentials: {secret}}}
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""
VARIABLES = {"$__rate_interval": "1m", "$instance": ".*", "$job": ".*"}


def queries():
    """[(title of its panel, what the panel says of it, query)]"""
    with open(DASHBOARD, encoding="utf-8") as file:
        panels = json.load(file)["panels"]
    return [(p["title"], p.get("description", ""), t["expr"]) for p in panels
            for t in p.get("targets", [])]


class Real(Case):
    def setUp(self):
        self.port, self.prometheus_port = free_port(), free_port()
        settings = os.path.join("/tmp", f"cleave-metrics-{os.getpid()}.yaml")
        with open(settings, "w", encoding="utf-8") as file:
            file.write(SETTINGS.format(port=self.port))
        self.addCleanup(os.remove, settings)
        self.arguments = ["--sim", NODE, "--config", settings]
        super().setUp()

    def start_prometheus(self, secret):
        folder = os.path.join(self.agent.folder, "prometheus")
        os.mkdir(folder)
        path = os.path.join(folder, "prometheus.yml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(rules=os.path.abspath(RULES), secret=secret,
                                            port=self.port))
        with open(os.path.join(folder, "log"), "wb") as log:
            process = subprocess.Popen(
                ["prometheus", f"--config.file={path}", f"--storage.tsdb.path={folder}/data",
                 f"--web.listen-address=127.0.0.1:{self.prometheus_port}"],
                stdout=log, stderr=log, cwd=folder)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    def ask(self, path, **arguments):
        url = f"http://127.0.0.1:{self.prometheus_port}/api/v1/{path}?" + \
            urllib.parse.urlencode(arguments)
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code != 503:  # it is still starting
                self.fail((arguments, error.read()))
            return None
        except OSError:
            return None

    def results(self, query):
        answer = self.ask("query", query=query)
        return answer["result"] if answer else []

    @unittest.skipUnless(shutil.which("prometheus"), "prometheus is not here")
    def test_dashboard_and_rules(self):
        status, token = self.agent.request(
            "POST", "/v1/tokens", {"name": "prometheus", "scope": "viewer"})
        self.assertEqual(status, 201, token)
        holder = self.holder()
        for name in ("train", "infer"):
            holder.lease(share=0.3, memory_bytes=1 << 30, name=name)
        self.start_prometheus(token["secret"])
        # Two scrapes at least, for rates.
        self.assertTrue(wait_until(
            lambda: [r["value"][1] for r in self.results("count_over_time(up[1m])")
                     if int(r["value"][1]) >= 5], 40), "nothing is scraped")
        self.assertEqual([r["value"][1] for r in self.results("up")], ["1"],
                         self.ask("targets"))
        for title, about, query in queries():
            for name, value in VARIABLES.items():
                query = query.replace(name, value)
            self.assertNotIn("$", re.sub(r'"[^"]*"', "", query))
            with self.subTest(panel=title, query=query):
                self.assertTrue(self.results(query) or "empty while" in about.lower(),
                                "no data, and the panel does not say that it may be empty")
        for group in self.ask("rules")["groups"]:
            for rule in group["rules"]:
                self.assertEqual((rule["health"], rule.get("lastError", "")), ("ok", ""), rule)
        firing = self.results('ALERTS{alertstate="firing"}')
        self.assertEqual(firing, [])


if __name__ == "__main__":
    main()
