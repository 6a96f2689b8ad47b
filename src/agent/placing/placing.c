/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which devices a new lease may go to, and why not; placing-best.c chooses among
 * those with room.  Leases that are queued on a device go first, so a request that would
 * fit now is queued behind them.  Overcommitting requests pass the queue, because they
 * take nothing that is promised. */
#include "agent/placing/placing.h"

#include "agent/device/condition.h"
#include "agent/device/devices.h"
#include "agent/device/hardware.h"
#include "agent/lease/lease.h"
#include "agent/lease/machine.h"
#include "agent/lease/sm.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/promises.h"
#include "agent/ledger/queue.h"
#include "agent/ledger/standing.h"
#include "agent/placing/placing-internal.h"
#include "agent/record/agent.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/units.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Adds to the error that the device has a free standing share, if it has one. */
static void mention_standing(const struct clv_agent *agent,
	const struct clv_agent_device *device, struct clv_error *err)
{
	const struct clv_standing_share *share;

	for (size_t i = 0; (share = clv_standing_at(agent->standing, i)); i++) {
		size_t used = err ? strlen(err->msg) : 0;

		if (strcmp(share->device_uuid, device->info.uuid) != 0 ||
			clv_ledger_standing(agent->ledger, share->name))
			continue;
		if (err)
			snprintf(err->msg + used, sizeof(err->msg) - used,
				"; or take a standing share there, with --in %s",
				share->name);
		return;
	}
}

int clv_placing_try(struct clv_agent *agent, const struct clv_agent_device *device,
	const struct clv_share *share, bool overcommit, struct clv_promised *ret_promised,
	struct clv_error *err)
{
	uint32_t n_queued = overcommit ? 0 : clv_queue_count(agent, device);
	int r = clv_machine_check(device, err);

	if (r < 0)
		return r;
	clv_promises_add_up(agent, device, NULL, "", ret_promised);
	if (n_queued > 0)
		return clv_error_set(err, -EBUSY,
			"%u %s already for %s: join the queue with --wait", n_queued,
			n_queued == 1 ? "lease waits" : "leases wait", device->info.name);
	r = clv_admission_check(ret_promised, share, device->info.memory_bytes,
		device->info.name, overcommit, err);
	if (r < 0)
		mention_standing(agent, device, err);
	return r;
}

int clv_placing_check_spill(
	const struct clv_device *device, uint64_t spill_bytes, struct clv_error *err)
{
	if (spill_bytes == 0 || strcmp(device->backend, "nvidia") == 0)
		return 0;
	return clv_error_set(err, -EINVAL,
		"memory of %s cannot spill to the host, which needs CUDA on an NVIDIA "
		"GPU: request more memory and no spill",
		device->name);
}

/* Fills in the option. 0: the request fits there now; -EBUSY: it may fit later; other
 * errors: never; *err says why. */
static int consider(struct clv_agent *agent, struct clv_agent_device *device,
	const struct clv_lease_request *request, struct clv_placing_option *ret,
	struct clv_error *err)
{
	int r = clv_sm_check(&device->info, request->sm_ppm, err);

	*ret = (struct clv_placing_option){.device = device};
	if (r >= 0 && request->vm[0] == '\0')
		r = clv_machine_check_memory(device, err);
	if (r >= 0)
		r = clv_share_resolve(
			&request->share, device->info.memory_bytes, &ret->share, err);
	if (r >= 0)
		r = clv_placing_check_spill(&device->info, ret->share.spill_bytes, err);
	if (r >= 0)
		r = clv_placing_try(agent, device, &ret->share, request->overcommit,
			&ret->promised, err);
	ret->is_open = r >= 0;
	return r;
}

/* A name or UUID; that of a device also means its partitions. */
static bool is_named(const struct clv_device *info, const char *name)
{
	return strcmp(info->name, name) == 0 || strcasecmp(info->uuid, name) == 0;
}

