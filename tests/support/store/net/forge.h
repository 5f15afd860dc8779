/*
 * For tests: an authority that signs whatever it is asked for, its lists of revoked
 * certificates, and a directory for the files, which goes with the test.
 */
#ifndef TESTS_SUPPORT_STORE_NET_FORGE_H
#define TESTS_SUPPORT_STORE_NET_FORGE_H

#include <openssl/x509.h>

#include "store/base/span.h"

enum { FORGE_PATH = 256 };

struct forge {
	EVP_PKEY *key;
	X509 *cert;
};

/* A part of a subject: "CN", "O", ... */
struct forge_part {
	const char *what;
	const char *text;
	int type; /* V_ASN1_...; 0: UTF8String */
	int len;  /* of text; 0: to its NUL */
};

struct forge_leaf {
	const struct forge_part *parts; /* ends with what NULL */
	const char *usage;              /* of keys, extended; NULL: "clientAuth" */
	const char *names;              /* alternative ones; NULL: none */
	long from_s, until_s;           /* from now; until 0: one day */
	uint64_t serial;                /* 0: 1 */
	bool no_usage;
};

/* The path of a file in the directory. */
const char *forge_path(const char *name);

/* An authority of that name, signed by another one (NULL: by itself). */
struct forge forge_authority(const char *name, const struct forge *by);
struct forge forge_leaf(const struct forge *authority, const struct forge_leaf *leaf);
void forge_free(struct forge *forge);

/* A list of revoked serial numbers, which ends with 0. until_s: of the list, from now. */
X509_CRL *forge_crl(const struct forge *authority, const uint64_t *serials, long until_s);

/* Files in the directory. */
void forge_write_cert(const char *name, const struct forge *forge);
void forge_write_key(const char *name, const struct forge *forge);
void forge_write_crl(const char *name, X509_CRL *crl);
void forge_write(const char *name, struct pl_span bytes);

#endif
