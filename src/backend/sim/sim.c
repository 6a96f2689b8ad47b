/* SPDX-License-Identifier: Apache-2.0 */
/* The backend's vtable.  Each change is one transaction: the state file is locked and
 * read, a rule changes the state, and the file is written before the call returns. */
#include "backend/sim/sim.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_backend {
	struct clv_backend base;
	struct clv_sim sim;
	char *state_path; /* NULL: in memory */
};

static void sim_free(struct clv_backend *base)
{
	struct sim_backend *backend = (struct sim_backend *)base;

	if (!backend)
		return;
	clv_sim_clear(&backend->sim);
	free(backend->state_path);
	free(backend);
}

/* --- Reading --- */

static int read_node(const char *path, struct clv_sim *ret, struct clv_error *err)
{
	struct clv_yaml *yaml;
	int r = clv_yaml_parse_file(path, &yaml, err);

	if (r < 0)
		return r;
	r = clv_sim_node_parse(clv_yaml_root(yaml), ret, err);
	clv_yaml_free(yaml);
	return r;
}

static int open_node(struct sim_backend *backend, struct clv_error *err)
{
	const char *node = getenv("CLEAVE_SIM");
	const char *state = getenv("CLEAVE_SIM_STATE");
	int r;

	if (!node || node[0] == '\0')
		return clv_error_set(
			err, -ENODEV, "no node is simulated: CLEAVE_SIM names no file");
	r = read_node(node, &backend->sim, err);
	if (r < 0)
		return r;
	if (state && state[0] != '\0') {
		backend->state_path = strdup(state);
		if (!backend->state_path)
			return clv_error_errno(err, ENOMEM, "cannot simulate %s", node);
	}
	return clv_sim_load(&backend->sim, backend->state_path, err);
}

static int sim_probe(struct clv_backend **ret, struct clv_error *err)
{
	struct sim_backend *backend = calloc(1, sizeof(*backend));
	int r;

	if (!backend)
		return clv_error_errno(err, ENOMEM, "cannot simulate a node");
	backend->base.ops = &clv_backend_sim;
	r = open_node(backend, err);
	if (r < 0) {
		sim_free(&backend->base);
		return r;
	}
	*ret = &backend->base;
	return 0;
}

static int read_device(const struct clv_sim *sim, const struct clv_sim_device *device,
	const char *name, struct clv_node_device *ret, struct clv_error *err)
{
	int r;

	snprintf(ret->info.name, sizeof(ret->info.name), "%s", name);
	r = clv_sim_fill(sim, device, ret);
	if (r < 0)
		clv_error_errno(err, -r, "cannot read %s", name);
	return r;
}

static int survey_device(const struct clv_sim *sim, const struct clv_sim_device *device,
	struct clv_node *node, struct clv_error *err)
{
	struct clv_node_device *shown = clv_node_add(node);
	char name[16];

	if (!shown)
		return clv_error_errno(err, ENOMEM, "cannot list the devices");
	snprintf(name, sizeof(name), "gpu%zu", node->n_devices - 1);
	return read_device(sim, device, name, shown, err);
}

static int sim_survey(
	struct clv_backend *base, struct clv_node *node, struct clv_error *err)
{
	struct sim_backend *backend = (struct sim_backend *)base;
	const struct clv_sim *sim = &backend->sim;
	int r = clv_sim_load(&backend->sim, backend->state_path, err);

	if (r == 0 && node->name[0] == '\0')
		memcpy(node->name, sim->name, sizeof(node->name));
	for (size_t i = 0; i < sim->n_devices && r == 0; i++)
		r = survey_device(sim, &sim->devices[i], node, err);
	return r;
}

static struct clv_sim_device *find(
	struct clv_sim *sim, const struct clv_node_device *device, struct clv_error *err)
{
	for (size_t i = 0; i < sim->n_devices; i++) {
		if (strcmp(sim->devices[i].uuid, device->info.uuid) == 0)
			return &sim->devices[i];
	}
	clv_error_set(err, -ENODEV, "%s is not in the node any more", device->info.name);
	return NULL;
}

static int sim_read(
	struct clv_backend *base, struct clv_node_device *device, struct clv_error *err)
{
	struct sim_backend *backend = (struct sim_backend *)base;
	struct clv_node_device shown = {0};
	const struct clv_sim_device *from;
	int r = clv_sim_load(&backend->sim, backend->state_path, err);

