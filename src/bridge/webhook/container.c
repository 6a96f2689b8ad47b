/* SPDX-License-Identifier: Apache-2.0 */
/* What one container requests: read, completed by its profile and its pair, and checked.
 * A node offers the devices that it does not divide as one resource, or as share and
 * memory, so no node has what requests two of these. */
#include "bridge/webhook/container.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/units.h"
#include "bridge/webhook/amount.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHARE_MOST 100u
#define MIB (UINT64_C(1) << 20)

/* The container's requests, as far as they are cleave's. */
struct wanted {
	uint64_t share;                /* hundredths; 0: none */
	uint64_t memory_bytes;         /* 0: none */
	const char *memory;            /* the name of its resource; borrowed */
	const char *undivided, *other; /* resources of which a node has one; borrowed */
	bool uses_cleave;
};

const char *clv_webhook_container_name(const struct clv_webhook_container *container)
{
	const char *name = json_string_value(json_object_get(container->object, "name"));

	return name ? name : "";
}

/* Sets an amount, of "limits" or of "requests".  Takes amount. */
static int set_one(struct clv_patch *patch, const struct clv_webhook_container *container,
	const char *of, const char *resource, json_t *amount)
{
	char at[24];
	const char *const keys[] = {
		"spec", container->list, at, "resources", of, resource};

	snprintf(at, sizeof(at), "%zu", container->at);
	return clv_patch_set(patch, keys, CLV_ARRAY_SIZE(keys), amount);
}

static int set(struct clv_patch *patch, const struct clv_webhook_container *container,
	const char *resource, uint64_t amount, struct clv_error *err)
{
	char text[24];
	int r;

	snprintf(text, sizeof(text), "%" PRIu64, amount);
	r = set_one(patch, container, "limits", resource, json_string(text));
	if (r >= 0)
		r = set_one(patch, container, "requests", resource, json_string(text));
	return r < 0 ? clv_error_set(err, r, "its resources cannot be set") : 0;
}

/* --- Reading --- */

static int add_memory(struct wanted *wanted, const char *resource, uint64_t amount,
	uint32_t unit_mib, struct clv_error *err)
{
	if (amount > UINT64_MAX / MIB / unit_mib)
		return clv_error_set(err, -EINVAL,
			"%" PRIu64 " of %.64s is more than any device has: it counts "
			"units of %" PRIu32 " MiB",
			amount, resource, unit_mib);
	wanted->memory = resource;
	wanted->memory_bytes = amount * unit_mib * MIB;
	return 0;
}

/* Share and memory are offered together; memory in another unit is not. */
static void note_undivided(
	struct wanted *wanted, enum clv_webhook_kind kind, const char *resource)
{
	bool is_pair =
		wanted->undivided &&
		((kind == CLV_WEBHOOK_SHARE && wanted->memory == wanted->undivided) ||
			(kind == CLV_WEBHOOK_MEMORY && wanted->share > 0 &&
				!wanted->memory));

	if (kind != CLV_WEBHOOK_SHARE && kind != CLV_WEBHOOK_MEMORY &&
		kind != CLV_WEBHOOK_WHOLE)
		return;
	if (!wanted->undivided)
		wanted->undivided = resource;
	else if (!is_pair && !wanted->other)
		wanted->other = resource;
}

static int read_one(struct wanted *wanted, const char *resource, uint64_t amount,
	struct clv_error *err)
{
	uint32_t unit_mib;
	enum clv_webhook_kind kind = clv_webhook_kind_of(resource, &unit_mib);

	if (amount == 0)
		return 0;
	wanted->uses_cleave = true;
	note_undivided(wanted, kind, resource);
	if (kind == CLV_WEBHOOK_MIG && amount > 1)
		return clv_error_set(err, -EINVAL,
			"it requests %" PRIu64 " of %.64s, and a container has one MIG "
			"instance: request 1 in each of several containers, or a larger "
			"profile",
			amount, resource);
	if (kind == CLV_WEBHOOK_SHARE && amount > SHARE_MOST)
		return clv_error_set(err, -EINVAL,
			"it requests %" PRIu64 " of %.64s, and a device has 100: request "
			"at most 100, or whole devices as cleave.dev/gpu",
			amount, resource);
	if (kind == CLV_WEBHOOK_SHARE)
		wanted->share = amount;
	return kind == CLV_WEBHOOK_MEMORY
		       ? add_memory(wanted, resource, amount, unit_mib, err)
		       : 0;
}

