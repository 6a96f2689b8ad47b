/* SPDX-License-Identifier: Apache-2.0 */
/* Shares: names of classes, and completion of requests.  No I/O, no clock. */
#include "core/share/share.h"

#include "base/error.h"
#include "base/units.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static const char *const class_names[_CLV_CLASS_MAX] = {
	[CLV_CLASS_LATENCY] = "latency",
	[CLV_CLASS_NORMAL] = "normal",
	[CLV_CLASS_BATCH] = "batch",
};

const char *clv_class_to_string(enum clv_class class)
{
	if (class < 0 || class >= _CLV_CLASS_MAX)
		return NULL;
	return class_names[class];
}

enum clv_class clv_class_from_string(const char *text)
{
	for (int i = 0; i < _CLV_CLASS_MAX; i++) {
		if (strcmp(class_names[i], text) == 0)
			return (enum clv_class)i;
	}
	return _CLV_CLASS_INVALID;
}

uint32_t clv_share_promise_ppm(const struct clv_share *share)
{
	return share->range.most_ppm > 0 ? share->range.least_ppm : share->compute_ppm;
}

uint32_t clv_share_most_ppm(const struct clv_share *share)
{
	return share->range.most_ppm > 0 ? share->range.most_ppm : share->compute_ppm;
}

static uint64_t fraction_of(uint64_t whole, uint32_t ppm)
{
	return (uint64_t)((unsigned __int128)whole * ppm / CLV_PPM);
}

/* At least one part per million, so that the smallest lease still has a weight. */
static uint32_t ppm_of(uint64_t part, uint64_t whole)
{
	uint64_t ppm = (uint64_t)((unsigned __int128)part * CLV_PPM / whole);

	return ppm > 0 ? (uint32_t)ppm : 1;
}

static int check_memory(
	uint64_t wanted_bytes, uint64_t device_bytes, struct clv_error *err)
{
	char wanted[32], has[32];

	if (wanted_bytes <= device_bytes)
		return 0;

	clv_units_format_bytes(wanted_bytes, wanted);
	clv_units_format_bytes(device_bytes, has);
	return clv_error_set(err, -ERANGE,
		"%s of memory is more than the device has: ask for at most %s", wanted,
		has);
}

static void resolve_range(struct clv_share *share)
{
	const struct clv_share_range *range = &share->range;

	if (range->most_ppm == 0)
		return;
	if (share->compute_ppm < range->least_ppm)
		share->compute_ppm = range->least_ppm;
	if (share->compute_ppm > range->most_ppm)
		share->compute_ppm = range->most_ppm;
}

static int check_range(const struct clv_share_range *range, struct clv_error *err)
{
	if (range->most_ppm > 0 &&
		(range->least_ppm == 0 || range->least_ppm > range->most_ppm ||
			range->most_ppm > CLV_PPM))
		return clv_error_set(err, -EINVAL,
			"a range of shares goes from more than 0 to at most 1, the lower "
			"bound first");
	return 0;
}

int clv_share_resolve(const struct clv_share_request *request,
	uint64_t device_memory_bytes, struct clv_share *ret, struct clv_error *err)
{
	struct clv_share share = {
		.compute_ppm = request->compute_ppm,
		.cap_ppm = request->cap_ppm,
		.memory_bytes = request->memory_bytes,
		.class = request->class,
		.range = request->range,
		.spill_bytes = request->spill_bytes,
	};
	int r = check_range(&share.range, err);

	if (r < 0)
		return r;
	resolve_range(&share);
	if (share.compute_ppm == 0 && share.memory_bytes == 0)
		return clv_error_set(err, -EINVAL,
			"the request has no size: give a share, an amount of memory, or "
			"both");
	if (share.compute_ppm > CLV_PPM || share.cap_ppm > CLV_PPM)
		return clv_error_set(err, -ERANGE, "a share or cap is at most 1");
	r = check_memory(share.memory_bytes, device_memory_bytes, err);
	if (r < 0)
		return r;
	if (share.memory_bytes == 0)
		share.memory_bytes =
			fraction_of(device_memory_bytes, clv_share_promise_ppm(&share));
	if (share.compute_ppm == 0)
		share.compute_ppm = ppm_of(share.memory_bytes, device_memory_bytes);
	if (share.cap_ppm > 0 && share.cap_ppm < clv_share_most_ppm(&share))
		return clv_error_set(err, -EINVAL,
			"the cap is below the share, so the share could never be "
			"reached: raise the cap or lower the share");

	*ret = share;
	return 0;
}
