#include "coord/cli/shards/shard_find.h"

#include <stdio.h>

#include "store/base/quote.h"
#include "store/keys/keys.h"
#include "store/keys/names.h"
#include "store/kv/calls.h"

enum { SOME = 8 };

enum pl_code shard_id_check(struct pl_span id, struct pl_err *err)
{
	return names_check(NAMES_SHARD, id, err);
}

/* A few of those that are there: most often the name is a slip. */
static enum pl_code shard_not_found(struct store_session *session, struct pl_span id,
                                    struct pl_err *err)
{
	struct keys_id shards = {.kind = KEYS_SHARD};
	char quoted[PL_QUOTE_SIZE], names[160] = "";
	struct kv_result result;
	struct keys_text prefix;
	size_t len = 0;
	enum pl_code code = keys_prefix(&shards, 1, &prefix, err);
	struct kv_req req = {.op = KV_GET};

	if (code != PL_OK)
		return code;
	req.get = (struct kv_get){
		.keys = kv_prefix(keys_span(&prefix)), .limit = SOME, .keys_only = true};
	code = store_session_call(session, &req, &result, err);
	if (code != PL_OK)
		return code;
	for (size_t i = 0; i < result.get.count && len < sizeof names; i++) {
		struct pl_span key = result.get.records[i].key;

		len += (size_t)snprintf(names + len, sizeof names - len, "%s" PL_SPAN_FMT,
		                        i == 0 ? "" : ", ", (int)(key.len - prefix.len),
		                        (const char *)key.at + prefix.len);
	}
	if (result.get.count == 0)
		return pl_err_set(err, PL_NOTFOUND, "no shard %s; there are none at all",
		                  pl_quote(id, quoted));
	return pl_err_set(err, PL_NOTFOUND, "no shard %s; there %s %s%s",
	                  pl_quote(id, quoted), result.get.total == 1 ? "is" : "are",
	                  names, result.get.more ? ", ..." : "");
}

enum pl_code shard_find(struct store_session *session, struct pl_span id,
                        struct shard_found *out, struct pl_err *err)
{
	struct keys_id shard = {.kind = KEYS_SHARD, .name = id};
	const struct kv_record *record;
	struct kv_result result;
	struct keys_text key;
	enum pl_code code = keys_build(&shard, &key, err);
	struct kv_req req;

	if (code != PL_OK)
		return code;
	req = kv_op_get(kv_key(keys_span(&key)));
	code = store_session_call(session, &req, &result, err);
	if (code != PL_OK)
		return code;
	if (result.get.count == 0)
		return shard_not_found(session, id, err);
	record = &result.get.records[0];
	*out = (struct shard_found){.mod_revision = record->mod_revision,
	                            .lease = record->lease};
	code = membership_parse(id, record->value, &session->arena, &out->member,
	                        &out->why);
	out->malformed = code != PL_OK;
	if (out->malformed)
		out->member = (struct membership){.id = id};
	return PL_OK;
}

enum pl_code shard_must_exist(struct store_session *session, struct pl_span id,
                              struct pl_err *err)
{
	struct shard_found found;

	return shard_find(session, id, &found, err);
}
