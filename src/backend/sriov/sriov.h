/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/backend.h"
#include "backend/openers.h"
#include "backend/pci.h"

/* What a function is to have that does not exist yet.  A caller that knows what functions
 * are for says so before it has them made: then they are not bound to the host's driver
 * only to be unbound again, and share the device's memory as they are to. */
struct clv_sriov_wish {
	char address[CLV_PCI_ADDRESS_MAX]; /* of the physical function */
	uint32_t number;
	struct clv_vf_quota quota;
};

struct clv_sriov_backend {
	struct clv_backend base;
	struct clv_sriov_wish *wishes; /* owned */
	size_t n_wishes;
	/* All types of vGPU that were ever seen: NVIDIA's driver lists those that can be
	 * made now, and not the ones that functions have. */
	struct clv_vgpu_type *types; /* owned */
	size_t n_types;
};

/* --- backend.c --- */

/* Whether the function is one that this backend is for. */
bool clv_sriov_is_ours(const struct clv_pci *pci);

/* --- device.c --- */

/* Fills all but name and index.  -ENOMEM. */
int clv_sriov_read_device(struct clv_sriov_backend *backend, const struct clv_pci *pci,
	const struct clv_openers *openers, struct clv_node_device *ret);

/* --- framework.c --- */

/* Which path exists says who makes the functions usable. */
enum clv_vf_framework clv_sriov_detect(const struct clv_pci *pci);
/* Where NVIDIA's host driver has its program, or NULL without one.  Good until the next
 * call. */
const char *clv_sriov_manage(void);

/* --- function.c --- */

#define CLV_SRIOV_MAX 65535u /* PCI has 16 bits for their number */

/* The PCI address of the number-th function, or -ENODEV. */
int clv_sriov_address(
	const char *pf_address, uint32_t number, char ret[CLV_PCI_ADDRESS_MAX]);

/* How many functions there are now. */
uint32_t clv_sriov_count(const char *pf_address);

/* Fills the function of vf->number.  -ENOMEM, -ENODEV. */
int clv_sriov_read_function(struct clv_sriov_backend *backend,
	const struct clv_node_device *device, const struct clv_openers *openers,
	struct clv_vf *vf);
/* Moves it into the list.  -ENOMEM. */
int clv_sriov_add_function(struct clv_vf_state *state, const struct clv_vf *vf);

enum clv_sriov_users {
	CLV_SRIOV_PROCESSES, /* that run with it now */
	CLV_SRIOV_ALL_USERS, /* and whoever had a vGPU made of it */
};

/* -ENOMEM */
int clv_sriov_find_users(struct clv_sriov_backend *backend,
	const struct clv_node_device *device, const char *vf_address,
	const struct clv_openers *openers, enum clv_sriov_users which,
	struct clv_holders *ret);

/* -EBUSY, with who, if somebody uses the function. */
int clv_sriov_check_unused(struct clv_sriov_backend *backend,
	const struct clv_node_device *device, uint32_t number, enum clv_sriov_users which,
	const char *what, struct clv_error *err);

/* What the searches for users have to look for.  -ENOMEM. */
int clv_sriov_find_openers(struct clv_openers *ret);

/* --- quota.c: what xe and i915 keep for each function, also before it exists --- */

/* What the driver shows for the function; 0 and "" for what it does not. */
void clv_sriov_read_quota(const struct clv_node_device *device, uint32_t number,
	struct clv_vf_quota *quota);

enum clv_sriov_when {
	CLV_SRIOV_AHEAD, /* before there are functions: only what may be said then */
	CLV_SRIOV_NOW,
};

/* Writes the numbers and the priority that are said and reads them back. */
int clv_sriov_write_quota(const struct clv_node_device *device, uint32_t number,
	const struct clv_vf_quota *quota, enum clv_sriov_when when, const char *what,
	struct clv_error *err);

/* Unsets what is set for functions that are gone, so that the next are provisioned by the
 * driver again.  Best effort. */
void clv_sriov_forget_quotas(const struct clv_node_device *device);

/* --- places.c: where those drivers keep it --- */

struct clv_sriov_files {
	char (*items)[192]; /* owned; paths in sysfs, one for each part of the device */
	size_t n;
	bool is_early; /* may be said before the functions are made */
};

/* The files of the function that have one of the names.  -ENOMEM. */
int clv_sriov_find_files(const struct clv_node_device *device, uint32_t number,
	const char *const names[2], struct clv_sriov_files *ret);

/* The switch that gives the provisioning back to the driver, "" if there is none. */
void clv_sriov_find_auto_switch(const struct clv_node_device *device, char ret[192]);

/* --- change.c --- */

/* The member of the vtable. */
int clv_sriov_set_vf_quota(struct clv_backend *backend,
	const struct clv_node_device *device, uint32_t number,
	const struct clv_vf_quota *quota, struct clv_error *err);

/* Whether so many functions can be made with what was wished for. */
int clv_sriov_check_wishes(const struct clv_sriov_backend *backend,
	const struct clv_node_device *device, uint32_t count, const char *what,
	struct clv_error *err);
/* Gives functions that have just been made what was wished for before. */
int clv_sriov_grant_wishes(struct clv_sriov_backend *backend,
	const struct clv_node_device *device, struct clv_error *err);
/* Whether one of them is to be bound to a driver. */
bool clv_sriov_wishes_driver(
	const struct clv_sriov_backend *backend, const struct clv_node_device *device);
void clv_sriov_forget_wishes(
	struct clv_sriov_backend *backend, const struct clv_node_device *device);

/* --- vgpu.c --- */

/* Appends the types that the function offers now to backend->types and to the device's.
 * -ENOMEM. */
int clv_sriov_add_types(struct clv_sriov_backend *backend, const char *vf_address,
	struct clv_node_device *device);
/* From what functions offer and have: whether those are all types, and whether sizes may
 * mix. */
void clv_sriov_judge_types(
	const struct clv_sriov_backend *backend, struct clv_vf_state *state);
/* What NVIDIA's library knows besides: to name what functions have, and to be offered.
 * -ENOMEM. */
int clv_sriov_recall_types(
	struct clv_sriov_backend *backend, const struct clv_node_device *device);
int clv_sriov_add_recalled_types(struct clv_node_device *device);

/* The type that the function has, "" for none, and the mdev that is it (or ""). */
void clv_sriov_read_type(const struct clv_sriov_backend *backend,
	enum clv_vf_framework framework, const char *vf_address, char ret_type[48],
	char ret_mdev[40]);

/* By name (the brand may be left out) or id; CLV_VGPU_NONE takes the vGPU
 * away.  Nobody may be using it. */
int clv_sriov_set_type(struct clv_sriov_backend *backend, enum clv_vf_framework framework,
	const char *vf_address, const char *type, const char *what,
	struct clv_error *err);

/* --- bind.c --- */

/* Binds the function, which nobody uses, to the driver. */
int clv_sriov_bind(const struct clv_node_device *device, const char *vf_address,
	const char *driver, const char *what, struct clv_error *err);

/* --- count.c --- */

/* The member of the vtable. */
int clv_sriov_set_vf_count(struct clv_backend *backend,
	const struct clv_node_device *device, uint32_t count, struct clv_error *err);
