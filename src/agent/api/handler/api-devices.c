/* SPDX-License-Identifier: Apache-2.0 */
/* The routes of devices: listing, cordon, drain, uncordon, close. */
#include "agent/api/handler/api.h"
#include "agent/api/show/item-list.h"
#include "agent/api/show/render.h"
#include "agent/device/condition.h"
#include "agent/device/cordons.h"
#include "agent/device/devices.h"
#include "agent/device/hardware.h"
#include "agent/http/problem.h"
#include "agent/lease/lease.h"
#include "agent/lease/machine.h"
#include "agent/ledger/ledger.h"
#include "agent/lifecycle/force.h"
#include "agent/record/agent.h"
#include "agent/watch/driver-processes.h"
#include "agent/watch/watchdog.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A little more than the drivers' own timeout. */
#define DEVICES_WAIT_MS 15000u
#define SURVEY_WAIT_MS 65000u

/* A device that was present and is lost stays in the list, with its health, and one that
 * a virtual machine has, with its lease. */
static bool is_shown(const struct clv_agent_device *device)
{
	return device->is_present ||
	       (!device->parent && (clv_condition_state(device) == CLV_HEALTH_LOST ||
					   device->n_leases > 0));
}

static json_t *render(const struct clv_request *request, struct clv_agent_device *device)
{
	json_t *object = clv_render_device(request->agent, device);

	json_object_set_new(object, "processes",
		clv_driver_processes_render(
			clv_watchdog_processes(request->agent->watchdog), device,
			&request->caller));
	return object;
}

int clv_api_get_devices(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_agent *agent = request->agent;
	struct clv_item_list items = {0};

	if (request->is_first_run)
		clv_devices_refresh(agent->devices);
	if (clv_hardware_awaits_devices(agent) && !request->is_late)
		return clv_request_wait(request, CLV_TOPIC_DEVICES, DEVICES_WAIT_MS);

	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		struct clv_agent_device *device = clv_devices_at(agent->devices, i);

		if (is_shown(device))
			clv_item_list_add(&items, request, render(request, device));
	}
	return clv_item_list_answer(&items,
		json_pack("{s:n,s:o}", "next", "problems",
			json_deep_copy(clv_devices_problems(agent->devices))),
		request, err);
}

/* Reads the body: {"reason": "driver update"}, or empty. */
static int read_reason(const struct clv_request *request, char *ret, size_t ret_bytes,
	struct clv_error *err)
{
	json_t *body = request->n_body_bytes > 0
			       ? json_loadb(request->body, request->n_body_bytes,
					 JSON_REJECT_DUPLICATES, NULL)
			       : json_object();
	const char *reason = json_string_value(json_object_get(body, "reason"));
	int r = 0;

	if (!json_is_object(body) || json_object_size(body) != (reason ? 1 : 0))
		r = clv_error_set(err, -EINVAL,
			"the body must be empty or give a reason: {\"reason\": \"driver "
			"update\"}");
	else if (reason && strlen(reason) >= ret_bytes)
		r = clv_error_set(err, -ERANGE, "reason is over %zu bytes: shorten it",
			ret_bytes - 1);
	else
		snprintf(ret, ret_bytes, "%s", reason ? reason : "no reason was given");
	for (char *p = ret; r >= 0 && *p; p++)
		*p = (unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p;
	json_decref(body);
	return r;
}

static int find_device(const struct clv_request *request, const char *name,
	struct clv_agent_device **ret, struct clv_error *err)
{
	struct clv_agent_device *device = clv_devices_find(request->agent->devices, name);

