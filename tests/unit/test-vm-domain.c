/* SPDX-License-Identifier: Apache-2.0 */
/* A domain's XML as libvirt 9.0 writes it: what is read, and what is written into it. */
#include "bridge/libvirt/domain/domain.h"

#include "base/error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define UUID "6d5f8a2c-9b1e-4c38-8f57-0a1b2c3d4e5f"
#define MDEV "c0ffee00-1234-4abc-8def-0123456789ab"

static const char xml[] =
	"<domain type='qemu' id='3'>\n"
	"  <name>B\xc3\xbcro 1</name>\n"
	"  <uuid>" UUID "</uuid>\n"
	"  <metadata>\n"
	"    <other:x xmlns:other='urn:other'><partition lease='l9' "
	"name='no'/></other:x>\n"
	"    <cleave:vm xmlns:cleave='https://cleave.dev/vm/1' "
	"offline-action='shutdown'>\n"
	"      <cleave:partition lease='l0123' name='gpu0/vf:4@1'/>\n"
	"    </cleave:vm>\n"
	"  </metadata>\n"
	"  <os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os>\n"
	"  <devices>\n"
	"    <controller type='usb' index='0' model='none'/>\n"
	"    <controller type='pci' index='0' model='pcie-root'>\n"
	"      <pcihole64 unit='KiB'>67108864</pcihole64>\n"
	"    </controller>\n"
	"    <hostdev mode='subsystem' type='usb'><source/></hostdev>\n"
	"    <hostdev mode='subsystem' type='pci' managed='yes'>\n"
	"      <driver name='vfio'/>\n"
	"      <source>\n"
	"        <address domain='0x0000' bus='0x3b' slot='0x00' function='0x1'/>\n"
	"      </source>\n"
	"      <alias name='ua-cleave-l0123'/>\n"
	"      <address type='pci' domain='0x0000' bus='0x05' slot='0x00' "
	"function='0x0'/>\n"
	"    </hostdev>\n"
	"    <hostdev mode='subsystem' type='mdev' managed='no' model='vfio-pci'>\n"
	"      <source><address uuid='" MDEV "'/></source>\n"
	"      <alias name='hostdev1'/>\n"
	"    </hostdev>\n"
	"  </devices>\n"
	"</domain>\n";

static void test_read(void **state)
{
	_cleanup_domain_ struct clv_vm_domain domain = {0};
	const struct clv_vm_hostdev *hostdev;
	struct clv_error err = {0};

	assert_int_equal(clv_vm_domain_parse(xml, strlen(xml), &domain, &err), 0);
	assert_string_equal(domain.uuid, UUID);
	assert_string_equal(domain.name, "B\xc3\xbcro 1");
	assert_string_equal(domain.machine, "pc-q35-7.2");
	assert_true(domain.has_memory_hole);
	assert_int_equal(domain.memory_hole_bytes, UINT64_C(64) << 30);
	assert_true(domain.shuts_down);
	assert_int_equal(domain.n_hostdevs, 2);
	assert_int_equal(domain.n_notes, 1);
	assert_string_equal(domain.notes[0].lease, "l0123");
	assert_string_equal(domain.notes[0].partition, "gpu0/vf:4@1");
	hostdev = clv_vm_find_lease(&domain, "l0123");
	assert_non_null(hostdev);
	assert_true(hostdev->is_managed && !hostdev->is_mdev);
	assert_string_equal(hostdev->address, "0000:3b:00.1");
	hostdev = clv_vm_find_address(&domain, MDEV);
	assert_non_null(hostdev);
	assert_true(hostdev->is_mdev && !hostdev->is_managed);
	assert_null(clv_vm_lease_of_alias(hostdev->alias));
	assert_int_equal(clv_vm_count_partitions(&domain), 1);
	assert_null(clv_vm_find_lease(&domain, "l012"));
	assert_null(clv_vm_find_address(&domain, "0000:3b:00.2"));
}

