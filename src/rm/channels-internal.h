/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "rm/channels.h"

#include <sys/queue.h>

/* What channels.c, switch.c and telling.c share: what one process has, by handle and by
 * device, so that nothing is searched for when it is switched. */

#define CLV_RM_OBJECTS_MAX 4096u
#define CLV_RM_CLIENTS_MAX 16u
#define CLV_RM_BUCKETS 512u

struct clv_rm_client {
	uint32_t handle;
	int fd;
	bool is_used;
	bool is_told; /* whoever was told of something of it has its file */
};

/* What hangs on one handle that is no group: a GPU, as one client has it. */
struct clv_rm_device {
	LIST_ENTRY(clv_rm_device) entry, in_bucket;
	struct clv_rm_client *client;
	uint32_t handle;
	LIST_HEAD(, clv_rm_node) groups, subdevices, channels;
	size_t n_groups, n_subdevices, n_channels; /* channels in groups too */
};

struct clv_rm_node {
	LIST_ENTRY(clv_rm_node) in_bucket, on_device, in_group;
	struct clv_rm_object object;
	struct clv_rm_device *device;
	LIST_HEAD(, clv_rm_node) members; /* of a group */
	bool has_group;
	TAILQ_ENTRY(clv_rm_node) in_order;
	bool is_told;
};

/* That was told and is gone. */
struct clv_rm_freed {
	STAILQ_ENTRY(clv_rm_freed) entry;
	uint32_t client, handle;
};

struct clv_rm_channels {
	bool keeps_files;
	bool is_whole;
	uint64_t multiplier; /* of the hash; odd */
	struct clv_rm_client clients[CLV_RM_CLIENTS_MAX];
	LIST_HEAD(, clv_rm_device) devices;
	LIST_HEAD(, clv_rm_node) buckets[CLV_RM_BUCKETS];
	LIST_HEAD(, clv_rm_device) device_buckets[CLV_RM_BUCKETS];
	size_t n_objects, n_groups;
	uint64_t n_changes;
	/* As they came, so that parents are before what hangs on them; up to the first
	 * that is not, they are told. */
	TAILQ_HEAD(, clv_rm_node) nodes;
	struct clv_rm_node *first_untold;
	STAILQ_HEAD(, clv_rm_freed) freed;
	size_t n_told; /* of the objects */
};

struct clv_rm_node *clv_rm_table_find(
	const struct clv_rm_channels *channels, uint32_t client, uint32_t handle);

/* Telling, from channels.c. */

void clv_rm_telling_add(struct clv_rm_channels *channels, struct clv_rm_node *node);
void clv_rm_telling_drop(struct clv_rm_channels *channels, struct clv_rm_node *node);

/* The handle went, and with it something that was told. */
void clv_rm_telling_free(
	struct clv_rm_channels *channels, uint32_t client, uint32_t handle);
