/*
 * The members that a client may connect to, and which one to try next. Pure.
 *
 * One list serves all channels of a client. A member that failed is avoided for a time
 * that doubles with each failure. When all are avoided, the one whose time ends first is
 * tried at that time. So a client of one member backs off, and a client of three moves on
 * at once.
 *
 * Invariant: count > 0 after endpoints_parse().
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
	char host[ENDPOINT_HOST_MAX]; /* a name or an address, IPv6 without brackets */
	uint16_t port;
	unsigned failures; /* failures in a row */
	uint64_t avoid_until_ms;
	struct pl_err err; /* the last failure; PL_OK: none since it last worked */
};

struct endpoints {
	struct endpoint at[ENDPOINTS_MAX];
	unsigned count;
	bool tls; /* https; all members or none */
};

/* Parses "http://host:port,https://[::1]:2379,..."; the scheme (http) and the port (2379)
 * may be left out. PL_INVALID says which endpoint is wrong. */
PL_NODISCARD enum pl_code endpoints_parse(struct endpoints *list, const char *text,
                                          struct pl_err *err);

/* The member to try next; *at_ms says when, not before now_ms. after is the member to
 * move away from, -1: none. */
unsigned endpoints_pick(const struct endpoints *list, int after, uint64_t now_ms,
                        uint64_t *at_ms);

void endpoints_failed(struct endpoints *list, unsigned which, const struct pl_err *err,
                      uint64_t now_ms, struct pl_rng *rng);
void endpoints_worked(struct endpoints *list, unsigned which);

/* True when every member's last failure is one that waiting does not cure (a certificate
 * that does not fit, a server that is not etcd); *err gets one of them. */
bool endpoints_failed_for_good(const struct endpoints *list, struct pl_err *err);

#endif
