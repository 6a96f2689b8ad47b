/* SPDX-License-Identifier: Apache-2.0 */
/* A ticket is the number of a place and how often that place has been used, so successive
 * tickets of a place differ.  No vendor limits the number of callbacks, so places are
 * limited by memory only: each block is as large as all earlier ones together and
 * FIRST_SIZE. */
#include "gate/process/tickets.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define PLACE_BITS 30 /* 24 GiB of places */
#define FIRST_BITS 8
#define FIRST_SIZE (1u << FIRST_BITS)
#define N_BLOCKS (PLACE_BITS - FIRST_BITS)
#define N_PLACES ((FIRST_SIZE << N_BLOCKS) - FIRST_SIZE)

struct place {
	void *what; /* NULL: free */
	uintptr_t n_given;
	uint32_t next_free; /* 1 + its number; 0: none */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct place *blocks[N_BLOCKS];
static uint32_t n_places, first_free;

static uint32_t block_of(uint32_t number)
{
	return 31 - FIRST_BITS - (uint32_t)__builtin_clz(number + FIRST_SIZE);
}

static struct place *place_at(uint32_t number)
{
	uint32_t block = block_of(number);

	return &blocks[block][number + FIRST_SIZE - (FIRST_SIZE << block)];
}

/* Returns 1 + the number of a free place; 0: there is none. */
static uint32_t take_free(void)
{
	uint32_t taken = first_free;
	struct place **block;

	if (taken > 0) {
		first_free = place_at(taken - 1)->next_free;
		return taken;
	}
	if (n_places == N_PLACES)
		return 0;
	block = &blocks[block_of(n_places)];
	if (!*block)
		*block = calloc((size_t)FIRST_SIZE << (block - blocks), sizeof(**block));
	return *block ? ++n_places : 0;
}

void *clv_ticket_new(void *what)
{
	uintptr_t ticket = 0;
	uint32_t taken;

	pthread_mutex_lock(&lock);
	taken = take_free();
	if (taken > 0) {
		struct place *place = place_at(taken - 1);

		place->what = what;
		place->n_given++;
		ticket = place->n_given << PLACE_BITS | (taken - 1);
	}
	pthread_mutex_unlock(&lock);
	return (void *)ticket;
}

void *clv_ticket_take(const void *ticket)
{
	uint32_t number = (uint32_t)((uintptr_t)ticket & ((1u << PLACE_BITS) - 1));
	void *what = NULL;

	pthread_mutex_lock(&lock);
	if (number < n_places) {
		struct place *place = place_at(number);

		if (place->n_given << PLACE_BITS == ((uintptr_t)ticket ^ number))
			what = place->what;
		if (what) {
			place->what = NULL;
			place->next_free = first_free;
			first_free = number + 1;
		}
	}
	pthread_mutex_unlock(&lock);
	return what;
}

void clv_tickets_forget_parent(void)
{
	pthread_mutex_init(&lock, NULL);
}
