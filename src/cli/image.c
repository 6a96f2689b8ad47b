/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of files in ELF, read as the kernel does. */
#include "cli/image.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#define LOADER_UNKNOWN "(?)" /* the headers cannot be read to their end */

static bool read_at(int fd, void *to, size_t n_bytes, ElfW(Off) at)
{
	return pread(fd, to, n_bytes, (off_t)at) == (ssize_t)n_bytes;
}

static void read_loader(int fd, const ElfW(Ehdr) * header, char ret[CLV_PATH_MAX])
{
	ElfW(Phdr) part;

	ret[0] = '\0';
	for (unsigned int i = 0; i < header->e_phnum; i++) {
		if (!read_at(fd, &part, sizeof(part),
			    header->e_phoff + i * sizeof(part))) {
			strcpy(ret, LOADER_UNKNOWN);
			return;
		}
		if (part.p_type != PT_INTERP)
			continue;
		if (part.p_filesz == 0 || part.p_filesz > CLV_PATH_MAX ||
			!read_at(fd, ret, part.p_filesz, part.p_offset))
			strcpy(ret, LOADER_UNKNOWN);
		ret[CLV_PATH_MAX - 1] = '\0';
		return;
	}
}

bool clv_image_read(int fd, struct clv_image *ret)
{
	ElfW(Ehdr) header = {}; /* the kernel, too, reads zeros after a short file */

	if (pread(fd, &header, sizeof(header), 0) < SELFMAG ||
		memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	memcpy(ret->ident, header.e_ident, sizeof(ret->ident));
	ret->machine = header.e_machine;
	read_loader(fd, &header, ret->loader);
	return true;
}

bool clv_image_read_self(struct clv_image *ret)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	return fd >= 0 && clv_image_read(fd, ret);
}

bool clv_image_is_alike(const struct clv_image *a, const struct clv_image *b)
{
	return a->ident[EI_CLASS] == b->ident[EI_CLASS] &&
	       a->ident[EI_DATA] == b->ident[EI_DATA] && a->machine == b->machine;
}
