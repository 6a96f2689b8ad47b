/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "objects.h"

/* Semaphores of other interfaces, and events that processes share (outside.c). */

/* Makes the node's own copy of the parameters; returns a CUresult. */
int dcu_semaphores_keep(struct semaphores_params *params);
int dcu_semaphores_wait(const struct semaphores_params *params, struct stream *stream);

int dcu_shared_event_new(struct shared_event **ret);
int dcu_shared_event_record(struct shared_event *shared, struct stream *stream);
int dcu_shared_event_wait(struct shared_event *shared, struct stream *stream);
bool dcu_shared_event_is_done(const struct shared_event *shared);
void dcu_shared_event_await(const struct shared_event *shared);
