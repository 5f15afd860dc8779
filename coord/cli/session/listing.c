#include "coord/cli/session/listing.h"

#include "store/keys/keys.h"
#include "store/kv/calls.h"

struct session_listing {
	struct pl_span prefix;
	struct pl_span end; /* behind all with the prefix */
	uint8_t end_bytes[KEYS_SIZE_MAX];
	uint8_t from[KEYS_SIZE_MAX * 2]; /* where the next page begins */
	size_t from_len;
	int64_t limit;
};

/* The key behind this one: itself with a NUL. Keys that are longer than any of ours make
 * the page begin at themselves again, so they are passed over. */
static bool continue_after(struct session_listing *listing, struct pl_span key)
{
	if (key.len + 1 > sizeof listing->from)
		return false;
	memcpy(listing->from, key.at, key.len);
	listing->from[key.len] = 0;
	listing->from_len = key.len + 1;
	return true;
}

static enum pl_code call_page(struct store_session *session, const struct kv_req *req,
                              struct kv_result *out, struct pl_err *err)
{
	*err = (struct pl_err){0};
	pl_arena_reset(&session->arena);
	return store_session_call(session, req, out, err);
}

static enum pl_code read_page(struct store_session *session,
                              struct session_listing *listing, int64_t *revision,
                              struct kv_result *out, struct pl_err *err)
{
	struct kv_req req = kv_op_get(
		kv_range(pl_span(listing->from, listing->from_len), listing->end));
	enum pl_code code;

	do {
		req.get.limit = listing->limit;
		req.get.revision = *revision;
		code = call_page(session, &req, out, err);
		/* Pods may be of a megabyte each. */
		if (code == PL_NOMEM)
			listing->limit /= 4;
	} while (code == PL_NOMEM && listing->limit >= SESSION_LIST_PAGE_MIN);
	if (code == PL_COMPACTED && *revision != 0) {
		req.get.revision = 0;
		code = call_page(session, &req, out, err);
		if (code == PL_OK)
			*revision = out->header.revision;
	}
	if (code == PL_OK && *revision == 0)
		*revision = out->header.revision;
	return code;
}

enum pl_code session_list(struct store_session *session, struct pl_span prefix,
                          int64_t *revision, session_list_fn *fn, void *ctx,
                          struct pl_err *err)
{
	struct session_listing listing = {
		.prefix = prefix, .from_len = prefix.len, .limit = SESSION_LIST_PAGE};
	struct kv_result page = {.get = {.more = true}};

	PL_ASSERT(prefix.len > 0 && prefix.len <= KEYS_SIZE_MAX);
	memcpy(listing.from, prefix.at, prefix.len);
	listing.end = kv_prefix_end(prefix, listing.end_bytes);
	while (page.get.more) {
		enum pl_code code = read_page(session, &listing, revision, &page, err);

		for (size_t i = 0; i < page.get.count && code == PL_OK; i++)
			code = fn(ctx, &page.get.records[i], err);
		if (code != PL_OK)
			return code;
		if (page.get.more &&
		    (page.get.count == 0 ||
		     !continue_after(&listing, page.get.records[page.get.count - 1].key)))
			return pl_err_set(err, PL_PROTO, "a page that does not end");
	}
	return PL_OK;
}
