/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_error;
struct clv_kube;
struct clv_kube_settings;

/* The status file of the settings, which the loop writes each second for the probes of a
 * pod.  It says since when, by the monotonic clock, and what is not registered. */

/* Writes the file if the settings name one.  Loop thread only. */
int clv_kube_status_write(const struct clv_kube *kube, struct clv_error *err);

enum clv_kube_probe {
	CLV_KUBE_NO_PROBE,
	CLV_KUBE_ALIVE, /* the loop runs */
	CLV_KUBE_READY, /* and kubelet has registered all that is served */
};

/* Reads the file, in another process.  Returns 0, or a negative errno with the reason. */
int clv_kube_status_probe(const struct clv_kube_settings *settings,
	enum clv_kube_probe probe, struct clv_error *err);
