/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are not programs or libraries: first lines, headers and versions in ELF. */
#include "fuzz.h"

#include "base/error.h"
#include "cli/launch/image.h"
#include "cli/launch/preloadable.h"
#include "cli/shim/link-view.h"
#include "cli/shim/versions.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

static void read_versions(const char *path)
{
	static struct clv_versions versions;

	clv_versions_read(path, &versions);
	CLV_MUST(versions.n <= CLV_VERSIONS_MAX);
	for (size_t i = 0; i < versions.n; i++)
		CLV_MUST(memchr(versions.names[i], '\0', CLV_VERSION_NAME_MAX));
}

/* The file as a library whose symbols linkers are to find in a shim. */
static void read_symbols(const char *path)
{
	int fd = memfd_create("fuzz-view", MFD_CLOEXEC);
	ElfW(Ehdr) header = {0};

	CLV_MUST(fd >= 0);
	CLV_MUST(clv_link_view_append(fd, sizeof(header), path, "lib.so", &header) == 0);
	CLV_MUST(header.e_shnum == 0 || header.e_shoff > sizeof(header));
	close(fd);
}

static void read_paths(int fd, const char *path)
{
	static struct clv_image_paths paths;

	clv_image_read_paths(fd, path, &paths);
	CLV_MUST(memchr(paths.list, '\0', sizeof(paths.list)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	int fd = memfd_create("fuzz-preloadable", MFD_CLOEXEC);
	struct clv_error err = {0};
	char path[32];
	int r;

	CLV_MUST(fd >= 0 && write(fd, data, n_bytes) == (ssize_t)n_bytes);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = clv_preloadable_check(path, &err);
	read_versions(path);
	read_symbols(path);
	read_paths(fd, path);
	close(fd);

	CLV_MUST(r == (err.msg[0] ? -EPERM : 0));
	/* A file with this magic and without a loader is refused. */
	if (n_bytes >= 4 && n_bytes <= 56 && memcmp(data, "\177ELF", 4) == 0)
		CLV_MUST(r == -EPERM);
	return 0;
}
