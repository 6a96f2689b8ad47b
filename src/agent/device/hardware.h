/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"
#include "core/device/reading.h"
#include "core/plan/plan.h"

#include <stdint.h>

struct clv_agent;
struct clv_error;

/* The agent's side of the worker (agent/device/worker.h): questions wait in line, a
 * worker is started for the first and stays until it hangs, crashes or is idle for long.
 * Loop thread only. */
struct clv_hardware;

int clv_hardware_new(
	struct clv_agent *agent, struct clv_hardware **ret, struct clv_error *err);
struct clv_hardware *clv_hardware_free(struct clv_hardware *hardware);

/* Has the drivers asked, unless they are being asked already for somebody who came just
 * before.  Returns the number of the survey that will answer; CLV_TOPIC_HARDWARE is woken
 * when it has. */
uint64_t clv_hardware_survey(struct clv_hardware *hardware);
/* Asks now what would wait for the loop's next turn. */
void clv_hardware_begin(struct clv_hardware *hardware);
/* The number of the last survey that was answered, well or not. */
uint64_t clv_hardware_surveyed(const struct clv_hardware *hardware);
/* What it said; borrowed until the next one.  A failed survey leaves an empty node with
 * the reason among its problems. */
struct clv_node *clv_hardware_node(struct clv_hardware *hardware);

/* The same for a caller who waits for it: done is called once, from the loop, when the
 * survey is answered. */
typedef void (*clv_hardware_fn)(void *userdata, const struct clv_error *err);
void clv_hardware_ask(
	struct clv_hardware *hardware, clv_hardware_fn done, void *userdata);

/* Carries out one step on the device of this UUID.  done is called once, from the loop,
 * with 0 or a negative errno and the reason; the node has the device as it was read
 * after. */
void clv_hardware_step(struct clv_hardware *hardware, const char *uuid,
	const struct clv_step *step, clv_hardware_fn done, void *userdata);
/* A step has changed the numbers that programs know devices by, or is about to, and no
 * survey has read them since: see agent/ledger/renumbering.h. */
bool clv_hardware_is_renumbering(const struct clv_hardware *hardware);
/* And the number of this device is one of those. */
struct clv_agent_device;
bool clv_hardware_is_renumbering_device(
	const struct clv_agent *agent, const struct clv_agent_device *device);

#define CLV_CGROUP_FOLDER_MAX 1280
/* Has the driver of the device hold a cgroup's memory on it, by the path of its folder;
 * UINT64_MAX: as much as there is.  done may be NULL. */
void clv_hardware_limit(struct clv_hardware *hardware, const char *uuid,
	const char *cgroup, uint64_t bytes, clv_hardware_fn done, void *userdata);

/* Has the drivers asked what each device does and how it is, unless they are being asked
 * something already: readings are no reason to let anybody wait.  False: they are; else
 * done is called once, as above, and clv_hardware_readings() has the answer. */
bool clv_hardware_sample(
	struct clv_hardware *hardware, clv_hardware_fn done, void *userdata);
/* Borrowed until the next one. */
const struct clv_readings *clv_hardware_readings(const struct clv_hardware *hardware);

/* Whoever asked is gone: nothing is called for him any more. */
void clv_hardware_forget(struct clv_hardware *hardware, const void *userdata);

/* Devices may still come: the drivers are asked for them, or at the start of the agent
 * for their partitions.  The latter is waited for only so long, for a driver that hangs
 * must not hide the devices of others. */
bool clv_hardware_awaits_devices(const struct clv_agent *agent);