	if (r < 0)
		return r;
	from = find(&backend->sim, device, err);
	if (!from)
		return -ENODEV;
	r = read_device(&backend->sim, from, device->info.name, &shown, err);
	if (r < 0) {
		clv_node_device_clear(&shown);
		return r;
	}
	clv_node_device_clear(device);
	*device = shown;
	return 0;
}

/* --- Changing --- */

/* Counts the calls of a kind of which one is to fail, and fails that call. */
static int count_call(
	struct clv_sim_device *device, enum clv_sim_call call, struct clv_error *err)
{
	if (device->fail_at[call] == 0)
		return 0;
	if (++device->state.n_calls[call] != device->fail_at[call])
		return 0;
	return clv_error_set(err, -EIO,
		"the simulated driver fails: the node's file sets call %u of '%s' to "
		"fail",
		device->fail_at[call], clv_sim_calls[call]);
}

static int carry_out(struct clv_sim_request *request, struct clv_node_device *seen,
	const struct clv_node_device *device, clv_sim_rule rule, enum clv_sim_call call,
	struct clv_error *err)
{
	int r;

	request->device = find(request->sim, device, err);
	if (!request->device)
		return -ENODEV;
	r = read_device(request->sim, request->device, device->info.name, seen, err);
	if (r == 0)
		r = count_call(request->device, call, err);
	return r < 0 ? r : rule(request, err);
}

/* The state is saved after a failed rule, too, because the rule may have counted a call
 * or set a pending mode. */
static int change(struct clv_backend *base, const struct clv_node_device *device,
	clv_sim_rule rule, enum clv_sim_call call, struct clv_sim_request request,
	struct clv_error *err)
{
	struct sim_backend *backend = (struct sim_backend *)base;
	struct clv_node_device seen = {0};
	_cleanup_close_ int lock = -1;
	int r = 0, saved;

	if (backend->state_path)
		r = clv_file_lock(backend->state_path, &lock, err);
	if (r == 0)
		r = clv_sim_load(&backend->sim, backend->state_path, err);
	if (r < 0)
		return r;
	request.sim = &backend->sim;
	request.seen = &seen;
	r = carry_out(&request, &seen, device, rule, call, err);
	clv_node_device_clear(&seen);
	saved = clv_sim_save(&backend->sim, backend->state_path, r == 0 ? err : NULL);
	return r == 0 ? saved : r;
}

static int sim_set_mig_mode(struct clv_backend *base,
	const struct clv_node_device *device, bool on, struct clv_error *err)
{
	return change(base, device, clv_sim_set_mig_mode, CLV_SIM_MIG_MODE,
		(struct clv_sim_request){.value = on}, err);
}

static int sim_set_compute_mode(struct clv_backend *base,
	const struct clv_node_device *device, enum clv_compute_mode mode,
	struct clv_error *err)
{
	return change(base, device, clv_sim_set_compute_mode, CLV_SIM_COMPUTE_MODE,
		(struct clv_sim_request){.value = mode}, err);
}

static int sim_set_memory_mode(struct clv_backend *base,
	const struct clv_node_device *device, enum clv_memory_mode mode,
	struct clv_error *err)
{
	return change(base, device, clv_sim_set_memory_mode, CLV_SIM_MEMORY_MODE,
		(struct clv_sim_request){.value = mode}, err);
}

static int sim_set_vf_count(struct clv_backend *base,
	const struct clv_node_device *device, uint32_t count_call, struct clv_error *err)
{
	return change(base, device, clv_sim_set_vf_count, CLV_SIM_VF_COUNT,
		(struct clv_sim_request){.value = count_call}, err);
}

static int sim_set_vf_quota(struct clv_backend *base,
	const struct clv_node_device *device, uint32_t number,
	const struct clv_vf_quota *quota, struct clv_error *err)
{
	return change(base, device, clv_sim_set_vf_quota, CLV_SIM_VF_QUOTA,
		(struct clv_sim_request){.value = number, .quota = quota}, err);
}

static int check_other(const struct clv_sim *sim, const struct clv_sim_device *device,
	struct clv_error *err)
{
	struct clv_node_device seen = {0};
	int r;

	snprintf(seen.info.name, sizeof(seen.info.name), "gpu%u", device->index);
	r = clv_sim_fill(sim, device, &seen);
	if (r < 0)
		clv_error_errno(err, -r, "cannot read %s", seen.info.name);
	else
		r = clv_sim_check_idle(&seen, err);
	clv_node_device_clear(&seen);
	return r;
}

