/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/share/share.h"

#include <stdbool.h>
#include <stdint.h>

/* What somebody asks a fleet for.  Plain values, owned by whoever made them.
 *
 * Units: processors in thousandths (milli), the node's memory and the devices' in MiB,
 * compute in thousandths of a device. */

#define CLV_PLACE_WHOLE 1000u    /* thousandths of a device */
#define CLV_PLACE_MODELS_MAX 64  /* kinds of device in a fleet: a bit each */
#define CLV_PLACE_DEVICES_MAX 64 /* devices of one node: a bit each */
#define CLV_PLACE_ANY_MODEL UINT64_C(0)

/* How the leases of one group lie to each other. */
enum clv_place_rule {
	CLV_PLACE_FREE,     /* anywhere */
	CLV_PLACE_TOGETHER, /* all of the group on one node */
	CLV_PLACE_APART,    /* no two of the group on one node */
	CLV_PLACE_SPREAD,   /* on a node with as few of the group as there are */
	_CLV_PLACE_RULE_MAX,
};

struct clv_place_request {
	uint64_t models; /* a bit for each model that will do, or CLV_PLACE_ANY_MODEL */
	uint32_t cpu_milli;  /* of the node */
	uint32_t memory_mib; /* of the node */
	uint32_t device_mib; /* memory of each device */
	uint16_t milli;      /* compute of each device, at most CLV_PLACE_WHOLE */
	uint8_t n_devices;   /* 0: the node's processors and memory alone */
	uint8_t scheme;      /* of the profile: 1 + its index in the fleet */
	uint8_t profile; /* 1 + its index in the scheme; 0: a share.  n_devices is 1 then
			  */
	bool same_numa;  /* all devices on one NUMA node */
	bool alone_in_class; /* on no device that has a lease of the same class */
	enum clv_class class;
	/* What is below does not change how a node is scored. */
	enum clv_place_rule rule;
	uint32_t group; /* 0: none */
};
