/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/opt.h"

#include <cleave.h>

/* What a new lease is made of, as the command line says it: `run`, `reserve` and others
 * that make one.  First in the settings of those verbs. */
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

/* 0, or an exit code after having said what makes no sense: what the agent would refuse
 * as well, in the words of its own fields. */
int clv_lease_request_check(const struct clv_lease_settings *settings);

/* Texts are borrowed. */
struct clv_client_lease_request clv_lease_request(
	const struct clv_lease_settings *settings);

extern const char *const clv_lease_isolations[];

/* clang-format off */
#define CLV_LEASE_OPTIONS \
	CLV_OPT_LEASE_SHARE(struct clv_lease_settings, \
		"The share of the device's compute, as 0.3, 30% or 6/20, or " \
		"a range, as 0.1..0.6, of which the least is promised and " \
		"within which the agent moves it by demand; without it, as " \
		"much as the memory is of the device's"), \
	CLV_OPT_LEASE_MEMORY(struct clv_lease_settings, \
		"The memory quota, as 512M or 1.5GiB; without it, the share " \
		"of the device's memory"), \
	CLV_OPT_LEASE_SPILL(struct clv_lease_settings, "SIZE", \
		"As much of the host's memory for what does not fit " \
		"the quota, at the bus's speed; CUDA programs on " \
		"NVIDIA GPUs"), \
	CLV_OPT_LEASE_CAP(struct clv_lease_settings, \
		"FRACTION", "Never more than this share, even when the device is idle"), \
	CLV_OPT_LEASE_CLASS(struct clv_lease_settings, \
		"How fast it is served, never how much it gets: latency, " \
		"normal (the default) or batch"), \
	{ \
		.name = "sm", \
		.type = CLV_OPT_FRACTION, \
		.offset = CLV_OPT_AT(struct clv_lease_settings, sm_ppm), \
		.argument = "FRACTION", \
		.help = "Beside the share: at most this part, as 25%, of an NVIDIA GPU's " \
			"multiprocessors or an AMD GPU's compute units at once; what " \
			"nothing holds to it is said, in cleave ps and as an event", \
	}, \
	{ \
		.name = "name", \
		.letter = 'n', \
		.type = CLV_OPT_TEXT, \
		.offset = CLV_OPT_AT(struct clv_lease_settings, name), \
		.argument = "NAME", \
		.help = "What to call the lease; without it a name is made from the " \
			"program's", \
	}, \
	CLV_OPT_LEASE_DEVICE(struct clv_lease_settings), \
	{ \
		.name = "profile", \
		.letter = 'p', \
		.type = CLV_OPT_TEXT, \
		.offset = CLV_OPT_AT(struct clv_lease_settings, profile), \
		.argument = "PROFILE", \
		.help = "Inside a partition of this shape, as 1g.10gb or cores:2; see " \
			"cleave devices", \
	}, \
	{ \
		.name = "count", \
		.type = CLV_OPT_SEVERAL, \
		.offset = CLV_OPT_AT(struct clv_lease_settings, count), \
		.argument = "N", \
		.help = "So many devices, or partitions with --profile, all alike, " \
			"each of them whole, as near to each other as can be", \
	}, \
	{ \
		.name = "same-device", \
		.type = CLV_OPT_FLAG, \
		.offset = CLV_OPT_AT(struct clv_lease_settings, same_device), \
		.help = "With --count: partitions of one device alone", \
	}, \
	{ \
		.name = "in", \
		.type = CLV_OPT_TEXT, \
		.offset = CLV_OPT_AT(struct clv_lease_settings, in), \
		.argument = "NAME", \
		.help = "In this standing share, which a layout has set aside, as train " \
			"or gpu0/train", \
	}, \
	{ \
		.name = "isolation", \
		.type = CLV_OPT_CHOICE, \
		.offset = CLV_OPT_AT(struct clv_lease_settings, isolation), \
		.argument = "hardware|gate", \
		.choices = clv_lease_isolations, \
		.help = "With hardware, --memory alone is enough: the smallest " \
			"partition that has it is found or made, and goes with the " \
			"lease; gate (the default) is a share", \
	}, \
	{ \
		.name = "overcommit", \
		.type = CLV_OPT_FLAG, \
		.offset = CLV_OPT_AT(struct clv_lease_settings, overcommit), \
		.help = "Take the share even when more than the whole device is promised " \
			"then, if the node allows it", \
	}
/* clang-format on */
