/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* Both fill in the UUIDs (PCI addresses or names without) of devices that the user named,
 * borrowed from node; pool is that of clv_pool_read().  They return 0, or an exit code
 * after printing the error. */

/* The devices that join: of one model and size with each other and the members.  ret has
 * room for argc. */
int clv_pool_find_new(
	const json_t *node, const json_t *pool, int argc, char **argv, const char **ret);

/* The members that leave, all without arguments: assigned ones may not.  ret has room for
 * all members. */
int clv_pool_find_leaving(const json_t *node, const json_t *pool, int argc, char **argv,
	const char **ret, size_t *ret_n);
