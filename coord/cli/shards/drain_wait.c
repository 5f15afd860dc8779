#include "coord/cli/shards/drain_wait.h"

#include <inttypes.h>

#include "coord/cli/out/say.h"
#include "coord/cli/shards/scene.h"

enum { SAY_MS = 500 };

struct waiting {
	struct scene scene;
	struct pl_span id;
	uint32_t owned;
	uint64_t said_ms;
	bool over;
	bool time_up;
};

/* Nobody hands over to nobody: without another one that takes part it never ends. */
static bool others_take_part(const struct waiting *w)
{
	const struct config_shards *wishes =
		&config_watch_value(w->scene.config, CONFIG_SHARDS)->shards;

	for (const struct roster_entry *entry = roster_first(w->scene.roster);
	     entry != NULL; entry = roster_next(w->scene.roster, entry))
		if (!entry->garbled && entry->member.state == MEMBER_ACTIVE &&
		    !config_drains(wishes, entry->member.id))
			return true;
	return false;
}

static void look(struct waiting *w)
{
	uint32_t owned = owners_owned(w->scene.owners, w->id);
	uint64_t now_ms = kv_now_ms(w->scene.session->kv);
	bool due = now_ms - w->said_ms >= SAY_MS || owned == 0;

	if (owned != w->owned && due) {
		say(PL_SPAN_FMT " owns %" PRIu32 " partition%s", PL_SPAN_ARG(w->id),
		    owned, owned == 1 ? "" : "s");
		w->owned = owned;
		w->said_ms = now_ms;
	}
	w->over = w->over || owned == 0;
}

static void on_note(void *ctx, const struct scene_note *note)
{
	struct waiting *w = ctx;

	if (note->what == SCENE_TROUBLE)
		say("%s; going on", note->err->msg);
	else
		look(w);
}

static void on_time_up(void *ctx)
{
	struct waiting *w = ctx;

	w->time_up = true;
	w->over = true;
}

static enum pl_code wait_until(struct waiting *w, uint64_t wait_ms, struct pl_err *err)
{
	struct kv *kv = w->scene.session->kv;
	struct pl_timer timer = {0};
	enum pl_code code = pl_timer_init(&timer, kv_timers(kv), on_time_up, w);

	if (code != PL_OK)
		return pl_err_set(err, code, "wait");
	pl_timer_set(&timer, kv_now_ms(kv) + wait_ms);
	w->owned = UINT32_MAX;
	look(w);
	if (!w->over && !others_take_part(w))
		say("no other shard takes part: its partitions stay where they are until "
		    "one does");
	while (!w->over)
		(void)uv_run(&w->scene.session->loop, UV_RUN_ONCE);
	pl_timer_done(&timer);
	if (!w->time_up)
		return PL_OK;
	return pl_err_set(err, PL_TIMEOUT,
	                  PL_SPAN_FMT " still owns %" PRIu32
	                              " partitions; it goes on handing over, see placet "
	                              "partitions --summary",
	                  PL_SPAN_ARG(w->id), owners_owned(w->scene.owners, w->id));
}

enum pl_code drain_wait(struct store_session *session, struct pl_span id,
                        uint64_t wait_ms, struct pl_err *err)
{
	struct waiting waiting = {.id = id};
	enum pl_code code = scene_open(&waiting.scene, session,
	                               SCENE_ROSTER | SCENE_OWNERS | SCENE_CONFIG, err);

	if (code != PL_OK)
		return code;
	scene_follow(&waiting.scene, on_note, &waiting);
	code = wait_until(&waiting, wait_ms, err);
	scene_close(&waiting.scene);
	return code;
}
