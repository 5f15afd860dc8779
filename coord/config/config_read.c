#include "coord/config/config_read.h"

#include <inttypes.h>
#include <stdlib.h>

#include "coord/config/config_scan.h"
#include "store/base/alloc.h"
#include "store/base/json_out.h"
#include "store/kv/calls.h"

/*
 * A scan finds the versions that there are; then the wanted ones are read by key, some
 * at a time, the newest first. A version that has gone meanwhile is left out.
 */

enum { TIMEOUT_DEFAULT_MS = 10000, BATCH = 16 };

struct config_read {
	struct kv *kv;
	struct config_read_opts opts;
	bool history;
	config_found_fn *done;
	void *ctx;
	uint64_t deadline_ms;
	struct config_scan scan;
	struct kv_call *call;
	bool canceled;
	struct pl_arena arena; /* everything that was found points into it */
	struct config_version *versions;
	size_t count;
	uint64_t want; /* number of versions wanted, counted from the newest */
	uint64_t asked;
};

static void read_finish(struct config_read *read, const struct pl_err *err)
{
	struct config_found found = {.current = read->scan.current,
	                             .current_err = read->scan.current_err,
	                             .versions = read->versions,
	                             .count = read->count,
	                             .more = read->history &&
	                                     read->want < read->scan.count};
	config_found_fn *done = read->done;
	void *ctx = read->ctx;
	struct pl_arena arena = read->arena;
	struct pl_err why = {0};

	PL_ASSERT(read->call == NULL && read->scan.call == NULL);
	if (read->canceled) {
		(void)pl_err_set(&why, PL_CANCELED, "canceled");
		err = &why;
	}
	if (err != NULL) {
		why = *err;
		(void)pl_err_wrap(&why, "configuration '%s'",
		                  config_name_text(read->opts.name));
	}
	free(read);
	done(ctx, err == NULL ? &found : NULL, err == NULL ? NULL : &why);
	pl_arena_done(&arena);
}

static void fail_no_memory(struct config_read *read)
{
	struct pl_err err;

	(void)pl_err_set(&err, PL_NOMEM, "versions");
	read_finish(read, &err);
}

/* The version at this place, counted from the newest. */
static uint64_t version_at(const struct config_read *read, uint64_t place)
{
	if (!read->history)
		return read->opts.version != 0 ? read->opts.version : read->scan.current;
	return read->scan.ring[(read->scan.count - 1 - place) % CONFIG_HISTORY_MAX];
}

static enum pl_code keep_span(struct pl_arena *arena, struct pl_span from,
                              struct pl_span *out)
{
	*out = pl_arena_dup(arena, from);
	return from.len > 0 && out->at == NULL ? PL_NOMEM : PL_OK;
}

static enum pl_code keep_json(struct pl_arena *arena, struct pl_json json,
                              struct pl_span *out)
{
	struct pl_json_out text;
	struct pl_buf buf;
	enum pl_code code;

	pl_buf_init(&buf, 2 * config_limits.bytes);
	pl_json_out_init(&text, &buf);
	pl_json_out_value(&text, json);
	code = pl_json_out_done(&text);
	if (code == PL_OK)
		code = keep_span(arena, pl_buf_span(&buf), out);
	pl_buf_done(&buf);
	return code;
}

/* Adds a version. Whatever is wrong with the record becomes part of the result. */
static enum pl_code add_version(struct config_read *read, const struct kv_record *from,
                                uint64_t version)
{
	struct config_version *out = &read->versions[read->count];
	struct config_record record = {0};
	struct config_value value;
	struct pl_arena scratch;
	enum pl_code code;

	*out = (struct config_version){.version = version,
	                               .current = version == read->scan.current};
	pl_arena_init(&scratch, 0, 0);
	code = config_record_parse(from->value, &scratch, &record, &out->refused);
	if (code == PL_OK) {
		out->at_ms = record.at_ms;
		code = keep_span(&read->arena, record.by, &out->by);
		if (code == PL_OK)
			code = keep_span(&read->arena, record.why, &out->why);
		if (code == PL_OK && !read->history)
			code = keep_json(&read->arena, record.config, &out->config);
		if (code == PL_OK)
			code = config_parse(read->opts.name, record.config, &scratch,
			                    &value, &out->refused);
	}
	pl_arena_done(&scratch);
	read->count++;
	return code == PL_NOMEM ? code : PL_OK;
}

static void next_batch(struct config_read *read);

static void on_batch(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct config_read *read = ctx;

	read->call = NULL;
	if (err != NULL) {
		read_finish(read, err);
		return;
	}
	for (size_t i = 0; i < result->txn.count; i++) {
		const struct kv_get_result *get = &result->txn.results[i].get;
		uint64_t version = version_at(read, read->asked++);

		if (get->count == 0)
			continue;
		if (add_version(read, &get->records[0], version) != PL_OK) {
			fail_no_memory(read);
			return;
		}
	}
	next_batch(read);
}

