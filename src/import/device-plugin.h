/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/internal.h"
#include "import/mig.h"

#include <stdbool.h>
#include <stdint.h>

/* NVIDIA's Kubernetes device plugin hands out a resource several times; the resource is
 * whole GPUs or MIG partitions of one profile. */

#define CLV_PLUGIN_PREFIX "nvidia.com/"
#define CLV_PLUGIN_NAME_MAX 64 /* with the prefix: the limit of Kubernetes */

struct clv_plugin {
	struct clv_import_job *job;
	bool is_single; /* migStrategy: MIG partitions have the resource name of GPUs */
	bool is_mps;
	bool has_time_slicing, has_mps;
	struct clv_yaml_value time_slicing, mps;
	size_t n_selected; /* number of selected resources */
};

struct clv_plugin_resource {
	struct clv_plugin *plugin;
	struct clv_yaml_value place;
	char name[CLV_PLUGIN_NAME_MAX]; /* without the prefix: "gpu", "mig-1g.10gb" */
	uint32_t replicas;
	bool has_devices;
	struct clv_yaml_value devices;     /* a list or a number */
	struct clv_import_profile profile; /* of a MIG resource */
	bool is_shared;                    /* rules with shares of it were added */
};

/* Adds rules with shares of the resource, or remarks that say why not. */
int clv_plugin_share(struct clv_plugin_resource *resource, struct clv_error *err);

/* Whether the partitions of all resources fit together. */
int clv_plugin_check_fit(struct clv_plugin *plugin, struct clv_error *err);

/* Kinds of items in a list of devices. */
enum clv_plugin_reference {
	CLV_PLUGIN_GPU_INDEX,  /* 0 */
	CLV_PLUGIN_GPU_UUID,   /* GPU-b1028956-... */
	CLV_PLUGIN_MIG_INDEX,  /* 0:1 */
	CLV_PLUGIN_MIG_PARENT, /* MIG-GPU-b1028956-.../3/0 */
	CLV_PLUGIN_MIG_UUID,   /* MIG-b1028956-... */
	_CLV_PLUGIN_REFERENCE_MAX,
	_CLV_PLUGIN_REFERENCE_INVALID = -22, /* -EINVAL */
};

#define CLV_PLUGIN_UUID_MAX 41

/* Sets *ret_index to the number of the GPU and ret_parent to its UUID, if the item has
 * them. */
enum clv_plugin_reference clv_plugin_read_reference(
	const char *text, uint32_t *ret_index, char ret_parent[CLV_PLUGIN_UUID_MAX]);
