/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *read_all(int fd, size_t bytes)
{
	char *text = malloc(bytes + 1);
	size_t done = 0;

	while (text && done < bytes) {
		ssize_t n = read(fd, text + done, bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (text)
		text[done] = '\0';
	return text;
}

char *dnv_text_read(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *text = NULL;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0)
		text = read_all(fd, (size_t)st.st_size);
	close(fd);
	return text;
}

static void split(char *text, struct dnv_line *line)
{
	char *rest = NULL;

	text[strcspn(text, "#")] = '\0';
	line->n_words = 0;
	for (char *word = strtok_r(text, " \t\r", &rest); word;
		word = strtok_r(NULL, " \t\r", &rest)) {
		if (line->n_words == DNV_WORDS_MAX)
			break;
		line->words[line->n_words++] = word;
	}
	line->words[line->n_words] = NULL;
}

bool dnv_text_next(char **text, struct dnv_line *line)
{
	while (*text && **text) {
		char *start = *text, *end = strchr(start, '\n');

		if (end)
			*end = '\0';
		*text = end ? end + 1 : NULL;
		line->number++;
		split(start, line);
		if (line->n_words)
			return true;
	}
	return false;
}

bool dnv_text_number(const char *word, uint64_t none, uint64_t max, uint64_t *ret)
{
	char *end;

	if (!word || !*word)
		return false;
	if (strcmp(word, "-") == 0) {
		*ret = none;
		return true;
	}
	errno = 0;
	*ret = strtoull(word, &end, 0);
	return *word >= '0' && *word <= '9' && !*end && !errno && *ret <= max;
}

void dnv_text_die(const char *file, const struct dnv_line *line)
{
	fprintf(stderr, "cleave-double-nvml: %s: cannot read line %d, '%s ...'\n", file,
		line->number, line->words[0]);
	abort();
}
