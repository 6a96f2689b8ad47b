/* SPDX-License-Identifier: Apache-2.0 */
/* The options of srun, sbatch and salloc. */
#include "bridge/slurm/wanted.h"

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
const struct clv_slurm_option clv_slurm_options[_CLV_SLURM_WANT_MAX] = {
	[CLV_SLURM_SHARE] = {
		"gpu-share", "--share", "FRACTION",
		"cleave: this share of a device's compute on each node, as 0.3, 30% or "
		"6/20, or a range, as 0.1..0.6"},
	[CLV_SLURM_MEMORY] = {
		"gpu-memory", "--memory", "SIZE",
		"cleave: this much of the device's memory, as 512M or 1.5GiB"},
	[CLV_SLURM_CLASS] = {
		"gpu-class", "--class", "CLASS",
		"cleave: latency, normal or batch: how fast it is served, never how much "
		"it gets"},
	[CLV_SLURM_PROFILE] = {
		"gpu-profile", "--profile", "PROFILE",
		"cleave: inside a partition of this shape, as 1g.10gb"},
};
/* clang-format on */

static int check_share(const char *text, struct clv_error *err)
{
	uint32_t least_ppm, most_ppm;

	return strstr(text, "..")
		       ? clv_units_parse_range(text, &least_ppm, &most_ppm, err)
		       : clv_units_parse_fraction(text, &least_ppm, err);
}

static int check_class(const char *text, struct clv_error *err)
{
	static const char *const classes[] = {"latency", "normal", "batch"};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (strcmp(text, classes[i]) == 0)
			return 0;
	}
	return clv_error_set(err, -EINVAL,
		"'%.40s' is not a class: write latency, normal or batch", text);
}

static int check_profile(const char *text, struct clv_error *err)
{
	if (clv_text_is_line(text) && text[strcspn(text, " \t'\"")] == '\0')
		return 0;
	return clv_error_set(err, -EINVAL,
		"'%.40s' is not a profile: cleave profiles lists them, for example "
		"1g.10gb",
		text);
}

static int check(enum clv_slurm_want which, const char *text, struct clv_error *err)
{
	uint64_t bytes;

	switch (which) {
	case CLV_SLURM_SHARE:
		return check_share(text, err);
	case CLV_SLURM_MEMORY:
		return clv_units_parse_bytes(text, &bytes, err);
	case CLV_SLURM_CLASS:
		return check_class(text, err);
	default:
		return check_profile(text, err);
	}
}

int clv_slurm_wanted_set(struct clv_slurm_wanted *wanted, enum clv_slurm_want which,
	const char *text, struct clv_error *err)
{
	int r = -EINVAL;

	if (!text || !text[0])
		clv_error_set(err, r, "a value is missing: write --%s=%s",
			clv_slurm_options[which].name, clv_slurm_options[which].argument);
	else if (strlen(text) >= sizeof(wanted->texts[which]))
		clv_error_set(err, r, "'%.40s...' is too long", text);
	else
		r = check(which, text, err);
	if (r < 0) {
		clv_error_prefix(err, "--%s", clv_slurm_options[which].name);
		return r;
	}
	snprintf(wanted->texts[which], sizeof(wanted->texts[which]), "%s", text);
	return 0;
}

bool clv_slurm_wanted_any(const struct clv_slurm_wanted *wanted)
{
	for (int i = 0; i < _CLV_SLURM_WANT_MAX; i++) {
		if (wanted->texts[i][0])
			return true;
	}
	return false;
}

int clv_slurm_wanted_check(const struct clv_slurm_wanted *wanted, struct clv_error *err)
{
	if (!clv_slurm_wanted_any(wanted) || wanted->texts[CLV_SLURM_SHARE][0] ||
		wanted->texts[CLV_SLURM_MEMORY][0] || wanted->texts[CLV_SLURM_PROFILE][0])
		return 0;
	return clv_error_set(err, -EINVAL,
		"--gpu-class alone does not give a size: add --gpu-share=FRACTION (as "
		"0.3), --gpu-memory=SIZE (as 512M), or both, or --gpu-profile");
}
