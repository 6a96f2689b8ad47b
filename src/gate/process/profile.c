/* SPDX-License-Identifier: Apache-2.0 */
/* Counts completed commands by duration for `cleave profile`. The page is mapped as
 * shared memory, so that children count in it too, and nothing needs to be written when a
 * process ends. */
#include "gate/process/profile.h"

#include "base/clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* As long as an idle program keeps its turn (GRACE_NS of gate/window/grace.c). */
#define PAUSE_NS (250 * CLV_NS_PER_US)

struct clv_lengths *clv_profile;

void clv_profile_open(void)
{
	const char *path = secure_getenv("CLEAVE_PROFILE");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW) : -1;
	struct clv_lengths *page = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		st.st_size >= (off_t)sizeof(*page))
		page = mmap(
			NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		return;
	if (page->magic == CLV_LENGTHS_MAGIC && page->version == CLV_LENGTHS_VERSION)
		clv_profile = page;
	else
		munmap(page, sizeof(*page));
}

void clv_profile_add(uint64_t n, uint64_t took_ns, uint64_t idle_ns)
{
	if (n > 0)
		clv_lengths_add(clv_profile, took_ns / n, n);
	if (idle_ns > PAUSE_NS)
		atomic_fetch_add(&clv_profile->n_pauses, 1);
}
