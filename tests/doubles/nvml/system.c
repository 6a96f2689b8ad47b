/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"
#include "call.h"
#include <stdio.h>

int dnv_nvmlInit_v2(void)
{
	return dnv_attach(0);
}

int dnv_nvmlInitWithFlags(uint32_t flags)
{
	return dnv_attach(flags);
}

int dnv_nvmlShutdown(void)
{
	return dnv_detach();
}

int dnv_nvmlSystemGetDriverVersion(char *version, uint32_t bytes)
{
	return dnv_answer_text(version, bytes, dnv_node()->driver);
}

int dnv_nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	if (!version)
		return DNV_INVALID_ARGUMENT;
	/* NVIDIA's release notes of CUDA: 11.0 came with R450, 11.4 with R470, 13.0 with
	 * R580; what came with R615 is an assumption. */
	*version = DNV_DRIVER < 470   ? 11000
		   : DNV_DRIVER < 580 ? 11040
		   : DNV_DRIVER < 615 ? 13000
				      : 13030;
	return DNV_SUCCESS;
}

int dnv_nvmlSystemGetNVMLVersion(char *version, uint32_t bytes)
{
	char text[96];

	/* The driver's version, part of the API's; also known without a driver. */
	snprintf(text, sizeof(text), "%u.%s", DNV_DRIVER < 580 ? 11 : 13,
		dnv_node()->driver[0] ? dnv_node()->driver : "0");
	return dnv_answer_text(version, bytes, text);
}
