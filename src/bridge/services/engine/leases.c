/* SPDX-License-Identifier: Apache-2.0 */
/* Leases of replicas, through libcleave and CDI. */
#include "bridge/services/engine/leases.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/units.h"
#include "bridge/cdi/driver.h"
#include "bridge/cdi/host.h"
#include "bridge/cdi/spec.h"
#include "bridge/services/project/lease-request.h"
#include "bridge/services/project/project.h"

#include <cleave.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPECS "/var/run/cdi"
#define MEMORY_STEP (UINT64_C(1) << 20)

struct clv_leases {
	char project[CLV_SERVICE_NAME_MAX];
	char command[CLV_SERVICE_NAME_MAX + 32]; /* by which its leases are recognized */
	char socket[CLV_PATH_MAX];
	char specification[CLV_PATH_MAX];
	struct clv_client *client;
	struct clv_cdi_driver *driver;
	json_t *items; /* of the last look */
};

int clv_leases_new(const char *project, const char *socket, struct clv_leases **ret,
	struct clv_error *err)
{
	struct clv_leases *leases = calloc(1, sizeof(*leases));

	if (!leases)
		return clv_error_errno(err, ENOMEM, "cannot start");
	snprintf(leases->project, sizeof(leases->project), "%s", project);
	snprintf(leases->command, sizeof(leases->command), CLV_SERVICES_COMMAND "%s",
		project);
	snprintf(leases->socket, sizeof(leases->socket), "%s", socket ? socket : "");
	snprintf(leases->specification, sizeof(leases->specification),
		SPECS "/cleave-services-%s.json", project);
	*ret = leases;
	return 0;
}

struct clv_leases *clv_leases_free(struct clv_leases *leases)
{
	if (!leases)
		return NULL;
	clv_client_free(leases->client);
	clv_cdi_driver_free(leases->driver);
	json_decref(leases->items);
	free(leases);
	return NULL;
}

static void take_error(struct clv_error *err, const struct clv_client_error *from)
{
	clv_error_set(err, from->error < 0 ? from->error : -EIO, "%.500s", from->msg);
}

static int connect_agent(struct clv_leases *leases, struct clv_error *err)
{
	const struct clv_client_options options = {
		.socket_path = leases->socket[0] ? leases->socket : NULL,
		.start_agent = true,
	};
	struct clv_client_error why = {0};

	if (leases->client)
		return 0;
	if (clv_client_new(&options, &leases->client, &why) < 0) {
		leases->client = NULL;
		take_error(err, &why);
		return -ECONNREFUSED;
	}
	return 0;
}

/* The agent was started again: the next call connects. */
static void check_connection(
	struct clv_leases *leases, const struct clv_client_error *why)
{
	if (strcmp(why->code, "unreachable") == 0)
		leases->client = clv_client_free(leases->client);
}

static struct clv_client_lease_request request_of(const struct clv_leases *leases,
	const struct clv_service *service, const char *name, bool may_wait)
{
	struct clv_client_lease_request request = clv_services_lease_request(service);

	request.name = name;
	request.command = leases->command;
	request.wait = may_wait;
	return request;
}

static enum clv_lease_result result_of(const json_t *lease)
{
	const char *state = json_string_value(json_object_get(lease, "state"));

	return state && strcmp(state, "active") == 0 ? CLV_LEASE_GIVEN : CLV_LEASE_QUEUED;
}

bool clv_leases_is_of_user(const json_t *lease)
{
	return json_integer_value(json_object_get(lease, "uid")) == geteuid();
}

static bool is_ours(const struct clv_leases *leases, const json_t *lease)
{
	const char *command = json_string_value(json_object_get(lease, "command"));

	return command && strcmp(command, leases->command) == 0 &&
	       clv_leases_is_of_user(lease);
}

/* The user's lease of the name, or NULL: each user has names of its own. */
static json_t *find_own(struct clv_leases *leases, const char *name)
{
	json_t *lease = NULL;

	if (clv_client_lease(leases->client, name, &lease, NULL) < 0)
		return NULL;
	if (clv_leases_is_of_user(lease))
		return lease;
	json_decref(lease);
	return NULL;
}

