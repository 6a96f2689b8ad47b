/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a simulated node on disk: changes are visible to the next process,
 * whichever process dies; a file that is not a state of this node is refused and left
 * unchanged. */
#include "sim-world.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define GI (UINT64_C(1) << 30)
#define N_KILLS 40
#define N_CHILDREN 3

static const char node_text[] = "version: 1\n"
				"name: test\n"
				"devices:\n"
				"  - {model: A30-24GB, count: 3, at-start: {mig: on}}\n"
				"  - {model: A100-80GB, reset: refused}\n"
				"  - {model: MI300X, count: 2, hive: a}\n"
				"  - {model: Arc Pro B60}\n"
				"  - {model: CPU, cores: 8}\n";

static struct sim_world world;

static int open_node(void **state)
{
	sim_world_make(&world, node_text, true);
	return sim_world_open(&world) < 0 || sim_world_look(&world) < 0 ? -1 : 0;
}

static int close_node(void **state)
{
	sim_world_remove(&world);
	return 0;
}

static void works(int r)
{
	if (r < 0)
		fail_msg("%s", world.err.msg);
}

static void write_state(const char *text)
{
	FILE *file = fopen(world.state_path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static char *read_state(void)
{
	char *text = calloc(1, 1 << 16);
	FILE *file = fopen(world.state_path, "r");

	assert_non_null(text);
	assert_non_null(file);
	assert_true(fread(text, 1, (1 << 16) - 1, file) < (1 << 16) - 1);
	fclose(file);
	return text;
}

/* --- Round trips --- */

static void divide_everything(void)
{
	works(sim_world_create(&world, 0, "2g.12gb", 2));
	works(sim_world_create_half(&world, 0, "2g.12gb", 0));
	works(sim_world_create_part(&world, 0, "2g.12gb@0", "1c.2g.12gb", 1));
	sim_world_refused(
		&world, sim_world_mig(&world, 3, true), -ENOTSUP, "may not be reset");
	works(sim_world_memory(&world, 4, CLV_NPS4));
	works(sim_world_compute(&world, 5, CLV_QPX));
	works(sim_world_vf_count(&world, 6, 3));
	works(sim_world_vf_quota(&world, 6, 2,
		(struct clv_vf_quota){.memory_bytes = GI,
			.exec_quantum_ms = 20,
			.preempt_timeout_us = 40500,
			.priority = "high",
			.driver = "vfio-pci"}));
	works(sim_world_create_cores(&world, 7, "cores:3", "0,2-3"));
}

static void everything_survives(void **state)
{
	const struct clv_vf_quota *quota;

	divide_everything();
	sim_world_reopen(&world);
	assert_non_null(sim_world_find(&world, 0, "2g.12gb@2"));
	assert_non_null(sim_world_find(&world, 0, "2g.12gb@0/1c@1"));
	assert_int_equal(sim_world_device(&world, 0)->partitions[1].n_parts, 1);
	assert_true(sim_world_device(&world, 3)->mig.is_pending);
	assert_int_equal(sim_world_device(&world, 5)->xcp.requested_memory, CLV_NPS4);
	assert_int_equal(sim_world_device(&world, 5)->xcp.compute, CLV_QPX);
	assert_int_equal(sim_world_device(&world, 6)->vf.n, 3);
	quota = &sim_world_device(&world, 6)->vf.items[1].quota;
	assert_true(quota->memory_bytes == GI);
	assert_int_equal(quota->exec_quantum_ms, 20);
	assert_int_equal(quota->preempt_timeout_us, 40500);
	assert_string_equal(quota->priority, "high");
	assert_string_equal(quota->driver, "vfio-pci");
	assert_string_equal(sim_world_find(&world, 7, "cores:3@0")->address, "0,2-3");
}

/* A state is written as it was read, byte for byte. */
static void a_state_is_written_as_it_was_read(void **state)
{
	char *before, *after;

	divide_everything();
	before = read_state();
	sim_world_reopen(&world);
	works(sim_world_memory(&world, 4, CLV_NPS1)); /* no change */
	after = read_state();
	assert_string_equal(before, after);
	free(before);
	free(after);
}

static void without_a_state_file_it_lives_in_memory(void **state)
{
	struct sim_world other;

	sim_world_make(&other, node_text, false);
	assert_int_equal(sim_world_open(&other), 0);
	assert_int_equal(sim_world_look(&other), 0);
	assert_int_equal(sim_world_create(&other, 0, "4g.24gb", 0), 0);
	assert_int_equal(sim_world_look(&other), 0);
	assert_non_null(sim_world_find(&other, 0, "4g.24gb@0"));
	sim_world_reopen(&other);
	assert_null(sim_world_find(&other, 0, "4g.24gb@0"));
	sim_world_remove(&other);
}

/* --- Errors --- */

#define HEAD "cleave-sim-state: 1\nnode: test\ndevices:\n"

static const struct {
	const char *text;
	int code;
	const char *says;
} broken[] = {
	/* clang-format off */
	{ "", -EINVAL, "the document is empty" },
	{ "hello", -EINVAL, ":1:1: keys with values are expected here" },
	{ "cleave-sim-state: [", -EINVAL, "invalid YAML" },
	{ "version: 1\nname: test\ndevices: []\n", -EINVAL, ":1:1: unknown key 'version'" },
	{ "cleave-sim-state: 2\nnode: test\ndevices: []\n", -ERANGE, ":1:19: 2 is out of range" },
	{ "cleave-sim-state: 1\nnode: other\ndevices: []\n", -EINVAL, ":2:7: the state is of the node 'other', not of 'test'" },
	{ HEAD "  - {uuid: GPU-0, model: T4, state: {}}\n", -EINVAL, "the node has no device 'GPU-0'" },
	{ HEAD "  - {model: T4}\n", -EINVAL, "the key 'uuid' is missing" },
	{ HEAD "  - {state: {}, uuid: a}\n", -EINVAL, "the UUID comes first" },
	/* clang-format on */
};

static void a_state_of_another_node_is_refused(void **state)
{
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		char *left;

		write_state(broken[i].text);
		sim_world_refused(
			&world, sim_world_look(&world), broken[i].code, broken[i].says);
		assert_non_null(
			strstr(world.err.msg, "the file is not a state of the simulated "
					      "node test: name another file "
					      "with CLEAVE_SIM_STATE, or remove it"));
		left = read_state();
		assert_string_equal(left, broken[i].text);
		free(left);
	}
	unlink(world.state_path);
	works(sim_world_look(&world));
}

/* The rules for a state that is read are those for calls. */
static const struct {
	size_t device;
	const char *model;
	const char *state;
	const char *says;
} impossible[] = {
	/* clang-format off */
	{ 0, "A100-40GB", "{}", "this device is now of the model A30-24GB" },
	{ 0, "A30-24GB", "{mgi: on}", "unknown key 'mgi': did you mean 'mig'?" },
	{ 0, "A30-24GB", "{compute-mode: CPX}", "A30-24GB cannot have 'compute-mode'" },
	{ 0, "A30-24GB", "{mig: off, instances: [{profile: 1g.6gb, start: 0}]}", "MIG is off" },
	{ 0, "A30-24GB", "{mig: on, instances: [{profile: 2g.12gb, start: 0}, {profile: 1g.6gb, start: 1}]}", "another instance is there" },
	{ 0, "A30-24GB", "{mig: on, instances: [{profile: 2g.12gb, start: 0, parts: [1c@0, 1c@0]}]}", "no 1c.2g.12gb at 0: another instance is there" },
	{ 4, "MI300X", "{compute-mode: TPX, memory-mode: NPS1}", "MI300X has no mode TPX" },
	{ 4, "MI300X", "{memory-mode: NPS4}", "NPS4 cannot be used with SPX" },
	{ 6, "Arc Pro B60", "{vf-count: 17}", "at most 16" },
	{ 6, "Arc Pro B60", "{vf: [{number: 1, memory: 30G}]}", "are more than the device has" },
	{ 6, "Arc Pro B60", "{vf: [{number: 1, doorbells: 2}]}", "does not support doorbells" },
	{ 6, "Arc Pro B60", "{vf: [{number: 1, priority: top}]}", "'top' is not a priority" },
	{ 7, "CPU", "{core-sets: [\"7-8\"]}", "the device lacks some of the processors 7-8" },
	{ 7, "CPU", "{calls: {dance: 1}}", "'dance' is none of create" },
	/* clang-format on */
};

static void refused_with(const char *says)
{
	assert_true(sim_world_look(&world) < 0);
	if (!strstr(world.err.msg, says))
		fail_msg("got '%s', not '%s'", world.err.msg, says);
}

static void an_impossible_state_is_refused(void **state)
{
	char uuids[8][64];

	assert_int_equal(world.node.n_devices, 8);
	for (size_t i = 0; i < 8; i++)
		strcpy(uuids[i], sim_world_device(&world, i)->info.uuid);
	for (size_t i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++) {
		char text[512];

		snprintf(text, sizeof(text),
			HEAD "  - {uuid: %s, model: %s, state: %s}\n",
			uuids[impossible[i].device], impossible[i].model,
			impossible[i].state);
		write_state(text);
		refused_with(impossible[i].says);
	}
}

/* --- Killed and concurrent processes --- */

/* What the child has begun and what it has completed. */
struct progress {
	_Atomic unsigned int begun;
	_Atomic unsigned int done;
};

static void __attribute__((noreturn)) change_for_ever(struct progress *progress)
{
	struct sim_world mine = world;

	mine.backend = NULL;
	mine.node = (struct clv_node){0};
	if (sim_world_open(&mine) < 0 || sim_world_look(&mine) < 0)
		_exit(1);
	for (unsigned int i = progress->done;; i++) {
		progress->begun = i + 1;
		if ((i % 2 ? sim_world_destroy(&mine, 0, "4g.24gb@0")
			   : sim_world_create(&mine, 0, "4g.24gb", 0)) < 0)
			_exit(2);
		progress->done = i + 1;
	}
}

/* Kills the child at any point after its first change. */
static void kill_soon(pid_t pid, const struct progress *progress, unsigned int us)
{
	unsigned int before = progress->done;
	int status;

	for (int i = 0; i < 60000 && progress->done == before; i++)
		usleep(1000);
	usleep(us);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

/* The state is the one after the last change or, if a change was in progress, the one
 * after it. */
static void a_kill_leaves_one_state_or_the_other(void **state)
{
	struct progress *progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int seed = 1, total = 0;

	assert_ptr_not_equal(progress, MAP_FAILED);
	for (unsigned int i = 0; i < N_KILLS; i++) {
		pid_t pid = fork();
		bool is_there;

		assert_true(pid >= 0);
		if (pid == 0)
			change_for_ever(progress);
		kill_soon(pid, progress, (unsigned int)rand_r(&seed) % 3000);
		sim_world_reopen(&world);
		is_there = sim_world_find(&world, 0, "4g.24gb@0") != NULL;
		assert_true(is_there == progress->begun % 2 ||
			    is_there == progress->done % 2);
		total += progress->done;
		/* A change in progress is complete, or has not happened. */
		progress->done += is_there != progress->done % 2;
		progress->begun = progress->done;
	}
	assert_true(total > 0);
	munmap(progress, sizeof(*progress));
}

static void __attribute__((noreturn)) fill(size_t index)
{
	struct sim_world mine = world;

	mine.backend = NULL;
	mine.node = (struct clv_node){0};
	if (sim_world_open(&mine) < 0 || sim_world_look(&mine) < 0)
		_exit(1);
	for (uint32_t start = 0; start < 4; start++) {
		if (sim_world_create(&mine, index, "1g.6gb", start) < 0)
			_exit(2);
	}
	_exit(0);
}

/* A concurrent change must not be lost. */
static void processes_wait_for_each_other(void **state)
{
	for (size_t i = 0; i < N_CHILDREN; i++) {
		if (fork() == 0)
			fill(i);
	}
	for (size_t i = 0; i < N_CHILDREN; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	works(sim_world_look(&world));
	for (size_t i = 0; i < N_CHILDREN; i++)
		assert_int_equal(sim_world_device(&world, i)->n_partitions, 4);
}

static void a_failed_write_changes_nothing(void **state)
{
	char name[128];

	snprintf(name, sizeof(name), "%s.new", world.state_path);
	assert_int_equal(mkdir(name, 0700), 0);
	sim_world_refused(&world, sim_world_create(&world, 0, "4g.24gb", 0), -EISDIR,
		"cannot write");
	assert_int_equal(rmdir(name), 0);
	works(sim_world_look(&world));
	assert_null(sim_world_find(&world, 0, "4g.24gb@0"));
	works(sim_world_create(&world, 0, "4g.24gb", 0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_node, close_node)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(everything_survives),
		TEST(a_state_is_written_as_it_was_read),
		TEST(without_a_state_file_it_lives_in_memory),
		TEST(a_state_of_another_node_is_refused),
		TEST(an_impossible_state_is_refused),
		TEST(a_kill_leaves_one_state_or_the_other),
		TEST(processes_wait_for_each_other),
		TEST(a_failed_write_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
