/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gpu/vf.h"

#include <string.h>

static const char *const frameworks[_CLV_VF_FRAMEWORK_MAX] = {
	[CLV_VF_PLAIN] = "pci",
	[CLV_VF_XE] = "xe",
	[CLV_VF_I915] = "i915",
	[CLV_VF_MDEV] = "vgpu-mdev",
	[CLV_VF_VFIO] = "vgpu-vfio",
};

const char *clv_vf_framework_to_string(enum clv_vf_framework framework)
{
	return frameworks[framework];
}

enum clv_vf_framework clv_vf_framework_from_string(const char *text)
{
	for (int i = 0; i < _CLV_VF_FRAMEWORK_MAX; i++) {
		if (strcmp(frameworks[i], text) == 0)
			return (enum clv_vf_framework)i;
	}
	return _CLV_VF_FRAMEWORK_INVALID;
}
