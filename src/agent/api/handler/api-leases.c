/* SPDX-License-Identifier: Apache-2.0 */
/* The routes of leases.  Access is decided by the caller's owner and scope; everything
 * else by the ledger. */
#include "agent/api/handler/api.h"
#include "agent/api/request/request.h"
#include "agent/api/show/item-list.h"
#include "agent/api/show/lease-changes.h"
#include "agent/api/show/render.h"
#include "agent/device/devices.h"
#include "agent/device/hardware.h"
#include "agent/http/problem.h"
#include "agent/layout/ephemeral-partitions.h"
#include "agent/lease/attached.h"
#include "agent/lease/holder.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/queue.h"
#include "agent/lifecycle/force.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/placing/placing.h"
#include "agent/record/agent.h"
#include "agent/user/users.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAGE 100u
#define DEVICES_WAIT_MS 15000u
#define FORCE_WAIT_MS 10000u
#define ENDED_WAIT_MS 5000u

/* The filter of a list; NULL: any. */
struct filter {
	const char *tenant, *device, *state;
	uint64_t since; /* only leases that have changed after this revision; 0: all */
};

static int read_filter(
	const struct clv_request *request, struct filter *ret, struct clv_error *err)
{
	const char *since = clv_request_argument(request, "since");

	*ret = (struct filter){
		.tenant = clv_request_argument(request, "tenant"),
		.device = clv_request_argument(request, "device"),
		.state = clv_request_argument(request, "state"),
	};
	if (ret->state && strcmp(ret->state, "active") != 0 &&
		strcmp(ret->state, "queued") != 0)
		return clv_error_set(
			err, -EINVAL, "state can only be \"active\" or \"queued\"");
	if (!since)
		return 0;
	/* A lease that leaves such a list has not ended. */
	if (ret->tenant || ret->device || ret->state)
		return clv_error_set(err, -EINVAL,
			"since is for the list of all leases: leave tenant, device and "
			"state out");
	return clv_lease_changes_since(request->agent->changes, since, &ret->since, err);
}

/* Whether the name is that of one of the lease's devices or of the device it is a
 * partition of. */
static bool is_on(const struct clv_lease *lease, const char *name)
{
	struct clv_agent_device *device;

	for (size_t i = 0; (device = clv_lease_device(lease, i)); i++) {
		if (strcmp(device->info.name, name) == 0 ||
			strcmp(clv_devices_root(device)->info.name, name) == 0)
			return true;
	}
	return false;
}

static bool matches(const struct filter *filter, const struct clv_lease *lease)
{
	const struct clv_lease_record *record = &lease->record;

	if (filter->tenant && strcmp(filter->tenant, record->tenant) != 0)
		return false;
	if (filter->state && record->is_queued != (strcmp(filter->state, "queued") == 0))
		return false;
	return !filter->device || is_on(lease, filter->device);
}

/* A list of all leases has what its next request needs to ask for changes only. */
static json_t *rest_to_json(
	const struct clv_request *request, uint64_t next, const struct filter *filter)
{
	const struct clv_lease_changes *changes = request->agent->changes;
	char revision[CLV_REVISION_MAX];
	json_t *ended = filter->since ? clv_lease_changes_list_ended(
						changes, filter->since, &request->caller)
				      : json_array();

	clv_lease_changes_revision(changes, revision);
	return json_pack("{s:o,s:s,s:b,s:o}", "next",
		next ? json_integer((json_int_t)next) : json_null(), "revision", revision,
		"whole", filter->since == 0, "ended", ended);
}

int clv_api_get_leases(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_lease_changes *changes = request->agent->changes;
	struct clv_lease *lease;
	struct clv_item_list items = {0};
	uint64_t last = 0;
	struct filter filter;
	struct clv_page page;
	int r = clv_api_get_page(request, PAGE, &page, err);

	if (r >= 0)
		r = read_filter(request, &filter, err);
	if (r < 0)
		return r;
	TAILQ_FOREACH(lease, clv_ledger_leases(request->agent->ledger), entry)
	{
		if (lease->sequence <= page.after ||
			!clv_caller_sees(&request->caller, lease->owner) ||
			!matches(&filter, lease))
			continue;
		if (items.n == page.limit)
			break;
		if (clv_lease_changes_see(changes, lease) <= filter.since)
			continue;
		last = lease->sequence;
		clv_item_list_add(&items, request, clv_render_lease(lease));
	}
	return clv_item_list_answer(
		&items, rest_to_json(request, lease ? last : 0, &filter), request, err);
}

static int wants_queued(struct clv_request *request, bool *ret, struct clv_error *err)
{
	const char *text = clv_request_argument(request, "while");

	if (text && strcmp(text, "queued") != 0)
		return clv_error_set(
			err, -EINVAL, "while can only be \"queued\", with wait_ms");
	*ret = text != NULL;
	return 0;
}

