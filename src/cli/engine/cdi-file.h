/* SPDX-License-Identifier: Apache-2.0 */
/* The file in which container runtimes find leases as CDI devices. */
#pragma once

#include "base/error.h"
#include "base/paths.h"
#include "bridge/cdi/spec.h"

#include <stdbool.h>

struct clv_client;
struct clv_client_error;

#define CLV_CDI_SPECS "/var/run/cdi"
#define CLV_CDI_FILE CLV_CDI_SPECS "/cleave.json"

struct clv_cdi_file {
	const char *path;  /* NULL: standard output */
	bool reserves;     /* first makes the leases of clv_cdi_reserve() */
	bool says_changes; /* on standard error */
	int interrupt_fd; /* a wait for other writers ends once it is readable; 0: none */
	/* Set by clv_cdi_file_init(). */
	char gates[CLV_PATH_MAX], hook[CLV_PATH_MAX];
	struct clv_cdi_host host;
	struct clv_error left_out; /* why leases are left out, as it was printed last */
	bool has_written;
};

/* Finds the gates, the hook and the vendor's own descriptions, with its libraries below
 * driver_root (NULL: "/").  Returns 0, or an exit code after printing the error. */
int clv_cdi_file_init(struct clv_cdi_file *file, const char *driver_root);
void clv_cdi_file_free(struct clv_cdi_file *file);

/* Writes the agent's leases, if the file has another text.  A lock is held from the
 * reading of the leases to the writing, so that the file of several writers has the
 * newest leases.  Returns 0, an exit code after printing why the file cannot be written,
 * or -1 with *err set if the agent did not answer, if another writer holds the lock for a
 * minute, or (-EINTR) if the wait for that was interrupted. */
int clv_cdi_file_update(struct clv_cdi_file *file, struct clv_client *client,
	struct clv_client_error *err);

/* Makes the caller the one who keeps the file up to date, until *ret_fd is closed.
 * Returns 0, or an exit code after printing the error. */
int clv_cdi_file_begin_watch(const char *path, int *ret_fd);

/* Whether someone keeps the file up to date; false if the caller may not know. */
bool clv_cdi_file_is_watched(const char *path);
