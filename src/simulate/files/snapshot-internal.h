/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* What the formats of snapshots have in common.  Texts are borrowed from the document. */

struct clv_snapshot_node {
	const char *name;
	char model[32]; /* "": not known */
	uint64_t cpu_milli, memory_mib, n_devices, device_mib;
};

/* A pod, a job, or all that a node of Slurm has given away. */
struct clv_snapshot_load {
	const char *name, *node;
	char model[32]; /* the one that it accepts; "": any */
	uint64_t cpu_milli, memory_mib;
	uint64_t n_devices, milli;   /* milli: of each device */
	uint64_t devices;            /* bitmap of those that it holds; 0: not known */
	uint64_t n_nodes;            /* needs as much on each of so many nodes */
	uint64_t arrives_s, stays_s; /* stays_s 0: not known */
	uint64_t priority;
	bool is_waiting;
};

/* A format.  The functions read one item of an array of the document. */
struct clv_snapshot_format {
	const char *nodes, *loads, *running; /* keys of the arrays */
	/* false: it is no node, or one that accepts no work. */
	bool (*read_node)(const json_t *item, struct clv_snapshot_node *ret);
	/* false: it is no pod or job, or one that has ended. */
	bool (*read_load)(const json_t *item, struct clv_snapshot_load *ret);
	/* false: nothing runs. */
	bool (*read_running)(const json_t *item, struct clv_snapshot_load *ret);
};

extern const struct clv_snapshot_format clv_snapshot_kubernetes, clv_snapshot_slurm;

/* A number of a document as a count: 0 if it is negative or none, and at most
 * CLV_SNAPSHOT_MOST, so that a thousand of it is no overflow. */
#define CLV_SNAPSHOT_MOST UINT64_C(9000000000000000)
uint64_t clv_snapshot_count(double number);

/* The text of a key; "" if there is none. */
const char *clv_snapshot_text(const json_t *object, const char *key);
