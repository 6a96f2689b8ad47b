/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct clv_cdi_driver;
struct clv_error;

/* Leases as devices of the Container Device Interface (CDI,
 * cncf-tags/container-device-interface, SPEC.md).  Container runtimes read CDI files from
 * /etc/cdi and /var/run/cdi; `--device cleave.dev/gpu=NAME` selects an entry.
 *
 * For one thread at a time, because of the driver. */

#define CLV_CDI_KIND "cleave.dev/gpu"
#define CLV_CDI_NAME_MAX 192

/* Paths in the container. */
#define CLV_CDI_SOCKET_FOLDER "/run/cleave" /* of one lease */
#define CLV_CDI_GATES "/usr/lib/cleave"

/* The first argument of the hook; the second is the lease's list of preloaded libraries.
 */
#define CLV_CDI_HOOK "cleave-cdi-hook"

/* NVIDIA's runtime adds no GPU to the container. */
#define CLV_CDI_NO_VENDOR "NVIDIA_VISIBLE_DEVICES=void"

/* Absolute paths on the host. */
struct clv_cdi_host {
	const char *gates;             /* the folder of the gates' libraries */
	const char *hook;              /* cleave-cdi-hook */
	struct clv_cdi_driver *driver; /* borrowed */
};

/* The name of the list of libraries that are preloaded into the programs of a lease of a
 * device of this backend.  A container has one such list.  Static. */
const char *clv_cdi_preload(const char *backend);

/* Whether a container can be given this lease (an object of the API): it is kept and
 * active, and admits any process that reaches its socket. */
bool clv_cdi_is_eligible(const json_t *lease);

/* The name of the lease's device: the lease's name, preceded by its tenant if another of
 * the leases has the same name. */
void clv_cdi_name(const json_t *leases, const json_t *lease, char ret[CLV_CDI_NAME_MAX]);

/* Makes a CDI file with a device for each lease for which clv_cdi_is_eligible() is true,
 * in the lowest version of CDI that supports its content.  A lease of which a device has
 * no node is left out: returns the number of these, and *err has the reason of the last.
 * The caller owns *ret. */
int clv_cdi_spec(const json_t *leases, const struct clv_cdi_host *host, json_t **ret,
	struct clv_error *err);

/* The same for a container that gets a device, as in a lease's `devices`, without a
 * lease, so that nothing limits its programs.  *ret is NULL if the device has no nodes,
 * as a processor. */
int clv_cdi_spec_without_lease(struct clv_cdi_driver *driver, const char *name,
	const json_t *device, json_t **ret, struct clv_error *err);
