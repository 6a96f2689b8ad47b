/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#define CLV_SIM_UUID_TEXT 37

/* The UUID of a name in a namespace, version 5 of RFC 9562.  At most 200 bytes of the
 * name are used. */
void clv_sim_uuid(const uint8_t space[16], const char *name, char ret[CLV_SIM_UUID_TEXT]);

/* The namespace of the UUIDs of simulated devices and partitions. */
extern const uint8_t clv_sim_uuid_space[16];
