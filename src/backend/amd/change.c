/* SPDX-License-Identifier: Apache-2.0 */
/* Changes a GPU's compute mode and requests a memory mode.  The driver decides which
 * modes are legal; the tables of core only serve to explain a refusal. */
#include "backend/amd/amd.h"

#include "backend/files.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Reads the current holders again, because those of device may be stale. */
static int explain_busy(
	const struct clv_node_device *device, const char *what, struct clv_error *err)
{
	_cleanup_scene_ struct clv_amd_snapshot scene = {0};
	struct clv_node_device now = {0};
	char who[200] = "";

	snprintf(now.pci_address, sizeof(now.pci_address), "%s", device->pci_address);
	if (clv_amd_snapshot_read(&scene) == 0 && clv_amd_add_holders(&scene, &now) == 0)
		clv_holders_describe(&now.holders, who, sizeof(who));
	clv_node_device_clear(&now);
	if (who[0] == '\0')
		return clv_error_set(err, -EBUSY,
			"%s: the compute driver is busy and shows no process: a process "
			"may "
			"be just ending, or the GPU is being reset; try again",
			what);
	return clv_error_set(err, -EBUSY,
		"%s: in use by %s; even a program that only watches GPUs counts: end it "
		"first",
		what, who);
}

static int explain_illegal(const struct clv_node_device *device, const char *what,
	enum clv_compute_mode mode, struct clv_error *err)
{
	const struct clv_xcp_state *xcp = &device->xcp;
	struct clv_error why;

	if (xcp->model && clv_xcp_check(xcp->model, mode, xcp->memory, &why) < 0)
		return clv_error_set(err, -EINVAL, "%s: %s", what, why.msg);
	return clv_error_set(err, -EINVAL,
		"%s: the driver does not take that mode beside %s: change the memory "
		"mode first",
		what, clv_memory_mode_to_string(xcp->memory));
}

static int explain(const struct clv_node_device *device, const char *what, int errnum,
	struct clv_error *err)
{
	if (errnum == EBUSY)
		return explain_busy(device, what, err);
	if (errnum == EPERM && geteuid() == 0)
		return clv_error_set(err, -EBUSY,
			"%s: amdgpu allows no change while a GPU is reset: try again",
			what);
	return clv_file_error(err, errnum, "%s", what);
}

int clv_amd_set_compute_mode(struct clv_backend *backend,
	const struct clv_node_device *device, enum clv_compute_mode mode,
	struct clv_error *err)
{
	const char *name = clv_compute_mode_to_string(mode);
	char what[64], now[16];
	int r;

	snprintf(what, sizeof(what), "cannot set %s to %s", clv_pci_label(device), name);
	if (!device->xcp.is_capable)
		return clv_error_set(
			err, -ENOTSUP, "%s: %s", what, device->cannot_divide);
	r = clv_file_write(name, "bus/pci/devices/%s/current_compute_partition",
		device->pci_address);
	if (r == -EINVAL)
		return explain_illegal(device, what, mode, err);
	if (r == -EIO)
		return clv_error_set(err, -EIO,
			"%s: the compute driver did not start again: the GPU cannot be "
			"used until the driver is reloaded; see dmesg",
			what);
	if (r < 0)
		return explain(device, what, -r, err);
	r = clv_file_read(now, sizeof(now),
		"bus/pci/devices/%s/current_compute_partition", device->pci_address);
	if (r < 0)
		return explain(device, what, -r, err);
	if (strcmp(now, name) != 0)
		return clv_error_set(err, -EIO,
			"%s: the driver accepted the mode but shows %s: see dmesg", what,
			now);
	return 0;
}

int clv_amd_set_memory_mode(struct clv_backend *base,
	const struct clv_node_device *device, enum clv_memory_mode mode,
	struct clv_error *err)
{
	struct clv_amd_backend *backend = (struct clv_amd_backend *)base;
	const char *name = clv_memory_mode_to_string(mode);
	uint32_t requested = clv_amd_requested(backend, device);
	char what[64];
	int r;

	snprintf(what, sizeof(what), "cannot ask for %s on %s", name,
		clv_pci_label(device));
	if (!device->xcp.is_capable)
		return clv_error_set(
			err, -ENOTSUP, "%s: %s", what, device->cannot_divide);
	/* The driver ignores a request for the current mode and keeps an earlier request.
	 */
	if (mode == device->xcp.memory && requested != 0)
		return clv_error_set(err, -ENOTSUP,
			"%s: the driver cannot cancel the pending request for %s: reload "
			"it, then ask for %s",
			what, clv_memory_mode_to_string(requested), name);
	r = clv_file_write(
		name, "bus/pci/devices/%s/current_memory_partition", device->pci_address);
	if (r == -EINVAL)
		return clv_error_set(err, -EINVAL, "%s: this GPU has no such mode", what);
	if (r == -EACCES && geteuid() == 0)
		return clv_error_set(
			err, -ENOTSUP, "%s: this GPU has only one memory mode", what);
	if (r < 0)
		return explain(device, what, -r, err);
	if (clv_amd_record_request(backend, device, mode) < 0)
		return clv_error_errno(err, ENOMEM, "%s", what);
	return 0;
}
