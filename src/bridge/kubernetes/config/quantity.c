/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/kubernetes/config/quantity.h"

#include "base/quantity.h"

#include <errno.h>

#define LARGEST 9e18

int clv_kube_parse_quantity(const char *text, uint64_t *ret)
{
	double value;

	if (clv_quantity_parse(text, &value) < 0 || !(value <= LARGEST))
		return -EINVAL;
	*ret = (uint64_t)value;
	*ret += (double)*ret < value;
	return 0;
}
