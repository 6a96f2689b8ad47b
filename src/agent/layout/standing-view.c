/* SPDX-License-Identifier: Apache-2.0 */
/* Standing shares for users: what a plan changes in them, and the current ones as a part
 * of an exported layout. */
#include "agent/layout/standing-view.h"

#include "agent/device/devices.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/standing.h"
#include "agent/record/agent.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 160

/* A resolved share as a request for exactly that. */
static struct clv_share_request request_of(const struct clv_share *share)
{
	return (struct clv_share_request){
		.compute_ppm = share->compute_ppm,
		.cap_ppm = share->cap_ppm,
		.memory_bytes = share->memory_bytes,
		.class = share->class,
		.range = share->range,
	};
}

static bool is_same(const struct clv_share_request *a, const struct clv_share_request *b)
{
	return a->compute_ppm == b->compute_ppm && a->cap_ppm == b->cap_ppm &&
	       a->memory_bytes == b->memory_bytes && a->class == b->class &&
	       a->range.least_ppm == b->range.least_ppm &&
	       a->range.most_ppm == b->range.most_ppm;
}

/* Of a partition that does not exist yet the memory is not known, so the half of a share
 * that is derived from the other one is not known either. */
static void describe(const struct clv_share_request *share, char ret[TEXT_MAX])
{
	char compute[40] = "by its memory", memory[32] = "by its share", cap[24] = "";

	if (share->range.most_ppm > 0) {
		clv_units_format_fraction(share->range.least_ppm, compute);
		strcat(compute, "..");
		clv_units_format_fraction(
			share->range.most_ppm, compute + strlen(compute));
	} else if (share->compute_ppm > 0) {
		clv_units_format_fraction(share->compute_ppm, compute);
	}
	if (share->memory_bytes > 0)
		clv_units_format_bytes(share->memory_bytes, memory);
	if (share->cap_ppm > 0) {
		strcpy(cap, ", cap ");
		clv_units_format_fraction(share->cap_ppm, cap + strlen(cap));
	}
	snprintf(ret, TEXT_MAX, "share %s, memory %s%s, class %s", compute, memory, cap,
		clv_class_to_string(share->class));
}

/* Changes. */

static const struct clv_plan_share *find_planned(
	const struct clv_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->n_shares; i++) {
		if (strcmp(plan->shares[i].name, name) == 0)
			return &plan->shares[i];
	}
	return NULL;
}

static const struct clv_standing_share *find_standing(
	const struct clv_standing *standing, const char *name)
{
	const struct clv_standing_share *share;

	for (size_t i = 0; (share = clv_standing_at(standing, i)); i++) {
		if (strcmp(share->name, name) == 0)
			return share;
	}
	return NULL;
}

static bool is_selected(const struct clv_plan *plan, const struct clv_node *node,
	const struct clv_standing_share *share)
{
	for (size_t i = 0; i < plan->n_devices; i++) {
		const struct clv_node_device *device =
			&node->devices[plan->devices[i].device];

		if (clv_standing_is_of(share, device->info.name))
			return true;
	}
	return false;
}

static void add_change(json_t *changes, const char *kind, const char *name,
	const char *before, const char *after, const char *more)
{
	char text[640];

	snprintf(text, sizeof(text), "%s the standing share %s (%s%s%s)%s", kind, name,
		before, before[0] && after[0] ? "; new: " : "", after, more);
	json_array_append_new(
		changes, json_pack("{s:s,s:s,s:s,s:s,s:s}", "change", kind, "name", name,
				 "before", before, "after", after, "text", text));
}

static void add_removed(const struct clv_agent *agent, const struct clv_node *node,
	const struct clv_plan *plan, json_t *changes)
{
	const struct clv_standing_share *share;
	struct clv_share_request request;
	char before[TEXT_MAX];

	for (size_t i = 0; (share = clv_standing_at(agent->standing, i)); i++) {
		if (!is_selected(plan, node, share) || find_planned(plan, share->name))
			continue;
		request = request_of(&share->share);
		describe(&request, before);
		add_change(changes, "remove", share->name, before, "",
			clv_ledger_standing(agent->ledger, share->name)
				? "; the lease in it keeps what it has"
				: "");
	}
}

