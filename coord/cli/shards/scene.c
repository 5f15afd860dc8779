#include "coord/cli/shards/scene.h"

/* -- one voice for three ---------------------------------------------------------- */

static void tell(struct scene *scene, enum scene_what what, struct pl_span name)
{
	if (scene->whole && scene->fn != NULL)
		scene->fn(scene->ctx, &(struct scene_note){.what = what, .name = name});
}

static void on_synced(struct scene *scene, unsigned part)
{
	scene->synced |= part;
	if (scene->synced != scene->wanted)
		return;
	scene->whole = true;
	scene->settled = true;
	tell(scene, SCENE_ALL, (struct pl_span){0});
}

/* What will not go away by waiting. */
static bool is_final(enum pl_code code)
{
	return code == PL_DENIED || code == PL_AUTH || code == PL_TLS ||
	       code == PL_NOMEM || code == PL_LIMIT;
}

static void on_trouble(struct scene *scene, const struct pl_err *err)
{
	scene->trouble = *err;
	if (!scene->whole && is_final(err->code)) {
		scene->failed = true;
		scene->settled = true;
	}
	if (scene->whole && scene->fn != NULL)
		scene->fn(scene->ctx,
		          &(struct scene_note){.what = SCENE_TROUBLE, .err = err});
}

static void on_stopped(struct scene *scene, unsigned part)
{
	scene->running &= ~part;
}

static void on_roster(void *ctx, const struct roster_note *note)
{
	struct scene *scene = ctx;

	switch (note->what) {
	case ROSTER_SYNCED:
		on_synced(scene, SCENE_ROSTER);
		break;
	case ROSTER_CHANGED:
		tell(scene, SCENE_SHARD, note->id);
		break;
	case ROSTER_LOST:
	case ROSTER_TROUBLE:
		on_trouble(scene, note->err);
		break;
	case ROSTER_STOPPED:
		on_stopped(scene, SCENE_ROSTER);
		break;
	}
}

static void on_owners(void *ctx, const struct owners_note *note)
{
	struct scene *scene = ctx;

	switch (note->what) {
	case OWNERS_SYNCED:
		on_synced(scene, SCENE_OWNERS);
		break;
	case OWNERS_CHANGED:
		tell(scene, SCENE_OWNER, note->key);
		break;
	case OWNERS_LOST:
	case OWNERS_TROUBLE:
		on_trouble(scene, note->err);
		break;
	case OWNERS_STOPPED:
		on_stopped(scene, SCENE_OWNERS);
		break;
	}
}

static void on_config(void *ctx, const struct config_note *note)
{
	struct scene *scene = ctx;

	switch (note->what) {
	case CONFIG_SYNCED:
		on_synced(scene, SCENE_CONFIG);
		break;
	case CONFIG_APPLIED:
	case CONFIG_REFUSED:
		tell(scene, SCENE_ALL, (struct pl_span){0});
		break;
	case CONFIG_LOST:
	case CONFIG_TROUBLE:
		on_trouble(scene, note->err);
		break;
	case CONFIG_STOPPED:
		on_stopped(scene, SCENE_CONFIG);
		break;
	}
}

/* -- life ------------------------------------------------------------------------- */

static enum pl_code start(struct scene *scene, struct pl_err *err)
{
	struct kv *kv = scene->session->kv;
	enum pl_code code = PL_OK;

	if ((scene->wanted & SCENE_ROSTER) != 0) {
		code = roster_open(kv, 0, on_roster, scene, &scene->roster, err);
		scene->running |= code == PL_OK ? SCENE_ROSTER : 0;
	}
	if (code == PL_OK && (scene->wanted & SCENE_OWNERS) != 0) {
		code = owners_open(kv, on_owners, scene, &scene->owners, err);
		scene->running |= code == PL_OK ? SCENE_OWNERS : 0;
	}
	if (code == PL_OK && (scene->wanted & SCENE_CONFIG) != 0) {
		code = config_watch_open(kv, 0, on_config, scene, &scene->config, err);
		scene->running |= code == PL_OK ? SCENE_CONFIG : 0;
	}
	return code;
}

enum pl_code scene_open(struct scene *scene, struct store_session *session,
                        unsigned wanted, struct pl_err *err)
{
	enum pl_code code;

	*scene = (struct scene){.session = session, .wanted = wanted};
	code = start(scene, err);
	if (code == PL_OK &&
	    (!store_session_until(session, &scene->settled) || scene->failed)) {
		if (scene->trouble.code == PL_OK)
			pl_err_set(&scene->trouble, PL_TIMEOUT,
			           "the store did not tell all in time");
		*err = scene->trouble;
		code = err->code;
	}
	if (code != PL_OK)
		scene_close(scene);
	return code;
}

void scene_follow(struct scene *scene, scene_fn *fn, void *ctx)
{
	scene->fn = fn;
	scene->ctx = ctx;
}

void scene_close(struct scene *scene)
{
	scene->fn = NULL;
	if ((scene->running & SCENE_ROSTER) != 0)
		roster_stop(scene->roster);
	if ((scene->running & SCENE_OWNERS) != 0)
		owners_stop(scene->owners);
	if ((scene->running & SCENE_CONFIG) != 0)
		config_watch_stop(scene->config);
	while (scene->running != 0)
		(void)uv_run(&scene->session->loop, UV_RUN_ONCE);
}
