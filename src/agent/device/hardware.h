/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"
#include "core/device/reading.h"
#include "core/plan/plan.h"

#include <stdint.h>

struct clv_agent;
struct clv_error;

/* The agent's side of the worker (agent/driver/worker.h): a queue of questions.  A worker
 * is started for the first one and runs until it hangs, crashes or is idle for a minute.
 * Loop thread only. */
struct clv_hardware;

int clv_hardware_new(
	struct clv_agent *agent, struct clv_hardware **ret, struct clv_error *err);
struct clv_hardware *clv_hardware_free(struct clv_hardware *hardware);

/* Requests a survey, or joins one that has not been sent yet.  Returns its number;
 * CLV_TOPIC_HARDWARE is published when it is answered. */
uint64_t clv_hardware_survey(struct clv_hardware *hardware);
/* Has the drivers close the device at this PCI address, so that another driver can take
 * it, and not open it for two minutes, or until it is reopened.  It is closed when the
 * survey of the number that is stored is answered, unless the drivers could not open the
 * others without it; the node is without it meanwhile.  -ENOSPC: too many are closed. */
int clv_hardware_close(struct clv_hardware *hardware, const char *pci_address,
	uint64_t *ret_survey, struct clv_error *err);
/* Ends this, if the device is closed. */
void clv_hardware_reopen(struct clv_hardware *hardware, const char *pci_address);
bool clv_hardware_is_closed(const struct clv_hardware *hardware, const char *pci_address);
/* The same for the whole device of this device or partition; false where its driver keeps
 * no device open, and shows it still. */
struct clv_agent_device;
bool clv_hardware_is_closed_device(
	const struct clv_agent *agent, const struct clv_agent_device *device);
/* Why it is not closed, after it was to be; NULL: it is. */
const char *clv_hardware_why_open(
	const struct clv_hardware *hardware, const char *pci_address);
/* Sends the first question now and not in the loop's next iteration. */
void clv_hardware_flush(struct clv_hardware *hardware);
/* The number of the last survey that was answered, successfully or not. */
uint64_t clv_hardware_last_survey(const struct clv_hardware *hardware);
/* The node of the last survey, borrowed until the next one.  A failed survey leaves an
 * empty node with the reason among its problems. */
struct clv_node *clv_hardware_node(struct clv_hardware *hardware);

/* Requests a survey of its own for a caller that waits: done is called once, from the
 * loop, when it is answered. */
typedef void (*clv_hardware_fn)(void *userdata, const struct clv_error *err);
void clv_hardware_survey_for(
	struct clv_hardware *hardware, clv_hardware_fn done, void *userdata);

/* Carries out one step on the device of this UUID.  done is called once, from the loop,
 * with 0 or a negative errno and the reason.  The node then has the device as it was read
 * after the step. */
void clv_hardware_step(struct clv_hardware *hardware, const char *uuid,
	const struct clv_step *step, clv_hardware_fn done, void *userdata);
/* Whether a step, queued or carried out, may have changed the numbers by which programs
 * identify devices, and no survey has read them since: see agent/lifecycle/renumbering.h.
 */
bool clv_hardware_is_renumbering(const struct clv_hardware *hardware);
/* The same for one device: false if programs do not identify it by number. */
bool clv_hardware_is_renumbering_device(
	const struct clv_agent *agent, const struct clv_agent_device *device);

#define CLV_CGROUP_FOLDER_MAX 1280
/* Has the device's driver limit the memory of a cgroup, given by the path of its folder;
 * UINT64_MAX removes the limit.  done may be NULL. */
void clv_hardware_limit(struct clv_hardware *hardware, const char *uuid,
	const char *cgroup, uint64_t bytes, clv_hardware_fn done, void *userdata);

/* Requests readings of all devices, unless questions are queued, which readings must not
 * delay.  False: nothing was requested.  Else done is called once, as above, and
 * clv_hardware_readings() has the result. */
bool clv_hardware_sample(
	struct clv_hardware *hardware, clv_hardware_fn done, void *userdata);
/* The readings of the last sample, borrowed until the next one. */
const struct clv_readings *clv_hardware_readings(const struct clv_hardware *hardware);

/* Drops the callbacks of queued questions that have this userdata. */
void clv_hardware_cancel(struct clv_hardware *hardware, const void *userdata);

/* Whether more devices may appear: the probe is running, or the first survey has not been
 * answered.  The wait for the survey is bounded, because a driver that hangs must not
 * hide the devices of other drivers. */
bool clv_hardware_awaits_devices(const struct clv_agent *agent);
