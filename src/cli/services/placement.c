/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas that stay are where their leases are.  The others are shown to the agent in
 * the order in which they would start: the first of each service, then the second of
 * each.  One that takes the place of another one starts beside it where there is room. */
#include "cli/services/placement.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "bridge/services/project/lease-request.h"
#include "cli/frame/cli.h"
#include "cli/services/slowdown.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ASKED_MAX 256u /* of the agent, at a time */

/* What the agent is asked. */
struct asked {
	struct clv_client_placement items[ASKED_MAX];
	json_t *into[ASKED_MAX]; /* borrowed */
	size_t n;
	const char *gone[ASKED_MAX];
	size_t n_gone;
};

/* --- The leases that are there --- */

static bool is_of_project(const struct clv_project *project, const json_t *lease)
{
	const char *command = clv_json_text(lease, "command");
	size_t n = strlen(CLV_SERVICES_COMMAND);

	return (uid_t)clv_json_number(lease, "uid") == geteuid() &&
	       strncmp(command, CLV_SERVICES_COMMAND, n) == 0 &&
	       strcmp(command + n, project->name) == 0;
}

/* "PROJECT-SERVICE-NUMBER" */
static bool is_of_service(
	const struct clv_project *project, const char *service, const json_t *lease)
{
	const char *name = clv_json_text(lease, "name");
	size_t n = strlen(project->name), m = strlen(service);

	if (!is_of_project(project, lease) || strncmp(name, project->name, n) != 0 ||
		name[n] != '-' || strncmp(name + n + 1, service, m) != 0 ||
		name[n + 1 + m] != '-' || !name[n + m + 2])
		return false;
	for (name += n + m + 2; *name; name++) {
		if (!isdigit((unsigned char)*name))
			return false;
	}
	return true;
}

/* Those of a service that are active, oldest first: references. */
static json_t *leases_of(
	const struct clv_project *project, const char *service, const json_t *leases)
{
	json_t *found = json_array(), *lease;
	size_t i;

	json_array_foreach (leases, i, lease) {
		if (strcmp(clv_json_text(lease, "state"), "active") == 0 &&
			is_of_service(project, service, lease))
			json_array_append(found, lease);
	}
	return found;
}

static json_t *others_of(const struct clv_project *project, const json_t *leases)
{
	json_t *found = json_array(), *lease;
	size_t i;

	json_array_foreach (leases, i, lease) {
		if (!is_of_project(project, lease))
			json_array_append(found, lease);
	}
	return found;
}

/* --- Replicas --- */

/* Of a service without a supervisor, or of a fixed number, what sleeps starts. */
static bool stays_asleep(const struct clv_planned *planned)
{
	return planned->is_asleep && !planned->is_replaced && planned->service &&
	       planned->service->autoscaling.yaml;
}

static bool is_frozen(const json_t *lease)
{
	return clv_json_number(lease, "share") * CLV_PPM < CLV_LEASE_REST_PPM + .5;
}

/* A frozen replica has its device, and needs its compute again. */
static bool goes_on(const struct clv_planned *planned, const json_t *lease)
{
	return !planned->is_replaced && is_frozen(lease) && !stays_asleep(planned);
}

static json_t *add_replica(const struct clv_planned *planned)
{
	json_t *made = json_pack("{s:n, s:n, s:n, s:n, s:n, s:b, s:s, s:n, s:s}",
		"replica", "replaces", "fits", "device", "share", "after_end", 0, "why",
		"", "slowdown", "slowdown_why", "");

	json_array_append_new(planned->placement, made);
	return made;
}

static void add_present(const struct clv_planned *planned, const json_t *lease)
{
	json_t *made = add_replica(planned);

	json_object_set(made, "replica", json_object_get(lease, "name"));
	json_object_set(made, "device", json_object_get(lease, "device"));
	json_object_set(made, "share", json_object_get(lease, "share"));
	json_object_set_new(made, "fits", json_true());
}

static void leave(struct asked *asked, const json_t *lease)
{
	if (asked->n_gone < ASKED_MAX)
		asked->gone[asked->n_gone++] = clv_json_text(lease, "id");
}

/* lease: that it takes the place of, or has until it goes on, or NULL. */
static void add_new(
	const struct clv_planned *planned, const json_t *lease, struct asked *asked)
{
	bool is_there = lease && goes_on(planned, lease);
	json_t *made = add_replica(planned);
	struct clv_client_placement *item = &asked->items[asked->n];

	if (lease)
		json_object_set(made, is_there ? "replica" : "replaces",
			json_object_get(lease, "name"));
	if (strcmp(planned->service->device.isolation, "hardware") == 0) {
		json_object_set_new(
			made, "why", json_string("its partition is made when it starts"));
		return;
	}
	if (asked->n == ASKED_MAX) {
		json_object_set_new(made, "why",
			json_string("there are too many replicas to ask for all"));
		return;
	}
	*item = (struct clv_client_placement){
		.lease = clv_services_lease_request(planned->service),
		.instead_of = lease ? clv_json_text(lease, "id") : NULL,
		.ends_first =
			planned->service->stops_first || (lease && is_frozen(lease)),
	};
	if (is_there && !item->lease.profile)
		item->lease.device = clv_json_text(lease, "device");
	asked->into[asked->n++] = made;
}

