#include "coord/janitor/sweep_page.h"

#include "coord/config/config_record.h"
#include "store/base/hash.h"
#include "store/kv/calls.h"

enum { KEY_MAX = 2 << 20 };

static const enum keys_kind kinds[JANITOR_STAGES] = {
	[JANITOR_OWNERS] = KEYS_OWNER,
	[JANITOR_LEADERS] = KEYS_LEADER,
	[JANITOR_DIGESTS] = KEYS_DIGEST,
	[JANITOR_VERSIONS] = KEYS_CONFIG,
};

void sweep_page_init(struct sweep_page *page)
{
	page->count =
		0; /* sweep_page_request fills in the rest; most shards never send one */
	pl_buf_init(&page->cursor, KEY_MAX);
}

void sweep_page_done(struct sweep_page *page)
{
	pl_buf_done(&page->cursor);
}

static void key_must(enum pl_code code)
{
	PL_ASSERT(code == PL_OK); /* the parts are constants or were parsed from keys */
}

static void request_range(struct sweep_page *page, bool next, struct sweep_page_req *out)
{
	struct keys_id id = {.kind = kinds[page->stage]};
	struct pl_span end;

	key_must(keys_prefix(&id, 1, &out->from, NULL));
	end = kv_prefix_end(keys_span(&out->from), (uint8_t *)out->to.at);
	out->req = kv_op_get(
		kv_range(next ? pl_buf_span(&page->cursor) : keys_span(&out->from), end));
	out->req.get.limit = JANITOR_PAGE;
	out->req.get.keys_only = true;
}

static void request_versions(struct sweep_page *page, struct sweep_page_req *out)
{
	enum config_name name = (enum config_name)page->config;

	config_current_key(name, &page->current);
	config_version_key(name, 0, &out->from);
	config_version_key(name, KEYS_VERSION_MAX, &out->to);
	out->ops[0] = kv_op_get(kv_key(keys_span(&page->current)));
	out->ops[1] = kv_op_get(kv_range(keys_span(&out->from), keys_span(&out->to)));
	out->ops[1].get.limit = JANITOR_PAGE;
	out->ops[1].get.keys_only = true;
	out->req =
		(struct kv_req){.op = KV_TXN, .txn = {.then = out->ops, .then_count = 2}};
}

void sweep_page_request(struct sweep_page *page, enum janitor_stage stage,
                        uint32_t config, bool next, struct sweep_page_req *out)
{
	page->stage = stage;
	page->config = config;
	page->count = 0;
	page->more = false;
	page->no_current = false;
	page->total = 0;
	if (stage == JANITOR_VERSIONS)
		request_versions(page, out);
	else
		request_range(page, next, out);
}

static void add_key(struct sweep_page *page, const struct kv_record *record,
                    uint64_t current_version)
{
	struct keys_id id, shard;
	size_t at = page->count;

	if (keys_parse(record->key, &id, NULL) != PL_OK || id.kind != kinds[page->stage])
		return;
	page->count++;
	key_must(keys_build(&id, &page->keys[at], NULL));
	page->items[at] = (struct janitor_item){
		.mod_revision = record->mod_revision,
		.lease = record->lease,
		.current = id.version == current_version,
		.hash = page->stage == JANITOR_DIGESTS ? pl_hash(id.name) : 0,
	};
	shard = (struct keys_id){.kind = KEYS_SHARD, .name = id.name};
	if (page->stage == JANITOR_DIGESTS)
		key_must(keys_build(&shard, &page->shards[at], NULL));
}

