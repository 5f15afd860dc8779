/*
 * A store check: does this store keep the promises that Placet rests on? One step after
 * another tries one promise each, on keys under a prefix that no other client uses.
 *
 *	reach --> put --> limits --> compare --> race --> watch --> lease --> quiet --> clean up
 *
 * Invariants
 *  - Steps after one that failed are tried all the same, but for those after "reach".
 *  - The keys are removed at the end, unless the check is canceled.
 */
#ifndef COORD_SERVICE_STORE_STORE_CHECK_H
#define COORD_SERVICE_STORE_STORE_CHECK_H

#include "coord/service/base/service.h"

enum {
	STORE_CHECK_PREFIX_MAX = 64,
	STORE_CHECK_NOTE_SIZE = 240,
	/* Half of the time after which a shard gives up a watch that owes a progress note,
	 * and lists again. */
	STORE_CHECK_QUIET_MS = 7000,
};

struct store_check;

struct store_check_opts {
	const char *
		prefix; /* of every key that is touched; at most STORE_CHECK_PREFIX_MAX */
	/* A step has ended. err NULL: the promise holds, and note says what was seen. */
	void (*step)(void *ctx, const char *name, const char *note,
	             const struct pl_err *err);
	/* PL_CANCELED only: what does not hold is said by the steps. */
	void (*done)(void *ctx, const struct pl_err *err);
	void *ctx;
};

/* PL_INVALID: the prefix. */
PL_NODISCARD enum pl_code store_check_start(const struct service *service,
                                            const struct store_check_opts *opts,
                                            struct store_check **out, struct pl_err *err);
void store_check_cancel(struct store_check *check);

#endif
