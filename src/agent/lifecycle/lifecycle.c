/* SPDX-License-Identifier: Apache-2.0 */
/* Leases from request to end: admission, the queue of each device, resizing, and ending
 * (holder dead and no process attached).  A change is written to the state file before it
 * takes effect, so that a full disk refuses it cleanly; nothing refuses an end. */
#include "agent/lifecycle/lifecycle.h"

#include "agent/attach/gate-server.h"
#include "agent/attach/lease-open.h"
#include "agent/config/config.h"
#include "agent/device/condition.h"
#include "agent/device/devices.h"
#include "agent/device/hardware.h"
#include "agent/event/events.h"
#include "agent/lease/debts.h"
#include "agent/lease/holder.h"
#include "agent/lease/kernel-quota.h"
#include "agent/lease/lease-index.h"
#include "agent/lease/lease-store.h"
#include "agent/lease/machine.h"
#include "agent/lease/sm.h"
#include "agent/lease/time-limit.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/promises.h"
#include "agent/ledger/queue.h"
#include "agent/ledger/ranges.h"
#include "agent/ledger/standing.h"
#include "agent/ledger/tenants.h"
#include "agent/lifecycle/draft.h"
#include "agent/placing/demand.h"
#include "agent/placing/placing.h"
#include "agent/record/agent.h"
#include "agent/record/notify.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "arbiter/arbiter.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAKE_AT_ONCE 1u

struct clv_lifecycle {
	struct clv_agent *agent;
	LIST_HEAD(, clv_lease) dormant;
	sd_event_source *wake_source; /* opens the sockets of dormant leases */
	sd_event_source *end_source;  /* ends leases that are over */
};

static bool is_over(const struct clv_lease *lease)
{
	if (lease->n_processes > 0)
		return false;
	return lease->is_ending || (!lease->record.is_kept && !clv_holder_is_any(lease));
}

static struct clv_lease *find_over(const struct clv_lifecycle *lifecycle)
{
	struct clv_lease *lease;

	TAILQ_FOREACH(lease, clv_ledger_leases(lifecycle->agent->ledger), entry)
	{
		if (is_over(lease))
			return lease;
	}
	return NULL;
}

static int on_end(sd_event_source *source, void *userdata)
{
	struct clv_lifecycle *lifecycle = userdata;
	struct clv_lease *lease;

	/* Ending a lease can end others and change the list, so search from the start
	 * each time. */
	while ((lease = find_over(lifecycle)))
		clv_lifecycle_end(lifecycle, lease,
			lease->is_ending ? "ended by force" : "its last process ended");
	return 0;
}

static int on_wake(sd_event_source *source, void *userdata);

int clv_lifecycle_new(
	struct clv_agent *agent, struct clv_lifecycle **ret, struct clv_error *err)
{
	struct clv_lifecycle *lifecycle = calloc(1, sizeof(*lifecycle));
	int r;

	if (!lifecycle)
		return clv_error_errno(err, ENOMEM, "cannot keep leases");
	assert(agent->ledger && !agent->watches && !agent->demand);
	lifecycle->agent = agent;
	agent->watches = clv_holder_watches_new();
	agent->demand = clv_demand_new();
	r = agent->watches && agent->demand ? 0 : -ENOMEM;
	if (r >= 0)
		r = sd_event_add_defer(
			agent->event, &lifecycle->end_source, on_end, lifecycle);
	if (r >= 0)
		r = sd_event_add_defer(
			agent->event, &lifecycle->wake_source, on_wake, lifecycle);
	if (r < 0) {
		clv_lifecycle_free(lifecycle);
		return clv_error_errno(err, -r, "cannot keep leases");
	}
	sd_event_source_set_enabled(lifecycle->end_source, SD_EVENT_OFF);
	sd_event_source_set_enabled(lifecycle->wake_source, SD_EVENT_OFF);
	sd_event_source_set_priority(lifecycle->wake_source, SD_EVENT_PRIORITY_IDLE);
	*ret = lifecycle;
	return 0;
}

