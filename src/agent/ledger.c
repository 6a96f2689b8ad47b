/* SPDX-License-Identifier: Apache-2.0 */
/* Leases from request to end: admission, the queue of each device, resizing, and the
 * rules of ending (holder dead and nobody attached).  A change is written to the state
 * file before it takes effect, so that a full disk refuses it cleanly; an end is not
 * refused by anything. */
#include "agent/ledger.h"

#include "agent/agent.h"
#include "agent/caller.h"
#include "agent/config.h"
#include "agent/debts.h"
#include "agent/devices.h"
#include "agent/enforce.h"
#include "agent/events.h"
#include "agent/gate-server.h"
#include "agent/history.h"
#include "agent/holder.h"
#include "agent/http.h"
#include "agent/idle.h"
#include "agent/kernel-quota.h"
#include "agent/lease-index.h"
#include "agent/naming.h"
#include "agent/once.h"
#include "agent/placing.h"
#include "agent/queue.h"
#include "agent/recount.h"
#include "agent/sm.h"
#include "agent/standing.h"
#include "agent/state.h"
#include "agent/store.h"
#include "agent/tenants.h"
#include "arbiter/arbiter.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAKE_AT_ONCE 1u

struct clv_ledger {
	struct clv_agent *agent;
	struct clv_lease_list leases;
	struct clv_lease_index *index;
	uint64_t last_sequence;
	bool has_expiring; /* one with a time has been there */
	LIST_HEAD(, clv_lease) dormant;
	sd_event_source *wake_source; /* opens sockets of adopted leases */
	sd_event_source *end_source;  /* looks for leases that are over */
	uint64_t ranked_ns; /* when positions in the queues were found; 0: not since a
			       change */
};

static bool is_over(const struct clv_lease *lease)
{
	if (lease->n_processes > 0)
		return false;
	return lease->is_ending || (!lease->record.is_kept && !clv_holder_has(lease));
}

static struct clv_lease *find_over(const struct clv_ledger *ledger)
{
	struct clv_lease *lease;

	TAILQ_FOREACH(lease, &ledger->leases, entry)
	{
		if (is_over(lease))
			return lease;
	}
	return NULL;
}

static int on_end(sd_event_source *source, void *userdata)
{
	struct clv_ledger *ledger = userdata;
	struct clv_lease *lease;

	/* An end may bring others about: each begins anew. */
	while ((lease = find_over(ledger)))
		clv_ledger_end(ledger, lease,
			lease->is_ending ? "ended by force" : "its last process ended");
	return 0;
}

static int on_wake(sd_event_source *source, void *userdata);

int clv_ledger_new(
	struct clv_agent *agent, struct clv_ledger **ret, struct clv_error *err)
{
	struct clv_ledger *ledger = calloc(1, sizeof(*ledger));
	int r;

	if (!ledger)
		return clv_error_errno(err, ENOMEM, "cannot keep leases");
	ledger->agent = agent;
	agent->watches = clv_holder_watches_new();
	ledger->index = clv_lease_index_new();
	if (!agent->watches || !ledger->index) {
		clv_lease_index_free(ledger->index);
		free(ledger);
		return clv_error_errno(err, ENOMEM, "cannot keep leases");
	}
	TAILQ_INIT(&ledger->leases);
	r = sd_event_add_defer(agent->event, &ledger->end_source, on_end, ledger);
	if (r >= 0)
		r = sd_event_add_defer(
			agent->event, &ledger->wake_source, on_wake, ledger);
	if (r < 0) {
		free(ledger);
		return clv_error_errno(err, -r, "cannot keep leases");
	}
	sd_event_source_set_enabled(ledger->end_source, SD_EVENT_OFF);
	sd_event_source_set_enabled(ledger->wake_source, SD_EVENT_OFF);
	sd_event_source_set_priority(ledger->wake_source, SD_EVENT_PRIORITY_IDLE);
	*ret = ledger;
	return 0;
}

