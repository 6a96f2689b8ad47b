/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/os/processes.h"
#include "core/device/node.h"
#include "core/share/share.h"
#include "core/share/sm.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct clv_error;

#define CLV_LEASE_ID_MAX 24
#define CLV_LEASE_NAME_MAX 64
#define CLV_LEASE_COMMAND_MAX 256
#define CLV_LEASE_DEVICES_MAX 64u

/* Which processes may attach to a lease. */
enum clv_admit {
	CLV_ADMIT_HOLDERS, /* who holds it, and what they have started */
	CLV_ADMIT_SOCKET,  /* whoever reaches its socket, which nobody does unless it is
			    * mounted for him */
	_CLV_ADMIT_MAX,
	_CLV_ADMIT_INVALID = -22, /* -EINVAL */
};
const char *clv_admit_to_string(enum clv_admit admit);
enum clv_admit clv_admit_from_string(const char *text);

/* What of a lease is kept in the state file. */
struct clv_lease_record {
	char id[CLV_LEASE_ID_MAX];
	char name[CLV_LEASE_NAME_MAX];
	char tenant[64];
	char command[CLV_LEASE_COMMAND_MAX];
	char device_uuid[96];
	char standing[CLV_PARTITION_NAME_MAX +
		      64]; /* the standing share it is in, or "" */
	char boot_id[40];
	uid_t uid;
	gid_t gid;
	struct clv_share share;
	struct clv_sm sm; /* how much of the device at once */
	bool overcommit;
	bool is_queued;
	uint64_t created_real_ns;
	uint64_t expires_real_ns;     /* 0: never */
	struct clv_process_id holder; /* who asked for it; of a kept one none */
	bool is_kept;                 /* until it is released, whoever ends */
	enum clv_admit admit;
	/* The account of earlier agents' time. */
	uint64_t held_ns, throttled_ns, turns, revocations, overdue;
};

/* What of an attached process is kept in the state file. */
struct clv_process_record {
	struct clv_process_id id;
	uint32_t slot;
	uint64_t attached_real_ns;
};

/* Whether a name may be given to a lease: what is safe in a path, a URL and a table. */
int clv_lease_check_name(const char *name, struct clv_error *err);
