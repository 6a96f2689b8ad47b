/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the options of a new lease and makes the request from them. */
#include "cli/launch/lease-request.h"

#include "base/clock.h"
#include "base/units.h"
#include "cli/frame/cli.h"

#include <string.h>

const char *const clv_lease_isolations[] = {"hardware", "gate", NULL};

/* Rejects contradicting options.  The agent would reject them too, but would name the
 * fields of its API. */
static int check_words(const struct clv_lease_settings *s)
{
	bool is_isolated = s->isolation && strcmp(s->isolation, "hardware") == 0;
	bool is_sized = s->share.ppm || s->cap.ppm || s->memory_bytes || s->spill.bytes;

	if (s->same_device && !s->count)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--same-device is for several partitions: add --count=N");
	if (s->count > 1 && (is_sized || s->sm_ppm || s->overcommit))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--count grants whole devices: leave out --share, --cap, "
			"--memory, --spill, --sm and --overcommit, or use --count=1");
	if (s->count > 1 && (s->in || is_isolated))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--count goes with --device and --profile, not with --in or "
			"--isolation");
	if (s->in && (is_sized || s->class_name || s->device || s->profile))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--in names a standing share, which has its own size, class and "
			"place: leave out --share, --cap, --memory, --spill, --class, "
			"--device and --profile");
	if (is_isolated && (!s->memory_bytes || s->share.ppm || s->sm_ppm))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--isolation=hardware takes --memory=SIZE, no --share and no "
			"--sm: the lease has the whole partition");
	return 0;
}

int clv_lease_request_check(const struct clv_lease_settings *s)
{
	int r = check_words(s);

	if (r)
		return r;
	if (!s->share.ppm && !s->memory_bytes && !s->profile && !s->in && !s->count)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"the lease has no size: add --share=FRACTION (as 0.3), "
			"--memory=SIZE (as 512M), or both, or name a --profile");
	if (s->cap.ppm && s->share.ppm &&
		(s->cap.ppm < s->share.ppm || s->cap.ppm < s->share.most_ppm))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--cap is below --share, so the promise could never be used: "
			"raise the cap or lower the share");
	return 0;
}

struct clv_client_lease_request clv_lease_request(const struct clv_lease_settings *s)
{
	return (struct clv_client_lease_request){
		.name = s->name,
		.device = s->device,
		.profile = s->profile,
		.in = s->in,
		.isolation = s->isolation,
		.class_name = s->class_name,
		/* Without a share and memory the lease has the whole partition. */
		.share_ppm = (s->profile || s->count) && !s->share.ppm && !s->memory_bytes
				     ? CLV_PPM
				     : s->share.ppm,
		.share_most_ppm = s->share.most_ppm,
		.cap_ppm = s->cap.ppm,
		.memory_bytes = s->memory_bytes,
		.spill_bytes = s->spill.bytes,
		.wait = s->wait.is_given,
		.overcommit = s->overcommit,
		.count = (uint32_t)s->count,
		.same_device = s->same_device,
		.sm_ppm = s->sm_ppm,
		.time_s = (s->time_ns + CLV_NS_PER_S - 1) / CLV_NS_PER_S,
	};
}
