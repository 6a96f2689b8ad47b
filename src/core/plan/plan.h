/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"
#include "core/layout/layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* Plans the steps, in order, from the state of a node to a layout.  Pure.  A partition
 * that can stay stays, none in use is destroyed, every placement is exact; a plan is
 * found exactly if there is one. */

enum clv_step_kind {
	CLV_STEP_DESTROY_PART, /* a compute instance */
	CLV_STEP_DESTROY,      /* a partition with all its parts */
	CLV_STEP_MIG_MODE,     /* value: 1 on, 0 off */
	CLV_STEP_COMPUTE_MODE, /* value: enum clv_compute_mode */
	CLV_STEP_MEMORY_MODE,  /* value: enum clv_memory_mode; requests it */
	CLV_STEP_RELOAD,   /* reload the driver, which applies the memory mode in value */
	CLV_STEP_VF_COUNT, /* value: the number; only from 0 or to 0 */
	CLV_STEP_VF_QUOTA, /* value: number of the function */
	CLV_STEP_CREATE,   /* a partition, filled by one part unless has_parts */
	CLV_STEP_CREATE_PART, /* a compute instance */
	_CLV_STEP_KIND_MAX,
	_CLV_STEP_KIND_INVALID = -22, /* -EINVAL */
};

const char *clv_step_kind_to_string(enum clv_step_kind kind);
enum clv_step_kind clv_step_kind_from_string(const char *text);

/* Conditions and side effects of a step, as a mask. */
enum clv_step_need {
	CLV_NEEDS_IDLE = 1 << 0,  /* the device must not be in use */
	CLV_NEEDS_RESET = 1 << 1, /* the device is reset */
	/* the driver is reloaded: its devices vanish meanwhile */
	CLV_NEEDS_RELOAD = 1 << 2,
};

struct clv_step {
	enum clv_step_kind kind;
	uint32_t device; /* index in node->devices */
	uint32_t needs;  /* mask of enum clv_step_need */
	uint32_t value;
	/* Set for CREATE, DESTROY and their _PART variants. */
	char partition[CLV_PARTITION_NAME_MAX]; /* the name it has or will have */
	char inside[CLV_PARTITION_NAME_MAX];    /* of a part: the partition it is in */
	char profile[CLV_PROFILE_NAME_MAX];     /* of a part: "1c.3g.20gb" */
	uint32_t start;
	uint32_t size;
	bool has_parts;            /* CREATE: parts follow in steps of their own */
	struct clv_vf_quota quota; /* VF_QUOTA */
	char cpus[96];             /* CREATE of cores: "0-1,4" */
	/* Bitmap by index in node->devices: devices whose work the step ends. */
	uint64_t *affected; /* owned; NULL: none but its own */
	char why[192];      /* "keeps 12 of 19 other placements possible" */
};

/* A wanted change that is not possible before holders end. */
struct clv_obstacle {
	uint32_t device;
	char partition[CLV_PARTITION_NAME_MAX]; /* "" for the device as a whole */
	struct clv_holders holders;             /* copies, owned */
	char why[160];                          /* "2g.10gb fits nowhere else" */
};

/* A planned standing share. */
struct clv_plan_share {
	uint32_t device;
	char where[CLV_PARTITION_NAME_MAX];     /* the device or the partition */
	char name[CLV_PARTITION_NAME_MAX + 64]; /* "gpu0/1g.10gb@4/train", ".../2" */
	struct clv_share_request request;
};

/* A device that a rule selects. */
struct clv_plan_device {
	uint32_t device;
	uint32_t line; /* of the rule, in the layout */
};

/* The maximum number of standing shares of a plan, because the agent checks, renders and
 * stores all of them in one iteration of its loop. */
#define CLV_PLAN_SHARES_MAX 1024u

struct clv_plan {
	struct clv_plan_device *devices;
	size_t n_devices;
	struct clv_step *steps;
	size_t n_steps;
	/* If not empty, the plan cannot be carried out now.  The holders in it are the
	 * fewest that must end; the steps are what would be done afterwards. */
	struct clv_obstacle *obstacles;
	size_t n_obstacles;
	char (*kept)[CLV_PARTITION_NAME_MAX]; /* the partitions that stay */
	size_t n_kept;
	/* All standing shares of the selected devices; those of one place are together.
	 */
	struct clv_plan_share *shares;
	size_t n_shares;
	char (*warnings)[256];
	size_t n_warnings;
};

/* -EINVAL: the layout asks for something that the device does not have; -ENOSPC: for more
 * than fits on it; -E2BIG: for too many shares; -ENODEV: a rule selects no device, or the
 * profiles of a GPU are unknown.  The message names the line of the rule and what would
 * work. */
int clv_plan_make(const struct clv_node *node, const struct clv_layout *layout,
	struct clv_plan *ret, struct clv_error *err);

/* Frees what it owns and zeroes it. */
void clv_plan_clear(struct clv_plan *plan);

/* Whether the step ends the work of this device, an index in node->devices, besides its
 * own. */
bool clv_step_affects(const struct clv_step *step, size_t device);
/* Whether a new reading of the device shows the result of the step. */
bool clv_step_is_done(const struct clv_step *step, const struct clv_node_device *device);

/* "create gpu0/1g.10gb@4", "set gpu3 to NPS4". */
void clv_step_describe(const struct clv_step *step, const struct clv_node *node,
	char *ret, size_t ret_bytes);
