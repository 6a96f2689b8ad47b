/* SPDX-License-Identifier: Apache-2.0 */
/* Reads ELF headers, as the kernel does. */
#include "cli/launch/image.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ENTRIES_MAX 1024
#define OWN_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)
#define LOADER_UNKNOWN "(?)" /* the program headers cannot be read */

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
	ElfW(Ehdr) header = {}; /* like the kernel, pads a short file with zeros */

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

/* The file offset of a virtual address; 0: not in the file. */
static ElfW(Off) offset_of(int fd, const ElfW(Ehdr) * header, ElfW(Addr) address)
{
	ElfW(Phdr) part;

	for (unsigned int i = 0; i < header->e_phnum; i++) {
		if (!read_at(fd, &part, sizeof(part), header->e_phoff + i * sizeof(part)))
			return 0;
		if (part.p_type == PT_LOAD && address >= part.p_vaddr &&
			address - part.p_vaddr < part.p_filesz)
			return part.p_offset + (address - part.p_vaddr);
	}
	return 0;
}

/* Expands $ORIGIN, as in "$ORIGIN/../lib". */
static void expand(const char *text, const char *path, char ret[CLV_PATH_MAX])
{
	static const char *const origins[] = {"${ORIGIN}", "$ORIGIN"};
	const char *slash = strrchr(path, '/');
	int n_folder = slash ? (int)(slash - path) : 1;
	size_t used = 0;

	ret[0] = '\0';
	while (*text && used + 1 < CLV_PATH_MAX) {
		size_t n_origin = 0;

		for (size_t i = 0; n_origin == 0 && i < CLV_ARRAY_SIZE(origins); i++) {
			if (strncmp(text, origins[i], strlen(origins[i])) == 0)
				n_origin = strlen(origins[i]);
		}
		if (n_origin > 0)
			used += (size_t)snprintf(ret + used, CLV_PATH_MAX - used, "%.*s",
				n_folder, slash ? path : ".");
		else
			used += (size_t)snprintf(
				ret + used, CLV_PATH_MAX - used, "%c", *text);
		text += n_origin ? n_origin : 1;
	}
}

struct dynamic {
	ElfW(Addr) strings;
	ElfW(Xword) rpath, runpath;
	bool has_rpath, has_runpath;
};

static void read_dynamic(int fd, ElfW(Off) at, struct dynamic *ret)
{
	ElfW(Dyn) entry;

	for (int i = 0; i < ENTRIES_MAX; i++, at += sizeof(entry)) {
		if (!read_at(fd, &entry, sizeof(entry), at) || entry.d_tag == DT_NULL)
			return;
		if (entry.d_tag == DT_STRTAB)
			ret->strings = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_RPATH)
			ret->rpath = entry.d_un.d_val;
		else if (entry.d_tag == DT_RUNPATH)
			ret->runpath = entry.d_un.d_val;
		ret->has_rpath |= entry.d_tag == DT_RPATH;
		ret->has_runpath |= entry.d_tag == DT_RUNPATH;
	}
}

void clv_image_read_paths(int fd, const char *path, struct clv_image_paths *ret)
{
	char text[CLV_PATH_MAX] = "";
	struct dynamic dynamic = {};
	ElfW(Ehdr) header;
	ElfW(Phdr) part;
	ElfW(Off) at;

	*ret = (struct clv_image_paths){};
	if (!read_at(fd, &header, sizeof(header), 0) ||
		memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
		header.e_ident[EI_CLASS] != OWN_CLASS)
		return;
	for (unsigned int i = 0; i < header.e_phnum; i++) {
		if (read_at(fd, &part, sizeof(part), header.e_phoff + i * sizeof(part)) &&
			part.p_type == PT_DYNAMIC)
			read_dynamic(fd, part.p_offset, &dynamic);
	}
	at = offset_of(fd, &header, dynamic.strings);
	if (at == 0 || !(dynamic.has_rpath || dynamic.has_runpath))
		return;
	at += dynamic.has_runpath ? dynamic.runpath : dynamic.rpath;
	if (pread(fd, text, sizeof(text) - 1, (off_t)at) <= 0)
		return;
	ret->is_after_environment = dynamic.has_runpath;
	expand(text, path, ret->list);
}
