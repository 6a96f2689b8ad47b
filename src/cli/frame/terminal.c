/* SPDX-License-Identifier: Apache-2.0 */
/* What a stream can show. */
#include "cli/frame/terminal.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool clv_terminal_is_live(FILE *stream)
{
	const char *term = getenv("TERM");

	return isatty(fileno(stream)) && term && strcmp(term, "dumb") != 0;
}

bool clv_terminal_has_colours(FILE *stream)
{
	const char *no_color = getenv("NO_COLOR");

	return clv_terminal_is_live(stream) && !(no_color && no_color[0]);
}

int clv_terminal_width_of(FILE *stream)
{
	struct winsize size;

	if (!isatty(fileno(stream)))
		return 0;
	if (ioctl(fileno(stream), TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return 80;
	return size.ws_col;
}

int clv_terminal_width(void)
{
	return clv_terminal_width_of(stdout);
}

void clv_terminal_sanitize(char *text)
{
	clv_text_make_printable(text);
}