enum clv_lease_result clv_leases_give(struct clv_leases *leases,
	const struct clv_service *service, const char *name, const char *device,
	bool may_wait, struct clv_error *err)
{
	struct clv_client_lease_request request =
		request_of(leases, service, name, may_wait);
	struct clv_client_error why = {0};
	enum clv_lease_result result;
	json_t *lease = NULL;

	if (device)
		request.device = device;
	if (connect_agent(leases, err) < 0)
		return CLV_LEASE_REFUSED;
	lease = find_own(leases, name);
	if (!lease &&
		clv_client_lease_create(leases->client, &request, &lease, &why) < 0) {
		check_connection(leases, &why);
		take_error(err, &why);
		return strcmp(why.code, "does_not_fit") == 0 ? CLV_LEASE_NO_ROOM
							     : CLV_LEASE_REFUSED;
	}
	result = result_of(lease);
	if (!is_ours(leases, lease)) {
		clv_error_set(err, -EEXIST,
			"a lease %s exists that is not of this project: release it, or "
			"give the service another name",
			name);
		result = CLV_LEASE_REFUSED;
	}
	json_decref(lease);
	return result;
}

int clv_leases_end(struct clv_leases *leases, const char *name, struct clv_error *err)
{
	struct clv_client_error why = {0};
	int r = connect_agent(leases, err);
	json_t *lease = NULL;
	bool is_other;

	if (r < 0)
		return r;
	r = clv_client_lease(leases->client, name, &lease, &why);
	is_other = r >= 0 && !is_ours(leases, lease);
	json_decref(lease);
	if (is_other)
		return 0;
	if (r >= 0)
		r = clv_client_lease_release(leases->client, name, true, &why);
	if (r >= 0 || strcmp(why.code, "not_found") == 0)
		return 0;
	check_connection(leases, &why);
	take_error(err, &why);
	return -EIO;
}

/* --- Leases of replicas that sleep --- */

/* A partition without a share is leased whole. */
int clv_leases_need(const struct clv_service_device *wanted, uint64_t device_bytes,
	struct clv_share *ret)
{
	bool is_whole = strcmp(wanted->isolation, "hardware") == 0 ||
			(wanted->profile[0] && !wanted->share_ppm);
	const struct clv_share_request request = {
		.compute_ppm = is_whole ? CLV_PPM : wanted->share_ppm,
		.memory_bytes = wanted->memory_bytes,
		.class = CLV_CLASS_NORMAL,
	};

	return clv_share_resolve(&request, device_bytes, ret, NULL);
}

/* Other leases must not come into the partition of one that has it alone. */
static bool is_alone(const struct clv_service *service)
{
	return strcmp(service->device.isolation, "hardware") == 0;
}

static int change(struct clv_leases *leases, const char *name,
	const struct clv_client_lease_change *wanted, struct clv_client_error *why,
	struct clv_error *err)
{
	json_t *lease = NULL;
	int r = clv_client_lease_update(leases->client, name, wanted, &lease, why);

	json_decref(lease);
	if (r >= 0)
		return 0;
	check_connection(leases, why);
	take_error(err, why);
	return -EIO;
}

/* The user's lease.  -ENOENT: it is gone; others: not known now. */
static int get_own(
	struct clv_leases *leases, const char *name, json_t **ret, struct clv_error *err)
{
	struct clv_client_error why = {0};
	int r = connect_agent(leases, err);

	if (r < 0)
		return r;
	if (clv_client_lease(leases->client, name, ret, &why) < 0) {
		check_connection(leases, &why);
		take_error(err, &why);
		return strcmp(why.code, "not_found") == 0 ? -ENOENT : -EAGAIN;
	}
	if (clv_leases_is_of_user(*ret))
		return 0;
	json_decref(*ret);
	*ret = NULL;
	return clv_error_set(err, -ENOENT, "the lease %s is another user's", name);
}

/* In whole MiB, one at least. */
static uint64_t used_by(const json_t *lease)
{
	json_int_t used = json_integer_value(json_object_get(lease, "memory_used_bytes"));
	uint64_t n_steps =
		used > 0 ? ((uint64_t)used + MEMORY_STEP - 1) / MEMORY_STEP : 1;

	return n_steps * MEMORY_STEP;
}

