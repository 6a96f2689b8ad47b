/* SPDX-License-Identifier: Apache-2.0 */
#include "array.h"

int dcu_array_side(const struct copy_3d_side *side, const struct copy_3d *c,
	char **ret_at, size_t *ret_pitch, size_t *ret_slice)
{
	return DCU_INVALID_VALUE;
}