/* Whether a device or partition that the request names is being changed or renumbered. */
static bool is_changing(
	const struct clv_agent *agent, const struct clv_lease_request *request)
{
	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		struct clv_agent_device *device = clv_devices_at(agent->devices, i);
		const struct clv_agent_device *whole = clv_devices_root(device);

		if ((device->is_changing || whole->is_changing ||
			    clv_hardware_is_renumbering_device(agent, device)) &&
			(request->device[0] == '\0' ||
				is_named(&device->info, request->device) ||
				is_named(&whole->info, request->device)) &&
			(request->profile[0] == '\0' ||
				strcmp(device->info.profile, request->profile) == 0))
			return true;
	}
	return false;
}

/* profile: "" is any. */
static bool has_profile(const struct clv_agent_device *device, const char *profile)
{
	return profile[0] == '\0' || strcmp(device->info.profile, profile) == 0;
}

static const struct clv_agent_device *find_cordoned(
	const struct clv_agent *agent, const char *name, const char *profile)
{
	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		struct clv_agent_device *device = clv_devices_at(agent->devices, i);

		if (clv_devices_root(device)->is_cordoned &&
			has_profile(device, profile) &&
			(name[0] == '\0' || is_named(&device->info, name)))
			return clv_devices_root(device);
	}
	return NULL;
}

static int fail_cordoned(const struct clv_agent_device *device, struct clv_error *err)
{
	return clv_error_set(err, -EBUSY,
		"%s takes no new lease until it is uncordoned (%s): use another "
		"device",
		device->info.name, device->cordon_reason);
}

static const struct clv_agent_device *find_closed(
	const struct clv_agent *agent, const char *name)
{
	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		const struct clv_agent_device *device = clv_devices_at(agent->devices, i);

		if (clv_hardware_is_closed_device(agent, device) &&
			(name[0] == '\0' || is_named(&device->info, name)))
			return device;
	}
	return NULL;
}

static int fail_closed(const struct clv_agent_device *device, struct clv_error *err)
{
	return clv_error_set(err, -EBUSY,
		"%s is closed for a virtual machine that is about to get it: use another "
		"device, or try again in two minutes",
		device->info.name);
}

static const struct clv_agent_device *find_degraded(
	const struct clv_agent *agent, const char *name, const char *profile)
{
	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		const struct clv_agent_device *device = clv_devices_at(agent->devices, i);

		if (clv_condition_state(device) != CLV_HEALTH_OK &&
			has_profile(device, profile) &&
			(name[0] == '\0' || is_named(&device->info, name)))
			return device;
	}
	return NULL;
}

static int fail_degraded(const struct clv_agent_device *device, struct clv_error *err)
{
	bool is_lost = clv_condition_state(device) == CLV_HEALTH_LOST;

	return clv_error_set(err, -EBUSY, "%s is %s, %s%s", device->info.name,
		clv_health_state_to_string(clv_condition_state(device)),
		clv_condition_reason(device),
		is_lost ? "" : "; or request it by name, with --device");
}

/* A device that the request names, and that is divided into no partitions; or NULL. */
static const struct clv_agent_device *find_empty(
	const struct clv_agent *agent, const char *name)
{
	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		const struct clv_agent_device *device = clv_devices_at(agent->devices, i);

		if (device->is_present && device->is_divided &&
			is_named(&device->info, name))
			return device;
	}
	return NULL;
}

int clv_placing_fail_without_device(const struct clv_agent *agent,
	const struct clv_lease_request *request, struct clv_error *err)
{
	const char *problem = json_string_value(
		json_array_get(clv_devices_problems(agent->devices), 0));
	const char *name = request->device;
	const struct clv_agent_device *cordoned =
		find_cordoned(agent, name, request->profile);
	const struct clv_agent_device *degraded =
		find_degraded(agent, name, request->profile);
	const struct clv_agent_device *empty = find_empty(agent, request->device);
	const struct clv_agent_device *closed = find_closed(agent, name);

	if (!cordoned && !degraded) {
		cordoned = find_cordoned(agent, name, "");
		degraded = find_degraded(agent, name, "");
	}
	if (cordoned)
		return fail_cordoned(cordoned, err);
	if (closed)
		return fail_closed(closed, err);
	if (degraded)
		return fail_degraded(degraded, err);
	if (is_changing(agent, request))
		return clv_error_set(err, -EBUSY,
			"%s is being repartitioned: try again when that is complete",
			request->device[0]    ? request->device
			: request->profile[0] ? request->profile
					      : "the device");
	if (request->profile[0] != '\0')
		return clv_error_set(err, -ENODEV,
			"there is no partition %s%s%s: cleave devices lists partitions, "
			"and cleave partition create makes one",
			request->profile, request->device[0] ? " on " : "",
			request->device);
	if (empty)
		return clv_error_set(err, -EBUSY,
			"%s is divided, and has no partition: make one with cleave "
			"partition create, or make it whole again with cleave apply",
			empty->info.name);
	if (clv_devices_count(agent->devices) > 0 && request->device[0] != '\0')
		return clv_error_set(err, -ENODEV,
			"there is no device %s: cleave devices lists the devices",
			request->device);
	return clv_error_set(err, -ENODEV, "there is no device to share: %s",
		problem ? problem : "install the package pocl-opencl-icd");
}

