/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/backend.h"
#include "base/error.h"
#include "core/plan/plan.h"

#include <stdbool.h>

/* A simulated node as tests use it: made from a text, driven through the vtable alone. */
struct sim_world {
	char folder[64];
	char node_path[96];
	char state_path[96];
	struct clv_backend *backend;
	struct clv_node node; /* as last looked at */
	struct clv_error err;
};

/* Writes the text as the node's file; state: also a state file. */
void sim_world_make(struct sim_world *world, const char *text, bool state);
/* The same for a file that is there. */
void sim_world_make_from(struct sim_world *world, const char *path);
void sim_world_remove(struct sim_world *world);

/* Both return what the backend said. */
int sim_world_open(struct sim_world *world);
int sim_world_look(struct sim_world *world);
/* As another process would: nothing but the files is kept. */
void sim_world_reopen(struct sim_world *world);

struct clv_node_device *sim_world_device(struct sim_world *world, size_t index);
/* By its name without the device's; NULL if there is none. */
struct clv_partition *sim_world_find(
	struct sim_world *world, size_t index, const char *name);

/* Each makes one call of the vtable, looks again, and returns what the call did. */
int sim_world_mig(struct sim_world *world, size_t index, bool on);
int sim_world_compute(struct sim_world *world, size_t index, enum clv_compute_mode mode);
int sim_world_memory(struct sim_world *world, size_t index, enum clv_memory_mode mode);
int sim_world_reload(struct sim_world *world, size_t index);
int sim_world_vf_count(struct sim_world *world, size_t index, uint32_t count);
int sim_world_vf_quota(struct sim_world *world, size_t index, uint32_t number,
	struct clv_vf_quota quota);
int sim_world_create(
	struct sim_world *world, size_t index, const char *profile, uint32_t start);
/* For parts to follow. */
int sim_world_create_half(
	struct sim_world *world, size_t index, const char *profile, uint32_t start);
int sim_world_create_part(struct sim_world *world, size_t index, const char *inside,
	const char *profile, uint32_t start);
int sim_world_create_cores(
	struct sim_world *world, size_t index, const char *profile, const char *cpus);
int sim_world_destroy(struct sim_world *world, size_t index, const char *name);
int sim_world_destroy_part(
	struct sim_world *world, size_t index, const char *inside, const char *name);

/* The last call failed so, and its message says so. */
void sim_world_refused(struct sim_world *world, int r, int code, const char *says);
