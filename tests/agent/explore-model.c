/* SPDX-License-Identifier: Apache-2.0 */
#include "explore-model.h"

#include "explore-said.h"
#include "world.h"

#include "agent/apply/apply-internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct model model;
bool target[N_GPUS][N_STARTS];

struct clv_agent_device *model_device(unsigned int gpu, unsigned int start)
{
	char name[32];

	snprintf(name, sizeof(name), "gpu%u/" PROFILE "@%u", gpu, start);
	return clv_devices_find(world.agent.devices, name);
}

struct clv_lease *model_lease_on(unsigned int gpu, unsigned int start)
{
	struct clv_agent_device *device = model_device(gpu, start);

	for (size_t i = 0; device && i < device->n_leases; i++) {
		if (!device->leases[i]->record.is_queued)
			return device->leases[i];
	}
	return NULL;
}

void model_describe(char *ret, size_t ret_bytes)
{
	size_t n = 0;

	for (unsigned int gpu = 0; gpu < N_GPUS; gpu++) {
		if (model.is_lost[gpu])
			continue;
		n += (size_t)snprintf(ret + n, ret_bytes - n,
			"A100-40GB on name=gpu%u uuid=GPU-%u memory=40G", gpu, gpu);
		for (unsigned int start = 0; start < N_STARTS; start++) {
			if (model.is_there[gpu][start])
				n += (size_t)snprintf(ret + n, ret_bytes - n,
					" " PROFILE "@%u%s", start,
					gpu + start == 0 && model.is_used ? "!x" : "");
		}
		n += (size_t)snprintf(ret + n, ret_bytes - n, "\n");
	}
}

static unsigned int gpu_of(const struct world_question *question)
{
	return question->uuid[4] == '1';
}

/* What the agent does by itself is none of what the user's layout is rolled back from. */
static void note_step(
	const struct clv_operation *op, unsigned int gpu, unsigned int start)
{
	if (!op->request.keeps_layout)
		model.before[gpu][start] = model.is_there[gpu][start];
}

int model_do_step(const struct world_question *question)
{
	const struct clv_step *step = &question->step;
	unsigned int gpu = gpu_of(question), start = step->start;
	const char *at = strchr(step->partition, '@');
	bool *is_there;

	if (step->kind == CLV_STEP_DESTROY && at)
		start = (unsigned int)strtoul(at + 1, NULL, 10);
	explore_must(start < N_STARTS, "a step beside the layout");
	is_there = &model.is_there[gpu][start];
	if (model.is_lost[gpu])
		return -ENODEV;
	if (step->kind == CLV_STEP_CREATE) {
		if (*is_there)
			return -ENOSPC;
		*is_there = true;
		note_step(question->userdata, gpu, start);
		return 0;
	}
	explore_must(step->kind == CLV_STEP_DESTROY,
		"a step of no kind that the layout needs");
	if (!*is_there)
		return -ENODEV;
	if (gpu + start == 0 && model.is_used)
		return -EBUSY;
	explore_must(
		!model_lease_on(gpu, start), "a partition is destroyed that has a lease");
	*is_there = false;
	note_step(question->userdata, gpu, start);
	return 0;
}

bool model_is_as(unsigned int gpu, const bool wanted[N_GPUS][N_STARTS])
{
	return memcmp(model.is_there[gpu], wanted[gpu], sizeof(model.is_there[gpu])) == 0;
}