static void serve_queue(struct clv_lifecycle *lifecycle, struct clv_agent_device *device);
static void serve_lease(struct clv_lifecycle *lifecycle, const struct clv_lease *lease);

static void note_change(struct clv_agent *agent)
{
	agent->n_changes++;
	clv_notify_changed(agent->notify, CLV_TOPIC_LEASES);
	clv_notify(agent->notify, CLV_NOTICE_IN_USE);
}

static int store_lease(struct clv_agent *agent, const struct clv_lease *lease,
	const struct clv_lease_record *record, struct clv_error *err)
{
	struct clv_store *store = clv_state_get(agent, err);
	int r;

	if (!store)
		return agent->state->code;
	r = clv_store_begin(store, false, err);
	if (r < 0)
		return r;
	r = clv_lease_store_put(agent, lease, record, err);
	if (r >= 0)
		r = clv_state_put_key(agent, record->id, err);
	if (r >= 0)
		r = clv_store_commit(store, err);
	if (r < 0)
		clv_store_rollback(store);
	return r;
}

static void unstore_lease(struct clv_agent *agent, const char *id)
{
	struct clv_error err = {0};
	struct clv_store *store = clv_state_get(agent, &err);

	if (!store || clv_store_delete_lease(store, id, &err) < 0)
		clv_state_set_stale(agent, &err);
}

static int insert(
	struct clv_lifecycle *lifecycle, struct clv_lease *lease, struct clv_error *err)
{
	struct clv_agent *agent = lifecycle->agent;
	int r = clv_ledger_add(agent->ledger, lease, err);

	if (r < 0)
		return r;
	clv_demand_note(agent->demand, lease);
	clv_ranges_fit(agent, lease->device);
	return 0;
}

static void set_dormant(
	struct clv_lifecycle *lifecycle, struct clv_lease *lease, bool is_dormant)
{
	/* of_use links a lease into one list: agent->in_use or the dormant ones. */
	assert(!is_dormant || !lease->arbiter_lease);
	if (lease->is_dormant && !is_dormant)
		LIST_REMOVE(lease, of_use);
	else if (!lease->is_dormant && is_dormant)
		LIST_INSERT_HEAD(&lifecycle->dormant, lease, of_use);
	lease->is_dormant = is_dormant;
}

static void remove_lease(struct clv_lifecycle *lifecycle, struct clv_lease *lease)
{
	set_dormant(lifecycle, lease, false);
	clv_ledger_remove(lifecycle->agent->ledger, lease);
}

int clv_lifecycle_adopt(
	struct clv_lifecycle *lifecycle, struct clv_lease *lease, struct clv_error *err)
{
	bool is_active = !lease->record.is_queued;
	int r;

	assert(!lease->gate && !lease->is_dormant);
	clv_time_limit_adopt(&lease->record);
	r = clv_holder_adopt(lease, &lease->record.holder, err);
	if (r >= 0 && is_over(lease))
		r = clv_error_set(err, -ESRCH, "its processes ended while no agent ran");
	if (r >= 0 && is_active && lease->n_processes > 0)
		r = clv_lease_activate(lease, err);
	if (r >= 0)
		r = insert(lifecycle, lease, err);
	if (r < 0) {
		clv_lease_remove_folder(lease);
		clv_lease_free(lease);
		return r;
	}
	if (is_active && lease->n_processes == 0) {
		set_dormant(lifecycle, lease, true);
		sd_event_source_set_enabled(lifecycle->wake_source, SD_EVENT_ON);
	}
	return 0;
}

/* Opens the sockets of adopted leases without processes, WAKE_AT_ONCE in each idle
 * iteration of the loop: ten thousand of them take a second, in which the agent answers
 * requests. */
static int on_wake(sd_event_source *source, void *userdata)
{
	struct clv_lifecycle *lifecycle = userdata;
	struct clv_lease *lease = NULL;

	for (unsigned n = 0;
		n < WAKE_AT_ONCE && (lease = LIST_FIRST(&lifecycle->dormant)); n++) {
		struct clv_error err = {0};

		set_dormant(lifecycle, lease, false);
		if (clv_lease_activate(lease, &err) < 0)
			clv_lifecycle_end(lifecycle, lease, err.msg);
	}
	if (!lease)
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
	return 0;
}

