/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/opt.h"

#include <cleave.h>

/* What a new lease is made of, as the command line says it: `run` and `reserve`. */

/* 0, or an exit code after having said what makes no sense: what the agent would refuse
 * as well, in the words of its own fields. */
int clv_lease_request_check(const struct clv_settings *settings);

/* Texts are borrowed. */
struct clv_client_lease_request clv_lease_request(const struct clv_settings *settings);

extern const char *const clv_lease_isolations[];

/* clang-format off */
#define CLV_LEASE_OPTIONS \
	CLV_OPT_LEASE_SHARE("The share of the device's compute, as 0.3, 30% or 6/20, or " \
			    "a range, as 0.1..0.6, of which the least is promised and " \
			    "within which the agent moves it by demand; without it, as " \
			    "much as the memory is of the device's"), \
	CLV_OPT_LEASE_MEMORY("The memory quota, as 512M or 1.5GiB; without it, the share " \
			     "of the device's memory"), \
	CLV_OPT_LEASE_SPILL("SIZE", "As much of the host's memory for what does not fit " \
				    "the quota, at the bus's speed; CUDA programs on " \
				    "NVIDIA GPUs"), \
	CLV_OPT_LEASE_CAP( \
		"FRACTION", "Never more than this share, even when the device is idle"), \
	CLV_OPT_LEASE_CLASS("How fast it is served, never how much it gets: latency, " \
			    "normal (the default) or batch"), \
	{ \
		.name = "sm", \
		.type = CLV_OPT_FRACTION, \
		.offset = CLV_OPT_AT(sm_ppm), \
		.argument = "FRACTION", \
		.help = "Beside the share: at most this part, as 25%, of an NVIDIA GPU's " \
			"multiprocessors or an AMD GPU's compute units at once; what " \
			"nothing holds to it is said, in cleave ps and as an event", \
	}, \
	{ \
		.name = "name", \
		.letter = 'n', \
		.type = CLV_OPT_TEXT, \
		.offset = CLV_OPT_AT(name), \
		.argument = "NAME", \
		.help = "What to call the lease; without it a name is made from the " \
			"program's", \
	}, \
	CLV_OPT_LEASE_DEVICE, \
	{ \
		.name = "profile", \
		.letter = 'p', \
		.type = CLV_OPT_TEXT, \
		.offset = CLV_OPT_AT(profile), \
		.argument = "PROFILE", \
		.help = "Inside a partition of this shape, as 1g.10gb or cores:2; see " \
			"cleave devices", \
	}, \
	{ \
		.name = "count", \
		.type = CLV_OPT_SEVERAL, \
		.offset = CLV_OPT_AT(count), \
		.argument = "N", \
		.help = "So many devices, or partitions with --profile, all alike, " \
			"each of them whole, as near to each other as can be", \
	}, \
	{ \
		.name = "same-device", \
		.type = CLV_OPT_FLAG, \
		.offset = CLV_OPT_AT(same_device), \
		.help = "With --count: partitions of one device alone", \
	}, \
	{ \
		.name = "in", \
		.type = CLV_OPT_TEXT, \
		.offset = CLV_OPT_AT(in), \
		.argument = "NAME", \
		.help = "In this standing share, which a layout has set aside, as train " \
			"or gpu0/train", \
	}, \
	{ \
		.name = "isolation", \
		.type = CLV_OPT_CHOICE, \
		.offset = CLV_OPT_AT(isolation), \
		.argument = "hardware|gate", \
		.choices = clv_lease_isolations, \
		.help = "With hardware, --memory alone is enough: the smallest " \
			"partition that has it is found or made, and goes with the " \
			"lease; gate (the default) is a share", \
	}, \
	{ \
		.name = "overcommit", \
		.type = CLV_OPT_FLAG, \
		.offset = CLV_OPT_AT(overcommit), \
		.help = "Take the share even when more than the whole device is promised " \
			"then, if the node allows it", \
	}
/* clang-format on */
