#include "coord/service/shards/shards_report.h"

#include <stdlib.h>

#include "store/base/alloc.h"

enum report_state { REPORT_OPENING, REPORT_OPEN, REPORT_STOPPING };

struct shards_report {
	struct shards_report_opts opts;
	struct shards_view view;
	enum report_state state;
	struct pl_timer deadline; /* OPENING */
	struct pl_err trouble;    /* the last one while OPENING */
	struct pl_err err;        /* STOPPING: of the report; PL_OK: it succeeded */
};

static void stop_report(struct shards_report *report, const struct pl_err *err)
{
	PL_ASSERT(report->state != REPORT_STOPPING);
	report->state = REPORT_STOPPING;
	if (err != NULL)
		report->err = *err;
	pl_timer_stop(&report->deadline);
	shards_view_stop(&report->view);
}

static void finish_report(struct shards_report *report)
{
	const struct shards_report_opts opts = report->opts;
	const struct pl_err err = report->err;

	pl_timer_done(&report->deadline);
	free(report);
	opts.done(opts.ctx, err.code == PL_OK ? NULL : &err);
}

static void tell(struct shards_report *report, const struct shards_view_note *note)
{
	struct pl_err err = {0};
	enum pl_code code =
		report->opts.note(report->opts.ctx, &report->view, note, &err);

	if (report->state == REPORT_STOPPING)
		return; /* canceled in the note */
	if (code != PL_OK)
		stop_report(report, &err);
	else if (!report->opts.follow)
		stop_report(report, NULL);
}

static void on_note(void *ctx, const struct shards_view_note *note)
{
	struct shards_report *report = ctx;

	if (note->what == SHARDS_VIEW_STOPPED) {
		finish_report(report);
		return;
	}
	switch (report->state) {
	case REPORT_OPENING:
		if (note->err != NULL)
			report->trouble = *note->err;
		if (note->what == SHARDS_VIEW_FAILED)
			stop_report(report, note->err);
		if (note->what != SHARDS_VIEW_ALL)
			return;
		report->state = REPORT_OPEN;
		pl_timer_stop(&report->deadline);
		tell(report, note);
		break;
	case REPORT_OPEN:
		tell(report, note);
		break;
	case REPORT_STOPPING:
		break;
	}
}

static void on_deadline(void *ctx)
{
	struct shards_report *report = ctx;

	if (report->trouble.code == PL_OK)
		(void)pl_err_set(&report->trouble, PL_TIMEOUT,
		                 "the store did not tell all in time");
	stop_report(report, &report->trouble);
}

enum pl_code shards_report_start(const struct service *service,
                                 const struct shards_report_opts *opts,
                                 struct shards_report **out, struct pl_err *err)
{
	struct shards_report *report = pl_calloc(1, sizeof *report);

	if (report == NULL)
		return pl_err_set(err, PL_NOMEM, "report the shards");
	report->opts = *opts;
	if (pl_timer_init(&report->deadline, kv_timers(service->kv), on_deadline,
	                  report) != PL_OK) {
		free(report);
		return pl_err_set(err, PL_NOMEM, "report the shards");
	}
	if (shards_view_open(&report->view, service->kv, opts->wanted, on_note, report,
	                     err) != PL_OK) {
		pl_timer_done(&report->deadline);
		free(report);
		return err->code;
	}
	pl_timer_set(&report->deadline, kv_now_ms(service->kv) + service->timeout_ms);
	*out = report;
	return PL_OK;
}

void shards_report_cancel(struct shards_report *report)
{
	struct pl_err err = {0};

	if (report->state == REPORT_STOPPING)
		return;
	(void)pl_err_set(&err, PL_CANCELED, "report the shards");
	stop_report(report, &err);
}
