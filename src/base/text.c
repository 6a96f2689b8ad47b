/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted text: UTF-8, printable characters, lists. */
#include "base/text.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Decodes one UTF-8 character and advances *at; 0 if it is malformed. */
static uint32_t next_character(const unsigned char **at)
{
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
	const unsigned char *p = *at;
	unsigned n_more = p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 1 : p[0] < 0xf0 ? 2 : 3;
	uint32_t c = n_more ? p[0] & (0x3fu >> n_more) : p[0];

	(*at)++;
	if ((p[0] >= 0x80 && p[0] < 0xc0) || p[0] >= 0xf8)
		return 0;
	for (unsigned i = 1; i <= n_more; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3fu);
	}
	*at += n_more;
	return c < least[n_more] ? 0 : c;
}

/* These change the order in which a terminal shows the rest of the line. */
static bool is_bidi_control(uint32_t c)
{
	return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* Printable on one line and in YAML or JSON that cleave writes: no control characters,
 * line separators, surrogates, byte order mark, U+FFFE or U+FFFF. */
static bool is_printable(uint32_t c)
{
	if (is_bidi_control(c))
		return false;
	return (c >= 0x20 && c < 0x7f) || (c >= 0xa0 && c < 0x2028) ||
	       (c > 0x2029 && c < 0xd800) || (c >= 0xe000 && c < 0xfeff) ||
	       (c > 0xfeff && c < 0xfffe) || (c >= 0x10000 && c < 0x110000);
}

void clv_text_make_printable(char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		char *from = text + ((const char *)at - text);

		if (!is_printable(next_character(&at)))
			memset(from, '?', (size_t)((const char *)at - from));
	}
}

bool clv_text_is_line(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		if (!is_printable(next_character(&at)))
			return false;
	}
	return true;
}

void clv_text_list(char *list, size_t list_bytes, const char *item)
{
	size_t used = strlen(list);

	assert(used < list_bytes);
	snprintf(list + used, list_bytes - used, "%s%s", used > 0 ? ", " : "", item);
}
