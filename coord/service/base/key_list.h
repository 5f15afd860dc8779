/*
 * A key list: all keys of one prefix after another, page by page, as they were at one
 * revision. Should that revision be compacted on the way, the rest is read as it is then,
 * or the list ends with PL_COMPACTED (exact).
 *
 *	prefix -> page -> page ... -> prefix -> page ... -> done
 *
 * Invariants
 *  - Keys of a prefix come in their order, each once.
 *  - No more than a page is in memory; pages have fewer keys where values are large
 *    (relist_page_size.h).
 */
#ifndef COORD_SERVICE_BASE_KEY_LIST_H
#define COORD_SERVICE_BASE_KEY_LIST_H

#include "coord/service/base/service.h"
#include "store/keys/keys.h"

struct key_list;

struct key_list_opts {
	int64_t revision; /* 0: the newest */
	bool exact;       /* nothing is read at another revision */
	bool keys_only;
	/* The next prefix, not empty. PL_NOTFOUND: there is none; any other code ends the
	 * list with err. Called when the prefix before has been read. */
	enum pl_code (*prefix)(void *ctx, struct keys_text *out, struct pl_err *err);
	/* Any result but PL_OK ends the list with err. The record is borrowed for
	 * the call. */
	enum pl_code (*each)(void *ctx, const struct kv_record *record,
	                     struct pl_err *err);
	/* revision: of the last page; another than was asked for if that was compacted. */
	void (*done)(void *ctx, int64_t revision, const struct pl_err *err);
	void *ctx;
};

PL_NODISCARD enum pl_code key_list_start(const struct service *service,
                                         const struct key_list_opts *opts,
                                         struct key_list **out, struct pl_err *err);
void key_list_cancel(struct key_list *list);

#endif