/* Replicas that stay, and those that go without another one in their place. */
static size_t take_present(
	const struct clv_planned *planned, const json_t *leases, struct asked *asked)
{
	size_t n_kept =
		stays_asleep(planned) ? json_array_size(leases) : planned->n_replicas;
	bool has_device = planned->service && planned->service->device.is_given;
	json_t *lease;
	size_t i, n = 0;

	json_array_foreach (leases, i, lease) {
		if (!has_device || i >= n_kept)
			leave(asked, lease);
		else if (goes_on(planned, lease))
			add_new(planned, lease, asked);
		else if (!planned->is_replaced)
			add_present(planned, lease);
		n += has_device && i < n_kept && !planned->is_replaced;
	}
	return n;
}

static void take_answer(json_t *into, const json_t *answer)
{
	const json_t *error = json_object_get(answer, "error");

	json_object_set(into, "fits", json_object_get(answer, "fits"));
	json_object_set(into, "device", json_object_get(answer, "device"));
	json_object_set(into, "share", json_object_get(answer, "share"));
	if (json_is_null(json_object_get(into, "replica")))
		json_object_set(into, "after_end", json_object_get(answer, "after_end"));
	if (json_is_object(error))
		json_object_set(into, "why", json_object_get(error, "detail"));
}

static int ask(struct clv_client *client, const struct asked *asked)
{
	_cleanup_json_ json_t *answers = NULL;
	struct clv_client_error err = {0};

	if (asked->n == 0)
		return 0;
	if (clv_client_placements(client, asked->items, asked->n, asked->gone,
		    asked->n_gone, &answers, &err) < 0)
		return clv_cli_fail_client(&err);
	for (size_t i = 0; i < asked->n; i++)
		take_answer(asked->into[i],
			json_array_get(json_object_get(answers, "items"), i));
	return 0;
}

/* present: of each service the leases that it has. */
static int place(struct clv_client *client, struct clv_planned *items, size_t n,
	json_t *const *present, struct asked *asked)
{
	_cleanup_free_ size_t *n_kept = calloc(n + 1, sizeof(*n_kept));
	bool has_more = n_kept != NULL;

	for (size_t i = 0; i < n && n_kept; i++)
		n_kept[i] = take_present(&items[i], present[i], asked);
	for (size_t at = 0; has_more; at++) {
		has_more = false;
		for (size_t i = 0; i < n; i++) {
			const struct clv_planned *planned = &items[i];

			if (!planned->service || !planned->service->device.is_given ||
				n_kept[i] + at >= planned->n_replicas)
				continue;
			has_more = true;
			add_new(planned,
				planned->is_replaced ? json_array_get(present[i], at)
						     : NULL,
				asked);
		}
	}
	return n_kept ? ask(client, asked)
		      : clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
}

static bool has_devices(const struct clv_planned *items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (items[i].service && items[i].service->device.is_given)
			return true;
	}
	return false;
}

static int find(struct clv_client *client, const struct clv_project *project,
	const char *reports, struct clv_planned *items, size_t n)
{
	_cleanup_free_ json_t **present = calloc(n + 1, sizeof(json_t *));
	_cleanup_free_ struct asked *asked = calloc(1, sizeof(*asked));
	_cleanup_json_ json_t *leases = NULL, *others = NULL;
	struct clv_client_error err = {0};
	int r;

	if (!present || !asked)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	if (clv_client_leases(client, &leases, &err) < 0)
		return clv_cli_fail_client(&err);
	for (size_t i = 0; i < n; i++)
		present[i] = leases_of(
			project, items[i].name, json_object_get(leases, "items"));
	r = place(client, items, n, present, asked);
	others = others_of(project, json_object_get(leases, "items"));
	if (!r)
		r = clv_slowdown_predict(items, n, others, reports);
	for (size_t i = 0; i < n; i++)
		json_decref(present[i]);
	return r;
}

int clv_placement_find(const struct clv_common *common, const struct clv_project *project,
	const char *reports, struct clv_planned *items, size_t n)
{
	_cleanup_client_ struct clv_client *client = NULL;
	int r;

	if (!has_devices(items, n))
		return 0;
	r = clv_cli_connect(common, true, &client);
	return r ? r : find(client, project, reports, items, n);
}