int clv_leases_rest(struct clv_leases *leases, const struct clv_service *service,
	const char *name, bool shrinks, struct clv_error *err)
{
	struct clv_client_lease_change wanted = {.share_ppm = CLV_LEASE_REST_PPM};
	struct clv_client_error why = {0};
	json_t *lease = NULL;
	int r = is_alone(service) ? 0 : get_own(leases, name, &lease, err);

	if (r < 0 || is_alone(service))
		return r;
	if (shrinks)
		wanted.memory_bytes = used_by(lease);
	json_decref(lease);
	return change(leases, name, &wanted, &why, err);
}

int clv_leases_rests(struct clv_leases *leases, const char *name, struct clv_error *err)
{
	json_t *lease = NULL;
	int r = get_own(leases, name, &lease, err);
	double share = json_number_value(json_object_get(lease, "share"));

	json_decref(lease);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return share * CLV_PPM < CLV_LEASE_REST_PPM + .5;
}

/* The memory of the device that the lease is on; 0: the list has no such device. */
static int find_device_bytes(struct clv_leases *leases, const json_t *lease,
	uint64_t *ret_bytes, struct clv_error *err)
{
	const char *name = json_string_value(json_object_get(lease, "device"));
	struct clv_client_error why = {0};
	json_t *list = NULL, *device;
	size_t i;

	*ret_bytes = 0;
	if (clv_client_devices(leases->client, &list, &why) < 0) {
		check_connection(leases, &why);
		take_error(err, &why);
		return -EAGAIN;
	}
	json_array_foreach (json_object_get(list, "items"), i, device) {
		const char *its = json_string_value(json_object_get(device, "name"));

		if (name && its && strcmp(name, its) == 0)
			*ret_bytes = (uint64_t)json_integer_value(
				json_object_get(device, "memory_bytes"));
	}
	json_decref(list);
	return 0;
}

/* What the lease is to have again.  An agent that has just started may not know its
 * devices yet. */
static enum clv_lease_result find_need(struct clv_leases *leases,
	const struct clv_service *service, const json_t *lease, struct clv_share *ret,
	struct clv_error *err)
{
	const char *device = json_string_value(json_object_get(lease, "device"));
	uint64_t bytes;

	if (find_device_bytes(leases, lease, &bytes, err) < 0)
		return CLV_LEASE_UNKNOWN;
	if (bytes == 0) {
		clv_error_set(err, -ENODEV, "the agent does not have the device %s now",
			device ? device : "");
		return CLV_LEASE_NO_ROOM;
	}
	if (clv_leases_need(&service->device, bytes, ret) >= 0)
		return CLV_LEASE_GIVEN;
	clv_error_set(err, -EINVAL, "%s cannot have its share", device ? device : "");
	return CLV_LEASE_REFUSED;
}

/* What another try does not change. */
static bool is_final(const struct clv_client_error *why)
{
	return why->status >= 400 && why->status < 500 &&
	       strcmp(why->code, "does_not_fit") != 0;
}

enum clv_lease_result clv_leases_resume(struct clv_leases *leases,
	const struct clv_service *service, const char *name, struct clv_error *err)
{
	struct clv_client_lease_change wanted = {
		.share_most_ppm = service->device.share_most_ppm};
	struct clv_client_error why = {0};
	enum clv_lease_result result;
	struct clv_share need;
	json_t *lease = NULL;
	int r = get_own(leases, name, &lease, err);

	if (r < 0)
		return r == -ENOENT ? CLV_LEASE_REFUSED : CLV_LEASE_UNKNOWN;
	result = find_need(leases, service, lease, &need, err);
	json_decref(lease);
	if (result != CLV_LEASE_GIVEN || is_alone(service))
		return result;
	wanted.share_ppm = need.compute_ppm;
	wanted.memory_bytes = need.memory_bytes;
	if (change(leases, name, &wanted, &why, err) >= 0)
		return CLV_LEASE_GIVEN;
	if (why.status == 0)
		return CLV_LEASE_UNKNOWN;
	return is_final(&why) ? CLV_LEASE_REFUSED : CLV_LEASE_NO_ROOM;
}