struct clv_lifecycle *clv_lifecycle_free(struct clv_lifecycle *lifecycle)
{
	struct clv_lease_list *leases;

	if (!lifecycle)
		return NULL;
	leases = clv_ledger_leases(lifecycle->agent->ledger);
	while (!TAILQ_EMPTY(leases)) {
		struct clv_lease *lease = TAILQ_FIRST(leases);

		remove_lease(lifecycle, lease);
		clv_lease_free(lease);
	}
	sd_event_source_disable_unref(lifecycle->end_source);
	sd_event_source_disable_unref(lifecycle->wake_source);
	lifecycle->agent->watches = clv_holder_watches_free(lifecycle->agent->watches);
	lifecycle->agent->demand = clv_demand_free(lifecycle->agent->demand);
	free(lifecycle);
	return NULL;
}

/* A kept lease has no pidfd (-1). */
static int set_up(struct clv_lifecycle *lifecycle, struct clv_lease *lease, int pidfd,
	struct clv_error *err)
{
	int r;

	assert(lease->record.is_kept == (pidfd < 0));
	r = pidfd < 0 ? 0 : clv_holder_watch(lease, &lease->record.holder, pidfd, err);
	if (r >= 0)
		r = store_lease(lifecycle->agent, lease, &lease->record, err);
	if (r < 0)
		return r;
	if (!lease->record.is_queued)
		r = clv_lease_activate(lease, err);
	if (r >= 0) {
		r = insert(lifecycle, lease, err);
		if (r < 0)
			clv_lease_deactivate(lease);
	}
	if (r < 0)
		unstore_lease(lifecycle->agent, lease->record.id);
	return r;
}

/* A lease that the queue admits and that cannot be opened has ended. */
static int find_still(const struct clv_lifecycle *lifecycle, const char *id,
	struct clv_lease **ret, struct clv_error *err)
{
	*ret = clv_ledger_find_id(lifecycle->agent->ledger, id);
	return *ret ? 0
		    : clv_error_set(err, -EIO,
			      "the lease could not be opened when it left the queue: "
			      "cleave events says why");
}

int clv_lifecycle_create(struct clv_lifecycle *lifecycle,
	const struct clv_lease_request *request, const struct clv_caller *caller,
	const struct clv_peer *peer, int pidfd, struct clv_lease **ret,
	struct clv_error *err)
{
	struct clv_lease_record record;
	struct clv_placing placing = {0};
	struct clv_lease *lease;
	char text[128];
	int r = clv_draft_make(
		lifecycle->agent, request, caller, peer, &record, &placing, err);

	if (r < 0) {
		clv_close_fd(&pidfd);
		clv_draft_unclaim(lifecycle->agent, &placing);
		return r;
	}
	lease = clv_draft_lease(lifecycle->agent, &placing, &record);
	if (!lease) {
		clv_close_fd(&pidfd);
		r = clv_error_errno(err, ENOMEM, "cannot make a lease");
	} else {
		r = set_up(lifecycle, lease, pidfd, err);
	}
	if (r < 0) {
		clv_lease_free(lease);
		clv_draft_unclaim(lifecycle->agent, &placing);
		return r;
	}

	clv_lease_describe_share(&record.share, text, sizeof(text));
	clv_lease_emit(lease,
		record.is_queued ? CLV_EVENT_LEASE_QUEUED : CLV_EVENT_LEASE_CREATED, "%s",
		text);
	/* The queue's order may admit the new lease at once. */
	if (record.is_queued)
		serve_lease(lifecycle, lease);
	note_change(lifecycle->agent);
	return find_still(lifecycle, record.id, ret, err);
}

