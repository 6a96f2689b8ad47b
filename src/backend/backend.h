/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device.h"

#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* A backend speaks to one kind of device.  Its calls may block for as long as a driver
 * does, so the agent makes them in a process of their own or on a worker, never on its
 * loop. */
#define CLV_BACKEND_ABI 1u

struct clv_backend {
	const struct clv_backend_ops *ops;
};

struct clv_device_list {
	struct clv_device *items; /* owned */
	size_t n_items;
};

struct clv_backend_ops {
	uint32_t abi;
	const char *name;
	/* Mandatory.  Finds the vendor's library; -ENODEV with the reason if there is
	 * none. */
	int (*probe)(struct clv_backend **ret, struct clv_error *err);
	/* Mandatory.  Appends the devices; names (gpu0...) are given by the caller. */
	int (*enumerate)(struct clv_backend *backend, struct clv_device_list *ret,
		struct clv_error *err);
	/* Mandatory. */
	void (*free)(struct clv_backend *backend);
};

extern const struct clv_backend_ops clv_backend_opencl;
