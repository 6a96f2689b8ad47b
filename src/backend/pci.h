/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"

#include <stdbool.h>
#include <stdint.h>

#define CLV_PCI_ADDRESS_MAX 16 /* "0000:3b:00.0" */

#define CLV_PCI_VENDOR_AMD 0x1002u
#define CLV_PCI_VENDOR_NVIDIA 0x10deu
#define CLV_PCI_VENDOR_INTEL 0x8086u

/* A PCI function as sysfs shows it. */
struct clv_pci {
	char address[CLV_PCI_ADDRESS_MAX];
	uint32_t vendor;
	uint32_t device;
	uint32_t class;    /* base class and subclass: 0x0302 */
	int32_t numa_node; /* -1: not known */
	char driver[24];   /* the bound driver, "" if none */
	bool is_virtual;   /* an SR-IOV virtual function */
};

/* -ENODEV: there is no function at that address. */
int clv_pci_read(const char *address, struct clv_pci *ret);

/* The root complex of the function at that address, "pci0000:3a", by the place of its
 * folder in sysfs; "" if there is none.  ret: 16 bytes. */
void clv_pci_root(const char *address, char ret[16]);

/* Display controllers and processing accelerators. */
bool clv_pci_is_gpu(const struct clv_pci *pci);

/* "amd"; the hexadecimal id of a vendor that is not known. */
void clv_pci_vendor(const struct clv_pci *pci, char ret[CLV_DEVICE_TEXT_MAX]);

/* The table entry of a GPU whose driver does not report a product name (Intel).  NULL if
 * there is none.  Static. */
const struct clv_gpu *clv_pci_product(const struct clv_pci *pci);

/* The product's name, else the name in the system's pci.ids, else vendor and id. */
void clv_pci_model(const struct clv_pci *pci, char ret[CLV_DEVICE_TEXT_MAX]);

/* The version of the driver's module, else the kernel's release; "" without a driver. */
void clv_pci_driver_version(const char *driver, char ret[CLV_DEVICE_TEXT_MAX]);

/* The index of an Intel GPU in Level Zero, which orders devices by PCI address if
 * ZE_ENABLE_PCI_ID_DEVICE_ORDER=1 (the list of environment variables of Intel's
 * compute-runtime).  It counts GPUs bound to xe or i915, virtual functions included.  ""
 * for other devices.  ret: 16 bytes. */
void clv_pci_number(const struct clv_pci *pci, char ret[16]);

/* Fills ret from vendor, class, driver and address; the UUID is "pci-ADDRESS". */
void clv_pci_describe(const struct clv_pci *pci, struct clv_device *ret);

/* The device's name in messages: its name, or its address before it has one.  Borrowed.
 */
const char *clv_pci_label(const struct clv_node_device *device);
