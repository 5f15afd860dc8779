#include "coord/service/shards/shard_list.h"

#include <stdlib.h>

#include "coord/service/shards/shards_report.h"
#include "store/base/alloc.h"

struct shard_list {
	struct shard_list_opts opts;
	struct shards_report *report;
	bool first; /* picture was given */
};

static void give(struct shard_list *list, const struct shard_list_note *note)
{
	list->opts.note(list->opts.ctx, note);
}

static const struct config_shards *wanted(const struct shards_view *view)
{
	return &config_watch_value(view->config, CONFIG_SHARDS)->shards;
}

static void give_shard(struct shard_list *list, const struct shards_view *view,
                       const struct roster_entry *entry)
{
	give(list, &(struct shard_list_note){
			   .what = SHARD_LIST_SHARD,
			   .id = entry->member.id,
			   .entry = entry,
			   .drain = config_drains(wanted(view), entry->member.id)});
}

/* A drain of a shard that does not exist is forgotten easily, until a shard of that name
 * comes back and drains at once. */
static void give_missing(struct shard_list *list, const struct shards_view *view)
{
	const struct config_shards *config = wanted(view);

	for (uint32_t i = 0; i < config->drain_count; i++)
		if (roster_get(view->roster, config->drain[i]) == NULL)
			give(list, &(struct shard_list_note){.what = SHARD_LIST_MISSING,
			                                     .id = config->drain[i]});
}

static void give_all(struct shard_list *list, const struct shards_view *view)
{
	give(list, &(struct shard_list_note){.what = SHARD_LIST_BEGIN});
	for (const struct roster_entry *entry = roster_first(view->roster); entry != NULL;
	     entry = roster_next(view->roster, entry))
		give_shard(list, view, entry);
	give(list,
	     &(struct shard_list_note){.what = SHARD_LIST_END,
	                               .count = (uint32_t)roster_count(view->roster)});
	if (!list->first)
		give_missing(list, view);
	list->first = true;
}

static enum pl_code on_note(void *ctx, const struct shards_view *view,
                            const struct shards_view_note *note, struct pl_err *err)
{
	struct shard_list *list = ctx;
	const struct roster_entry *entry;

	(void)err;
	switch (note->what) {
	case SHARDS_VIEW_ALL:
		give_all(list, view);
		break;
	case SHARDS_VIEW_SHARD:
		entry = roster_get(view->roster, note->name);
		if (entry == NULL)
			give(list, &(struct shard_list_note){.what = SHARD_LIST_GONE,
			                                     .id = note->name});
		else
			give_shard(list, view, entry);
		break;
	case SHARDS_VIEW_TROUBLE:
		give(list, &(struct shard_list_note){.what = SHARD_LIST_TROUBLE,
		                                     .err = note->err});
		break;
	case SHARDS_VIEW_OWNER:
	case SHARDS_VIEW_FAILED:
	case SHARDS_VIEW_STOPPED:
		break;
	}
	return PL_OK;
}

static void on_done(void *ctx, const struct pl_err *err)
{
	struct shard_list *list = ctx;
	const struct shard_list_opts opts = list->opts;

	free(list);
	opts.done(opts.ctx, err);
}

enum pl_code shard_list_start(const struct service *service,
                              const struct shard_list_opts *opts, struct shard_list **out,
                              struct pl_err *err)
{
	struct shard_list *list = pl_calloc(1, sizeof *list);
	const struct shards_report_opts report = {.wanted = SHARDS_VIEW_ROSTER |
	                                                    SHARDS_VIEW_CONFIG,
	                                          .follow = opts->follow,
	                                          .note = on_note,
	                                          .done = on_done,
	                                          .ctx = list};

	if (list == NULL)
		return pl_err_set(err, PL_NOMEM, "list the shards");
	list->opts = *opts;
	if (shards_report_start(service, &report, &list->report, err) != PL_OK) {
		free(list);
		return err->code;
	}
	*out = list;
	return PL_OK;
}

void shard_list_cancel(struct shard_list *list)
{
	shards_report_cancel(list->report);
}
