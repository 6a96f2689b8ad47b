/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out every layout of the examples on its node, step by step as planned: each
 * step takes effect, and a new plan has no steps.
 *
 * Arguments: a folder of nodes, then layouts, whose names begin with their node's. */
#include "sim-world.h"

#include "base/yaml.h"
#include "core/layout/layout.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TESTS_MAX 64

static const char *nodes_folder;
static struct sim_world world;

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "FOLDER/mi300x-dpx.yaml": of the node "mi300x", the longest match. */
static void find_node(const char *layout, char *ret, size_t ret_bytes)
{
	char name[128];
	char *dash;

	snprintf(name, sizeof(name), "%s", base_name(layout));
	while ((dash = strrchr(name, '-'))) {
		FILE *file;

		*dash = '\0';
		snprintf(ret, ret_bytes, "%s/%s.yaml", nodes_folder, name);
		file = fopen(ret, "r");
		if (file) {
			fclose(file);
			return;
		}
	}
	fail_msg("%s is of no node", layout);
}

static void read_layout(const char *path, struct clv_layout *ret)
{
	static char text[CLV_YAML_MAX_BYTES];
	FILE *file = fopen(path, "r");
	size_t n_bytes;

	assert_non_null(file);
	n_bytes = fread(text, 1, sizeof(text), file);
	fclose(file);
	if (clv_layout_parse(text, n_bytes, path, ret, &world.err) < 0)
		fail_msg("%s", world.err.msg);
}

static void make_plan(const struct clv_layout *layout, struct clv_plan *ret)
{
	assert_int_equal(sim_world_look(&world), 0);
	if (clv_plan_make(&world.node, layout, ret, &world.err) < 0)
		fail_msg("%s", world.err.msg);
}

static int destroy(const struct clv_step *step, struct clv_node_device *device)
{
	struct clv_partition partition = {.start = step->start, .size = step->size};
	struct clv_partition inside = {0};
	bool is_part = step->kind == CLV_STEP_DESTROY_PART;

	memcpy(partition.name, step->partition, sizeof(partition.name));
	memcpy(inside.name, step->inside, sizeof(inside.name));
	return world.backend->ops->destroy(
		world.backend, device, &partition, is_part ? &inside : NULL, &world.err);
}

static int carry_out(const struct clv_step *step, struct clv_node_device *device)
{
	const struct clv_backend_ops *ops = world.backend->ops;
	struct clv_backend *backend = world.backend;

	switch (step->kind) {
	case CLV_STEP_DESTROY_PART:
	case CLV_STEP_DESTROY:
		return destroy(step, device);
	case CLV_STEP_MIG_MODE:
		return ops->set_mig_mode(backend, device, step->value != 0, &world.err);
	case CLV_STEP_COMPUTE_MODE:
		return ops->set_compute_mode(
			backend, device, (enum clv_compute_mode)step->value, &world.err);
	case CLV_STEP_MEMORY_MODE:
		return ops->set_memory_mode(
			backend, device, (enum clv_memory_mode)step->value, &world.err);
	case CLV_STEP_RELOAD:
		return ops->reload_driver(backend, device, &world.err);
	case CLV_STEP_VF_COUNT:
		return ops->set_vf_count(backend, device, step->value, &world.err);
	case CLV_STEP_VF_QUOTA:
		return ops->set_vf_quota(
			backend, device, step->value, &step->quota, &world.err);
	default:
		return ops->create(backend, device, step, &world.err);
	}
}

/* Stops at the step that fails and returns its result. */
static int apply(const struct clv_plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct clv_step *step = &plan->steps[i];
		struct clv_node_device *device = sim_world_device(&world, step->device);
		char text[192];
		int r = carry_out(step, device);

		clv_step_describe(step, &world.node, text, sizeof(text));
		if (r < 0) {
			print_message("# %s: %s\n", text, world.err.msg);
			return r;
		}
		assert_int_equal(
			world.backend->ops->read(world.backend, device, &world.err), 0);
		if (!clv_step_is_done(step, device))
			fail_msg("%s: it is not so", text);
	}
	return 0;
}

/* An injected failure happens once: the rest is planned again. */
static size_t apply_all(const struct clv_layout *layout)
{
	struct clv_plan plan;
	size_t n_steps;
	int r;

	make_plan(layout, &plan);
	assert_int_equal(plan.n_obstacles, 0);
	n_steps = plan.n_steps;
	r = apply(&plan);
	clv_plan_clear(&plan);
	if (r == 0)
		return n_steps;
	assert_int_equal(r, -EIO);
	make_plan(layout, &plan);
	assert_int_equal(apply(&plan), 0);
	clv_plan_clear(&plan);
	return n_steps;
}

static void nothing_is_left_to_do(const struct clv_layout *layout)
{
	struct clv_plan plan;

	sim_world_reopen(&world);
	make_plan(layout, &plan);
	assert_int_equal(plan.n_steps, 0);
	clv_plan_clear(&plan);
}

/* The obstacles of an impossible plan name holders. */
static void blocked(const struct clv_layout *layout)
{
	struct clv_plan plan;

	make_plan(layout, &plan);
	assert_true(plan.n_obstacles > 0);
	for (size_t i = 0; i < plan.n_obstacles; i++) {
		const struct clv_obstacle *obstacle = &plan.obstacles[i];

		print_message("# %s: %s: %s\n",
			sim_world_device(&world, obstacle->device)->info.name,
			obstacle->why,
			obstacle->holders.n ? obstacle->holders.items[0].text : "");
	}
	assert_true(apply(&plan) < 0);
	clv_plan_clear(&plan);
}

static void a_layout_is_carried_out(void **state)
{
	const char *path = *state;
	struct clv_layout layout = {0};
	char node[256];

	find_node(path, node, sizeof(node));
	sim_world_make_from(&world, node);
	if (sim_world_open(&world) < 0)
		fail_msg("%s", world.err.msg);
	read_layout(path, &layout);
	if (strstr(base_name(path), "blocked")) {
		blocked(&layout);
	} else {
		print_message("# %s: %zu steps\n", base_name(path), apply_all(&layout));
		nothing_is_left_to_do(&layout);
	}
	clv_layout_clear(&layout);
	sim_world_remove(&world);
}

int main(int argc, char **argv)
{
	struct CMUnitTest tests[TESTS_MAX] = {0};
	size_t n = 0;

	if (argc < 3)
		return 1;
	nodes_folder = argv[1];
	for (int i = 2; i < argc && n < TESTS_MAX; i++)
		tests[n++] = (struct CMUnitTest){
			.name = base_name(argv[i]),
			.test_func = a_layout_is_carried_out,
			.initial_state = argv[i],
		};
	return _cmocka_run_group_tests("layouts", tests, n, NULL, NULL);
}