static void take_out(struct clv_ledger *ledger, struct clv_lease *lease);

struct clv_ledger *clv_ledger_free(struct clv_ledger *ledger)
{
	if (!ledger)
		return NULL;
	while (!TAILQ_EMPTY(&ledger->leases)) {
		struct clv_lease *lease = TAILQ_FIRST(&ledger->leases);

		take_out(ledger, lease);
		clv_lease_free(lease);
	}
	sd_event_source_disable_unref(ledger->end_source);
	sd_event_source_disable_unref(ledger->wake_source);
	ledger->agent->watches = clv_holder_watches_free(ledger->agent->watches);
	clv_lease_index_free(ledger->index);
	free(ledger);
	return NULL;
}

struct clv_lease_list *clv_ledger_leases(struct clv_ledger *ledger)
{
	return &ledger->leases;
}

/* Of whomever; several may have one of this name. */
static struct clv_lease *find_of_all(
	struct clv_ledger *ledger, const char *name, struct clv_error *err)
{
	struct clv_lease *lease, *found = NULL;

	TAILQ_FOREACH(lease, &ledger->leases, entry)
	{
		if (strcmp(lease->record.name, name) != 0)
			continue;
		if (found) {
			clv_error_set(err, -EINVAL,
				"several users have a lease of this name: use its id");
			return NULL;
		}
		found = lease;
	}
	if (!found)
		clv_error_set(err, -ENOENT,
			"there is no such lease: see cleave ps for those that are");
	return found;
}

struct clv_lease *clv_ledger_find(struct clv_ledger *ledger, const char *id_or_name,
	const struct clv_caller *caller, struct clv_error *err)
{
	struct clv_lease *lease = clv_lease_index_by_id(ledger->index, id_or_name);

	if (lease && (!caller || clv_caller_sees(caller, lease->owner)))
		return lease;
	lease = caller ? clv_lease_index_by_name(ledger->index, caller->uid, id_or_name)
		       : NULL;
	if (lease)
		return lease;
	if (!caller || caller->scope != CLV_SCOPE_TENANT)
		return find_of_all(ledger, id_or_name, err);
	clv_error_set(
		err, -ENOENT, "there is no such lease: see cleave ps for those that are");
	return NULL;
}

struct clv_lease *clv_ledger_find_id(struct clv_ledger *ledger, const char *id)
{
	return clv_lease_index_by_id(ledger->index, id);
}

bool clv_ledger_has_name(const struct clv_ledger *ledger, uid_t uid, const char *name)
{
	return clv_lease_index_by_name(ledger->index, uid, name) != NULL;
}

struct clv_lease *clv_ledger_next_of(
	const struct clv_ledger *ledger, uid_t uid, const struct clv_lease *after)
{
	return clv_lease_index_next_of(ledger->index, uid, after);
}

void clv_ledger_promised(const struct clv_ledger *ledger,
	const struct clv_agent_device *device, const struct clv_lease *without,
	const char *standing, struct clv_promised *ret)
{
	const struct clv_lease *lease;

	*ret = (struct clv_promised){0};
	clv_standing_add_promised(ledger->agent->standing, device, standing, ret);
	for (size_t i = 0; i < device->n_leases; i++) {
		lease = device->leases[i];
		if (lease == without || lease->record.is_queued)
			continue;
		ret->compute_ppm += clv_share_promise_ppm(&lease->record.share);
		ret->memory_bytes += lease->record.share.memory_bytes;
	}
}

const struct clv_lease *clv_ledger_standing(
	const struct clv_ledger *ledger, const char *name)
{
	const struct clv_lease *lease;

	TAILQ_FOREACH(lease, &ledger->leases, entry)
	{
		if (!lease->record.is_queued && strcmp(lease->record.standing, name) == 0)
			return lease;
	}
	return NULL;
}

