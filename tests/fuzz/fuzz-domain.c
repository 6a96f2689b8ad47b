/* SPDX-License-Identifier: Apache-2.0 */
/* A domain's XML, which users edit. */
#include "fuzz.h"

#include "base/error.h"
#include "bridge/libvirt/domain/domain.h"
#include "bridge/libvirt/domain/mmio.h"

static void check_texts(const struct clv_vm_domain *domain)
{
	CLV_MUST(strlen(domain->uuid) == CLV_VM_UUID_MAX - 1 && domain->name);
	CLV_MUST(memchr(domain->machine, '\0', sizeof(domain->machine)));
	for (size_t i = 0; i < domain->n_hostdevs; i++) {
		const struct clv_vm_hostdev *hostdev = &domain->hostdevs[i];

		CLV_MUST(memchr(hostdev->address, '\0', sizeof(hostdev->address)));
		CLV_MUST(memchr(hostdev->alias, '\0', sizeof(hostdev->alias)));
		CLV_MUST(clv_vm_find_address(domain, hostdev->address));
	}
	CLV_MUST(clv_vm_count_partitions(domain) <= domain->n_hostdevs);
}

/* The window that is written is the one that is read; the rest stays. */
static void check_hole(
	const char *xml, size_t n_bytes, const struct clv_vm_domain *before)
{
	struct clv_vm_domain after;
	char *changed;
	const uint64_t bytes = UINT64_C(64) << 30;

	if (clv_vm_domain_set_hole(xml, n_bytes, bytes, &changed, NULL) < 0)
		return;
	CLV_MUST(clv_vm_domain_parse(changed, strlen(changed), &after, NULL) == 0);
	CLV_MUST(after.memory_hole_bytes == bytes);
	CLV_MUST(after.n_hostdevs == before->n_hostdevs);
	CLV_MUST(after.n_notes == before->n_notes);
	clv_vm_domain_clear(&after);
	free(changed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	char *text = clv_fuzz_text(data, n_bytes);
	struct clv_vm_domain domain;
	struct clv_error err = {0};
	uint64_t bars[8];
	int r = clv_vm_domain_parse(text, n_bytes, &domain, &err);

	CLV_MUST(r == 0 || (r == err.code && err.msg[0] != '\0'));
	if (r == 0) {
		check_texts(&domain);
		clv_vm_mmio_check(&domain, 1, NULL);
		check_hole(text, n_bytes, &domain);
	}
	clv_vm_domain_clear(&domain);
	CLV_MUST(clv_vm_mmio_read_bars(text, bars, 8) <= 8);
	free(text);
	return 0;
}
