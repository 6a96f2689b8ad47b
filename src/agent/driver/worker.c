/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's side of the protocol in worker.h: finds the devices of all backends and
 * calls the backends' functions. */
#include "agent/driver/worker.h"

#include "agent/driver/node-json.h"
#include "agent/driver/reading-json.h"
#include "backend/backend.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static const struct clv_backend_ops *const backends[] = {
	&clv_backend_nvidia,
	&clv_backend_amd,
	&clv_backend_sriov,
	&clv_backend_opencl,
	&clv_backend_sim,
};

#define N_BACKENDS CLV_ARRAY_SIZE(backends)

struct worker {
	struct clv_backend *open[N_BACKENDS]; /* NULL: not available */
	struct clv_node node;
	struct clv_error absent[N_BACKENDS]; /* why it is not available */
	uint8_t *backend_of;         /* index into open, for each device of the node */
	struct clv_closed closed;    /* devices that are not to be opened */
	struct clv_error not_closed; /* why the others are not opened either */
	FILE *answers;
};

/* With CLEAVE_SIM the simulator is the only backend, without it all others are used. */
static bool is_wanted(const struct clv_backend_ops *ops)
{
	return (getenv("CLEAVE_SIM") != NULL) == (ops == &clv_backend_sim) && ops->survey;
}

static void open_backend(struct worker *w, size_t at)
{
	struct clv_backend **open = &w->open[at];

	w->absent[at] = (struct clv_error){0};
	if (!is_wanted(backends[at]) || *open)
		return;
	backends[at]->probe(open, &w->absent[at]);
	if (*open && backends[at]->close && w->closed.n > 0)
		backends[at]->close(*open, &w->closed, &w->not_closed);
}

static void open_backends(struct worker *w)
{
	for (size_t i = 0; i < N_BACKENDS; i++)
		open_backend(w, i);
}

/* A missing driver is a problem only if there is no device at all; a driver that fails is
 * one in any case. */
static void report_absent(struct worker *w)
{
	for (size_t i = 0; i < N_BACKENDS; i++) {
		int code = w->absent[i].code;

		if (code != 0 && (code != -ENODEV || w->node.n_devices == 0))
			clv_node_add_problem(&w->node, w->absent[i].msg);
	}
}

/* Whether one of the first n devices has the UUID of the device at this index. */
static bool is_known(const struct clv_node *node, size_t n, size_t at)
{
	const struct clv_node_device *device = &node->devices[at];

	for (size_t i = 0; i < n; i++) {
		if (strcmp(node->devices[i].info.uuid, device->info.uuid) == 0)
			return true;
	}
	return false;
}

static struct clv_node_device *find_by_address(
	struct clv_node *node, size_t n, const char *address)
{
	for (size_t i = 0; i < n && address[0] != '\0'; i++) {
		if (strcmp(node->devices[i].pci_address, address) == 0)
			return &node->devices[i];
	}
	return NULL;
}

/* Moves what sysfs shows of a GPU's virtual functions to the vendor's device at the same
 * PCI address.  False: there is none. */
static bool merge_functions(struct worker *w, size_t n, size_t at)
{
	struct clv_node_device *device = &w->node.devices[at];
	struct clv_node_device *known = find_by_address(&w->node, n, device->pci_address);

	if (!known)
		return false;
	if (!known->vf.is_capable && known->vf.n_types == 0) {
		known->vf = device->vf;
		device->vf = (struct clv_vf_state){0};
	}
	if (known->scheme == CLV_SCHEME_NONE && known->n_partitions == 0) {
		known->scheme = device->scheme;
		known->partitions = device->partitions;
		known->n_partitions = device->n_partitions;
		device->partitions = NULL;
		device->n_partitions = 0;
	}
	return true;
}

static void drop_last(struct worker *w)
{
	clv_node_device_clear(&w->node.devices[--w->node.n_devices]);
}

