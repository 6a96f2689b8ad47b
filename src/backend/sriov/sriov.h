/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/backend.h"
#include "backend/openers.h"
#include "backend/pci.h"

/* The state and functions of the sriov backend. */

/* A quota that was requested for a function before it exists.  A caller that knows the
 * quotas sets them before it creates the functions: then a function for another driver is
 * not bound to the host's driver first, and the driver divides memory as requested. */
struct clv_sriov_request {
	char address[CLV_PCI_ADDRESS_MAX]; /* of the physical function */
	uint32_t number;
	struct clv_vf_quota quota;
};

struct clv_sriov_backend {
	struct clv_backend base;
	struct clv_sriov_request *wishes; /* owned */
	size_t n_wishes;
	/* All vGPU types seen so far, to name the types that functions have: NVIDIA's
	 * driver lists only types that can be created now. */
	struct clv_vgpu_type *types; /* owned */
	size_t n_types;
};

/* --- backend.c --- */

/* Whether this backend handles the PCI function. */
bool clv_sriov_is_supported(const struct clv_pci *pci);

/* --- device.c --- */

/* Fills ret except for name and index.  -ENOMEM. */
int clv_sriov_read_device(struct clv_sriov_backend *backend, const struct clv_pci *pci,
	const struct clv_openers *openers, struct clv_node_device *ret);

/* --- framework.c --- */

/* Detects the driver framework of the device's functions by the paths that exist. */
enum clv_vf_framework clv_sriov_detect(const struct clv_pci *pci);
/* The path of sriov-manage, or NULL if it is not installed.  Static; valid until the next
 * call. */
const char *clv_sriov_manage(void);

/* --- function.c --- */

#define CLV_SRIOV_MAX 65535u /* TotalVFs of PCI has 16 bits */

/* The PCI address of a function; numbers begin with 1.  -ENODEV. */
int clv_sriov_address(
	const char *pf_address, uint32_t number, char ret[CLV_PCI_ADDRESS_MAX]);

/* The current number of functions. */
uint32_t clv_sriov_count(const char *pf_address);

/* Fills vf for the function vf->number.  -ENOMEM, -ENODEV. */
int clv_sriov_read_function(struct clv_sriov_backend *backend,
	const struct clv_node_device *device, const struct clv_openers *openers,
	struct clv_vf *vf);
/* Moves it into the list.  -ENOMEM. */
int clv_sriov_add_function(struct clv_vf_state *state, const struct clv_vf *vf);

enum clv_sriov_users {
	CLV_SRIOV_PROCESSES, /* processes that use the function now */
	CLV_SRIOV_ALL_USERS, /* also a vGPU on the function */
};

/* Appends the users of a function.  -ENOMEM */
int clv_sriov_find_users(struct clv_sriov_backend *backend,
	const struct clv_node_device *device, const char *vf_address,
	const struct clv_openers *openers, enum clv_sriov_users which,
	struct clv_holders *ret);

/* Appends the processes of the machine that has the device itself, if one runs with it.
 * -ENOMEM */
int clv_sriov_find_machine(
	const struct clv_openers *openers, const char *address, struct clv_holders *ret);

/* -EBUSY, with the users in err, if the function is in use. */
int clv_sriov_check_unused(struct clv_sriov_backend *backend,
	const struct clv_node_device *device, uint32_t number, enum clv_sriov_users which,
	const char *what, struct clv_error *err);

/* Finds the open files of VFIO and render nodes, the openers argument of the functions
 * above.  -ENOMEM. */
int clv_sriov_find_openers(struct clv_openers *ret);

/* --- quota.c: the quotas of functions with xe and i915, also before they exist --- */

/* Reads the quotas that the driver shows; others are 0 or "". */
void clv_sriov_read_quota(const struct clv_node_device *device, uint32_t number,
	struct clv_vf_quota *quota);

enum clv_sriov_when {
	CLV_SRIOV_AHEAD, /* before functions exist: only quotas that may be set then */
	CLV_SRIOV_NOW,
};

