/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct clv_error;

/* What a container gets of a lease, as the Container Device Interface has it (CDI,
 * cncf-tags/container-device-interface, SPEC.md): runtimes read such files from /etc/cdi
 * and /var/run/cdi, and `--device cleave.dev/gpu=NAME` names an entry.
 *
 * Threads: any.  Nothing here talks to the agent. */

#define CLV_CDI_KIND "cleave.dev/gpu"
#define CLV_CDI_NAME_MAX 192

/* In the container. */
#define CLV_CDI_SOCKET_FOLDER "/run/cleave"
#define CLV_CDI_GATES "/usr/lib/cleave"

/* On the host; absolute. */
struct clv_cdi_host {
	const char *gates; /* the folder of the gates' libraries */
	const char *hook;  /* cleave-cdi-hook */
};

/* Whether a container can be given this lease, an object of the API: it is kept, active,
 * and for whoever reaches its socket. */
bool clv_cdi_is_for(const json_t *lease);

/* The names of the device of a lease among all of these: its own, or with its tenant in
 * front where others' leases have that too. */
void clv_cdi_name(const json_t *leases, const json_t *lease, char ret[CLV_CDI_NAME_MAX]);

/* One file with a device for each lease that a container can be given; the lowest version
 * of CDI that says it all.  The caller owns *ret. */
int clv_cdi_spec(const json_t *leases, const struct clv_cdi_host *host, json_t **ret,
	struct clv_error *err);
