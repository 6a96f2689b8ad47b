/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines on stderr for the programs' outermost layer.  Only a daemon without a journal
 * has a log file, which is bounded here and never rotated. */
#include "base/log.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX_BYTES (1 << 20)
#define FILE_KEPT_BYTES (FILE_MAX_BYTES / 2)

static int max_level = LOG_INFO;
static void (*sink)(
	int level, const char *line, const struct clv_log_field *fields, size_t n_fields);

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

void clv_log_set_sink(void (*wanted)(
	int level, const char *line, const struct clv_log_field *fields, size_t n_fields))
{
	sink = wanted;
}

/* Moves the newest lines to the beginning.  Processes that append to the same file
 * meanwhile can lose a line. */
static void cut_file(int fd, off_t n_bytes)
{
	char *kept = malloc(FILE_KEPT_BYTES);
	const char *first;
	ssize_t n;

	n = kept ? pread(fd, kept, FILE_KEPT_BYTES, n_bytes - FILE_KEPT_BYTES) : 0;
	first = n > 0 ? memchr(kept, '\n', (size_t)n) : NULL;
	if (ftruncate(fd, 0) == 0 && first) {
		n -= ++first - kept;
		n -= write(fd, first, (size_t)n);
	}
	free(kept);
}

void clv_log_to_bounded_file(
	int level, const char *line, const struct clv_log_field *fields, size_t n_fields)
{
	struct stat st;

	fprintf(stderr, "%s: %s\n", program_invocation_short_name, line);
	if (fstat(STDERR_FILENO, &st) == 0 && S_ISREG(st.st_mode) &&
		st.st_size > FILE_MAX_BYTES)
		cut_file(STDERR_FILENO, st.st_size);
}

bool clv_log_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uintmax_t device, inode;
	struct stat st;

	return stream && sscanf(stream, "%ju:%ju", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device &&
	       st.st_ino == inode;
}

static void __attribute__((format(printf, 4, 0)))
write_line(int level, const struct clv_log_field *fields, size_t n_fields,
	const char *format, va_list args)
{
	char line[1024];

	vsnprintf(line, sizeof(line), format, args);
	/* Arguments may come from untrusted users.  Replacing control characters keeps
	 * them from forging lines and from sending escape sequences to a terminal. */
	for (char *p = line; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	}
	if (sink)
		sink(level, line, fields, n_fields);
	else if (clv_log_is_journal())
		fprintf(stderr, "<%d>%s\n", level, line);
	else
		fprintf(stderr, "%s: %s\n", program_invocation_short_name, line);
}

int clv_log(int level, int r, const char *format, ...)
{
	va_list args;

	if (level > max_level)
		return r;

	va_start(args, format);
	write_line(level, NULL, 0, format, args);
	va_end(args);
	return r;
}

int clv_log_fields(int level, const struct clv_log_field *fields, size_t n_fields,
	const char *format, ...)
{
	va_list args;

	if (level > max_level)
		return 0;

	va_start(args, format);
	write_line(level, fields, n_fields, format, args);
	va_end(args);
	return 0;
}
