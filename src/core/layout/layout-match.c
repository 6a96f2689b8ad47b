/* SPDX-License-Identifier: Apache-2.0 */
/* Matches the rules of a layout with the devices of a node. */
#include "core/layout/layout.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NO_RULE (-1)

static bool is_called(const struct clv_node_device *device, const char *name)
{
	return strcmp(name, device->info.name) == 0 ||
	       strcasecmp(name, device->info.uuid) == 0 ||
	       strcasecmp(name, device->pci_address) == 0;
}

/* "A100-80GB" also finds what NVML calls "NVIDIA A100-SXM4-80GB", by the tables. */
static bool has_model(
	const struct clv_selector *select, const struct clv_node_device *device)
{
	const char *model = select->model;

	if (model[0] == '\0' || strcasestr(device->info.model, model))
		return true;
	if (device->mig.model && strcasecmp(device->mig.model->name, model) == 0)
		return true;
	return device->xcp.model && strcasecmp(device->xcp.model->name, model) == 0;
}

static bool has_vendor(
	const struct clv_selector *select, const struct clv_node_device *device)
{
	const char *vendor = select->vendor;

	bool is_cpu = strcmp(device->info.type, "cpu") == 0;

	if (strcmp(vendor, "cpu") == 0)
		return is_cpu;
	if (vendor[0] == '\0')
		return true;
	/* The name that OpenCL reports. */
	if (strcmp(vendor, "amd") == 0 &&
		strcasestr(device->info.vendor, "Advanced Micro Devices"))
		return !is_cpu;
	return !is_cpu && strcasestr(device->info.vendor, vendor);
}

static bool has_index(const struct clv_selector *select, uint32_t index)
{
	for (size_t i = 0; i < select->n_indexes; i++) {
		if (select->indexes[i] == index)
			return true;
	}
	return select->n_indexes == 0;
}

static bool are_alike(const struct clv_node_device *a, const struct clv_node_device *b)
{
	return strcmp(a->info.model, b->info.model) == 0 &&
	       a->info.memory_bytes == b->info.memory_bytes;
}

/* Keeps only the largest group of equal devices; of equally large groups the first. */
static void leave_homogeneous(const struct clv_node *node, bool *is_selected)
{
	size_t best = 0, best_size = 0;

	for (size_t i = 0; i < node->n_devices; i++) {
		size_t size = 0;

		for (size_t j = i; j < node->n_devices && is_selected[i]; j++)
			size += is_selected[j] &&
				are_alike(&node->devices[i], &node->devices[j]);
		if (size > best_size) {
			best = i;
			best_size = size;
		}
	}
	for (size_t i = 0; i < node->n_devices; i++)
		is_selected[i] = is_selected[i] &&
				 are_alike(&node->devices[best], &node->devices[i]);
}

/* Keeps only the devices with a selected index.  Returns how many there were before. */
static uint32_t leave_indexes(
	const struct clv_selector *select, size_t n_devices, bool *is_selected)
{
	uint32_t index = 0;

	for (size_t i = 0; i < n_devices; i++) {
		if (is_selected[i])
			is_selected[i] = has_index(select, index++);
	}
	return index;
}

/* The devices of one rule, being searched. */
struct search {
	const struct clv_layout *layout;
	const struct clv_layout_rule *rule;
	const struct clv_node *node;
	bool *is_selected; /* by device */
	struct clv_error *err;
};

static bool is_one_of(const struct clv_selector *select, size_t begin, size_t end,
	const struct clv_node_device *device)
{
	for (size_t i = begin; i < end; i++) {
		if (is_called(device, select->names[i]))
			return true;
	}
	return false;
}

/* Whether the device matches one name of each group. */
static bool is_named(
	const struct clv_selector *select, const struct clv_node_device *device)
{
	for (size_t begin = 0, end; begin < select->n_names; begin = end) {
		end = clv_selector_end_of_key(select, begin);
		if (!is_one_of(select, begin, end, device))
			return false;
	}
	return true;
}

static bool is_there(const struct clv_node *node, const char *name)
{
	for (size_t i = 0; i < node->n_devices; i++) {
		if (is_called(&node->devices[i], name))
			return true;
	}
	return false;
}

