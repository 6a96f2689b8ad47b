/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/layout/layout.h"
#include "core/plan/plan.h"

#include <stdbool.h>

/* Nodes and plans as short texts, for tests of the planner.
 *
 * A node has a line per device. The first word is a model of the tables, VF, CPU, or
 * anything else for a device that cannot be divided; the other words:
 *
 *   on pending reset forgets     MIG: the mode is on; a change is pending; it needs a
 *                                reset; it is lost at a reboot
 *   guest                        a virtual machine that may not reset the device
 *   absent                       the device certainly has no MIG
 *   1g.5gb@4                     an instance, then "~" if it is incomplete, or its parts:
 *   3g.20gb@0(1c@0!a+1c@1)       "!a" is the lease a that holds it, "!a,b" two
 *   CPX/NPS4                     the modes of an AMD GPU; SPX/NPS1 by default
 *   hive=h offers=NPS1,NPS4 asked=NPS4 modes=SPX,CPX
 *   vf=2 total=8 counts=1,2,4 memory=16G each=4G type=T types=T,U
 *   vgpus                        functions are all or none, and get types:
 *   types=A:12,B vgpu=2:A        the types, at most 12 of A; the second function has A
 *   unlisted mixed               not all types are listed; sizes may mix
 *   cores=8 cores:2@0=0-1!a
 *   #3!a                         the third accelerator (from 0) or function (from 1)
 *   !a                           the device as a whole
 *   name=N uuid=U pci=P model=M vendor=V why=W     ("_" is a blank)
 *
 * Devices are called gpu0, gpu1, ... and GPU-0, GPU-1, ... */
void plan_node(const char *text, struct clv_node *ret);

/* Parses "version: 1\ndevices:\n" and these rules, so that the first is in line 3. */
void plan_layout(const char *rules, struct clv_layout *ret);

/* The parts of a plan text, by letters: s steps, b obstacles, k kept partitions, h
 * shares, w warnings, y the reasons of steps and obstacles. */
#define PLAN_ALL "sbkhwy"

/* Returns the plan, a line each:
 *
 *   turn on MIG of gpu0 (idle reset) gpu0     what it needs, and what it affects
 *   block gpu0/1g.5gb@4 a b                   holders
 *   keep gpu0/1g.5gb@4
 *   share gpu0/1g.5gb@4/1 250000 0 0 normal   share, cap, memory
 *   warn TEXT
 *   error -22 TEXT                            alone, if there is no plan
 *
 * Caller frees. */
char *plan_text(const struct clv_node *node, const char *rules, const char *show);
char *plan_to_text(
	const struct clv_node *node, const struct clv_plan *plan, const char *show);

/* Removes the lease from all its holdings. */
void plan_end_lease(struct clv_node *node, const char *lease);
