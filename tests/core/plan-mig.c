/* SPDX-License-Identifier: Apache-2.0 */
/* The same questions and answers as mig-solve's, put to the whole planner: a node of one
 * GPU, a layout, and the plan between them. */
#include "base/error.h"
#include "core/gpu/gpu.h"
#include "core/plan/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPUS "gpu0"

struct question {
	struct clv_node node;
	struct clv_layout layout;
	uint8_t wanted[CLV_MIG_INSTANCES_MAX];
	size_t n_wanted;
};

static int next_number(char **text)
{
	return (int)strtol(*text, text, 10);
}

static void read_have(
	char **text, const struct clv_mig_model *model, struct clv_node *node)
{
	struct clv_node_device *device = clv_node_add(node);
	size_t n = (size_t)next_number(text);

	snprintf(device->info.name, sizeof(device->info.name), GPUS);
	snprintf(device->info.uuid, sizeof(device->info.uuid), "GPU-0");
	device->scheme = CLV_SCHEME_MIG;
	device->mig =
		(struct clv_mig_state){.is_capable = true, .is_on = true, .model = model};
	for (size_t i = 0; i < n; i++) {
		struct clv_partition *partition = clv_node_add_partition(device);
		const struct clv_mig_profile *profile =
			&model->profiles[next_number(text)];

		partition->start = (uint32_t)next_number(text);
		partition->size = profile->size;
		snprintf(partition->profile, sizeof(partition->profile), "%s",
			profile->name);
		clv_partition_make_name(
			GPUS, profile->name, partition->start, partition->name);
		if (next_number(text))
			clv_holders_add(&partition->holders)->pid = (uint32_t)i + 1;
		next_number(text);
	}
}

static void read_wishes(
	char **text, const struct clv_mig_model *model, struct question *q)
{
	struct clv_layout_rule *rule = clv_layout_add_rule(&q->layout);
	size_t n = (size_t)next_number(text);

	rule->has_partitions = true;
	for (size_t i = 0; i < n; i++) {
		struct clv_layout_partition *partition = clv_layout_add_partition(rule);
		int start;

		q->wanted[q->n_wanted++] = (uint8_t)next_number(text);
		snprintf(partition->profile, sizeof(partition->profile), "%s",
			model->profiles[q->wanted[i]].name);
		start = next_number(text);
		if (start < 0)
			partition->count = 1;
		else
			clv_layout_add_start(partition, (uint32_t)start);
	}
}

static int find_have(const struct clv_node *node, const char *name)
{
	for (size_t i = 0; i < node->devices[0].n_partitions; i++) {
		if (strcmp(node->devices[0].partitions[i].name, name) == 0)
			return (int)i;
	}
	return -1;
}

/* Where the plan has this wish: the next instance of its profile that is not spoken for.
 */
struct placed {
	int from;
	unsigned start;
	char profile[CLV_PROFILE_NAME_MAX];
	int is_taken;
};

static size_t list_placed(
	const struct question *q, const struct clv_plan *plan, struct placed *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->n_kept; i++) {
		int from = find_have(&q->node, plan->kept[i]);
		const struct clv_partition *partition =
			&q->node.devices[0].partitions[from];

		ret[n] = (struct placed){.from = from, .start = partition->start};
		snprintf(
			ret[n++].profile, CLV_PROFILE_NAME_MAX, "%s", partition->profile);
	}
	for (size_t i = 0; i < plan->n_steps; i++) {
		if (plan->steps[i].kind != CLV_STEP_CREATE)
			continue;
		ret[n] = (struct placed){.from = -1, .start = plan->steps[i].start};
		snprintf(ret[n++].profile, CLV_PROFILE_NAME_MAX, "%s",
			plan->steps[i].profile);
	}
	return n;
}

static unsigned count_options(
	const struct clv_mig_model *model, const struct placed *placed, size_t n)
{
	struct clv_mig_set set = {0};

	for (size_t i = 0; i < n; i++)
		clv_mig_set_add(model, &set,
			(struct clv_mig_instance){(uint8_t)clv_mig_profile_find(
							  model, placed[i].profile, NULL),
				(uint8_t)placed[i].start});
	return clv_mig_set_count_options(model, &set);
}

static void print_plan(const struct clv_mig_model *model, const struct question *q,
	const struct clv_plan *plan)
{
	struct placed placed[2 * CLV_MIG_INSTANCES_MAX];
	size_t n = list_placed(q, plan, placed);
	unsigned stay = 0, in_the_way = 0;

	for (size_t i = 0; i < plan->n_kept; i++)
		stay |= 1u << find_have(&q->node, plan->kept[i]);
	for (size_t i = 0; i < plan->n_obstacles; i++)
		in_the_way |= 1u << find_have(&q->node, plan->obstacles[i].partition);
	printf("%d %u %u %u", plan->n_obstacles ? -EBUSY : 0, stay, in_the_way,
		count_options(model, placed, n));
	for (size_t i = 0; i < q->n_wanted; i++) {
		const char *profile = model->profiles[q->wanted[i]].name;
		size_t k = 0;

		while (k < n &&
			(placed[k].is_taken || strcmp(placed[k].profile, profile) != 0))
			k++;
		if (k < n)
			placed[k].is_taken = 1;
		printf(" %d %u", k < n ? placed[k].from : -9,
			k < n ? placed[k].start : 99);
	}
	putchar('\n');
}

static void answer_line(const struct clv_mig_model *model, char *text)
{
	struct question q = {0};
	struct clv_plan plan = {0};
	struct clv_error err = {0};
	int r;

	read_have(&text, model, &q.node);
	read_wishes(&text, model, &q);
	r = clv_plan_make(&q.node, &q.layout, &plan, &err);
	if (r < 0)
		printf("%d 0 0 0\n", r);
	else
		print_plan(model, &q, &plan);
	clv_plan_clear(&plan);
	clv_layout_clear(&q.layout);
	clv_node_clear(&q.node);
}

int main(int argc, char **argv)
{
	const struct clv_mig_model *model =
		argc == 2 ? clv_mig_model_find(argv[1]) : NULL;
	char line[1024];

	if (!model)
		return 64;
	while (fgets(line, sizeof(line), stdin))
		answer_line(model, line);
	return 0;
}
