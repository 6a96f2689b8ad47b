/* SPDX-License-Identifier: Apache-2.0 */
#include "sim-world.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* In memory, if there is such a folder: what is brought to a disk takes its time. */
static void make_folder(struct sim_world *world)
{
	*world = (struct sim_world){0};
	snprintf(world->folder, sizeof(world->folder), "%s/clv-sim-XXXXXX",
		access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(world->folder));
	snprintf(world->state_path, sizeof(world->state_path), "%s/state", world->folder);
}

static void set_environment(const struct sim_world *world, const char *node)
{
	setenv("CLEAVE_SIM", node, 1);
	if (world->state_path[0] != '\0')
		setenv("CLEAVE_SIM_STATE", world->state_path, 1);
	else
		unsetenv("CLEAVE_SIM_STATE");
}

void sim_world_make(struct sim_world *world, const char *text, bool state)
{
	FILE *file;

	make_folder(world);
	if (!state)
		world->state_path[0] = '\0';
	snprintf(world->node_path, sizeof(world->node_path), "%s/node.yaml",
		world->folder);
	file = fopen(world->node_path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	assert_int_equal(fclose(file), 0);
	set_environment(world, world->node_path);
}

void sim_world_make_from(struct sim_world *world, const char *path)
{
	make_folder(world);
	set_environment(world, path);
}

static void close_backend(struct sim_world *world)
{
	clv_node_clear(&world->node);
	if (world->backend)
		world->backend->ops->free(world->backend);
	world->backend = NULL;
}

void sim_world_remove(struct sim_world *world)
{
	static const char *const names[] = {
		"node.yaml", "state", "state.lock", "state.new"};
	char path[128];

	close_backend(world);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", world->folder, names[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(world->folder), 0);
}

int sim_world_open(struct sim_world *world)
{
	return clv_backend_sim.probe(&world->backend, &world->err);
}

int sim_world_look(struct sim_world *world)
{
	clv_node_clear(&world->node);
	return world->backend->ops->survey(world->backend, &world->node, &world->err);
}

void sim_world_reopen(struct sim_world *world)
{
	close_backend(world);
	if (sim_world_open(world) < 0 || sim_world_look(world) < 0)
		fail_msg("%s", world->err.msg);
}

struct clv_node_device *sim_world_device(struct sim_world *world, size_t index)
{
	assert_true(index < world->node.n_devices);
	return &world->node.devices[index];
}

static struct clv_partition *find_in(
	struct clv_partition *items, size_t n, const char *name, size_t skip)
{
	for (size_t i = 0; i < n; i++) {
		struct clv_partition *part =
			items[i].n_parts
				? find_in(items[i].parts, items[i].n_parts, name, skip)
				: NULL;

		if (strcmp(items[i].name + skip, name) == 0)
			return &items[i];
		if (part)
			return part;
	}
	return NULL;
}

struct clv_partition *sim_world_find(
	struct sim_world *world, size_t index, const char *name)
{
	struct clv_node_device *device = sim_world_device(world, index);

	return find_in(device->partitions, device->n_partitions, name,
		strlen(device->info.name) + 1);
}

/* Looks at the device alone, as after a step of a plan. */
static int done(struct sim_world *world, size_t index, int r)
{
	struct clv_error err = {0};

	if (world->backend->ops->read(
		    world->backend, sim_world_device(world, index), &err) < 0)
		fail_msg("%s", err.msg);
	return r;
}

#define CALL(world, index, member, ...)                         \
	done(world, index,                                      \
		(world)->backend->ops->member((world)->backend, \
			sim_world_device(world, index), __VA_ARGS__, &(world)->err))

int sim_world_mig(struct sim_world *world, size_t index, bool on)
{
	return CALL(world, index, set_mig_mode, on);
}

int sim_world_compute(struct sim_world *world, size_t index, enum clv_compute_mode mode)
{
	return CALL(world, index, set_compute_mode, mode);
}

int sim_world_memory(struct sim_world *world, size_t index, enum clv_memory_mode mode)
{
	return CALL(world, index, set_memory_mode, mode);
}

int sim_world_reload(struct sim_world *world, size_t index)
{
	int r = world->backend->ops->reload_driver(
		world->backend, sim_world_device(world, index), &world->err);

	return done(world, index, r);
}

int sim_world_vf_count(struct sim_world *world, size_t index, uint32_t count)
{
	return CALL(world, index, set_vf_count, count);
}

int sim_world_vf_quota(
	struct sim_world *world, size_t index, uint32_t number, struct clv_vf_quota quota)
{
	return CALL(world, index, set_vf_quota, number, &quota);
}

static int create(struct sim_world *world, size_t index, struct clv_step step,
	const char *profile, uint32_t start)
{
	step.device = (uint32_t)index;
	step.start = start;
	snprintf(step.profile, sizeof(step.profile), "%s", profile);
	return CALL(world, index, create, &step);
}

int sim_world_create(
	struct sim_world *world, size_t index, const char *profile, uint32_t start)
{
	return create(
		world, index, (struct clv_step){.kind = CLV_STEP_CREATE}, profile, start);
}

int sim_world_create_half(
	struct sim_world *world, size_t index, const char *profile, uint32_t start)
{
	return create(world, index,
		(struct clv_step){.kind = CLV_STEP_CREATE, .has_parts = true}, profile,
		start);
}

int sim_world_create_part(struct sim_world *world, size_t index, const char *inside,
	const char *profile, uint32_t start)
{
	struct clv_step step = {.kind = CLV_STEP_CREATE_PART};

	snprintf(step.inside, sizeof(step.inside), "%s/%s",
		sim_world_device(world, index)->info.name, inside);
	return create(world, index, step, profile, start);
}

int sim_world_create_cores(
	struct sim_world *world, size_t index, const char *profile, const char *cpus)
{
	struct clv_step step = {.kind = CLV_STEP_CREATE};

	snprintf(step.cpus, sizeof(step.cpus), "%s", cpus);
	return create(world, index, step, profile, 0);
}

/* What is not there is asked for all the same. */
static struct clv_partition copy_of(
	struct sim_world *world, size_t index, const char *name)
{
	const struct clv_partition *found = sim_world_find(world, index, name);
	struct clv_partition copy = {0};

	if (found)
		copy = *found;
	snprintf(copy.name, sizeof(copy.name), "%s/%s",
		sim_world_device(world, index)->info.name, name);
	return copy;
}

int sim_world_destroy(struct sim_world *world, size_t index, const char *name)
{
	struct clv_partition partition = copy_of(world, index, name);

	return CALL(world, index, destroy, &partition, NULL);
}

int sim_world_destroy_part(
	struct sim_world *world, size_t index, const char *inside, const char *name)
{
	struct clv_partition owner = copy_of(world, index, inside);
	struct clv_partition part = copy_of(world, index, name);
	bool fills = strcmp(inside, name) == 0;

	return CALL(world, index, destroy, fills ? &owner : &part, &owner);
}

void sim_world_refused(struct sim_world *world, int r, int code, const char *says)
{
	if (r != code || world->err.code != code || !strstr(world->err.msg, says))
		fail_msg("got %d (%s), not %d with '%s'", r, world->err.msg, code, says);
}
