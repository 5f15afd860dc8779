/*
 * One page of a sweep: what is asked for, and what the answers say. The items'
 * keys stay until the next page, for those that are removed.
 */
#ifndef COORD_JANITOR_PAGE_H
#define COORD_JANITOR_PAGE_H

#include "coord/janitor/janitor_core.h"
#include "store/base/buf.h"
#include "store/keys/keys.h"
#include "store/kv/kv.h"

enum { PAGE_COMPARES_MAX = 2 };

struct page {
	enum janitor_stage stage;
	uint32_t config;
	size_t count;
	struct keys_text keys[JANITOR_PAGE];
	struct janitor_item items[JANITOR_PAGE];
	struct keys_text shards[JANITOR_PAGE]; /* DIGESTS */
	struct keys_text current;              /* VERSIONS: the key that says so */
	int64_t current_mod;
	bool more, no_current;
	uint64_t total;
	struct pl_buf cursor; /* where the next page of the stage begins */
};

void page_init(struct page *page);
void page_done(struct page *page);

/* A request that is put together, with what it borrows. */
struct page_req {
	struct kv_req req;
	struct kv_req ops[JANITOR_PAGE];
	struct keys_text from, to;
};

/* next: the one behind the last of this stage. */
void page_ask(struct page *page, enum janitor_stage stage, uint32_t config, bool next,
              struct page_req *out);
PL_NODISCARD enum pl_code page_take(struct page *page, const struct kv_result *result,
                                    struct pl_err *err);

/* DIGESTS: whether their shards live is asked for apart. False: no need. */
bool page_ask_shards(const struct page *page, struct page_req *out);
void page_take_shards(struct page *page, const struct kv_result *result);

struct janitor_page page_view(const struct page *page);

/* What must hold for the item to be removed, besides the election's guard. */
size_t page_compares(const struct page *page, size_t item,
                     struct kv_compare out[PAGE_COMPARES_MAX]);

#endif
