/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

struct clv_error;

/* The folder for the files of cleave run beside a lease of the system's agent, whose own
 * folder a tenant cannot write: "programs/ID" in the user's runtime folder, or where
 * another user has taken that name in /tmp a new folder.  Folders of leases that have
 * ended are removed first.  0 or -errno. */
int clv_program_folder_make(
	const char *lease_socket, char *ret, size_t ret_bytes, struct clv_error *err);
void clv_program_folder_remove(const char *path);
