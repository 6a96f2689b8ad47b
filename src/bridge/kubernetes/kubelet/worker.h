/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"

#include <systemd/sd-event.h>

struct clv_error;

/* A thread that calls the agent, so that the event loop answers kubelet while the agent
 * divides a device.  Jobs run in order, one at a time. */
struct clv_kube_worker;
struct clv_kube_lease_sync;

struct clv_kube_job {
	struct clv_kube_job *next; /* used by the worker */
	/* Runs in the worker's thread. */
	void (*run)(struct clv_kube_job *job, struct clv_kube_lease_sync *sync);
	/* Runs in the loop's thread after that, and frees the job. */
	void (*done)(struct clv_kube_job *job);
};

/* sync is borrowed; only jobs may use it. */
int clv_kube_worker_new(sd_event *event, struct clv_kube_lease_sync *sync,
	struct clv_kube_worker **ret, struct clv_error *err);
/* Waits until all submitted jobs are done.  Accepts NULL; returns NULL. */
struct clv_kube_worker *clv_kube_worker_free(struct clv_kube_worker *worker);

void clv_kube_worker_submit(struct clv_kube_worker *worker, struct clv_kube_job *job);
