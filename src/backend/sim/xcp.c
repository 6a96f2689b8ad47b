/* SPDX-License-Identifier: Apache-2.0 */
/* Simulates compute and memory modes as AMD's driver implements them (aqua_vanjaram.c,
 * amdgpu_gmc.c). */
#include "backend/sim/sim.h"

#include "base/error.h"

#include <errno.h>
#include <string.h>

static int check_capable(const struct clv_sim_request *request, struct clv_error *err)
{
	if (request->device->xcp)
		return 0;
	return clv_error_set(err, -ENOTSUP, "%s (%s) has no compute and memory modes",
		request->seen->info.name, request->device->product.model);
}

int clv_sim_set_compute_mode(const struct clv_sim_request *request, struct clv_error *err)
{
	struct clv_sim_state *state = &request->device->state;
	enum clv_compute_mode mode = (enum clv_compute_mode)request->value;
	int r = check_capable(request, err);

	if (r == 0)
		r = clv_xcp_check(request->device->xcp, mode,
			(enum clv_memory_mode)state->memory, err);
	if (r == 0)
		r = clv_sim_check_scheme(request->seen, CLV_SCHEME_XCP, err);
	if (r == 0)
		r = clv_sim_check_idle(request->seen, err);
	if (r == 0)
		state->compute = mode;
	return r;
}

static bool are_in_one_hive(
	const struct clv_sim_device *a, const struct clv_sim_device *b)
{
	return a == b || (a->hive[0] != '\0' && strcmp(a->hive, b->hive) == 0);
}

/* The driver ignores a request for the current mode, and an earlier request stays. */
int clv_sim_set_memory_mode(const struct clv_sim_request *request, struct clv_error *err)
{
	const struct clv_sim_device *device = request->device;
	struct clv_sim *sim = request->sim;
	int r = check_capable(request, err);

	if (r < 0)
		return r;
	if (!(device->xcp->memory_modes & request->value))
		return clv_xcp_check(device->xcp, device->state.compute,
			(enum clv_memory_mode)request->value, err);
	if (device->state.memory == request->value)
		return 0;
	for (size_t i = 0; i < sim->n_devices; i++) {
		if (are_in_one_hive(device, &sim->devices[i]))
			sim->devices[i].state.requested_memory = request->value;
	}
	return 0;
}

void clv_sim_xcp_reload(struct clv_sim_device *device)
{
	struct clv_sim_state *state = &device->state;
	enum clv_compute_mode first;

	if (!device->xcp)
		return;
	if (state->requested_memory)
		state->memory = state->requested_memory;
	state->requested_memory = 0;
	first = clv_xcp_first_mode(
		device->xcp->dies, (enum clv_memory_mode)state->memory);
	if (first != _CLV_COMPUTE_MODE_INVALID)
		state->compute = first;
}
