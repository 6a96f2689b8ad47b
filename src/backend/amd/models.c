/* SPDX-License-Identifier: Apache-2.0 */
/* The PCI ids of the GPUs that can be divided, for those that do not say their name. */
#include "backend/amd/amd.h"

#include "base/cleanup.h"

/* clang-format off */
static const struct {
	const char *model;
	uint32_t id;
	bool is_virtual;
} ids[] = {
	{ "MI300A", 0x74a0, false },
	{ "MI300X", 0x74a1, false },
	{ "MI308X", 0x74a2, false },
	{ "MI325X", 0x74a5, false },
	{ "MI308X", 0x74a8, false }, /* HF */
	{ "MI300X", 0x74a9, false }, /* HF */
	{ "MI300X", 0x74b5, true  },
	{ "MI308X", 0x74b6, true  },
	{ "MI325X", 0x74b9, true  },
	{ "MI308X", 0x74bc, true  }, /* HF */
	{ "MI300X", 0x74bd, true  }, /* HF */
	{ "MI350X", 0x75a0, false },
	{ "MI355X", 0x75a3, false },
	{ "MI350X", 0x75b0, true  },
	{ "MI355X", 0x75b3, true  },
};
/* clang-format on */

const struct clv_xcp_model *clv_amd_model(uint32_t device_id, bool *ret_is_virtual)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(ids); i++) {
		if (ids[i].id == device_id) {
			*ret_is_virtual = ids[i].is_virtual;
			return clv_xcp_model_find(ids[i].model);
		}
	}
	*ret_is_virtual = false;
	return NULL;
}
