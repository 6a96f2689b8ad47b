/* SPDX-License-Identifier: Apache-2.0 */
/* The table of standing shares, and its copy in the state file. */
#include "agent/ledger/standing.h"

#include "agent/device/devices.h"
#include "agent/ledger/ledger.h"
#include "agent/record/agent.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/array.h"
#include "base/error.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct clv_standing {
	struct clv_agent *agent;
	struct clv_standing_share *items;
	size_t n;
};

static int append_share(void *userdata, const struct clv_standing_share *share)
{
	struct clv_standing *standing = userdata;
	struct clv_standing_share *copy = CLV_APPEND(standing->items, standing->n);

	if (!copy)
		return -ENOMEM;
	*copy = *share;
	return 0;
}

int clv_standing_new(
	struct clv_agent *agent, struct clv_standing **ret, struct clv_error *err)
{
	struct clv_standing *standing = calloc(1, sizeof(*standing));

	if (!standing)
		return clv_error_errno(err, ENOMEM, "cannot keep standing shares");
	standing->agent = agent;
	clv_standing_read(standing);
	*ret = standing;
	return 0;
}

void clv_standing_read(struct clv_standing *standing)
{
	struct clv_store *store = clv_state_get_readable(standing->agent, NULL);
	struct clv_error err = {0};

	free(standing->items);
	standing->items = NULL;
	standing->n = 0;
	if (store && clv_store_read_standing(store, append_share, standing, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
}

struct clv_standing *clv_standing_free(struct clv_standing *standing)
{
	if (standing)
		free(standing->items);
	free(standing);
	return NULL;
}

bool clv_standing_is_of(const struct clv_standing_share *share, const char *device)
{
	size_t n = strlen(device);

	return strncmp(share->name, device, n) == 0 && share->name[n] == '/';
}

static bool is_replaced(const struct clv_standing_share *share,
	const struct clv_node *node, const bool *is_selected)
{
	for (size_t i = 0; i < node->n_devices; i++) {
		if (is_selected[i] &&
			clv_standing_is_of(share, node->devices[i].info.name))
			return true;
	}
	return false;
}

static int add(struct clv_standing *standing, const struct clv_plan_share *wanted,
	struct clv_error *err)
{
	const struct clv_agent_device *device =
		clv_devices_find(standing->agent->devices, wanted->where);
	struct clv_standing_share share = {0};
	int r;

	if (!device)
		return clv_error_set(err, -ENODEV,
			"the device or partition %s, for the share %s, does not exist",
			wanted->where, wanted->name);
	r = clv_share_resolve(
		&wanted->request, device->info.memory_bytes, &share.share, err);
	if (r < 0) {
		clv_error_prefix(err, "the share %s", wanted->name);
		return r;
	}
	snprintf(share.name, sizeof(share.name), "%s", wanted->name);
	snprintf(share.device_uuid, sizeof(share.device_uuid), "%s", device->info.uuid);
	return append_share(standing, &share) < 0
		       ? clv_error_errno(err, ENOMEM, "cannot keep standing shares")
		       : 0;
}

static int store_all(struct clv_standing *standing, struct clv_error *err)
{
	struct clv_store *store = clv_state_get(standing->agent, err);
	int r;

	if (!store)
		return err->code;
	r = clv_store_begin(store, false, err);
	if (r < 0)
		return r;
	r = clv_store_clear_standing(store, err);
	for (size_t i = 0; i < standing->n && r >= 0; i++)
		r = clv_store_put_standing(store, &standing->items[i], err);
	if (r >= 0)
		r = clv_store_commit(store, err);
	if (r < 0)
		clv_store_rollback(store);
	return r;
}

int clv_standing_replace(struct clv_standing *standing, const struct clv_node *node,
	const bool *is_selected, const struct clv_plan *plan, struct clv_error *err)
{
	struct clv_standing before = *standing;
	int r = 0;

	standing->items = NULL;
	standing->n = 0;
	for (size_t i = 0; i < before.n && r >= 0; i++) {
		if (!is_replaced(&before.items[i], node, is_selected) &&
			append_share(standing, &before.items[i]) < 0)
			r = clv_error_errno(err, ENOMEM, "cannot keep standing shares");
	}
	for (size_t i = 0; i < plan->n_shares && r >= 0; i++)
		r = add(standing, &plan->shares[i], err);
	/* Skip the write if there were no shares and there are none. */
	if (r >= 0 && before.n + standing->n > 0)
		r = store_all(standing, err);
	if (r < 0) {
		free(standing->items);
		*standing = before;
		return r;
	}
	free(before.items);
	standing->agent->n_changes++;
	return 0;
}

const struct clv_standing_share *clv_standing_at(
	const struct clv_standing *standing, size_t i)
{
	return i < standing->n ? &standing->items[i] : NULL;
}

bool clv_standing_is_called(const struct clv_standing_share *share, const char *name)
{
	const char *last = strrchr(share->name, '/');

	return strcmp(share->name, name) == 0 || (last && strcmp(last + 1, name) == 0);
}

static bool is_taken(const struct clv_standing *standing, const char *name)
{
	return clv_ledger_standing(standing->agent->ledger, name) != NULL;
}

void clv_standing_add_promised(const struct clv_standing *standing,
	const struct clv_agent_device *device, const char *without,
	struct clv_promised *promised)
{
	for (size_t i = 0; i < standing->n; i++) {
		const struct clv_standing_share *share = &standing->items[i];

		if (strcmp(share->device_uuid, device->info.uuid) != 0 ||
			strcmp(share->name, without) == 0 ||
			is_taken(standing, share->name))
			continue;
		promised->compute_ppm += share->share.compute_ppm;
		promised->memory_bytes += share->share.memory_bytes;
	}
}
