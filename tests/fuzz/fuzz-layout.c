/* SPDX-License-Identifier: Apache-2.0 */
/* A layout as text. A rejected text gets an error of one line that begins with the file's
 * name; an accepted one, written, is read as the same layout. */
#include "fuzz.h"

#include "base/error.h"
#include "base/text.h"
#include "core/layout/layout.h"
#include "layout-equal.h"

#include <errno.h>

#define NAME "layout.yaml"

static void check_error(int r, const struct clv_error *err)
{
	CLV_MUST(r == -EINVAL || r == -ERANGE || r == -E2BIG);
	CLV_MUST(err->code == r && clv_text_is_line(err->msg));
	CLV_MUST(strncmp(err->msg, NAME ":", sizeof(NAME)) == 0);
}

static void check_again(const struct clv_layout *layout)
{
	struct clv_layout again;
	struct clv_error err = {0};
	char *text, *text_again;

	CLV_MUST(clv_layout_write(layout, &text, &err) == 0);
	CLV_MUST(clv_layout_parse(text, strlen(text), NAME, &again, &err) == 0);
	CLV_MUST(layout_is_equal(layout, &again));
	CLV_MUST(clv_layout_write(&again, &text_again, &err) == 0);
	CLV_MUST(strcmp(text, text_again) == 0);
	clv_layout_clear(&again);
	free(text);
	free(text_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	struct clv_layout layout;
	struct clv_error err = {0};
	int r = clv_layout_parse((const char *)data, n_bytes, NAME, &layout, &err);

	if (r < 0) {
		check_error(r, &err);
		return 0;
	}
	check_again(&layout);
	clv_layout_clear(&layout);
	return 0;
}
