/* SPDX-License-Identifier: Apache-2.0 */
/* Invariants of every plan, for all nodes and layouts: no lease loses a part unless the
 * plan names it; ending the named leases is enough; a plan without obstacles can be
 * carried out by drivers, results in the layout, and leaves nothing to do. Nodes and
 * layouts are random, from fixed seeds. */
#include "core/plan/plan.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "layout-equal.h"
#include "plan-apply.h"
#include "plan-random.h"
#include "plan-world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cmocka.h wants these three before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define N_CASES 3000
#define DEVICES_MAX 4

struct random_case {
	char *node_text;
	char *rules;
	struct clv_node node;
	struct clv_layout layout;
	struct clv_plan plan;
	struct clv_error err;
	int result;
};

static void plan_again(struct random_case *c)
{
	clv_plan_clear(&c->plan);
	c->err = (struct clv_error){0};
	c->result = clv_plan_make(&c->node, &c->layout, &c->plan, &c->err);
}

static void make_texts(struct random_case *c)
{
	char lines[DEVICES_MAX][1024];
	uint32_t n = 1 + random_below(DEVICES_MAX);
	size_t size;
	FILE *to = open_memstream(&c->node_text, &size);

	assert_non_null(to);
	for (uint32_t i = 0; i < n; i++) {
		FILE *line = fmemopen(lines[i], sizeof(lines[i]), "w");

		assert_non_null(line);
		random_device(line, i);
		fclose(line);
		fputs(lines[i], to);
	}
	fclose(to);
	to = open_memstream(&c->rules, &size);
	assert_non_null(to);
	for (uint32_t i = 0; i < n; i++)
		random_rule(to, lines[i], i);
	/* "devices:" with nothing behind it is not a list. */
	if (ftell(to) == 0)
		fputs(" []", to);
	fclose(to);
}

static void make_case(struct random_case *c, uint64_t seed)
{
	*c = (struct random_case){0};
	random_seed(seed);
	make_texts(c);
	plan_node(c->node_text, &c->node);
	plan_layout(c->rules, &c->layout);
	plan_again(c);
}

static void clear_case(struct random_case *c)
{
	clv_plan_clear(&c->plan);
	clv_layout_clear(&c->layout);
	clv_node_clear(&c->node);
	free(c->node_text);
	free(c->rules);
}

static void must(const struct random_case *c, bool good, const char *what)
{
	_cleanup_free_ char *plan = NULL;

	if (good)
		return;
	plan = plan_to_text(&c->node, &c->plan, "sbk");
	fail_msg("%s:\n%s%s%d %s\n%s", what, c->node_text, c->rules, c->result,
		c->err.msg, plan);
}

/* --- The named leases --- */

static bool is_named(const struct clv_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->n_obstacles; i++) {
		if (strcmp(plan->obstacles[i].partition, name) == 0)
			return true;
	}
	return false;
}

static void check_partition(const struct random_case *c,
	const struct clv_partition *partition, bool with_parts)
{
	must(c, partition->holders.n == 0 || is_named(&c->plan, partition->name),
		"a lease loses a part and is not named");
	for (size_t i = 0; i < partition->n_parts && with_parts; i++)
		check_partition(c, &partition->parts[i], false);
}

static void check_destroyed(const struct random_case *c, const struct clv_step *step)
{
	const struct clv_node_device *device = &c->node.devices[step->device];
	bool is_part = step->kind == CLV_STEP_DESTROY_PART;
	const char *name = is_part ? step->inside : step->partition;

	for (size_t i = 0; i < device->n_partitions; i++) {
		const struct clv_partition *partition = &device->partitions[i];

		if (strcmp(partition->name, name) != 0)
			continue;
		check_partition(c, partition, !is_part);
		for (size_t k = 0; k < partition->n_parts && is_part; k++) {
			if (strcmp(partition->parts[k].name, step->partition) == 0)
				check_partition(c, &partition->parts[k], false);
		}
	}
}

/* The named leases hold what the plan names, and ending them is enough. */
static void check_obstacles(struct random_case *c)
{
	char leases[64][24];
	size_t n = 0;

	for (size_t i = 0; i < c->plan.n_obstacles; i++) {
		const struct clv_holders *holders = &c->plan.obstacles[i].holders;

		must(c, holders->n > 0, "an obstacle without a holder");
		must(c, c->plan.obstacles[i].why[0] != '\0',
			"an obstacle without a reason");
		for (size_t h = 0; h < holders->n && n < CLV_ARRAY_SIZE(leases); h++)
			memcpy(leases[n++], holders->items[h].lease, sizeof(leases[0]));
	}
	for (size_t i = 0; i < n; i++)
		plan_end_lease(&c->node, leases[i]);
	plan_again(c);
	must(c, c->result == 0 && c->plan.n_obstacles == 0,
		"ending the named leases is not enough");
}

