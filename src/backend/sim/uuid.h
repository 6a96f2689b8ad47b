/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#define CLV_SIM_UUID_TEXT 37

/* The UUID that the name has in the namespace: version 5, RFC 9562.  At most 200 bytes of
 * name. */
void clv_sim_uuid(const uint8_t space[16], const char *name, char ret[CLV_SIM_UUID_TEXT]);

/* What this backend names its devices and their parts in. */
extern const uint8_t clv_sim_uuid_space[16];
