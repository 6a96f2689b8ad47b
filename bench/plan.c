/* SPDX-License-Identifier: Apache-2.0 */
/* How long a plan takes: for eight A100 GPUs and for a thousand mixed devices, each in
 * several situations.  Prints one JSON object per line with the median and the maximum of
 * many plans; the clock is read around clv_plan_make() alone. */
#include "core/plan/plan.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "core/gpu/gpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_ALIKE 8u
#define N_MIXED 1000u
#define N_HIVE 8u
#define N_PROCESSORS 64u
#define N_FUNCTIONS 24u
#define ROUNDS_MAX 10000u
#define NEVER UINT32_MAX

/* The partitions of an NVIDIA GPU before the plan. */
struct now {
	const char *profile; /* NULL: MIG is off */
	uint32_t count;
	uint32_t first_held; /* partitions from this one on are held; NEVER: none */
};

struct situation {
	const char *name;
	struct now now;
	const char *partitions; /* the wanted ones, as in a layout */
};

/* clang-format off */
static const struct situation alike[] = {
	{ "new",      { NULL, 0, NEVER },     "{profile: 1g.5gb, count: 7}" },
	{ "new-many", { NULL, 0, NEVER },
		"{profile: 1g.5gb, count: 2}, {profile: 1g.10gb}, {profile: 2g.10gb}, "
		"{profile: 1g.5gb+me}" },
	{ "kept",     { "1g.5gb", 7, 0 },     "{profile: 1g.5gb, count: 7}" },
	{ "mixture",  { "1g.5gb", 7, NEVER }, "{profile: 3g.20gb, count: 2}" },
	{ "held",     { "1g.5gb", 7, 4 },
		"{profile: 3g.20gb}, {profile: 1g.5gb, count: 3}" },
	{ "in-the-way", { "1g.5gb", 7, 0 },
		"{profile: 2g.10gb, count: 2}, {profile: 1g.5gb, count: 3}" },
	{ "parts",    { "1g.5gb", 7, NEVER }, "{profile: 1c.3g.20gb, count: 6}" },
	{ "no-room",  { "1g.5gb", 7, 0 },
		"{profile: 1g.5gb, count: 5}, {profile: 2g.10gb, count: 2}" },
};
/* clang-format on */

static const char *const mixed_models[] = {"A100-40GB", "A100-80GB", "H100-80GB",
	"H200-141GB", "A30-24GB", "RTX-PRO-6000-Blackwell-96GB"};

#define N_NVIDIA CLV_ARRAY_SIZE(mixed_models)
#define N_KINDS (N_NVIDIA + 3) /* MI300X, virtual functions, processors */

static void must(bool good)
{
	if (good)
		return;
	fprintf(stderr, "plan-bench: out of memory\n");
	exit(1);
}

static struct clv_node_device *add_device(
	struct clv_node *node, const char *model, const char *vendor, const char *type)
{
	uint32_t index = (uint32_t)node->n_devices;
	struct clv_node_device *device = clv_node_add(node);

	must(device != NULL);
	device->index = index;
	snprintf(device->info.name, sizeof(device->info.name), "gpu%" PRIu32, index);
	snprintf(device->info.uuid, sizeof(device->info.uuid), "GPU-%08" PRIx32, index);
	snprintf(device->info.model, sizeof(device->info.model), "%s", model);
	snprintf(device->info.vendor, sizeof(device->info.vendor), "%s", vendor);
	snprintf(device->info.type, sizeof(device->info.type), "%s", type);
	snprintf(device->pci_address, sizeof(device->pci_address),
		"%04" PRIx32 ":01:00.0", index);
	return device;
}

static void add_partition(struct clv_node_device *device, const char *profile,
	uint32_t start, uint32_t size, bool is_held)
{
	struct clv_partition *partition = clv_node_add_partition(device);
	struct clv_holder *holder;

	must(partition != NULL);
	partition->start = start;
	partition->size = size;
	snprintf(partition->profile, sizeof(partition->profile), "%s", profile);
	clv_partition_make_name(device->info.name, profile, start, partition->name);
	if (!is_held)
		return;
	holder = clv_holders_add(&partition->holders);
	must(holder != NULL);
	snprintf(holder->lease, sizeof(holder->lease), "l%zu", device->n_partitions);
}