/* A reload of the driver affects all devices of the vendor. */
static int check_vendor_idle(const struct clv_sim_request *request, struct clv_error *err)
{
	const struct clv_sim *sim = request->sim;
	int r = clv_sim_check_idle(request->seen, err);

	for (size_t i = 0; i < sim->n_devices && r == 0; i++) {
		const struct clv_sim_device *device = &sim->devices[i];

		if (device != request->device &&
			device->product.vendor == request->device->product.vendor)
			r = check_other(sim, device, err);
	}
	return r;
}

static int reload(const struct clv_sim_request *request, struct clv_error *err)
{
	enum clv_sim_vendor vendor = request->device->product.vendor;
	struct clv_sim *sim = request->sim;
	int r;

	if (vendor != CLV_SIM_NVIDIA && vendor != CLV_SIM_AMD)
		return clv_error_set(err, -ENOTSUP,
			"no change of %s needs a reload of its driver",
			request->seen->info.name);
	r = check_vendor_idle(request, err);
	for (size_t i = 0; i < sim->n_devices && r == 0; i++) {
		struct clv_sim_device *device = &sim->devices[i];

		if (device->product.vendor != vendor)
			continue;
		clv_sim_mig_reload(device);
		clv_sim_xcp_reload(device);
	}
	return r;
}

static int sim_reload_driver(struct clv_backend *base,
	const struct clv_node_device *device, struct clv_error *err)
{
	return change(
		base, device, reload, CLV_SIM_RELOAD, (struct clv_sim_request){0}, err);
}

/* --- Partitions --- */

static int create(const struct clv_sim_request *request, struct clv_error *err)
{
	bool is_part = request->step->kind == CLV_STEP_CREATE_PART;

	if (request->device->mig)
		return is_part ? clv_sim_mig_create_part(request, err)
			       : clv_sim_mig_create(request, err);
	if (CPU_COUNT(&request->device->cpus) > 0 && !is_part)
		return clv_sim_cores_create(request, err);
	return clv_error_set(err, -ENOTSUP,
		"partitions of %s cannot be created one by one: set its mode or its "
		"number of "
		"virtual functions",
		request->seen->info.name);
}

static int destroy(const struct clv_sim_request *request, struct clv_error *err)
{
	if (request->device->mig)
		return request->inside ? clv_sim_mig_destroy_part(request, err)
				       : clv_sim_mig_destroy(request, err);
	if (CPU_COUNT(&request->device->cpus) > 0)
		return clv_sim_cores_destroy(request, err);
	return clv_error_set(err, -ENOTSUP,
		"partitions of %s cannot be destroyed one by one: set its mode or its "
		"number "
		"of virtual functions",
		request->seen->info.name);
}

static int sim_create(struct clv_backend *base, const struct clv_node_device *device,
	const struct clv_step *step, struct clv_error *err)
{
	return change(base, device, create, CLV_SIM_CREATE,
		(struct clv_sim_request){.step = step}, err);
}

static int sim_destroy(struct clv_backend *base, const struct clv_node_device *device,
	const struct clv_partition *partition, const struct clv_partition *inside,
	struct clv_error *err)
{
	return change(base, device, destroy, CLV_SIM_DESTROY,
		(struct clv_sim_request){.partition = partition, .inside = inside}, err);
}

static int sim_sample(struct clv_backend *base, const struct clv_node_device *device,
	struct clv_reading *ret, struct clv_error *err)
{
	const struct clv_sim *sim = &((struct sim_backend *)base)->sim;

	for (size_t i = 0; i < sim->n_devices; i++) {
		if (strcmp(sim->devices[i].uuid, device->info.uuid) == 0 &&
			clv_sim_sample(sim, &sim->devices[i], device, ret) < 0)
			return clv_error_errno(err, ENOMEM, "cannot list the processes");
	}
	return 0;
}

const struct clv_backend_ops clv_backend_sim = {
	.abi = CLV_BACKEND_ABI,
	.name = "sim",
	.probe = sim_probe,
	.free = sim_free,
	.survey = sim_survey,
	.read = sim_read,
	.sample = sim_sample,
	.set_mig_mode = sim_set_mig_mode,
	.set_compute_mode = sim_set_compute_mode,
	.set_memory_mode = sim_set_memory_mode,
	.reload_driver = sim_reload_driver,
	.set_vf_count = sim_set_vf_count,
	.set_vf_quota = sim_set_vf_quota,
	.create = sim_create,
	.destroy = sim_destroy,
};
