# SPDX-License-Identifier: Apache-2.0
"""An agent, podman and HAProxy of this machine, and projects of services, in a folder of their own.
The image of the services has links and folders only: programs are the machine's, mounted."""
import glob
import http.client
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../bridge"), os.path.join(HERE, "../integration")]
import podman as podman_here  # noqa: E402

IMAGE = "localhost/replica:1"
PROGRAMS = {}
FOLDERS = ("etc", "etc/OpenCL", "etc/OpenCL/vendors", "usr", "proc", "sys", "dev", "tmp", "run",
           "root", "var", "srv",
           "usr/lib")
# Not all of /usr: the gates are mounted below it.
PROGRAM_FOLDERS = [each for each in (
    "/usr/bin", "/usr/lib64", "/usr/share/pocl", "/usr/lib/python3", "/usr/lib/gcc",
    "/usr/lib/x86_64-linux-gnu", "/etc/alternatives", *glob.glob("/usr/lib/python3.*"),
    *glob.glob("/usr/lib/llvm-*")) if os.path.exists(each)]
CONFIG = """[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
"""
ICD = "/etc/OpenCL/vendors/pocl.icd"


def why_not():
    if not shutil.which("haproxy", path="/usr/sbin:/usr/bin"):
        return "haproxy is not installed"
    if not os.path.exists("/usr/lib/cni/bridge"):
        return "containers have no network: containernetworking-plugins is not installed"
    return podman_here.why_not()


