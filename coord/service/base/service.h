/*
 * A service: the store of one Placet, as its clients see it. Every operation of
 * coord/service takes one; a command line makes one for a command, an API server one for
 * all its requests.
 *
 * An operation x has x_start(service, opts, ...), which copies the options and, unless it
 * says otherwise, borrows the spans in them until the operation ends; and x_cancel. Its
 * done callback
 *  - fires exactly once after a successful start, and never inside x_start or x_cancel;
 *  - is the last call of the operation: the operation's memory goes after it, and what it
 *    hands over is borrowed until it returns;
 *  - gets PL_CANCELED after x_cancel, unless the outcome was known by then.
 * Nothing here waits, prints, or reads files and clocks: time is the store's (kv_now_ms)
 * or an option.
 */
#ifndef COORD_SERVICE_BASE_SERVICE_H
#define COORD_SERVICE_BASE_SERVICE_H

#include <stdint.h>

#include "store/kv/kv.h"

/* Borrowed by operations until they end; immutable while any runs. */
struct service {
	struct kv *kv;       /* keys below the root prefix */
	uint32_t partitions; /* partitions of the store (/placet/meta) */
	uint64_t timeout_ms; /* of each request */
	const char *user;    /* "ann@host", noted in what is written; NULL: unknown */
};

#endif
