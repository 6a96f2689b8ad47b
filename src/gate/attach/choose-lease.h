/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A container may have several leases; a process uses one of them.  Each is a folder that
 * is named after the lease and has its socket, and a file with a line for each of its
 * devices, "BACKEND UUID".
 *
 * The lease is the one that CLEAVE_LEASE names.  Otherwise it is the one of the device
 * that is first in the API's own variable (CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES),
 * by its UUID, or by its number among the devices of all leases in the order of their
 * names.  Without such a device it is the first lease, by name, that has a device for the
 * API. */
struct clv_lease_choice {
	const char *folder; /* of the folders of leases: CLV_PATH_LEASES */
	/* The folder in which a container has its one lease.  Folders of leases are on
	 * the same file system, on which a program in the container can make none. */
	const char *usual;
	const char *named; /* CLEAVE_LEASE; NULL: not set */
	uint32_t api;
};

/* Room for paths: a gate's thread may have a small stack. */
#define CLV_LEASE_PLACE_MAX 1024

/* False: there are fewer than two leases.  ret_n_before is the number of devices in the
 * leases before the chosen one, by which the program's numbers are larger than those in
 * the lease. */
bool clv_lease_choose(const struct clv_lease_choice *choice,
	char ret_path[CLV_LEASE_PLACE_MAX], uint32_t *ret_n_before);

/* The same for this process.  The first choice holds for its life and for its forked
 * children, whatever becomes of the variables: they have objects of that lease.  One
 * thread at a time. */
bool clv_lease_choose_once(const struct clv_lease_choice *choice,
	char ret_path[CLV_LEASE_PLACE_MAX], uint32_t *ret_n_before);