/* Kubernetes wants a limit of an extended resource, and a request that equals it. */
static int read_both(struct wanted *wanted, const char *resource, const json_t *limit,
	const json_t *request, struct clv_error *err)
{
	uint64_t limited, requested;
	int r = clv_webhook_read_amount(resource, limit ? limit : request, &limited, err);

	if (r >= 0)
		r = clv_webhook_read_amount(
			resource, request ? request : limit, &requested, err);
	if (r < 0)
		return r;
	if (limited != requested)
		return clv_error_set(err, -EINVAL,
			"it requests %" PRIu64 " of %.64s and limits it to %" PRIu64
			", and the two must be equal: give the limit alone",
			requested, resource, limited);
	return read_one(wanted, resource, limited, err);
}

static bool is_ours(const char *resource)
{
	uint32_t unit_mib;

	return clv_webhook_kind_of(resource, &unit_mib) != CLV_WEBHOOK_FOREIGN;
}

/* Copies to the member `to` what only the member `from` has. */
static int copy_missing(const struct clv_webhook_container *container, const char *from,
	const char *to, struct clv_patch *patch, struct clv_error *err)
{
	const json_t *resources = json_object_get(container->object, "resources");
	const json_t *others = json_object_get(resources, to);
	json_t *amount;
	const char *resource;
	int r = 0;

	json_object_foreach (json_object_get(resources, from), resource, amount) {
		if (r >= 0 && is_ours(resource) && !json_object_get(others, resource))
			r = set_one(patch, container, to, resource, json_incref(amount));
	}
	return r < 0 ? clv_error_set(err, r, "its resources cannot be set") : 0;
}

/* Reads all of cleave's amounts, and completes limits and requests by each other. */
static int read_all(const struct clv_webhook_container *container, struct wanted *wanted,
	struct clv_patch *patch, struct clv_error *err)
{
	const json_t *resources = json_object_get(container->object, "resources");
	json_t *limits = json_object_get(resources, "limits"), *amount;
	json_t *requests = json_object_get(resources, "requests");
	const char *resource;
	int r = 0;

	json_object_foreach (limits, resource, amount) {
		if (r >= 0 && is_ours(resource))
			r = read_both(wanted, resource, amount,
				json_object_get(requests, resource), err);
	}
	json_object_foreach (requests, resource, amount) {
		if (r >= 0 && is_ours(resource) && !json_object_get(limits, resource))
			r = read_both(wanted, resource, NULL, amount, err);
	}
	if (r >= 0)
		r = copy_missing(container, "limits", "requests", patch, err);
	return r < 0 ? r : copy_missing(container, "requests", "limits", patch, err);
}

/* --- Checks --- */

static int check(const struct clv_webhook_settings *settings, const struct wanted *wanted,
	struct clv_error *err)
{
	char wants[32], has[32];

	if (wanted->other)
		return clv_error_set(err, -EINVAL,
			"it requests %.64s and %.64s, and a node has one of them: "
			"request one, or put them into the containers of two pods",
			wanted->undivided, wanted->other);
	if (settings->pairs == CLV_WEBHOOK_PAIRS_REFUSED && wanted->share > 0 &&
		wanted->memory)
		return clv_error_set(err, -EINVAL,
			"it requests %s and %.64s, and nodes have one of them: request "
			"one, from which the other follows",
			CLV_WEBHOOK_SHARE_RESOURCE, wanted->memory);
	if (settings->largest_bytes == 0 ||
		wanted->memory_bytes <= settings->largest_bytes)
		return 0;
	clv_units_format_bytes(wanted->memory_bytes, wants);
	clv_units_format_bytes(settings->largest_bytes, has);
	return clv_error_set(err, -EINVAL,
		"it requests %s of memory, and the largest device has %s: request less, "
		"or put the work into several containers",
		wants, has);
}

/* --- Completion --- */

static uint64_t units_of(const struct clv_webhook_settings *settings, uint64_t bytes)
{
	uint64_t n = bytes / settings->unit_bytes;

	return n > 0 ? n : 1;
}

static int set_share(struct clv_patch *patch,
	const struct clv_webhook_container *container, struct wanted *wanted,
	uint64_t share, struct clv_error *err)
{
	wanted->share = share;
	wanted->uses_cleave = true;
	return set(patch, container, CLV_WEBHOOK_SHARE_RESOURCE, share, err);
}

