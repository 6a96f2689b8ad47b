# SPDX-License-Identifier: Apache-2.0
"""Slurm's jobs in shares, on a cluster of this machine (slurm_bed.py).

usage: test_slurm.py CLEAVE CLEAVED PLUGIN TENANT [unittest arguments]
"""
import json
import os
import re
import signal
import stat
import struct
import subprocess
import sys
import time
import unittest

import guide
import slurm_bed
from slurm_bed import NODES, PROGRAMS, USER, Cluster, wait_until

MIB = 1 << 20
RECORD = struct.Struct("=QQII")  # of bench/tenant.h: when a kernel ran
HOLD_SECONDS = 10  # longer than a step takes to begin
POINTS = 0.05  # of the device, over two seconds on a machine with other work
CLUSTER = None
CALIBRATION = ""
SLOW = None  # the job that is going to be timed out


def setUpModule():
    global CLUSTER, CALIBRATION, SLOW
    words = subprocess.run([PROGRAMS["tenant"], "--calibrate"], capture_output=True, text=True,
                           check=True).stdout.split()
    CALIBRATION = f"{words[1]},{words[2]}"
    CLUSTER = Cluster()
    unittest.addModuleCleanup(CLUSTER.close)
    write_drive()
    CLUSTER.start()
    SLOW = CLUSTER.script("sleep 300", "--gpu-share=0.05", "-t1", "-w", "n2", user=USER)
    assert wait_until(lambda: CLUSTER.lease(SLOW, "n2")), CLUSTER.logs()
    # Slurm refuses a time in the past, as "now" is if the next second begins meanwhile.
    CLUSTER.ask("scontrol", "update", f"JobId={SLOW}", "EndTime=now+2")


def write_drive():
    """A program that computes, steered by words: an order for it, whose answer is printed, or
    a time to wait."""
    path = os.path.join(CLUSTER.work, "drive")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""#!/bin/bash
coproc T {{ exec {PROGRAMS['tenant']} --cal {CALIBRATION} --log {CLUSTER.work}/log-$SLURM_JOB_ID; }}
read -ru "${{T[0]}}" line || exit 1
for order in "$@"; do
	case $order in
	[0-9]*) sleep "$order" ;;
	@*) while [ ! -e "${{order#@}}" ]; do sleep 0.02; done ;;
	*)
		echo "${{order/=/ }}" >&"${{T[1]}}"
		read -ru "${{T[0]}}" line || exit 1
		echo "$line"
		;;
	esac