/* A degraded device is used only if the request names it. */
static bool is_healthy_enough(const struct clv_agent_device *device, const char *name)
{
	enum clv_health_state state = clv_condition_state(device);

	return state == CLV_HEALTH_OK ||
	       (state == CLV_HEALTH_DEGRADED && name[0] != '\0');
}

static bool is_listed(const char *devices, const struct clv_device *info)
{
	char name[128], uuid[128];

	snprintf(name, sizeof(name), ",%s,", info->name);
	snprintf(uuid, sizeof(uuid), ",%s,", info->uuid);
	return strstr(devices, name) || strcasestr(devices, uuid);
}

/* What a request names; "": not given. */
struct names {
	const char *device, *devices, *profile;
};

static bool is_permitted(const struct clv_agent_device *device, const struct names *names)
{
	const struct clv_agent_device *root =
		clv_devices_root((struct clv_agent_device *)device);

	if (!device->is_present || device->is_divided || device->is_changing ||
		root->is_changing || root->is_cordoned ||
		!is_healthy_enough(device, names->device))
		return false;
	if (names->profile[0] != '\0' &&
		strcmp(device->info.profile, names->profile) != 0)
		return false;
	if (names->devices[0] != '\0')
		return is_listed(names->devices, &device->info);
	return names->device[0] == '\0' || is_named(&device->info, names->device) ||
	       (device->parent && is_named(&device->parent->info, names->device));
}

static bool matches_request(
	const struct clv_agent_device *device, const struct clv_lease_request *request)
{
	const struct names names = {request->device, request->devices, request->profile};

	return is_permitted(device, &names);
}

bool clv_placing_is_candidate(const struct clv_agent *agent,
	const struct clv_agent_device *device, const struct clv_lease_request *request)
{
	return matches_request(device, request) &&
	       !clv_hardware_is_closed_device(agent, device) &&
	       !clv_hardware_is_renumbering_device(agent, device);
}

bool clv_placing_awaits_numbers(
	const struct clv_agent *agent, const struct clv_lease_request *request)
{
	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		const struct clv_agent_device *device = clv_devices_at(agent->devices, i);

		if (clv_hardware_is_renumbering_device(agent, device) &&
			matches_request(device, request))
			return true;
	}
	return false;
}

/* The free standing share on the device whose name ends as that of the lease; or NULL. */
static const struct clv_standing_share *find_alike(
	const struct clv_lease *lease, const struct clv_agent_device *device)
{
	const char *name = strrchr(lease->record.standing, '/');
	const struct clv_standing_share *share;

	for (size_t i = 0; (share = clv_standing_at(lease->agent->standing, i)); i++) {
		if (name && strcmp(share->device_uuid, device->info.uuid) == 0 &&
			clv_standing_is_called(share, name + 1) &&
			!clv_ledger_standing(lease->agent->ledger, share->name))
			return share;
	}
	return NULL;
}

static bool set_share(const struct clv_lease *lease,
	const struct clv_agent_device *device, struct clv_placing *ret)
{
	const struct clv_lease_record *record = &lease->record;
	struct clv_share_request wanted = {
		.compute_ppm = record->asked.compute_ppm,
		.memory_bytes = record->asked.memory_bytes,
		.cap_ppm = record->share.cap_ppm,
		.class = record->share.class,
		.range = record->share.range,
		.spill_bytes = record->share.spill_bytes,
	};
	const struct clv_standing_share *standing;

	*ret = (struct clv_placing){0};
	if (record->standing[0] == '\0')
		return clv_share_resolve(&wanted, device->info.memory_bytes, &ret->share,
			       NULL) >= 0;
	standing = find_alike(lease, device);
	if (!standing)
		return false;
	ret->share = standing->share;
	snprintf(ret->standing, sizeof(ret->standing), "%s", standing->name);
	return true;
}