static int survey_one(struct worker *w, size_t backend)
{
	size_t before = w->node.n_devices, n;
	struct clv_error err = {0};
	uint8_t *owner;

	if (w->open[backend]->ops->survey(w->open[backend], &w->node, &err) < 0)
		clv_node_add_problem(&w->node, err.msg);
	n = before;
	for (size_t i = before; i < w->node.n_devices; i++) {
		struct clv_node_device candidate = w->node.devices[i];

		if (is_known(&w->node, n, i) || merge_functions(w, n, i)) {
			clv_node_device_clear(&w->node.devices[i]);
			continue;
		}
		w->node.devices[i] = (struct clv_node_device){0};
		w->node.devices[n] = candidate;
		owner = CLV_APPEND(w->backend_of, n);
		if (!owner)
			return -ENOMEM;
		*owner = (uint8_t)backend;
	}
	while (w->node.n_devices > n)
		drop_last(w);
	return 0;
}

/* The agent gives the names; a device that is new to it has none before its answer. */
static void name_devices(struct clv_node *node, const json_t *names)
{
	for (size_t i = 0; i < node->n_devices; i++) {
		struct clv_node_device *device = &node->devices[i];
		const char *name =
			json_string_value(json_object_get(names, device->info.uuid));

		snprintf(device->info.name, sizeof(device->info.name), "%s",
			name ? name : "");
		clv_node_name_partitions(device);
	}
}

static void forget_node(struct worker *w)
{
	clv_node_clear(&w->node);
	free(w->backend_of);
	w->backend_of = NULL;
}

/* The devices of the last survey are void: the next question begins with a survey. */
static void close_devices(struct worker *w, const json_t *addresses)
{
	struct clv_closed closed = {0};
	const json_t *address;
	size_t i;

	json_array_foreach (addresses, i, address) {
		if (json_is_string(address))
			clv_closed_add(&closed, json_string_value(address));
	}
	if (memcmp(&closed, &w->closed, sizeof(closed)) == 0)
		return;
	w->closed = closed;
	w->not_closed = (struct clv_error){0};
	for (i = 0; i < N_BACKENDS; i++) {
		if (w->open[i] && backends[i]->close)
			backends[i]->close(w->open[i], &w->closed, &w->not_closed);
	}
	forget_node(w);
}

static json_t *survey(struct worker *w, const json_t *names)
{
	forget_node(w);
	open_backends(w);
	for (size_t i = 0; i < N_BACKENDS; i++) {
		if (w->open[i] && survey_one(w, i) < 0)
			clv_node_add_problem(&w->node, "out of memory");
	}
	report_absent(w);
	name_devices(&w->node, names);
	return json_pack("{s:o,s:s*}", "node", clv_node_to_json(&w->node), "not_closed",
		w->not_closed.code ? w->not_closed.msg : NULL);
}

/* Steps. */

static const struct clv_partition *find_partition(
	const struct clv_node_device *device, const char *name)
{
	for (size_t i = 0; i < device->n_partitions; i++) {
		if (strcmp(device->partitions[i].name, name) == 0)
			return &device->partitions[i];
	}
	return NULL;
}

static int destroy(struct clv_backend *backend, const struct clv_node_device *device,
	const struct clv_step *step, struct clv_error *err)
{
	bool is_part = step->kind == CLV_STEP_DESTROY_PART;
	const struct clv_partition *owner =
		find_partition(device, is_part ? step->inside : step->partition);

	if (!backend->ops->destroy)
		return clv_error_set(err, -ENOTSUP,
			"%s cannot be divided: its backend destroys no partitions",
			device->info.name);
	/* The partition is gone already: success. */
	if (!owner)
		return 0;
	if (!is_part)
		return backend->ops->destroy(backend, device, owner, NULL, err);
	for (size_t i = 0; i < owner->n_parts; i++) {
		if (owner->parts[i].start == step->start &&
			owner->parts[i].size == step->size)
			return backend->ops->destroy(
				backend, device, &owner->parts[i], owner, err);
	}
	/* A part that fills its whole partition is not listed: the backend finds it by
	 * its owner. */
	if (owner->n_parts == 0 && !owner->is_incomplete)
		return backend->ops->destroy(backend, device, owner, owner, err);
	return 0;
}