static void add_nvidia(struct clv_node *node, const char *model, struct now now)
{
	struct clv_node_device *device = add_device(node, model, "nvidia", "gpu");
	struct clv_mig_state *mig = &device->mig;
	const struct clv_mig_profile *profile;
	int which;

	mig->model = clv_mig_model_find(model);
	mig->is_capable = true;
	mig->needs_reset = true;
	mig->is_on = now.profile != NULL;
	if (!now.profile)
		return;
	device->scheme = CLV_SCHEME_MIG;
	which = clv_mig_profile_find(mig->model, now.profile, NULL);
	must(which >= 0);
	profile = &mig->model->profiles[which];
	for (uint32_t i = 0; i < now.count; i++)
		add_partition(device, profile->name, profile->starts[i], profile->size,
			i >= now.first_held);
}

/* The smallest profile of each model at all places. */
static void add_mixed_nvidia(struct clv_node *node, const char *model, bool is_divided)
{
	const struct clv_mig_profile *smallest = clv_mig_model_find(model)->profiles;
	struct now now = {is_divided ? smallest->name : NULL, smallest->n_starts, 2};

	add_nvidia(node, model, now);
}

static void add_amd(struct clv_node *node, bool is_divided)
{
	struct clv_node_device *device = add_device(node, "MI300X", "amd", "gpu");
	struct clv_xcp_state *xcp = &device->xcp;

	xcp->is_capable = true;
	xcp->model = clv_xcp_model_find("MI300X");
	xcp->dies = xcp->model->dies;
	xcp->memory = CLV_NPS1;
	xcp->memory_available = CLV_NPS1 | CLV_NPS4;
	xcp->compute_available = UINT32_MAX;
	xcp->compute = is_divided ? CLV_CPX : CLV_SPX;
	snprintf(device->hive, sizeof(device->hive), "%zu",
		node->n_devices / (N_HIVE * N_KINDS));
	for (uint32_t i = 0; i < xcp->dies && is_divided; i++)
		add_partition(device, "CPX/NPS1", i, 1, false);
}

static void add_virtual(struct clv_node *node, bool is_divided)
{
	struct clv_node_device *device = add_device(node, "Flex 170", "intel", "gpu");
	struct clv_vf_state *vf = &device->vf;

	vf->is_capable = true;
	vf->total = N_FUNCTIONS;
	vf->framework = CLV_VF_XE;
	device->info.memory_bytes = UINT64_C(16) << 30;
	if (!is_divided)
		return;
	vf->items = calloc(N_FUNCTIONS, sizeof(*vf->items));
	must(vf->items != NULL);
	vf->n = N_FUNCTIONS;
	for (uint32_t i = 1; i <= N_FUNCTIONS; i++) {
		vf->items[i - 1].number = i;
		add_partition(device, "vf:24", i, 1, false);
	}
}

static void add_processors(struct clv_node *node, bool is_divided)
{
	struct clv_node_device *device = add_device(node, "a processor", "cpu", "cpu");

	device->cores.is_capable = true;
	device->cores.total = N_PROCESSORS;
	device->cores.ids = calloc(N_PROCESSORS, sizeof(*device->cores.ids));
	must(device->cores.ids != NULL);
	for (uint16_t i = 0; i < N_PROCESSORS; i++)
		device->cores.ids[i] = i;
	for (uint32_t i = 0; i < N_PROCESSORS && is_divided; i += 4) {
		struct clv_partition *partition;

		add_partition(device, "cores:4", i, 4, i >= 32);
		partition = &device->partitions[device->n_partitions - 1];
		snprintf(partition->address, sizeof(partition->address),
			"%" PRIu32 "-%" PRIu32, i, i + 3);
	}
}

static void add_mixed(struct clv_node *node, bool is_divided)
{
	size_t kind = node->n_devices % N_KINDS;

	if (kind < N_NVIDIA)
		add_mixed_nvidia(node, mixed_models[kind], is_divided);
	else if (kind == N_NVIDIA)
		add_amd(node, is_divided);
	else if (kind == N_NVIDIA + 1)
		add_virtual(node, is_divided);
	else
		add_processors(node, is_divided);
}

