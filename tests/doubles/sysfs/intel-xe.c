/* SPDX-License-Identifier: Apache-2.0 */
#include "intel.h"
#include "pci.h"
#include "tree.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* xe's sriov_admin, after xe_sriov_pf_sysfs.c and the ABI's description. */

static enum sy_resource resource_of(const struct sy_node *node)
{
	return (enum sy_resource)node->index;
}

static uint64_t most_of(enum sy_resource resource)
{
	return resource == SY_LMEM ? UINT64_MAX : UINT32_MAX;
}

/* Scheduling is set for each GT, and through debugfs for one alone: then no single answer
 * is correct. */
static int value_show(struct sy_node *node, struct sy_text *ret)
{
	const uint64_t *value = node->f->intel.value[resource_of(node)];

	if (resource_of(node) != SY_LMEM && sy_pf(node->f)->intel.gts > 1 &&
		value[0] != value[1])
		return -EUCLEAN;
	sy_add(ret, "%" PRIu64 "\n", value[0]);
	return 0;
}

static int value_store(struct sy_node *node, const char *text)
{
	uint64_t value;
	int r = sy_parse(text, most_of(resource_of(node)), &value);

	return r < 0 ? r : sy_intel_set_all_gts(node->f, resource_of(node), value);
}

/* All functions for scheduling; all virtual ones, in use or not, for memory. */
static int bulk_store(struct sy_node *node, const char *text)
{
	enum sy_resource resource = resource_of(node);
	struct sy_function *pf = node->f;
	uint64_t value;
	int r = sy_parse(text, most_of(resource), &value);

	for (unsigned i = resource == SY_LMEM; r == 0 && i <= pf->totalvfs; i++)
		r = sy_intel_set_all_gts(sy_intel_function(pf, i), resource, value);
	return r;
}

/* Only the physical function may be high. */
static int n_priorities(const struct sy_function *f)
{
	return f->physfn ? SY_HIGH : SY_HIGH + 1;
}

static int priority_show(struct sy_node *node, struct sy_text *ret)
{
	for (int i = 0; i < n_priorities(node->f); i++) {
		bool is_it = (uint64_t)i == node->f->intel.priority;

		sy_add(ret, "%s%s%s%s", i ? " " : "", is_it ? "[" : "",
			sy_priority_names[i], is_it ? "]" : "");
	}
	sy_add(ret, "\n");
	return 0;
}

static int find_priority(const char *text, int most)
{
	for (int i = 0; i < most; i++) {
		if (sy_same(text, sy_priority_names[i]))
			return i;
	}
	return -EINVAL;
}

static int priority_store(struct sy_node *node, const char *text)
{
	int priority = find_priority(text, n_priorities(node->f));

	if (priority < 0)
		return priority;
	node->f->intel.priority = (uint64_t)priority;
	return 0;
}

static int bulk_priority_store(struct sy_node *node, const char *text)
{
	int priority = find_priority(text, SY_HIGH);

	if (priority < 0)
		return priority;
	for (unsigned i = 0; i <= node->f->totalvfs; i++)
		sy_intel_function(node->f, i)->intel.priority = (uint64_t)priority;
	return 0;
}

/* Only a reset of the virtual function reverts this. */
static int stop_store(struct sy_node *node, const char *text)
{
	bool value;
	int r = sy_parse_bool(text, &value);

	if (r == 0 && value)
		node->f->intel.is_stopped = 1;
	return r;
}

static const struct sy_attribute bulk_files[] = {
	{"exec_quantum_ms", 0200, NULL, bulk_store, SY_QUANTUM},
	{"preempt_timeout_us", 0200, NULL, bulk_store, SY_TIMEOUT},
	{"sched_priority", 0200, NULL, bulk_priority_store, 0},
	{"vram_quota", 0200, NULL, bulk_store, SY_LMEM},
};
static const struct sy_attribute pf_files[] = {
	{"exec_quantum_ms", 0644, value_show, value_store, SY_QUANTUM},
	{"preempt_timeout_us", 0644, value_show, value_store, SY_TIMEOUT},
	{"sched_priority", 0644, priority_show, priority_store, 0},
};
static const struct sy_attribute vf_files[] = {
	{"exec_quantum_ms", 0644, value_show, value_store, SY_QUANTUM},
	{"preempt_timeout_us", 0644, value_show, value_store, SY_TIMEOUT},
	{"sched_priority", 0444, priority_show, NULL, 0},
	{"vram_quota", 0644, value_show, value_store, SY_LMEM},
};
static const struct sy_attribute stop_file = {"stop", 0200, NULL, stop_store, 0};

/* The folders of all possible virtual functions always exist; the link to the device only
 * while it exists. */
void sy_sriov_admin_build(struct sy_function *pf, struct sy_node *dir)
{
	struct sy_node *admin = sy_dir(dir, "sriov_admin"), *of;

	sy_files(sy_dir(admin, ".bulk_profile"), bulk_files, SY_COUNT(bulk_files), pf);
	of = sy_dir(admin, "pf");
	sy_files(sy_dir(of, "profile"), pf_files, SY_COUNT(pf_files), pf);
	sy_link(of, "device", "%s", sy_pci_path(pf));
	for (unsigned i = 1; i <= pf->totalvfs; i++) {
		struct sy_function *vf = sy_intel_function(pf, i);
		char name[16];

		sy_print(name, sizeof(name), "vf%u", i);
		of = sy_dir(admin, name);
		sy_files(sy_dir(of, "profile"), vf_files, SY_COUNT(vf_files), vf);
		sy_file(of, &stop_file, vf);
		if (vf->is_present)
			sy_link(of, "device", "%s", sy_pci_path(vf));
	}
}
