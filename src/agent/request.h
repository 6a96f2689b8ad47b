/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/share.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct clv_error;

#define CLV_REQUEST_MAX_BYTES 65536u
#define CLV_LEASE_NAME_MAX 64
#define CLV_LEASE_COMMAND_MAX 256
#define CLV_LEASE_DEVICES_MAX 64u
#define CLV_REQUEST_DEVICES_MAX 4096

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

/* What a body asks for.  Empty text and zero mean "not said". */
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

/* The body of POST /v1/leases, and of PATCH /v1/leases/{id}.  Pure; data may be anything.
 * Return 0, or -EINVAL / -ERANGE / -EMSGSIZE with what is wrong in *err. */
int clv_request_parse_lease(const char *data, size_t n_bytes,
	struct clv_lease_request *ret, struct clv_error *err);
int clv_request_parse_resize(const char *data, size_t n_bytes,
	struct clv_lease_request *ret, struct clv_error *err);

/* The body of POST /v1/leases/{id}/holders. */
int clv_request_parse_holder(
	const char *data, size_t n_bytes, int *ret_pid, struct clv_error *err);

/* Whether a name may be given to a lease: what is safe in a path, a URL and a table. */
int clv_request_check_name(const char *name, struct clv_error *err);

/* "?wait_ms=..." and the like: decimal digits only, from 0 to most. */
int clv_request_parse_number(const char *name, const char *text, uint64_t most,
	uint64_t *ret, struct clv_error *err);
