/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "../wire.h"
#include <pthread.h>
#include <stdbool.h>

/* A slot of this process, and what goes through it. */

/* What commands have in common that know the default stream: of one context. */
struct order {
	pthread_mutex_t lock;
	uint64_t last, last_legacy;
};

/* Commands wake the helper when they have done something to memory. */
extern _Atomic bool dgp_memory_is_watched;

/* Takes a slot for a context's number; -1 where none is free. */
int dgp_slot_open(uint32_t context, uint32_t flags, int priority);
/* It is free again when all that is in it is done. */
void dgp_slot_close(int slot);

/* Appends the command and stores its number.  Blocks while the slot is full. */
int dgp_push(int slot, struct order *order, struct dgp_cmd *cmd, uint64_t *ret_seq);

/* Commands of the slot up to `seq` are done, and what they did to memory is to be seen.
 * dgp_await returns a CUresult, for the machine may go. */
bool dgp_is_done(int slot, uint64_t seq);
int dgp_await(int slot, uint64_t seq);
uint64_t dgp_slot_tail(int slot);

/* The number that stands for a name in commands. */
uint16_t dgp_name(const char *name);
