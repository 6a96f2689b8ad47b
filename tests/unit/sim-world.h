/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/backend.h"
#include "base/error.h"
#include "core/plan/plan.h"

#include <stdbool.h>

/* A simulated node for tests: created from a text, driven through the vtable alone. */
struct sim_world {
	char folder[64];
	char node_path[96];
	char state_path[96];
	struct clv_backend *backend;
	struct clv_node node; /* the last survey */
	struct clv_error err;
};

/* Writes the text as the node's file; state: also a state file. */
void sim_world_make(struct sim_world *world, const char *text, bool state);
/* The same for an existing file. */
void sim_world_make_from(struct sim_world *world, const char *path);
void sim_world_remove(struct sim_world *world);

/* Both return the backend's result. */
int sim_world_open(struct sim_world *world);
int sim_world_look(struct sim_world *world);
/* Opens it again from its files, as another process would. */
void sim_world_reopen(struct sim_world *world);

struct clv_node_device *sim_world_device(struct sim_world *world, size_t index);
/* Finds a partition by its name without the device's; NULL if there is none. */
struct clv_partition *sim_world_find(
	struct sim_world *world, size_t index, const char *name);

/* Each makes one call of the vtable, reads the node again, and returns the call's
 * result. */
int sim_world_mig(struct sim_world *world, size_t index, bool on);
int sim_world_compute(struct sim_world *world, size_t index, enum clv_compute_mode mode);
int sim_world_memory(struct sim_world *world, size_t index, enum clv_memory_mode mode);
int sim_world_reload(struct sim_world *world, size_t index);
int sim_world_vf_count(struct sim_world *world, size_t index, uint32_t count);
int sim_world_vf_quota(struct sim_world *world, size_t index, uint32_t number,
	struct clv_vf_quota quota);
int sim_world_create(
	struct sim_world *world, size_t index, const char *profile, uint32_t start);
/* Creates an instance without its parts. */
int sim_world_create_half(
	struct sim_world *world, size_t index, const char *profile, uint32_t start);
int sim_world_create_part(struct sim_world *world, size_t index, const char *inside,
	const char *profile, uint32_t start);
int sim_world_create_cores(
	struct sim_world *world, size_t index, const char *profile, const char *cpus);
int sim_world_destroy(struct sim_world *world, size_t index, const char *name);
int sim_world_destroy_part(
	struct sim_world *world, size_t index, const char *inside, const char *name);

/* The last call failed with this code and this message. */
void sim_world_refused(struct sim_world *world, int r, int code, const char *says);