static enum pl_code apply_range(struct sweep_page *page, const struct kv_get_result *get,
                                uint64_t current_version, struct pl_err *err)
{
	size_t count = get->count < JANITOR_PAGE ? get->count : JANITOR_PAGE;
	struct pl_span last;

	for (size_t i = 0; i < count; i++)
		add_key(page, &get->records[i], current_version);
	page->more = get->more && count != 0;
	if (!page->more || page->stage == JANITOR_VERSIONS)
		return PL_OK;
	last = get->records[count - 1].key;
	pl_buf_clear(&page->cursor, SIZE_MAX);
	if (pl_buf_add(&page->cursor, last) == PL_OK &&
	    pl_buf_add(&page->cursor, pl_span("", 1)) == PL_OK)
		return PL_OK;
	return pl_err_set(err, PL_NOMEM, "key of %zu bytes", last.len);
}

static enum pl_code read_current(struct pl_span json, uint64_t *version,
                                 struct pl_err *err)
{
	struct pl_arena arena;
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	code = config_current_parse(json, &arena, version, err);
	pl_arena_done(&arena);
	return code;
}

/* Which version is current decides what may be removed, so nothing is removed while
 * that is not known. */
static enum pl_code apply_versions(struct sweep_page *page,
                                   const struct kv_txn_result *txn, struct pl_err *err)
{
	const struct kv_get_result *current = &txn->results[0].get;
	const struct kv_get_result *range = &txn->results[1].get;
	uint64_t version = 0;
	enum pl_code code;

	page->no_current = current->count == 0;
	if (current->count != 0) {
		page->current_mod = current->records[0].mod_revision;
		code = read_current(current->records[0].value, &version, err);
		if (code == PL_NOMEM)
			return code;
		page->no_current = code != PL_OK;
	}
	code = apply_range(page, range, version, err);
	page->total = (uint64_t)range->total - (range->count - page->count);
	page->more = false; /* the rest waits for the next sweep */
	return code;
}

enum pl_code sweep_page_apply(struct sweep_page *page, const struct kv_result *result,
                              struct pl_err *err)
{
	if (page->stage == JANITOR_VERSIONS)
		return apply_versions(page, &result->txn, err);
	return apply_range(page, &result->get, 0, err);
}

bool sweep_page_request_shards(const struct sweep_page *page, struct sweep_page_req *out)
{
	if (page->stage != JANITOR_DIGESTS || page->count == 0)
		return false;
	for (size_t i = 0; i < page->count; i++) {
		out->ops[i] = kv_op_get(kv_key(keys_span(&page->shards[i])));
		out->ops[i].get.keys_only = true;
	}
	out->req = (struct kv_req){.op = KV_TXN,
	                           .txn = {.then = out->ops, .then_count = page->count}};
	return true;
}

void sweep_page_apply_shards(struct sweep_page *page, const struct kv_result *result)
{
	PL_ASSERT(result->txn.count == page->count);
	for (size_t i = 0; i < page->count; i++)
		page->items[i].shard_lives = result->txn.results[i].get.count != 0;
}

struct janitor_page sweep_page_view(const struct sweep_page *page)
{
	return (struct janitor_page){.items = page->items,
	                             .count = page->count,
	                             .more = page->more,
	                             .total = page->total,
	                             .no_current = page->no_current};
}

size_t sweep_page_compares(const struct sweep_page *page, size_t item,
                           struct kv_compare out[PAGE_COMPARES_MAX])
{
	PL_ASSERT(item < page->count);
	out[0] = kv_if_mod_rev(keys_span(&page->keys[item]), KV_EQ,
	                       page->items[item].mod_revision);
	switch (page->stage) {
	case JANITOR_OWNERS:
	case JANITOR_LEADERS:
		out[1] = kv_if_lease(keys_span(&page->keys[item]), KV_EQ, 0);
		return 2;
	case JANITOR_DIGESTS:
		out[1] = kv_if_create_rev(keys_span(&page->shards[item]), KV_EQ, 0);
		return 2;
	case JANITOR_VERSIONS:
		out[1] = kv_if_mod_rev(keys_span(&page->current), KV_EQ,
		                       page->current_mod);
		return 2;
	case JANITOR_STAGES:
		break;
	}
	PL_UNREACHABLE("stage of a page");
}
