/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct clv_error;

/* Leases as devices of the Container Device Interface (CDI,
 * cncf-tags/container-device-interface, SPEC.md).  Container runtimes read CDI files from
 * /etc/cdi and /var/run/cdi; `--device cleave.dev/gpu=NAME` selects an entry.
 *
 * Pure functions, for any thread. */

#define CLV_CDI_KIND "cleave.dev/gpu"
#define CLV_CDI_NAME_MAX 192

/* Paths in the container. */
#define CLV_CDI_SOCKET_FOLDER "/run/cleave"
#define CLV_CDI_GATES "/usr/lib/cleave"

/* Absolute paths on the host. */
struct clv_cdi_host {
	const char *gates; /* the folder of the gates' libraries */
	const char *hook;  /* cleave-cdi-hook */
};

/* Whether a container can be given this lease (an object of the API): it is kept and
 * active, and admits any process that reaches its socket. */
bool clv_cdi_is_eligible(const json_t *lease);

/* The name of the lease's device: the lease's name, preceded by its tenant if another of
 * the leases has the same name. */
void clv_cdi_name(const json_t *leases, const json_t *lease, char ret[CLV_CDI_NAME_MAX]);

/* Makes a CDI file with a device for each lease for which clv_cdi_is_eligible() is true,
 * in the lowest version of CDI that supports its content.  The caller owns *ret. */
int clv_cdi_spec(const json_t *leases, const struct clv_cdi_host *host, json_t **ret,
	struct clv_error *err);