/* Groups may change without a word, so an order is not kept for long. */
void clv_ledger_keep_ranked(struct clv_ledger *ledger)
{
	uint64_t now_ns = clv_clock_ns();

	if (ledger->ranked_ns != 0 && now_ns - ledger->ranked_ns < CLV_NS_PER_S)
		return;
	clv_queue_rank(ledger);
	ledger->ranked_ns = now_ns;
}

static void serve_queue(struct clv_ledger *ledger, struct clv_agent_device *device);

static void changed(struct clv_agent *agent)
{
	agent->n_changes++;
	if (agent->http)
		clv_http_wake(agent->http, CLV_TOPIC_LEASES);
	clv_idle_touch(agent->idle);
}

static void unclaim_if_free(struct clv_ledger *ledger, struct clv_agent_device *device)
{
	struct clv_devices *devices = ledger->agent->devices;
	const struct clv_agent_device *root = clv_devices_root(device);

	if (root->n_leases > 0 || device->n_leases > 0)
		return;
	for (size_t i = 0; i < clv_devices_count(devices); i++) {
		struct clv_agent_device *part = clv_devices_at(devices, i);

		if (clv_devices_root(part) == root && part->n_leases > 0)
			return;
	}
	clv_devices_unclaim(ledger->agent->devices, device);
}