/* A name without a device is an error, so that a missing device does not go unnoticed. */
static int select_names(struct search *s)
{
	const struct clv_selector *select = &s->rule->select;
	bool is_any = false;

	for (size_t i = 0; i < select->n_names && !select->is_optional; i++) {
		if (!is_there(s->node, select->names[i]))
			return clv_error_set(s->err, -ENODEV,
				"%s:%" PRIu32 ": the node has no device '%s': see cleave "
				"devices",
				s->layout->name, s->rule->line, select->names[i]);
	}
	for (size_t i = 0; i < s->node->n_devices; i++) {
		s->is_selected[i] = is_named(select, &s->node->devices[i]);
		is_any = is_any || s->is_selected[i];
	}
	if (select->n_more > 0 && !is_any && !select->is_optional)
		return clv_error_set(s->err, -ENODEV,
			"%s:%" PRIu32 ": name, uuid and pci contradict each other: a "
			"device must match each of them; one key takes a list of several "
			"devices",
			s->layout->name, s->rule->line);
	return 0;
}

/* n: number of devices that the indexes count. */
static int check_indexes(struct search *s, uint32_t n)
{
	const struct clv_selector *select = &s->rule->select;

	for (size_t i = 0; i < select->n_indexes && n > 0 && !select->is_optional; i++) {
		if (select->indexes[i] >= n)
			return clv_error_set(s->err, -ENODEV,
				"%s:%" PRIu32 ": the node has no device with the index "
				"%" PRIu32 " here: they are 0 to %" PRIu32,
				s->layout->name, s->rule->line, select->indexes[i],
				n - 1);
	}
	return 0;
}

static int select_devices(struct search *s)
{
	const struct clv_selector *select = &s->rule->select;
	int r = select_names(s);

	if (r < 0)
		return r;
	for (size_t i = 0; i < s->node->n_devices; i++) {
		const struct clv_node_device *device = &s->node->devices[i];

		s->is_selected[i] = s->is_selected[i] && has_model(select, device) &&
				    has_vendor(select, device);
	}
	if (select->is_homogeneous)
		leave_homogeneous(s->node, s->is_selected);
	return check_indexes(
		s, leave_indexes(select, s->node->n_devices, s->is_selected));
}

static int fail_with_none(struct search *s)
{
	const struct clv_node *node = s->node;

	if (node->n_devices == 0)
		return clv_error_set(s->err, -ENODEV,
			"%s:%" PRIu32 ": the node has no device that could be selected",
			s->layout->name, s->rule->line);
	return clv_error_set(s->err, -ENODEV,
		"%s:%" PRIu32 ": no device is selected by this rule; the node has %zu, "
		"the first is %s (%s): see cleave devices",
		s->layout->name, s->rule->line, node->n_devices,
		node->devices[0].info.name, node->devices[0].info.model);
}

static int match_rule(struct search *s, int32_t *ret)
{
	const struct clv_layout_rule *rules = s->layout->rules;
	bool is_any = false;
	int r = select_devices(s);

	if (r < 0)
		return r;
	for (size_t i = 0; i < s->node->n_devices; i++) {
		if (!s->is_selected[i])
			continue;
		is_any = true;
		if (ret[i] != NO_RULE)
			return clv_error_set(s->err, -EINVAL,
				"%s:%" PRIu32 ": %s is selected here and by the rule in "
				"line %" PRIu32 ": only one rule may select a device",
				s->layout->name, s->rule->line,
				s->node->devices[i].info.name, rules[ret[i]].line);
		ret[i] = (int32_t)(s->rule - rules);
	}
	return is_any || s->rule->select.is_optional ? 0 : fail_with_none(s);
}

int clv_layout_match(const struct clv_layout *layout, const struct clv_node *node,
	int32_t *ret, struct clv_error *err)
{
	_cleanup_free_ bool *is_selected = calloc(node->n_devices + 1, sizeof(bool));
	struct search s = {layout, NULL, node, is_selected, err};
	int r = 0;

	if (!is_selected)
		return clv_error_errno(err, ENOMEM, "cannot select devices");
	for (size_t i = 0; i < node->n_devices; i++)
		ret[i] = NO_RULE;
	for (size_t i = 0; i < layout->n_rules && r >= 0; i++) {
		s.rule = &layout->rules[i];
		r = match_rule(&s, ret);
	}
	return r;
}
