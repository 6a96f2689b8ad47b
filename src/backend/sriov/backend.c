/* SPDX-License-Identifier: Apache-2.0 */
/* The backend's vtable, and the PCI functions that it handles: GPUs and accelerators that
 * can have virtual functions, and other classes of devices that CLEAVE_SRIOV_CLASSES
 * names. */
#include "backend/sriov/sriov.h"

#include "backend/files.h"
#include "backend/pci-sample.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CLEAVE_SRIOV_CLASSES is a list of classes and subclasses in hexadecimal: "0108,0200".
 */
static bool is_class_configured(uint32_t class)
{
	const char *list = getenv("CLEAVE_SRIOV_CLASSES");

	while (list && *list) {
		char *end;

		if (strtoul(list, &end, 16) == class && end != list)
			return true;
		list = *end ? end + 1 : end;
	}
	return false;
}

bool clv_sriov_is_supported(const struct clv_pci *pci)
{
	return (clv_pci_is_gpu(pci) || is_class_configured(pci->class)) &&
	       !pci->is_virtual &&
	       clv_file_exists("bus/pci/devices/%s/sriov_totalvfs", pci->address);
}

static int list_functions(struct clv_names *ret, struct clv_error *err)
{
	int r = clv_file_list(ret, "bus/pci/devices");

	return r < 0 ? clv_file_error(err, -r, "cannot list the PCI devices") : 0;
}

static int sriov_probe(struct clv_backend **ret, struct clv_error *err)
{
	_cleanup_names_ struct clv_names names = {0};
	struct clv_sriov_backend *backend;
	bool is_found = false;
	int r = list_functions(&names, err);

	if (r < 0)
		return r;
	for (size_t i = 0; !is_found && i < names.n; i++) {
		struct clv_pci pci;

		is_found = clv_pci_read(names.items[i], &pci) == 0 &&
			   clv_sriov_is_supported(&pci);
	}
	if (!is_found)
		return clv_error_set(err, -ENODEV,
			"no GPU of this machine can have virtual functions: if its data "
			"sheet says otherwise, turn SR-IOV on in the firmware's set-up");
	backend = calloc(1, sizeof(*backend));
	if (!backend)
		return clv_error_errno(err, ENOMEM, "cannot open the sriov backend");
	backend->base.ops = &clv_backend_sriov;
	*ret = &backend->base;
	return 0;
}

static void sriov_free(struct clv_backend *base)
{
	struct clv_sriov_backend *backend = (struct clv_sriov_backend *)base;

	if (!backend)
		return;
	free(backend->wishes);
	free(backend->types);
	free(backend);
}

static int survey_all(struct clv_sriov_backend *backend, const struct clv_names *names,
	const struct clv_openers *openers, struct clv_node *node)
{
	uint32_t index = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < names->n; i++) {
		struct clv_node_device *device;
		struct clv_pci pci;

		if (clv_pci_read(names->items[i], &pci) < 0 ||
			!clv_sriov_is_supported(&pci))
			continue;
		device = clv_node_add(node);
		if (!device)
			return -ENOMEM;
		device->index = index++;
		r = clv_sriov_read_device(backend, &pci, openers, device);
	}
	return r;
}

static int sriov_survey(
	struct clv_backend *base, struct clv_node *node, struct clv_error *err)
{
	_cleanup_names_ struct clv_names names = {0};
	_cleanup_openers_ struct clv_openers openers = {0};
	int r = list_functions(&names, err);

	if (r < 0)
		return r;
	r = clv_sriov_find_openers(&openers);
	if (r == 0)
		r = survey_all((struct clv_sriov_backend *)base, &names, &openers, node);
	if (r < 0)
		return clv_error_errno(err, -r, "cannot read virtual functions");
	return 0;
}

static int read_by_address(struct clv_sriov_backend *backend,
	const struct clv_node_device *device, struct clv_node_device *ret)
{
	_cleanup_openers_ struct clv_openers openers = {0};
	struct clv_pci pci;
	int r;

	/* Searched by address, because the UUID may be that of another backend. */
	if (clv_pci_read(device->pci_address, &pci) < 0 || !clv_sriov_is_supported(&pci))
		return -ENODEV;
	r = clv_sriov_find_openers(&openers);
	return r < 0 ? r : clv_sriov_read_device(backend, &pci, &openers, ret);
}

static int sriov_read(
	struct clv_backend *base, struct clv_node_device *device, struct clv_error *err)
{
	struct clv_node_device now = {0};
	int r = read_by_address((struct clv_sriov_backend *)base, device, &now);

	if (r < 0) {
		clv_node_device_clear(&now);
		if (r == -ENODEV)
			return clv_error_set(err, r, "the device %s is gone from its bus",
				device->pci_address);
		return clv_error_errno(err, -r, "cannot read virtual functions");
	}
	memcpy(now.info.name, device->info.name, sizeof(now.info.name));
	memcpy(now.info.uuid, device->info.uuid, sizeof(now.info.uuid));
	now.index = device->index;
	clv_node_device_clear(device);
	*device = now;
	return 0;
}

static int sriov_sample(struct clv_backend *base, const struct clv_node_device *device,
	struct clv_reading *ret, struct clv_error *err)
{
	return clv_pci_sample(device->pci_address, ret, err);
}

const struct clv_backend_ops clv_backend_sriov = {
	.abi = CLV_BACKEND_ABI,
	.name = "sriov",
	.probe = sriov_probe,
	.free = sriov_free,
	.survey = sriov_survey,
	.read = sriov_read,
	.sample = sriov_sample,
	.set_vf_count = clv_sriov_set_vf_count,
	.set_vf_quota = clv_sriov_set_vf_quota,
};