static int store_lease(struct clv_agent *agent, const struct clv_lease *lease,
	const struct clv_lease_record *record, struct clv_error *err)
{
	struct clv_store *store = clv_state_get(agent, err);
	int r;

	if (!store)
		return agent->store_code;
	r = clv_store_begin(store, false, err);
	if (r < 0)
		return r;
	r = clv_state_put_lease(agent, lease, record, err);
	if (r >= 0)
		r = clv_once_store(agent, record->id, err);
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

/* Opens the lease's socket; its processes may attach from now on. */
static void take_off(struct clv_agent_device *device, const struct clv_lease *lease)
{
	for (size_t i = 0; i < device->n_leases; i++) {
		if (device->leases[i] != lease)
			continue;
		memmove(&device->leases[i], &device->leases[i + 1],
			(--device->n_leases - i) * sizeof(device->leases[0]));
		return;
	}
}

static void take_off_all(const struct clv_lease *lease)
{
	struct clv_agent_device *device;

	for (size_t i = 0; (device = clv_lease_device(lease, i)); i++)
		take_off(device, lease);
}

static int insert(
	struct clv_ledger *ledger, struct clv_lease *lease, struct clv_error *err)
{
	struct clv_agent_device *device;
	struct clv_lease **slot;

	for (size_t i = 0; (device = clv_lease_device(lease, i)); i++) {
		slot = CLV_APPEND(device->leases, device->n_leases);
		if (!slot) {
			take_off_all(lease);
			return clv_error_errno(err, ENOMEM, "cannot keep the lease");
		}
		*slot = lease;
	}
	ledger->agent->n_leases++;
	ledger->agent->n_queued += lease->record.is_queued;
	ledger->has_expiring |= lease->record.expires_real_ns > 0;
	lease->sequence = ++ledger->last_sequence;
	ledger->ranked_ns = 0;
	TAILQ_INSERT_TAIL(&ledger->leases, lease, entry);
	clv_lease_index_add(ledger->index, lease);
	clv_demand_note(&ledger->agent->demand, lease);
	clv_ranges_fit(ledger->agent, lease->device);
	return 0;
}

static void set_dormant(
	struct clv_ledger *ledger, struct clv_lease *lease, bool is_dormant)
{
	if (lease->is_dormant && !is_dormant)
		LIST_REMOVE(lease, of_use);
	else if (!lease->is_dormant && is_dormant)
		LIST_INSERT_HEAD(&ledger->dormant, lease, of_use);
	lease->is_dormant = is_dormant;
}

static void take_out(struct clv_ledger *ledger, struct clv_lease *lease)
{
	take_off_all(lease);
	set_dormant(ledger, lease, false);
	ledger->agent->n_leases--;
	ledger->agent->n_queued -= lease->record.is_queued;
	TAILQ_REMOVE(&ledger->leases, lease, entry);
	clv_lease_index_remove(lease);
}

int clv_ledger_adopt(
	struct clv_ledger *ledger, struct clv_lease *lease, struct clv_error *err)
{
	bool is_active = !lease->record.is_queued;
	int r = clv_holder_adopt(lease, &lease->record.holder, err);

	if (r >= 0 && is_over(lease))
		r = clv_error_set(
			err, -ESRCH, "its processes ended while no agent was there");
	if (r >= 0 && is_active && lease->n_processes > 0)
		r = clv_lease_activate(lease, err);
	if (r >= 0)
		r = insert(ledger, lease, err);
	if (r < 0) {
		clv_lease_remove_folder(lease);
		clv_lease_free(lease);
		return r;
	}
	if (is_active && lease->n_processes == 0) {
		set_dormant(ledger, lease, true);
		sd_event_source_set_enabled(ledger->wake_source, SD_EVENT_ON);
	}
	return 0;
}

/* Sockets of adopted leases that no process has attached to yet, some at a time: ten
 * thousand of them take a second, in which the agent serves others. */
static int on_wake(sd_event_source *source, void *userdata)
{
	struct clv_ledger *ledger = userdata;
	struct clv_lease *lease = NULL;

	for (unsigned n = 0; n < WAKE_AT_ONCE && (lease = LIST_FIRST(&ledger->dormant));
		n++) {
		struct clv_error err = {0};

		set_dormant(ledger, lease, false);
		if (clv_lease_activate(lease, &err) < 0)
			clv_ledger_end(ledger, lease, err.msg);
	}
	if (!lease)
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
	return 0;
}

/* One that may wait waits for its tenant's own other leases too. */
static int check_allowance(struct clv_ledger *ledger,
	const struct clv_lease_request *request, struct clv_placing *placing,
	const struct clv_caller *caller, struct clv_error *err)
{
	struct clv_share all = placing->share;
	int r;

	all.compute_ppm *= (uint32_t)(placing->n_others + 1);
	all.memory_bytes *= placing->n_others + 1;
	r = clv_tenants_check(ledger->agent, clv_tenant_of_caller(caller), NULL, &all,
		placing->device->info.profile, err);
	if (r == -EBUSY && request->wait) {
		placing->must_wait = true;
		return 0;
	}
	return r;
}

/* Where the lease goes, what it is called, whether it waits: all that needs no change of
 * anything. */
static int draft(struct clv_ledger *ledger, const struct clv_lease_request *request,
	const struct clv_caller *caller, const struct clv_peer *peer,
	struct clv_lease_record *ret, struct clv_placing *placing, struct clv_error *err)
{
	struct clv_agent *agent = ledger->agent;
	struct clv_lease_record record = {
		.uid = peer->uid,
		.gid = peer->gid,
		.holder = peer->id,
		.is_kept = request->keep,
		.admit = request->admit,
		.overcommit = request->overcommit,
		.created_real_ns = clv_clock_real_ns(),
	};
	int r;

	if (request->overcommit && agent->config.is_system &&
		!agent->config.allow_overcommit && caller->uid != 0)
		return clv_error_set(err, -EPERM,
			"this node does not allow overcommitment: ask for what is left, "
			"or wait with --wait");
	r = clv_tenants_check_count(agent, caller->uid, err);
	if (r < 0)
		return r;
	r = clv_lease_make_id(record.id);
	if (r < 0)
		return clv_error_errno(err, -r, "cannot make a lease id");
	r = clv_naming_choose(ledger, request, caller->uid, record.name, err);
	if (r < 0)
		return r;
	r = clv_placing_choose(agent, request, placing, err);
	if (r < 0)
		return r;

	r = check_allowance(ledger, request, placing, caller, err);
	if (r < 0)
		return r;

	record.share = placing->share;
	record.sm = clv_sm_on(placing->device, request->sm_ppm);
	record.is_queued = placing->must_wait;
	if (request->time_s > 0)
		record.expires_real_ns =
			record.created_real_ns + request->time_s * CLV_NS_PER_S;
	memcpy(record.standing, placing->standing, sizeof(record.standing));
	memcpy(record.command, request->command, sizeof(record.command));
	snprintf(record.device_uuid, sizeof(record.device_uuid), "%s",
		placing->device->info.uuid);
	memcpy(record.tenant, caller->subject, sizeof(record.tenant));
	clv_process_boot_id(record.boot_id);
	*ret = record;
	return 0;
}

/* NULL when there is no memory for it. */
static struct clv_lease *make(struct clv_agent *agent, const struct clv_placing *placing,
	const struct clv_lease_record *record)
{
	struct clv_lease *lease = clv_lease_new(agent, placing->device, record);

	for (size_t i = 0; lease && i < placing->n_others; i++) {
		if (clv_lease_add_device(lease, placing->others[i]) < 0)
			lease = clv_lease_free(lease);
	}
	return lease;
}

static void unclaim_all(struct clv_ledger *ledger, const struct clv_placing *placing)
{
	unclaim_if_free(ledger, placing->device);
	for (size_t i = 0; i < placing->n_others; i++)
		unclaim_if_free(ledger, placing->others[i]);
}

/* One that is kept has no pidfd. */
static int set_up(struct clv_ledger *ledger, struct clv_lease *lease, int pidfd,
	struct clv_error *err)
{
	int r = pidfd < 0 ? 0
			  : clv_holder_watch(lease, &lease->record.holder, pidfd, err);

	if (r >= 0)
		r = store_lease(ledger->agent, lease, &lease->record, err);
	if (r < 0)
		return r;
	if (!lease->record.is_queued)
		r = clv_lease_activate(lease, err);
	if (r >= 0)
		r = insert(ledger, lease, err);
	if (r < 0)
		unstore_lease(ledger->agent, lease->record.id);
	return r;
}

int clv_ledger_create(struct clv_ledger *ledger, const struct clv_lease_request *request,
	const struct clv_caller *caller, const struct clv_peer *peer, int pidfd,
	struct clv_lease **ret, struct clv_error *err)
{
	struct clv_lease_record record;
	struct clv_placing placing;
	struct clv_lease *lease;
	char text[128];
	int r = draft(ledger, request, caller, peer, &record, &placing, err);

	if (r < 0) {
		clv_close_fd(&pidfd);
		return r;
	}
	lease = make(ledger->agent, &placing, &record);
	if (!lease) {
		clv_close_fd(&pidfd);
		r = clv_error_errno(err, ENOMEM, "cannot make a lease");
	} else {
		r = set_up(ledger, lease, pidfd, err);
	}
	if (r < 0) {
		clv_lease_free(lease);
		unclaim_all(ledger, &placing);
		return r;
	}

	clv_lease_describe_share(&record.share, text, sizeof(text));
	clv_events_emit(ledger->agent,
		record.is_queued ? CLV_EVENT_LEASE_QUEUED : CLV_EVENT_LEASE_CREATED,
		lease, "%s", text);
	/* Its tenant may be the one whose turn it is. */
	if (record.is_queued)
		serve_queue(ledger, lease->device);
	changed(ledger->agent);
	*ret = lease;
	return 0;
}

static bool fits_now(const struct clv_ledger *ledger, const struct clv_lease *lease)
{
	const struct clv_lease_record *record = &lease->record;
	struct clv_agent_device *device;

	if (record->standing[0] != '\0' && clv_ledger_standing(ledger, record->standing))
		return false;
	for (size_t i = 0; (device = clv_lease_device(lease, i)); i++) {
		struct clv_promised promised;

		if (clv_devices_root(device)->is_cordoned ||
			clv_recount_is_under_way(ledger->agent, device))
			return false;
		clv_ledger_promised(ledger, device, lease, record->standing, &promised);
		if (clv_admission_check(&promised, &record->share,
			    device->info.memory_bytes, device->info.name,
			    record->overcommit, NULL) < 0)
			return false;
	}
	return true;
}

static int admit(struct clv_ledger *ledger, struct clv_lease *lease)
{
	struct clv_lease_record record = lease->record;
	struct clv_error err = {0};

	record.is_queued = false;
	record.sm = clv_sm_on(lease->device, record.sm.ppm);
	if (store_lease(ledger->agent, lease, &record, &err) < 0)
		clv_state_set_stale(ledger->agent, &err);
	ledger->agent->n_queued -= lease->record.is_queued;
	lease->record.is_queued = false;
	lease->record.sm = record.sm;
	clv_ranges_fit(ledger->agent, lease->device);
	ledger->ranked_ns = 0;
	if (clv_lease_activate(lease, &err) >= 0)
		return 0;
	clv_ledger_end(ledger, lease, err.msg);
	return -EIO;
}

/* Admits the next one for as long as it fits: whoever is first is waited for, so that a
 * large request is not starved by small ones. */
static void serve_queue(struct clv_ledger *ledger, struct clv_agent_device *device)
{
	struct clv_lease *lease;

	while ((lease = clv_queue_first(ledger, device)) && fits_now(ledger, lease)) {
		if (admit(ledger, lease) < 0)
			continue;
		clv_events_emit(ledger->agent, CLV_EVENT_LEASE_CREATED, lease,
			"its turn in the queue has come");
	}
}

static bool has_waiting(const struct clv_ledger *ledger, uid_t uid)
{
	const struct clv_lease *lease = NULL;

	while ((lease = clv_ledger_next_of(ledger, uid, lease))) {
		if (lease->record.is_queued)
			return true;
	}
	return false;
}

/* Who waits for his own allowance waits for his leases on any device. */
static void serve_tenant(struct clv_ledger *ledger, uid_t uid)
{
	struct clv_agent *agent = ledger->agent;

	if (agent->settings->n_tenants == 0 || agent->n_queued == 0)
		return;
	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		if (has_waiting(ledger, uid))
			serve_queue(ledger, clv_devices_at(agent->devices, i));
	}
}

