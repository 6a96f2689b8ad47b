/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the parts of unit files that a drop-in needs, and writes the drop-in. */
#include "bridge/systemd/dropin.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t"
#define PREFIXES "-+!:|"

static void forget_commands(struct clv_unit *unit)
{
	while (unit->n_commands > 0)
		free(unit->commands[--unit->n_commands]);
}

void clv_unit_free(struct clv_unit *unit)
{
	forget_commands(unit);
}

static int add_command(struct clv_unit *unit, const char *value, struct clv_error *err)
{
	char *copy;

	if (value[0] == '\0') {
		forget_commands(unit);
		return 0;
	}
	if (unit->n_commands == CLV_UNIT_COMMANDS_MAX)
		return clv_error_set(err, -E2BIG,
			"the service has more than %d ExecStart lines",
			CLV_UNIT_COMMANDS_MAX);
	copy = strdup(value);
	if (!copy)
		return clv_error_errno(err, ENOMEM, "cannot read the unit");
	unit->commands[unit->n_commands++] = copy;
	return 0;
}

static int set_value(
	struct clv_unit *unit, const char *key, const char *value, struct clv_error *err)
{
	if (strcmp(key, "ExecStart") == 0)
		return add_command(unit, value, err);
	if (strcmp(key, "Type") == 0)
		snprintf(unit->type, sizeof(unit->type), "%s", value);
	if (strcmp(key, "NotifyAccess") == 0)
		snprintf(unit->notify_access, sizeof(unit->notify_access), "%s", value);
	return 0;
}

/* Reads a line and advances *text.  Lines that end with a backslash are continued;
 * comments between continued lines are skipped.  False: end of the text. */
static bool next_line(const char **text, char *ret, size_t ret_bytes)
{
	size_t used = 0;
	bool goes_on = true;

	if (**text == '\0')
		return false;
	ret[0] = '\0';
	while (goes_on && **text) {
		size_t n = strcspn(*text, "\n"), blanks = strspn(*text, BLANKS);
		const char *line = *text;

		*text += n + (line[n] == '\n');
		if (used > 0 && (line[blanks] == '#' || line[blanks] == ';'))
			continue;
		goes_on = n > 0 && line[n - 1] == '\\';
		used += (size_t)snprintf(ret + used, ret_bytes - used, "%.*s%s",
			(int)(n - goes_on), line, goes_on ? " " : "");
		if (used >= ret_bytes)
			used = ret_bytes - 1;
	}
	return true;
}

static void trim(char *text)
{
	size_t n = strlen(text);

	while (n > 0 && strchr(BLANKS "\r", text[n - 1]))
		text[--n] = '\0';
	memmove(text, text + strspn(text, BLANKS),
		strlen(text + strspn(text, BLANKS)) + 1);
}

int clv_unit_read(struct clv_unit *unit, const char *text, struct clv_error *err)
{
	_cleanup_free_ char *line = malloc(strlen(text) + 2);
	bool is_service = false;
	int r = 0;

	if (!line)
		return clv_error_errno(err, ENOMEM, "cannot read the unit");
	while (r >= 0 && next_line(&text, line, strlen(text) + 2)) {
		char *value;

		trim(line);
		if (line[0] == '\0' || line[0] == '#' || line[0] == ';')
			continue;
		if (line[0] == '[') {
			is_service = strcmp(line, "[Service]") == 0;
			continue;
		}
		value = strchr(line, '=');
		if (!value)
			return clv_error_set(err, -EINVAL,
				"'%.60s' is not a line of a unit file", line);
		*value++ = '\0';
		trim(line);
		trim(value);
		if (is_service)
			r = set_value(unit, line, value, err);
	}
	return r;
}

static int check(const struct clv_unit *unit, struct clv_error *err)
{
	if (unit->n_commands == 0)
		return clv_error_set(err, -ENOTSUP,
			"the service has no ExecStart, so there is no program to run in "
			"a "
			"lease");
	if (strcmp(unit->type, "forking") == 0 || strcmp(unit->type, "dbus") == 0)
		return clv_error_set(err, -ENOTSUP,
			"the first process of a service of Type=%s may end before the "
			"service: let its program stay in the foreground, and set "
			"Type=exec",
			unit->type);
	for (size_t i = 0; i < unit->n_commands; i++) {
		const char *command = unit->commands[i];

		if (command[strspn(command, PREFIXES)] == '@')
			return clv_error_set(err, -ENOTSUP,
				"ExecStart gives the program another name (@), which "
				"cannot be passed on: remove the @ and the name");
		if (strstr(command, "cleave run"))
			return clv_error_set(err, -EEXIST,
				"ExecStart has cleave run already: remove it first");
	}
	return 0;
}

int clv_unit_drop_in(
	const struct clv_unit *unit, const char *run, char **ret, struct clv_error *err)
{
	size_t n_bytes;
	FILE *to;
	int r = check(unit, err);

	if (r < 0)
		return r;
	to = open_memstream(ret, &n_bytes);
	if (!to)
		return clv_error_errno(err, ENOMEM, "cannot write the drop-in");
	fprintf(to, "# Written by cleave systemd.\n[Unit]\nWants=cleaved.service\n"
		    "After=cleaved.service\n\n[Service]\nExecStart=\n");
	for (size_t i = 0; i < unit->n_commands; i++) {
		const char *command = unit->commands[i];
		size_t n = strspn(command, PREFIXES);

		fprintf(to, "ExecStart=%.*s%s %s\n", (int)n, command, run, command + n);
	}
	/* The program that notifies systemd is a child of the service's main process. */
	if (strncmp(unit->type, "notify", 6) == 0 &&
		strcmp(unit->notify_access, "all") != 0)
		fprintf(to, "NotifyAccess=all\n");
	if (fclose(to) != 0)
		return clv_error_errno(err, ENOMEM, "cannot write the drop-in");
	return 0;
}
