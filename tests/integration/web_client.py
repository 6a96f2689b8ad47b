# SPDX-License-Identifier: Apache-2.0
"""A client of the agent's API as any user of this machine, or with a token over TCP."""
import contextlib
import http.client
import json
import os
import pwd
import shutil
import tempfile

import yaml

import harness
from harness import HERE, Agent, Case, wait_until
from ports import free_port

EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(HERE)), "examples")


@contextlib.contextmanager
def acting_as(user):
    """The kernel gives the agent the effective ids at the time of connect().  A user without an
    entry in the database is named by the uid."""
    if user in (None, "root"):
        yield
        return
    uid, gid = (user, user) if isinstance(user, int) else pwd.getpwnam(user)[2:4]
    os.setegid(gid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


class Answer:
    def __init__(self, answer):
        self.status = answer.status
        self.headers = answer.headers
        self.text = answer.read()
        self.type = answer.headers.get("Content-Type", "").split(";")[0]

    @property
    def json(self):
        return json.loads(self.text) if self.text else None

    def __repr__(self):
        return "%d %r" % (self.status, self.text[:400])


class Client:
    """One connection, opened when first needed and again when it was closed."""

    def __init__(self, api=None, user=None, port=None, token=None, tls=None, timeout=50):
        self.api, self.user, self.port, self.token = api, user, port, token
        self.tls, self.timeout, self.connection = tls, timeout, None

    def open(self):
        if self.port and self.tls:
            return http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls,
                                               timeout=self.timeout)
        if self.port:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout)
        connection = harness.UnixConnection(self.api, self.timeout)
        with acting_as(self.user):
            connection.connect()
        return connection

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def send(self, method, url, body=None, headers=()):
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        headers = dict(headers)
        if self.token:
            headers.setdefault("Authorization", "Bearer " + self.token)
        for attempt in (0, 1):
            self.connection = self.connection or self.open()
            try:
                self.connection.request(method, url, body, headers)
                return Answer(self.connection.getresponse())
            except (ConnectionError, http.client.RemoteDisconnected):
                self.close()
                if attempt:
                    raise
        return None

    def get(self, url, **more):
        answer = self.send("GET", url, **more)
        assert answer.status == 200, answer
        return answer.json


class WebCase(Case):
    """An agent of its own on a simulated node, with settings."""

    node = "dgx-a100"
    settings = None  # a dictionary
    system = False

    def setUp(self):
        self.files = tempfile.mkdtemp(prefix="cleave-web-")
        os.chmod(self.files, 0o755)
        self.addCleanup(shutil.rmtree, self.files)
        sim = shutil.copy(os.path.join(EXAMPLES, self.node + ".yaml"), self.files)
        self.port = free_port()
        self.arguments = ["--sim", sim]
        settings = self.make_settings()
        if settings is not None:
            self.arguments += ["--config", self.write("settings.yaml", settings)]
        if self.system:
            self.arguments += ["--system"]
        self.holders, self.clients = [], []
        self.agent = Agent(arguments=self.arguments, env=self.env)
        os.chmod(self.agent.folder, 0o755)
        self.addCleanup(self.end)
        self.agent.start()
        self.assertTrue(wait_until(lambda: self.client().send("GET", "/readyz").status == 200))

    def make_settings(self):
        return self.settings and {"version": 1, **self.settings}

    def write(self, name, content):
        path = os.path.join(self.files, name)
        with open(path, "w") as file:
            if isinstance(content, str):
                file.write(content)
            else:
                yaml.safe_dump(content, file)
        return path

    def client(self, user=None, **more):
        client = Client(self.agent.api, user, **more)
        self.clients.append(client)
        self.addCleanup(client.close)
        return client

    def over_tcp(self, token=None, **more):
        return self.client(port=self.port, token=token, **more)

    def token(self, scope, **more):
        """Creates a token whose name is its scope; returns the secret."""
        answer = self.client().send("POST", "/v1/tokens",
                                    {"name": "t-" + scope, "scope": scope, **more})
        assert answer.status == 201, answer
        return answer.json["secret"]

    def lease_as(self, user, **wanted):
        answer = self.client(user).send("POST", "/v1/leases", {"share": 0.1, **wanted})
        assert answer.status == 201, answer
        return answer.json

    def problem(self, answer, status, code, *words):
        self.assertEqual(answer.type, "application/problem+json", answer)
        self.refused((answer.status, answer.json), status, code, *words)
