/* SPDX-License-Identifier: Apache-2.0 */
/* Creates partitions for leases, and destroys them afterwards. */
#include "agent/layout/ephemeral-partitions.h"

#include "agent/apply/apply.h"
#include "agent/device/devices.h"
#include "agent/device/hardware.h"
#include "agent/http/http.h"
#include "agent/ledger/holders.h"
#include "agent/ledger/ledger.h"
#include "agent/record/agent.h"
#include "agent/record/lease-request.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/units.h"
#include "core/plan/fitting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long a new partition may stay without a lease; the request that it was created for
 * is about to take it. */
#define UNUSED_TICKS 10u
#define MAKE_WAIT_MS 70000u
/* The interval between two attempts to destroy a partition, which grows with each. */
#define LONGEST_TICKS 600u

struct item {
	char name[CLV_PARTITION_NAME_MAX];
	bool turned_on;  /* MIG was turned on for it */
	unsigned n_wait; /* ticks without a lease before it is destroyed */
	unsigned n_tries;
};

struct clv_ephemeral {
	struct clv_agent *agent;
	struct item *items;
	size_t n;
};

static int append_item(void *userdata, const char *name, bool turned_on)
{
	struct clv_ephemeral *ephemeral = userdata;
	struct item *item = CLV_APPEND(ephemeral->items, ephemeral->n);

	if (!item)
		return -ENOMEM;
	snprintf(item->name, sizeof(item->name), "%s", name);
	item->turned_on = turned_on;
	item->n_wait = UNUSED_TICKS;
	return 0;
}

int clv_ephemeral_new(
	struct clv_agent *agent, struct clv_ephemeral **ret, struct clv_error *err)
{
	struct clv_ephemeral *ephemeral = calloc(1, sizeof(*ephemeral));

	if (!ephemeral)
		return clv_error_errno(err, ENOMEM, "cannot make partitions");
	ephemeral->agent = agent;
	clv_ephemeral_read(ephemeral);
	*ret = ephemeral;
	return 0;
}

