/* Lists and watches the key of the role. This is a relist and no informer (cache.h),
 * because the core's key may be newer than the watch: answers bring it, too. */
#include "coord/elect/elect_int.h"

enum { REOPEN_MS = 1000 };

static void feed_record(struct elect *e, const struct kv_record *record, int64_t revision)
{
	struct pl_err malformed;
	struct elect_event event = {.type = ELECT_EV_SEEN,
	                            .key = elect_key_of(e, record, revision, &malformed)};

	elect_feed(e, event);
}

static void feed_events(struct elect *e, const struct relist_note *n)
{
	for (size_t i = 0; i < n->count && !e->ending; i++) {
		const struct kv_event *event = &n->events[i];

		/* the change's own revision: a note may bring many */
		feed_record(e, event->is_delete ? NULL : &event->record,
		            event->record.mod_revision);
	}
}

static void list_page(struct elect *e, const struct relist_note *n)
{
	for (size_t i = 0; i < n->count; i++) {
		e->listed.key =
			elect_key_of(e, &n->records[i], n->revision, &e->listed.err);
		e->listed.holder = e->incoming;
		e->err = NULL;
	}
}

static void list_end(struct elect *e, const struct relist_note *n)
{
	struct elect_event event = {.type = ELECT_EV_SEEN, .key = e->listed.key};

	event.key.revision = n->revision;
	e->incoming = e->listed.holder;
	e->err = e->listed.err.code == PL_OK ? NULL : &e->listed.err;
	elect_feed(e, event);
}

static void on_lost(struct elect *e, const struct pl_err *err)
{
	e->err = err;
	elect_feed(e,
	           (struct elect_event){.type = ELECT_EV_WATCH_LOST, .code = err->code});
}

static void on_relist(void *ctx, const struct relist_note *n)
{
	struct elect *e = ctx;

	switch (n->what) {
	case RELIST_BEGIN:
		e->listed = (struct elect_listed){0};
		break;
	case RELIST_PAGE:
		list_page(e, n);
		break;
	case RELIST_END:
		list_end(e, n);
		break;
	case RELIST_EVENTS:
		feed_events(e, n);
		break;
	case RELIST_PROGRESS:
		break;
	case RELIST_LOST:
		on_lost(e, n->err);
		break;
	case RELIST_TROUBLE:
		elect_report(e,
		             &(struct elect_note){.what = ELECT_TROUBLE, .err = n->err});
		break;
	case RELIST_STOPPED:
		e->relist = NULL;
		e->relist_stopping = false;
		break;
	}
	elect_rearm(e);
}

void elect_watch(struct elect *e)
{
	struct relist_opts opts = {.keys = kv_key(keys_span(&e->key)), .seed = ++e->seed};
	struct pl_err err;

	if (relist_open(e->kv, &opts, on_relist, e, &e->relist, &err) == PL_OK)
		return;
	e->relist_at_ms = kv_now_ms(e->kv) + REOPEN_MS;
	elect_report(e, &(struct elect_note){.what = ELECT_TROUBLE, .err = &err});
}

void elect_watch_again(struct elect *e)
{
	e->relist_at_ms = kv_now_ms(e->kv);
	elect_unwatch(e);
}

void elect_unwatch(struct elect *e)
{
	if (e->relist == NULL || e->relist_stopping)
		return;
	e->relist_stopping = true;
	relist_stop(e->relist);
}