/* A local caller may be about to start a program in the lease, which needs the device's
 * number. */
static bool awaits_number(
	const struct clv_request *request, const struct clv_lease *lease)
{
	return request->is_local && !lease->record.is_queued && !request->is_late &&
	       clv_hardware_is_renumbering_device(request->agent, lease->device);
}

int clv_api_get_lease(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_ledger *ledger = request->agent->ledger;
	const struct clv_lease *lease;
	uint64_t wait_ms = 0;
	bool while_queued = false;
	int r;

	r = clv_api_get_wait(request, &wait_ms, err);
	if (r >= 0)
		r = wants_queued(request, &while_queued, err);
	if (r < 0)
		return r;
	/* After the first run by id: the name may belong to another lease by now. */
	lease = clv_ledger_find(ledger, request->is_first_run ? argument : request->note,
		&request->caller, err);
	if (!lease)
		return err->code;
	if (request->is_first_run) {
		snprintf(request->note, sizeof(request->note), "%s", lease->record.id);
		request->number = clv_queue_position(lease);
	}
	if (while_queued && wait_ms > 0 && lease->record.is_queued && !request->is_late &&
		clv_queue_position(lease) == request->number)
		return clv_request_wait(request, CLV_TOPIC_LEASES, wait_ms);
	if (awaits_number(request, lease))
		return clv_request_wait(request, CLV_TOPIC_DEVICES, DEVICES_WAIT_MS);

	request->status = 200;
	request->answer = clv_render_lease(lease);
	return 0;
}

static int find_user(struct clv_request *request, uid_t uid, struct clv_peer *ret,
	struct clv_caller *ret_caller, struct clv_error *err)
{
	struct clv_user user = {.gid = (gid_t)uid};
	int r;

	if (request->caller.scope != CLV_SCOPE_ADMIN)
		return clv_error_set(err, -EPERM,
			"only an admin can make a lease for user %u: %s", uid,
			request->is_local ? "leave user out"
					  : "use the token of an admin");
	if (clv_users_by_uid(uid, &user) == -EINPROGRESS)
		return clv_http_await_user(request, err);
	*ret = (struct clv_peer){.uid = uid, .gid = user.gid};
	r = clv_caller_of_peer(request->agent, ret, NULL, ret_caller, err);
	return r == -EINPROGRESS ? clv_http_await_user(request, err) : r;
}

/* Finds the owner of a kept lease: the requested user, or the caller. */
static int find_owner(struct clv_request *request, const struct clv_lease_request *wanted,
	struct clv_peer *ret, struct clv_caller *ret_caller, struct clv_error *err)
{
	int pidfd, r;

	if (wanted->admit == CLV_ADMIT_SOCKET && request->caller.scope != CLV_SCOPE_ADMIN)
		return clv_error_set(err, -EPERM,
			"only an admin may make a lease that admits by its socket: ask "
			"an admin, or start an agent of your own");
	if (wanted->vm[0] != '\0' && request->caller.scope != CLV_SCOPE_ADMIN)
		return clv_error_set(err, -EPERM,
			"only an admin may make a lease of a virtual machine: ask an "
			"admin");
	if (wanted->has_user)
		return find_user(request, wanted->user, ret, ret_caller, err);
	r = clv_process_of_socket(request->fd, ret, &pidfd, err);
	if (r < 0)
		return r;
	close(pidfd);
	ret->id = (struct clv_process_id){0};
	return 0;
}

/* A caller over TCP is no process of this node and no user of it. */
static int check_origin(const struct clv_request *request,
	const struct clv_lease_request *wanted, struct clv_error *err)
{
	if (request->is_local || (wanted->keep && wanted->has_user))
		return 0;
	return clv_error_set(err, -EINVAL,
		"over TCP only a lease that no process holds can be requested, for a "
		"user of the node: give keep and user, or use cleave run on the node");
}

int clv_api_post_lease(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_agent *agent = request->agent;
	struct clv_lease_request wanted;
	struct clv_caller caller = request->caller;
	struct clv_lease *lease;
	struct clv_peer peer;
	int pidfd = -1, r;

	r = clv_request_parse_lease(request->body, request->n_body_bytes, &wanted, err);
	if (r >= 0)
		r = check_origin(request, &wanted, err);
	if (r < 0)
		return r;
	if (request->is_first_run)
		clv_devices_refresh(agent->devices);
	if (clv_hardware_awaits_devices(agent) && !request->is_late)
		return clv_request_wait(request, CLV_TOPIC_DEVICES, DEVICES_WAIT_MS);
	if (wanted.is_isolated)
		r = clv_ephemeral_get(agent->ephemeral, request, &wanted, err);
	if (r < 0)
		return r;
	if (clv_placing_awaits_numbers(agent, &wanted) && !request->is_late)
		return clv_request_wait(request, CLV_TOPIC_DEVICES, DEVICES_WAIT_MS);
	r = wanted.keep ? find_owner(request, &wanted, &peer, &caller, err)
			: clv_process_of_socket(request->fd, &peer, &pidfd, err);
	if (r < 0)
		return r;
	r = clv_lifecycle_create(
		agent->lifecycle, &wanted, &caller, &peer, pidfd, &lease, err);
	if (r < 0)
		return r;

	snprintf(request->object, sizeof(request->object), "%s", lease->record.id);
	clv_lease_describe(lease, request->detail, sizeof(request->detail));
	request->status = 201;
	request->answer = clv_render_lease(lease);
	return 0;
}

