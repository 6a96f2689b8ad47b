/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/opt.h"

#include <cleave.h>

/* The options of a new lease.  The first member of the settings of `run`, `reserve` and
 * the other verbs that create a lease. */
struct clv_lease_settings {
	struct clv_common common;
	uint64_t memory_bytes;
	const char *class_name;
	const char *name;
	const char *device;
	const char *profile;
	const char *in;
	const char *isolation;
	struct clv_opt_wait wait;
	struct clv_opt_cap cap;
	struct clv_opt_share share;
	struct clv_opt_spill spill;
	uint32_t sm_ppm;
	uint64_t count;
	uint64_t time_ns;
	bool overcommit;
	bool same_device;
};

/* Rejects options that contradict each other or give no size.  The agent would reject
 * them too, but would name the fields of its API.  Returns 0, or an exit code after
 * printing the error. */
int clv_lease_request_check(const struct clv_lease_settings *settings);

/* Borrows the strings of the settings. */
struct clv_client_lease_request clv_lease_request(
	const struct clv_lease_settings *settings);

extern const char *const clv_lease_isolations[];

/* clang-format off */
#define CLV_LEASE_OPTIONS \
	CLV_OPT_LEASE_SHARE(struct clv_lease_settings, \
		"The share of the device's compute, as 0.3, 30% or 6/20, or " \
		"a range, as 0.1..0.6: the lower bound is promised, and the " \
		"agent moves the share within the range by demand; without " \
		"it, the memory's fraction of the device's memory"), \
	CLV_OPT_LEASE_MEMORY(struct clv_lease_settings, \
		"The memory quota, as 512M or 1.5GiB; without it, the share's " \
		"fraction of the device's memory"), \
	CLV_OPT_LEASE_SPILL(struct clv_lease_settings, "SIZE", \
		"Host memory for allocations beyond the quota, at the " \
		"speed of the bus; for CUDA programs on NVIDIA GPUs"), \
	CLV_OPT_LEASE_CAP(struct clv_lease_settings, \
		"FRACTION", "The share that the lease never exceeds, even when the " \
		"device is idle"), \
	CLV_OPT_LEASE_CLASS(struct clv_lease_settings, \
		"When the lease runs, not how much time it gets: latency, " \
		"normal (the default) or batch"), \
	{ \
		.name = "sm", \
		.type = CLV_OPT_FRACTION, \
		.offset = CLV_OPT_AT(struct clv_lease_settings, sm_ppm), \
		.argument = "FRACTION", \
		.help = "In addition to the share, use at most this part, as 25%, of " \
			"an NVIDIA GPU's multiprocessors or an AMD GPU's compute " \
			"units at once; if nothing enforces the limit, cleave ps and " \
			"an event say so", \
	}, \
	{ \
		.name = "name", \
		.letter = 'n', \
		.type = CLV_OPT_TEXT, \
		.offset = CLV_OPT_AT(struct clv_lease_settings, name), \
		.argument = "NAME", \
		.help = "The name of the lease; without it, a name made from the " \
			"program's", \
	}, \
	CLV_OPT_LEASE_DEVICE(struct clv_lease_settings), \
	{ \
		.name = "profile", \
		.letter = 'p', \
		.type = CLV_OPT_TEXT, \
		.offset = CLV_OPT_AT(struct clv_lease_settings, profile), \
		.argument = "PROFILE", \
		.help = "Use a partition of this profile, as 1g.10gb or cores:2; see " \
			"cleave devices", \
	}, \
	{ \
		.name = "count", \
		.type = CLV_OPT_POSITIVE, \
		.offset = CLV_OPT_AT(struct clv_lease_settings, count), \
		.argument = "N", \
		.help = "Use N whole devices, or N whole partitions with --profile, all " \
			"alike and as near to each other as possible", \
	}, \
	{ \
		.name = "same-device", \
		.type = CLV_OPT_FLAG, \
		.offset = CLV_OPT_AT(struct clv_lease_settings, same_device), \
		.help = "With --count: use partitions of one device only", \
	}, \
	{ \
		.name = "in", \
		.type = CLV_OPT_TEXT, \
		.offset = CLV_OPT_AT(struct clv_lease_settings, in), \
		.argument = "NAME", \
		.help = "Use this standing share, which a layout has set aside, as train " \
			"or gpu0/train", \
	}, \
	{ \
		.name = "isolation", \
		.type = CLV_OPT_CHOICE, \
		.offset = CLV_OPT_AT(struct clv_lease_settings, isolation), \
		.argument = "hardware|gate", \
		.choices = clv_lease_isolations, \
		.help = "hardware: use the smallest partition with --memory, which is " \
			"created if needed and then destroyed with the lease; gate (the " \
			"default): use a share", \
	}, \
	{ \
		.name = "overcommit", \
		.type = CLV_OPT_FLAG, \
		.offset = CLV_OPT_AT(struct clv_lease_settings, overcommit), \
		.help = "Grant the share even if more than the whole device is then " \
			"promised, if the node allows it", \
	}
/* clang-format on */
