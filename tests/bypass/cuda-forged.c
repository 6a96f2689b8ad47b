/* SPDX-License-Identifier: Apache-2.0 */
/* Every call that the gate wraps, with invalid arguments: where the driver returns an
 * error the gate must not crash or hang.  The names come from standard input; each crash
 * and each hang is printed as a line. */
#include "cuda.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMES_MAX 1024
#define SECONDS_EACH 2

typedef int call(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
	uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static char names[NAMES_MAX][64];
static volatile int *at; /* the index of the call in progress */

static uint64_t argument_of(const char *pattern)
{
	static uint64_t nothing[4096];

	if (strcmp(pattern, "ones") == 0)
		return UINT64_MAX;
	if (strcmp(pattern, "nothing") == 0)
		return (uint64_t)(uintptr_t)nothing;
	return 0;
}

static void call_from(int first, int n_names, const char *pattern)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	uint64_t a = argument_of(pattern);
	handle context;

	gpu_open();
	for (int i = first; i < n_names; i++) {
		call *function = (call *)(uintptr_t)dlsym(driver, names[i]);

		*at = i;
		alarm(SECONDS_EACH);
		if (function)
			function(a, a, a, a, a, a, a, a, a, a, a, a, a);
		alarm(SECONDS_EACH);
		OK(cuDevicePrimaryCtxRetain(&context, 0));
		OK(cuCtxSetCurrent(context));
	}
	_exit(0);
}

static int forged(char **arguments)
{
	int n = 0, status;

	while (n < NAMES_MAX && scanf("%63s", names[n]) == 1)
		n++;
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return 1;
	for (*at = -1; *at + 1 < n;) {
		pid_t pid = fork();

		if (pid == 0)
			call_from(*at + 1, n, arguments[0]);
		waitpid(pid, &status, 0);
		if (WIFEXITED(status))
			break;
		way_say("%s %s\n", WTERMSIG(status) == SIGALRM ? "hang" : "crash",
			names[*at]);
	}
	way_say("called %d of %d\n", *at + 1, n);
	return 0;
}

const struct way way_forged[] = {
	{"forged", forged},
	{NULL, NULL},
};
