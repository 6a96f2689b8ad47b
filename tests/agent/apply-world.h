/* SPDX-License-Identifier: Apache-2.0 */
/* A world with operations and the kept layout, and the events of apply-rows.h in it. */
#pragma once

struct clv_agent_device;
struct clv_node;
struct clv_operation;

int apply_begin(void **state);
int apply_end(void **state);

extern struct clv_agent_device *part; /* gpu0/1g.5gb@0; some rows remove it */

/* The node as the drivers showed it last. */
struct clv_node *node(void);
/* The last operation; NULL: there is none. */
struct clv_operation *last(void);
void next_agent(void);
void happens(char letter);
