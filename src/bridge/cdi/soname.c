/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the dynamic section of a mapped library.  All offsets are checked against the
 * file's size, because the file may be of any content. */
#include "bridge/cdi/soname.h"

#include "base/cleanup.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

struct image {
	const uint8_t *data;
	size_t n;
	Elf64_Ehdr header;
};

/* Copies a part of the file, which need not be aligned; false: it is not in the file. */
static bool get(const struct image *image, uint64_t offset, void *ret, size_t n_bytes)
{
	if (offset > image->n || n_bytes > image->n - offset)
		return false;
	memcpy(ret, image->data + offset, n_bytes);
	return true;
}

static bool get_segment(const struct image *image, unsigned index, Elf64_Phdr *ret)
{
	return get(image, image->header.e_phoff + (uint64_t)index * sizeof(*ret), ret,
		sizeof(*ret));
}

/* The place in the file of an address; UINT64_MAX: none. */
static uint64_t offset_of(const struct image *image, uint64_t address)
{
	Elf64_Phdr part;

	for (unsigned i = 0; i < image->header.e_phnum; i++) {
		if (get_segment(image, i, &part) && part.p_type == PT_LOAD &&
			address >= part.p_vaddr && address - part.p_vaddr < part.p_filesz)
			return address - part.p_vaddr + part.p_offset;
	}
	return UINT64_MAX;
}

static uint64_t value_of(
	const struct image *image, const Elf64_Phdr *dynamic, int64_t tag)
{
	Elf64_Dyn entry;

	for (uint64_t i = 0; i < dynamic->p_filesz / sizeof(entry); i++) {
		if (!get(image, dynamic->p_offset + i * sizeof(entry), &entry,
			    sizeof(entry)) ||
			entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == tag)
			return entry.d_un.d_val;
	}
	return UINT64_MAX;
}

static bool is_library(const struct image *image)
{
	return memcmp(image->header.e_ident, ELFMAG, SELFMAG) == 0 &&
	       image->header.e_ident[EI_CLASS] == ELFCLASS64 &&
	       image->header.e_machine == MACHINE;
}

static bool find_dynamic(const struct image *image, Elf64_Phdr *ret)
{
	for (unsigned i = 0; i < image->header.e_phnum; i++) {
		if (get_segment(image, i, ret) && ret->p_type == PT_DYNAMIC)
			return true;
	}
	return false;
}

static bool read_name(struct image *image, char *ret, size_t ret_bytes)
{
	uint64_t texts, name;
	Elf64_Phdr dynamic;
	const char *text;

	if (!get(image, 0, &image->header, sizeof(image->header)) || !is_library(image) ||
		!find_dynamic(image, &dynamic))
		return false;
	texts = offset_of(image, value_of(image, &dynamic, DT_STRTAB));
	name = value_of(image, &dynamic, DT_SONAME);
	if (texts >= image->n || name >= image->n - texts)
		return false;
	text = (const char *)image->data + texts + name;
	if (!memchr(text, '\0', image->n - texts - name) || strchr(text, '/'))
		return false;
	snprintf(ret, ret_bytes, "%s", text);
	return text[0] != '\0';
}

bool clv_cdi_soname(const char *path, char *ret, size_t ret_bytes)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct image image = {};
	struct stat st;
	bool has_name;
	void *map;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return false;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return false;
	image.data = map;
	image.n = (size_t)st.st_size;
	has_name = read_name(&image, ret, ret_bytes);
	munmap(map, (size_t)st.st_size);
	return has_name;
}