static void test_addresses(void **state)
{
	/* libvirt writes hexadecimal; people may write the numbers in other forms. */
	static const struct {
		const char *given, *read;
	} rows[] = {
		{"bus='59' slot='0' function='1'", "0000:3b:00.1"},
		{"domain='1' bus='0xFF' slot='0x1f' function='7'", "0001:ff:1f.7"},
		{"bus='256' slot='0' function='0'", ""},
		{"bus='0' slot='32' function='0'", ""},
		{"bus='0' slot='0' function='8'", ""},
		{"bus='x' slot='0' function='0'", ""},
		{"bus='-1' slot='0' function='0'", ""},
	};
	char text[512];

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		_cleanup_domain_ struct clv_vm_domain domain = {0};

		snprintf(text, sizeof(text),
			"<domain><name>a</name><uuid>" UUID "</uuid><devices><hostdev "
			"type='pci'><source><address "
			"%s/></source></hostdev></devices></domain>",
			rows[i].given);
		assert_int_equal(
			clv_vm_domain_parse(text, strlen(text), &domain, NULL), 0);
		assert_int_equal(domain.n_hostdevs, 1);
		assert_string_equal(domain.hostdevs[0].address, rows[i].read);
	}
}

static void test_bad(void **state)
{
	static const char *const texts[] = {"", "<", "<domain>", "<domain/>", "{}",
		"<network><name>a</name><uuid>" UUID "</uuid></network>",
		"<domain><name>a</name><uuid>1</uuid></domain>",
		"<domain><uuid>" UUID "</uuid></domain>",
		("<!DOCTYPE d [<!ENTITY a SYSTEM "
		 "'file:///etc/passwd'>]><domain>&b;</domain>")};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(texts); i++) {
		_cleanup_domain_ struct clv_vm_domain domain = {0};
		struct clv_error err = {0};

		assert_int_equal(
			clv_vm_domain_parse(texts[i], strlen(texts[i]), &domain, &err),
			-EBADMSG);
		assert_int_equal(err.code, -EBADMSG);
		assert_true(err.msg[0] != '\0' && !strchr(err.msg, '\n'));
	}
}

static void test_entities_are_not_read(void **state)
{
	static const char text[] =
		"<!DOCTYPE d [<!ENTITY a SYSTEM 'file:///proc/self/status'>]>"
		"<domain><name>a&a;</name><uuid>" UUID "</uuid></domain>";
	_cleanup_domain_ struct clv_vm_domain domain = {0};

	if (clv_vm_domain_parse(text, strlen(text), &domain, NULL) == 0)
		assert_string_equal(domain.name, "a");
}

static void test_control_characters(void **state)
{
	static const char text[] =
		"<domain><name>a&#10;b&#x9;c</name><uuid>" UUID "</uuid></domain>";
	_cleanup_domain_ struct clv_vm_domain domain = {0};

	assert_int_equal(clv_vm_domain_parse(text, strlen(text), &domain, NULL), 0);
	assert_string_equal(domain.name, "a?b?c");
}

/* What is written reads as the same. */
static void check_hostdev(enum clv_vm_means means, const char *address, bool is_managed)
{
	_cleanup_domain_ struct clv_vm_domain domain = {0};
	char hostdev[CLV_VM_HOSTDEV_MAX], text[1024];

	assert_int_equal(clv_vm_hostdev_write(means, address, "l01", hostdev, NULL), 0);
	snprintf(text, sizeof(text),
		"<domain><name>a</name><uuid>" UUID
		"</uuid><devices>%s</devices></domain>",
		hostdev);
	assert_int_equal(clv_vm_domain_parse(text, strlen(text), &domain, NULL), 0);
	assert_int_equal(domain.n_hostdevs, 1);
	assert_string_equal(domain.hostdevs[0].address, address);
	assert_int_equal(domain.hostdevs[0].is_mdev, means == CLV_VM_MDEV);
	assert_int_equal(domain.hostdevs[0].is_managed, is_managed);
	assert_string_equal(clv_vm_lease_of_alias(domain.hostdevs[0].alias), "l01");
}

static void test_write_hostdev(void **state)
{
	check_hostdev(CLV_VM_PCI, "0000:3b:00.1", true);
	check_hostdev(CLV_VM_VENDOR, "0001:3b:1f.7", false);
	check_hostdev(CLV_VM_MDEV, MDEV, false);
}

