/* SPDX-License-Identifier: Apache-2.0 */
/* Names of MIG profiles: "[<c>c.]<g>g.<gb>gb[+attribute|-attribute]". */
#include "import/mig.h"

#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SLICES_MAX 8

/* Reads a number with its unit, such as "12gb", and advances *text.  Returns false, with
 * *text unchanged, if there is none. */
static bool take_number(const char **text, const char *unit, uint32_t *ret)
{
	const char *p = *text;
	uint32_t number = 0;

	for (; *p >= '0' && *p <= '9' && number < 10000; p++)
		number = number * 10 + (uint32_t)(*p - '0');
	if (p == *text || strncmp(p, unit, strlen(unit)) != 0)
		return false;
	*text = p + strlen(unit);
	*ret = number;
	return true;
}

/* "", "+me", "+me.all", "-me" */
static bool is_attribute(const char *text)
{
	if (*text == '\0')
		return true;
	if ((*text != '+' && *text != '-') || text[1] == '\0')
		return false;
	return text[1 + strspn(text + 1, "abcdefghijklmnopqrstuvwxyz.,")] == '\0';
}

static bool parse(const char *text, struct clv_import_profile *ret)
{
	struct clv_import_profile profile = {0};
	uint32_t memory_gb; /* 0 if the GPU uses memory of the host */
	bool has_part = take_number(&text, "c.", &profile.part);

	if (has_part && (profile.part == 0 || profile.part > SLICES_MAX))
		return false;
	if (strlen(text) >= sizeof(profile.name))
		return false;
	memcpy(profile.name, text, strlen(text) + 1);
	if (!take_number(&text, "g.", &profile.slices) || profile.slices == 0 ||
		profile.slices > SLICES_MAX || !take_number(&text, "gb", &memory_gb))
		return false;
	if (!is_attribute(text))
		return false;
	if (profile.part == profile.slices)
		profile.part = 0;
	*ret = profile;
	return true;
}

int clv_import_parse_profile(struct clv_yaml_value place, const char *text,
	struct clv_import_profile *ret, struct clv_error *err)
{
	struct clv_import_profile profile;

	if (!parse(text, &profile))
		return clv_yaml_fail(place, err, -EINVAL,
			"'%.40s' is no MIG profile: they are written like 1g.10gb, "
			"1g.10gb+me or, for compute instances, 1c.3g.40gb",
			text);
	if (profile.part > profile.slices)
		return clv_yaml_fail(place, err, -EINVAL,
			"'%.40s': a compute instance of %" PRIu32
			" slices is larger than "
			"its GPU instance of %" PRIu32,
			text, profile.part, profile.slices);
	*ret = profile;
	return 0;
}
