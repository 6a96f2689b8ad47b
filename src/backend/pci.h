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
	char driver[24];   /* bound to it, "" for none */
	bool is_virtual;   /* a virtual function of another one */
};

/* -ENODEV: there is none at that address. */
int clv_pci_read(const char *address, struct clv_pci *ret);

/* Display controllers and processing accelerators. */
bool clv_pci_is_gpu(const struct clv_pci *pci);

/* "amd"; of a vendor that is not known, its number. */
void clv_pci_vendor(const struct clv_pci *pci, char ret[CLV_DEVICE_TEXT_MAX]);

/* Of those whose driver does not say what they are.  NULL: none. */
const struct clv_gpu *clv_pci_product(const struct clv_pci *pci);

/* The product's name, else as the system's list of PCI names has it, else vendor and
 * number. */
void clv_pci_model(const struct clv_pci *pci, char ret[CLV_DEVICE_TEXT_MAX]);

/* The module's own version, else the kernel's that it came with. */
void clv_pci_driver_version(const char *driver, char ret[CLV_DEVICE_TEXT_MAX]);

/* Level Zero numbers Intel's devices by address where ZE_ENABLE_PCI_ID_DEVICE_ORDER=1
 * (Intel's compute-runtime, its list of environment variables): those that have a driver
 * for programs, virtual functions among them.  "" for any other.  ret: 16 bytes. */
void clv_pci_number(const struct clv_pci *pci, char ret[16]);

/* What vendor, class, driver and address say of the device; uuid is "pci-ADDRESS". */
void clv_pci_describe(const struct clv_pci *pci, struct clv_device *ret);

/* What messages call a device: its name, or its address while it has none.  Borrowed. */
const char *clv_pci_label(const struct clv_node_device *device);
