/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the bench workload, and the relay for a workload of several processes:
 * each line from the referee goes to all children, and one line of answer is printed when
 * all have answered.  The relay itself never uses OpenCL, so only the children attach. */
#include "tenant.h"
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES_MAX = 16, LINE = 128 };

struct child {
	pid_t pid;
	FILE *to, *from;
};

static const struct option long_options[] = {
	{"log", required_argument, NULL, 'l'},
	{"mode", required_argument, NULL, 'm'},
	{"kernel", required_argument, NULL, 'k'},
	{"depth", required_argument, NULL, 'd'},
	{"gap", required_argument, NULL, 'g'},
	{"request", required_argument, NULL, 'r'},
	{"hz", required_argument, NULL, 'z'},
	{"burst", required_argument, NULL, 'b'},
	{"idle", required_argument, NULL, 'i'},
	{"idle-at", required_argument, NULL, 'a'},
	{"out-of-order", no_argument, NULL, 'o'},
	{"processes", required_argument, NULL, 'p'},
	{"seed", required_argument, NULL, 's'},
	{"cal", required_argument, NULL, 'c'},
	{"calibrate", no_argument, NULL, 'C'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static const char usage_text[] =
	"usage: tenant [--mode deep|sync|gaps|request|bursts] [--kernel US[,US...]]\n"
	"  [--log FILE] [--depth N] [--gap US] [--request US --hz N] [--burst US --idle "
	"US]\n"
	"  [--idle-at MS,FOR_MS] [--out-of-order] [--processes N] [--seed N]\n"
	"  [--cal BASE_NS,LOOPS_PER_US] | --calibrate\n";

static uint32_t parse_number(const char *text, uint32_t min, uint32_t max)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || end == text || value < min || value > max) {
		fprintf(stderr, "tenant: %s is not a number from %u to %u\n", text, min,
			max);
		exit(64);
	}
	return (uint32_t)value;
}

static void parse_kernels(struct tenant_options *opt, char *text)
{
	char *save = NULL;

	opt->kernels = 0;
	for (char *p = strtok_r(text, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		if (opt->kernels == TENANT_KERNELS_MAX)
			break;
		opt->kernel_us[opt->kernels++] = parse_number(p, 1, 4000000);
	}
	if (!opt->kernels || strtok_r(NULL, ",", &save)) {
		fprintf(stderr, "tenant: --kernel takes 1 to %d lengths\n",
			TENANT_KERNELS_MAX);
		exit(64);
	}
}

/* Two numbers, separated by a comma. */
static void parse_pair(char *text, const char *what, double *ret_a, double *ret_b)
{
	if (sscanf(text, "%lf,%lf", ret_a, ret_b) != 2) {
		fprintf(stderr, "tenant: %s takes two numbers, A,B\n", what);
		exit(64);
	}
}

static void parse_timing(struct tenant_options *opt, int c)
{
	double a = 0, b = 0;

	switch (c) {
	case 'g':
		opt->gap_us = parse_number(optarg, 0, 10000000);
		break;
	case 'r':
		opt->request_us = parse_number(optarg, 1, 10000000);
		break;
	case 'z':
		opt->hz = parse_number(optarg, 1, 100000);
		break;
	case 'b':
		opt->burst_us = parse_number(optarg, 1, 10000000);
		break;
	case 'i':
		opt->idle_us = parse_number(optarg, 1, 10000000);
		break;
	case 'a':
		parse_pair(optarg, "--idle-at", &a, &b);
		opt->idle_at_ms = (uint32_t)a;
		opt->idle_for_ms = (uint32_t)b;
		break;
	case 'c':
		parse_pair(optarg, "--cal", &a, &b);
		opt->cal.base_ns = (uint64_t)a;
		opt->cal.loops_per_us = b;
		break;
	default:
		fputs(usage_text, c == 'h' ? stdout : stderr);
		exit(c == 'h' ? 0 : 64);
	}
}

/* Returns 1 if only a calibration is wanted. */
static int parse_options(int argc, char **argv, struct tenant_options *opt)
{
	int c, mode;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (c) {
		case 'l':
			opt->log = optarg;
			break;
		case 'm':
			mode = tenant_mode_parse(optarg);
			if (mode < 0)
				parse_timing(opt, '?');
			opt->mode = (enum tenant_mode)mode;
			break;
		case 'k':
			parse_kernels(opt, optarg);
			break;
		case 'd':
			opt->depth = parse_number(optarg, 1, TENANT_DEPTH_MAX);
			break;
		case 'o':
			opt->out_of_order = 1;
			break;
		case 'p':
			opt->processes = (int)parse_number(optarg, 1, PROCESSES_MAX);
			break;
		case 's':
			opt->seed = parse_number(optarg, 0, 1000000);
			break;
		case 'C':
			return 1;
		default:
			parse_timing(opt, c);
		}
	}
	return 0;
}

