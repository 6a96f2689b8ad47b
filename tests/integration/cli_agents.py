# SPDX-License-Identifier: Apache-2.0
"""Agents on demand that do not answer: the caller replaces them, or reports them."""
import os
import signal
import socket
import subprocess
import sys

from cli_sandbox import Paths, is_alive, wait_until

DOUBLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "api_double.py")


class Agents:
    """Tests for a case that starts doubles on demand: see test_cli.py."""

    def test_agent_that_is_stopped(self):
        """The agent is ended and replaced."""
        self.assertEqual(self.cleave("devices").returncode, 0)
        first = self.pids()[0]
        os.kill(first, signal.SIGSTOP)
        result = self.cleave("run", "--no-namespace", "-s.2", "echo", "in")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "in\n", ""))
        self.assertEqual(len(self.pids()), 2)
        self.assertFalse(is_alive(first))

    def test_agent_that_is_stopped_beside_many(self):
        """The callers together end one agent and start one."""
        self.assertEqual(self.cleave("devices").returncode, 0)
        os.kill(self.pids()[0], signal.SIGSTOP)
        many = [subprocess.Popen([Paths.cleave, "run", "--no-namespace", "-s.1", "true"],
                                 env=self.env) for _ in range(4)]
        self.assertEqual([each.wait(timeout=60) for each in many], [0, 0, 0, 0])
        self.assertEqual(len(self.pids()), 2)

    def test_agent_that_does_not_answer(self):
        """The agent listens and sleeps.  Its replacement is the double."""
        path = os.path.join(self.folder, "agent")
        with open(path, "w") as file:
            file.write("#!/usr/bin/python3\nimport os, socket, sys, time\n"
                       f"if os.path.exists({self.started!r}):\n"
                       f"    os.execv({DOUBLE!r}, sys.argv)\n"
                       "here = socket.socket(socket.AF_UNIX)\n"
                       "here.bind(os.environ['XDG_RUNTIME_DIR'] + '/cleave/api.sock')\n"
                       "here.listen()\n"
                       f"print(os.getpid(), file=open({self.started!r}, 'w'), flush=True)\n"
                       "os.write(3, b'1')\n"
                       "time.sleep(60)\n")
        os.chmod(path, 0o755)
        result = self.cleave("run", "--no-namespace", "-s.2", "echo", "in",
                             env={"CLEAVE_AGENT": path})
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "in\n", ""))
        self.assertEqual(len(self.pids()), 2)
        self.assertFalse(is_alive(self.pids()[0]))

    def test_agent_that_waits_for_its_disk(self):
        """Its loop waits for a thread that waits in the kernel: it is reported, and not ended."""
        path = os.path.join(self.folder, "agent")
        socket_path = os.path.join(self.folder, "cleave", "api.sock")
        subprocess.run(["gcc", "-w", "-x", "c", "-", "-o", path, "-lpthread"], text=True,
                       check=True, input=f"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
static void *wait_in_kernel(void *none) {{ if (vfork() == 0) {{
    prctl(PR_SET_PDEATHSIG, SIGKILL); sleep(60); _exit(0); }} }}
int main(void) {{
    struct sockaddr_un here = {{AF_UNIX, "{socket_path}"}};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    FILE *started = fopen("{self.started}", "w");
    pthread_t thread;
    fprintf(started, "%d\\n", getpid());
    fclose(started);
    pthread_create(&thread, NULL, wait_in_kernel, NULL);
    bind(fd, (void *)&here, sizeof(here));
    listen(fd, 8);
    write(3, "1", 1);
    pthread_join(thread, NULL);
}}""")
        result = self.cleave("run", "--no-namespace", "-s.2", "echo", "in",
                             env={"CLEAVE_AGENT": path})
        self.assert_refused(result, 69, "does not answer")
        self.assertTrue(is_alive(self.pids()[0]))

    def test_agent_that_is_slow(self):
        """It is awake and answers after some seconds, so it is not replaced."""
        self.env["DOUBLE_SLOW"] = "4"
        result = self.cleave("run", "--no-namespace", "-s.2", "echo", "in")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "in\n", ""))
        self.assertEqual(len(self.pids()), 1)

    def test_agent_that_is_stopped_beside_a_program(self):
        """The supervising cleave run starts the next agent, as if the agent had died."""
        with subprocess.Popen([Paths.cleave, "run", "--no-namespace", "-s.2", "cat"],
                              env=self.env, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as run:
            run.stdin.write(b"there\n")
            run.stdin.flush()
            self.assertEqual(run.stdout.readline(), b"there\n")
            first = self.pids()[0]
            os.kill(first, signal.SIGSTOP)
            self.assertTrue(wait_until(lambda: len(self.pids()) == 2, 40))
            self.assertFalse(is_alive(first))
            run.stdin.close()
            self.assertEqual(run.wait(60), 0)

    def test_agent_of_another_user_that_is_stopped(self):
        """An agent that was not started on demand is not ended: it is reported at once."""
        self.env["CLEAVE_AGENT"] = "/no/such"
        agent = subprocess.Popen([sys.executable, DOUBLE], env=self.env)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        self.assertTrue(wait_until(lambda: self.cleave("ps").returncode == 0))
        agent.send_signal(signal.SIGSTOP)
        for arguments in (["run", "--no-namespace", "-s.2", "true"], ["ps"]):
            result = self.cleave(*arguments)
            self.assert_refused(result, 69, f"(process {agent.pid}) is stopped: continue it "
                                f"(kill -CONT {agent.pid})")
        self.assertTrue(is_alive(agent.pid))

    def test_agent_that_takes_no_more_calls(self):
        path = os.path.join(self.folder, "cleave", "api.sock")
        os.makedirs(os.path.dirname(path), 0o700)
        with socket.socket(socket.AF_UNIX) as full, socket.socket(socket.AF_UNIX) as one:
            full.bind(path)
            full.listen(0)
            one.connect(path)
            for arguments in (["run", "--no-namespace", "-s.2", "true"], ["ps"]):
                self.assert_refused(self.cleave(*arguments, timeout=30), 69,
                                    "takes no more calls")