static void add_planned(const struct clv_agent *agent,
	const struct clv_plan_share *planned, json_t *changes)
{
	const struct clv_standing_share *now =
		find_standing(agent->standing, planned->name);
	const struct clv_agent_device *device =
		clv_devices_find(agent->devices, planned->where);
	char before[TEXT_MAX] = "", after[TEXT_MAX];
	struct clv_share_request was, wanted = planned->request;
	struct clv_share share;
	bool is_known = device && clv_share_resolve(&planned->request,
					  device->info.memory_bytes, &share, NULL) >= 0;

	if (is_known)
		wanted = request_of(&share);
	if (now) {
		was = request_of(&now->share);
		if (!is_known || is_same(&was, &wanted))
			return;
		describe(&was, before);
	}
	describe(&wanted, after);
	add_change(changes, now ? "change" : "add", planned->name, before, after, "");
}

json_t *clv_standing_changes_to_json(const struct clv_agent *agent,
	const struct clv_node *node, const struct clv_plan *plan)
{
	json_t *changes = json_array();

	add_removed(agent, node, plan, changes);
	for (size_t i = 0; i < plan->n_shares; i++)
		add_planned(agent, &plan->shares[i], changes);
	return changes;
}

/* Export. */

/* Adds the share if it is set aside on `where`, a device or partition. */
static int add_if_in(struct clv_layout_shares *shares,
	const struct clv_standing_share *share, const char *where)
{
	const char *last = strrchr(share->name, '/');
	struct clv_layout_share *added;

	if (!last || strncmp(share->name, where, (size_t)(last - share->name)) != 0 ||
		where[last - share->name] != '\0')
		return 0;
	added = clv_layout_add_share(shares);
	if (!added)
		return -ENOMEM;
	snprintf(added->name, sizeof(added->name), "%s", last + 1);
	added->request = request_of(&share->share);
	return 0;
}

static int add_shares(const struct clv_standing *standing, const char *where,
	struct clv_layout_shares *shares)
{
	const struct clv_standing_share *share;
	int r = 0;

	for (size_t i = 0; r >= 0 && (share = clv_standing_at(standing, i)); i++)
		r = add_if_in(shares, share, where);
	return r;
}

static bool has_same_shares(
	const struct clv_layout_shares *a, const struct clv_layout_shares *b)
{
	bool is_equal = a->n == b->n;

	for (size_t i = 0; is_equal && i < a->n; i++)
		is_equal = strcmp(a->items[i].name, b->items[i].name) == 0 &&
			   is_same(&a->items[i].request, &b->items[i].request);
	return is_equal;
}

static const struct clv_partition *find_placed(const struct clv_node_device *device,
	const struct clv_layout_partition *entry, uint32_t start)
{
	for (size_t i = 0; i < device->n_partitions; i++) {
		if (device->partitions[i].start == start &&
			strcmp(device->partitions[i].profile, entry->profile) == 0)
			return &device->partitions[i];
	}
	return NULL;
}

/* The compute instances of a GPU instance have equal shares. */
static int add_shares_of(const struct clv_standing *standing,
	const struct clv_partition *partition, struct clv_layout_shares *shares)
{
	int r = partition ? add_shares(standing, partition->name, shares) : 0;

	if (r >= 0 && partition && shares->n == 0 && partition->n_parts > 0)
		r = add_shares(standing, partition->parts[0].name, shares);
	return r;
}

/* The entry behind `first` with these shares, or a new one; it takes them over. */
static struct clv_layout_partition *entry_for(struct clv_layout_rule *rule, size_t first,
	const struct clv_layout_partition *like, struct clv_layout_shares *shares)
{
	struct clv_layout_partition *entry;

	for (size_t i = first; i < rule->n_partitions; i++) {
		entry = &rule->partitions[i];
		if (has_same_shares(&entry->shares, shares)) {
			free(shares->items);
			return entry;
		}
	}
	entry = clv_layout_add_partition(rule);
	if (!entry) {
		free(shares->items);
		return NULL;
	}
	snprintf(entry->profile, sizeof(entry->profile), "%s", like->profile);
	entry->shares = *shares;
	for (size_t i = 0; i < like->n_parts; i++) {
		if (clv_layout_add_part(entry, like->parts[i]) < 0)
			return NULL;
	}
	return entry;
}

