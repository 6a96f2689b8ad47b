/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "../link.h"

/* The connection of this process to the machine: the link, and the shared memory.
 * Functions that return an int return 0 or an error of the vendor's API; these errors
 * have the same numbers in all of them. */

#define DGP_OUT_OF_MEMORY 2
#define DGP_NO_DEVICE 100
#define DGP_UNKNOWN 999

extern struct dgp_area *dgp_area;
/* The machine's answer to the process's hello. */
extern struct dgp_hello dgp_hello;
/* A child has a copy of its parent's memory and none of its GPUs. */
extern _Atomic bool dgp_connected, dgp_forked;

/* Opens the link to the machine whose folder the environment names; once per process. */
int dgp_connect(void);

/* Sends the message and waits for its answer; returns the answer's result. */
int dgp_request(struct dgp_message *message);
/* The same with a file in each direction: -1 for none. */
int dgp_request_file(struct dgp_message *message, int send, int *ret_fd);

/* Makes the machine read the rings. */
void dgp_ring(void);

/* Sleeps while *word is value, for half a second at most. */
void dgp_sleep_on(_Atomic uint32_t *word, uint32_t value);
void dgp_sleep_for(_Atomic uint32_t *word, uint32_t value, uint64_t ns);
void dgp_wake_word(_Atomic uint32_t *word);
bool dgp_machine_lives(void);
uint64_t dgp_clock(void);

/* The memfd that is this process's device memory. */
int dgp_arena(void);
