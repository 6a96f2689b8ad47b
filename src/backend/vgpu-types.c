/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of vGPU types. */
#include "backend/vgpu-types.h"

#include "backend/pci.h"
#include "base/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct note {
	char pci_address[CLV_PCI_ADDRESS_MAX];
	struct clv_vgpu_type *types; /* owned */
	size_t n;
};

/* Global, because backends have no reference to each other. */
static struct note *notes;
static size_t n_notes;

static struct note *find(const char *pci_address)
{
	for (size_t i = 0; i < n_notes; i++) {
		if (strcmp(notes[i].pci_address, pci_address) == 0)
			return &notes[i];
	}
	return NULL;
}

int clv_vgpu_types_store(
	const char *pci_address, const struct clv_vgpu_type *types, size_t n)
{
	struct clv_vgpu_type *copy = calloc(n + 1, sizeof(*copy));
	struct note *note = find(pci_address);

	if (copy && !note)
		note = CLV_APPEND(notes, n_notes);
	if (!note || !copy) {
		free(copy);
		return -ENOMEM;
	}
	if (n > 0)
		memcpy(copy, types, n * sizeof(*copy));
	free(note->types);
	snprintf(note->pci_address, sizeof(note->pci_address), "%s", pci_address);
	note->types = copy;
	note->n = n;
	return 0;
}

const struct clv_vgpu_type *clv_vgpu_types_cached(const char *pci_address, size_t *ret_n)
{
	const struct note *note = find(pci_address);

	*ret_n = note ? note->n : 0;
	return note ? note->types : NULL;
}
