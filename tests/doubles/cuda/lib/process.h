/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "../link.h"
#include "abi.h"
#include <pthread.h>

/* This process and the machine: the link, the memory they share, and the GPUs that
 * CUDA_VISIBLE_DEVICES leaves. */

struct device {
	uint32_t gpu; /* the machine's number */
	struct dcu_gpu_info info;
	struct ctx *primary;
	uint32_t primary_refs, primary_flags;
	pthread_mutex_t lock;
};

extern struct dcu_area *dcu_area;
extern struct device dcu_devices[DCU_GPUS_MAX];
extern int dcu_n_devices;
extern uint32_t dcu_version, dcu_number, dcu_host_mb_s, dcu_device_mb_s;
extern _Atomic bool dcu_initialized, dcu_forked;

int dcu_process_init(void);

/* Sends the message and waits for its answer; returns the answer's result. */
int dcu_request(struct dcu_message *message);
/* With a file each way: -1 where there is none. */
int dcu_request_file(struct dcu_message *message, int send, int *ret_fd);

/* Has the machine look at what there is. */
void dcu_ring(void);

/* Sleeps while *word is value, half a second at most. */
void dcu_sleep_on(_Atomic uint32_t *word, uint32_t value);
bool dcu_machine_lives(void);
uint64_t dcu_clock(void);

/* The memfd that is this process's device memory. */
int dcu_arena(void);
struct device *dcu_device_at(int ordinal);