int clv_api_patch_lease(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_ledger *ledger = request->agent->ledger;
	struct clv_lease_request wanted;
	struct clv_lease *lease;
	int r;

	lease = clv_ledger_find(ledger, argument, &request->caller, err);
	if (!lease)
		return err->code;
	r = clv_request_parse_resize(request->body, request->n_body_bytes, &wanted, err);
	if (r >= 0)
		r = clv_lifecycle_resize(request->agent->lifecycle, lease, &wanted, err);
	if (r < 0)
		return r;

	snprintf(request->object, sizeof(request->object), "%s", lease->record.id);
	clv_lease_describe(lease, request->detail, sizeof(request->detail));
	request->status = 200;
	request->answer = clv_render_lease(lease);
	return 0;
}

int clv_api_post_holder(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_lease *lease =
		clv_ledger_find(request->agent->ledger, argument, &request->caller, err);
	int pid, r;

	if (!lease)
		return err->code;
	if (awaits_number(request, lease))
		return clv_request_wait(request, CLV_TOPIC_DEVICES, DEVICES_WAIT_MS);
	r = clv_request_parse_holder(request->body, request->n_body_bytes, &pid, err);
	if (r >= 0 && lease->record.vm[0] != '\0')
		r = clv_error_set(err, -EPERM,
			"the lease %s is that of a virtual machine, which no program of "
			"the node may join: request another",
			lease->record.name);
	if (r >= 0 && lease->is_ending)
		r = clv_error_set(err, -EPERM,
			"the lease %s is being ended: request another",
			lease->record.name);
	if (r >= 0)
		r = clv_holder_add(lease, pid, &request->caller, err);
	if (r < 0)
		return r;

	snprintf(request->object, sizeof(request->object), "%s", lease->record.id);
	snprintf(request->detail, sizeof(request->detail), "process %d joined %s", pid,
		lease->record.name);
	request->status = 200;
	request->answer = clv_render_lease(lease);
	return 0;
}

static int wants_force(struct clv_request *request, bool *ret, struct clv_error *err)
{
	const char *text = clv_request_argument(request, "force");

	if (text && strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return clv_error_set(err, -EINVAL, "force must be true or false");
	*ret = text && strcmp(text, "true") == 0;
	return 0;
}

int clv_api_delete_lease(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_ledger *ledger = request->agent->ledger;
	struct clv_lease *lease;
	bool force = false;
	int r = wants_force(request, &force, err);

	if (r < 0)
		return r;
	request->status = 204;
	lease = clv_ledger_find(ledger, request->is_first_run ? argument : request->note,
		&request->caller, err);
	if (!lease)
		return request->is_first_run ? err->code : 0;
	if (request->is_first_run)
		snprintf(request->note, sizeof(request->note), "%s", lease->record.id);
	if (lease->record.vm[0] != '\0' && !force)
		return clv_error_set(err, -CLV_E_IN_USE,
			"the lease %s is that of the virtual machine %.100s: take it "
			"back "
			"with cleave unassign, or release it with --force where that "
			"machine is gone",
			lease->record.name, lease->record.command);
	/* A program that has just ended is no reason to refuse. */
	if (!force && !request->is_late && clv_attached_have_ended(lease))
		return clv_request_wait(
			request, CLV_TOPIC_LEASES | CLV_TOPIC_EVENTS, ENDED_WAIT_MS);
	if (lease->n_processes > 0 && (!force || request->is_late))
		return clv_error_set(err, -CLV_E_IN_USE,
			"%u %s of the lease %s still run%s: %s", lease->n_processes,
			lease->n_processes == 1 ? "process" : "processes",
			lease->record.name, lease->n_processes == 1 ? "s" : "",
			force ? "they have not ended yet; try again"
			      : "end them first, or release it with --force");
	snprintf(request->object, sizeof(request->object), "%s", lease->record.id);
	snprintf(request->detail, sizeof(request->detail), "%s", lease->record.name);
	clv_force_end(lease);
	/* A lease with processes ends with them; one without has ended already. */
	if (clv_ledger_find(ledger, request->note, &request->caller, NULL))
		return clv_request_wait(request, CLV_TOPIC_LEASES, FORCE_WAIT_MS);
	return 0;
}
