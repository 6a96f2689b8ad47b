/* SPDX-License-Identifier: Apache-2.0 */
/* Parses quantities of Kubernetes. */
#include "bridge/kubernetes/config/quantity.h"

#include "base/cleanup.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST 9e18

static const struct {
	const char *text;
	double factor;
} suffixes[] = {
	{"", 1},
	{"m", 1e-3},
	{"k", 1e3},
	{"M", 1e6},
	{"G", 1e9},
	{"T", 1e12},
	{"Ki", 0x1p10},
	{"Mi", 0x1p20},
	{"Gi", 0x1p30},
	{"Ti", 0x1p40},
};

int clv_kube_parse_quantity(const char *text, uint64_t *ret)
{
	double value;
	char *end;

	/* strtod() accepts more than Kubernetes, such as "inf" and "0x1p3". */
	if (!isdigit((unsigned char)text[0]) ||
		strspn(text, "0123456789.eE+mkMGTKi") != strlen(text))
		return -EINVAL;
	value = strtod(text, &end);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(suffixes); i++) {
		if (strcmp(end, suffixes[i].text) != 0)
			continue;
		value *= suffixes[i].factor;
		if (!(value <= LARGEST))
			return -EINVAL;
		*ret = (uint64_t)value;
		*ret += (double)*ret < value;
		return 0;
	}
	return -EINVAL;
}
