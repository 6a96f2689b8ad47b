/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/paths.h"

#include <stdbool.h>
#include <sys/types.h>

struct clv_error;

/* The kernel's freezer of a container's cgroup: its programs stop where they are, and
 * keep their memory and connections.  podman's `pause` uses it too, and takes a tenth of
 * a second for each change. */

#define CLV_ENGINE_ID_MAX 80 /* of a container */

struct clv_freezer {
	char path[CLV_PATH_MAX]; /* of its control; "": not found yet */
	bool is_of_v1;           /* cgroups version 1: else version 2 */
};

/* Finds that of the container with this id, of which pid is a process.  -ENOENT: the
 * container has no cgroup of its own, or it cannot be frozen. */
int clv_freezer_find(
	pid_t pid, const char *id, struct clv_freezer *ret, struct clv_error *err);

/* Begins to freeze; does not wait. */
int clv_freezer_freeze(const struct clv_freezer *freezer, struct clv_error *err);
/* Whether all processes are stopped. */
bool clv_freezer_is_frozen(const struct clv_freezer *freezer);
/* They go on.  Also where they are not frozen. */
int clv_freezer_thaw(const struct clv_freezer *freezer, struct clv_error *err);
