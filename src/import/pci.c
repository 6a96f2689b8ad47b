/* SPDX-License-Identifier: Apache-2.0 */
#include "import/pci.h"

#include "base/cleanup.h"

#include <stddef.h>

/* Those that mig-parted's own files filter by.  Several products share a table of
 * profiles, and then a name.  Source: the comments of mig-parted's default configuration;
 * pci.ids for the products. */
/* clang-format off */
static const struct {
	uint16_t device;
	const char *model;
} gpus[] = {
	{ 0x1fb0, "DGX Display" },                 /* of a DGX Station A100 */
	{ 0x20b0, "A100-40GB" },                   /* SXM4 */
	{ 0x20b1, "A100-40GB" },                   /* PCIe */
	{ 0x20b2, "A100-80GB" },                   /* SXM4 */
	{ 0x20b5, "A100-80GB" },                   /* PCIe */
	{ 0x20b6, "H100-96GB-GH200" },             /* PG506, whose profiles are the same */
	{ 0x20b7, "A30-24GB" },
	{ 0x20f1, "A100-40GB" },                   /* PCIe */
	{ 0x20f3, "A100-80GB" },                   /* A800 SXM4 */
	{ 0x20f5, "A100-80GB" },                   /* A800 PCIe */
	{ 0x20f6, "A100-40GB" },                   /* A800 */
	{ 0x2321, "H100-94GB" },                   /* NVL */
	{ 0x2322, "H100-80GB" },                   /* H800 PCIe */
	{ 0x2324, "H100-80GB" },                   /* H800 SXM5 */
	{ 0x2329, "H100-96GB-GH200" },             /* H20 */
	{ 0x2330, "H100-80GB" },                   /* SXM5 */
	{ 0x2331, "H100-80GB" },                   /* PCIe */
	{ 0x2335, "H200-141GB" },                  /* SXM5 */
	{ 0x233a, "H100-94GB" },                   /* H800 NVL */
	{ 0x233b, "H200-141GB" },                  /* NVL */
	{ 0x233d, "H100-96GB-GH200" },             /* H100 SXM5 96GB */
	{ 0x2342, "H100-96GB-GH200" },             /* GH200 */
	{ 0x2348, "GH200 144G" },
	{ 0x2901, "B200-180GB" },
	{ 0x2941, "NVIDIA GB200" },
	{ 0x2bb5, "RTX-PRO-6000-Blackwell-96GB" }, /* Server Edition */
	{ 0x3182, "NVIDIA B300" },
	{ 0x31c2, "NVIDIA GB300" },
};
/* clang-format on */

const char *clv_import_model_of_pci_id(uint16_t device)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(gpus); i++) {
		if (gpus[i].device == device)
			return gpus[i].model;
	}
	return NULL;
}
