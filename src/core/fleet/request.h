/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/share/share.h"

#include <stdbool.h>
#include <stdint.h>

/* A request to a fleet.  Plain data, owned by the caller.
 *
 * Units: processors in thousandths (milli), memory of the node and of devices in MiB,
 * compute in thousandths of a device. */

#define CLV_PLACE_WHOLE 1000u    /* thousandths of a device */
#define CLV_PLACE_MODELS_MAX 64  /* models of devices in a fleet, as bits */
#define CLV_PLACE_DEVICES_MAX 64 /* devices of one node, as bits */
#define CLV_PLACE_ANY_MODEL UINT64_C(0)

/* The placement of the leases of one group relative to each other. */
enum clv_place_rule {
	CLV_PLACE_FREE,     /* anywhere */
	CLV_PLACE_TOGETHER, /* all of the group on one node */
	CLV_PLACE_APART,    /* no two of the group on one node */
	CLV_PLACE_SPREAD,   /* on a node with the fewest of the group */
	CLV_PLACE_ONE_RACK, /* all of the group in one rack */
	_CLV_PLACE_RULE_MAX,
};

struct clv_place_request {
	uint64_t models;     /* bitmap of the accepted models, or CLV_PLACE_ANY_MODEL */
	uint32_t cpu_milli;  /* of the node */
	uint32_t memory_mib; /* of the node */
	uint32_t device_mib; /* memory of each device */
	uint16_t milli;      /* compute of each device, at most CLV_PLACE_WHOLE */
	uint8_t n_devices;   /* 0: only processors and memory of the node */
	uint8_t scheme;      /* of the profile: 1 + its index in the fleet */
	uint8_t profile; /* 1 + its index in the scheme, with n_devices 1; 0: a share */
	bool same_numa;  /* all devices on one NUMA node */
	bool same_link;  /* all devices joined by NVLink */
	bool alone_in_class; /* not on a device with a lease of the same class */
	enum clv_class class;
	/* The fields below do not affect the score of a node. */
	enum clv_place_rule rule;
	uint32_t group; /* 0: none */
	uint16_t rack;  /* on nodes of this rack only; 0: of any */
};
