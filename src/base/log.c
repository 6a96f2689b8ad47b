/* SPDX-License-Identifier: Apache-2.0 */
/* Lines on stderr for the programs' outermost layer.  No files, no rotation: the journal
 * or the shell does that better. */
#include "base/log.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int max_level = LOG_INFO;

void clv_log_set_level(int level)
{
	max_level = level;
}

void clv_log_set_level_from_env(void)
{
	static const struct {
		const char *name;
		int level;
	} levels[] = {
		{"debug", LOG_DEBUG},
		{"info", LOG_INFO},
		{"notice", LOG_NOTICE},
		{"warning", LOG_WARNING},
		{"error", LOG_ERR},
	};
	const char *wanted = getenv("CLEAVE_LOG");

	for (size_t i = 0; wanted && i < CLV_ARRAY_SIZE(levels); i++) {
		if (strcmp(levels[i].name, wanted) == 0)
			max_level = levels[i].level;
	}
}

int clv_log(int level, int r, const char *format, ...)
{
	char line[1024];
	va_list args;

	if (level > max_level)
		return r;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (getenv("JOURNAL_STREAM"))
		fprintf(stderr, "<%d>%s\n", level, line);
	else
		fprintf(stderr, "%s: %s\n", program_invocation_short_name, line);
	return r;
}
