/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the symbol versions of a shared object from its ELF headers. */
#include "cli/shim/versions.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define PARTS_MAX 64

struct file {
	int fd;
	ElfW(Phdr) parts[PARTS_MAX];
	size_t n_parts;
};

static bool read_at(const struct file *file, void *to, size_t n_bytes, uint64_t at)
{
	return pread(file->fd, to, n_bytes, (off_t)at) == (ssize_t)n_bytes;
}

static bool read_parts(struct file *file)
{
	ElfW(Ehdr) header;

	if (!read_at(file, &header, sizeof(header), 0) ||
		memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
		header.e_phentsize != sizeof(file->parts[0]) ||
		header.e_phnum > PARTS_MAX)
		return false;
	file->n_parts = header.e_phnum;
	return read_at(file, file->parts, file->n_parts * sizeof(file->parts[0]),
		header.e_phoff);
}

/* The file offset of a virtual address; 0: not in the file. */
static uint64_t offset_of(const struct file *file, uint64_t address)
{
	for (size_t i = 0; i < file->n_parts; i++) {
		const ElfW(Phdr) *part = &file->parts[i];

		if (part->p_type == PT_LOAD && address >= part->p_vaddr &&
			address - part->p_vaddr < part->p_filesz)
			return part->p_offset + (address - part->p_vaddr);
	}
	return 0;
}

struct tables {
	uint64_t versions, strings; /* in the file */
	uint64_t n;
};

static void note(const struct file *file, const ElfW(Dyn) * entry, struct tables *tables)
{
	if (entry->d_tag == DT_VERDEF)
		tables->versions = offset_of(file, entry->d_un.d_ptr);
	else if (entry->d_tag == DT_STRTAB)
		tables->strings = offset_of(file, entry->d_un.d_ptr);
	else if (entry->d_tag == DT_VERDEFNUM)
		tables->n = entry->d_un.d_val;
}

static bool find_tables(const struct file *file, struct tables *ret)
{
	const ElfW(Phdr) *part = file->parts;
	ElfW(Dyn) entry = {.d_tag = DT_NULL};
	size_t i = 0;

	*ret = (struct tables){0};
	while (i < file->n_parts && part->p_type != PT_DYNAMIC)
		part = &file->parts[++i];
	if (i == file->n_parts)
		return false;
	for (uint64_t at = 0; at + sizeof(entry) <= part->p_filesz; at += sizeof(entry)) {
		if (!read_at(file, &entry, sizeof(entry), part->p_offset + at) ||
			entry.d_tag == DT_NULL)
			break;
		note(file, &entry, ret);
	}
	return ret->versions && ret->strings && ret->n <= CLV_VERSIONS_MAX;
}

/* A short read is fine: the name may be near the end of the file. */
static bool read_name(const struct file *file, uint64_t at, char *ret)
{
	ssize_t n = pread(file->fd, ret, CLV_VERSION_NAME_MAX, (off_t)at);

	return n > 0 && memchr(ret, '\0', (size_t)n);
}

/* Reads one version.  Returns the offset of the next one; 0 after the last one, or if it
 * cannot be read. */
static uint64_t read_version(const struct file *file, const struct tables *tables,
	uint64_t at, struct clv_versions *ret)
{
	ElfW(Verdef) version;
	ElfW(Verdaux) name;

	if (!read_at(file, &version, sizeof(version), at) ||
		!read_at(file, &name, sizeof(name), at + version.vd_aux) ||
		!read_name(file, tables->strings + name.vda_name, ret->names[ret->n]))
		return 0;
	ret->n++;
	return version.vd_next ? at + version.vd_next : 0;
}

void clv_versions_read(const char *path, struct clv_versions *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct file file = {.fd = fd};
	struct tables tables;
	uint64_t at;

	ret->n = 0;
	if (fd < 0 || !read_parts(&file) || !find_tables(&file, &tables))
		return;
	at = tables.versions;
	for (uint64_t i = 0; at && i < tables.n; i++)
		at = read_version(&file, &tables, at, ret);
	/* With an incomplete list the loader would refuse programs that need the rest. */
	if (ret->n != tables.n)
		ret->n = 0;
}
