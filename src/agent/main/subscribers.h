/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;

/* Subscribes the agent's rooms to the notices of those below them. */
void clv_subscribers_add(struct clv_agent *agent);
