/* SPDX-License-Identifier: Apache-2.0 */
/* Finds clock_gettime in the vDSO, an ELF image that the kernel maps into every process.
 * The image is parsed here because dlsym() and libc's clock_gettime may be replaced by a
 * preloaded library. */
#include "base/vdso.h"

#include "base/cleanup.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

/* Names on x86 and RISC-V, and on arm64. */
static const char *const clock_names[] = {
	"__vdso_clock_gettime", "__kernel_clock_gettime"};

struct image {
	uintptr_t shift; /* load bias: added to addresses that the image contains */
	const ElfW(Dyn) * dynamic;
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *hash, *gnu_hash;
};

static const void *at(uintptr_t address)
{
	return (const void *)address; /* NOLINT(performance-no-int-to-ptr) */
}

static void find_segments(uintptr_t base, struct image *ret)
{
	const ElfW(Ehdr) *header = at(base);
	const ElfW(Phdr) *segments = at(base + header->e_phoff);
	const ElfW(Phdr) *dynamic = NULL;
	bool has_code = false;

	for (unsigned i = 0; i < header->e_phnum; i++) {
		if (segments[i].p_type == PT_LOAD && !has_code) {
			has_code = true;
			ret->shift = base + segments[i].p_offset - segments[i].p_vaddr;
		} else if (segments[i].p_type == PT_DYNAMIC) {
			dynamic = &segments[i];
		}
	}
	if (has_code && dynamic)
		ret->dynamic = at(base + dynamic->p_offset);
}

static void find_tables(struct image *image)
{
	for (const ElfW(Dyn) *entry = image->dynamic; entry->d_tag != DT_NULL; entry++) {
		const void *table = at(image->shift + entry->d_un.d_ptr);

		if (entry->d_tag == DT_STRTAB)
			image->names = table;
		else if (entry->d_tag == DT_SYMTAB)
			image->symbols = table;
		else if (entry->d_tag == DT_HASH)
			image->hash = table;
		else if (entry->d_tag == DT_GNU_HASH)
			image->gnu_hash = table;
	}
}

/* The number of symbols follows from a hash table only.  DT_HASH has it as a field; in
 * DT_GNU_HASH the last chain ends with the last symbol. */
static uint32_t count_symbols(const struct image *image)
{
	const uint32_t *table = image->gnu_hash, *buckets, *chains;
	uint32_t last = 0;

	if (image->hash)
		return image->hash[1];
	if (!table)
		return 0;
	buckets = table + 4 + table[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	chains = buckets + table[0];
	for (uint32_t i = 0; i < table[0]; i++)
		last = buckets[i] > last ? buckets[i] : last;
	if (last < table[1])
		return 0;
	while (!(chains[last - table[1]] & 1))
		last++;
	return last + 1;
}

static uintptr_t find(const struct image *image, const char *name)
{
	uint32_t n_symbols = count_symbols(image);

	for (uint32_t i = 0; i < n_symbols; i++) {
		const ElfW(Sym) *symbol = &image->symbols[i];

		if (symbol->st_shndx != SHN_UNDEF &&
			strcmp(image->names + symbol->st_name, name) == 0)
			return image->shift + symbol->st_value;
	}
	return 0;
}

clv_vdso_clock_fn clv_vdso_find_clock(void)
{
	uintptr_t base = (uintptr_t)getauxval(AT_SYSINFO_EHDR), found = 0;
	struct image image = {0};
	clv_vdso_clock_fn ret = NULL;

	if (base == 0)
		return NULL;
	find_segments(base, &image);
	if (image.dynamic)
		find_tables(&image);
	if (!image.symbols || !image.names)
		return NULL;
	for (size_t i = 0; i < CLV_ARRAY_SIZE(clock_names) && found == 0; i++)
		found = find(&image, clock_names[i]);
	memcpy(&ret, &found, sizeof(ret));
	return ret;
}