static int set_memory(const struct clv_webhook_settings *settings,
	struct clv_patch *patch, const struct clv_webhook_container *container,
	struct wanted *wanted, uint64_t bytes, struct clv_error *err)
{
	char resource[CLV_WEBHOOK_RESOURCE_MAX];
	uint64_t n = units_of(settings, bytes);

	clv_webhook_name_memory(settings->unit_bytes, resource);
	wanted->memory = "memory";
	wanted->uses_cleave = true;
	wanted->memory_bytes = n * settings->unit_bytes;
	return set(patch, container, resource, n, err);
}

static bool is_equal(const struct clv_webhook_settings *settings,
	const struct wanted *wanted, uint64_t bytes)
{
	return wanted->memory_bytes == bytes ||
	       (settings->unit_bytes > 0 &&
		       wanted->memory_bytes ==
			       units_of(settings, bytes) * settings->unit_bytes);
}

/* What the profile has, and the container does not request. */
static int apply_profile(const struct clv_webhook_settings *settings,
	const struct clv_webhook_container *container,
	const struct clv_webhook_profile *profile, struct wanted *wanted,
	struct clv_patch *patch, struct clv_error *err)
{
	int r = 0;

	if (wanted->undivided && !wanted->share && !wanted->memory)
		return clv_error_set(err, -EINVAL,
			"it requests %.64s and has a share profile: leave one of them "
			"out",
			wanted->undivided);
	if ((profile->share > 0 && wanted->share > 0 &&
		    wanted->share != profile->share) ||
		(profile->memory_bytes > 0 && wanted->memory &&
			!is_equal(settings, wanted, profile->memory_bytes)))
		return clv_error_set(err, -EINVAL,
			"it requests other amounts than its share profile has: leave out "
			"the amounts, or the profile");
	if (profile->memory_bytes > 0 && !wanted->memory && settings->unit_bytes == 0)
		return clv_error_set(err, -EINVAL,
			"its share profile has memory, whose unit depends on the node: "
			"set memory-unit in the settings of cleave-webhook (memoryUnit "
			"of the chart)");
	if (profile->share > 0 && wanted->share == 0)
		r = set_share(patch, container, wanted, profile->share, err);
	if (r >= 0 && profile->memory_bytes > 0 && !wanted->memory)
		r = set_memory(
			settings, patch, container, wanted, profile->memory_bytes, err);
	return r;
}

/* The memory that goes with the share, rounded down, because all shares of a device get
 * theirs; the share that goes with the memory, rounded up. */
static int complete_pair(const struct clv_webhook_settings *settings,
	const struct clv_webhook_container *container, struct wanted *wanted,
	struct clv_patch *patch, struct clv_error *err)
{
	uint64_t device = settings->device_bytes, share;

	if (settings->pairs != CLV_WEBHOOK_PAIRS_REQUIRED ||
		(wanted->share > 0) == (wanted->memory != NULL))
		return 0;
	if (device == 0 || (!wanted->memory && settings->unit_bytes == 0))
		return clv_error_set(err, -EINVAL,
			"it requests a part of a device by %s alone, and nodes have "
			"share "
			"and memory: request %s too",
			wanted->share > 0 ? "share" : "memory",
			wanted->share > 0 ? "cleave.dev/gpu-memory"
					  : "cleave.dev/gpu-share");
	if (!wanted->memory)
		return set_memory(settings, patch, container, wanted,
			device / MIB * wanted->share / SHARE_MOST * MIB, err);
	share = wanted->memory_bytes >= device
			? SHARE_MOST
			: (wanted->memory_bytes / MIB * SHARE_MOST + device / MIB - 1) /
				  (device / MIB);
	return set_share(patch, container, wanted, share, err);
}

int clv_webhook_container_complete(const struct clv_webhook_settings *settings,
	const struct clv_webhook_container *container,
	const struct clv_webhook_profile *profile, struct clv_patch *patch,
	bool *ret_uses_cleave, struct clv_error *err)
{
	struct wanted wanted = {0};
	int r = read_all(container, &wanted, patch, err);

	if (r >= 0 && profile)
		r = apply_profile(settings, container, profile, &wanted, patch, err);
	if (r >= 0)
		r = check(settings, &wanted, err);
	if (r >= 0)
		r = complete_pair(settings, container, &wanted, patch, err);
	if (r < 0) {
		clv_error_prefix(
			err, "container %.64s", clv_webhook_container_name(container));
		return r;
	}
	*ret_uses_cleave = wanted.uses_cleave;
	return 0;
}