done
echo quit >&"${{T[1]}}"
wait "$T_PID"
""")
    os.chmod(path, 0o755)
    return path


def drive(*orders):
    return " ".join(map(str, (os.path.join(CLUSTER.work, "drive"), *orders)))


def busy(seconds):
    return drive("run", seconds, "pause") + "\n"


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.jobs = []
        self.addCleanup(self.leave_nothing)

    def leave_nothing(self):
        """No test leaves a lease, a folder or a node out of service."""
        for job in self.jobs:
            CLUSTER.run("scancel", job)
        for job in self.jobs:
            self.assertTrue(wait_until(lambda: CLUSTER.is_clean(job), 15),  # noqa: B023
                            CLUSTER.logs())
        self.assertTrue(wait_until(CLUSTER.is_in_service, 15),
                        CLUSTER.ask("sinfo", "-N", "-o", "%N %T %E"))
        self.assertEqual([each["name"] for each in CLUSTER.leases()
                          if each["name"] != f"slurm-{SLOW}-n2"], [])

    def submit(self, text, *options, user=None):
        """On the first node, unless it says where."""
        where = () if {"-w", "-N2"} & set(options) else ("-w", NODES[0])
        job = CLUSTER.script(text, *where, *options, user=user)
        self.jobs.append(job)
        return job

    def srun(self, *words, user=None, **more):
        return CLUSTER.run("srun", "-Q", *words, user=user, **more)

    def ends(self, job, state="COMPLETED"):
        self.assertEqual(CLUSTER.ended(job), state,
                         CLUSTER.output(job) + CLUSTER.logs())
        return CLUSTER.output(job)


class Options(Case):
    def test_help_has_them(self):
        for program in ("srun", "sbatch", "salloc"):
            text = CLUSTER.ask(program, "--help")
            for name in ("--gpu-share=FRACTION", "--gpu-memory=SIZE", "--gpu-class=CLASS",
                         "--gpu-profile=PROFILE"):
                self.assertIn(name, text)

    def test_a_wrong_one_is_refused_where_it_is_said(self):
        for option, why in (
                ("--gpu-share=2", "at most 1"), ("--gpu-share=x", "'x'"),
                ("--gpu-share=0.5..0.2", "0.5..0.2"), ("--gpu-memory=12Q", "use K, M, G, T"),
                ("--gpu-memory=", "--gpu-memory=SIZE"),
                ("--gpu-class=fast", "latency, normal or batch"),
                ("--gpu-class=batch", "add --gpu-share"),
                ("--gpu-profile=a b", "cleave profiles")):
            for words in (("srun", option, "true"), ("sbatch", option, "--wrap=true")):
                with self.subTest(words=words):
                    result = CLUSTER.run(*words)
                    self.assertEqual(result.returncode, 64, result)
                    self.assertRegex(result.stderr, rf"\A{words[0]}: error: [^\n]+\n\Z")
                    self.assertIn(option.partition("=")[0], result.stderr)
                    self.assertIn(why, result.stderr)

    def test_a_job_without_them_has_no_device(self):
        """With its environment, and without."""
        ask = ("CLEAVE_LEASE=/nonexistent", "CLEAVE_IF_NO_AGENT=open")
        for environment in (("env",), ("env", "-i", "PATH=/usr/bin"), ("env", *ask),
                            ("env", "-i", "PATH=/usr/bin", *ask)):
            result = self.srun(*environment, f"POCL_CACHE_DIR={CLUSTER.cache_of(USER)}", "clinfo",
                               "-l", user=USER)
            self.assertNotIn("Device #0", result.stdout)
            self.assertRegex(result.stderr, r"(?m)^cleave: no device for process \d+: the job has no "
                             r"share of a device; request one with --gpu-share or --gpu-memory$")
        self.assertEqual(self.srun("true", user=USER).returncode, 0)

    def test_a_job_without_them_has_no_device_node(self):
        node = "/dev/dri/cleave-test"
        os.makedirs(os.path.dirname(node), exist_ok=True)
        try:
            os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(1, 5))  # zeros without end
        except PermissionError:
            self.skipTest("no device node can be made here")
        self.addCleanup(os.unlink, node)
        os.chmod(node, 0o666)
        for options, n_bytes in (((), "0"), (("--gres=gpu:1",), "8")):
            result = self.srun(*options, "sh", "-c", f"head -c8 {node} | wc -c", user=USER)
            self.assertEqual(result.stdout.strip(), n_bytes, result)

    def test_a_job_with_slurm_s_own_gpus_is_left_alone(self):
        result = self.srun("--gres=gpu:1", "sh", "-c", "env; readlink /proc/self/ns/mnt")
        self.assertNotRegex(result.stdout, "CLEAVE|OPENCL_LAYERS")
        self.assertIn(os.readlink("/proc/self/ns/mnt"), result.stdout)

    def test_a_step_of_a_job_without_them_may_ask(self):
        job = self.submit("srun clinfo -l; srun --gpu-share=0.3 clinfo -l; srun clinfo -l",
                          user=USER)
        self.assertEqual(self.ends(job).count("Device #0"), 2)

    def test_other_defaults(self):
        self.addCleanup(CLUSTER.write_plugstack, NODES[0], "optional", CLUSTER.plugin_arguments)
        # A whole device is to be had once this lease is gone.
        self.assertTrue(wait_until(lambda: not CLUSTER.lease(SLOW, "n2"), 180))
        for default, share in (("share:0.25", 0.25), ("whole", 1), ("share:2", None)):
            CLUSTER.write_plugstack(NODES[0], "optional",
                                    f"{CLUSTER.plugin_arguments} default={default}")
            job = self.submit("clinfo -l; sleep 300", user=USER)
            if share is None:
                self.assertTrue(wait_until(
                    lambda: "the job has no share" in CLUSTER.output(job)))  # noqa: B023
                self.assertIsNone(CLUSTER.lease(job))
            else:
                lease = wait_until(lambda: CLUSTER.lease(job))  # noqa: B023
                self.assertEqual(lease["share"], share)
            CLUSTER.run("scancel", job)
            self.assertTrue(wait_until(lambda: CLUSTER.is_clean(job)))  # noqa: B023


class Guide(Case):
    """docs/slurm.md: what is typed there as root ("# ") and as a user ("$ ")."""

    def setUp(self):
        super().setUp()
        os.symlink(os.path.join(guide.DOCS, "..", "examples"),
                   os.path.join(CLUSTER.work, "examples"))
        with open(os.path.join(guide.DOCS, "slurm.md"), encoding="utf-8") as file:
            self.text = file.read()
        script = re.search(r"^\$ cat job\.sh\n(.*?)^\$ ", self.text, re.M | re.S)[1]
        with open(os.path.join(CLUSTER.work, "job.sh"), "w", encoding="utf-8") as file:
            file.write(script)

    def test_each_command(self):
        env = {"CLEAVE_SOCKET": CLUSTER.api, "XDG_STATE_HOME": CLUSTER.work,
               "XDG_RUNTIME_DIR": os.path.join(CLUSTER.folder, "root"),
               "PATH": os.path.dirname(PROGRAMS["cleave"]) + ":" + CLUSTER.env["PATH"]}
        os.mkdir(env["XDG_RUNTIME_DIR"], 0o700)
        lines = "".join(guide.BLOCK.findall(self.text)).splitlines()
        told = [(n, line) for n, line in enumerate(lines) if line[:2] in ("# ", "$ ")]
        self.assertGreater(len(told), 9)
        for n, line in told:
            shown = lines[n + 1] if n + 1 < len(lines) else ""
            with self.subTest(line):
                if "--sim" in line:
                    env.pop("CLEAVE_SOCKET", None)
                done = CLUSTER.run("sh", "-c", line[2:], env=env,
                                   user=USER if line[0] == "$" else None)
                if shown.startswith("srun: error"):
                    self.assertEqual((done.returncode, done.stderr), (64, shown + "\n"))
                else:
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertNotIn("error", done.stderr)
                self.follow(line, done.stdout)

    def follow(self, line, said):
        """What else is to be seen."""
        if line.endswith("sbatch --wait job.sh"):
            job = said.split()[-1]
            self.assertIn("Device #0", CLUSTER.output(job))
            self.assertIn(str(512 * MIB), CLUSTER.output(job))
        elif line.endswith("--node n1"):
            self.assertIn("NodeName=n1 Name=cleave Count=100\n", said)
        elif line.endswith("--node n2"):
            self.assertRegex(said, "NodeName=n2 Name=gpu Type=[^ ]+ MultipleFiles=/dev/nvidia0,")
            self.assertRegex(said, "NodeName=n2 Gres=gpu:[^ ]+\n")


class Measured(Case):
    """What other work on this machine would move."""

    def test_two_jobs_have_what_they_asked_for(self):
        """Over two seconds in which both compute: by when the device ran their kernels."""
        script = drive("run", "@enough", "pause")
        small = self.submit(script, "--gpu-share=0.2", user=USER)
        large = self.submit(script, "--gpu-share=0.6")
        leases = wait_until(lambda: self.both_at_work(small, large))
        self.assertEqual([(e["share"], e["tenant"], e["kept"]) for e in leases],
                         [(.2, USER, True), (.6, "root", True)])
        began = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        time.sleep(2)
        ended = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        CLUSTER.touch("enough")
        for job in (small, large):
            self.ends(job)
            self.assertRegex(CLUSTER.comment(job), r"\Agpu_seconds\[n1\]=[\d.]+\Z")
            self.assertGreater(float(CLUSTER.comment(job).partition("=")[2]), .3)
        ran = [self.ran_ns(job, began, ended) for job in (small, large)]
        self.assertAlmostEqual(ran[0] / sum(ran), .25, delta=POINTS, msg=ran)

    def ran_ns(self, job, began, ended):
        """By its own record of its kernels."""
        with open(f"{CLUSTER.work}/log-{job}.0", "rb") as file:
            data = file.read()
        whole = data[:len(data) // RECORD.size * RECORD.size]
        return sum(min(end, ended) - max(start, began)
                   for start, end, _, _ in RECORD.iter_unpack(whole)
                   if start < ended and end > began)

    def both_at_work(self, *jobs):
        leases = list(map(CLUSTER.lease, jobs))
        return all(e and e["processes"] and e["turns"] > 5 for e in leases) and leases


class Shares(Case):
    def test_srun_alone(self):
        result = self.srun("--gpu-share=0.3", "--gpu-memory=300M", "--gpu-class=latency", "sh",
                           "-c", "clinfo | grep 'Global memory size'; id -u", user=USER)
        self.assertEqual(result.returncode, 0, result)
        self.assertIn(f"{300 * MIB} (300MiB)", result.stdout)
        self.assertIn("65534", result.stdout)

    def test_the_quota_is_the_jobs_and_not_the_steps(self):
        """Of 300 MiB two steps at once cannot have 200 each; one after the other, they can."""
        small, large = f"alloc={200 * MIB}", f"alloc={400 * MIB}"
        job = self.submit(
            f"srun -Q {drive(small)}; srun -Q {drive(small)}; echo over\n"
            f"srun -Q {drive(large)}; echo two; {drive(small, HOLD_SECONDS)} &\n"
            f"srun -Q --overlap {drive(small, 2)}; wait\n",
            "-n1", "--gpu-share=0.2", "--gpu-memory=300M", user=USER)
        self.assertRegex(self.ends(job), r"\Aalloc 0\nalloc 0\nover\nalloc -61\ntwo\n"
                         r"alloc (0\nalloc -4|-4\nalloc 0)\n\Z")

    def test_steps_on_both_nodes(self):
        job = self.submit("srun -l sh -c 'echo $SLURMD_NODENAME $CLEAVE_LEASE; clinfo -l'\n"
                          "srun -l sh -c 'echo $SLURMD_NODENAME $CLEAVE_LEASE'\nsleep 0.5",
                          "-N2", "-n2", "--gpu-share=0.4", user=USER)
        CLUSTER.running(job)
        self.assertTrue(wait_until(lambda: CLUSTER.lease(job, "n2")))
        text = self.ends(job)
        lines = re.findall(r"(n\d) (\S+lease\.sock)", text)
        self.assertEqual(len(lines), 4, text)
        self.assertEqual(len(set(lines)), 2, text)
        self.assertEqual(text.count("Device #0"), 2, text)

    def test_salloc(self):
        """Its shell is where it was typed; its steps are in the share."""
        result = CLUSTER.run("salloc", "-Q", "--gpu-share=0.3", "--gpu-memory=300M", "srun", "-Q",
                             "clinfo", user=USER)
        self.assertIn(f"{300 * MIB} (300MiB)", result.stdout, result)

    def test_an_array_of_jobs(self):
        """Each is a job of its own, with a lease of its own."""
        array = self.submit("clinfo -l; while [ ! -e array ]; do sleep 0.05; done",
                            "--gpu-share=0.2", "--array=1-3", f"--output={CLUSTER.work}/array-%a",
                            user=USER)
        self.assertEqual(len(wait_until(lambda: self.jobs_with_leases(3))), 3)
        CLUSTER.touch("array")
        self.assertTrue(wait_until(lambda: not self.jobs_with_leases(1)))
        for n in (1, 2, 3):
            with open(f"{CLUSTER.work}/array-{n}", encoding="utf-8") as file:
                self.assertIn("Device #0", file.read())
        self.assertTrue(wait_until(lambda: CLUSTER.is_clean(array)))

    def jobs_with_leases(self, least):
        names = {e["name"] for e in CLUSTER.leases() if e["name"].endswith("-n1")}
        return names if len(names) >= least else None

    def test_without_an_environment(self):
        result = self.srun("--gpu-share=0.3", "--gpu-memory=300M", "env", "-i", "PATH=/usr/bin",
                           f"POCL_CACHE_DIR={CLUSTER.cache_of(USER)}", "clinfo", user=USER)
        self.assertIn(f"{300 * MIB} (300MiB)", result.stdout, result)

    def test_a_step_may_not_ask_for_more(self):
        job = self.submit("srun --gpu-share=0.3 true && srun --gpu-share=0.5 true; exit $?",
                          "--gpu-share=0.3")
        text = self.ends(job, "FAILED")
        self.assertRegex(text, r"cleave: job \d+ has a lease on this node already \(share 0.3")
        self.assertEqual(CLUSTER.job(job)["ExitCode"], "64:0")

    def test_the_comment_of_a_person_stays(self):
        job = self.submit("srun " + busy(0.3), "-n1", "--gpu-share=0.3",
                          "--comment=for Ann, please keep")
        self.ends(job)
        self.assertRegex(CLUSTER.comment(job),
                         r"^for Ann, please keep gpu_seconds\[n1\]=[\d.]*[1-9]")


class Apart(Case):
    def test_a_job_cannot_use_anothers_lease(self):
        """Not even one of the same user, who may reach its socket."""
        for user in (USER, "root"):
            job = self.submit("sleep 20", "--gpu-share=0.3", user=user)
            lease = wait_until(lambda: CLUSTER.lease(job))  # noqa: B023
            result = self.srun("--gpu-share=0.1", "sh", "-c",
                               f"CLEAVE_LEASE={lease['socket']} clinfo -l", user=USER)
            self.assertNotIn("Device #0", result.stdout)
            self.assertIn("cleave: no device for process", result.stderr)
            self.assertEqual(CLUSTER.lease(job)["processes"], [])

    def test_who_left_the_job_has_no_device(self):
        """A daemon that a step left behind is in the lease as long as the step is; one that
        comes to life after the job is not let in, and is not let in anywhere else."""
        late = os.path.join(CLUSTER.work, "late")
        early = os.path.join(CLUSTER.work, "early")
        daemon = "(setsid sh -c 'sleep %s; clinfo -l >%s 2>&1; touch %s.done' >/dev/null 2>&1 &)"
        job = self.submit(
            f"{daemon % (0.1, early, early)}\nwhile [ ! -e {early}.done ]; do sleep 0.05; done\n"
            f"{daemon % (0.7, late, late)}\n", "--gpu-share=0.3")
        self.ends(job)
        with open(early, encoding="utf-8") as file:
            self.assertIn("Device #0", file.read())
        if not wait_until(lambda: os.path.exists(late + ".done"), 2):
            return  # Slurm has ended it with the job
        with open(late, encoding="utf-8") as file:
            self.assertNotIn("Device #0", file.read())

    def test_what_outlives_the_job_is_ended(self):
        """proctrack/linuxproc does not find what has a session of its own; the lease does."""
        job = self.submit(
            f"(setsid {drive('run', 60)} >/dev/null 2>&1 &)\nsleep 1.5",
            "--gpu-share=0.3")
        attached = wait_until(lambda: (CLUSTER.lease(job) or {}).get("processes"))
        self.assertTrue(attached)
        self.ends(job)
        self.assertTrue(wait_until(lambda: not os.path.exists(f"/proc/{attached[0]['pid']}"), 8))


class NoRoom(Case):
    def setUp(self):
        super().setUp()
        self.first = self.submit("sleep 30", "--gpu-share=0.7", user=USER)
        self.assertTrue(wait_until(lambda: CLUSTER.lease(self.first)))

    def test_srun_says_so_in_one_line(self):
        result = self.srun("-w", "n2", "-n3", "--gpu-share=0.5", "true")
        self.assertEqual(result.returncode, 75)
        lines = [line for line in result.stderr.splitlines() if line.startswith("cleave:")]
        self.assertEqual(len(lines), 1, result)
        self.assertRegex(lines[0], r"share 0\.5 does not fit on gpu0 now: 0\.(25|3) of it is left; ")
        self.assertIn("; in a Slurm job, instead of --wait: submit the job again later", lines[0])

    def test_a_batch_job_is_queued_again(self):
        """full=requeue; one that must not be says why and ends."""
        once = self.submit("echo in", "--gpu-share=0.5", "--no-requeue", user=USER)
        self.assertRegex(self.ends(once, "FAILED"), r"\Acleave: share 0\.5 does not fit[^\n]+\n\Z")
        self.assertEqual(CLUSTER.job(once)["ExitCode"], "75:0")
        job = self.submit("echo in", "--gpu-share=0.5", user=USER)
        self.assertTrue(wait_until(lambda: CLUSTER.job(job)["Restarts"] == "1"))
        self.assertTrue(wait_until(lambda: CLUSTER.state(job) == "PENDING"))
        CLUSTER.ask("scancel", self.first)
        self.assertTrue(wait_until(lambda: CLUSTER.is_clean(self.first), 15))
        CLUSTER.start_again(job)
        self.assertIn("in\n", self.ends(job))

    def test_the_controller_counts_gres(self):
        """What is asked for in hundredths waits in Slurm's queue and is never refused."""
        jobs = [self.submit("sleep 0.5; echo in", "--gres=cleave:60", "-w", "n1",
                            "--gpu-share=0.2", user=USER) for _ in range(2)]
        CLUSTER.running(jobs[0])
        self.assertEqual(CLUSTER.state(jobs[1]), "PENDING")
        for job in jobs:
            self.assertIn("in\n", self.ends(job))
            self.assertEqual(CLUSTER.job(job)["Restarts"], "0")


