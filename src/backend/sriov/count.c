/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and removes virtual functions: from 0 to a number, or to 0.  A driver that
 * removes a function in use may block until its user is gone, so users are looked up
 * first. */
#include "backend/sriov/sriov.h"

#include "backend/command.h"
#include "backend/files.h"
#include "base/error.h"
#include "core/device/vgpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PF "bus/pci/devices/%s/"
#define SRIOV_MANAGE_TRIES 5

/* Retries while sriov-manage fails because of a lock, which NVIDIA's daemons hold for
 * short times. */
static int run_sriov_manage(
	const char *option, const char *address, const char *what, struct clv_error *err)
{
	const char *program = clv_sriov_manage();
	const char *const argv[] = {program, option, address, NULL};
	char said[200];
	int status = -ENOENT;

	if (!program)
		return clv_error_set(err, -ENOTSUP,
			"%s: NVIDIA's vGPU host driver, with sriov-manage, is not "
			"installed",
			what);
	for (int i = 0; i < SRIOV_MANAGE_TRIES; i++) {
		if (i > 0)
			sleep(1);
		status = clv_command_run(argv, said, sizeof(said));
		if (status <= 0 || !strstr(said, "unbindLock"))
			break;
	}
	if (status < 0)
		return clv_error_set(err, -EIO, "%s: %s does not run: %s", what, program,
			strerror(-status));
	if (status > 0)
		return clv_error_set(err,
			strstr(said, "unbindLock") || strstr(said, "in use") ? -EBUSY
									     : -EIO,
			"%s: sriov-manage %s failed: %s", what, option,
			said[0] != '\0' ? said : "without output; see dmesg");
	return 0;
}

static int explain(const struct clv_node_device *device, int errnum, uint32_t count,
	const char *what, struct clv_error *err)
{
	switch (errnum) {
	case ENOENT:
		return clv_error_set(err, -ENOTSUP,
			"%s: the device's driver does not create virtual functions",
			what);
	case ENOMEM:
	case ENOSPC:
		return clv_error_set(err, -ENOSPC,
			"%s: the bus has no addresses for %u functions: turn SR-IOV and "
			"'above 4G decoding' on in the firmware's set-up",
			what, count);
	case EUCLEAN:
		return clv_error_set(err, -EINVAL,
			"%s: the driver has quotas for some functions and none for "
			"others: set them for all or for none",
			what);
	case ERANGE:
		return clv_error_set(err, -ENOSPC, "%s: it can have at most %u", what,
			device->vf.total);
	default:
		return clv_file_error(err, errnum, "%s", what);
	}
}

static int set_autoprobe(const struct clv_node_device *device, const char *value,
	const char *what, struct clv_error *err)
{
	int r = clv_file_write(value, PF "sriov_drivers_autoprobe", device->pci_address);

	return r < 0 ? clv_file_error(err, -r, "%s: sriov_drivers_autoprobe", what) : 0;
}

static int write_count(const struct clv_node_device *device, uint32_t count,
	const char *what, struct clv_error *err)
{
	char text[16];
	int r;

	snprintf(text, sizeof(text), "%u", count);
	r = clv_file_write(text, PF "sriov_numvfs", device->pci_address);
	return r < 0 ? explain(device, -r, count, what, err) : 0;
}

/* Creates functions without binding them to the host's driver, if they are for another
 * driver: otherwise each would be bound and then unbound. */
static int write_count_unbound(const struct clv_node_device *device, uint32_t count,
	const char *what, struct clv_error *err)
{
	char before[8] = "1";
	int r, restored;

	clv_file_read(before, sizeof(before), PF "sriov_drivers_autoprobe",
		device->pci_address);
	r = set_autoprobe(device, "0", what, err);
	if (r < 0)
		return r;
	r = write_count(device, count, what, err);
	restored = set_autoprobe(device, before, what, r < 0 ? NULL : err);
	return r < 0 ? r : restored;
}

static int check_all_unused(struct clv_sriov_backend *backend,
	const struct clv_node_device *device, uint32_t n, const char *what,
	struct clv_error *err)
{
	int r = 0;

