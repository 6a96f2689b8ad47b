/* SPDX-License-Identifier: Apache-2.0 */
/* The devices that a node's file may name.  What core has tables for comes from there:
 * profiles, slices, modes, memory and compute units.  Here is what those tables lack.
 * Figures without a source in core are the drivers' own (nvidia-smi, clinfo); of the
 * virtual functions, those of Intel's resource drivers for Kubernetes. */
#include "backend/sim/sim.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/suggest.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

#define NO_RESET CLV_SIM_RESET_NONE, true /* Hopper and later */
#define AMPERE CLV_SIM_RESET_ALLOWED, false
#define NOTHING CLV_SIM_RESET_NONE, false

/* clang-format off */
static const struct clv_sim_product products[] = {
	/* name                         model                                vendor          MiB     units */
	{ "A30-24GB",                   "NVIDIA A30",                        CLV_SIM_NVIDIA, 0,      0,   AMPERE },
	/* Ten of an A100's multiprocessors are in no MIG profile. */
	{ "A100-40GB",                  "NVIDIA A100-SXM4-40GB",             CLV_SIM_NVIDIA, 0,      108, AMPERE },
	{ "A100-80GB",                  "NVIDIA A100-SXM4-80GB",             CLV_SIM_NVIDIA, 0,      108, AMPERE },
	{ "H100-80GB",                  "NVIDIA H100 80GB HBM3",             CLV_SIM_NVIDIA, 0,      0,   NO_RESET },
	{ "H100-94GB",                  "NVIDIA H100 NVL",                   CLV_SIM_NVIDIA, 0,      0,   NO_RESET },
	{ "H100-96GB-GH200",            "NVIDIA GH200 480GB",                CLV_SIM_NVIDIA, 97871,  0,   NO_RESET },
	{ "H200-141GB",                 "NVIDIA H200",                       CLV_SIM_NVIDIA, 143771, 0,   NO_RESET },
	{ "B200-180GB",                 "NVIDIA B200",                       CLV_SIM_NVIDIA, 0,      0,   NO_RESET },
	{ "RTX-PRO-6000-Blackwell-96GB", "NVIDIA RTX PRO 6000 Blackwell Server Edition", CLV_SIM_NVIDIA, 0, 0, NO_RESET },
	{ "V100",                       "Tesla V100-SXM2-16GB",              CLV_SIM_NVIDIA, 16384,  80,  NOTHING },
	{ "T4",                         "Tesla T4",                          CLV_SIM_NVIDIA, 15360,  40,  NOTHING },
	{ "L4",                         "NVIDIA L4",                         CLV_SIM_NVIDIA, 23034,  58,  NOTHING, 0, CLV_VF_VFIO },
	{ "L40S",                       "NVIDIA L40S",                       CLV_SIM_NVIDIA, 46068,  142, NOTHING, 0, CLV_VF_VFIO },
	{ "MI300X",                     "AMD Instinct MI300X",               CLV_SIM_AMD,    0,      0,   NOTHING },
	{ "MI325X",                     "AMD Instinct MI325X",               CLV_SIM_AMD,    0,      0,   NOTHING },
	{ "MI308X",                     "AMD Instinct MI308X",               CLV_SIM_AMD,    0,      0,   NOTHING },
	{ "MI300A",                     "AMD Instinct MI300A",               CLV_SIM_AMD,    0,      0,   NOTHING },
	{ "MI350X",                     "AMD Instinct MI350X",               CLV_SIM_AMD,    0,      0,   NOTHING },
	{ "MI355X",                     "AMD Instinct MI355X",               CLV_SIM_AMD,    0,      0,   NOTHING },
	{ "Flex 170",                   "Intel Data Center GPU Flex 170",    CLV_SIM_INTEL,  16256,  512, NOTHING, 16, CLV_VF_I915 },
	{ "Arc Pro B60",                "Intel Arc Pro B60 Graphics",        CLV_SIM_INTEL,  24480,  160, NOTHING, 16, CLV_VF_XE },
	/* Its units are its processors. */
	{ "CPU",                        "CPU",                               CLV_SIM_CPU,    65536,  0,   NOTHING },
};
/* clang-format on */

static const struct {
	const char *name;
	const char *driver;
} vendors[] = {
	[CLV_SIM_NVIDIA] = {"NVIDIA", "nvidia"},
	[CLV_SIM_AMD] = {"AMD", "amdgpu"},
	[CLV_SIM_INTEL] = {"Intel", "xe"},
	[CLV_SIM_CPU] = {"CPU", ""},
};

static int fail_with_model(struct clv_yaml_value value, struct clv_error *err)
{
	const char *names[CLV_ARRAY_SIZE(products)];
	const char *word = clv_yaml_text(value), *nearest;
	char known[320] = "";
	size_t used = 0;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(products); i++) {
		names[i] = products[i].name;
		if (used < sizeof(known))
			used += (size_t)snprintf(known + used, sizeof(known) - used,
				"%s%s", i ? ", " : "", names[i]);
	}
	nearest = clv_suggest(word, names, CLV_ARRAY_SIZE(products));
	if (nearest)
		return clv_yaml_fail(value, err, -EINVAL,
			"unknown model '%.40s': did you mean '%s'?", word, nearest);
	return clv_yaml_fail(
		value, err, -EINVAL, "unknown model '%.40s': there are %s", word, known);
}

int clv_sim_product_read(struct clv_yaml_value value, const struct clv_sim_product **ret,
	struct clv_error *err)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(products); i++) {
		if (strcasecmp(products[i].name, clv_yaml_text(value)) == 0) {
			*ret = &products[i];
			return 0;
		}
	}
	return fail_with_model(value, err);
}

/* The profile that is the whole GPU. */
static const struct clv_mig_profile *whole_profile(const struct clv_mig_model *model)
{
	const struct clv_mig_profile *whole = model->profiles;

	for (size_t i = 1; i < model->n_profiles; i++) {
		if (model->profiles[i].size > whole->size)
			whole = &model->profiles[i];
	}
	return whole;
}

uint64_t clv_sim_product_memory_bytes(const struct clv_sim_product *product)
{
	const struct clv_mig_model *mig = clv_mig_model_find(product->name);
	const struct clv_xcp_model *xcp = clv_xcp_model_find(product->name);

	if (product->memory_mib)
		return (uint64_t)product->memory_mib << 20;
	if (mig)
		return (uint64_t)whole_profile(mig)->memory_mib << 20;
	/* What is sold as 192 GB, the driver shows as 192 GiB. */
	return xcp ? xcp->memory_gb << 30 : 0;
}

uint32_t clv_sim_product_compute_units(const struct clv_sim_product *product)
{
	const struct clv_mig_model *mig = clv_mig_model_find(product->name);
	const struct clv_xcp_model *xcp = clv_xcp_model_find(product->name);

	if (product->compute_units)
		return product->compute_units;
	if (mig)
		return whole_profile(mig)->multiprocessors;
	return xcp ? xcp->compute_units : 0;
}

const char *clv_sim_vendor_to_string(enum clv_sim_vendor vendor)
{
	return vendors[vendor].name;
}

const char *clv_sim_vf_driver(const struct clv_sim_device *device)
{
	if (device->vf_framework == CLV_VF_I915)
		return "i915";
	return vendors[device->product->vendor].driver;
}
