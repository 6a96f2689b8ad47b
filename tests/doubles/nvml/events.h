/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "state.h"

/* Events of a GPU. Each changes the given copy. */

/* The pending mode becomes the mode, and all instances are destroyed. */
void dnv_event_reset(const struct dnv_node *node, struct dnv_state *state, unsigned gpu);

/* For the whole node. */
void dnv_event_reboot(const struct dnv_node *node, struct dnv_state *state);
