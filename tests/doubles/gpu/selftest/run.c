/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *server;
const char *test_folder;

void check(bool condition, const char *file, int line, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "%s:%d: %s\n", file, line, what);
	_exit(1);
}

void is(int expected, int code, const char *file, int line, const char *what)
{
	if (code != expected)
		fprintf(stderr, "got %d instead of %d\n", code, expected);
	check(code == expected, file, line, what);
}

void between(double low, double value, double high, const char *file, int line,
	const char *what)
{
	if (value < low || value > high)
		fprintf(stderr, "%g is not between %g and %g\n", value, low, high);
	check(value >= low && value <= high, file, line, what);
}

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void sleep_ms(unsigned ms)
{
	usleep(ms * 1000);
}

char *ask(const char *what)
{
	char command[512], *text = calloc(1, 1 << 20);
	FILE *from;

	snprintf(command, sizeof(command), "%s --ask %s %s", server, test_folder, what);
	from = popen(command, "r");
	CHECK(from && fread(text, 1, (1 << 20) - 1, from) > 0);
	pclose(from);
	return text;
}

long long stat_of(const char *line, const char *word)
{
	char *text = ask("stats"), *rest = NULL, pattern[64];
	long long number = -1;

	snprintf(pattern, sizeof(pattern), " %s ", word);
	for (char *l = strtok_r(text, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest)) {
		const char *at = strstr(l, pattern);

		if (strncmp(l, line, strlen(line)) != 0 || !at)
			continue;
		number = strtoll(at + strlen(pattern), NULL, 10);
		break;
	}
	free(text);
	return number;
}

/* --- Running --- */

void write_file(const char *name, const char *text)
{
	char path[256];
	FILE *to;

	snprintf(path, sizeof(path), "%s/%s", test_folder, name);
	to = fopen(path, "w");
	fputs(text, to);
	fclose(to);
}

static pid_t start_machine(void)
{
	int ready[2];
	char c;
	pid_t pid;

	if (pipe(ready) < 0)
		exit(1);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ready[1], 1);
		close(ready[0]);
		execl(server, server, test_folder, (char *)NULL);
		_exit(127);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		exit(1);
	close(ready[0]);
	return pid;
}

static bool run_case(const struct case_of_test *c, const struct test_vendor *vendor)
{
	char folder[] = "/tmp/gpu-double-XXXXXX", command[64];
	pid_t machine, pid;
	int status;

	test_folder = mkdtemp(folder);
	write_file(vendor->node_file, c->node ? c->node : vendor->node);
	write_file(vendor->options_file, c->options ? c->options : vendor->options);
	if (vendor->empty_file)
		write_file(vendor->empty_file, "");
	setenv(vendor->folder_variable, folder, 1);
	machine = start_machine();
	pid = fork();
	if (pid == 0) {
		alarm(20);
		c->run();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	kill(machine, SIGKILL);
	waitpid(machine, NULL, 0);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command) == 0 && status == 0;
}

int test_run(int argc, char **argv, const struct test_vendor *vendor,
	const struct case_of_test *const *all, size_t n_all)
{
	int n = 0, failed = 0;

	server = argc > 1 ? argv[1] : "";
	for (size_t i = 0; i < n_all; i++)
		for (const struct case_of_test *c = all[i]; c->name; c++) {
			bool good;

			if (argc > 2 && strcmp(argv[2], c->name) != 0)
				continue;
			good = run_case(c, vendor);
			failed += !good;
			printf("%s %d - %s\n", good ? "ok" : "not ok", ++n, c->name);
			fflush(stdout);
		}
	printf("1..%d\n", n);
	return failed != 0;
}
