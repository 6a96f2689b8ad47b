/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/placements: where leases would go. */
#include "agent/api/handler/api.h"
#include "agent/api/request/request-placement.h"
#include "agent/device/devices.h"
#include "agent/device/hardware.h"
#include "agent/http/problem.h"
#include "agent/ledger/ledger.h"
#include "agent/lifecycle/trial.h"
#include "agent/record/agent.h"
#include "base/cleanup.h"
#include "base/units.h"

#include <errno.h>
#include <stdlib.h>

#define DEVICES_WAIT_MS 15000u

static json_t *to_json(const struct clv_trial *trial)
{
	bool fits = trial->r >= 0;
	json_t *device = fits ? json_string(trial->device) : json_null();
	json_t *share = fits ? json_real((double)trial->share.compute_ppm / CLV_PPM)
			     : json_null();
	json_t *memory =
		fits ? json_integer((json_int_t)trial->share.memory_bytes) : json_null();
	unsigned int status;
	json_t *problem = fits ? json_null() : clv_problem_to_json(&trial->err, &status);

	return json_pack("{s:b, s:o, s:o, s:o, s:b, s:o}", "fits", fits, "device", device,
		"share", share, "memory_bytes", memory, "after_end", trial->is_after_end,
		"error", problem);
}

/* A lease that has ended meanwhile is gone anyway. */
static struct clv_lease *find(const struct clv_request *request, const char *name)
{
	return name[0] ? clv_ledger_find(
				 request->agent->ledger, name, &request->caller, NULL)
		       : NULL;
}

static int try_all(struct clv_request *request,
	const struct clv_placements_request *wanted, struct clv_error *err)
{
	_cleanup_free_ struct clv_trial *trials = calloc(wanted->n + 1, sizeof(*trials));
	_cleanup_free_ struct clv_lease **gone =
		calloc(wanted->n_gone + 1, sizeof(*gone));
	json_t *items = json_array();
	size_t n_gone = 0;

	if (!trials || !gone) {
		json_decref(items);
		return clv_error_errno(err, ENOMEM, "cannot try the leases");
	}
	for (size_t i = 0; i < wanted->n_gone; i++) {
		gone[n_gone] = find(request, wanted->gone[i]);
		n_gone += gone[n_gone] != NULL;
	}
	for (size_t i = 0; i < wanted->n; i++) {
		trials[i].request = &wanted->items[i].lease;
		trials[i].instead_of = find(request, wanted->items[i].instead_of);
		trials[i].ends_first = wanted->items[i].ends_first;
	}
	clv_trial_run(request->agent, &request->caller, gone, n_gone, trials, wanted->n);
	for (size_t i = 0; i < wanted->n; i++)
		json_array_append_new(items, to_json(&trials[i]));
	request->status = 200;
	request->answer = clv_api_list(items, 0);
	return 0;
}

/* A partition of its own is made when the lease is. */
static int check_isolation(
	const struct clv_placements_request *wanted, struct clv_error *err)
{
	for (size_t i = 0; i < wanted->n; i++) {
		if (wanted->items[i].lease.is_isolated)
			return clv_error_set(err, -EINVAL,
				"with isolation by hardware a partition is made for the "
				"lease, whose place is not known before: leave this one "
				"out");
	}
	return 0;
}

int clv_api_post_placements(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_agent *agent = request->agent;
	struct clv_placements_request wanted;
	int r = clv_request_parse_placements(
		request->body, request->n_body_bytes, &wanted, err);

	if (r >= 0)
		r = check_isolation(&wanted, err);
	if (r >= 0 && request->is_first_run)
		clv_devices_refresh(agent->devices);
	if (r >= 0 && clv_hardware_awaits_devices(agent) && !request->is_late)
		r = clv_request_wait(request, CLV_TOPIC_DEVICES, DEVICES_WAIT_MS);
	else if (r >= 0)
		r = try_all(request, &wanted, err);
	clv_placements_request_clear(&wanted);
	return r;
}
