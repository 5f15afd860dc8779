/*
 * A pod's JSON in which what differs from replica to replica is open: made once for a
 * template, printed once for each of its pods.
 *
 * In the text that it is made of an open place is a byte that JSON can not have there:
 * "name":"\001" is printed as "name":"web-0". The text is stored without spaces between
 * its tokens; what stands in strings is untouched.
 */
#ifndef SHARDSCHED_EXPAND_MOULD_H
#define SHARDSCHED_EXPAND_MOULD_H

#include <stdbool.h>

#include "store/base/buf.h"

#define MOULD_NAME "\001"
#define MOULD_UID "\002"
#define MOULD_INDEX "\003"

enum { MOULD_NAME_AT = 1, MOULD_UID_AT, MOULD_INDEX_AT, MOULD_OPEN_MAX = 16 };

struct mould {
	struct pl_buf text; /* without the open places */
	struct {
		size_t at;
		uint8_t what;
	} open[MOULD_OPEN_MAX];
	unsigned count;
};

/* What goes into the open places: JSON strings without their quotes. */
struct mould_fill {
	struct pl_span name, uid, index;
};

void mould_init(struct mould *mould, size_t bytes_max);
void mould_done(struct mould *mould);

/* json is one value that was scanned, but for its open places. PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code mould_set(struct mould *mould, struct pl_span json);
/* Texts and open places. */
bool mould_eq(const struct mould *a, const struct mould *b);

/* Adds to out. PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code mould_print(const struct mould *mould,
                                      const struct mould_fill *fill, struct pl_buf *out);

#endif
