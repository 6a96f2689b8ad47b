/* SPDX-License-Identifier: Apache-2.0 */
#include "readings.h"
#include "call.h"
#include "handles.h"
#include "text.h"
#include <stdlib.h>
#include <string.h>

/* The words of `readings`, with their meanings. */
static const char *const words[] = {
	"power",         /* milliwatts */
	"temperature",   /* degrees Celsius */
	"energy",        /* millijoules since the driver was loaded */
	"busy",          /* percent */
	"encoder",       /* percent */
	"decoder",       /* percent */
	"limit",         /* bytes that a cgroup may have; none is set without it */
	"ecc",           /* uncorrectable errors since the driver was loaded */
	"pages-pending", /* 0 or 1, as are the next two */
	"rows-pending",
	"rows-failed",
};

static bool is_known(const char *word)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i], word) == 0)
			return true;
	return false;
}

uint64_t dnv_reading(unsigned gpu, const char *word, uint64_t none)
{
	char *text = dnv_text_read(dnv_dirfd(), "readings"), *rest = text;
	struct dnv_line line = {0};
	uint64_t ret = none;

	while (dnv_text_next(&rest, &line)) {
		uint64_t which, value;

		if (line.n_words != 3 || !is_known(line.words[1]) ||
			!dnv_text_number(line.words[0], 0, DNV_GPUS_MAX - 1, &which) ||
			!dnv_text_number(
				line.words[2], DNV_UNREADABLE, UINT64_MAX, &value))
			dnv_text_die("readings", &line);
		if (which == gpu && strcmp(line.words[1], word) == 0)
			ret = value;
	}
	free(text);
	return ret;
}

/* For a whole GPU; a reading that is not set is unsupported, as on many GPUs. */
static int read_gpu(struct dnv_handle *device, const char *word, uint64_t *ret)
{
	struct dnv_target target;
	int r = dnv_resolve(device, DNV_KIND_GPU | DNV_KIND_MIG, &target);

	if (r)
		return r;
	if (target.kind != DNV_KIND_GPU)
		return DNV_NOT_SUPPORTED;
	if (!ret)
		return DNV_INVALID_ARGUMENT;
	*ret = dnv_reading(target.gpu, word, DNV_UNREADABLE);
	return *ret == DNV_UNREADABLE ? DNV_NOT_SUPPORTED : DNV_SUCCESS;
}

static int read_u32(struct dnv_handle *device, const char *word, uint32_t *ret)
{
	uint64_t value;
	int r = read_gpu(device, word, ret ? &value : NULL);

	if (!r)
		*ret = (uint32_t)value;
	return r;
}

int dnv_nvmlDeviceGetPowerUsage(struct dnv_handle *device, uint32_t *milliwatts)
{
	return read_u32(device, "power", milliwatts);
}

int dnv_nvmlDeviceGetTemperature(
	struct dnv_handle *device, uint32_t sensor, uint32_t *celsius)
{
	if (sensor)
		return DNV_INVALID_ARGUMENT;
	return read_u32(device, "temperature", celsius);
}

int dnv_nvmlDeviceGetTotalEnergyConsumption(
	struct dnv_handle *device, uint64_t *millijoules)
{
	return read_gpu(device, "energy", millijoules);
}

static int read_engine(
	struct dnv_handle *device, const char *word, uint32_t *percent, uint32_t *period)
{
	if (!period)
		return DNV_INVALID_ARGUMENT;
	*period = 1000000;
	return read_u32(device, word, percent);
}

int dnv_nvmlDeviceGetEncoderUtilization(
	struct dnv_handle *device, uint32_t *percent, uint32_t *period)
{
	return read_engine(device, "encoder", percent, period);
}

int dnv_nvmlDeviceGetDecoderUtilization(
	struct dnv_handle *device, uint32_t *percent, uint32_t *period)
{
	return read_engine(device, "decoder", percent, period);
}

/* Only uncorrected errors of the volatile counter. */
int dnv_nvmlDeviceGetTotalEccErrors(
	struct dnv_handle *device, uint32_t type, uint32_t counter, uint64_t *count)
{
	if (type > 1 || counter > 1)
		return DNV_INVALID_ARGUMENT;
	if (type != 1 || counter != 0)
		return DNV_NOT_SUPPORTED;
	return read_gpu(device, "ecc", count);
}

int dnv_nvmlDeviceGetRetiredPagesPendingStatus(
	struct dnv_handle *device, uint32_t *pending)
{
	return read_u32(device, "pages-pending", pending);
}

int dnv_nvmlDeviceGetRemappedRows(struct dnv_handle *device, uint32_t *corrected,
	uint32_t *uncorrected, uint32_t *pending, uint32_t *failed)
{
	int r;

	if (!corrected || !uncorrected)
		return DNV_INVALID_ARGUMENT;
	r = read_u32(device, "rows-pending", pending);
	if (!r)
		r = read_u32(device, "rows-failed", failed);
	*corrected = 0;
	*uncorrected = !r && (*pending || *failed);
	return r;
}
