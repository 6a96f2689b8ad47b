/* SPDX-License-Identifier: Apache-2.0 */
/* A node, a layout, and the plan between them, all from bytes. The node may be one that
 * no driver shows: overlapping instances, parts of unknown size, processors that do not
 * exist. For every input, no lease loses a device that the plan does not name, and errors
 * have one line. Where a driver could show such a node, a plan without obstacles can be
 * carried out and leaves nothing to do. */
#include "fuzz.h"

#include "base/error.h"
#include "base/text.h"
#include "core/gpu/gpu.h"
#include "core/plan/plan.h"
#include "plan-apply.h"

#include <errno.h>
#include <inttypes.h>

#define DEVICES_MAX 4u
#define LEASES 6u

static uint32_t take(struct clv_fuzz_input *input, uint32_t limit)
{
	return (uint32_t)clv_fuzz_take(input, 1) % limit;
}

static bool chance(struct clv_fuzz_input *input)
{
	return take(input, 2) != 0;
}

/* --- The node --- */

static void add_holders(struct clv_fuzz_input *input, struct clv_holders *holders)
{
	uint32_t n = take(input, 8);

	for (uint32_t i = 5; i < n; i++) {
		struct clv_holder *holder = clv_holders_add(holders);
		uint32_t who = take(input, 2 * LEASES);

		CLV_MUST(holder);
		if (who < LEASES)
			snprintf(holder->lease, sizeof(holder->lease), "%c",
				'a' + (int)who);
		else
			holder->pid = who;
	}
}

static struct clv_partition *add_partition(struct clv_fuzz_input *input,
	struct clv_node_device *device, const char *profile, uint32_t start,
	uint32_t size)
{
	struct clv_partition *partition = clv_node_add_partition(device);

	CLV_MUST(partition);
	snprintf(partition->profile, sizeof(partition->profile), "%s", profile);
	partition->start = start;
	partition->size = size;
	add_holders(input, &partition->holders);
	return partition;
}

static void add_parts(struct clv_fuzz_input *input, struct clv_partition *partition)
{
	uint32_t n = take(input, 4);

	partition->is_incomplete = n == 0 && take(input, 4) == 0;
	for (uint32_t i = 0; i < n; i++) {
		struct clv_partition *part = clv_node_add_part(partition);

		CLV_MUST(part);
		part->size = take(input, 9);
		part->start = take(input, 9);
		add_holders(input, &part->holders);
	}
}

static uint32_t count_mig_models(void)
{
	uint32_t n = 0;

	while (clv_mig_model_at(n))
		n++;
	return n;
}

static uint32_t count_xcp_models(void)
{
	uint32_t n = 0;

	while (clv_xcp_model_at(n))
		n++;
	return n;
}

static void make_mig(struct clv_fuzz_input *input, struct clv_node_device *device)
{
	struct clv_mig_state *mig = &device->mig;
	uint32_t n = take(input, 10), flags = take(input, 64);

	mig->is_capable = true;
	mig->model =
		flags < 62 ? clv_mig_model_at(take(input, count_mig_models())) : NULL;
	mig->is_on = flags & 1;
	mig->is_pending = (flags & 0x1e) == 2;
	mig->needs_reset = flags & 0x20;
	if (!mig->is_on)
		return;
	device->scheme = CLV_SCHEME_MIG;
	for (uint32_t i = 0; i < n && mig->model; i++) {
		uint32_t which = take(input, (uint32_t)mig->model->n_profiles + 1);
		const struct clv_mig_profile *profile = &mig->model->profiles[which];
		bool is_known = which < mig->model->n_profiles;

		add_parts(input,
			add_partition(input, device, is_known ? profile->name : "9g.1gb",
				take(input, 14), is_known ? profile->size : 1));
	}
}

static void make_xcp(struct clv_fuzz_input *input, struct clv_node_device *device)
{
	struct clv_xcp_state *xcp = &device->xcp;
	uint32_t which = take(input, count_xcp_models() + 1);
	char profile[CLV_PROFILE_NAME_MAX];
	unsigned n;

	xcp->is_capable = true;
	xcp->model = clv_xcp_model_at(which);
	xcp->dies = xcp->model ? xcp->model->dies : take(input, 12);
	xcp->compute = (enum clv_compute_mode)take(input, _CLV_COMPUTE_MODE_MAX);
	xcp->memory = 1u << take(input, 4);
	xcp->requested_memory = take(input, 4) == 0 ? 1u << take(input, 4) : 0;
	xcp->memory_available = take(input, 16);
	xcp->compute_available = take(input, 8) ? 0x1f : take(input, 32);
	snprintf(device->hive, sizeof(device->hive), "%.*s", (int)take(input, 3), "hi");
	n = clv_xcp_devices(xcp->compute, xcp->dies);
	device->scheme = xcp->compute == CLV_SPX ? CLV_SCHEME_NONE : CLV_SCHEME_XCP;
	snprintf(profile, sizeof(profile), "%s/%s",
		clv_compute_mode_to_string(xcp->compute),
		clv_memory_mode_to_string((enum clv_memory_mode)xcp->memory));
	for (uint32_t i = 0; i < n && xcp->compute != CLV_SPX; i++)
		add_partition(input, device, profile, i, 1);
}

