/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a whole input file without parsing it: the agent validates layouts, src/import
 * the files of other tools. */
#include "cli/frame/input.h"

#include "base/cleanup.h"
#include "cli/frame/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int fail(const char *path, int errnum)
{
	return clv_cli_fail(CLV_EXIT_NO_INPUT,
		"cannot read %s: %s: name a file, or - for standard input", path,
		strerror(errnum));
}

/* Messages show the path as the user gave it, and only the end of a long path, which the
 * agent does too. */
static void set_name(const char *path, char *ret, size_t ret_bytes)
{
	size_t length = strlen(path);

	if (strcmp(path, "-") == 0)
		path = "stdin";
	else if (length >= ret_bytes)
		path += length - ret_bytes + 1;
	/* Do not begin inside a UTF-8 character. */
	while ((*path & 0xc0) == 0x80)
		path++;
	snprintf(ret, ret_bytes, "%s", path);
}

static int read_all(
	FILE *stream, const char *path, size_t max_bytes, struct clv_input *ret)
{
	_cleanup_free_ char *text = malloc(max_bytes + 2);
	struct stat st;
	size_t n;

	if (!text)
		return fail(path, ENOMEM);
	if (fstat(fileno(stream), &st) == 0 && S_ISDIR(st.st_mode))
		return fail(path, EISDIR);
	n = fread(text, 1, max_bytes + 1, stream);
	if (ferror(stream))
		return fail(path, errno);
	if (n > max_bytes)
		return clv_cli_fail(CLV_EXIT_BAD_FILE,
			"%s is larger than %zu %s: check that it is the right file", path,
			max_bytes >> (max_bytes < 1u << 20 ? 10 : 20),
			max_bytes < 1u << 20 ? "KiB" : "MiB");

	text[n] = '\0';
	*ret = (struct clv_input){.text = CLV_TAKE(text), .n_bytes = n};
	set_name(path, ret->name, sizeof(ret->name));
	return 0;
}

int clv_input_read(const char *path, size_t max_bytes, struct clv_input *ret)
{
	FILE *stream = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	int r;

	if (!stream)
		return fail(path, errno);
	r = read_all(stream, path, max_bytes, ret);
	if (stream != stdin)
		fclose(stream);
	return r;
}

void clv_input_clear(struct clv_input *input)
{
	free(input->text);
	input->text = NULL;
}
