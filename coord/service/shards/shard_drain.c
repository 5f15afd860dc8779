#include "coord/service/shards/shard_drain.h"

#include <stdio.h>
#include <stdlib.h>

#include "coord/config/config_edit.h"
#include "coord/service/config/config_content.h"
#include "store/base/alloc.h"

enum { TRIES_MAX = 10, CONFIG_BYTES_MAX = 1 << 20, WHY_SIZE = 400, ARENA_MAX = 64 << 20 };

struct shard_drain {
	const struct service *service;
	struct shard_drain_opts opts;
	struct config_read *read; /* NULL: not reading */
	struct config_edit *edit; /* NULL: not storing */
	struct pl_arena arena;    /* of a try */
	struct shard_drain_result result;
	struct pl_span text; /* of result.after */
	unsigned tries;
};

static void on_found(void *ctx, const struct config_found *found,
                     const struct pl_err *err);

static void drain_finish(struct shard_drain *drain, const struct pl_err *err)
{
	struct shard_drain_opts opts = drain->opts;
	struct shard_drain_result result = drain->result;
	struct pl_arena arena = drain->arena;

	free(drain);
	opts.done(opts.ctx, err == NULL ? &result : NULL, err);
	pl_arena_done(&arena);
}

static enum pl_code read_config(struct shard_drain *drain, struct pl_err *err)
{
	const struct config_read_opts opts = {.name = CONFIG_SHARDS,
	                                      .timeout_ms = drain->service->timeout_ms};

	return config_read_start(drain->service->kv, &opts, on_found, drain, &drain->read,
	                         err);
}

/* -- rewriting ------------------------------------------------------------ */

/* The ids stay sorted. Gives how many there are. */
static size_t rewrite_ids(const struct shard_drain *drain, const struct config_shards *is,
                          struct pl_span *out)
{
	struct pl_span id = drain->opts.id;
	bool placed = drain->opts.undrain;
	size_t count = 0;

	for (uint32_t i = 0; i < is->drain_count; i++) {
		int order = pl_span_cmp(id, is->drain[i]);

		if (!placed && order <= 0) {
			out[count++] = id;
			placed = true;
		}
		if (order != 0)
			out[count++] = is->drain[i];
	}
	if (!placed)
		out[count++] = id;
	return count;
}

static enum pl_code print_after(struct shard_drain *drain,
                                const struct config_value *value, struct pl_err *err)
{
	struct pl_buf buf;
	enum pl_code code;

	pl_buf_init(&buf, CONFIG_BYTES_MAX);
	code = config_print(value, &buf, err);
	if (code == PL_OK)
		code = pl_json_parse(&drain->arena, pl_buf_span(&buf), NULL,
		                     &drain->result.after, err);
	if (code == PL_OK) {
		drain->text = pl_arena_dup(&drain->arena, pl_buf_span(&buf));
		if (drain->text.at == NULL)
			code = pl_err_set(err, PL_NOMEM, "keep the drains");
	}
	pl_buf_done(&buf);
	return code;
}

/* A version that was stored past the check: what it should say can not be guessed. */
static enum pl_code malformed_config(struct pl_err *err)
{
	struct pl_err why = *err;

	return pl_err_set(err, why.code,
	                  "%s; first put it right (placet config rollback shards)",
	                  why.msg);
}

static enum pl_code rewrite_config(struct shard_drain *drain,
                                   const struct config_found *found, struct pl_err *err)
{
	struct pl_arena *arena = &drain->arena;
	struct config_value value;
	struct pl_span *ids;
	enum pl_code code =
		config_content(CONFIG_SHARDS, found, arena, &drain->result.before, err);

	if (code == PL_OK)
		code = config_parse(CONFIG_SHARDS, drain->result.before, arena, &value,
		                    err);
	if (code == PL_INVALID || code == PL_NOTFOUND)
		return malformed_config(err);
	if (code != PL_OK)
		return code;
	drain->result.version = found->current;
	drain->result.changed =
		config_drains(&value.shards, drain->opts.id) == drain->opts.undrain;
	ids = pl_arena_zalloc(arena, (size_t)value.shards.drain_count + 1, sizeof *ids);
	if (ids == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the drains");
	value.shards.drain_count = (uint32_t)rewrite_ids(drain, &value.shards, ids);
	value.shards.drain = ids;
	return print_after(drain, &value, err);
}

/* -- storing -------------------------------------------------------------- */

static void on_edited(void *ctx, uint64_t version, const struct pl_err *err)
{
	struct shard_drain *drain = ctx;
	struct pl_err why = {0};

	drain->edit = NULL;
	if (err == NULL) {
		drain->result.version = version;
		drain_finish(drain, NULL);
		return;
	}
	why = *err;
	if (why.code == PL_CONFLICT && ++drain->tries < TRIES_MAX) {
		if (read_config(drain, &why) == PL_OK)
			return;
	} else if (why.code == PL_CONFLICT) {
		(void)pl_err_wrap(&why, "others changed it %d times at the same time",
		                  TRIES_MAX);
	}
	drain_finish(drain, &why);
}

static enum pl_code store_version(struct shard_drain *drain, struct pl_err *err)
{
	const struct service *service = drain->service;
	struct config_edit_opts opts = {.name = CONFIG_SHARDS,
	                                .config = drain->text,
	                                .by = pl_span_str(service->user),
	                                .at_ms = drain->opts.wall_ms,
	                                .expect_version = (int64_t)drain->result.version,
	                                .timeout_ms = service->timeout_ms};
	char why[WHY_SIZE];

	(void)snprintf(why, sizeof why, "%s " PL_SPAN_FMT "%s%s",
	               drain->opts.undrain ? "undrain" : "drain",
	               PL_SPAN_ARG(drain->opts.id), *drain->opts.why == 0 ? "" : ": ",
	               drain->opts.why);
	opts.why = pl_span_str(why);
	return config_edit_start(service->kv, &opts, on_edited, drain, &drain->edit, err);
}

static void on_found(void *ctx, const struct config_found *found,
                     const struct pl_err *err)
{
	struct shard_drain *drain = ctx;
	struct pl_err why = {0};
	enum pl_code code;

	drain->read = NULL;
	pl_arena_reset(&drain->arena);
	if (err != NULL) {
		why = *err;
		if (why.code == PL_INVALID || why.code == PL_NOTFOUND)
			(void)malformed_config(&why);
		drain_finish(drain, &why);
		return;
	}
	code = rewrite_config(drain, found, &why);
	if (code == PL_OK && drain->result.changed && !drain->opts.dry_run) {
		code = store_version(drain, &why);
		if (code == PL_OK)
			return;
	}
	drain_finish(drain, code == PL_OK ? NULL : &why);
}

enum pl_code shard_drain_start(const struct service *service,
                               const struct shard_drain_opts *opts,
                               struct shard_drain **out, struct pl_err *err)
{
	struct shard_drain *drain = pl_calloc(1, sizeof *drain);

	if (drain == NULL)
		return pl_err_set(err, PL_NOMEM, "drain a shard");
	drain->service = service;
	drain->opts = *opts;
	pl_arena_init(&drain->arena, 0, ARENA_MAX);
	if (read_config(drain, err) != PL_OK) {
		pl_arena_done(&drain->arena);
		free(drain);
		return err->code;
	}
	*out = drain;
	return PL_OK;
}

void shard_drain_cancel(struct shard_drain *drain)
{
	if (drain->read != NULL)
		config_read_cancel(drain->read);
	else if (drain->edit != NULL)
		config_edit_cancel(drain->edit);
}
