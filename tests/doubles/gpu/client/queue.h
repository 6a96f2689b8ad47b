/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "../wire.h"
#include <pthread.h>
#include <stdbool.h>

/* A slot of this process, and its commands. */

/* State shared by the commands of one context that are ordered with the default
 * stream. */
struct order {
	pthread_mutex_t lock;
	uint64_t last, last_legacy;
};

/* Commands wake the helper when they have an effect on memory. */
extern _Atomic bool dgp_memory_is_watched;

/* Takes a slot for a context's number; -1 where none is free. */
int dgp_slot_open(uint32_t context, uint32_t flags, int priority);
/* The slot is free again when all its commands are complete. */
void dgp_slot_close(int slot);

/* Appends the command and stores its number.  Blocks while the slot is full. */
int dgp_push(int slot, struct order *order, struct dgp_cmd *cmd, uint64_t *ret_seq);

/* Commands of the slot up to `seq` are complete, and their effects on memory visible.
 * dgp_await returns a CUresult, because the machine may end. */
bool dgp_is_done(int slot, uint64_t seq);
int dgp_await(int slot, uint64_t seq);
uint64_t dgp_slot_tail(int slot);

/* Returns the number of a name in commands. */
uint16_t dgp_name(const char *name);
