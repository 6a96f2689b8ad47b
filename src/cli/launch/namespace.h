/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/launch/bind-mounts.h"
#include "cli/launch/preloads.h"

struct clv_error;

#define CLV_NAMESPACE_PATH_MAX 4096

/* The folder that holds a program without environment in its lease.
 *
 * A program finds its devices through /etc/OpenCL/vendors, whatever its environment.  In
 * a mount namespace of its own that folder is the lease's, with one entry: the gate,
 * which loads the vendors' libraries in its turn from the original folder.  Libraries
 * that programs load by name have the gate in their place.  Made in two
 * steps: files before the fork, mounts in the child. */
struct clv_namespace {
	char folder[CLV_NAMESPACE_PATH_MAX / 2];   /* the lease's */
	char vendors[CLV_NAMESPACE_PATH_MAX];      /* what the program gets to see */
	char vendors_real[CLV_NAMESPACE_PATH_MAX]; /* what the gate gets to see */
	char original[CLV_NAMESPACE_PATH_MAX];     /* mounted on vendors_real; "" when
						      its entries were written there */
	/* None, unless they are asked for. */
	struct clv_bind_mounts mounts[CLV_PRELOAD_LIBRARIES_MAX];
};

/* Makes the files for the lease whose socket this is.  gate_path is absolute. */
int clv_namespace_prepare(const char *lease_socket, const char *gate_path,
	struct clv_namespace *ret, struct clv_error *err);

/* Holds those too that lose LD_PRELOAD; preload may be NULL. */
int clv_namespace_cover(struct clv_namespace *ns, const struct clv_preload *preload,
	struct clv_error *err);

/* In the child: leaves the caller's mount namespace and mounts.  -EPERM with what would
 * work when the system does not allow it. */
int clv_namespace_enter(const struct clv_namespace *ns, struct clv_error *err);

/* What would be mounted, in the order in which that is to be done. */
void clv_namespace_each(const struct clv_namespace *ns,
	void (*each)(void *userdata, const char *from, const char *to), void *userdata);

/* Whether the system would allow it; tried in a child process.  0 or -errno. */
int clv_namespace_try(struct clv_error *err);

/* What would make it work where the system does not allow it: a part of a sentence. */
const char *clv_namespace_remedy(void);

/* Removes what was made for it. */
void clv_namespace_remove(struct clv_namespace *ns);
