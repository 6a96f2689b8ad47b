/* SPDX-License-Identifier: Apache-2.0 */
/* Leases of replicas that sleep, and room for them, at an agent that answers what each
 * test says. */
#include "bridge/services/engine/leases.h"
#include "bridge/services/engine/survey.h"

#include "base/error.h"

#include <cleave.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)

static struct {
	const char *devices; /* NULL: no answer */
	const char *lease;   /* the error of its GET, or NULL */
	const char *update;  /* the same of its change */
	uint32_t share_ppm;  /* that it was given */
	const char *leases;
} agent;

/* --- The agent: in place of libcleave's --- */

int clv_client_new(const struct clv_client_options *options, struct clv_client **ret,
	struct clv_client_error *err)
{
	*ret = (struct clv_client *)&agent;
	return 0;
}

struct clv_client *clv_client_free(struct clv_client *client)
{
	return NULL;
}

static int refuse(const char *code, struct clv_client_error *err)
{
	strcpy(err->code, code);
	err->status = strcmp(code, "unreachable") == 0 ? 0
		      : strcmp(code, "internal") == 0  ? 500
						       : 404;
	err->error = -EIO;
	return -EIO;
}

int clv_client_lease(struct clv_client *client, const char *name, json_t **ret,
	struct clv_client_error *err)
{
	if (agent.lease)
		return refuse(agent.lease, err);
	*ret = json_pack("{s:s, s:s, s:I, s:f}", "name", name, "device", "gpu0", "uid",
		(json_int_t)geteuid(), "share", 1e-6);
	return 0;
}

int clv_client_devices(
	struct clv_client *client, json_t **ret, struct clv_client_error *err)
{
	if (!agent.devices)
		return refuse("unreachable", err);
	*ret = json_loads(agent.devices, 0, NULL);
	assert_non_null(*ret);
	return 0;
}

int clv_client_leases(
	struct clv_client *client, json_t **ret, struct clv_client_error *err)
{
	json_t *lease;
	size_t i;

	*ret = json_loads(agent.leases, 0, NULL);
	json_array_foreach (json_object_get(*ret, "items"), i, lease) {
		json_object_set_new(lease, "uid", json_integer(geteuid()));
		json_object_set_new(lease, "state", json_string("active"));
	}
	return 0;
}

int clv_client_lease_update(struct clv_client *client, const char *name,
	const struct clv_client_lease_change *change, json_t **ret,
	struct clv_client_error *err)
{
	if (agent.update)
		return refuse(agent.update, err);
	agent.share_ppm = change->share_ppm;
	*ret = json_object();
	return 0;
}

/* --- Tests --- */

static const char its_device[] =
	"{\"items\": [{\"name\": \"gpu0\", \"memory_bytes\": 17179869184}]}";
static const char no_devices[] = "{\"items\": []}";
static const char other_device[] =
	"{\"items\": [{\"name\": \"gpu1\", \"memory_bytes\": 17179869184}]}";

/* What a service keeps in memory is given up for CLV_LEASE_REFUSED at once, for
 * CLV_LEASE_NO_ROOM after a few tries, and else never. */
static const struct row {
	const char *devices, *lease, *update;
	enum clv_lease_result result;
} rows[] = {
	{its_device, NULL, NULL, CLV_LEASE_GIVEN},
	{its_device, NULL, "does_not_fit", CLV_LEASE_NO_ROOM},
	{its_device, NULL, "not_found", CLV_LEASE_REFUSED},
	{its_device, NULL, "internal", CLV_LEASE_NO_ROOM},
	{its_device, NULL, "unreachable", CLV_LEASE_UNKNOWN},
	{its_device, "not_found", NULL, CLV_LEASE_REFUSED},
	{its_device, "unreachable", NULL, CLV_LEASE_UNKNOWN},
	/* An agent that is started again: between two calls, and before its devices. */
	{NULL, NULL, NULL, CLV_LEASE_UNKNOWN},
	{no_devices, NULL, NULL, CLV_LEASE_NO_ROOM},
	{other_device, NULL, NULL, CLV_LEASE_NO_ROOM},
};