/* Splits an entry of several placements into entries with equal shares. */
static int split(const struct clv_standing *standing,
	const struct clv_node_device *device, const struct clv_layout_partition *from,
	struct clv_layout_rule *to)
{
	size_t first = to->n_partitions;
	int r = 0;

	for (size_t i = 0; i < from->n_starts && r >= 0; i++) {
		struct clv_layout_shares shares = {0};
		struct clv_layout_partition *entry;

		r = add_shares_of(
			standing, find_placed(device, from, from->starts[i]), &shares);
		entry = entry_for(to, first, from, &shares);
		if (r >= 0)
			r = entry ? clv_layout_add_start(entry, from->starts[i])
				  : -ENOMEM;
	}
	return r;
}

/* MIG instances and sets of processors, each with its placement. */
static int add_to_placed(const struct clv_standing *standing,
	const struct clv_node_device *device, struct clv_layout_rule *rule)
{
	struct clv_layout parts = {0};
	struct clv_layout_rule *old = clv_layout_add_rule(&parts);
	int r = old ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	old->partitions = rule->partitions;
	old->n_partitions = rule->n_partitions;
	rule->partitions = NULL;
	rule->n_partitions = 0;
	for (size_t i = 0; i < old->n_partitions && r >= 0; i++)
		r = split(standing, device, &old->partitions[i], rule);
	clv_layout_clear(&parts);
	return r;
}

/* The partitions of a mode and virtual functions have equal shares, in one entry. */
static int add_to_alike(const struct clv_standing *standing,
	const struct clv_node_device *device, struct clv_layout_rule *rule)
{
	const struct clv_partition *partition = &device->partitions[0];
	struct clv_layout_shares shares = {0};
	struct clv_layout_partition *entry;
	int r = add_shares(standing, partition->name, &shares);

	entry = r >= 0 && shares.n > 0 ? clv_layout_add_partition(rule) : NULL;
	if (!entry) {
		r = r >= 0 && shares.n > 0 ? -ENOMEM : r;
		free(shares.items);
		return r;
	}
	entry->shares = shares;
	entry->count = 1;
	if (rule->has_vf)
		snprintf(entry->profile, sizeof(entry->profile), "vf:%" PRIu32,
			rule->vf_count);
	else
		snprintf(
			entry->profile, sizeof(entry->profile), "%s", partition->profile);
	return 0;
}

static struct clv_layout_rule *rule_of(
	struct clv_layout *layout, const struct clv_node_device *device)
{
	const char *identity = clv_node_identity(device);

	for (size_t i = 0; i < layout->n_rules; i++) {
		if (strcmp(layout->rules[i].select.names[0], identity) == 0)
			return &layout->rules[i];
	}
	return NULL;
}

static int add_to_device(const struct clv_standing *standing,
	const struct clv_node_device *device, struct clv_layout *layout)
{
	struct clv_layout_rule *rule = rule_of(layout, device);
	struct clv_layout_shares shares = {0};
	int r = add_shares(standing, device->info.name, &shares);

	/* A device that cannot be divided has no rule of its own. */
	if (r >= 0 && shares.n > 0 && !rule) {
		rule = clv_layout_add_rule(layout);
		r = rule ? clv_selector_add_name(&rule->select, clv_node_identity(device))
			 : -ENOMEM;
	}
	if (r < 0 || !rule) {
		free(shares.items);
		return r;
	}
	rule->shares = shares;
	if (rule->n_partitions > 0)
		r = add_to_placed(standing, device, rule);
	else if (device->n_partitions > 0)
		r = add_to_alike(standing, device, rule);
	return r;
}

int clv_standing_add_to_layout(const struct clv_agent *agent, const struct clv_node *node,
	struct clv_layout *layout)
{
	int r = 0;

	for (size_t i = 0; i < node->n_devices && r >= 0; i++)
		r = add_to_device(agent->standing, &node->devices[i], layout);
	return r;
}