	for (uint32_t i = 1; r == 0 && i <= n; i++)
		r = clv_sriov_check_unused(
			backend, device, i, CLV_SRIOV_ALL_USERS, what, err);
	return r;
}

static int remove_functions(struct clv_sriov_backend *backend,
	const struct clv_node_device *device, uint32_t n, const char *what,
	struct clv_error *err)
{
	int r = check_all_unused(backend, device, n, what, err);

	if (r < 0)
		return r;
	if (clv_vgpu_has_types(device->vf.framework))
		r = run_sriov_manage("-d", device->pci_address, what, err);
	else
		r = write_count(device, 0, what, err);
	if (r < 0)
		return r;
	n = clv_sriov_count(device->pci_address);
	if (n != 0)
		return clv_error_set(err, -EIO,
			"%s: the driver accepted it and still has %u functions: see "
			"dmesg",
			what, n);
	clv_sriov_reset_quotas(device);
	return 0;
}

/* NVIDIA's framework can only be detected once the functions exist, so it is detected
 * again.
 */
static int grant_wishes(struct clv_sriov_backend *backend,
	const struct clv_node_device *device, struct clv_error *err)
{
	struct clv_node_device now = *device;
	struct clv_pci pci;

	if (clv_pci_read(device->pci_address, &pci) == 0)
		now.vf.framework = clv_sriov_detect(&pci);
	return clv_sriov_apply_requests(backend, &now, err);
}

static int create_functions(struct clv_sriov_backend *backend,
	const struct clv_node_device *device, uint32_t count, const char *what,
	struct clv_error *err)
{
	bool is_nvidia = clv_vgpu_has_types(device->vf.framework);
	uint32_t n_created;
	int r;

	if (is_nvidia)
		r = run_sriov_manage("-e", device->pci_address, what, err);
	else if (clv_sriov_requests_driver(backend, device))
		r = write_count_unbound(device, count, what, err);
	else
		r = write_count(device, count, what, err);
	n_created = clv_sriov_count(device->pci_address);
	if (r == 0 && n_created != count)
		r = clv_error_set(err, -EIO, "%s: the driver created %u: see dmesg", what,
			n_created);
	if (r == 0)
		r = grant_wishes(backend, device, err);
	if (r == 0)
		return 0;
	/* Rollback. */
	clv_sriov_clear_requests(backend, device);
	if (n_created > 0 && is_nvidia)
		run_sriov_manage("-d", device->pci_address, what, NULL);
	else if (n_created > 0)
		write_count(device, 0, what, NULL);
	return r;
}

int clv_sriov_set_vf_count(struct clv_backend *base, const struct clv_node_device *device,
	uint32_t count, struct clv_error *err)
{
	struct clv_sriov_backend *backend = (struct clv_sriov_backend *)base;
	uint32_t now = clv_sriov_count(device->pci_address);
	char what[96];
	int r;

	snprintf(what, sizeof(what), "cannot set %s to %u virtual functions",
		clv_pci_label(device), count);
	if (count == now)
		return 0;
	if (count == 0)
		return remove_functions(backend, device, now, what, err);
	if (!device->vf.is_capable)
		return clv_error_set(err, -ENOTSUP, "%s: %s", what, device->vf.why_not);
	if (count > device->vf.total)
		return clv_error_set(err, -ENOSPC, "%s: it can have at most %u", what,
			device->vf.total);
	if (now != 0)
		return clv_error_set(err, -EBUSY,
			"%s: it has %u: remove them first, by setting 0", what, now);
	if (count <= 64 && device->vf.counts != 0 &&
		!(device->vf.counts >> (count - 1) & 1))
		return clv_error_set(err, -ENOTSUP,
			"%s: its driver creates all %u or none: ask for %u and leave "
			"some "
			"unused",
			what, device->vf.total, device->vf.total);
	r = clv_sriov_check_wishes(backend, device, count, what, err);
	return r < 0 ? r : create_functions(backend, device, count, what, err);
}