static void resume(const struct clv_service *service)
{
	struct clv_leases *leases = NULL;

	assert_true(clv_leases_new("demo", NULL, &leases, NULL) >= 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct clv_error err = {0};

		agent.devices = rows[i].devices;
		agent.lease = rows[i].lease;
		agent.update = rows[i].update;
		agent.share_ppm = 0;
		assert_int_equal(clv_leases_resume(leases, service, "demo-web-1", &err),
			rows[i].result);
		assert_int_equal(
			agent.share_ppm, rows[i].result == CLV_LEASE_GIVEN ? 250000 : 0);
	}
	clv_leases_free(leases);
}

static void test_resume(void **state)
{
	struct clv_service service = {.device = {.is_given = true, .share_ppm = 250000}};

	resume(&service);
	service.device.memory_bytes = GIB;
	resume(&service);
}

/* --- Room --- */

/* Two devices that are full.  web, which needs room, is frozen on both; of api, which
 * sleeps, one replica is kept ready, and one is frozen. */
static const char two_devices[] =
	"{'items': [{'name': 'gpu0', 'memory_bytes': 1000000000, 'share_promised': 1,"
	" 'memory_promised_bytes': 1000000000, 'health': {'state': 'ok'}},"
	" {'name': 'gpu1', 'memory_bytes': 1000000000, 'share_promised': 1,"
	" 'memory_promised_bytes': 1000000000, 'health': {'state': 'ok'}}]}";
static const char their_leases[] =
	"{'items': [{'name': 'demo-web-1', 'device': 'gpu0', 'share': 0.000001,"
	" 'memory_bytes': 1000}, {'name': 'demo-web-2', 'device': 'gpu1',"
	" 'share': 0.000001, 'memory_bytes': 1000}, {'name': 'demo-api-1',"
	" 'device': 'gpu0', 'share': 0.5, 'memory_bytes': 1000},"
	" {'name': 'demo-api-2', 'device': 'gpu0', 'share': 0.5, 'memory_bytes': 1000}]}";
static const char its_project[] =
	"[{'project': 'demo', 'services': [{'name': 'web', 'replicas': ["
	" {'name': 'demo-web-1', 'state': 'frozen'},"
	" {'name': 'demo-web-2', 'state': 'frozen'}]}, {'name': 'api', 'spare': 1,"
	" 'asleep': true, 'idle_seconds': 60, 'replicas': ["
	" {'name': 'demo-api-1', 'state': 'ready'},"
	" {'name': 'demo-api-2', 'state': 'frozen'}]}]}]";

/* The same with quotation marks as of JSON; the caller frees it. */
static char *quoted(const char *text)
{
	char *made = strdup(text);

	for (char *p = made; (p = strchr(p, '\''));)
		*p = '"';
	return made;
}

static void test_room_of_frozen(void **state)
{
	const struct clv_service wanted = {.name = "web",
		.device = {.is_given = true, .share_ppm = 250000, .memory_bytes = 1000}};
	char *devices = quoted(two_devices), *its = quoted(their_leases),
	     *status = quoted(its_project);
	json_t *projects = json_loads(status, 0, NULL);
	size_t chosen[CLV_GIVE_WAY_LEASES_MAX];
	struct clv_leases *leases = NULL;
	struct clv_survey survey = {0};

	agent.devices = devices;
	agent.leases = its;
	assert_true(clv_leases_new("demo", NULL, &leases, NULL) >= 0);
	assert_true(
		clv_survey_read(&survey, leases, projects, "demo", &wanted, NULL) >= 0);
	assert_int_equal(survey.room.n_places, 2);
	assert_int_equal(survey.places[0].needed_ppm, 250000);
	assert_int_equal(survey.places[1].needed_ppm, UINT32_MAX);
	assert_int_equal(clv_give_way_choose(&survey.room, chosen), 1);
	assert_string_equal(survey.owners[chosen[0]].name, "demo-api-2");
	clv_survey_clear(&survey);
	clv_leases_free(leases);
	json_decref(projects);
	free(devices);
	free(its);
	free(status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room_of_frozen),
		cmocka_unit_test(test_resume),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
