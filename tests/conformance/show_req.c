#include <inttypes.h>

#include "tests/conformance/show.h"

static void show_keys(struct pl_buf *buf, const struct kv_keys *keys)
{
	switch (keys->kind) {
	case KV_ONE:
		show_text(buf, " ");
		show_span(buf, keys->from);
		return;
	case KV_RANGE:
		show_text(buf, " [");
		show_span(buf, keys->from);
		show_text(buf, ", ");
		show_span(buf, keys->to);
		show_text(buf, ")");
		return;
	case KV_PREFIX:
		show_text(buf, " ");
		show_span(buf, keys->from);
		show_text(buf, "*");
		return;
	case KV_FROM:
		show_text(buf, " [");
		show_span(buf, keys->from);
		show_text(buf, ", ...)");
		return;
	}
	show_text(buf, " kind %d", (int)keys->kind);
}

static void show_flag(struct pl_buf *buf, bool is_set, const char *name)
{
	if (is_set)
		show_text(buf, " %s", name);
}

static void show_lease_id(struct pl_buf *buf, int64_t id)
{
	if (id == 0)
		show_text(buf, " of the store's choice");
	else if (id >= NAMES_CHOSEN)
		show_text(buf, " S%" PRId64, id - NAMES_CHOSEN);
	else
		show_text(buf, " L%" PRId64, id);
}

static void show_get(struct pl_buf *buf, const struct kv_get *get)
{
	show_keys(buf, &get->keys);
	if (get->limit != 0)
		show_text(buf, " limit %" PRId64, get->limit);
	if (get->revision != 0)
		show_text(buf, " revision %" PRId64, get->revision);
	show_flag(buf, get->keys_only, "keys_only");
	show_flag(buf, get->count_only, "count_only");
	show_flag(buf, get->serializable, "serializable");
}

static void show_put(struct pl_buf *buf, const struct kv_put *put)
{
	show_text(buf, " ");
	show_span(buf, put->key);
	show_text(buf, "=");
	if (put->value.len > 0)
		show_span(buf, put->value);
	if (put->lease != 0) {
		show_text(buf, " lease");
		show_lease_id(buf, put->lease);
	}
	show_flag(buf, put->want_prev, "want_prev");
	show_flag(buf, put->keep_value, "keep_value");
	show_flag(buf, put->keep_lease, "keep_lease");
}

static void show_compare(struct pl_buf *buf, const struct kv_compare *compare)
{
	static const char *const targets[] = {[KV_VERSION] = "version",
	                                      [KV_CREATE_REV] = "create_revision",
	                                      [KV_MOD_REV] = "mod_revision",
	                                      [KV_VALUE] = "value",
	                                      [KV_LEASE] = "lease"};
	static const char *const relations[] = {
		[KV_EQ] = "==", [KV_NE] = "!=", [KV_LT] = "<", [KV_GT] = ">"};

	show_text(buf, "%s", targets[compare->target]);
	show_keys(buf, &compare->keys);
	show_text(buf, " %s ", relations[compare->relation]);
	if (compare->target == KV_VALUE)
		show_span(buf, compare->value);
	else if (compare->target == KV_LEASE && compare->number != 0)
		show_text(buf, "L%" PRId64, compare->number);
	else
		show_text(buf, "%" PRId64, compare->number);
}

static void show_ops(struct pl_buf *buf, /* NOLINT(misc-no-recursion) */
                     const char *word, const struct kv_req *ops, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		show_text(buf, i == 0 ? " %s {" : "; ", word);
		show_req(buf, &ops[i]);
	}
	if (count > 0)
		show_text(buf, "}");
}

static void show_txn(struct pl_buf *buf, /* NOLINT(misc-no-recursion) */
                     const struct kv_txn *txn)
{
	for (size_t i = 0; i < txn->compare_count; i++) {
		show_text(buf, i == 0 ? " if " : " && ");
		show_compare(buf, &txn->compares[i]);
	}
	show_ops(buf, "then", txn->then, txn->then_count);
	show_ops(buf, "else", txn->otherwise, txn->otherwise_count);
}

void show_req(struct pl_buf *buf, /* NOLINT(misc-no-recursion) */
              const struct kv_req *req)
{
	show_text(buf, "%s", kv_op_name(req->op));
	switch (req->op) {
	case KV_GET:
		show_get(buf, &req->get);
		break;
	case KV_PUT:
		show_put(buf, &req->put);
		break;
	case KV_DELETE:
		show_keys(buf, &req->del.keys);
		show_flag(buf, req->del.want_prev, "want_prev");
		break;
	case KV_TXN:
		show_txn(buf, &req->txn);
		break;
	case KV_COMPACT:
		show_text(buf, " %" PRId64, req->compact.revision);
		show_flag(buf, req->compact.physical, "physical");
		break;
	case KV_LEASE_GRANT:
		show_lease_id(buf, req->lease.id);
		show_text(buf, " ttl %" PRId64, req->lease.ttl_s);
		break;
	case KV_LEASE_REVOKE:
	case KV_LEASE_KEEP:
	case KV_LEASE_TTL:
		show_lease_id(buf, req->lease.id);
		show_flag(buf, req->op == KV_LEASE_TTL && req->lease.want_keys,
		          "want_keys");
		break;
	case KV_STATUS:
	case KV_OP_COUNT:
		break;
	}
}

void show_watch(struct pl_buf *buf, const struct kv_watch_req *req)
{
	show_text(buf, "watch");
	show_keys(buf, &req->keys);
	if (req->from_revision != 0)
		show_text(buf, " from revision %" PRId64, req->from_revision);
	show_flag(buf, req->want_prev, "want_prev");
	show_flag(buf, req->no_puts, "no_puts");
	show_flag(buf, req->no_deletes, "no_deletes");
}
