/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"
#include "../vendor.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RULES_MAX 64
#define FOREVER (-1)
#define HANG (-1)
#define ANY "*"

static struct rule {
	char symbol[64];    /* ANY */
	long to_pass, left; /* to_pass may be FOREVER */
	int what;           /* HANG */
} rules[RULES_MAX];
static int n_rules;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_watched;
static char path[4096];
static struct timespec read_at;

static void look_for_file(void)
{
	const char *folder = getenv(DGP_FOLDER);

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/" DGP_VENDOR "-faults", folder);
	is_watched = access(path, F_OK) == 0;
}

/* COUNT, or SKIP+COUNT. */
static void read_count(struct rule *rule, const char *text)
{
	const char *plus = strchr(text, '+'), *count = plus ? plus + 1 : text;

	rule->to_pass = plus ? strtol(text, NULL, 0) : 0;
	rule->left = strcmp(count, "*") == 0 ? FOREVER : strtol(count, NULL, 0);
}

static void read_rule(char *line)
{
	struct rule *rule = &rules[n_rules];
	char count[16], what[16], extra;

	if (line[0] == '#' || line[0] == '\n')
		return;
	if (n_rules == RULES_MAX || sscanf(line, "%63s %15s %15s %c", rule->symbol, count,
					    what, &extra) != 3) {
		fprintf(stderr, DGP_VENDOR "-faults: cannot read '%s'\n", line);
		abort();
	}
	read_count(rule, count);
	rule->what = strcmp(what, "hang") == 0 ? HANG : (int)strtol(what, NULL, 0);
	n_rules++;
}

/* A rewritten file restarts the counts. */
static void read_rules(void)
{
	struct stat st;
	char line[256];
	FILE *from;

	if (stat(path, &st) < 0) {
		n_rules = 0;
		return;
	}
	if (st.st_mtim.tv_sec == read_at.tv_sec && st.st_mtim.tv_nsec == read_at.tv_nsec)
		return;
	read_at = st.st_mtim;
	n_rules = 0;
	from = fopen(path, "re");
	while (from && fgets(line, sizeof(line), from))
		read_rule(line);
	if (from)
		fclose(from);
}

static bool is_meant(const struct rule *rule, const char *symbol)
{
	return strcmp(rule->symbol, symbol) == 0 || strcmp(rule->symbol, ANY) == 0;
}

static int take(const char *symbol)
{
	for (int i = 0; i < n_rules; i++) {
		if (!is_meant(&rules[i], symbol) || !rules[i].left)
			continue;
		if (rules[i].to_pass > 0) {
			rules[i].to_pass--;
			continue;
		}
		rules[i].left -= rules[i].left > 0;
		return rules[i].what;
	}
	return 0;
}

int dgp_fault_due(const char *symbol)
{
	int what;

	pthread_once(&once, look_for_file);
	if (!is_watched)
		return 0;
	pthread_mutex_lock(&lock);
	read_rules();
	what = take(symbol);
	pthread_mutex_unlock(&lock);
	while (what == HANG)
		pause();
	return what;
}