static int check_growth(const struct clv_ledger *ledger, const struct clv_lease *lease,
	const struct clv_share *wanted, struct clv_error *err)
{
	const struct clv_share *has = &lease->record.share;
	const struct clv_device *info = &lease->device->info;
	struct clv_share growth = *wanted;
	struct clv_promised promised;

	if (lease->n_others > 0)
		return clv_error_set(err, -EINVAL,
			"the lease %s has its %zu devices whole: there is nothing to "
			"resize",
			lease->record.name, lease->n_others + 1);
	if (lease->record.is_queued)
		return 0;
	/* Giving back is always right, also on a device that is overcommitted. */
	growth.range = (struct clv_share_range){0};
	growth.compute_ppm = clv_share_promise_ppm(wanted);
	if (growth.compute_ppm <= clv_share_promise_ppm(has))
		growth.compute_ppm = 0;
	if (wanted->memory_bytes <= has->memory_bytes)
		growth.memory_bytes = 0;
	clv_ledger_promised(
		ledger, lease->device, lease, lease->record.standing, &promised);
	return clv_admission_check(&promised, &growth, info->memory_bytes, info->name,
		lease->record.overcommit, err);
}

int clv_ledger_resize(struct clv_ledger *ledger, struct clv_lease *lease,
	const struct clv_lease_request *request, struct clv_error *err)
{
	struct clv_share_request wanted =
		clv_ranges_wanted(&lease->record.share, request);
	struct clv_lease_record record;
	struct clv_share share, held;
	char text[128];
	int r;

	r = clv_share_resolve(&wanted, lease->device->info.memory_bytes, &share, err);
	if (r >= 0)
		r = clv_placing_check_spill(&lease->device->info, share.spill_bytes, err);
	if (r >= 0)
		r = check_growth(ledger, lease, &share, err);
	if (r >= 0)
		r = clv_tenants_check(ledger->agent, clv_tenant_of_lease(lease), lease,
			&share, "", err);
	if (r < 0)
		return r;
	clv_lease_snapshot(lease, &record);
	record.share = share;
	r = store_lease(ledger->agent, lease, &record, err);
	if (r < 0)
		return r;

	lease->record.share = share;
	lease->range = (struct clv_lease_range){0};
	lease->refused_before = lease->usage.usage.counts[CLV_USAGE_REFUSED];
	ledger->ranked_ns = 0;
	clv_ranges_fit(ledger->agent, lease->device);
	if (!lease->record.is_queued)
		clv_kernel_quota_set(lease);
	held = clv_enforce_share(lease);
	if (lease->arbiter_lease)
		clv_arbiter_update(lease->device->arbiter, lease->arbiter_lease, &held);
	clv_lease_describe_share(&share, text, sizeof(text));
	clv_events_emit(ledger->agent, CLV_EVENT_LEASE_RESIZED, lease, "now %s", text);
	serve_queue(ledger, lease->device);
	serve_tenant(ledger, lease->owner);
	changed(ledger->agent);
	return 0;
}

