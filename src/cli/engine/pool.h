/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct clv_client;
struct clv_error;

/* Pools of whole devices.  A member of the pool a40 is a standing share of that name that
 * has all of a device, or all of a partition: the agent's layout holds the members, and
 * each is for one lease at a time.  Servers with a pool of the same name form one pool.
 */

#define CLV_POOL_NAME_MAX 48

/* The lease's command where Pacemaker holds it. */
#define CLV_POOL_CLUSTER "ocf:cleave:gpu"

/* Whether a pool can have this name: a letter or digit first, then also dots, dashes and
 * underscores, and not digits alone, which are the names of equal shares. */
bool clv_pool_is_name(const char *name);

/* Reads the members: {"items": [...], "capacity": n}, which the caller owns.  name NULL:
 * of all pools.  The capacity is what Pacemaker may use: members that are available or
 * that it holds.  Returns 0, or an exit code after printing the error. */
int clv_pool_read(struct clv_client *client, const char *name, json_t **ret);

/* The member with this lease, borrowed; NULL: there is none. */
json_t *clv_pool_find(const json_t *pool, const char *lease);

struct clv_pool_edit {
	const char *pool;
	const char *const *devices; /* UUIDs, or PCI addresses or names without */
	size_t n_devices;
	bool is_removal;
};

/* Adds the devices to the pool in a layout whose selectors name hardware, or removes
 * them; NULL: no layout was applied yet.  The caller frees *ret_text.  -EINVAL, -EEXIST
 * (a device has other standing shares), -ENOMEM. */
int clv_pool_edit(const char *layout, const struct clv_pool_edit *edit, char **ret_text,
	struct clv_error *err);
