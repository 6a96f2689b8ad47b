/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

struct clv_error;

/* What the drivers of this machine add to a container, so that its programs can use the
 * devices of a lease.  It is taken from the vendor's own CDI file, if that has the
 * device, and found in the machine's folders otherwise.  What was found is kept until the
 * files change.  One thread at a time. */
struct clv_cdi_driver;

/* root: the folder of the host below which NVIDIA's driver is installed, "/" or such as
 * "/run/nvidia/driver".  CLEAVE_DRIVER_ROOT has its path here, if that differs, as in a
 * pod.  specs: a folder of CDI files that is read beside /etc/cdi below the root; NULL:
 * no such file is read. */
int clv_cdi_driver_new(const char *root, const char *specs, struct clv_cdi_driver **ret,
	struct clv_error *err);
/* Accepts NULL; returns NULL. */
struct clv_cdi_driver *clv_cdi_driver_free(struct clv_cdi_driver *driver);

/* Makes CDI's containerEdits for the devices of a lease (an object of the API): device
 * nodes, libraries, hooks.  The caller owns *ret.  -ENODEV: a device has no node. */
int clv_cdi_driver_edits(struct clv_cdi_driver *driver, const json_t *lease, json_t **ret,
	struct clv_error *err);
