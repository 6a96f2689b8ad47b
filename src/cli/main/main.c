/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/run.h"
#include "cli/main/table.h"

int main(int argc, char **argv)
{
	return clv_run(&clv_cleave_table, argc, argv);
}
