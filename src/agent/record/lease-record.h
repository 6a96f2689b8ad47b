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
#define CLV_LEASE_HOLDER_MAX 48 /* "vm:" and a UUID */

/* Which processes may attach to a lease. */
enum clv_admit {
	CLV_ADMIT_HOLDERS, /* the holders, and processes that they have started */
	CLV_ADMIT_SOCKET,  /* any process that can reach the lease's socket, which has to
			      be mounted for it */
	_CLV_ADMIT_MAX,
	_CLV_ADMIT_INVALID = -22, /* -EINVAL */
};
const char *clv_admit_to_string(enum clv_admit admit);
enum clv_admit clv_admit_from_string(const char *text);

/* What the request of a queued lease named, with which the lease is placed again. */
struct clv_lease_asked {
	bool may_move; /* it may leave the queue of its device for a device with room */
	char device[96];
	char profile[40];
	uint32_t compute_ppm;  /* 0: by the memory */
	uint64_t memory_bytes; /* 0: by the share */
};

/* A lease as the state file stores it. */
struct clv_lease_record {
	char id[CLV_LEASE_ID_MAX];
	char name[CLV_LEASE_NAME_MAX];
	char tenant[64];
	char command[CLV_LEASE_COMMAND_MAX];
	char device_uuid[96];
	/* The name of the standing share that the lease is in, or "". */
	char standing[CLV_PARTITION_NAME_MAX + 64];
	char boot_id[40];
	uid_t uid;
	gid_t gid;
	struct clv_share share;
	struct clv_sm sm; /* limit in multiprocessors or compute units */
	bool overcommit;
	bool is_queued;
	struct clv_lease_asked asked;
	uint64_t created_real_ns;
	uint64_t expires_real_ns;     /* 0: never; for display */
	uint64_t ends_boot_ns;        /* the same by CLOCK_BOOTTIME */
	struct clv_process_id holder; /* that requested the lease; none if is_kept */
	bool is_kept;                 /* ends when it is released, not with a process */
	enum clv_admit admit;
	/* "vm:UUID", the virtual machine that holds a kept lease; "": none.  Only its
	 * release ends such a lease, and it outlives a restart of the node. */
	char vm[CLV_LEASE_HOLDER_MAX];
	/* Totals of earlier agents' time. */
	uint64_t held_ns, throttled_ns, turns, revocations, overdue;
};

/* An attached process as the state file stores it. */
struct clv_process_record {
	struct clv_process_id id;
	uint32_t slot; /* of the report page */
	uint64_t attached_real_ns;
	/* What identifies its memory, which a child may share: where its program and
	 * stack are, and the inode of its report page.  0: unknown. */
	struct clv_process_layout layout;
	uint64_t page;
};

/* Checks the name for a new lease: it must be safe in a path, a URL and a table, and must
 * not look like an id.  -EINVAL. */
int clv_lease_check_name(const char *name, struct clv_error *err);
