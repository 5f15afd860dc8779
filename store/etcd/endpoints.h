/*
 * The members a client may talk to, and which of them to try next. Pure.
 *
 * One list serves all the connections of a client. A member that failed is
 * avoided for a while that doubles with each failure; when all are being avoided
 * the one whose time is up first is tried at that time. So a client of one
 * member backs off, and a client of three moves on at once.
 */
#ifndef STORE_ETCD_ENDPOINTS_H
#define STORE_ETCD_ENDPOINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/base/rng.h"

enum {
	ENDPOINTS_MAX = 16,
	ENDPOINT_HOST_MAX = 256,
	ENDPOINT_AVOID_FIRST_MS = 50,
	ENDPOINT_AVOID_MAX_MS = 1500,
};

struct endpoint {
	char host[ENDPOINT_HOST_MAX]; /* without brackets */
	uint16_t port;
	unsigned failures; /* in a row */
	uint64_t avoid_until_ms;
	struct pl_err err; /* the last failure; PL_OK: none since it worked */
};

struct endpoints {
	struct endpoint at[ENDPOINTS_MAX];
	unsigned count;
	bool tls; /* https: all of them or none */
};

/* "http://host:port,https://[::1]:2379,..."; the scheme may be left out (http)
 * and so may the port (2379). */
PL_NODISCARD enum pl_code endpoints_parse(struct endpoints *list, const char *text,
                                          struct pl_err *err);

/* The best to try: *at_ms is when, not before now_ms. after is the one to move
 * away from, -1: none. */
unsigned endpoints_pick(const struct endpoints *list, int after, uint64_t now_ms,
                        uint64_t *at_ms);

void endpoints_failed(struct endpoints *list, unsigned which, const struct pl_err *err,
                      uint64_t now_ms, struct pl_rng *rng);
void endpoints_worked(struct endpoints *list, unsigned which);

/* True when every member's last word was a failure that waiting will not cure
 * (a certificate that does not fit, a server that is not etcd); *err is one. */
bool endpoints_failed_for_good(const struct endpoints *list, struct pl_err *err);

#endif
