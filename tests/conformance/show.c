#include "tests/conformance/show.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/base/rng.h"

/* Values that tests of limits use are megabytes. */
enum { SHOWN_MAX = 64, TTL_SLACK_SHARE = 2 };

void show_text(struct pl_buf *buf, const char *fmt, ...)
{
	char text[256];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	PL_ASSERT(len >= 0 && (size_t)len < sizeof text);
	PL_ASSERT(pl_buf_add(buf, pl_span(text, (size_t)len)) == PL_OK);
}

const char *show_code(enum pl_code code)
{
#define NAME(name, text, advice) [PL_##name] = #name,
	static const char *const names[PL_CODE_COUNT] = {"OK", PL_ERR_MAP(NAME)};
#undef NAME
	PL_ASSERT((unsigned)code < PL_CODE_COUNT);
	return names[code];
}

static bool is_mark(uint8_t byte)
{
	return byte == '/' || byte == '-' || byte == '_' || byte == '.';
}

static bool is_plain(struct pl_span span)
{
	for (size_t i = 0; i < span.len; i++)
		if (!isalnum(span.at[i]) && !is_mark(span.at[i]))
			return false;
	return span.len > 0;
}

static uint64_t fingerprint(struct pl_span span)
{
	uint64_t hash = 0xcbf29ce484222325U;

	for (size_t i = 0; i < span.len; i++)
		hash = (hash ^ span.at[i]) * 0x100000001b3U;
	return hash;
}

/* Quoted where it would be hard to read, so that it can be typed in again. */
void show_span(struct pl_buf *buf, struct pl_span span)
{
	if (span.len > SHOWN_MAX) {
		show_text(buf, "<%zu bytes %016" PRIx64 ">", span.len, fingerprint(span));
		return;
	}
	if (is_plain(span)) {
		show_text(buf, PL_SPAN_FMT, PL_SPAN_ARG(span));
		return;
	}
	show_text(buf, "\"");
	for (size_t i = 0; i < span.len; i++) {
		bool raw = isprint(span.at[i]) && span.at[i] != '"' && span.at[i] != '\\';

		show_text(buf, raw ? "%c" : "\\x%02x", span.at[i]);
	}
	show_text(buf, "\"");
}

static void show_lease(struct pl_buf *buf, int64_t lease)
{
	if (lease >= NAMES_CHOSEN && lease < NAMES_CHOSEN + NAMES_CHOSEN_MAX)
		show_text(buf, "S%" PRId64, lease - NAMES_CHOSEN);
	else
		show_text(buf, "L%" PRId64, lease);
}

static void show_record(struct pl_buf *buf, const struct names *names,
                        const struct kv_record *record)
{
	show_span(buf, record->key);
	show_text(buf, "=");
	if (record->value.len > 0)
		show_span(buf, record->value);
	show_text(buf, "(%" PRId64 ",%" PRId64 ",%" PRId64,
	          names_revision_in(names, record->create_revision),
	          names_revision_in(names, record->mod_revision), record->version);
	if (record->lease != 0) {
		show_text(buf, ",");
		show_lease(buf, names_lease_in(names, record->lease));
	}
	show_text(buf, ")");
}

static void show_records(struct pl_buf *buf, const struct names *names,
                         const struct kv_record *records, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		show_text(buf, " ");
		show_record(buf, names, &records[i]);
	}
}

static void show_prev(struct pl_buf *buf, const struct names *names,
                      const struct kv_record *prev, size_t count)
{
	if (count > 0) {
		show_text(buf, " prev");
		show_records(buf, names, prev, count);
	}
}

static int by_key(const void *a, const void *b)
{
	return pl_span_cmp(*(const struct pl_span *)a, *(const struct pl_span *)b);
}

/* A store may give the keys of a lease in any order. */
static void show_lease_keys(struct pl_buf *buf, const struct kv_lease_result *lease)
{
	struct pl_span *keys = calloc(lease->key_count, sizeof *keys);

	PL_ASSERT(keys != NULL);
	memcpy(keys, lease->keys, lease->key_count * sizeof *keys);
	qsort(keys, lease->key_count, sizeof *keys, by_key);
	show_text(buf, " keys");
	for (size_t i = 0; i < lease->key_count; i++) {
		show_text(buf, " ");
		show_span(buf, keys[i]);
	}
	free(keys);
}

static void show_lease_result(struct pl_buf *buf, const struct names *names,
                              enum kv_op op, const struct kv_lease_result *lease)
{
	int64_t ttl_s = lease->ttl_s;

	show_lease(buf, names_lease_in(names, lease->id));
	if (op == KV_LEASE_REVOKE)
		return;
	if (op == KV_LEASE_TTL && ttl_s <= lease->granted_s &&
	    ttl_s >= lease->granted_s / TTL_SLACK_SHARE)
		ttl_s = lease->granted_s; /* real time passes */
	show_text(buf, " ttl %" PRId64, ttl_s);
	if (op == KV_LEASE_TTL) {
		show_text(buf, " of %" PRId64, lease->granted_s);
		if (lease->key_count > 0)
			show_lease_keys(buf, lease);
	}
}

static void show_body(struct pl_buf *buf, const struct names *names,
                      const struct kv_result *result);

static void show_txn_result(struct pl_buf *buf, /* NOLINT(misc-no-recursion) */
                            const struct names *names, const struct kv_txn_result *txn)
{
	show_text(buf, txn->succeeded ? " then" : " else");
	for (size_t i = 0; i < txn->count; i++) {
		show_text(buf, " [%s", kv_op_name(txn->results[i].op));
		show_body(buf, names, &txn->results[i]);
		show_text(buf, "]");
	}
}

static void show_body(struct pl_buf *buf, /* NOLINT(misc-no-recursion) */
                      const struct names *names, const struct kv_result *result)
{
	switch (result->op) {
	case KV_GET:
		show_text(buf, " %zu/%" PRId64 "%s", result->get.count, result->get.total,
		          result->get.more ? "+" : "");
		show_records(buf, names, result->get.records, result->get.count);
		break;
	case KV_PUT:
		show_prev(buf, names, result->put.prev, result->put.prev != NULL);
		break;
	case KV_DELETE:
		show_text(buf, " deleted %" PRId64, result->del.deleted);
		show_prev(buf, names, result->del.prev, result->del.prev_count);
		break;
	case KV_TXN:
		show_txn_result(buf, names, &result->txn);
		break;
	case KV_LEASE_GRANT:
	case KV_LEASE_REVOKE:
	case KV_LEASE_KEEP:
	case KV_LEASE_TTL:
		show_text(buf, " ");
		show_lease_result(buf, names, result->op, &result->lease);
		break;
	case KV_COMPACT:
	case KV_STATUS:
	case KV_OP_COUNT:
		break;
	}
}

void show_result(struct pl_buf *buf, const struct names *names,
                 const struct kv_result *result)
{
	show_text(buf, "@%" PRId64, result->header.revision - names->base);
	show_body(buf, names, result);
}

void show_event(struct pl_buf *buf, const struct names *names,
                const struct kv_event *event)
{
	show_text(buf, "@%" PRId64 " %s ",
	          names_revision_in(names, event->record.mod_revision),
	          event->is_delete ? "delete" : "put");
	if (event->is_delete && event->record.version == 0 &&
	    event->record.create_revision == 0 && event->record.value.len == 0 &&
	    event->record.lease == 0)
		show_span(buf, event->record.key);
	else
		show_record(buf, names, &event->record);
	show_prev(buf, names, event->prev, event->prev != NULL);
}