static void test_write_bad_hostdev(void **state)
{
	static const struct {
		enum clv_vm_means means;
		const char *address, *lease;
	} rows[] = {
		{CLV_VM_PCI, "", "l1"},
		{CLV_VM_PCI, "'/><a", "l1"},
		{CLV_VM_PCI, MDEV, "l1"},
		{CLV_VM_PCI, "0000:3b:00.11", "l1"},
		{CLV_VM_MDEV, "", "l1"},
		{CLV_VM_MDEV, "0000:3b:00.1", "l1"},
		{CLV_VM_PCI, "0000:3b:00.1", ""},
		{CLV_VM_PCI, "0000:3b:00.1", "l'"},
		{CLV_VM_PCI, "0000:3b:00.1", "l123456789012345678901234567890"},
	};
	char hostdev[CLV_VM_HOSTDEV_MAX];

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_error err = {0};

		assert_int_equal(clv_vm_hostdev_write(rows[i].means, rows[i].address,
					 rows[i].lease, hostdev, &err),
			-EINVAL);
		assert_true(err.msg[0] != '\0');
	}
}

static void test_metadata(void **state)
{
	const struct clv_vm_note notes[] = {{"l1", "gpu0/vf:4@1"}, {"l2", "a'<&\">"}};
	char *text = clv_vm_metadata_write(notes, 2, true);

	assert_string_equal(text,
		"<vm offline-action=\"shutdown\"><partition lease=\"l1\" "
		"name=\"gpu0/vf:4@1\"/><partition lease=\"l2\" "
		"name=\"a'&lt;&amp;&quot;&gt;\"/></vm>");
	free(text);
	text = clv_vm_metadata_write(NULL, 0, false);
	assert_string_equal(text, "<vm offline-action=\"none\"/>");
	free(text);
}

static void check_hole(const char *before, uint64_t bytes, bool has, uint64_t read)
{
	_cleanup_domain_ struct clv_vm_domain domain = {0};
	char *text = NULL;

	assert_int_equal(
		clv_vm_domain_set_hole(before, strlen(before), bytes, &text, NULL), 0);
	assert_int_equal(clv_vm_domain_parse(text, strlen(text), &domain, NULL), 0);
	assert_int_equal(domain.has_memory_hole, has);
	assert_int_equal(domain.memory_hole_bytes, read);
	/* The rest is as before. */
	assert_int_equal(domain.n_hostdevs, strstr(before, "mdev") ? 2 : 0);
	assert_string_equal(domain.uuid, UUID);
	free(text);
}

static void test_hole(void **state)
{
	static const char pc[] =
		"<domain><name>a</name><uuid>" UUID
		"</uuid><devices><controller type='pci' model='pci-root'/>"
		"</devices></domain>";
	static const char s390[] =
		"<domain><name>a</name><uuid>" UUID "</uuid><devices/></domain>";
	struct clv_error err = {0};
	char *text = NULL;

	check_hole(xml, UINT64_C(1) << 40, true, UINT64_C(1) << 40);
	check_hole(xml, 1, true, 1024);
	check_hole(xml, 0, false, 0);
	check_hole(pc, UINT64_C(32) << 30, true, UINT64_C(32) << 30);
	assert_int_equal(
		clv_vm_domain_set_hole(s390, strlen(s390), 1, &text, &err), -ENOTSUP);
	assert_int_equal(clv_vm_domain_set_hole("<", 1, 1, &text, &err), -EBADMSG);
	assert_null(text);
}

static const struct clv_vm_hostdev *exchanged(const char *lease, const char *to_lease,
	enum clv_vm_means means, const char *address, struct clv_vm_domain *ret)
{
	const struct clv_vm_exchange exchange = {lease, to_lease, means, address};
	struct clv_error err = {0};
	char *after = NULL;

	assert_int_equal(
		clv_vm_domain_exchange(xml, strlen(xml), &exchange, 1, &after, &err), 0);
	assert_non_null(strstr(after, "<driver name=\"vfio\"/>"));
	assert_non_null(strstr(after, "type=\"pci\" domain=\"0x0000\" bus=\"0x05\""));
	assert_int_equal(clv_vm_domain_parse(after, strlen(after), ret, &err), 0);
	free(after);
	assert_null(clv_vm_find_lease(ret, lease));
	assert_int_equal(ret->n_hostdevs, 2);
	assert_string_equal(ret->hostdevs[1].address, MDEV);
	return clv_vm_find_lease(ret, to_lease);
}

