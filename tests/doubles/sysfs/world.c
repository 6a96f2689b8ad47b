/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"
#include "driver.h"
#include "holders.h"
#include "readings.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct sy_world sy_world;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool is_ending;

void sy_lock(void)
{
	bool has_changed;

	pthread_mutex_lock(&lock);
	has_changed = sy_holders_refresh();
	if (sy_readings_refresh() || has_changed)
		sy_world.has_changed = true;
}

void sy_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void sy_end_waits(void)
{
	atomic_store(&is_ending, true);
}

void sy_pause(uint64_t ms)
{
	const struct timespec step = {.tv_nsec = 5000000};

	for (uint64_t passed = 0; passed < ms && !atomic_load(&is_ending); passed += 5)
		nanosleep(&step, NULL);
}

bool sy_wait(void)
{
	sy_unlock();
	sy_pause(10);
	sy_lock();
	return !atomic_load(&is_ending);
}

struct sy_function *sy_next(struct sy_function *f)
{
	struct sy_function *pf;

	if (!f)
		return sy_world.n_functions ? sy_world.functions : NULL;
	pf = sy_pf(f);
	if (f->vf < pf->totalvfs)
		return &pf->vfs[f->vf];
	pf++;
	return pf < sy_world.functions + sy_world.n_functions ? pf : NULL;
}

struct sy_function *sy_pf(struct sy_function *f)
{
	return f->physfn ? f->physfn : f;
}

struct sy_function *sy_function_find(const char *bdf)
{
	for (struct sy_function *f = NULL; (f = sy_next(f));) {
		if (f->is_present && sy_same(bdf, f->bdf))
			return f;
	}
	return NULL;
}

bool sy_is_native(const struct sy_function *f)
{
	return f->driver[0] && strcmp(f->driver, f->home_driver) == 0;
}

/* The kernel assigns the lowest free number. */
uint64_t sy_free_group(void)
{
	uint64_t number = 1;
	bool is_taken;

	do {
		is_taken = false;
		for (struct sy_function *f = NULL; (f = sy_next(f));)
			is_taken = is_taken || (f->is_present && f->group == number);
		for (struct sy_mdev *m = sy_world.mdevs; m; m = m->next)
			is_taken = is_taken || m->group == number;
		number += is_taken;
	} while (is_taken);
	return number;
}

static void free_mdevs(void)
{
	struct sy_mdev *next;

	for (struct sy_mdev *m = sy_world.mdevs; m; m = next) {
		next = m->next;
		free(m);
	}
	sy_world.mdevs = NULL;
}

static void clear(struct sy_function *f)
{
	f->is_present = !f->physfn;
	f->numvfs = f->group = 0;
	f->autoprobe = 1;
	f->driver[0] = f->driver_override[0] = '\0';
	if (f->family->power_on)
		f->family->power_on(f);
}

static void join_group(struct sy_function *f)
{
	struct sy_function *other =
		f->group_with[0] ? sy_function_find(f->group_with) : NULL;

	if (f->group_with[0] && (!other || !other->group))
		sy_die("%s: group_with %s, which is no function before it", f->bdf,
			f->group_with);
	f->group = other ? other->group : sy_free_group();
}

void sy_world_power_on(void)
{
	free_mdevs();
	for (struct sy_function *f = NULL; (f = sy_next(f));)
		clear(f);
	for (struct sy_function *f = NULL; (f = sy_next(f));) {
		if (f->is_present)
			join_group(f);
	}
	sy_drivers_boot();
	sy_world.has_changed = true;
}

void sy_world_reboot(void)
{
	sy_world.kfd_generation = 0;
	sy_world_power_on();
}
