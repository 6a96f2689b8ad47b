/* SPDX-License-Identifier: Apache-2.0 */
/* Shares: classes by name, and what an incomplete request means.  No I/O, no clock. */
#include "core/share.h"

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

static uint64_t fraction_of(uint64_t whole, uint32_t ppm)
{
	return (uint64_t)((unsigned __int128)whole * ppm / CLV_PPM);
}

/* At least one part per million, so that the smallest lease still has a weight. */
static uint32_t fraction_that(uint64_t part, uint64_t whole)
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

int clv_share_resolve(const struct clv_share_request *request,
	uint64_t device_memory_bytes, struct clv_share *ret, struct clv_error *err)
{
	struct clv_share share = {
		.compute_ppm = request->compute_ppm,
		.cap_ppm = request->cap_ppm,
		.memory_bytes = request->memory_bytes,
		.class = request->class,
	};
	int r;

	if (share.compute_ppm == 0 && share.memory_bytes == 0)
		return clv_error_set(err, -EINVAL,
			"nothing says how much is wanted: give a share, an amount of "
			"memory, or "
			"both");
	if (share.compute_ppm > CLV_PPM || share.cap_ppm > CLV_PPM)
		return clv_error_set(err, -ERANGE, "a share or cap is at most 1");
	r = check_memory(share.memory_bytes, device_memory_bytes, err);
	if (r < 0)
		return r;
	if (share.memory_bytes == 0)
		share.memory_bytes = fraction_of(device_memory_bytes, share.compute_ppm);
	if (share.compute_ppm == 0)
		share.compute_ppm =
			fraction_that(share.memory_bytes, device_memory_bytes);
	if (share.cap_ppm > 0 && share.cap_ppm < share.compute_ppm)
		return clv_error_set(err, -EINVAL,
			"the cap is below the share, so the share could never be had: "
			"raise "
			"the cap or lower the share");

	*ret = share;
	return 0;
}