static bool fits_now(const struct clv_lifecycle *lifecycle, const struct clv_lease *lease)
{
	const struct clv_lease_record *record = &lease->record;
	struct clv_agent_device *device;

	if (record->standing[0] != '\0' &&
		clv_ledger_standing(lifecycle->agent->ledger, record->standing))
		return false;
	for (size_t i = 0; (device = clv_lease_device(lease, i)); i++) {
		struct clv_promised promised;

		if (!device->is_present || device->is_divided || device->is_changing ||
			clv_devices_root(device)->is_changing ||
			clv_devices_root(device)->is_cordoned ||
			clv_condition_state(device) == CLV_HEALTH_LOST ||
			clv_machine_check(device, NULL) < 0 ||
			clv_hardware_is_closed_device(lifecycle->agent, device) ||
			clv_hardware_is_renumbering_device(lifecycle->agent, device))
			return false;
		clv_promises_add_up(
			lifecycle->agent, device, lease, record->standing, &promised);
		if (clv_admission_check(&promised, &record->share,
			    device->info.memory_bytes, device->info.name,
			    record->overcommit, NULL) < 0)
			return false;
	}
	return true;
}

/* 0; -EAGAIN: it stays in the queue until the state file can be written
 * (agent/main/repair.h); -EIO: it could not be opened, and has ended. */
static int admit(struct clv_lifecycle *lifecycle, struct clv_lease *lease)
{
	struct clv_lease_record record = lease->record;
	struct clv_error err = {0};

	assert(record.is_queued && !lease->gate && lifecycle->agent->n_queued > 0);
	record.is_queued = false;
	record.sm = clv_sm_place_on(lease->device, record.sm.ppm);
	if (store_lease(lifecycle->agent, lease, &record, &err) < 0) {
		clv_state_set_stale(lifecycle->agent, &err);
		return -EAGAIN;
	}
	lifecycle->agent->n_queued -= lease->record.is_queued;
	lease->record.is_queued = false;
	lease->record.sm = record.sm;
	clv_ranges_fit(lifecycle->agent, lease->device);
	lifecycle->agent->ranked_ns = 0;
	if (clv_lease_activate(lease, &err) >= 0)
		return 0;
	clv_lifecycle_end(lifecycle, lease, err.msg);
	return -EIO;
}

/* Takes a lease from the queue of another device, with the share that its request means
 * there. */
static int move_here(struct clv_lifecycle *lifecycle, struct clv_lease *lease,
	struct clv_agent_device *device, const struct clv_placing *placing)
{
	struct clv_agent *agent = lifecycle->agent;
	struct clv_agent_device *from = lease->device;
	int r = clv_devices_claim(agent->devices, device, NULL);

	if (r < 0)
		return r;
	r = clv_ledger_move(agent->ledger, lease, device);
	if (r >= 0) {
		lease->record.share = placing->share;
		memcpy(lease->record.standing, placing->standing,
			sizeof(lease->record.standing));
	}
	clv_devices_unclaim(agent->devices, r < 0 ? device : from);
	return r;
}

/* Whether the lease, which waits for another device, fits here and its tenant may have
 * it: an allowance can exclude profiles. */
static bool fits_here(const struct clv_lifecycle *lifecycle,
	const struct clv_lease *lease, struct clv_agent_device *device,
	struct clv_placing *ret)
{
	return clv_placing_fits_elsewhere(lease, device, ret) &&
	       clv_tenants_check(lifecycle->agent, clv_tenant_of_lease(lease), lease,
		       &ret->share, device->info.profile, NULL) >= 0;
}

/* The lease to admit on the device next, now in the device's queue; NULL: none fits.  No
 * lease passes one of the device's own that does not fit, so small requests cannot starve
 * a large one; a standing share is set aside in any case.  Those of other devices wait
 * there. */
static struct clv_lease *find_next(
	struct clv_lifecycle *lifecycle, struct clv_agent_device *device)
{
	_cleanup_free_ struct clv_lease **queued = NULL;
	struct clv_placing placing;
	size_t n;

	if (lifecycle->agent->n_queued == 0)
		return NULL;
	queued = clv_queue_list(lifecycle->agent->ledger, &n);
	for (size_t i = 0; i < n; i++) {
		if (!clv_lease_is_on(queued[i], device)) {
			if (fits_here(lifecycle, queued[i], device, &placing) &&
				move_here(lifecycle, queued[i], device, &placing) >= 0)
				return queued[i];
		} else if (fits_now(lifecycle, queued[i])) {
			return queued[i];
		} else if (queued[i]->record.standing[0] == '\0') {
			return NULL;
		}
	}
	return NULL;
}

