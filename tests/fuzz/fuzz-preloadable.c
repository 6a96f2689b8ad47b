/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are no programs: first lines, and headers in ELF. */
#include "fuzz.h"

#include "base/error.h"
#include "cli/preloadable.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	int fd = memfd_create("fuzz-preloadable", MFD_CLOEXEC);
	struct clv_error err = {0};
	char path[32];
	int r;

	CLV_MUST(fd >= 0 && write(fd, data, n_bytes) == (ssize_t)n_bytes);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = clv_preloadable_check(path, &err);
	close(fd);

	CLV_MUST(r == (err.msg[0] ? -EPERM : 0));
	/* Whatever else is in it, with these four bytes and no loader it is refused. */
	if (n_bytes >= 4 && n_bytes <= 56 && memcmp(data, "\177ELF", 4) == 0)
		CLV_MUST(r == -EPERM);
	return 0;
}
