/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"
#include "text.h"
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_RULES 256

static const char *const actions[SY_ACTION_MAX] = {
	[SY_PROCEED] = "",
	[SY_FAIL] = "fail",
	[SY_FAIL_AFTER] = "fail-after",
	[SY_IGNORE] = "ignore",
	[SY_KILL] = "kill",
	[SY_KILL_AFTER] = "kill-after",
	[SY_DELAY] = "delay",
};

static struct rule {
	char operation[16], glob[256];
	unsigned long first, last, seen;
	enum sy_action action;
	int error;
	uint64_t delay_ms;
} rules[MOST_RULES];
static size_t n_rules;
static char path[512];
static struct stat was;

const char *sy_action_name(enum sy_action action)
{
	return actions[action];
}

void sy_faults_init(const char *control)
{
	sy_print(path, sizeof(path), "%s/faults", control);
}

static void set_action(struct rule *rule, const char *name, const char *argument)
{
	uint64_t ms = 0;
	int action = SY_FAIL;

	while (action < SY_ACTION_MAX && strcmp(actions[action], name) != 0)
		action++;
	if (action == SY_ACTION_MAX)
		sy_die("faults: no such action: %s", name);
	rule->action = (enum sy_action)action;
	rule->error = sy_error_number(argument);
	if ((action == SY_FAIL || action == SY_FAIL_AFTER) && !rule->error)
		sy_die("faults: no such error: '%s'", argument);
	if (action == SY_DELAY && sy_parse(argument, 3600000, &ms) < 0)
		sy_die("faults: no number of milliseconds: '%s'", argument);
	rule->delay_ms = ms;
}

static void set_nth(struct rule *rule, const char *nth)
{
	char *end;

	rule->first = strtoul(nth, &end, 10);
	rule->last = strcmp(end, "+") == 0 ? ~0UL : rule->first;
	if (strcmp(nth, "*") == 0) {
		rule->first = 1;
		rule->last = ~0UL;
		return;
	}
	if (!rule->first || (*end && strcmp(end, "+") != 0))
		sy_die("faults: which ones are '%s'?", nth);
}

static void read_line(const char *line)
{
	struct rule *rule = &rules[n_rules];
	char nth[16], action[16], argument[32] = "";
	int fields;

	*rule = (struct rule){0};
	fields = sscanf(line, "%15s %255s %15s %15s %31s", rule->operation, rule->glob,
		nth, action, argument);
	if (fields < 1 || rule->operation[0] == '#')
		return;
	if (fields < 4 || n_rules + 1 == MOST_RULES)
		sy_die("faults: cannot read: %s", line);
	set_nth(rule, nth);
	set_action(rule, action, argument);
	n_rules++;
}

static void refresh(void)
{
	struct stat now = {0};
	char line[512];
	FILE *file;

	if (stat(path, &now) < 0)
		now = (struct stat){0};
	if (now.st_ino == was.st_ino && now.st_mtim.tv_sec == was.st_mtim.tv_sec &&
		now.st_mtim.tv_nsec == was.st_mtim.tv_nsec)
		return;
	was = now;
	n_rules = 0;
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		read_line(line);
	if (file)
		fclose(file);
}

static void apply(const struct rule *rule, struct sy_fault *fault)
{
	if (rule->action == SY_DELAY) {
		fault->delay_ms += rule->delay_ms;
	} else if (fault->action == SY_PROCEED) {
		fault->action = rule->action;
		fault->error = rule->error;
	}
}

struct sy_fault sy_fault_for(const char *operation, const char *what)
{
	struct sy_fault fault = {0};

	refresh();
	for (size_t i = 0; i < n_rules; i++) {
		struct rule *rule = &rules[i];

		if (strcmp(rule->operation, operation) != 0 ||
			fnmatch(rule->glob, what, 0) != 0)
			continue;
		rule->seen++;
		if (rule->seen >= rule->first && rule->seen <= rule->last)
			apply(rule, &fault);
	}
	return fault;
}
