/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the quotas, vGPU type and driver of one function.  Before the functions exist,
 * quotas are written where the driver accepts them, because it otherwise divides all of
 * the device among new functions.  The request is also recorded, and applied when the
 * functions have been created. */
#include "backend/sriov/sriov.h"

#include "base/array.h"
#include "base/error.h"
#include "core/device/vgpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_wish_of(
	const struct clv_sriov_request *wish, const struct clv_node_device *device)
{
	return strcmp(wish->address, device->pci_address) == 0;
}

static int remember(struct clv_sriov_backend *backend,
	const struct clv_node_device *device, uint32_t number,
	const struct clv_vf_quota *quota)
{
	struct clv_sriov_request *wish = NULL;

	for (size_t i = 0; !wish && i < backend->n_wishes; i++) {
		if (is_wish_of(&backend->wishes[i], device) &&
			backend->wishes[i].number == number)
			wish = &backend->wishes[i];
	}
	if (!wish)
		wish = CLV_APPEND(backend->wishes, backend->n_wishes);
	if (!wish)
		return -ENOMEM;
	memcpy(wish->address, device->pci_address, sizeof(wish->address));
	wish->number = number;
	wish->quota = *quota;
	return 0;
}

void clv_sriov_clear_requests(
	struct clv_sriov_backend *backend, const struct clv_node_device *device)
{
	size_t kept = 0;

	for (size_t i = 0; i < backend->n_wishes; i++) {
		if (!is_wish_of(&backend->wishes[i], device))
			backend->wishes[kept++] = backend->wishes[i];
	}
	backend->n_wishes = kept;
}

bool clv_sriov_requests_driver(
	const struct clv_sriov_backend *backend, const struct clv_node_device *device)
{
	for (size_t i = 0; i < backend->n_wishes; i++) {
		if (is_wish_of(&backend->wishes[i], device) &&
			backend->wishes[i].quota.driver[0] != '\0')
			return true;
	}
	return false;
}

/* Sets type and driver.  A value that is set already is not written, so the function may
 * be in use. */
static int apply(struct clv_sriov_backend *backend, const struct clv_node_device *device,
	uint32_t number, const struct clv_vf_quota *quota, const char *what,
	struct clv_error *err)
{
	char address[CLV_PCI_ADDRESS_MAX];
	int r = clv_sriov_address(device->pci_address, number, address);

	if (r < 0)
		return clv_error_set(
			err, r, "%s: function %u does not exist", what, number);
	if (quota->type[0] != '\0')
		r = clv_sriov_set_type(
			backend, device->vf.framework, address, quota->type, what, err);
	if (r == 0 && quota->driver[0] != '\0')
		r = clv_sriov_bind(device, address, quota->driver, what, err);
	return r;
}

/* Time slices may change while a virtual machine uses the function; the rest may not. */
static bool disturbs(const struct clv_vf *now, const struct clv_vf_quota *quota)
{
	return (quota->driver[0] != '\0' && strcmp(quota->driver, now->driver) != 0) ||
	       (quota->type[0] != '\0' &&
		       !clv_vgpu_is_type(now->quota.type, quota->type)) ||
	       (quota->memory_bytes != 0 &&
		       quota->memory_bytes != now->quota.memory_bytes) ||
	       (quota->contexts != 0 && quota->contexts != now->quota.contexts) ||
	       (quota->doorbells != 0 && quota->doorbells != now->quota.doorbells);
}

static int change_function(struct clv_sriov_backend *backend,
	const struct clv_node_device *device, uint32_t number,
	const struct clv_vf_quota *quota, const char *what, struct clv_error *err)
{
	struct clv_openers no_openers = {0};
	struct clv_vf now = {.number = number};
	int r = clv_sriov_read_function(backend, device, &no_openers, &now);

	free(now.holders.items);
	if (r < 0)
		return clv_error_errno(err, -r, "%s", what);
	if (disturbs(&now, quota))
		r = clv_sriov_check_unused(
			backend, device, number, CLV_SRIOV_PROCESSES, what, err);
	if (r == 0)
		r = clv_sriov_write_quota(
			device, number, quota, CLV_SRIOV_NOW, what, err);
	return r < 0 ? r : apply(backend, device, number, quota, what, err);
}

int clv_sriov_set_vf_quota(struct clv_backend *base, const struct clv_node_device *device,
	uint32_t number, const struct clv_vf_quota *quota, struct clv_error *err)
{
	struct clv_sriov_backend *backend = (struct clv_sriov_backend *)base;
	uint32_t count = clv_sriov_count(device->pci_address);
	char what[96];
	int r;

	snprintf(what, sizeof(what), "cannot set function %u of %s", number,
		clv_pci_label(device));
	if (number == 0 || number > device->vf.total || (count > 0 && number > count))
		return clv_error_set(err, -ENODEV,
			"%s: the device has %u of %u functions", what, count,
			device->vf.total);
	if (count > 0)
		return change_function(backend, device, number, quota, what, err);
	r = clv_sriov_write_quota(device, number, quota, CLV_SRIOV_AHEAD, what, err);
	if (r < 0)
		return r;
	r = remember(backend, device, number, quota);
	return r < 0 ? clv_error_errno(err, -r, "%s", what) : 0;
}

int clv_sriov_check_wishes(const struct clv_sriov_backend *backend,
	const struct clv_node_device *device, uint32_t count, const char *what,
	struct clv_error *err)
{
	uint32_t n = 0;

	for (size_t i = 0; i < backend->n_wishes; i++) {
		const struct clv_sriov_request *wish = &backend->wishes[i];

		n += is_wish_of(wish, device) && wish->number <= count &&
		     wish->quota.memory_bytes > 0;
	}
	if (device->vf.framework != CLV_VF_XE || n == 0 || n == count)
		return 0;
	return clv_error_set(err, -EINVAL,
		"%s: %u of them have a memory quota, and the driver gives the others no "
		"memory then: set it for all or for none",
		what, n);
}

static int compare_memory(const void *a, const void *b)
{
	const struct clv_sriov_request *first = a, *second = b;

	if (first->quota.memory_bytes == second->quota.memory_bytes)
		return 0;
	return first->quota.memory_bytes < second->quota.memory_bytes ? -1 : 1;
}

int clv_sriov_apply_requests(struct clv_sriov_backend *backend,
	const struct clv_node_device *device, struct clv_error *err)
{
	uint32_t count = clv_sriov_count(device->pci_address);
	int r = 0;

	/* The smallest quota first: it frees memory of the equal shares for larger ones.
	 */
	if (backend->n_wishes > 0)
		qsort(backend->wishes, backend->n_wishes, sizeof(*backend->wishes),
			compare_memory);
	for (size_t i = 0; r == 0 && i < backend->n_wishes; i++) {
		const struct clv_sriov_request *wish = &backend->wishes[i];
		char what[96];

		if (!is_wish_of(wish, device) || wish->number > count)
			continue;
		snprintf(what, sizeof(what), "cannot set function %u of %s", wish->number,
			clv_pci_label(device));
		r = clv_sriov_write_quota(
			device, wish->number, &wish->quota, CLV_SRIOV_NOW, what, err);
		if (r == 0)
			r = apply(backend, device, wish->number, &wish->quota, what, err);
	}
	clv_sriov_clear_requests(backend, device);
	return r;
}