bool clv_placing_fits_elsewhere(const struct clv_lease *lease,
	struct clv_agent_device *device, struct clv_placing *ret)
{
	const struct clv_lease_record *record = &lease->record;
	const struct clv_lease_asked *asked = &record->asked;
	const struct names names = {asked->device, "", asked->profile};
	struct clv_promised promised;

	if (!asked->may_move || !is_permitted(device, &names) ||
		clv_hardware_is_closed_device(lease->agent, device) ||
		clv_hardware_is_renumbering_device(lease->agent, device) ||
		clv_machine_check(device, NULL) < 0 ||
		clv_machine_check_memory(device, NULL) < 0 ||
		clv_sm_check(&device->info, record->sm.ppm, NULL) < 0 ||
		!set_share(lease, device, ret) ||
		clv_placing_check_spill(&device->info, ret->share.spill_bytes, NULL) < 0)
		return false;
	clv_promises_add_up(lease->agent, device, NULL, ret->standing, &promised);
	return clv_admission_check(&promised, &ret->share, device->info.memory_bytes,
		       device->info.name, record->overcommit, NULL) >= 0;
}

/* Gives a standing share to the request unchanged; a limit in space may be added. */
static int take_standing(struct clv_agent *agent, const struct clv_standing_share *share,
	const struct clv_lease_request *request, struct clv_placing *ret,
	struct clv_error *err)
{
	struct clv_agent_device *device =
		clv_devices_find(agent->devices, share->device_uuid);
	int r;

	if (device && clv_devices_root(device)->is_cordoned)
		return fail_cordoned(clv_devices_root(device), err);
	if (device && clv_hardware_is_closed_device(agent, device))
		return fail_closed(device, err);
	if (device && clv_hardware_is_renumbering_device(agent, device))
		return clv_error_set(err, -EBUSY,
			"devices are being repartitioned: try again when that is "
			"complete");
	if (device && (device->is_changing || clv_devices_root(device)->is_changing))
		return clv_error_set(err, -EBUSY,
			"%s is being repartitioned: try again when that is complete",
			device->info.name);
	if (!device || !device->is_present)
		return clv_error_set(err, -ENODEV,
			"the share %s is on a device or partition that is not present "
			"now",
			share->name);
	r = clv_sm_check(&device->info, request->sm_ppm, err);
	/* A lease that has a whole device needs no quota. */
	if (r >= 0 && share->share.compute_ppm < CLV_PPM)
		r = clv_machine_check_memory(device, err);
	if (r < 0)
		return r;
	ret->device = device;
	ret->share = share->share;
	snprintf(ret->standing, sizeof(ret->standing), "%s", share->name);
	return clv_devices_claim(agent->devices, device, err);
}

/* Takes the first free standing share of the name that can be taken now; if all are in
 * use and the request may wait, the first. */
static int choose_standing(struct clv_agent *agent,
	const struct clv_lease_request *request, struct clv_placing *ret,
	struct clv_error *err)
{
	const struct clv_standing_share *share, *taken = NULL;
	struct clv_error refusal = {0};

	for (size_t i = 0; (share = clv_standing_at(agent->standing, i)); i++) {
		struct clv_error why = {0};

		if (!clv_standing_is_called(share, request->in))
			continue;
		if (!clv_ledger_standing(agent->ledger, share->name)) {
			if (take_standing(agent, share, request, ret, &why) >= 0)
				return 0;
			refusal = refusal.code ? refusal : why;
		} else if (!taken) {
			taken = share;
		}
	}
	if (taken && request->wait) {
		ret->must_wait = true;
		return take_standing(agent, taken, request, ret, err);
	}
	if (refusal.code)
		return clv_error_set(err, refusal.code, "%s", refusal.msg);
	if (taken)
		return clv_error_set(err, -EBUSY,
			"the share %s is taken by another lease: wait for it with --wait",
			taken->name);
	return clv_error_set(err, -ENODEV,
		"there is no standing share %s: layouts define them, see cleave export "
		"--wanted",
		request->in);
}

