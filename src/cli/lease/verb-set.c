/* SPDX-License-Identifier: Apache-2.0 */
/* cleave set: resizes a lease while its programs run. */
#include "cli/frame/verbs.h"

#include "cli/frame/cli.h"
#include "cli/frame/output.h"

struct set_settings {
	struct clv_common common;
	uint64_t memory_bytes;
	const char *class_name;
	struct clv_opt_share share;
	struct clv_opt_cap cap;
	struct clv_opt_spill spill;
};

static int run_set(const void *userdata, int argc, char **argv)
{
	const struct set_settings *settings = userdata;
	struct clv_client_lease_change change = {
		.class_name = settings->class_name,
		.share_ppm = settings->share.ppm,
		.share_most_ppm = settings->share.most_ppm,
		.cap_ppm = settings->cap.ppm,
		.remove_cap = settings->cap.is_none,
		.memory_bytes = settings->memory_bytes,
		.spill_bytes = settings->spill.bytes,
		.remove_spill = settings->spill.is_none,
	};
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_json_ json_t *lease = NULL;
	struct clv_client_error err;
	int r;

	if (!change.class_name && !change.share_ppm && !change.cap_ppm &&
		!change.remove_cap && !change.memory_bytes && !change.spill_bytes &&
		!change.remove_spill)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"nothing to set on '%.40s': add --share, --cap, --memory, "
			"--spill or --class",
			argv[0]);
	r = clv_cli_connect(&settings->common, false, &client);
	if (r)
		return r;
	if (clv_client_lease_update(client, argv[0], &change, &lease, &err) < 0)
		return clv_cli_fail_named(argv[0], &err);
	if (clv_output_object(&clv_listing_leases, settings->common.output, lease) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the lease: %m");

	return CLV_EXIT_OK;
}

static const struct clv_opt options[] = {
	CLV_OPT_LEASE_SHARE(struct set_settings,
		"The new share of the device's compute, as 0.3, 30% or 6/20, "
		"or a range, as 0.1..0.6"),
	CLV_OPT_LEASE_CAP(struct set_settings, "FRACTION|none",
		"The share that the lease never exceeds, even when "
		"the device is idle; none removes the cap"),
	CLV_OPT_LEASE_MEMORY(struct set_settings,
		"The new memory quota, as 512M or 1.5GiB; allocated memory "
		"stays, even above it"),
	CLV_OPT_LEASE_SPILL(struct set_settings, "SIZE|none",
		"Host memory for allocations beyond the quota; "
		"memory that is spilled already stays"),
	CLV_OPT_LEASE_CLASS(struct set_settings,
		"When the lease runs, not how much time it gets: latency, "
		"normal or batch"),
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_set = {
	.name = "set",
	.arguments = "NAME|ID",
	.summary = "resize a lease while its programs run",
	.about = "Prints the changed lease. A change that does not fit is refused, and "
		 "nothing changes.",
	.settings_bytes = sizeof(struct set_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 1,
	.max_arguments = 1,
	.completes = CLV_COMPLETE_LEASE,
	.run = run_set,
};
