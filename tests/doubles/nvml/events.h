/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "state.h"

/* What befalls a GPU.  Each changes the copy that is given. */

/* Its pending mode becomes its mode, and all instances are gone. */
void dnv_event_reset(const struct dnv_node *node, struct dnv_state *state, unsigned gpu);

/* Of the whole node. */
void dnv_event_reboot(const struct dnv_node *node, struct dnv_state *state);