/* --- Carrying out the plan --- */

static size_t count_holders(const struct clv_node *node)
{
	size_t n = 0;

	for (size_t i = 0; i < node->n_devices; i++) {
		const struct clv_node_device *device = &node->devices[i];

		n += device->holders.n;
		for (size_t p = 0; p < device->n_partitions; p++) {
			n += device->partitions[p].holders.n;
			for (size_t k = 0; k < device->partitions[p].n_parts; k++)
				n += device->partitions[p].parts[k].holders.n;
		}
	}
	return n;
}

/* The export leaves out an incomplete instance, so the plan removes it. */
static bool is_any_incomplete(const struct clv_node *node)
{
	for (size_t i = 0; i < node->n_devices; i++) {
		for (size_t p = 0; p < node->devices[i].n_partitions; p++) {
			if (node->devices[i].partitions[p].is_incomplete)
				return true;
		}
	}
	return false;
}

static void check_export(struct random_case *c)
{
	struct clv_layout layout = {0}, again = {0};
	struct clv_plan plan = {0};
	struct clv_error err = {0};
	_cleanup_free_ char *text = NULL;

	assert_int_equal(clv_layout_of_node(&c->node, &layout, &err), 0);
	assert_int_equal(clv_layout_write(&layout, &text, &err), 0);
	if (clv_layout_parse(text, strlen(text), "export", &again, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	must(c, layout_is_equal(&layout, &again), "an export is read as something else");
	if (clv_plan_make(&c->node, &again, &plan, &err) < 0)
		fail_msg("%s%s: %s", c->node_text, text, err.msg);
	must(c,
		(plan.n_steps == 0 || is_any_incomplete(&c->node)) &&
			plan.n_obstacles == 0,
		"a node and its own export differ");
	clv_plan_clear(&plan);
	clv_layout_clear(&layout);
	clv_layout_clear(&again);
}

static void check_carried_out(struct random_case *c)
{
	size_t n_holders = count_holders(&c->node);
	_cleanup_free_ char *shares = plan_to_text(&c->node, &c->plan, "h"),
			    *later = NULL;
	const char *wrong = plan_apply_all(&c->node, &c->plan);

	must(c, !wrong, wrong ? wrong : "");
	must(c, count_holders(&c->node) == n_holders, "a holder is lost");
	wrong = plan_look(&c->node, &c->layout);
	must(c, !wrong, wrong ? wrong : "");
	plan_again(c);
	must(c, c->result == 0 && c->plan.n_steps == 0 && c->plan.n_obstacles == 0,
		"something is left to do");
	later = plan_to_text(&c->node, &c->plan, "h");
	must(c, strlen(shares) == strlen(later), "other shares, when all is done");
	check_export(c);
}

static void check_refused(const struct random_case *c)
{
	must(c, c->result == -EINVAL || c->result == -ENOSPC, "a code that is not said");
	must(c,
		c->err.code == c->result && strncmp(c->err.msg, "l.yaml:", 7) == 0 &&
			!strchr(c->err.msg, '\n'),
		"an error without its place");
	must(c, c->plan.n_steps == 0 && c->plan.n_obstacles == 0, "an error with a plan");
}

static void test_every_plan(void **state)
{
	size_t n_refused = 0, n_blocked = 0, n_steps = 0;

	for (uint64_t seed = 1; seed <= N_CASES; seed++) {
		struct random_case c;

		make_case(&c, seed);
		if (c.result < 0) {
			check_refused(&c);
			n_refused++;
			clear_case(&c);
			continue;
		}
		for (size_t i = 0; i < c.plan.n_steps; i++) {
			if (c.plan.steps[i].kind <= CLV_STEP_DESTROY)
				check_destroyed(&c, &c.plan.steps[i]);
		}
		if (c.plan.n_obstacles > 0) {
			check_obstacles(&c);
			n_blocked++;
		}
		n_steps += c.plan.n_steps;
		check_carried_out(&c);
		clear_case(&c);
	}
	print_message(
		"# %d cases: %zu refused, %zu with obstacles, %zu steps carried out\n",
		N_CASES, n_refused, n_blocked, n_steps);
	assert_true(n_refused < N_CASES / 2 && n_blocked > N_CASES / 20);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