void clv_ephemeral_read(struct clv_ephemeral *ephemeral)
{
	struct clv_store *store = clv_state_get(ephemeral->agent, NULL);
	struct clv_error err = {0};

	if (store && clv_store_read_ephemeral(store, append_item, ephemeral, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
}

struct clv_ephemeral *clv_ephemeral_free(struct clv_ephemeral *ephemeral)
{
	if (ephemeral)
		free(ephemeral->items);
	free(ephemeral);
	return NULL;
}

/* The smallest existing partition that is free and large enough. */
static const struct clv_agent_device *find_free(
	const struct clv_ephemeral *ephemeral, const struct clv_lease_request *wanted)
{
	const struct clv_agent_device *best = NULL;

	for (size_t i = 0; i < clv_devices_count(ephemeral->agent->devices); i++) {
		const struct clv_agent_device *device =
			clv_devices_at(ephemeral->agent->devices, i);

		if (!device->parent || !device->is_present || device->is_changing ||
			device->parent->is_cordoned ||
			device->info.memory_bytes < wanted->share.memory_bytes ||
			device->n_leases > 0)
			continue;
		if (wanted->device[0] != '\0' &&
			strcmp(device->parent->info.name, wanted->device) != 0 &&
			strcmp(device->info.name, wanted->device) != 0)
			continue;
		if (!best || device->info.memory_bytes < best->info.memory_bytes)
			best = device;
	}
	return best;
}

/* Turns the request into one for the whole partition. */
static void request_all_of(struct clv_lease_request *wanted, const char *name)
{
	snprintf(wanted->device, sizeof(wanted->device), "%s", name);
	wanted->profile[0] = '\0';
	wanted->share.compute_ppm = CLV_PPM;
	wanted->has_share = true;
	wanted->share.memory_bytes = 0;
	wanted->has_memory = false;
}

/* Finds a partition on a device on which no operation would be refused. */
static int find_fitting(const struct clv_ephemeral *ephemeral,
	const struct clv_node *node, const struct clv_lease_request *wanted,
	struct clv_fitting *ret, struct clv_error *err)
{
	_cleanup_free_ bool *is_taken = calloc(node->n_devices + 1, sizeof(bool));

	if (!is_taken)
		return clv_error_errno(err, ENOMEM, "cannot find room for a partition");
	for (uint32_t i = 0; i < node->n_devices; i++)
		is_taken[i] = clv_apply_would_refuse(
			ephemeral->agent->apply, node, node->devices[i].info.name);
	return clv_fitting_find(
		node, is_taken, wanted->device, wanted->share.memory_bytes, ret, err);
}

static int start(struct clv_ephemeral *ephemeral, struct clv_request *http,
	const struct clv_lease_request *wanted, struct clv_error *err)
{
	struct clv_agent *agent = ephemeral->agent;
	struct clv_node *node = clv_holders_node(agent);
	struct clv_apply_request request = {
		.uid = http->caller.uid,
		.count = 1,
		.start = -1,
		.is_for_lease = true,
	};
	struct clv_operation *op;
	struct clv_fitting fitting;
	int r = find_fitting(ephemeral, node, wanted, &fitting, err);

	if (r < 0)
		return r;
	snprintf(request.device, sizeof(request.device), "%s",
		node->devices[fitting.device].info.name);
	snprintf(request.profile, sizeof(request.profile), "%s", fitting.profile);
	snprintf(request.what, sizeof(request.what), "make %s on %s for a lease",
		fitting.profile, node->devices[fitting.device].info.name);
	r = clv_apply_start(agent->apply, &request, &op, err);
	if (r < 0)
		return r;
	snprintf(http->note, sizeof(http->note), "%s", clv_operation_id(op));
	snprintf(http->object, sizeof(http->object), "%s", clv_operation_id(op));
	return clv_request_wait(http, CLV_TOPIC_HARDWARE, MAKE_WAIT_MS);
}

static int finish(struct clv_ephemeral *ephemeral, struct clv_request *http,
	struct clv_lease_request *wanted, struct clv_error *err)
{
	const struct clv_operation *op =
		clv_apply_find(ephemeral->agent->apply, http->note, err);

	if (!op)
		return err->code;
	if (!clv_operation_has_ended(op) && !http->is_late)
		return clv_request_wait(http, CLV_TOPIC_HARDWARE, MAKE_WAIT_MS);
	if (clv_operation_created(op)[0] == '\0')
		return clv_operation_error(op, err);
	request_all_of(wanted, clv_operation_created(op));
	/* The new lease may end before the next tick. */
	for (size_t i = 0; i < ephemeral->n; i++) {
		if (strcmp(ephemeral->items[i].name, clv_operation_created(op)) == 0)
			ephemeral->items[i].n_wait = 0;
	}
	return 0;
}

int clv_ephemeral_get(struct clv_ephemeral *ephemeral, struct clv_request *http,
	struct clv_lease_request *wanted, struct clv_error *err)
{
	const struct clv_agent_device *device;
	struct clv_hardware *hardware = ephemeral->agent->hardware;

	if (http->caller.scope != CLV_SCOPE_ADMIN)
		return clv_error_set(err, -EPERM,
			"only an admin may have partitions created on this machine: "
			"request an existing one with --profile, or a share");
	if (http->note[0] != '\0')
		return finish(ephemeral, http, wanted, err);
	device = find_free(ephemeral, wanted);
	if (device) {
		request_all_of(wanted, device->info.name);
		return 0;
	}
	if (http->number == 0)
		http->number = clv_hardware_survey(hardware);
	if (clv_hardware_last_survey(hardware) < http->number && !http->is_late)
		return clv_request_wait(http, CLV_TOPIC_HARDWARE, MAKE_WAIT_MS);
	return start(ephemeral, http, wanted, err);
}

void clv_ephemeral_add(struct clv_ephemeral *ephemeral, const char *name, bool turned_on)
{
	struct clv_error err = {0};
	struct clv_store *store = clv_state_get(ephemeral->agent, &err);

	if (!store || clv_store_put_ephemeral(store, name, turned_on, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
	if (append_item(ephemeral, name, turned_on) < 0)
		clv_log_warning(0,
			"out of memory: %s is not destroyed when its lease ends", name);
}

static void remove_item(struct clv_ephemeral *ephemeral, struct item *item)
{
	struct clv_error err = {0};
	struct clv_store *store = clv_state_get(ephemeral->agent, &err);

	if (!store || clv_store_delete_ephemeral(store, item->name, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
	*item = ephemeral->items[--ephemeral->n];
}

/* Whether the item is the partition of the name, or in the device or partition. */
static bool is_in(const struct item *item, const char *name)
{
	size_t length = strlen(name);

	return strncmp(item->name, name, length) == 0 &&
	       (item->name[length] == '\0' || item->name[length] == '/');
}

void clv_ephemeral_forget(struct clv_ephemeral *ephemeral, const char *name)
{
	for (size_t i = ephemeral->n; i-- > 0;) {
		if (is_in(&ephemeral->items[i], name))
			remove_item(ephemeral, &ephemeral->items[i]);
	}
}

bool clv_ephemeral_is_on(const struct clv_ephemeral *ephemeral, const char *device)
{
	for (size_t i = 0; i < ephemeral->n; i++) {
		if (is_in(&ephemeral->items[i], device))
			return true;
	}
	return false;
}

static void destroy(struct clv_ephemeral *ephemeral, struct item *item)
{
	struct clv_apply_request request = {.turns_off = item->turned_on};
	struct clv_operation *op;
	struct clv_error err = {0};

	snprintf(request.partition, sizeof(request.partition), "%s", item->name);
	snprintf(request.what, sizeof(request.what), "destroy %s, whose lease has ended",
		item->name);
	if (clv_apply_start(ephemeral->agent->apply, &request, &op, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
	item->n_wait = item->n_tries < 9 ? 1u << item->n_tries : LONGEST_TICKS;
	item->n_tries++;
}

enum place {
	UNKNOWN, /* no driver shows its device, or not all of the device could be read */
	GONE,
	THERE,
};

static void name_of_device(const struct item *item, char ret[CLV_PARTITION_NAME_MAX])
{
	snprintf(ret, CLV_PARTITION_NAME_MAX, "%.*s", (int)strcspn(item->name, "/"),
		item->name);
}

/* A roll-back may bring back what an operation has destroyed. */
static bool is_changing(const struct clv_ephemeral *ephemeral, const struct item *item,
	const struct clv_node *node)
{
	char name[CLV_PARTITION_NAME_MAX];

	name_of_device(item, name);
	return clv_apply_changes(ephemeral->agent->apply, node, name);
}

/* Partitions for leases are instances of MIG or sets of processors. */
static enum place find_place(const struct clv_node *node, const struct item *item)
{
	const struct clv_node_device *device;
	char name[CLV_PARTITION_NAME_MAX];

	name_of_device(item, name);
	device = clv_node_find(node, name);
	if (!device || !(device->mig.is_capable || device->cores.is_capable))
		return UNKNOWN;
	for (size_t i = 0; i < device->n_partitions; i++) {
		if (strcmp(device->partitions[i].name, item->name) == 0)
			return THERE;
	}
	return GONE;
}

static bool has_lease(const struct clv_ephemeral *ephemeral, const struct item *item)
{
	const struct clv_agent_device *device =
		clv_devices_find(ephemeral->agent->devices, item->name);

	return device && device->n_leases > 0;
}

void clv_ephemeral_tick(struct clv_ephemeral *ephemeral)
{
	const struct clv_node *node = clv_hardware_node(ephemeral->agent->hardware);

	if (clv_hardware_awaits_devices(ephemeral->agent) ||
		clv_hardware_last_survey(ephemeral->agent->hardware) <
			ephemeral->agent->first_survey)
		return;
	for (size_t i = 0; i < ephemeral->n; i++) {
		struct item *item = &ephemeral->items[i];
		enum place place = find_place(node, item);

		if (has_lease(ephemeral, item)) {
			item->n_wait = item->n_tries = 0;
		} else if (is_changing(ephemeral, item, node)) {
			continue;
		} else if (place == GONE) {
			remove_item(ephemeral, item);
			return;
		} else if (place == THERE && item->n_wait > 0) {
			item->n_wait--;
		} else if (place == THERE) {
			destroy(ephemeral, item);
			return;
		}
	}
}
