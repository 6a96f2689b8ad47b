/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/resource/want.h"

#include <stdbool.h>
#include <stdint.h>

struct clv_error;

/* A container that has a share and memory of its own is told to us in two calls, which
 * name nothing but ids.  Kubelet admits one container after the other, so the two come
 * one behind the other: what was asked for first waits here for what is asked for next.
 * That they are of one container is not taken on trust: before the container starts, it
 * is looked up in what kubelet says that it has.  Pure. */
struct clv_kube_pair {
	struct clv_kube_want first;
	bool has_first, is_memory; /* of the first */
};

/* 1: *ret is the lease of both, to be cleared; 0: it is the first of two, and was kept;
 * an error: they are on different devices.  want is taken over in every case. */
int clv_kube_pair_take(struct clv_kube_pair *pair, struct clv_kube_want *want,
	bool is_memory, struct clv_kube_want *ret, struct clv_error *err);

/* The device that the other one should be of, or NULL. */
const char *clv_kube_pair_device(const struct clv_kube_pair *pair, bool is_memory);

void clv_kube_pair_clear(struct clv_kube_pair *pair);