void clv_ledger_end(struct clv_ledger *ledger, struct clv_lease *lease, const char *why)
{
	struct clv_placing had = {.device = lease->device, .n_others = lease->n_others};
	struct clv_agent *agent = ledger->agent;
	uid_t owner = lease->owner;

	if (had.n_others > 0)
		memcpy(had.others, lease->others, had.n_others * sizeof(had.others[0]));
	ledger->ranked_ns = 0;
	take_out(ledger, lease);
	clv_usage_end(agent->usage, lease);
	clv_history_end(agent->history, lease);
	if (lease->arbiter_lease) {
		clv_arbiter_remove(lease->device->arbiter, lease->arbiter_lease);
		clv_debts_save(agent, lease->device);
		LIST_REMOVE(lease, of_use);
	}
	lease->arbiter_lease = NULL;
	unstore_lease(agent, lease->record.id);
	clv_events_emit(agent, CLV_EVENT_LEASE_ENDED, lease, "%s", why);
	clv_lease_deactivate(lease);
	clv_lease_free(lease);
	serve_queue(ledger, had.device);
	for (size_t i = 0; i < had.n_others; i++)
		serve_queue(ledger, had.others[i]);
	serve_tenant(ledger, owner);
	unclaim_all(ledger, &had);
	changed(agent);
}

