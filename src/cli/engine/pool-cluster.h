/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdio.h>

/* The commands by which Pacemaker keeps a virtual machine and a member of a pool on one
 * node. */
struct clv_pool_cluster {
	const char *pool;
	const char *model; /* of the pool's devices; "": not known here */
	const char *vm;
	const char
		*template; /* the domain's XML, the same on all nodes; NULL: its name */
	const char *tool;  /* "crm" or "pcs" */
};

void clv_pool_cluster_write(FILE *to, const struct clv_pool_cluster *cluster);