static void serve_queue(struct clv_lifecycle *lifecycle, struct clv_agent_device *device)
{
	struct clv_lease *lease;

	while ((lease = find_next(lifecycle, device))) {
		int r = admit(lifecycle, lease);

		if (r == -EAGAIN)
			return;
		note_change(lifecycle->agent);
		if (r < 0)
			continue;
		clv_lease_emit(lease, CLV_EVENT_LEASE_CREATED,
			"it was first in the queue and fits now");
	}
}

void clv_lifecycle_serve_all(struct clv_lifecycle *lifecycle)
{
	if (lifecycle->agent->n_queued == 0)
		return;
	for (size_t i = 0; i < clv_devices_count(lifecycle->agent->devices); i++)
		serve_queue(lifecycle, clv_devices_at(lifecycle->agent->devices, i));
}

/* Serves where a new or changed lease may fit now. */
static void serve_lease(struct clv_lifecycle *lifecycle, const struct clv_lease *lease)
{
	if (lease->record.is_queued && lease->record.asked.may_move)
		clv_lifecycle_serve_all(lifecycle);
	else
		serve_queue(lifecycle, lease->device);
}

static bool has_waiting(const struct clv_lifecycle *lifecycle, uid_t account)
{
	const struct clv_lease *lease = NULL;

	while ((lease = clv_ledger_next_of(lifecycle->agent->ledger, account, lease))) {
		if (lease->record.is_queued)
			return true;
	}
	return false;
}

/* A lease that waits for its tenant's allowance may fit after an end or a resize on any
 * device. */
static void serve_account(struct clv_lifecycle *lifecycle, uid_t account)
{
	struct clv_agent *agent = lifecycle->agent;

	if (agent->settings->n_tenants == 0 || agent->n_queued == 0)
		return;
	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		if (has_waiting(lifecycle, account))
			serve_queue(lifecycle, clv_devices_at(agent->devices, i));
	}
}

static int check_growth(const struct clv_lifecycle *lifecycle,
	const struct clv_lease *lease, const struct clv_share *wanted,
	struct clv_error *err)
{
	const struct clv_share *has = &lease->record.share;
	const struct clv_device *info = &lease->device->info;
	struct clv_share growth = *wanted;
	struct clv_promised promised;

	if (lease->n_others > 0)
		return clv_error_set(err, -EINVAL,
			"the lease %s has each of its %zu devices whole and cannot be "
			"resized: release it and request another",
			lease->record.name, lease->n_others + 1);
	if (lease->record.vm[0] != '\0')
		return clv_error_set(err, -EINVAL,
			"the virtual machine %.100s has the whole of %s: take it back "
			"with cleave unassign",
			lease->record.command, info->name);
	if (lease->record.is_queued)
		return 0;
	/* Shrinking is always allowed, also on an overcommitted device. */
	growth.range = (struct clv_share_range){0};
	growth.compute_ppm = clv_share_promise_ppm(wanted);
	if (growth.compute_ppm <= clv_share_promise_ppm(has))
		growth.compute_ppm = 0;
	if (wanted->memory_bytes <= has->memory_bytes)
		growth.memory_bytes = 0;
	clv_promises_add_up(lifecycle->agent, lease->device, lease,
		lease->record.standing, &promised);
	return clv_admission_check(&promised, &growth, info->memory_bytes, info->name,
		lease->record.overcommit, err);
}

