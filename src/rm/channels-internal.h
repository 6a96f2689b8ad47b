/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "rm/channels.h"

#include <sys/queue.h>

/* Shared by channels.c, switch.c and reporting.c: the objects of one process, indexed by
 * handle and by device, so that a switch searches for nothing. */

#define CLV_RM_OBJECTS_MAX 4096u
#define CLV_RM_CLIENTS_MAX 16u
#define CLV_RM_BUCKETS 512u

struct clv_rm_client {
	uint32_t handle;
	int fd;
	bool is_used;
	/* The receiver knows an object of this client and has its file. */
	bool is_reported;
};

/* The objects below one parent handle that is not a group: a GPU, as one client has
 * it. */
struct clv_rm_device {
	LIST_ENTRY(clv_rm_device) entry, in_bucket;
	struct clv_rm_client *client;
	uint32_t handle;
	LIST_HEAD(, clv_rm_node) groups, subdevices, channels;
	size_t n_groups, n_subdevices, n_channels; /* n_channels: with those in groups */
};

struct clv_rm_node {
	LIST_ENTRY(clv_rm_node) in_bucket, on_device, in_group;
	struct clv_rm_object object;
	struct clv_rm_device *device;
	LIST_HEAD(, clv_rm_node) members; /* the channels of a group */
	bool has_group;
	TAILQ_ENTRY(clv_rm_node) in_order;
	bool is_reported;
};

/* A reported object that has been freed. */
struct clv_rm_freed {
	STAILQ_ENTRY(clv_rm_freed) entry;
	uint32_t client, handle;
};

struct clv_rm_channels {
	bool keeps_files;
	bool is_complete;
	void (*after)(void *userdata); /* NULL: nothing is called after a driver call */
	void *after_userdata;
	uint64_t multiplier; /* the hash's multiplier; odd */
	struct clv_rm_client clients[CLV_RM_CLIENTS_MAX];
	LIST_HEAD(, clv_rm_device) devices;
	LIST_HEAD(, clv_rm_node) buckets[CLV_RM_BUCKETS];
	LIST_HEAD(, clv_rm_device) device_buckets[CLV_RM_BUCKETS];
	size_t n_objects, n_groups;
	uint64_t n_changes;
	/* All objects in the order in which they were created, so that parents come
	 * before their children; those before first_unreported were reported. */
	TAILQ_HEAD(, clv_rm_node) nodes;
	struct clv_rm_node *first_unreported;
	STAILQ_HEAD(, clv_rm_freed) freed;
	size_t n_reported; /* of n_objects */
};

struct clv_rm_node *clv_rm_table_find(
	const struct clv_rm_channels *channels, uint32_t client, uint32_t handle);

/* Called by channels.c when an object is added or dropped. */

void clv_rm_reporting_add(struct clv_rm_channels *channels, struct clv_rm_node *node);
void clv_rm_reporting_drop(struct clv_rm_channels *channels, struct clv_rm_node *node);

/* The handle was freed, and with it a reported object. */
void clv_rm_reporting_free(
	struct clv_rm_channels *channels, uint32_t client, uint32_t handle);