	if (!device || device->parent)
		return clv_error_set(err, -ENODEV,
			"there is no device %.60s that could be taken out of service: "
			"see cleave devices",
			name);
	*ret = device;
	return 0;
}

static int set_cordon(struct clv_request *request, struct clv_agent_device *device,
	const char *reason, struct clv_error *err)
{
	snprintf(request->detail, sizeof(request->detail), "%s", reason ? reason : "");
	return clv_cordons_set(request->agent, device, reason, err);
}

static int answer(
	struct clv_request *request, unsigned int status, struct clv_agent_device *device)
{
	request->status = status;
	request->answer = render(request, device);
	return 0;
}

int clv_api_post_cordon(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_agent_device *device = NULL;
	char reason[CLV_REASON_MAX];
	int r = find_device(request, argument, &device, err);

	if (r >= 0)
		r = read_reason(request, reason, sizeof(reason), err);
	if (r >= 0)
		r = set_cordon(request, device, reason, err);
	return r < 0 ? r : answer(request, 200, device);
}

int clv_api_post_uncordon(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_agent_device *device = NULL;
	int r = find_device(request, argument, &device, err);

	if (r >= 0)
		r = set_cordon(request, device, NULL, err);
	if (r >= 0)
		clv_condition_acknowledge(request->agent, device);
	return r < 0 ? r : answer(request, 200, device);
}

/* Without force the running leases continue and no new ones follow. */
int clv_api_post_drain(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	const char *force = clv_request_argument(request, "force");
	struct clv_agent_device *device = NULL;
	char reason[CLV_REASON_MAX];
	int r = find_device(request, argument, &device, err);

	if (r >= 0 && force && strcmp(force, "true") != 0 && strcmp(force, "false") != 0)
		r = clv_error_set(err, -EINVAL, "force must be true or false");
	if (r >= 0)
		r = read_reason(request, reason, sizeof(reason), err);
	if (r >= 0)
		r = set_cordon(request, device, reason, err);
	if (r >= 0 && force && strcmp(force, "true") == 0)
		clv_force_end_all(request->agent, device);
	return r < 0 ? r : answer(request, 202, device);
}

/* Of two devices with the address either will do: it is one GPU. */
static struct clv_agent_device *find_by_address(
	const struct clv_devices *devices, const char *address)
{
	for (size_t i = 0; i < clv_devices_count(devices); i++) {
		struct clv_agent_device *device = clv_devices_at(devices, i);

		if (!device->parent && strcasecmp(device->info.pci_address, address) == 0)
			return device;
	}
	return NULL;
}

/* A lease that gives the whole device away is most likely that of the virtual machine
 * that is about to get it.  A program may begin in any other at any time. */
static int check_closable(const struct clv_agent_device *device, struct clv_error *err)
{
	if (device->info.pci_address[0] == '\0')
		return clv_error_set(
			err, -EINVAL, "%s has no PCI address", device->info.name);
	if (device->is_divided || device->operation)
		return clv_error_set(err, -CLV_E_IN_USE,
			"%s is divided, or an operation changes it: make it whole with a "
			"layout, or wait",
			device->info.name);
	for (size_t i = 0; i < device->n_leases; i++) {
		const struct clv_lease *lease = device->leases[i];

		if (!lease->record.is_queued &&
			(!clv_machine_has_whole(lease) || lease->n_processes > 0))
			return clv_error_set(err, -CLV_E_IN_USE,
				"%s is in use by lease %s of %s: end it first",
				device->info.name, lease->record.name,
				lease->record.tenant);
	}
	return 0;
}

static int find_closable(struct clv_request *request, const char *name,
	const char **ret_address, struct clv_error *err)
{
	struct clv_agent_device *device = find_by_address(request->agent->devices, name);
	int r = device ? 0 : find_device(request, name, &device, err);

	if (r >= 0)
		r = check_closable(device, err);
	*ret_address = r < 0 ? NULL : device->info.pci_address;
	return r;
}

static int begin_close(
	struct clv_request *request, const char *name, struct clv_error *err)
{
	const char *address;
	int r = find_closable(request, name, &address, err);

	return r < 0 ? r
		     : clv_hardware_close(
			       request->agent->hardware, address, &request->number, err);
}

/* A program may have begun meanwhile in a lease of the whole device, or a change of the
 * device. */
static int end_close(struct clv_request *request, const char *name, struct clv_error *err)
{
	const char *address, *why;
	int r = find_closable(request, name, &address, err);

	if (r < 0)
		return r;
	why = clv_hardware_why_open(request->agent->hardware, address);
	if (why)
		return clv_error_set(
			err, -CLV_E_UNAVAILABLE, "%s is not closed: %s", address, why);
	request->status = 204;
	return 0;
}

/* A new agent may be opening devices that it does not know yet. */
int clv_api_post_close(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_hardware *hardware = request->agent->hardware;
	int r = 0;

	if (request->number == 0 && !request->is_late &&
		!clv_hardware_awaits_devices(request->agent))
		r = begin_close(request, argument, err);
	if (r < 0)
		return r;
	if (request->number > 0 && clv_hardware_last_survey(hardware) >= request->number)
		return end_close(request, argument, err);
	if (!request->is_late)
		return clv_request_wait(
			request, CLV_TOPIC_HARDWARE | CLV_TOPIC_DEVICES, SURVEY_WAIT_MS);
	return clv_error_set(err, -CLV_E_UNAVAILABLE,
		"a driver does not answer: see the kernel's log");
}