static void spawn(const struct tenant_options *opt, struct child *child, int process)
{
	int to[2], from[2];

	if (pipe(to) || pipe(from))
		bench_die("pipe", errno);
	fflush(NULL);
	child->pid = fork();
	if (child->pid < 0)
		bench_die("fork", errno);

	if (child->pid == 0) {
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		for (int fd = 3; fd < 3 + 4 * PROCESSES_MAX; fd++)
			close(fd);
		exit(tenant_main(opt, process));
	}
	close(to[0]);
	close(from[1]);
	child->to = fdopen(to[1], "w");
	child->from = fdopen(from[0], "r");
	if (!child->to || !child->from)
		bench_die("fdopen", errno);
}

/* Reads one answer from each child and prints their common one; numbers behind the first
 * word are added up. */
static void collect(struct child *children, int n)
{
	char line[LINE], word[LINE] = "gone";
	unsigned long long sum = 0, value;

	for (int i = 0; i < n; i++) {
		value = 0;
		if (!fgets(line, sizeof(line), children[i].from))
			exit(1);
		if (sscanf(line, "%127s %llu", word, &value) < 1)
			exit(1);
		sum += value;
	}
	if (strcmp(word, "ready") == 0)
		sum = (unsigned long long)getpid();
	printf("%s %llu\n", word, sum);
	fflush(stdout);
}

static int relay(const struct tenant_options *opt)
{
	struct child children[PROCESSES_MAX];
	char line[LINE];

	for (int i = 0; i < opt->processes; i++)
		spawn(opt, &children[i], i);
	collect(children, opt->processes);
	while (fgets(line, sizeof(line), stdin)) {
		for (int i = 0; i < opt->processes; i++) {
			fputs(line, children[i].to);
			fflush(children[i].to);
		}
		if (strncmp(line, "quit", 4) == 0)
			break;
		collect(children, opt->processes);
	}
	for (int i = 0; i < opt->processes; i++) {
		fclose(children[i].to);
		waitpid(children[i].pid, NULL, 0);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct tenant_options opt = {
		.mode = TENANT_DEEP,
		.kernel_us = {1000},
		.kernels = 1,
		.request_us = 2000,
		.hz = 20,
		.burst_us = 20000,
		.idle_us = 10000,
		.processes = 1,
	};
	uint32_t shortest_us = UINT32_MAX;

	if (parse_options(argc, argv, &opt))
		return tenant_calibrate();

	/* "deep" means about 10 ms of work in the queue, whatever the kernels' length. */
	for (int i = 0; i < opt.kernels; i++)
		if (opt.kernel_us[i] < shortest_us)
			shortest_us = opt.kernel_us[i];
	if (!opt.depth)
		opt.depth = 10000 / shortest_us < 8 ? 8 : 10000 / shortest_us;
	if (opt.depth > TENANT_DEPTH_MAX)
		opt.depth = TENANT_DEPTH_MAX;
	if (opt.mode == TENANT_REQUESTS && opt.request_us / opt.kernel_us[0] > opt.depth)
		opt.depth = opt.request_us / opt.kernel_us[0];
	return opt.processes > 1 ? relay(&opt) : tenant_main(&opt, 0);
}