/* All candidates of one request. */
struct candidates {
	struct clv_placing_option *options;
	size_t n, n_open;
	/* Why the request was refused: by the first device where it may fit later, else
	 * by the first device. */
	struct clv_error refusal;
	size_t refusal_at;
	/* Where to wait: the option with the shortest queue. */
	const struct clv_placing_option *shortest;
	uint32_t n_queued;
};

static void note_refusal(
	struct candidates *candidates, size_t at, const struct clv_error *why)
{
	bool is_better = (why->code == -EBUSY) > (candidates->refusal.code == -EBUSY) ||
			 ((why->code == -EBUSY) == (candidates->refusal.code == -EBUSY) &&
				 at < candidates->refusal_at);

	if (candidates->refusal.code != 0 && !is_better)
		return;
	candidates->refusal = *why;
	candidates->refusal_at = at;
}

static void consider_all(struct clv_agent *agent, const struct clv_lease_request *request,
	struct candidates *candidates)
{
	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		struct clv_agent_device *device = clv_devices_at(agent->devices, i);
		struct clv_placing_option *option = &candidates->options[candidates->n];
		struct clv_error why = {0};
		uint32_t n_queued;
		int r;

		if (!clv_placing_is_candidate(agent, device, request))
			continue;
		r = consider(agent, device, request, option, &why);
		if (r < 0)
			note_refusal(candidates, candidates->n, &why);
		if (r < 0 && r != -EBUSY)
			continue;
		n_queued = r == -EBUSY ? clv_queue_count(agent, device) : 0;
		if (r == -EBUSY &&
			(!candidates->shortest || n_queued < candidates->n_queued)) {
			candidates->shortest = option;
			candidates->n_queued = n_queued;
		}
		candidates->n_open += option->is_open;
		candidates->n++;
	}
}

static int take(struct clv_agent *agent, const struct clv_placing_option *option,
	struct clv_placing *ret, struct clv_error *err)
{
	int r = clv_devices_claim(agent->devices, option->device, err);

	if (r < 0)
		return r;
	ret->device = option->device;
	ret->share = option->share;
	ret->must_wait = !option->is_open;
	return 0;
}

/* Takes the best option; one that another agent has claimed is dropped, and the next is
 * tried. */
static int take_best(
	struct clv_agent *agent, struct candidates *candidates, struct clv_placing *ret)
{
	struct clv_placing_goal wish = {candidates->options, candidates->n, 1, false};

	while (candidates->n_open > 0) {
		struct clv_error why = {0};
		size_t at;
		int r = clv_placing_best(agent, &wish, &at);

		if (r == 0)
			r = take(agent, &candidates->options[at], ret, &why);
		else
			return clv_error_errno(
				&candidates->refusal, -r, "cannot choose a device");
		if (r == 0)
			return 0;
		note_refusal(candidates, at, &why);
		candidates->options[at].is_open = false;
		candidates->n_open--;
	}
	return -EBUSY;
}

int clv_placing_choose(struct clv_agent *agent, const struct clv_lease_request *request,
	struct clv_placing *ret, struct clv_error *err)
{
	_cleanup_free_ struct clv_placing_option *options = NULL;
	struct candidates candidates = {0};

	assert(agent->standing && agent->demand);
	*ret = (struct clv_placing){0};
	if (request->in[0] != '\0')
		return choose_standing(agent, request, ret, err);
	if (request->count > 1)
		return clv_placing_choose_several(agent, request, ret, err);
	options = calloc(clv_devices_count(agent->devices) + 1, sizeof(*options));
	if (!options)
		return clv_error_errno(err, ENOMEM, "cannot choose a device");
	candidates.options = options;
	consider_all(agent, request, &candidates);
	if (take_best(agent, &candidates, ret) == 0)
		return 0;
	if (candidates.refusal.code == 0)
		return clv_placing_fail_without_device(agent, request, err);
	if (!request->wait || !candidates.shortest)
		return clv_error_set(
			err, candidates.refusal.code, "%s", candidates.refusal.msg);
	return take(agent, candidates.shortest, ret, err);
}
