/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"
#include "text.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct rule {
	bool every, onwards; /* any call; this one and all later ones */
	int function;        /* -1: any */
	uint64_t nth;
	struct dnv_fault fault;
};

static const char *const names[] = {
#define NAME(name, parameters, arguments) #name,
	DNV_ALL(NAME)
#undef NAME
};

const char *dnv_function_name(enum dnv_function function)
{
	return names[function];
}

static bool read_function(const char *word, struct rule *rule)
{
	rule->function = -1;
	if (strcmp(word, "*") == 0)
		return true;
	for (int i = 0; i < _DNV_FUNCTION_MAX; i++)
		if (strcmp(names[i], word) == 0)
			rule->function = i;
	return rule->function >= 0;
}

static bool read_nth(char *word, struct rule *rule)
{
	size_t last = strlen(word) - 1;

	if (strcmp(word, "*") == 0) {
		rule->every = true;
		return true;
	}
	if (word[last] == '+') {
		rule->onwards = true;
		word[last] = '\0';
	}
	return dnv_text_number(word, 0, UINT32_MAX, &rule->nth) && rule->nth > 0;
}

/* Parses the words of the effect, and returns their number. */
static int read_kind(char *const *words, struct dnv_fault *fault)
{
	uint64_t code;
	char *end;

	if (strcmp(words[0], "kill") == 0) {
		fault->kind = DNV_FAULT_KILL;
		return 1;
	}
	if (strcmp(words[0], "hang") != 0) {
		fault->kind = DNV_FAULT_CODE;
		if (!dnv_text_number(words[0], UINT64_MAX, 999, &code))
			return 0;
		fault->code = (int)code;
		return 1;
	}
	fault->kind = DNV_FAULT_HANG;
	fault->seconds = -1;
	if (!words[1])
		return 1;
	fault->seconds = strtod(words[1], &end);
	if (end != words[1] && !*end)
		return 2;
	fault->seconds = -1;
	return 1;
}

static bool read_when(const char *word, struct dnv_fault *fault)
{
	static const char *const whens[] = {
		[DNV_FAULT_BEFORE] = "before",
		[DNV_FAULT_DURING] = "during",
		[DNV_FAULT_AFTER] = "after",
	};

	if (!word)
		return true;
	for (int i = 0; i < 3; i++) {
		if (strcmp(whens[i], word) != 0)
			continue;
		fault->when = (enum dnv_fault_when)i;
		return i != DNV_FAULT_DURING || fault->kind == DNV_FAULT_KILL;
	}
	return false;
}

static bool read_rule(const struct dnv_line *line, struct rule *rule)
{
	int n;

	*rule = (struct rule){0};
	if (line->n_words < 3 || !read_function(line->words[0], rule) ||
		!read_nth(line->words[1], rule))
		return false;
	n = 2 + read_kind(line->words + 2, &rule->fault);
	return n > 2 && n >= line->n_words - 1 && read_when(line->words[n], &rule->fault);
}

/* A rewritten file restarts the counts. */
static void notice_version(int dirfd, struct dnv_counters *counters)
{
	uint64_t version[4] = {0};
	struct stat st;

	if (fstatat(dirfd, "faults", &st, 0) == 0) {
		version[0] = (uint64_t)st.st_ino;
		version[1] = (uint64_t)st.st_size;
		version[2] = (uint64_t)st.st_mtim.tv_sec * 1000000000 +
			     (uint64_t)st.st_mtim.tv_nsec;
		version[3] = (uint64_t)st.st_ctim.tv_sec * 1000000000 +
			     (uint64_t)st.st_ctim.tv_nsec;
	}
	if (memcmp(version, counters->faults_file, sizeof(version)) == 0)
		return;
	memcpy(counters->faults_file, version, sizeof(version));
	memset(counters->fault_hits, 0, sizeof(counters->fault_hits));
}

static bool is_due(const struct rule *rule, uint64_t hits)
{
	return rule->every || hits == rule->nth || (rule->onwards && hits > rule->nth);
}

struct dnv_fault dnv_fault_due(
	int dirfd, struct dnv_counters *counters, enum dnv_function function)
{
	struct dnv_fault due = {0};
	struct dnv_line line = {0};
	struct rule rule;
	char *text, *rest;

	notice_version(dirfd, counters);
	text = rest = dnv_text_read(dirfd, "faults");
	for (int i = 0; dnv_text_next(&rest, &line); i++) {
		if (i == DNV_FAULTS_MAX || !read_rule(&line, &rule))
			dnv_text_die("faults", &line);
		if (rule.function >= 0 && rule.function != (int)function)
			continue;
		counters->fault_hits[i]++;
		if (!due.kind && is_due(&rule, counters->fault_hits[i]))
			due = rule.fault;
	}
	free(text);
	return due;
}