static struct clv_lease *find_expired(const struct clv_ledger *ledger, uint64_t now_ns)
{
	struct clv_lease *lease;

	if (!ledger->has_expiring)
		return NULL;
	TAILQ_FOREACH(lease, &ledger->leases, entry)
	{
		uint64_t end_ns = lease->record.expires_real_ns;

		if (end_ns > 0 && end_ns <= now_ns && !lease->is_ending)
			return lease;
	}
	return NULL;
}

void clv_ledger_end_expired(struct clv_ledger *ledger)
{
	uint64_t now_ns = clv_clock_real_ns();
	struct clv_lease *lease;

	while ((lease = find_expired(ledger, now_ns))) {
		clv_events_emit(ledger->agent, CLV_EVENT_LEASE_EXPIRED, lease,
			"its time is over");
		clv_ledger_end_by_force(ledger, lease);
	}
}

void clv_ledger_check_end(struct clv_ledger *ledger, struct clv_lease *lease)
{
	if (is_over(lease))
		sd_event_source_set_enabled(ledger->end_source, SD_EVENT_ONESHOT);
}

void clv_ledger_serve(struct clv_ledger *ledger, struct clv_agent_device *device)
{
	for (size_t i = 0; i < clv_devices_count(ledger->agent->devices); i++) {
		struct clv_agent_device *part = clv_devices_at(ledger->agent->devices, i);

		if (clv_devices_root(part) == device)
			serve_queue(ledger, part);
	}
	changed(ledger->agent);
}