class Snapshots(Case):
    def show(self, program):
        """scontrol has the option since 23.02."""
        path = os.path.join(CLUSTER.work, f"{program}.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(CLUSTER.ask(program, "--json"))
        return path

    def test_a_cluster_is_a_fleet_and_its_requests(self):
        """Each node has one GPU and eight processors, and the first one's GPU is held."""
        running = self.submit("sleep 300", "--gres=gpu:1")
        CLUSTER.running(running)
        waiting = self.submit("true", "--gres=gpu:1", "-c", "2")
        nodes, jobs = self.show("sinfo"), self.show("squeue")
        CLUSTER.ask("scancel", running)
        CLUSTER.ask("scancel", waiting)
        done = CLUSTER.run(PROGRAMS["cleave"], "fit", nodes, jobs, "-o", "json")
        self.assertEqual(done.returncode, 0, done)
        row, = json.loads(done.stdout)["items"]
        self.assertEqual((row["fits"], row["node"], row["model"], row["devices"]),
                         ("yes", 1, "gpu", "0"))
        done = CLUSTER.run(PROGRAMS["cleave"], "simulate", nodes, jobs, "-p", "fgd", "-o", "json")
        row, = json.loads(done.stdout)["items"]
        # The job that another test leaves until it has timed out may be a third one.
        self.assertIn((row["arrived"], row["placed"]), ((2, 2), (3, 3)))


class Ends(Case):
    def test_cancelled(self):
        job = self.submit(busy(30), "--gpu-share=0.3", user=USER)
        self.assertTrue(wait_until(lambda: (CLUSTER.lease(job) or {}).get("processes")))
        CLUSTER.ask("scancel", job, user=USER)
        self.ends(job, "CANCELLED")
        self.assertTrue(wait_until(lambda: CLUSTER.is_clean(job), 15))

    def test_queued_again_by_hand(self):
        job = self.submit("echo run $SLURM_RESTART_COUNT; sleep $((SLURM_RESTART_COUNT ? 0 : 30))",
                          "--gpu-share=0.3", "--open-mode=append", user=USER)
        first = wait_until(lambda: CLUSTER.lease(job))
        CLUSTER.ask("scontrol", "requeue", job)
        self.assertTrue(wait_until(lambda: CLUSTER.state(job) == "PENDING"))
        self.assertTrue(wait_until(lambda: CLUSTER.is_clean(job), 15))
        CLUSTER.start_again(job)
        self.assertIn("run 1", self.ends(job))
        self.assertNotIn(first["id"], [each["id"] for each in CLUSTER.leases()])

    def test_the_lease_ends_before_the_job(self):
        """By an admin's word: its later steps are told so."""
        job = self.submit("while [ ! -e go ]; do sleep 0.05; done; srun true",
                          "--gpu-share=0.3")
        lease = wait_until(lambda: CLUSTER.lease(job))
        CLUSTER.ask(PROGRAMS["cleave"], "release", "--socket", CLUSTER.api, "--force",
                    lease["id"])
        CLUSTER.touch("go")
        text = self.ends(job, "FAILED")
        self.assertIn(f"cleave: the lease of job {job} on this node ended before the job",
                      text)
        self.assertEqual(CLUSTER.job(job)["ExitCode"], "77:0")

    def test_slurmd_is_killed(self):
        """The job goes on without it; its end is noticed by the next one."""
        job = self.submit(busy(0.5), "--gpu-share=0.3", "-w", "n1", user=USER)
        self.assertTrue(wait_until(lambda: (CLUSTER.lease(job) or {}).get("processes")))
        CLUSTER.kill("n1")
        self.addCleanup(CLUSTER.revive, "n1")
        self.assertTrue(wait_until(lambda: "paused" in CLUSTER.output(job)))
        self.assertTrue(CLUSTER.lease(job))
        CLUSTER.revive("n1")
        self.assertTrue(wait_until(lambda: CLUSTER.is_clean(job), 20), CLUSTER.logs())

    def test_held(self):
        """What full=hold does."""
        job = self.submit("sleep 30", "--gpu-share=0.3", user=USER)
        self.assertTrue(wait_until(lambda: CLUSTER.lease(job)))
        result = CLUSTER.run(PROGRAMS["cleave"], "slurm", "again", "--hold", f"--job={job}")
        self.assertEqual(result.returncode, 0, result)
        self.assertTrue(wait_until(lambda: CLUSTER.state(job) == "PENDING"))
        self.assertIn("held", CLUSTER.job(job)["Reason"].lower())

    def test_slurmstepd_is_killed(self):
        """Its tasks are orphans then; the lease stays as long as the job, and ends them."""
        job = self.submit(f"exec {drive('run', 60)}", "--gpu-share=0.3", "--no-requeue", user=USER)
        attached = wait_until(lambda: (CLUSTER.lease(job) or {}).get("processes"))
        for pid in CLUSTER.ask("pgrep", "-f", rf"slurmstepd: \[{job}\.batch\]").split():
            os.kill(int(pid), signal.SIGKILL)
        CLUSTER.ask("scancel", job)
        self.assertTrue(wait_until(lambda: CLUSTER.is_clean(job), 20), CLUSTER.logs())
        self.assertTrue(wait_until(lambda: not os.path.exists(f"/proc/{attached[0]['pid']}"), 8))

    def test_a_lease_whose_job_nobody_knows(self):
        """As after a slurmd that was away until the controller had forgotten the job."""
        result = CLUSTER.run(
            PROGRAMS["cleave"], "slurm", "begin", "--socket", CLUSTER.api, "--job=999999",
            "--node=n1", f"--state={CLUSTER.state_of('n1')[:-1]}", "--user=0",
            f"--pid={os.getpid()}", "--share=0.2")
        self.assertEqual(result.returncode, 0, result)
        self.assertTrue(CLUSTER.lease(999999))
        CLUSTER.kill("n1")
        CLUSTER.revive("n1")
        self.assertTrue(wait_until(lambda: CLUSTER.is_clean(999999)))

    def test_the_agent_is_killed(self):
        job = self.submit(busy(1.5) + "srun clinfo -l", "--gpu-share=0.3", user=USER)
        self.assertTrue(wait_until(lambda: (CLUSTER.lease(job) or {}).get("processes")))
        CLUSTER.kill("cleaved")
        self.addCleanup(CLUSTER.revive, "cleaved")
        result = self.srun("--gpu-share=0.2", "true")
        self.assertEqual(result.returncode, 69, result)
        self.assertEqual(result.stderr.count("cleave: "), 1, result)
        CLUSTER.revive("cleaved")
        self.assertEqual(CLUSTER.lease(job)["share"], .3)
        self.assertIn("Device #0", self.ends(job))

    def test_the_agent_is_away_when_a_job_ends(self):
        begun = os.path.join(CLUSTER.folder, "begun")
        job = self.submit(f"touch {begun}; sleep 2", "--gpu-share=0.3")
        self.assertTrue(wait_until(lambda: os.path.exists(begun)))
        CLUSTER.kill("cleaved")
        self.addCleanup(CLUSTER.revive, "cleaved")
        self.ends(job)
        CLUSTER.revive("cleaved")
        self.assertTrue(CLUSTER.lease(job))
        next_job = self.submit("true", "--gpu-share=0.1", "-w", "n1")
        self.ends(next_job)
        self.assertTrue(wait_until(lambda: CLUSTER.is_clean(job)))


HALVES = """version: 1
devices:
  - select: {vendor: cpu}
    partitions: [{profile: cores:1, count: 2}]
"""


class UnderALayout(Case):
    """Almost the last: what holds the device must have ended before it can be divided."""

    def setUp(self):
        super().setUp()
        self.layout = os.path.join(CLUSTER.folder, "layout.yaml")
        with open(self.layout, "w", encoding="utf-8") as file:
            file.write(HALVES)
        self.addCleanup(os.unlink, self.layout)

    def partitions(self):
        return sorted(name for name in CLUSTER.ask(
            PROGRAMS["cleave"], "partition", "--socket", CLUSTER.api, "list", "-o",
            "name").split())

    def test_a_job_that_has_the_node_alone(self):
        before = self.partitions()
        job = self.submit("srun --gpu-profile=cores:1 grep Cpus_allowed_list /proc/self/status\n"
                          "while [ ! -e divided ]; do sleep 0.05; done", "--exclusive")
        CLUSTER.running(job)
        self.assertTrue(wait_until(lambda: len(self.partitions()) == 2),
                        CLUSTER.logs())
        CLUSTER.touch("divided")
        self.assertRegex(self.ends(job), r"Cpus_allowed_list:\s+[01]\n")
        self.assertTrue(wait_until(lambda: self.partitions() == before),
                        CLUSTER.read("scripts.out"))
        self.assertEqual(os.listdir(os.path.join(CLUSTER.folder, "kept")), [])

    def test_a_job_beside_others(self):
        job = self.submit("true")
        self.ends(job)
        self.assertEqual(self.partitions(), [])

    def test_a_layout_that_is_wrong(self):
        """As Slurm has it for every prolog that fails."""
        with open(self.layout, "w", encoding="utf-8") as file:
            file.write("version: 1\ndevices: [{frobnicate: 1}]\n")
        job = self.submit("true", "--exclusive")
        self.assertTrue(wait_until(lambda: "drain" in CLUSTER.ask("sinfo", "-hN", "-o", "%T")))
        self.assertTrue(wait_until(lambda: CLUSTER.state(job) == "PENDING"))
        self.assertRegex(CLUSTER.read("scripts.out"),
                         r"cleave: [^\n]*layout\.yaml[^\n]*frobnicate")
        CLUSTER.ask("scancel", job)
        CLUSTER.ask("scontrol", "update", "NodeName=n1", "State=RESUME")
        self.assertEqual(os.listdir(os.path.join(CLUSTER.folder, "kept")), [])

    def test_what_a_crash_left(self):
        """The next job puts it right, and its own epilog nothing but that."""
        job = self.submit("sleep 30", "--exclusive")
        CLUSTER.running(job)
        self.assertTrue(wait_until(lambda: len(self.partitions()) == 2))
        kept = os.path.join(CLUSTER.folder, "kept")
        os.rename(os.path.join(kept, f"{job}-before.yaml"), os.path.join(kept, "777-before.yaml"))
        CLUSTER.ask("scancel", job)
        self.ends(job, "CANCELLED")
        self.assertTrue(wait_until(CLUSTER.is_in_service))
        self.assertEqual(len(self.partitions()), 2)
        self.ends(self.submit("true"))
        self.assertEqual((self.partitions(), os.listdir(kept)), ([], []))


class TimedOut(Case):
    """The controller takes half a minute to notice: this job has begun before all tests."""

    def test_timed_out(self):
        self.assertTrue(wait_until(lambda: CLUSTER.state(SLOW) == "TIMEOUT", 45))
        self.assertTrue(wait_until(lambda: CLUSTER.is_clean(SLOW), 15))


if __name__ == "__main__":
    names = ("cleave", "cleaved", "plugin", "tenant")
    PROGRAMS.update(zip(names, map(os.path.abspath, sys.argv[1:5])))
    why_not = slurm_bed.missing()
    if why_not:
        print(f"skipped: {why_not}")
        sys.exit(77)  # as meson knows it
    if sys.argv[5:] == ["others"]:
        sys.argv[5:] = [case.__name__ for case in Case.__subclasses__() if case is not Measured]
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
