/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The driver framework that makes virtual functions usable, and where it has their
 * quotas. */
enum clv_vf_framework {
	CLV_VF_PLAIN, /* PCI only */
	CLV_VF_XE,    /* Intel xe: sriov_admin */
	CLV_VF_I915,  /* Intel i915: iov */
	CLV_VF_MDEV,  /* NVIDIA vGPU up to kernel 6.7 */
	CLV_VF_VFIO,  /* NVIDIA vGPU from kernel 6.8: creatable_vgpu_types */
	_CLV_VF_FRAMEWORK_MAX,
	_CLV_VF_FRAMEWORK_INVALID = -22, /* -EINVAL */
};

const char *clv_vf_framework_to_string(enum clv_vf_framework framework);
enum clv_vf_framework clv_vf_framework_from_string(const char *text);
