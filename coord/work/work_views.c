#include <stdlib.h>

#include "coord/work/work_int.h"
#include "shardsched/shard/view_keys.h"
#include "store/base/alloc.h"

/* A view: keys that sched follows whatever the shard owns. It is opened when sched
 * wants it and stopped when it does not. */

struct work_view {
	struct pl_list link;
	struct work *work; /* NULL: its notes are ignored */
	struct relist *relist;
	enum sched_view which;
	struct work *home; /* the work whose list it is in, until it has stopped */
};

static void view_stop(struct work_view *view)
{
	view->work->view[view->which] = NULL;
	view->work = NULL;
	relist_stop(view->relist);
}

static void report_trouble(const struct work_view *view, const struct pl_err *err)
{
	work_report(view->work, &(struct work_note){.what = WORK_TROUBLE,
	                                            .part = sched_view_name(view->which),
	                                            .err = err});
}

static void on_lost(struct work_view *view, const struct pl_err *err)
{
	if (err->code == PL_REWOUND)
		work_rewound(view->work, NULL, view);
	else
		sched_view_lost(view->work->sched, view->which);
	report_trouble(view, err);
}

static void on_relist_note(struct work_view *view, const struct relist_note *note)
{
	struct sched *sched = view->work->sched;
	enum sched_view which = view->which;

	switch (note->what) {
	case RELIST_BEGIN:
		view->work->rates.metrics.lists[WORK_LIST_VIEW]++;
		sched_view_begin(sched, which);
		return;
	case RELIST_PAGE:
		sched_view_records(sched, which, note->records, note->count);
		break;
	case RELIST_END:
		rates_progress(view->work, note->revision);
		sched_view_end(sched, which, note->revision);
		break;
	case RELIST_EVENTS:
		sched_view_events(sched, which, note->events, note->count,
		                  note->revision);
		if (note->count > 0)
			rates_seen(view->work, note->revision);
		break;
	case RELIST_LOST:
		on_lost(view, note->err);
		return;
	case RELIST_TROUBLE:
		report_trouble(view, note->err);
		return;
	case RELIST_PROGRESS:
	case RELIST_STOPPED:
		return;
	}
	work_kick(view->work);
}

static void on_note(void *ctx, const struct relist_note *note)
{
	struct work_view *view = ctx;
	struct work *home = view->home;

	if (note->what != RELIST_STOPPED) {
		if (view->work != NULL)
			on_relist_note(view, note);
		return;
	}
	pl_list_del(&view->link);
	free(view);
	work_kick(home);
}

static enum pl_code view_begin(struct work *work, enum sched_view which,
                               struct pl_err *err)
{
	struct work_view *view = pl_calloc(1, sizeof *view);
	struct relist_opts opts = {.keys = sched_view_keys(which),
	                           .pages = &work->view_pages[which],
	                           .progress_reads = work->progress_reads};
	enum pl_code code;

	if (which == SCHED_FLEET)
		opts.page_keys = WORK_FLEET_KEYS;
	if (view == NULL)
		return pl_err_set(err, PL_NOMEM, "a view");
	view->work = view->home = work;
	view->which = which;
	if (work->opts.sched.seed != 0)
		opts.seed = work->opts.sched.seed +
		            (uint64_t)KEYS_PARTITIONS_MAX * SCHED_PARTS + which;
	code = relist_open(work->kv, &opts, on_note, view, &view->relist, err);
	if (code != PL_OK) {
		free(view);
		return code;
	}
	pl_list_add_tail(&work->views, &view->link);
	work->view[which] = view;
	return PL_OK;
}

void views_follow(struct work *work)
{
	uint64_t now = kv_now_ms(work->kv);

	for (unsigned i = 0; i < SCHED_VIEWS; i++) {
		enum sched_view which = (enum sched_view)i;
		bool wanted = sched_view_wanted(work->sched, which);
		struct pl_err err = {0};

		if (wanted == (work->view[i] != NULL))
			continue;
		if (!wanted) {
			view_stop(work->view[i]);
			sched_view_closed(work->sched, which);
		} else if (now >= work->view_ms &&
		           view_begin(work, which, &err) != PL_OK) {
			work->view_ms = now + WORK_RETRY_MS;
			work_report(work,
			            &(struct work_note){.what = WORK_TROUBLE,
			                                .part = sched_view_name(which),
			                                .err = &err});
		}
	}
}

bool views_missing(const struct work *work)
{
	for (unsigned i = 0; i < SCHED_VIEWS; i++)
		if (work->view[i] == NULL &&
		    sched_view_wanted(work->sched, (enum sched_view)i))
			return true;
	return false;
}

void views_reopen(struct work *work, enum sched_view which)
{
	if (work->view[which] == NULL)
		return;
	view_stop(work->view[which]);
	sched_view_lost(work->sched, which);
	work_kick(work);
}

/* Records that the views have brought are void. The view that found it goes on by
 * itself. */
void views_stop(struct work *work, const struct work_view *but)
{
	for (unsigned i = 0; i < SCHED_VIEWS; i++)
		if (work->view[i] != NULL && work->view[i] != but)
			view_stop(work->view[i]);
}
