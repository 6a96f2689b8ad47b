/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/launch/bind-mounts.h"
#include "cli/launch/preloads.h"

struct clv_error;

#define CLV_NAMESPACE_PATH_MAX 4096

/* The mount namespace that enforces the share on a program without its environment.
 *
 * A program finds its devices through /etc/OpenCL/vendors, or the folder that its own
 * loader has instead, whatever its environment.  In its mount namespace that folder is
 * made in memory, read-only, with one driver: the gate, which loads the vendors'
 * libraries from the original folder.  Shims cover the libraries that programs load by
 * name.  The files are created before the fork, the mounts in the child.
 */
struct clv_namespace {
	char folder[CLV_NAMESPACE_PATH_MAX / 2];   /* the lease's, or the user's own */
	bool is_own_folder;                        /* the user's own: program-folder.h */
	char vendors[CLV_NAMESPACE_PATH_MAX];      /* the folder that the program sees */
	char vendors_real[CLV_NAMESPACE_PATH_MAX]; /* the folder that the gate reads */
	char original[CLV_NAMESPACE_PATH_MAX];     /* mounted on vendors_real; "" when
						      its entries were written there */
	/* The folder of the program's own loader, which is covered too; "": none. */
	char own[CLV_NAMESPACE_PATH_MAX];
	/* What `vendors` has, beside a link to vendors_real. */
	char icd[CLV_NAMESPACE_PATH_MAX + 32];
	const char *lease_socket, *gate_path; /* borrowed */
	bool allows_open;
	/* Set by clv_namespace_add_shims(). */
	struct clv_bind_mounts mounts[CLV_PRELOAD_LIBRARIES_MAX];
};

/* Creates the files in the folder of the lease's socket, or in one of the user's own.
 * gate_path is absolute; it and lease_socket stay borrowed.  own_folder: an existing
 * folder, other than the system's, where the program's loader looks for drivers; "":
 * none. */
int clv_namespace_prepare(const char *lease_socket, const char *gate_path,
	const char *own_folder, struct clv_namespace *ret, struct clv_error *err);

/* Allows the lease's programs to run without a limit where they find no agent: those in
 * whose environment CLEAVE_IF_NO_AGENT=open. */
int clv_namespace_allow_open(struct clv_namespace *ns, struct clv_error *err);

/* Creates shims for the libraries of preload, so that their gate is loaded even without
 * LD_PRELOAD; preload may be NULL. */
int clv_namespace_add_shims(struct clv_namespace *ns, const struct clv_preload *preload,
	struct clv_error *err);

/* In the child: enters a new mount namespace and makes the mounts.  Returns -EPERM, with
 * a remedy in *err, if the system does not allow it. */
int clv_namespace_enter(const struct clv_namespace *ns, struct clv_error *err);

/* For others who make the mounts: writes the folder that the program sees, and calls each
 * with every mount, in the order in which they have to be made. */
int clv_namespace_each(const struct clv_namespace *ns,
	void (*each)(void *userdata, const char *from, const char *to), void *userdata,
	struct clv_error *err);

/* Tests in a child process whether the system allows the namespace.  0 or -errno. */
int clv_namespace_try(struct clv_error *err);

/* What allows the namespace where the system does not: a part of a sentence. */
const char *clv_namespace_remedy(void);

/* Removes the created files and frees the paths. */
void clv_namespace_remove(struct clv_namespace *ns);
