/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPUs the common instance types of three clouds have, by core's table of models.
 * Types with a part of a GPU (g6f, NVadsA10_v5) or none of their own (n1) are left out.
 */
#include "import/cloud.h"

#include "base/cleanup.h"
#include "base/suggest.h"
#include "core/gpu/gpu.h"

#include <string.h>
#include <strings.h>

/* clang-format off */
static const struct {
	const char *name;
	const char *gpu; /* its name in the table of models */
	unsigned count;
} types[] = {
	/* AWS.  Source: karpenter-provider-aws, "Instance Types" (made from
	 * DescribeInstanceTypes, 2026-08-21); AWS Batch, "GPU jobs", for p3. */
	{ "g4dn.xlarge",             "T4",             1 },
	{ "g4dn.2xlarge",            "T4",             1 },
	{ "g4dn.4xlarge",            "T4",             1 },
	{ "g4dn.8xlarge",            "T4",             1 },
	{ "g4dn.16xlarge",           "T4",             1 },
	{ "g4dn.12xlarge",           "T4",             4 },
	{ "g4dn.metal",              "T4",             8 },
	{ "g5.xlarge",               "A10G",           1 },
	{ "g5.2xlarge",              "A10G",           1 },
	{ "g5.4xlarge",              "A10G",           1 },
	{ "g5.8xlarge",              "A10G",           1 },
	{ "g5.16xlarge",             "A10G",           1 },
	{ "g5.12xlarge",             "A10G",           4 },
	{ "g5.24xlarge",             "A10G",           4 },
	{ "g5.48xlarge",             "A10G",           8 },
	{ "g5g.xlarge",              "T4G",            1 },
	{ "g5g.2xlarge",             "T4G",            1 },
	{ "g5g.4xlarge",             "T4G",            1 },
	{ "g5g.8xlarge",             "T4G",            1 },
	{ "g5g.16xlarge",            "T4G",            2 },
	{ "g5g.metal",               "T4G",            2 },
	{ "g6.xlarge",               "L4",             1 },
	{ "g6.2xlarge",              "L4",             1 },
	{ "g6.4xlarge",              "L4",             1 },
	{ "g6.8xlarge",              "L4",             1 },
	{ "g6.16xlarge",             "L4",             1 },
	{ "g6.12xlarge",             "L4",             4 },
	{ "g6.24xlarge",             "L4",             4 },
	{ "g6.48xlarge",             "L4",             8 },
	{ "gr6.4xlarge",             "L4",             1 },
	{ "gr6.8xlarge",             "L4",             1 },
	{ "g6e.xlarge",              "L40S",           1 },
	{ "g6e.2xlarge",             "L40S",           1 },
	{ "g6e.4xlarge",             "L40S",           1 },
	{ "g6e.8xlarge",             "L40S",           1 },
	{ "g6e.16xlarge",            "L40S",           1 },
	{ "g6e.12xlarge",            "L40S",           4 },
	{ "g6e.24xlarge",            "L40S",           4 },
	{ "g6e.48xlarge",            "L40S",           8 },
	{ "g7e.2xlarge",             "RTX-PRO-6000-Blackwell-96GB",  1 },
	{ "g7e.4xlarge",             "RTX-PRO-6000-Blackwell-96GB",  1 },
	{ "g7e.8xlarge",             "RTX-PRO-6000-Blackwell-96GB",  1 },
	{ "g7e.12xlarge",            "RTX-PRO-6000-Blackwell-96GB",  2 },
	{ "g7e.24xlarge",            "RTX-PRO-6000-Blackwell-96GB",  4 },
	{ "g7e.48xlarge",            "RTX-PRO-6000-Blackwell-96GB",  8 },
	{ "p3.2xlarge",              "V100",           1 },
	{ "p3.8xlarge",              "V100",           4 },
	{ "p3.16xlarge",             "V100",           8 },
	{ "p3dn.24xlarge",           "V100-32GB",      8 },
	{ "p4d.24xlarge",            "A100-40GB",      8 },
	{ "p4de.24xlarge",           "A100-80GB",      8 },
	{ "p5.4xlarge",              "H100-80GB",      1 },
	{ "p5.48xlarge",             "H100-80GB",      8 },
	{ "p5e.48xlarge",            "H200-141GB",     8 },
	{ "p5en.48xlarge",           "H200-141GB",     8 },
	{ "p6-b200.48xlarge",        "B200-180GB",     8 },
	{ "p6-b300.48xlarge",        "B300",           8 },

	/* Google Cloud.  Source: Compute Engine, "Accelerator-optimized machine family" and
	 * "GPU machine types". */
	{ "a2-highgpu-1g",           "A100-40GB",      1 },
	{ "a2-highgpu-2g",           "A100-40GB",      2 },
	{ "a2-highgpu-4g",           "A100-40GB",      4 },
	{ "a2-highgpu-8g",           "A100-40GB",      8 },
	{ "a2-megagpu-16g",          "A100-40GB",     16 },
	{ "a2-ultragpu-1g",          "A100-80GB",      1 },
	{ "a2-ultragpu-2g",          "A100-80GB",      2 },
	{ "a2-ultragpu-4g",          "A100-80GB",      4 },
	{ "a2-ultragpu-8g",          "A100-80GB",      8 },
	{ "a3-highgpu-1g",           "H100-80GB",      1 },
	{ "a3-highgpu-2g",           "H100-80GB",      2 },
	{ "a3-highgpu-4g",           "H100-80GB",      4 },
	{ "a3-highgpu-8g",           "H100-80GB",      8 },
	{ "a3-megagpu-8g",           "H100-80GB",      8 },
	{ "a3-edgegpu-8g",           "H100-80GB",      8 },
	{ "a3-ultragpu-8g",          "H200-141GB",     8 },
	{ "a4-highgpu-8g",           "B200-180GB",     8 },
	{ "a4x-highgpu-4g",          "GB200",          4 },
	{ "g2-standard-4",           "L4",             1 },
	{ "g2-standard-8",           "L4",             1 },
	{ "g2-standard-12",          "L4",             1 },
	{ "g2-standard-16",          "L4",             1 },
	{ "g2-standard-24",          "L4",             2 },
	{ "g2-standard-32",          "L4",             1 },
	{ "g2-standard-48",          "L4",             4 },
	{ "g2-standard-96",          "L4",             8 },
	{ "g4-standard-48",          "RTX-PRO-6000-Blackwell-96GB",  1 },
	{ "g4-standard-96",          "RTX-PRO-6000-Blackwell-96GB",  2 },
	{ "g4-standard-192",         "RTX-PRO-6000-Blackwell-96GB",  4 },
	{ "g4-standard-384",         "RTX-PRO-6000-Blackwell-96GB",  8 },

	/* Azure, without "Standard_".  Source: "GPU accelerated virtual machine sizes" and the
	 * pages of its NC and ND families. */
	{ "NC4as_T4_v3",             "T4",             1 },
	{ "NC8as_T4_v3",             "T4",             1 },
	{ "NC16as_T4_v3",            "T4",             1 },
	{ "NC64as_T4_v3",            "T4",             4 },
	{ "NC6s_v3",                 "V100",           1 },
	{ "NC12s_v3",                "V100",           2 },
	{ "NC24s_v3",                "V100",           4 },
	{ "NC24rs_v3",               "V100",           4 },
	{ "ND40rs_v2",               "V100-32GB",      8 },
	{ "NC24ads_A100_v4",         "A100-80GB",      1 },
	{ "NC48ads_A100_v4",         "A100-80GB",      2 },
	{ "NC96ads_A100_v4",         "A100-80GB",      4 },
	{ "NC40ads_H100_v5",         "H100-94GB",      1 },
	{ "NC80adis_H100_v5",        "H100-94GB",      2 },
	{ "ND96asr_v4",              "A100-40GB",      8 },
	{ "ND96amsr_A100_v4",        "A100-80GB",      8 },
	{ "ND96isr_H100_v5",         "H100-80GB",      8 },
	{ "ND96isr_H200_v5",         "H200-141GB",     8 },
	{ "ND96isr_MI300X_v5",       "MI300X",         8 },
	{ "ND128isr_NDR_GB200_v6",   "GB200",          4 },
};
/* clang-format on */

static const char *without_prefix(const char *name)
{
	static const char prefix[] = "Standard_";

	return strncasecmp(name, prefix, strlen(prefix)) == 0 ? name + strlen(prefix)
							      : name;
}

const struct clv_gpu *clv_cloud_find(const char *type, unsigned *ret_count)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(types); i++) {
		if (strcasecmp(types[i].name, without_prefix(type)) == 0) {
			*ret_count = types[i].count;
			return clv_gpu_find(types[i].gpu);
		}
	}
	return NULL;
}

const char *clv_cloud_suggest(const char *type)
{
	const char *names[CLV_ARRAY_SIZE(types)];

	for (size_t i = 0; i < CLV_ARRAY_SIZE(types); i++)
		names[i] = types[i].name;
	return clv_suggest(without_prefix(type), names, CLV_ARRAY_SIZE(types));
}

const char *clv_cloud_type(size_t at)
{
	return at < CLV_ARRAY_SIZE(types) ? types[at].name : NULL;
}
