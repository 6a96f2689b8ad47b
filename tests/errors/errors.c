/* SPDX-License-Identifier: Apache-2.0 */
#include "errors.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SYMBOLS_MAX 512
#define CODES_MAX 8
#define DRAIN_MS 50
#define GIVE_BACK_MS 500

/* The lease's report page, as src/arbiter/page.h has it. */
#define SLOTS 1024
struct slot {
	_Atomic uint64_t entered, done, memory_bytes, times[3];
	_Atomic uint32_t waiting, pid;
	uint64_t busy_since_ns;
};

static struct {
	const char *symbol;
	unsigned n, n_taken, n_codes;
	int codes[CODES_MAX];
} tried[SYMBOLS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic unsigned n_worked;

static size_t find(const char *symbol)
{
	size_t i = 0;

	while (i < SYMBOLS_MAX - 1 && tried[i].symbol &&
		strcmp(tried[i].symbol, symbol) != 0)
		i++;
	tried[i].symbol = symbol;
	return i;
}

static void note_code(size_t i, int code)
{
	for (unsigned k = 0; k < tried[i].n_codes; k++) {
		if (tried[i].codes[k] == code)
			return;
	}
	if (tried[i].n_codes < CODES_MAX)
		tried[i].codes[tried[i].n_codes++] = code;
}

int errors_note(const char *symbol, int result)
{
	size_t i;

	pthread_mutex_lock(&lock);
	i = find(symbol);
	tried[i].n++;
	tried[i].n_taken += result == 0;
	if (result != 0)
		note_code(i, result);
	pthread_mutex_unlock(&lock);
	return result;
}

int errors_worked(int result)
{
	n_worked += result == 0;
	return result;
}

void errors_beyond(const char *symbol, int result)
{
	if (result == 0)
		printf("beyond %s\n", symbol);
}

void errors_strange(const char *what)
{
	printf("strange %s\n", what);
}

/* The last is the one that the process has itself: no child has its parent's. */
static struct slot *find_page(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long from, last = 0;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (strstr(line, "cleave-report") && sscanf(line, "%lx-", &from) == 1)
			last = from;
	}
	if (maps)
		fclose(maps);
	return (struct slot *)last;
}

static size_t find_slot(const struct slot *slots)
{
	size_t i = 0;

	while (i < SLOTS && slots[i].pid != (uint32_t)getpid())
		i++;
	return i;
}

static const struct timespec ms = {0, 1000000};

/* A driver may give back in its own time. */
static void await_given_back(const struct slot *slot)
{
	for (int n = 0; n < GIVE_BACK_MS && errors_given && slot->memory_bytes > 0 &&
			errors_given() == 0;
		n++)
		nanosleep(&ms, NULL);
}

static void await_drained(const struct slot *slot)
{
	for (int n = 0; n < DRAIN_MS && slot->entered != slot->done; n++)
		nanosleep(&ms, NULL);
}

/* Whether anything stands in it. */
static bool wait_for_line(void)
{
	bool is_empty = true;
	char byte = 0;

	fflush(stdout);
	for (;;) {
		if (read(0, &byte, 1) != 1)
			_exit(3);
		if (byte == '\n')
			return !is_empty;
		is_empty = false;
	}
}

/* Its slot, or one in which there is nothing. */
static struct slot *own_slot(uint64_t *ret_spilled)
{
	static struct slot none;
	struct slot *page = find_page();
	size_t i = page ? find_slot(page) : SLOTS;

	*ret_spilled = i < SLOTS ? ((uint64_t *)(page + SLOTS))[i] : 0;
	return i < SLOTS ? &page[i] : &none;
}

bool errors_is_drained(void)
{
	uint64_t spilled;
	struct slot *slot = own_slot(&spilled);

	return slot->entered == slot->done;
}

void errors_at(const char *where)
{
	uint64_t spilled;
	struct slot *slot = own_slot(&spilled);

	await_given_back(slot);
	printf("at %s %llu %llu %llu\n", where, (unsigned long long)slot->memory_bytes,
		(unsigned long long)spilled,
		(unsigned long long)(errors_given ? errors_given() : 0));
	wait_for_line();
	do {
		await_drained(slot);
		printf("drained %llu %llu %u\n", (unsigned long long)slot->entered,
			(unsigned long long)slot->done, n_worked);
	} while (wait_for_line());
}

static void say_tried(void)
{
	for (size_t i = 0; i < SYMBOLS_MAX && tried[i].symbol; i++) {
		printf("tried %s %u %u", tried[i].symbol, tried[i].n, tried[i].n_taken);
		for (unsigned k = 0; k < tried[i].n_codes; k++)
			printf(" %d", tried[i].codes[k]);
		printf("\n");
	}
}

static void serve(void (*run)(void))
{
	char byte;
	int status;

	while (read(0, &byte, 1) == 1) {
		pid_t child = fork();

		if (child == 0) {
			run();
			say_tried();
			fflush(stdout);
			exit(0);
		}
		printf("began %d\n", (int)child);
		fflush(stdout);
		waitpid(child, &status, 0);
		printf("ended %d\n", status);
		fflush(stdout);
	}
}

void errors_must(int result)
{
	if (result != 0) {
		fprintf(stderr, "the neighbour got %d\n", result);
		exit(1);
	}
}

void errors_in_thread(void *(*run)(void *unused))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL) == 0)
		pthread_join(thread, NULL);
}

static void be_neighbour(void)
{
	errors_program.begin();
	for (;;) {
		printf("stepped\n");
		wait_for_line();
		errors_program.step();
	}
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	if (argc > 1 && strcmp(argv[1], "neighbour") == 0)
		be_neighbour();
	serve(errors_program.run);
	return 0;
}
