/* SPDX-License-Identifier: Apache-2.0 */
/* Edits the layout of a device as it is, for one partition to create or destroy. */
#include "agent/apply/apply-edit.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add_partition(const struct clv_apply_request *request,
	struct clv_layout_rule *rule, struct clv_error *err)
{
	struct clv_layout_partition *partition = clv_layout_add_partition(rule);

	if (!partition)
		return clv_error_errno(err, ENOMEM, "cannot make a partition");
	snprintf(partition->profile, sizeof(partition->profile), "%s", request->profile);
	partition->line = 1;
	/* The profile sets the modes, so the keys of the device's rule must not. */
	rule->has_compute_mode = false;
	rule->memory_mode = 0;
	if (strncmp(request->profile, "vf:", 3) == 0) {
		/* Quotas of functions do not carry over to another number of
		 * functions. */
		rule->has_vf = false;
		rule->vf_quota = (struct clv_vf_quota){0};
	} else if (rule->has_mig)
		rule->mig = true;
	if (request->start < 0)
		partition->count = request->count;
	else if (clv_layout_add_start(partition, (uint32_t)request->start) < 0)
		return clv_error_errno(err, ENOMEM, "cannot make a partition");
	return 0;
}

static bool remove_start(struct clv_layout_partition *partition, uint32_t start)
{
	for (size_t i = 0; i < partition->n_starts; i++) {
		if (partition->starts[i] != start)
			continue;
		partition->starts[i] = partition->starts[--partition->n_starts];
		return true;
	}
	return false;
}

static void remove_line(struct clv_layout_rule *rule, size_t at)
{
	struct clv_layout_partition *partition = &rule->partitions[at];

	free(partition->starts);
	free(partition->parts);
	free(partition->shares.items);
	*partition = rule->partitions[--rule->n_partitions];
}

static int remove_partition(const struct clv_apply_request *request,
	struct clv_layout_rule *rule, struct clv_error *err)
{
	const char *at = strrchr(request->partition, '@');
	const char *profile = strchr(request->partition, '/');
	unsigned start;

	if (!at || !profile || sscanf(at + 1, "%u", &start) != 1)
		return clv_error_set(err, -EINVAL,
			"'%s' is not the name of a partition, such as gpu0/1g.10gb@4",
			request->partition);
	profile++;
	for (size_t i = 0; i < rule->n_partitions; i++) {
		struct clv_layout_partition *partition = &rule->partitions[i];

		if (strlen(partition->profile) == (size_t)(at - profile) &&
			strncmp(partition->profile, profile, (size_t)(at - profile)) ==
				0 &&
			remove_start(partition, start)) {
			/* A line without a start would let the planner choose the place.
			 */
			if (partition->n_starts == 0)
				remove_line(rule, i);
			if (rule->n_partitions == 0 && request->turns_off)
				rule->mig = false;
			return 0;
		}
	}
	return clv_error_set(err, -ENODEV,
		"there is no partition %s that could be destroyed by itself: see cleave "
		"devices; modes and virtual functions are changed with a layout",
		request->partition);
}

static void device_of(const struct clv_apply_request *request, char *ret, size_t size)
{
	if (request->partition[0] == '\0')
		snprintf(ret, size, "%s", request->device);
	else
		snprintf(ret, size, "%.*s", (int)strcspn(request->partition, "/"),
			request->partition);
}

int clv_apply_edit(const struct clv_apply_request *request, const struct clv_node *node,
	struct clv_layout *ret, char **ret_text, struct clv_error *err)
{
	const struct clv_node_device *device;
	struct clv_layout layout = {.on_busy = request->on_busy};
	char name[96];
	int r;

	device_of(request, name, sizeof(name));
	device = clv_node_find(node, name);
	if (!device)
		return clv_error_set(err, -ENODEV,
			"there is no device '%s' that can be divided: see cleave "
			"profiles",
			name);
	snprintf(layout.name, sizeof(layout.name), "%s", request->what);
	r = clv_layout_add_device(&layout, device);
	if (r < 0)
		r = clv_error_errno(err, ENOMEM, "cannot change a partition");
	else if (layout.n_rules == 0)
		r = clv_error_set(err, -EINVAL, "%s cannot be divided: %s",
			device->info.name,
			device->cannot_divide[0] ? device->cannot_divide : "use shares");
	else if (request->partition[0] != '\0')
		r = remove_partition(request, &layout.rules[0], err);
	else
		r = add_partition(request, &layout.rules[0], err);
	if (r >= 0)
		r = clv_layout_write(&layout, ret_text, err);
	if (r < 0) {
		clv_layout_clear(&layout);
		return r;
	}
	*ret = layout;
	return 0;
}

void clv_apply_strip_position(const struct clv_layout *layout, struct clv_error *err)
{
	size_t length = strlen(layout->name);
	const char *p = err->msg + length;

	if (length == 0 || strncmp(err->msg, layout->name, length) != 0 || *p != ':')
		return;
	p += 1 + strspn(p + 1, "0123456789");
	if (strncmp(p, ": ", 2) == 0)
		memmove(err->msg, p + 2, strlen(p + 2) + 1);
}