/* A layout with partitions of several sizes on most models. */
static const char mixed_layout[] =
	"version: 1\n"
	"devices:\n"
	"- {select: {model: A100-40GB}, partitions: [{profile: 1g.5gb, count: 2}, "
	"{profile: 2g.10gb}, {profile: 3g.20gb}]}\n"
	"- {select: {model: A100-80GB}, partitions: [{profile: 1c.3g.40gb, count: 3}, "
	"{profile: 1g.10gb, count: 2}, {profile: 1g.20gb}]}\n"
	"- {select: {model: H100-80GB}, partitions: [{profile: 1g.10gb, count: 2}, "
	"{profile: 2g.20gb, count: 2}]}\n"
	"- {select: {model: H200-141GB}, partitions: [{profile: 1g.18gb, count: 7}]}\n"
	"- {select: {model: A30-24GB}, partitions: [{profile: 2g.12gb}, "
	"{profile: 1g.6gb, count: 2}]}\n"
	"- {select: {model: RTX-PRO-6000-Blackwell-96GB}, partitions: [{profile: "
	"2g.48gb}, {profile: 1g.24gb, count: 2, shares: 4}]}\n"
	"- {select: {model: MI300X}, compute-mode: CPX, memory-mode: NPS4}\n"
	"- {select: {model: Flex}, vf: {count: 12, memory: 1G}}\n"
	"- {select: {vendor: cpu}, partitions: [{profile: cores:4, count: 8}, {profile: "
	"cores:8, count: 4}]}\n";

static int by_size(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static void measure(const char *name, const struct clv_node *node,
	const struct clv_layout *layout, size_t n_rounds)
{
	_cleanup_free_ uint64_t *took = calloc(n_rounds, sizeof(*took));
	size_t n_steps = 0, n_obstacles = 0;
	int r = 0;

	must(took != NULL);
	for (size_t i = 0; i < n_rounds; i++) {
		struct clv_plan plan = {0};
		struct clv_error err;
		uint64_t began = clv_clock_ns();

		r = clv_plan_make(node, layout, &plan, &err);
		took[i] = clv_clock_ns() - began;
		n_steps = plan.n_steps;
		n_obstacles = plan.n_obstacles;
		clv_plan_clear(&plan);
	}
	qsort(took, n_rounds, sizeof(*took), by_size);
	printf("{\"case\": \"%s\", \"devices\": %zu, \"result\": %d, \"steps\": %zu, "
	       "\"obstacles\": %zu, \"median_ms\": %.4f, \"longest_ms\": %.4f}\n",
		name, node->n_devices, r, n_steps, n_obstacles,
		(double)took[n_rounds / 2] / 1e6, (double)took[n_rounds - 1] / 1e6);
}

static void parse(const char *text, struct clv_layout *ret)
{
	struct clv_error err;

	if (clv_layout_parse(text, strlen(text), "bench", ret, &err) < 0) {
		fprintf(stderr, "plan-bench: %s\n", err.msg);
		exit(1);
	}
}

static void measure_alike(const struct situation *situation, size_t n_rounds)
{
	struct clv_layout layout = {0};
	struct clv_node node = {0};
	char name[32], text[256];

	for (uint32_t i = 0; i < N_ALIKE; i++)
		add_nvidia(&node, "A100-40GB", situation->now);
	snprintf(text, sizeof(text),
		"{version: 1, devices: {select: {}, partitions: [%s]}}",
		situation->partitions);
	parse(text, &layout);
	snprintf(name, sizeof(name), "a100-%s", situation->name);
	measure(name, &node, &layout, n_rounds);
	clv_layout_clear(&layout);
	clv_node_clear(&node);
}

static void measure_mixed(const char *name, bool is_divided, size_t n_rounds)
{
	struct clv_layout layout = {0};
	struct clv_node node = {0};

	while (node.n_devices < N_MIXED)
		add_mixed(&node, is_divided);
	parse(mixed_layout, &layout);
	measure(name, &node, &layout, n_rounds);
	clv_layout_clear(&layout);
	clv_node_clear(&node);
}

/* A layout with a rule for each device, as export writes it. */
static void measure_exported(size_t n_rounds)
{
	struct clv_layout layout = {0};
	struct clv_node node = {0};

	while (node.n_devices < N_MIXED)
		add_mixed(&node, true);
	must(clv_layout_of_node(&node, &layout, NULL) == 0);
	measure("mixed-exported", &node, &layout, n_rounds);
	clv_layout_clear(&layout);
	clv_node_clear(&node);
}

int main(int argc, char **argv)
{
	size_t n_rounds = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;

	if (n_rounds == 0 || n_rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: plan-bench ROUNDS\n");
		return 64;
	}
	for (size_t i = 0; i < CLV_ARRAY_SIZE(alike); i++)
		measure_alike(&alike[i], n_rounds);
	measure_mixed("mixed-new", false, n_rounds);
	measure_mixed("mixed-divided", true, n_rounds);
	measure_exported(n_rounds);
	return 0;
}
