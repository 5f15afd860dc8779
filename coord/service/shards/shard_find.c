#include "coord/service/shards/shard_find.h"

#include <stdio.h>
#include <stdlib.h>

#include "coord/service/base/sequence.h"
#include "store/base/alloc.h"
#include "store/base/arena.h"
#include "store/base/quote.h"
#include "store/keys/keys.h"
#include "store/keys/names.h"
#include "store/kv/calls.h"

enum { SHOWN = 8, NAMES_SIZE = 160, ARENA_MAX = 16 << 20 };

struct shard_find {
	struct sequence sequence;
	struct pl_span id;
	struct keys_text key;
	shard_find_fn *done;
	void *ctx;
};

enum pl_code shard_id_check(struct pl_span id, struct pl_err *err)
{
	return names_check(NAMES_SHARD, id, err);
}

static void find_finish(struct shard_find *find, const struct shard_info *shard,
                        const struct pl_err *err)
{
	shard_find_fn *done = find->done;
	void *ctx = find->ctx;

	sequence_done(&find->sequence);
	free(find);
	done(ctx, shard, err);
}

/* Names some of the shards that exist: most often the id is misspelt. */
static void on_ids(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct shard_find *find = ctx;
	char quoted[PL_QUOTE_SIZE], names[NAMES_SIZE] = "";
	size_t prefix = find->key.len, len = 0;
	struct pl_err why;

	if (err != NULL) {
		find_finish(find, NULL, err);
		return;
	}
	for (size_t i = 0; i < result->get.count && len < sizeof names; i++) {
		struct pl_span key = result->get.records[i].key;

		len += (size_t)snprintf(names + len, sizeof names - len, "%s" PL_SPAN_FMT,
		                        i == 0 ? "" : ", ", (int)(key.len - prefix),
		                        (const char *)key.at + prefix);
	}
	if (result->get.count == 0)
		(void)pl_err_set(&why, PL_NOTFOUND, "no shard %s; there are none at all",
		                 pl_quote(find->id, quoted));
	else
		(void)pl_err_set(&why, PL_NOTFOUND, "no shard %s; there %s %s%s",
		                 pl_quote(find->id, quoted),
		                 result->get.total == 1 ? "is" : "are", names,
		                 result->get.more ? ", ..." : "");
	find_finish(find, NULL, &why);
}

static void read_ids(struct shard_find *find)
{
	const struct keys_id shards = {.kind = KEYS_SHARD};
	struct kv_req req = {.op = KV_GET};

	if (keys_prefix(&shards, 1, &find->key, NULL) != PL_OK)
		PL_UNREACHABLE("a prefix without names");
	req.get = (struct kv_get){.keys = kv_prefix(keys_span(&find->key)),
	                          .limit = SHOWN,
	                          .keys_only = true};
	sequence_send(&find->sequence, &req, on_ids);
}

static void on_record(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct shard_find *find = ctx;
	const struct kv_record *record;
	struct shard_info shard = {0};
	struct pl_arena arena;

	if (err != NULL) {
		find_finish(find, NULL, err);
		return;
	}
	if (result->get.count == 0) {
		read_ids(find);
		return;
	}
	record = &result->get.records[0];
	shard.mod_revision = record->mod_revision;
	shard.lease = record->lease;
	pl_arena_init(&arena, 0, ARENA_MAX);
	shard.malformed = membership_parse(find->id, record->value, &arena, &shard.member,
	                                   &shard.why) != PL_OK;
	if (shard.malformed)
		shard.member = (struct membership){.id = find->id};
	find_finish(find, &shard, NULL);
	pl_arena_done(&arena);
}

enum pl_code shard_find_start(const struct service *service, struct pl_span id,
                              shard_find_fn *done, void *ctx, struct shard_find **out,
                              struct pl_err *err)
{
	const struct keys_id shard = {.kind = KEYS_SHARD, .name = id};
	struct shard_find *find = pl_calloc(1, sizeof *find);
	struct kv_req req;

	if (find == NULL)
		return pl_err_set(err, PL_NOMEM, "find a shard");
	*find = (struct shard_find){.id = id, .done = done, .ctx = ctx};
	if (keys_build(&shard, &find->key, err) != PL_OK ||
	    sequence_init(&find->sequence, service->kv, service->timeout_ms, find, err) !=
	            PL_OK) {
		free(find);
		return err->code;
	}
	req = kv_op_get(kv_key(keys_span(&find->key)));
	sequence_send(&find->sequence, &req, on_record);
	*out = find;
	return PL_OK;
}

void shard_find_cancel(struct shard_find *find)
{
	sequence_cancel(&find->sequence);
}
