/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quantity.h"

#include "base/cleanup.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *text;
	double factor;
} suffixes[] = {
	/* clang-format off */
	{"", 1},
	{"n", 1e-9}, {"u", 1e-6}, {"m", 1e-3},
	{"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {"E", 1e18},
	{"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50},
	{"Ei", 0x1p60},
	/* clang-format on */
};

int clv_quantity_parse(const char *text, double *ret)
{
	double value;
	char *end;

	/* strtod() accepts more than Kubernetes, such as "inf" and "0x1p3". */
	if (!isdigit((unsigned char)text[0]) ||
		strspn(text, "0123456789.eE+-numkMGTPKi") != strlen(text))
		return -EINVAL;
	value = strtod(text, &end);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(suffixes); i++) {
		if (strcmp(end, suffixes[i].text) == 0) {
			*ret = value * suffixes[i].factor;
			return 0;
		}
	}
	return -EINVAL;
}
