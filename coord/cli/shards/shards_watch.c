#include "coord/cli/shards/shards_watch.h"

/* -- one voice for three ---------------------------------------------------------- */

static void emit_note(struct shards_watch *shards_watch, enum shards_watch_what what,
                      struct pl_span name)
{
	if (shards_watch->whole && shards_watch->fn != NULL)
		shards_watch->fn(shards_watch->ctx,
		                 &(struct shards_watch_note){.what = what, .name = name});
}

static void on_synced(struct shards_watch *shards_watch, unsigned part)
{
	shards_watch->synced |= part;
	if (shards_watch->synced != shards_watch->wanted)
		return;
	shards_watch->whole = true;
	shards_watch->settled = true;
	emit_note(shards_watch, SHARDS_WATCH_ALL, (struct pl_span){0});
}

/* What will not go away by waiting. */
static bool is_final(enum pl_code code)
{
	return code == PL_DENIED || code == PL_AUTH || code == PL_TLS ||
	       code == PL_NOMEM || code == PL_LIMIT;
}

static void on_trouble(struct shards_watch *shards_watch, const struct pl_err *err)
{
	shards_watch->trouble = *err;
	if (!shards_watch->whole && is_final(err->code)) {
		shards_watch->failed = true;
		shards_watch->settled = true;
	}
	if (shards_watch->whole && shards_watch->fn != NULL)
		shards_watch->fn(shards_watch->ctx,
		                 &(struct shards_watch_note){.what = SHARDS_WATCH_TROUBLE,
		                                             .err = err});
}

static void on_stopped(struct shards_watch *shards_watch, unsigned part)
{
	shards_watch->running &= ~part;
}

static void on_roster(void *ctx, const struct roster_note *note)
{
	struct shards_watch *shards_watch = ctx;

	switch (note->what) {
	case ROSTER_SYNCED:
		on_synced(shards_watch, SHARDS_WATCH_ROSTER);
		break;
	case ROSTER_CHANGED:
		emit_note(shards_watch, SHARDS_WATCH_SHARD, note->id);
		break;
	case ROSTER_LOST:
	case ROSTER_TROUBLE:
		on_trouble(shards_watch, note->err);
		break;
	case ROSTER_STOPPED:
		on_stopped(shards_watch, SHARDS_WATCH_ROSTER);
		break;
	}
}

static void on_owners(void *ctx, const struct owners_watch_note *note)
{
	struct shards_watch *shards_watch = ctx;

	switch (note->what) {
	case OWNERS_WATCH_SYNCED:
		on_synced(shards_watch, SHARDS_WATCH_OWNERS);
		break;
	case OWNERS_WATCH_CHANGED:
		emit_note(shards_watch, SHARDS_WATCH_OWNER, note->key);
		break;
	case OWNERS_WATCH_LOST:
	case OWNERS_WATCH_TROUBLE:
		on_trouble(shards_watch, note->err);
		break;
	case OWNERS_WATCH_STOPPED:
		on_stopped(shards_watch, SHARDS_WATCH_OWNERS);
		break;
	}
}

static void on_config(void *ctx, const struct config_note *note)
{
	struct shards_watch *shards_watch = ctx;

	switch (note->what) {
	case CONFIG_SYNCED:
		on_synced(shards_watch, SHARDS_WATCH_CONFIG);
		break;
	case CONFIG_APPLIED:
	case CONFIG_REFUSED:
		emit_note(shards_watch, SHARDS_WATCH_ALL, (struct pl_span){0});
		break;
	case CONFIG_LOST:
	case CONFIG_TROUBLE:
		on_trouble(shards_watch, note->err);
		break;
	case CONFIG_STOPPED:
		on_stopped(shards_watch, SHARDS_WATCH_CONFIG);
		break;
	}
}

/* -- life ------------------------------------------------------------------------- */

static enum pl_code start_watches(struct shards_watch *shards_watch, struct pl_err *err)
{
	struct kv *kv = shards_watch->session->kv;
	enum pl_code code = PL_OK;

	if ((shards_watch->wanted & SHARDS_WATCH_ROSTER) != 0) {
		code = roster_open(kv, 0, on_roster, shards_watch, &shards_watch->roster,
		                   err);
		shards_watch->running |= code == PL_OK ? SHARDS_WATCH_ROSTER : 0;
	}
	if (code == PL_OK && (shards_watch->wanted & SHARDS_WATCH_OWNERS) != 0) {
		code = owners_watch_open(kv, on_owners, shards_watch,
		                         &shards_watch->owners, err);
		shards_watch->running |= code == PL_OK ? SHARDS_WATCH_OWNERS : 0;
	}
	if (code == PL_OK && (shards_watch->wanted & SHARDS_WATCH_CONFIG) != 0) {
		code = config_watch_open(kv, 0, on_config, shards_watch,
		                         &shards_watch->config, err);
		shards_watch->running |= code == PL_OK ? SHARDS_WATCH_CONFIG : 0;
	}
	return code;
}

enum pl_code shards_watch_open(struct shards_watch *shards_watch,
                               struct store_session *session, unsigned wanted,
                               struct pl_err *err)
{
	enum pl_code code;

	*shards_watch = (struct shards_watch){.session = session, .wanted = wanted};
	code = start_watches(shards_watch, err);
	if (code == PL_OK && (!store_session_until(session, &shards_watch->settled) ||
	                      shards_watch->failed)) {
		if (shards_watch->trouble.code == PL_OK)
			pl_err_set(&shards_watch->trouble, PL_TIMEOUT,
			           "the store did not tell all in time");
		*err = shards_watch->trouble;
		code = err->code;
	}
	if (code != PL_OK)
		shards_watch_close(shards_watch);
	return code;
}

void shards_watch_follow(struct shards_watch *shards_watch, shards_watch_fn *fn,
                         void *ctx)
{
	shards_watch->fn = fn;
	shards_watch->ctx = ctx;
}

void shards_watch_close(struct shards_watch *shards_watch)
{
	shards_watch->fn = NULL;
	if ((shards_watch->running & SHARDS_WATCH_ROSTER) != 0)
		roster_stop(shards_watch->roster);
	if ((shards_watch->running & SHARDS_WATCH_OWNERS) != 0)
		owners_watch_stop(shards_watch->owners);
	if ((shards_watch->running & SHARDS_WATCH_CONFIG) != 0)
		config_watch_stop(shards_watch->config);
	while (shards_watch->running != 0)
		(void)uv_run(&shards_watch->session->loop, UV_RUN_ONCE);
}
