/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gnutls/abstract.h>

struct clv_error;

/* The certificate of the server, which is read again once its files have changed, so that
 * a Secret that is renewed is used without a restart.  libmicrohttpd passes the function
 * that it asks for the certificate no argument: a process has one certificate.  Any
 * thread. */

/* Reads both PEM files, and remembers their paths.  -EINVAL: no certificate, no key, or
 * the two do not match. */
int clv_certificate_serve(
	const char *certificate, const char *key, struct clv_error *err);
void clv_certificate_end(void);

/* A gnutls_certificate_retrieve_function3.  While the files cannot be used, as during a
 * renewal, the earlier certificate is. */
int clv_certificate_retrieve(gnutls_session_t session,
	const struct gnutls_cert_retr_st *info, gnutls_pcert_st **ret_chain,
	unsigned int *ret_n_chain, gnutls_ocsp_data_st **ret_ocsp,
	unsigned int *ret_n_ocsp, gnutls_privkey_t *ret_key, unsigned int *ret_flags);
