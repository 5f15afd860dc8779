/*
 * For tests of the HTTP server: one request of libcurl, as an independent client, on a
 * thread of its own while the server's loop turns.
 */
#ifndef TESTS_SUPPORT_STORE_NET_WEB_CURL_H
#define TESTS_SUPPORT_STORE_NET_WEB_CURL_H

#include "tests/support/store/net/web_rig.h"

struct web_curl_opts {
	const char *path;
	bool http2;           /* by ALPN; in clear text by prior knowledge */
	bool old;             /* HTTP/1.0 */
	const char *cert_dir; /* TLS with its ca.pem; NULL: clear text */
	const char *client;   /* "client" or "server" of cert_dir; NULL: no certificate */
	const char *accept;   /* Accept-Encoding; NULL: none */
	const char *field;    /* one more header line; NULL: none */
	struct pl_span body;  /* len > 0: a POST */
	unsigned times;       /* on one connection; 0: 1 */
};

struct web_curl {
	int code; /* CURLcode of the last one */
	long status, version, conns;
	char *got; /* body, unpacked by curl; for free() */
	size_t len, cap;
	int64_t wire_len; /* of the body as it came */
};

/* Turns the rig's loop until the answer is there. */
struct web_curl web_curl(struct web_rig *rig, const struct web_curl_opts *opts);

#endif
