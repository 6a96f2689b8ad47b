/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/streams/driver.h"

const struct clv_stream_driver *clv_stream_driver;

void clv_streams_begin(const struct clv_stream_driver *driver)
{
	clv_stream_driver = driver;
}