int clv_lifecycle_resize(struct clv_lifecycle *lifecycle, struct clv_lease *lease,
	const struct clv_lease_request *request, struct clv_error *err)
{
	struct clv_share_request wanted =
		clv_ranges_wanted(&lease->record.share, request);
	struct clv_lease_record record;
	struct clv_share share, held;
	uid_t account = lease->account;
	char text[128];
	int r;

	r = clv_share_resolve(&wanted, lease->device->info.memory_bytes, &share, err);
	if (r >= 0)
		r = clv_placing_check_spill(&lease->device->info, share.spill_bytes, err);
	if (r >= 0)
		r = check_growth(lifecycle, lease, &share, err);
	if (r >= 0)
		r = clv_tenants_check(lifecycle->agent, clv_tenant_of_lease(lease), lease,
			&share, "", err);
	if (r < 0)
		return r;
	clv_lease_snapshot(lease, &record);
	record.share = share;
	record.asked.compute_ppm = share.compute_ppm;
	record.asked.memory_bytes = share.memory_bytes;
	r = store_lease(lifecycle->agent, lease, &record, err);
	if (r < 0)
		return r;

	lease->record.share = share;
	lease->record.asked = record.asked;
	lease->range = (struct clv_lease_range){0};
	lease->refused_before = lease->usage.usage.counts[CLV_USAGE_REFUSED];
	lifecycle->agent->ranked_ns = 0;
	clv_ranges_fit(lifecycle->agent, lease->device);
	if (!lease->record.is_queued)
		clv_kernel_quota_set(lease);
	held = clv_lease_enforced_share(lease);
	if (lease->arbiter_lease)
		clv_arbiter_update(lease->device->arbiter, lease->arbiter_lease, &held);
	clv_lease_describe_share(&share, text, sizeof(text));
	clv_lease_emit(lease, CLV_EVENT_LEASE_RESIZED, "now %s", text);
	serve_lease(lifecycle, lease);
	serve_account(lifecycle, account);
	note_change(lifecycle->agent);
	return find_still(lifecycle, record.id, &lease, err);
}

void clv_lifecycle_end(
	struct clv_lifecycle *lifecycle, struct clv_lease *lease, const char *why)
{
	struct clv_placing had = {.device = lease->device, .n_others = lease->n_others};
	struct clv_agent *agent = lifecycle->agent;
	uid_t account = lease->account;

	assert(clv_ledger_find_id(agent->ledger, lease->record.id) == lease);
	if (had.n_others > 0)
		memcpy(had.others, lease->others, had.n_others * sizeof(had.others[0]));
	lifecycle->agent->ranked_ns = 0;
	remove_lease(lifecycle, lease);
	clv_notify_lease(agent->notify, CLV_NOTICE_LEASE_ENDED, lease);
	if (lease->arbiter_lease) {
		clv_arbiter_remove(lease->device->arbiter, lease->arbiter_lease);
		clv_debts_save(agent, lease->device);
		LIST_REMOVE(lease, of_use);
	}
	lease->arbiter_lease = NULL;
	unstore_lease(agent, lease->record.id);
	clv_lease_emit(lease, CLV_EVENT_LEASE_ENDED, "%s", why);
	clv_lease_deactivate(lease);
	clv_lease_free(lease);
	serve_queue(lifecycle, had.device);
	for (size_t i = 0; i < had.n_others; i++)
		serve_queue(lifecycle, had.others[i]);
	serve_account(lifecycle, account);
	clv_draft_unclaim(agent, &had);
	note_change(agent);
}

void clv_lifecycle_find_users(struct clv_lifecycle *lifecycle)
{
	struct clv_agent *agent = lifecycle->agent;

	clv_ledger_find_accounts(agent->ledger);
	if (!agent->awaits_users)
		return;
	agent->awaits_users = false;
	agent->ranked_ns = 0;
	clv_lifecycle_serve_all(lifecycle);
}

void clv_lifecycle_check_end(struct clv_lifecycle *lifecycle, struct clv_lease *lease)
{
	if (is_over(lease))
		sd_event_source_set_enabled(lifecycle->end_source, SD_EVENT_ONESHOT);
}

void clv_lifecycle_serve(struct clv_lifecycle *lifecycle, struct clv_agent_device *device)
{
	for (size_t i = 0; i < clv_devices_count(lifecycle->agent->devices); i++) {
		struct clv_agent_device *part =
			clv_devices_at(lifecycle->agent->devices, i);

		if (part == device || clv_devices_root(part) == device)
			serve_queue(lifecycle, part);
	}
	note_change(lifecycle->agent);
}
