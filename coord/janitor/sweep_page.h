/*
 * One page of a sweep: its requests, and what their answers say. The keys of the items
 * are kept until the next page, for the items that are removed.
 */
#ifndef COORD_JANITOR_SWEEP_PAGE_H
#define COORD_JANITOR_SWEEP_PAGE_H

#include "coord/janitor/janitor_core.h"
#include "store/base/buf.h"
#include "store/keys/keys.h"
#include "store/kv/kv.h"

enum { PAGE_COMPARES_MAX = 2 };

struct sweep_page {
	enum janitor_stage stage;
	uint32_t config;
	size_t count;
	struct keys_text keys[JANITOR_PAGE];
	struct janitor_item items[JANITOR_PAGE];
	struct keys_text shards[JANITOR_PAGE]; /* DIGESTS */
	struct keys_text current;              /* VERSIONS: the key of current */
	int64_t current_mod;
	bool more, no_current;
	uint64_t total;
	struct pl_buf cursor; /* first key of the stage's next page */
};

void sweep_page_init(struct sweep_page *page);
void sweep_page_done(struct sweep_page *page);

/* A request with everything that it borrows. */
struct sweep_page_req {
	struct kv_req req;
	struct kv_req ops[JANITOR_PAGE];
	struct keys_text from, to;
};

/* next: the page after the last one of this stage. */
void sweep_page_request(struct sweep_page *page, enum janitor_stage stage,
                        uint32_t config, bool next, struct sweep_page_req *out);
PL_NODISCARD enum pl_code sweep_page_apply(struct sweep_page *page,
                                           const struct kv_result *result,
                                           struct pl_err *err);

/* DIGESTS: a second request asks whether the shards are registered. False: it is not
 * needed. */
bool sweep_page_request_shards(const struct sweep_page *page, struct sweep_page_req *out);
void sweep_page_apply_shards(struct sweep_page *page, const struct kv_result *result);

struct janitor_page sweep_page_view(const struct sweep_page *page);

/* The compares under which the item may be removed, besides the election's guard. */
size_t sweep_page_compares(const struct sweep_page *page, size_t item,
                           struct kv_compare out[PAGE_COMPARES_MAX]);

#endif