static void copy_holders(struct clv_holders *to, const struct clv_holders *from)
{
	for (size_t i = 0; i < from->n; i++) {
		struct clv_holder *holder = clv_holders_add(to);

		CLV_MUST(holder);
		*holder = from->items[i];
	}
}

static const char *const type_names[] = {
	"NVIDIA L40S-4Q", "NVIDIA L40S-12Q", "GRID A100-10C", "1155"};

/* Functions that are vGPUs, of listed types and of unlisted ones. */
static void make_vgpus(struct clv_fuzz_input *input, struct clv_vf_state *vf)
{
	uint32_t n = take(input, 4);

	vf->framework = chance(input) ? CLV_VF_VFIO : CLV_VF_MDEV;
	vf->has_all_types = chance(input);
	vf->is_mixed = chance(input);
	vf->types = calloc(n + 1, sizeof(*vf->types));
	CLV_MUST(vf->types);
	for (vf->n_types = 0; vf->n_types < n; vf->n_types++) {
		struct clv_vgpu_type *type = &vf->types[vf->n_types];

		snprintf(type->id, sizeof(type->id), "%zu", 1154 + vf->n_types);
		snprintf(type->name, sizeof(type->name), "%s", type_names[vf->n_types]);
		type->memory_bytes = (uint64_t)take(input, 4) << 32;
		type->max_instances = take(input, 6);
	}
	for (size_t i = 0; i < vf->n; i++) {
		if (chance(input))
			snprintf(vf->items[i].quota.type, sizeof(vf->items[i].quota.type),
				"%s", type_names[take(input, 4)]);
	}
}

static void make_vf(struct clv_fuzz_input *input, struct clv_node_device *device)
{
	struct clv_vf_state *vf = &device->vf;
	uint32_t n = take(input, 10) % (device->scheme == CLV_SCHEME_NONE ? 10 : 1);
	char profile[16];

	vf->is_capable = true;
	vf->total = take(input, 70);
	vf->counts = take(input, 3) ? 0 : clv_fuzz_take(input, 8);
	vf->items = calloc(n + 1, sizeof(*vf->items));
	CLV_MUST(vf->items);
	vf->n = n;
	if (n > 0)
		device->scheme = CLV_SCHEME_VF;
	snprintf(profile, sizeof(profile), "vf:%u", n);
	for (uint32_t i = 0; i < n; i++) {
		vf->items[i].number = i + 1;
		vf->items[i].quota.memory_bytes = (uint64_t)take(input, 8) << 28;
		copy_holders(&vf->items[i].holders,
			&add_partition(input, device, profile, i + 1, 1)->holders);
	}
	if (take(input, 3) == 0)
		make_vgpus(input, vf);
}

static void make_cores(struct clv_fuzz_input *input, struct clv_node_device *device)
{
	struct clv_cores_state *cores = &device->cores;
	uint32_t n = take(input, 8), gap = 1 + take(input, 3);
	char profile[16];

	snprintf(device->info.type, sizeof(device->info.type), "cpu");
	cores->is_capable = true;
	cores->total = take(input, 40);
	cores->ids = calloc(cores->total + 1, sizeof(*cores->ids));
	CLV_MUST(cores->ids);
	for (uint32_t i = 0; i < cores->total; i++)
		cores->ids[i] = (uint16_t)(i * gap);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t first = take(input, 50), last = first + take(input, 6);
		struct clv_partition *partition;

		snprintf(profile, sizeof(profile), "cores:%u", last - first + 1);
		partition =
			add_partition(input, device, profile, first, last - first + 1);
		snprintf(partition->address, sizeof(partition->address), "%u-%u", first,
			last);
		device->scheme = CLV_SCHEME_CORES;
	}
}

