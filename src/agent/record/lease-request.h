/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/lease-record.h"
#include "core/share/share.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CLV_REQUEST_DEVICES_MAX 4096

/* A request for a lease.  "" and 0 mean "not given". */
struct clv_lease_request {
	char name[CLV_LEASE_NAME_MAX];
	char device[96];
	/* Names or UUIDs of the devices to use, ",gpu0,gpu2,"; count is their number. */
	char devices[CLV_REQUEST_DEVICES_MAX];
	char profile[40]; /* of a partition */
	bool is_isolated; /* in a partition of its own, created if needed */
	char in[136];     /* the name of a standing share */
	char command[CLV_LEASE_COMMAND_MAX];
	struct clv_share_request share;
	bool has_range;                                 /* implies has_share */
	bool has_share, has_cap, has_memory, has_class; /* cap null: has_cap, 0 */
	bool has_spill;
	bool wait;
	bool overcommit;
	uint32_t sm_ppm; /* part of the multiprocessors or compute units; 0: no limit */
	uint32_t count;  /* whole devices; 0: a share of one device */
	uint64_t time_s; /* seconds until the lease is ended; 0: no limit */
	bool is_same_device; /* all devices are partitions of the same device */
	bool keep;           /* the lease ends when it is released */
	enum clv_admit admit;
	char vm[CLV_LEASE_HOLDER_MAX]; /* "vm:UUID": for this virtual machine, with keep
					*/
	bool has_user;                 /* user is the owner, instead of the caller */
	uid_t user;
};