/* Writes the numbers and the priority that are set in quota, and reads them back. */
int clv_sriov_write_quota(const struct clv_node_device *device, uint32_t number,
	const struct clv_vf_quota *quota, enum clv_sriov_when when, const char *what,
	struct clv_error *err);

/* Resets all quotas after the functions were removed, so that the driver provisions the
 * next ones automatically.  Errors are ignored. */
void clv_sriov_reset_quotas(const struct clv_node_device *device);

/* --- places.c: the files of those quotas --- */

struct clv_sriov_files {
	char (*items)[192]; /* owned; paths in sysfs, one for each tile or GT */
	size_t n;
	bool is_early; /* may be written before the functions exist */
};

/* Finds the files of the function with one of the names.  The caller frees ret->items.
 * -ENOMEM. */
int clv_sriov_find_files(const struct clv_node_device *device, uint32_t number,
	const char *const names[2], struct clv_sriov_files *ret);

/* The file that turns the driver's automatic provisioning on, "" if there is none. */
void clv_sriov_find_auto_switch(const struct clv_node_device *device, char ret[192]);

/* --- change.c --- */

/* The set_vf_quota member of the vtable. */
int clv_sriov_set_vf_quota(struct clv_backend *backend,
	const struct clv_node_device *device, uint32_t number,
	const struct clv_vf_quota *quota, struct clv_error *err);

/* -EINVAL if count functions cannot be created with the recorded quotas. */
int clv_sriov_check_wishes(const struct clv_sriov_backend *backend,
	const struct clv_node_device *device, uint32_t count, const char *what,
	struct clv_error *err);
/* Applies the recorded quotas to functions that have just been created, and forgets them.
 */
int clv_sriov_apply_requests(struct clv_sriov_backend *backend,
	const struct clv_node_device *device, struct clv_error *err);
/* Whether a recorded quota has a driver. */
bool clv_sriov_requests_driver(
	const struct clv_sriov_backend *backend, const struct clv_node_device *device);
void clv_sriov_clear_requests(
	struct clv_sriov_backend *backend, const struct clv_node_device *device);

/* --- vgpu.c --- */

/* Appends the types that the function offers now to backend->types and to the device's.
 * -ENOMEM. */
int clv_sriov_add_types(struct clv_sriov_backend *backend, const char *vf_address,
	struct clv_node_device *device);
/* Sets has_all_types and is_mixed, from the types that functions offer and have. */
void clv_sriov_classify_types(
	const struct clv_sriov_backend *backend, struct clv_vf_state *state);
/* Add the types of NVML (vgpu-types.h): the first to backend->types, to name the types
 * that functions have, the second to the device's types.  -ENOMEM. */
int clv_sriov_merge_nvml_types(
	struct clv_sriov_backend *backend, const struct clv_node_device *device);
int clv_sriov_add_recalled_types(struct clv_node_device *device);

/* The vGPU type of the function, "" for none, and the UUID of its mdev, or "". */
void clv_sriov_read_type(const struct clv_sriov_backend *backend,
	enum clv_vf_framework framework, const char *vf_address, char ret_type[48],
	char ret_mdev[40]);

/* Creates a vGPU of the type on an unused function, or with CLV_VGPU_NONE removes it.
 * type is a name (without the brand is enough) or an id.  A vGPU of another type is
 * removed first, and created again on error. */
int clv_sriov_set_type(struct clv_sriov_backend *backend, enum clv_vf_framework framework,
	const char *vf_address, const char *type, const char *what,
	struct clv_error *err);

/* --- bind.c --- */

/* Binds an unused function to the driver, which is loaded if necessary. */
int clv_sriov_bind(const struct clv_node_device *device, const char *vf_address,
	const char *driver, const char *what, struct clv_error *err);

/* --- count.c --- */

/* The set_vf_count member of the vtable. */
int clv_sriov_set_vf_count(struct clv_backend *backend,
	const struct clv_node_device *device, uint32_t count, struct clv_error *err);