static void make_device(struct clv_fuzz_input *input, struct clv_node *node)
{
	uint32_t index = (uint32_t)node->n_devices, kind = take(input, 8);
	struct clv_node_device *device = clv_node_add(node);

	CLV_MUST(device);
	device->index = index;
	snprintf(device->info.name, sizeof(device->info.name), "gpu%u", index);
	if (take(input, 8))
		snprintf(device->info.uuid, sizeof(device->info.uuid), "GPU-%u", index);
	snprintf(device->info.vendor, sizeof(device->info.vendor), "%s",
		kind == 2 || kind == 3 ? "amd" : "nvidia");
	snprintf(device->info.type, sizeof(device->info.type), "gpu");
	device->info.memory_bytes = (uint64_t)take(input, 64) << 30;
	if (kind <= 1 || kind == 7)
		make_mig(input, device);
	if (kind == 2)
		make_xcp(input, device);
	if (kind == 4 || kind == 7)
		make_vf(input, device);
	if (kind == 5)
		make_cores(input, device);
	add_holders(input, &device->holders);
	clv_node_name_partitions(device);
}

/* --- The layout --- */

static void add_shares(struct clv_fuzz_input *input, struct clv_layout_shares *shares)
{
	if (take(input, 4) == 0)
		shares->n_equal = take(input, 5);
}

static void make_profile(struct clv_fuzz_input *input,
	const struct clv_node_device *device, char *ret, size_t size)
{
	static const char *const some[] = {"CPX", "SPX", "DPX/NPS2", "CPX/NPS4",
		"QPX/NPS9", "1c.3g.20gb", "2c.7g.40gb", "3c.4g.20gb", "1c.", "x",
		"vf:", "cores:"};
	const struct clv_mig_model *model = device->mig.model;
	uint32_t which = take(input, 32);

	if (device->cores.is_capable && which < 28)
		snprintf(ret, size, "cores:%u", take(input, 8));
	else if (device->vf.is_capable && !model && which < 28)
		snprintf(ret, size, "vf:%u", take(input, 70));
	else if (model && which < 20)
		snprintf(ret, size, "%s",
			model->profiles[take(input, (uint32_t)model->n_profiles)].name);
	else if (model && which < 28)
		snprintf(ret, size, "%uc.%s", 1 + take(input, 8),
			model->profiles[take(input, (uint32_t)model->n_profiles)].name);
	else
		snprintf(
			ret, size, "%s", some[take(input, sizeof(some) / sizeof(*some))]);
}

static void make_partition(struct clv_fuzz_input *input, struct clv_layout_rule *rule,
	const struct clv_node_device *device)
{
	struct clv_layout_partition *partition = clv_layout_add_partition(rule);
	uint32_t n_parts = take(input, 8);

	CLV_MUST(partition);
	make_profile(input, device, partition->profile, sizeof(partition->profile));
	partition->line = rule->line;
	if (take(input, 4) == 0)
		CLV_MUST(clv_layout_add_start(partition, take(input, 60)) == 0);
	else
		partition->count = 1 + take(input, 4) * take(input, 4);
	for (uint32_t i = 4; i < n_parts; i++)
		CLV_MUST(clv_layout_add_part(
				 partition, CLV_LAYOUT_PART(1 + take(input, 9),
						    (int32_t)take(input, 11) - 1)) == 0);
	add_shares(input, &partition->shares);
}

static void make_quota(struct clv_fuzz_input *input, struct clv_vf_quota *quota)
{
	quota->memory_bytes = (uint64_t)take(input, 5) << 28;
	quota->contexts = take(input, 3);
	if (take(input, 4) == 0) {
		static const char *const wanted[] = {"L40S-12Q", "GRID A100-10C",
			"NVIDIA L40S-4Q", "1155", "none", "a type"};

		snprintf(quota->type, sizeof(quota->type), "%s", wanted[take(input, 6)]);
	}
	if (take(input, 8) == 0)
		snprintf(quota->driver, sizeof(quota->driver), "vfio-pci");
}

static void make_rule(struct clv_fuzz_input *input, struct clv_layout *layout,
	const struct clv_node *node)
{
	struct clv_layout_rule *rule = clv_layout_add_rule(layout);
	uint32_t which = take(input, (uint32_t)node->n_devices), flags = take(input, 128);
	uint32_t n = take(input, 6);
	char name[16];

	CLV_MUST(rule);
	rule->line = 3 + (uint32_t)layout->n_rules;
	snprintf(name, sizeof(name), "gpu%u", which);
	CLV_MUST(clv_selector_add_name(&rule->select, name) == 0);
	rule->has_mig = (flags & 3) == 1;
	rule->mig = rule->has_mig && chance(input);
	rule->preserve = (flags & 0x1c) == 4;
	rule->has_compute_mode = (flags & 0x60) == 0x20;
	if (rule->has_compute_mode)
		rule->compute_mode =
			(enum clv_compute_mode)take(input, _CLV_COMPUTE_MODE_MAX);
	if ((flags & 0x60) == 0x40 || (flags & 0x70) == 0x20)
		rule->memory_mode = 1u << take(input, 4);
	rule->has_vf = take(input, 6) == 0 ||
		       (node->devices[which].vf.is_capable && chance(input));
	if (rule->has_vf) {
		rule->vf_count = take(input, 10);
		make_quota(input, &rule->vf_quota);
	}
	rule->has_partitions = take(input, 4) != 0;
	for (uint32_t i = 0; rule->has_partitions && i < n; i++)
		make_partition(input, rule, &node->devices[which]);
	add_shares(input, &rule->shares);
}

