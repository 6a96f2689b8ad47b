/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Users of devices, and faulty conditions: the files "holders" and "conditions" of the
 * control folder. A line is
 *
 *   KIND SUBJECT [PID [BYTES [UNITS]]]
 *
 * UNITS are compute units with work of the process. The subject is a PCI address, a UUID,
 * a module or * for all. A line whose process is gone does not count; a line without a
 * process counts as long as it is in the file. */
enum sy_holding {
	SY_HOLDS_KFD,      /* holders: a process that uses the compute driver */
	SY_HOLDS_DRM,      /* ... has a card or render node open */
	SY_HOLDS_VFIO,     /* ... has the function open through VFIO */
	SY_HOLDS_MDEV,     /* ... has the mediated device open */
	SY_HOLDS_NVIDIA,   /* ... uses the GPU through NVIDIA's driver */
	SY_HOLDS_MODULE,   /* ... keeps a module from being removed */
	SY_KFD_INIT_FAILS, /* conditions: the next switch ends in EIO, its effect stays */
	SY_IN_RESET,       /* ... the GPU is in the middle of a reset */
	SY_PROBE_FAILS,    /* ... no driver can be bound to the function */
	SY_HOLDING_MAX,
};

struct sy_holder {
	enum sy_holding kind;
	char subject[64];
	pid_t pid;
	uint64_t bytes;
	unsigned units;
};

void sy_holders_init(const char *control);
/* True if the set of live lines has changed since the last call. */
bool sy_holders_refresh(void);
bool sy_held(enum sy_holding kind, const char *subject);
/* Live lines of this kind for this subject, one after the other; NULL after the last. */
const struct sy_holder *sy_holder_next(
	enum sy_holding kind, const char *subject, const struct sy_holder *after);
