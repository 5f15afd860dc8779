/*
 * A client by its certificate: the parts that identify it, each by itself, so that
 * no name can be taken for another one, as in a printed "CN=a,O=b".
 *
 * Invariants: names are well-formed UTF-8 of 1 to TLS_CLIENT_NAME_MAX bytes without
 * control characters. They are read only from a certificate that a trusted authority has
 * signed for clients, that is valid today and not revoked (TLS_CLIENT_TRUSTED); of any
 * other one nothing is known but the reason.
 */
#ifndef STORE_NET_TLS_CLIENT_H
#define STORE_NET_TLS_CLIENT_H

#include <stdint.h>

#include "store/base/span.h"

enum {
	TLS_CLIENT_NAME_MAX = 1024,
	TLS_CLIENT_GROUPS_MAX = 64,
	TLS_CLIENT_SERIAL_MAX = 41
};

enum tls_client_state {
	TLS_CLIENT_TRUSTED,
	TLS_CLIENT_UNTRUSTED, /* another authority, expired, revoked, for servers only */
	TLS_CLIENT_UNNAMED,   /* broken rules of names, or not exactly one CN */
};

struct tls_client {
	enum tls_client_state state;
	const char *why;              /* constant words; NULL: TLS_CLIENT_TRUSTED */
	struct pl_span name;          /* the one CN */
	const struct pl_span *groups; /* each O, in the certificate's order */
	size_t group_count;
	struct pl_span serial; /* hexadecimal, 1 to 40 digits */
	int64_t until_s;       /* notAfter, in Unix seconds */
};

#endif