/* --- What must hold --- */

static bool is_named(const struct clv_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->n_obstacles; i++) {
		if (strcmp(plan->obstacles[i].partition, name) == 0)
			return true;
	}
	return false;
}

static void check_destroyed(const struct clv_plan *plan,
	const struct clv_partition *partition, const struct clv_step *step)
{
	bool is_part = step->kind == CLV_STEP_DESTROY_PART;

	if (strcmp(partition->name, is_part ? step->inside : step->partition) != 0)
		return;
	CLV_MUST(partition->holders.n == 0 || is_named(plan, partition->name));
	for (size_t i = 0; i < partition->n_parts; i++) {
		const struct clv_partition *part = &partition->parts[i];

		if (!is_part || strcmp(part->name, step->partition) == 0)
			CLV_MUST(part->holders.n == 0 || is_named(plan, part->name));
	}
}

static void check_step(const struct clv_node *node, const struct clv_plan *plan,
	const struct clv_step *step)
{
	const struct clv_node_device *device;
	char text[256];

	CLV_MUST(step->device < node->n_devices);
	clv_step_describe(step, node, text, sizeof(text));
	CLV_MUST(text[0] != '\0' && memchr(step->why, '\0', sizeof(step->why)));
	device = &node->devices[step->device];
	for (size_t i = 0; step->kind <= CLV_STEP_DESTROY && i < device->n_partitions;
		i++)
		check_destroyed(plan, &device->partitions[i], step);
}

/* Whether a driver could show this device. */
static bool is_possible(const struct clv_node_device *device)
{
	const struct clv_xcp_state *xcp = &device->xcp;

	if (device->mig.is_on)
		return plan_fits(device);
	if (xcp->is_capable)
		return clv_xcp_memory_modes(xcp->compute, xcp->dies) & xcp->memory &&
		       xcp->compute_available == 0x1f && xcp->requested_memory == 0;
	if (device->cores.is_capable)
		return plan_fits(device);
	return true;
}

static void check_carried_out(struct clv_node *node, const struct clv_layout *layout,
	const struct clv_plan *plan)
{
	struct clv_plan later = {0};
	struct clv_error err;

	for (size_t i = 0; i < node->n_devices; i++) {
		if (!is_possible(&node->devices[i]))
			return;
	}
	CLV_MUST(!plan_apply_all(node, plan));
	CLV_MUST(clv_plan_make(node, layout, &later, &err) == 0);
	CLV_MUST(later.n_steps == 0 && later.n_obstacles == 0);
	clv_plan_clear(&later);
}

static void check_plan(struct clv_node *node, const struct clv_layout *layout,
	const struct clv_plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		check_step(node, plan, &plan->steps[i]);
	for (size_t i = 0; i < plan->n_obstacles; i++)
		CLV_MUST(plan->obstacles[i].device < node->n_devices &&
			 plan->obstacles[i].why[0] != '\0');
	if (plan->n_obstacles == 0)
		check_carried_out(node, layout, plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	struct clv_fuzz_input input = {data, n_bytes};
	uint32_t n = 1 + take(&input, DEVICES_MAX);
	struct clv_node node = {0};
	struct clv_layout layout = {.name = "layout.yaml"};
	struct clv_plan plan = {0};
	struct clv_error err = {0};
	int r;

	for (uint32_t i = 0; i < n; i++)
		make_device(&input, &node);
	while (input.n_left > 0 && layout.n_rules < n)
		make_rule(&input, &layout, &node);
	r = clv_plan_make(&node, &layout, &plan, &err);
	if (r < 0)
		CLV_MUST(err.code == r && clv_text_is_line(err.msg) &&
			 strncmp(err.msg, "layout.yaml:", 12) == 0);
	else
		check_plan(&node, &layout, &plan);
	clv_plan_clear(&plan);
	clv_layout_clear(&layout);
	clv_node_clear(&node);
	return 0;
}
