/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

#include <stddef.h>

struct clv_cdi_driver;
struct clv_error;
struct json_t;

/* CDI files, one for each lease, from which container runtimes take what they add to a
 * container. */

/* The name of the lease's CDI device, "cleave.dev/gpu=k8s-...". */
void clv_kube_spec_name(const char *lease, char ret[CLV_KUBE_NAME_MAX + 32]);

/* Writes the lease's file unless it exists with the same content.  lease is an object of
 * the agent's API.  -ENODEV: one of its devices has no node. */
int clv_kube_spec_write(const struct clv_kube_settings *settings,
	struct clv_cdi_driver *driver, const struct json_t *lease, struct clv_error *err);
/* The same for a container that gets a device, as in a lease's `devices`, and no lease.
 * Returns 0 if it needs no file, because the device has no nodes, and 1 otherwise. */
int clv_kube_spec_write_device(const struct clv_kube_settings *settings, const char *name,
	const struct json_t *device, struct clv_error *err);
/* Keeps a link to the folder of the lease's socket, by the name of the lease, which stays
 * while the folder's own path is another after a restart of the machine. */
int clv_kube_spec_link(const struct clv_kube_settings *settings,
	const struct json_t *lease, struct clv_error *err);
/* Reads what the file of the lease adds to a container, as one object of CDI's
 * containerEdits, for a runtime that does not read the file: the socket's folder is the
 * link, and what the hook would mount is a mount.  The caller owns *ret. */
int clv_kube_spec_edits(const struct clv_kube_settings *settings, const char *lease,
	struct json_t **ret, struct clv_error *err);
/* Removes the file and the link. */
void clv_kube_spec_remove(const struct clv_kube_settings *settings, const char *lease);
/* Removes the files of containers' leases for which is_wanted() is false. */
void clv_kube_spec_sweep(const struct clv_kube_settings *settings,
	bool (*is_wanted)(const char *lease, const void *userdata), const void *userdata);