static int carry_out(struct clv_backend *backend, const struct clv_node_device *device,
	const struct clv_step *step, struct clv_error *err)
{
	const struct clv_backend_ops *ops = backend->ops;

	switch (step->kind) {
	case CLV_STEP_DESTROY_PART:
	case CLV_STEP_DESTROY:
		return destroy(backend, device, step, err);
	case CLV_STEP_MIG_MODE:
		if (ops->set_mig_mode)
			return ops->set_mig_mode(backend, device, step->value != 0, err);
		break;
	case CLV_STEP_COMPUTE_MODE:
		if (ops->set_compute_mode)
			return ops->set_compute_mode(
				backend, device, (enum clv_compute_mode)step->value, err);
		break;
	case CLV_STEP_MEMORY_MODE:
		if (ops->set_memory_mode)
			return ops->set_memory_mode(
				backend, device, (enum clv_memory_mode)step->value, err);
		break;
	case CLV_STEP_RELOAD:
		if (ops->reload_driver)
			return ops->reload_driver(backend, device, err);
		break;
	case CLV_STEP_VF_COUNT:
		if (ops->set_vf_count)
			return ops->set_vf_count(backend, device, step->value, err);
		break;
	case CLV_STEP_VF_QUOTA:
		if (ops->set_vf_quota)
			return ops->set_vf_quota(
				backend, device, step->value, &step->quota, err);
		break;
	case CLV_STEP_CREATE:
	case CLV_STEP_CREATE_PART:
		if (ops->create)
			return ops->create(backend, device, step, err);
		break;
	default:
		break;
	}
	return clv_error_set(err, -ENOTSUP, "the backend %s has no %s", ops->name,
		clv_step_kind_to_string(step->kind));
}

/* Steps on virtual functions go to the sysfs backend, all others to the backend that
 * found the device. */
static struct clv_backend *backend_for(
	const struct worker *w, size_t at, const struct clv_step *step)
{
	bool is_vf = step->kind == CLV_STEP_VF_COUNT || step->kind == CLV_STEP_VF_QUOTA;

	for (size_t i = 0; i < N_BACKENDS && is_vf; i++) {
		if (backends[i] == &clv_backend_sriov && w->open[i])
			return w->open[i];
	}
	return w->open[w->backend_of[at]];
}

static int read_again(struct clv_backend *backend, struct clv_node_device *device,
	struct clv_error *err)
{
	char name[sizeof(device->info.name)];
	int r;

	memcpy(name, device->info.name, sizeof(name));
	r = backend->ops->read(backend, device, err);
	memcpy(device->info.name, name, sizeof(name));
	clv_node_name_partitions(device);
	return r;
}

/* A tool may report success without effect: the device is read again, and the step has
 * failed if the device does not show it. */
static int run_step(struct worker *w, struct clv_node_device *device,
	const struct clv_step *step, struct clv_error *err)
{
	struct clv_backend *backend =
		backend_for(w, (size_t)(device - w->node.devices), step);
	struct clv_error why = {0};
	int r = carry_out(backend, device, step, err);
	int read = read_again(backend, device, &why);

	if (r >= 0 && read < 0)
		return clv_error_set(err, read, "%s", why.msg);
	if (r >= 0 && !clv_step_is_done(step, device))
		return clv_error_set(err, -EIO,
			"the driver of %s reported success and the device does not show "
			"the change: see the kernel's log, and check what else manages "
			"this device",
			device->info.name);
	return r;
}

static json_t *error_to_json(const struct clv_error *err)
{
	return json_pack("{s:i,s:s}", "code", err->code, "message", err->msg);
}

static json_t *step(struct worker *w, const json_t *question)
{
	const char *uuid = json_string_value(json_object_get(question, "uuid"));
	struct clv_node_device *device = clv_node_find(&w->node, uuid ? uuid : "");
	struct clv_error err = {0};
	struct clv_step wanted;
	json_t *answer = json_object();
	int r = clv_step_from_json(json_object_get(question, "step"), &wanted, &err);

	if (r >= 0 && !device)
		r = clv_error_set(&err, -ENODEV,
			"the device %s is gone: see the kernel's log", uuid ? uuid : "?");
	if (r >= 0)
		r = run_step(w, device, &wanted, &err);
	if (device)
		json_object_set_new(answer, "device", clv_node_device_to_json(device));
	if (r < 0)
		json_object_set_new(answer, "error", error_to_json(&err));
	return answer;
}

