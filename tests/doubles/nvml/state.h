/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "functions.h"
#include "node.h"

/* The state that all processes on a node share: a mapped file, `state` in the node's
 * folder. A change is made to a copy, which one store then makes current, and the lock is
 * robust: a process may be killed at any point, and the others see the whole change or
 * none of it. */

#define DNV_GIS_MAX 8
#define DNV_CIS_MAX 8
#define DNV_MIGS_MAX 8
#define DNV_FAULTS_MAX 32

struct dnv_ci {
	uint64_t serial; /* of this instance and no other; 0: none */
	uint32_t id, mig_index;
	uint8_t profile, start; /* index in dnv_ci_profiles */
};

struct dnv_gi {
	uint64_t serial;
	uint32_t id;
	uint8_t profile, start; /* index in the model's profiles */
	struct dnv_ci cis[DNV_CIS_MAX];
};

struct dnv_gpu_state {
	char uuid[48]; /* of the GPU with this state */
	bool mig, mig_pending, lost;
	bool unbound; /* another driver has it: this one does not show it */
	uint32_t minor;
	struct dnv_gi gis[DNV_GIS_MAX];
};

struct dnv_state {
	uint64_t last_serial;
	struct dnv_gpu_state gpus[DNV_GPUS_MAX];
};

/* Counters, which are not part of a change. */
struct dnv_counters {
	uint64_t calls, calls_of[_DNV_FUNCTION_MAX];
	uint64_t faults_file[4]; /* the version of the file that the hits belong to */
	uint64_t fault_hits[DNV_FAULTS_MAX];
};

struct dnv_shared;

/* Maps the state, and initializes it for each GPU of the node that has none. */
struct dnv_shared *dnv_shared_open(int dirfd, const struct dnv_node *node);
void dnv_shared_close(struct dnv_shared *shared);

void dnv_shared_lock(struct dnv_shared *shared);
void dnv_shared_unlock(struct dnv_shared *shared);

/* The lock is held. */
const struct dnv_state *dnv_shared_state(const struct dnv_shared *shared);
struct dnv_counters *dnv_shared_counters(struct dnv_shared *shared);

/* The copy to change, and the commit. */
struct dnv_state *dnv_shared_edit(struct dnv_shared *shared);
void dnv_shared_commit(struct dnv_shared *shared);
