/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/lease-record.h"
#include "core/share/share.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CLV_REQUEST_DEVICES_MAX 4096

/* What a lease is asked for with.  Empty text and zero mean "not given". */
struct clv_lease_request {
	char name[CLV_LEASE_NAME_MAX];
	char device[96];
	/* Those alone: ",gpu0,gpu2,", names or UUIDs; then count says how many. */
	char devices[CLV_REQUEST_DEVICES_MAX];
	char profile[40]; /* of a partition */
	bool is_isolated; /* by hardware: a partition of its own, made if need be */
	char in[136];     /* a standing share */
	char command[CLV_LEASE_COMMAND_MAX];
	struct clv_share_request share;
	bool has_range; /* share.range is a share too: has_share */
	bool has_share, has_cap, has_memory, has_class; /* a cap of null: has_cap, 0 */
	bool has_spill;
	bool wait;
	bool overcommit;
	uint32_t sm_ppm; /* of its multiprocessors or compute units; 0: no limit */
	uint32_t count;  /* of devices, each of them whole; 0: not said, a share of one */
	uint64_t time_s; /* until it is ended; 0: never */
	bool is_same_device; /* all of them partitions of one device */
	bool keep;           /* no process holds it */
	enum clv_admit admit;
	bool has_user; /* it is for this user, not for the caller */
	uid_t user;
};