/* Sets the driver's limit for the memory of a cgroup. */
static json_t *limit(struct worker *w, const json_t *question)
{
	const char *uuid = json_string_value(json_object_get(question, "uuid"));
	const char *cgroup = json_string_value(json_object_get(question, "cgroup"));
	const json_t *bytes = json_object_get(question, "bytes");
	const struct clv_node_device *device = clv_node_find(&w->node, uuid ? uuid : "");
	struct clv_error err = {0};
	struct clv_backend *backend;
	int r;

	if (!device || !cgroup)
		return json_pack("{s:{s:i,s:s}}", "error", "code", -ENODEV, "message",
			"the device is gone: see the kernel's log");
	backend = w->open[w->backend_of[device - w->node.devices]];
	r = backend->ops->limit_memory
		    ? backend->ops->limit_memory(backend, device, cgroup,
			      json_is_null(bytes) ? UINT64_MAX
						  : (uint64_t)json_integer_value(bytes),
			      &err)
		    : clv_error_set(&err, -ENOTSUP,
			      "the driver of the device cannot limit memory");
	return r < 0 ? json_pack("{s:o}", "error", error_to_json(&err))
		     : json_pack("{s:b}", "limited", true);
}

/* Readings. */

static int sample_one(struct worker *w, size_t at, struct clv_readings *readings)
{
	const struct clv_node_device *device = &w->node.devices[at];
	struct clv_backend *backend = w->open[w->backend_of[at]];
	struct clv_reading *reading;
	struct clv_error why = {0};

	if (!backend->ops->sample)
		return 0;
	reading = CLV_APPEND(readings->items, readings->n);
	if (!reading)
		return -ENOMEM;
	clv_reading_begin(reading, device->info.uuid);
	if (backend->ops->sample(backend, device, reading, &why) == -ENODEV)
		reading->signs[CLV_SIGN_LOST] = 1;
	return 0;
}

/* Samples the devices of the last survey only, because a survey may take seconds. */
static json_t *sample(struct worker *w)
{
	struct clv_readings readings = {0};
	json_t *answer;

	for (size_t i = 0; i < w->node.n_devices; i++) {
		if (sample_one(w, i, &readings) < 0)
			break;
	}
	answer = json_pack("{s:o}", "readings", clv_readings_to_json(&readings));
	clv_readings_clear(&readings);
	return answer;
}

static json_t *answer(struct worker *w, const json_t *question)
{
	const char *what = json_string_value(json_object_get(question, "do"));
	const json_t *names = json_object_get(question, "names");

	close_devices(w, json_object_get(question, "closed"));
	if (what && strcmp(what, "survey") == 0)
		return survey(w, names);
	if (w->node.n_devices == 0)
		json_decref(survey(w, names));
	name_devices(&w->node, names);
	if (what && strcmp(what, "sample") == 0)
		return sample(w);
	if (what && strcmp(what, "step") == 0)
		return step(w, question);
	if (what && strcmp(what, "limit") == 0)
		return limit(w, question);
	return json_pack("{s:{s:i,s:s}}", "error", "code", -EINVAL, "message",
		"the question is unknown");
}

int clv_worker_main(void)
{
	struct worker w = {.answers = fdopen(dup(STDOUT_FILENO), "w")};
	char *line = NULL;
	size_t room = 0;

	/* Gates and layers must not be loaded here.  Drivers may print to stdout, so it
	 * becomes stderr and answers go to a duplicate. */
	unsetenv("OPENCL_LAYERS");
	unsetenv("OCL_ICD_LAYERS");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	while (w.answers && getline(&line, &room, stdin) > 0) {
		json_t *question = json_loads(line, 0, NULL);
		json_t *reply = answer(&w, question);

		json_dumpf(reply, w.answers, JSON_COMPACT);
		fputc('\n', w.answers);
		fflush(w.answers);
		json_decref(reply);
		json_decref(question);
	}
	/* Without exit handlers of drivers, which may hang. */
	_exit(0);
}