static enum pl_code batch_start(struct config_read *read, struct pl_err *err)
{
	struct keys_text keys[BATCH];
	struct kv_req gets[BATCH];
	size_t count = 0;

	for (; count < BATCH && read->asked + count < read->want; count++) {
		config_version_key(read->opts.name, version_at(read, read->asked + count),
		                   &keys[count]);
		gets[count] = kv_op_get(kv_key(keys_span(&keys[count])));
	}
	return kv_txn(read->kv, &(struct kv_txn){.then = gets, .then_count = count},
	              config_time_left(read->kv, read->deadline_ms), on_batch, read,
	              &read->call, err);
}

static void next_batch(struct config_read *read)
{
	struct pl_err err = {0};

	if (!read->canceled && read->asked < read->want) {
		if (batch_start(read, &err) == PL_OK)
			return;
	} else if (!read->history && read->count == 0) {
		(void)pl_err_set(&err, PL_NOTFOUND, "version %" PRIu64 " is not there",
		                 version_at(read, 0));
	}
	read_finish(read, err.code == PL_OK ? NULL : &err);
}

/* Nothing is current, so the default is the result. */
static void found_default(struct config_read *read)
{
	struct config_version *out = &read->versions[read->count++];
	struct config_value value;
	struct pl_buf buf;
	struct pl_err err;
	enum pl_code code;

	config_default(read->opts.name, &value);
	*out = (struct config_version){.current = true};
	pl_buf_init(&buf, 4096);
	code = config_print(&value, &buf, &err);
	if (code == PL_OK)
		code = keep_span(&read->arena, pl_buf_span(&buf), &out->config);
	pl_buf_done(&buf);
	if (code == PL_OK)
		read_finish(read, NULL);
	else
		fail_no_memory(read);
}

static void on_scanned(void *ctx, const struct pl_err *err)
{
	struct config_read *read = ctx;
	uint64_t limit = read->opts.limit;

	if (err != NULL) {
		read_finish(read, err);
		return;
	}
	if (limit == 0 || limit > CONFIG_HISTORY_MAX)
		limit = CONFIG_HISTORY_MAX;
	read->want = !read->history             ? 1
	             : read->scan.count < limit ? read->scan.count
	                                        : limit;
	read->versions =
		pl_arena_zalloc(&read->arena, read->want + 1, sizeof *read->versions);
	if (read->versions == NULL)
		fail_no_memory(read);
	else if (read->history || read->opts.version != 0 || read->scan.current != 0)
		next_batch(read);
	else if (read->scan.current_err.code != PL_OK)
		read_finish(read, &read->scan.current_err);
	else
		found_default(read);
}

static enum pl_code read_open(struct kv *kv, struct config_read from,
                              struct config_read **out, struct pl_err *err)
{
	struct config_read *read;
	uint64_t timeout_ms = from.opts.timeout_ms;
	enum pl_code code;

	if (from.opts.version > KEYS_VERSION_MAX)
		return pl_err_set(err, PL_INVALID, "version %" PRIu64 ": too large",
		                  from.opts.version);
	read = pl_calloc(1, sizeof *read);
	if (read == NULL)
		return pl_err_set(err, PL_NOMEM, "versions");
	*read = from;
	read->kv = kv;
	read->deadline_ms =
		kv_now_ms(kv) + (timeout_ms == 0 ? TIMEOUT_DEFAULT_MS : timeout_ms);
	read->scan = (struct config_scan){.kv = kv,
	                                  .name = from.opts.name,
	                                  .deadline_ms = read->deadline_ms,
	                                  .done = on_scanned,
	                                  .ctx = read};
	pl_arena_init(&read->arena, 0, 0);
	code = config_scan_start(&read->scan, err);
	if (code != PL_OK) {
		free(read);
		return code;
	}
	if (out != NULL)
		*out = read;
	return PL_OK;
}

enum pl_code config_read_start(struct kv *kv, const struct config_read_opts *opts,
                               config_found_fn *done, void *ctx, struct config_read **out,
                               struct pl_err *err)
{
	return read_open(kv,
	                 (struct config_read){.opts = *opts, .done = done, .ctx = ctx},
	                 out, err);
}

enum pl_code config_history_start(struct kv *kv, const struct config_read_opts *opts,
                                  config_found_fn *done, void *ctx,
                                  struct config_read **out, struct pl_err *err)
{
	return read_open(
		kv,
		(struct config_read){
			.opts = *opts, .history = true, .done = done, .ctx = ctx},
		out, err);
}

void config_read_cancel(struct config_read *read)
{
	read->canceled = true;
	config_scan_cancel(&read->scan);
	if (read->call != NULL)
		kv_cancel(read->kv, read->call);
}