/* Only its source, its alias and who binds it are others. */
static void test_exchange(void **state)
{
	_cleanup_domain_ struct clv_vm_domain plain = {0}, vendor = {0};
	const struct clv_vm_hostdev *hostdev =
		exchanged("l0123", "l7", CLV_VM_PCI, "0001:a0:1f.7", &plain);

	assert_non_null(hostdev);
	assert_string_equal(hostdev->address, "0001:a0:1f.7");
	assert_true(hostdev->is_managed);
	hostdev = exchanged("l0123", "l8", CLV_VM_VENDOR, "0000:3c:00.2", &vendor);
	assert_non_null(hostdev);
	assert_string_equal(hostdev->address, "0000:3c:00.2");
	assert_false(hostdev->is_managed);
}

static void test_bad_exchange(void **state)
{
	static const struct {
		struct clv_vm_exchange exchange;
		int code;
	} rows[] = {
		{{"l99", "l7", CLV_VM_PCI, "0000:3c:00.2"}, -ENOENT},
		{{"l0123", "l7", CLV_VM_PCI, "3c:00.2"}, -EINVAL},
		{{"l0123", "l'7", CLV_VM_PCI, "0000:3c:00.2"}, -EINVAL},
		{{"l0123", "l7", CLV_VM_MDEV, "0000:3c:00.2"}, -EINVAL},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_error err = {0};
		char *after = NULL;

		assert_int_equal(clv_vm_domain_exchange(xml, strlen(xml),
					 &rows[i].exchange, 1, &after, &err),
			rows[i].code);
		assert_null(after);
		assert_true(err.msg[0] != '\0');
	}
}

static void expect_belongings(
	const char *os, const char *devices, const struct clv_vm_belongings *expected)
{
	struct clv_vm_belongings got;
	struct clv_error err = {0};
	char text[1024];
	int n = snprintf(text, sizeof(text),
		"<domain><os%s</os><devices>%s</devices></domain>", os, devices);

	assert_int_equal(clv_vm_domain_belongings(text, (size_t)n, &got, &err), 0);
	assert_int_equal(got.has_tpm, expected->has_tpm);
	assert_int_equal(got.has_variables, expected->has_variables);
	assert_string_equal(got.variables, expected->variables);
	assert_string_equal(got.disks, expected->disks);
	assert_int_equal(got.n_hostdevs, expected->n_hostdevs);
}

#define B(...) (&(struct clv_vm_belongings){__VA_ARGS__})

static void test_belongings(void **state)
{
	struct clv_vm_belongings got;
	struct clv_error err = {0};

	expect_belongings(">", "", B(.has_tpm = false));
	expect_belongings(
		">", "<tpm><backend type='emulator'/></tpm>", B(.has_tpm = true));
	expect_belongings(">",
		"<disk device='cdrom'/><disk><source file='/a'/></disk>"
		"<disk><source dev='/dev/b'/></disk><disk><source name='pool/c'/></disk>",
		B(.disks = "/a, /dev/b, pool/c"));
	expect_belongings(
		">", "<filesystem><source dir='/srv'/></filesystem>", B(.disks = "/srv"));
	expect_belongings(">",
		"<hostdev type='usb'/><hostdev type='pci'/><interface type='hostdev'/>"
		"<interface type='network'/>",
		B(.n_hostdevs = 3));
	expect_belongings(" firmware='efi'>", "", B(.has_variables = true));
	expect_belongings(
		"><loader type='pflash'>/x</loader>", "", B(.has_variables = true));
	expect_belongings("><loader type='pflash' stateless='yes'>/x</loader>", "",
		B(.has_variables = false));
	expect_belongings("><nvram>/v.fd</nvram>", "",
		B(.has_variables = true, .variables = "/v.fd"));
	expect_belongings("><nvram type='file'><source file='/v.fd'/></nvram>", "",
		B(.has_variables = true, .variables = "/v.fd"));
	assert_int_equal(clv_vm_domain_belongings("", 0, &got, &err), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_entities_are_not_read),
		cmocka_unit_test(test_control_characters),
		cmocka_unit_test(test_write_hostdev),
		cmocka_unit_test(test_write_bad_hostdev),
		cmocka_unit_test(test_metadata),
		cmocka_unit_test(test_hole),
		cmocka_unit_test(test_exchange),
		cmocka_unit_test(test_bad_exchange),
		cmocka_unit_test(test_belongings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