def make_image(path):
    with tarfile.open(path, "w") as image:
        for name in FOLDERS:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            image.addfile(entry)
        for name in ("bin", "lib", "lib64", "sbin"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, f"usr/{name}"
            image.addfile(entry)
        files = {"etc/passwd": b"root:x:0:0:root:/root:/bin/sh\n"}
        if os.path.exists(ICD):
            with open(ICD, "rb") as file:
                files[ICD[1:]] = file.read()
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            image.addfile(entry, io.BytesIO(content))


class Load(threading.Thread):
    """Requests one after another, over one connection or one each; failures are kept, and who
    answered. The proxy repeats a GET that is cut off, and no POST."""

    def __init__(self, port, path="/", keep_alive=False, method="GET"):
        super().__init__(daemon=True)
        self.method = method
        self.port, self.path, self.keep_alive = port, path, keep_alive
        self.n, self.failures, self.versions, self.stops = 0, [], [], False
        self.names = set()
        self.start()

    def run(self):
        connection = None
        while not self.stops:
            try:
                if connection is None:
                    connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
                connection.request(self.method, self.path)
                answer = connection.getresponse()
                body = answer.read()
                if answer.status != 200:
                    self.failures.append((answer.status, body))
                else:
                    told = json.loads(body)
                    version = told["version"]
                    self.names.add(told["name"])
                    if not self.versions or self.versions[-1] != version:
                        self.versions.append(version)
                if not self.keep_alive or answer.getheader("Connection") == "close":
                    connection.close()
                    connection = None
            except (OSError, http.client.HTTPException) as error:
                # An idle connection may be closed at any time; the next request has its own.
                if not (self.keep_alive and isinstance(error, http.client.RemoteDisconnected)):
                    self.failures.append(repr(error))
                connection = None
            self.n += 1

    def end(self):
        self.stops = True
        self.join(150)
        return self


class Bed(unittest.TestCase):
    minute = "1s"  # of the files' settings
    has_agent = True
    agent_options = ()

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="clv-svc-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.podman = podman_here.Podman()
        self.addCleanup(self.podman.close)
        self.name = f"t{os.getpid() % 10000}{os.path.basename(self.folder)[-4:].lower()}".replace("_", "x")
        self.env = {**os.environ, "XDG_RUNTIME_DIR": self.folder, "XDG_STATE_HOME": self.folder,
                    "CLEAVE_SERVICES_DIR": os.path.join(self.folder, "services"),
                    "CLEAVE_SERVICES_MINUTE": self.minute, "CLEAVE_GATE_DIR": PROGRAMS["gates"],
                    "CONTAINERS_CONF": self.write("containers.conf", CONFIG)}
        self.env.pop("CLEAVE_SOCKET", None)
        self.wrap_podman()
        self.socket = os.path.join(self.folder, "cleave", "api.sock")
        if self.has_agent:
            self.start_agent()
            self.addCleanup(self.stop_agent)
        self.addCleanup(self.clean)

    def write(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        return path

    def wrap_podman(self):
        """cleave calls the podman of PATH, with the settings of the user."""
        bin_ = os.path.join(self.folder, "bin")
        os.mkdir(bin_)
        path = self.write("bin/podman", "#!/bin/sh\nexec " + " ".join(
            f"'{each}'" for each in self.podman.command()).replace("'podman'", "/usr/bin/podman")
            + ' "$@"\n')
        os.chmod(path, 0o755)
        self.env["PATH"] = f"{bin_}:/usr/sbin:{self.env['PATH']}"
        make_image(os.path.join(self.folder, "image.tar"))
        self.engine("import", os.path.join(self.folder, "image.tar"), IMAGE)

    def engine(self, *words, code=0):
        done = subprocess.run(["podman", *words], env=self.env, capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def start_agent(self):
        ready, write_end = os.pipe()
        self.agent = subprocess.Popen(
            [PROGRAMS["cleaved"], "--runtime-dir", os.path.dirname(self.socket), "--state-dir",
             os.path.join(self.folder, "state"), "--lock-dir", self.folder, "--foreground",
             f"--ready-fd={write_end}", *self.agent_options], pass_fds=[write_end], env=self.env,
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write_end)
        self.assertEqual(os.read(ready, 1), b"1")
        os.close(ready)

    def stop_agent(self, number=signal.SIGTERM):
        if self.agent.poll() is None:
            self.agent.send_signal(number)
            self.agent.wait(60)

    def clean(self):
        """Also after a failed test nothing of the project runs."""
        if os.path.exists(os.path.join(self.folder, "services", self.name)):
            done = self.cleave("down", self.name, code=None)
            if done.returncode:
                print(done.stdout, done.stderr, file=sys.stderr)
        subprocess.run(["podman", "network", "rm", "--force", f"cleave-{self.name}"], env=self.env,
                       capture_output=True, check=False)
        for path in glob.glob(os.path.join(self.folder, "services", self.name, "*.pid")):
            with open(path, encoding="utf-8") as file:
                os.kill(int(file.read()), signal.SIGKILL)

    def cleave(self, verb, *words, code=0, env=None):
        socket_ = ("--socket", self.socket) if verb in ("up", "down", "ps") else ()
        done = subprocess.run([PROGRAMS["cleave"], verb, *socket_, *words],
                              env={**self.env, **(env or {})}, capture_output=True, text=True,
                              timeout=300, check=False)
        if code is not None:
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def service(self, port=None, **keys):
        """A service of the image; keys replace what it has."""
        made = {"image": IMAGE, "command": ["python3", "/srv/replica.py"],
                "volumes": [f"{HERE}:/srv:ro", *(f"{each}:{each}:ro" for each in PROGRAM_FOLDERS)],
                # Its program, the first process, ignores SIGTERM.
                "stop_grace_period": "0s", **keys}
        if port:
            made["ports"] = [f"127.0.0.1:{port}:8080"]
        return made

    def file(self, **services):
        return self.write("compose.yaml", json.dumps({"name": self.name, "services": services}))

    def up(self, code=0, **services):
        return self.cleave("up", self.file(**services), code=code)

    def status(self):
        listed = json.loads(self.cleave("services", self.name, "-o", "json").stdout)["items"]
        return {each["name"]: each for each in listed}

    def supervisor(self, project=None):
        """Its process id."""
        with open("/proc/locks", encoding="utf-8") as locks:
            inode = os.stat(os.path.join(self.folder, "services", project or self.name, "lock")).st_ino
            for line in locks:
                words = line.split()
                if words[1] == "FLOCK" and words[5].endswith(f":{inode}"):
                    return int(words[4])
        return None

    def supervise(self, *options):
        """As systemd starts it."""
        program = os.path.join(os.path.dirname(PROGRAMS["cleave"]), "../bridge/services/cleave-services")
        made = subprocess.Popen([program, f"--socket={self.socket}", *options, self.name], env=self.env,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(made.wait)
        self.addCleanup(made.kill)
        return made

    def events(self):
        return self.cleave("services", self.name, "--why").stdout

    def wait_until(self, condition, what="it", seconds=120):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found = condition()
            if found:
                return found
            time.sleep(.1)
        self.fail(f"{what}: {self.cleave('services', self.name, '-o', 'json', code=None).stdout}\n"
                  f"{self.events()}")

    def get(self, port, path="/", timeout=120):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body

    def who(self, port):
        status, _, body = self.get(port)
        self.assertEqual(status, 200, body)
        return json.loads(body)

    def containers(self):
        return sorted(self.engine("ps", "--all", "--format={{.Names}}").split())


class Services(Bed):
    def ready(self, name="web"):
        return [each for each in self.status()[name]["replicas"] if each["state"] == "ready"]

    def kill(self, container):
        """kill -9 of its first process."""
        pid = int(self.engine("inspect", container, "--format={{.State.Pid}}"))
        self.assertGreater(pid, 1, "its container runs")
        os.kill(pid, signal.SIGKILL)

    def start(self, verb, *words):
        made = subprocess.Popen([PROGRAMS["cleave"], verb, "--socket", self.socket, *words],
                                env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(made.wait)
        self.addCleanup(made.kill)
        return made

    def kept(self, name):
        return os.path.join(self.folder, "services", self.name, name)

    def refuse(self, verb, words):
        """The engine refuses this verb until the returned function is called."""
        return self.slow_down(verb, f"echo {words} >&2; exit 1")

    def slow_down(self, verb, commands):
        """The engine runs commands of the shell before this verb, as long."""
        with open(os.path.join(self.folder, "bin/podman"), encoding="utf-8") as file:
            works = file.read()
        refusal = f'\ncase "$1" in {verb}) {commands};; esac\n'
        self.write("bin/podman", works.replace("\n", refusal, 1))
        return lambda: self.write("bin/podman", works)

    def assert_down(self, port):
        self.assertEqual(self.containers(), [])
        self.assertEqual(json.loads(self.cleave("ps", "-o", "json").stdout)["items"], [])
        self.assertFalse(os.path.exists(self.kept("")))
        with self.assertRaises(ConnectionRefusedError):
            self.get(port)

    def said(self):
        return self.cleave("services", self.name, "--why", code=None).stdout
