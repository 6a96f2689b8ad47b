/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of a request against the allowance of a tenant. */
#include "core/share/allowance.h"

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void list_profiles(
	const struct clv_allowance *allowance, char *ret, size_t ret_bytes)
{
	ret[0] = '\0';
	for (uint32_t i = 0; i < allowance->n_profiles; i++)
		clv_text_list(ret, ret_bytes, allowance->profiles[i]);
}

static int check_profile(
	const struct clv_allowance *allowance, const char *profile, struct clv_error *err)
{
	char known[256];

	for (uint32_t i = 0; i < allowance->n_profiles; i++) {
		if (strcmp(allowance->profiles[i], profile) == 0)
			return 0;
	}
	if (allowance->n_profiles == 0 || profile[0] == '\0')
		return 0;
	list_profiles(allowance, known, sizeof(known));
	return clv_error_set(err, -EPERM,
		"partitions of profile %s are not in your allowance: you may have %s",
		profile, known);
}

static int check_class(const struct clv_allowance *allowance, enum clv_class class,
	struct clv_error *err)
{
	char known[64] = "";

	if (allowance->classes == 0 || allowance->classes & 1u << class)
		return 0;
	for (int i = 0; i < _CLV_CLASS_MAX; i++) {
		if (allowance->classes & 1u << i)
			clv_text_list(known, sizeof(known),
				clv_class_to_string((enum clv_class)i));
	}
	return clv_error_set(err, -EPERM,
		"the class %s is not in your allowance: you may have %s",
		clv_class_to_string(class), known);
}

static void format_compute(uint64_t ppm, char ret[24])
{
	snprintf(ret, 24, "%.10g", (double)ppm / CLV_PPM);
}

static int check_compute(const struct clv_allowance *allowance, uint64_t has_ppm,
	uint64_t wanted_ppm, struct clv_error *err)
{
	char all[24], has[24], wanted[24];

	if (allowance->compute_ppm == 0 || has_ppm + wanted_ppm <= allowance->compute_ppm)
		return 0;
	format_compute(allowance->compute_ppm, all);
	format_compute(has_ppm, has);
	format_compute(wanted_ppm, wanted);
	return clv_error_set(err, wanted_ppm > allowance->compute_ppm ? -EPERM : -EBUSY,
		"a share of %s is more than is left of your allowance: it is %s devices, "
		"and you have %s; ask for less, or release a lease",
		wanted, all, has);
}

static int check_memory(const struct clv_allowance *allowance, uint64_t has_bytes,
	uint64_t wanted_bytes, struct clv_error *err)
{
	char all[32], has[32], wanted[32];

	if (allowance->memory_bytes == 0 ||
		has_bytes + wanted_bytes <= allowance->memory_bytes)
		return 0;
	clv_units_format_bytes(allowance->memory_bytes, all);
	clv_units_format_bytes(has_bytes, has);
	clv_units_format_bytes(wanted_bytes, wanted);
	return clv_error_set(err,
		wanted_bytes > allowance->memory_bytes ? -EPERM : -EBUSY,
		"%s of memory is more than is left of your allowance: it is %s, and you "
		"have %s; ask for less, or release a lease",
		wanted, all, has);
}

/* Refuses what is too much even for a tenant that has nothing. */
static int check_ever(const struct clv_allowance *allowance,
	const struct clv_share *wanted, const char *profile, struct clv_error *err)
{
	int r = check_profile(allowance, profile, err);

	if (r >= 0)
		r = check_class(allowance, wanted->class, err);
	if (r >= 0)
		r = check_compute(allowance, 0, clv_share_most_ppm(wanted), err);
	return r < 0 ? r : check_memory(allowance, 0, wanted->memory_bytes, err);
}

int clv_allowance_check(const struct clv_allowance *allowance,
	const struct clv_allowance_use *use, const struct clv_share *wanted,
	const char *profile, struct clv_error *err)
{
	int r = check_ever(allowance, wanted, profile, err);

	if (r < 0)
		return r;
	if (allowance->leases > 0 && use->leases >= allowance->leases)
		return clv_error_set(err, -EBUSY,
			"your allowance is %" PRIu32
			" leases and you have that many: release one",
			allowance->leases);
	r = check_compute(allowance, use->compute_ppm, clv_share_most_ppm(wanted), err);
	return r < 0 ? r
		     : check_memory(
			       allowance, use->memory_bytes, wanted->memory_bytes, err);
}