int clv_leases_look(struct clv_leases *leases, struct clv_error *err)
{
	struct clv_client_error why = {0};
	json_t *list = NULL, *item, *ours;
	size_t i;
	int r = connect_agent(leases, err);

	if (r < 0)
		return r;
	if (clv_client_leases(leases->client, &list, &why) < 0) {
		check_connection(leases, &why);
		take_error(err, &why);
		return -EIO;
	}
	ours = json_array();
	json_array_foreach (json_object_get(list, "items"), i, item) {
		if (is_ours(leases, item))
			json_array_append(ours, item);
	}
	json_decref(list);
	json_decref(leases->items);
	leases->items = ours;
	return 0;
}

static json_t *take_items(json_t *list)
{
	json_t *items = json_incref(json_object_get(list, "items"));

	json_decref(list);
	return items;
}

int clv_leases_survey(struct clv_leases *leases, json_t **ret_leases,
	json_t **ret_devices, struct clv_error *err)
{
	struct clv_client_error why = {0};
	json_t *all = NULL, *devices = NULL;
	int r = connect_agent(leases, err);

	if (r < 0)
		return r;
	if (clv_client_leases(leases->client, &all, &why) < 0 ||
		clv_client_devices(leases->client, &devices, &why) < 0) {
		json_decref(all);
		check_connection(leases, &why);
		take_error(err, &why);
		return -EIO;
	}
	*ret_leases = take_items(all);
	*ret_devices = take_items(devices);
	return 0;
}

const json_t *clv_leases_find(const struct clv_leases *leases, const char *name)
{
	json_t *item;
	size_t i;

	json_array_foreach (leases->items, i, item) {
		const char *its = json_string_value(json_object_get(item, "name"));

		if (its && strcmp(its, name) == 0)
			return item;
	}
	return NULL;
}

size_t clv_leases_names(
	const struct clv_leases *leases, const char **ret_names, size_t room)
{
	size_t n = 0, i;
	json_t *item;

	json_array_foreach (leases->items, i, item) {
		const char *name = json_string_value(json_object_get(item, "name"));

		if (name && n < room)
			ret_names[n++] = name;
	}
	return n;
}

/* The gates are where they were installed, or where CLEAVE_GATE_DIR says. */
static int describe(struct clv_leases *leases, json_t **ret, struct clv_error *err)
{
	const char *gates = getenv("CLEAVE_GATE_DIR");
	char hook[CLV_PATH_MAX];
	struct clv_cdi_host host = {
		.gates = gates && gates[0] ? gates : CLV_GATE_DIR,
		.hook = hook,
	};
	int r = clv_cdi_find_hook(host.gates, hook, err);

	if (r >= 0 && !leases->driver)
		r = clv_cdi_driver_new("/", SPECS, &leases->driver, err);
	host.driver = leases->driver;
	return r < 0 ? r : clv_cdi_spec(leases->items, &host, ret, err);
}

int clv_leases_describe(struct clv_leases *leases, struct clv_error *err)
{
	_cleanup_free_ char *text = NULL;
	json_t *made = NULL;
	int r = describe(leases, &made, err);

	/* More than 0: a device of a lease has no node, and its container would not run.
	 */
	if (r != 0) {
		json_decref(made);
		return r < 0 ? r : -ENODEV;
	}
	/* Of a kind of its own: another file, of `cleave cdi watch`, may have the same
	 * leases as cleave.dev/gpu. */
	json_object_set_new(made, "kind", json_string(CLV_LEASES_KIND));
	text = json_dumps(made, JSON_INDENT(2));
	json_decref(made);
	if (!text)
		return clv_error_errno(err, ENOMEM, "cannot describe the leases");
	r = clv_path_make(SPECS, 0755, err);
	return r < 0 ? r : clv_file_replace(leases->specification, text, err);
}

void clv_leases_forget(const struct clv_leases *leases)
{
	unlink(leases->specification);
}
