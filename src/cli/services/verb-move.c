/* SPDX-License-Identifier: Apache-2.0 */
/* cleave move: a replica of a service goes to another device. */
#include "cli/frame/verbs.h"

#include "base/cleanup.h"
#include "cli/fleet/move-replica.h"
#include "cli/frame/cli.h"

static int run_move(const void *userdata, int argc, char **argv)
{
	return clv_move_replica(argv[0], argv[1], stdout);
}

static const struct clv_opt options[] = {CLV_OPT_HELP};

const struct clv_verb clv_verb_move = {
	.name = "move",
	.arguments = "LEASE DEVICE",
	.summary = "move a replica of a service to another device",
	.about =
		"Starts a replica on DEVICE, and stops that of LEASE once the new one is "
		"ready and the requests of the old one are answered. If the new one "
		"fails or has no room, the old one stays.",
	.settings_bytes = sizeof(struct clv_common),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 2,
	.max_arguments = 2,
	.run = run_move,
};
