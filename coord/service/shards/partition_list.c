#include "coord/service/shards/partition_list.h"

#include <stdlib.h>

#include "coord/service/shards/partition_targets.h"
#include "coord/service/shards/shards_report.h"
#include "store/base/alloc.h"

struct partition_list {
	struct partition_list_opts opts;
	uint32_t count;
	struct shards_report *report;
	struct partition_targets targets;
};

static void give(struct partition_list *list, const struct partition_list_note *note)
{
	list->opts.note(list->opts.ctx, note);
}

/* -- one by one ------------------------------------------------------------- */

static enum pl_code give_partition(struct partition_list *list,
                                   const struct shards_view *view, uint32_t partition,
                                   struct pl_err *err)
{
	const struct keys_id id = {.kind = KEYS_OWNER, .partition = partition};
	struct keys_text key;
	enum pl_code code = keys_build(&id, &key, err);

	if (code == PL_OK)
		give(list, &(struct partition_list_note){
				   .what = PARTITION_LIST_PARTITION,
				   .key = keys_span(&key),
				   .partition = partition,
				   .entry = owners_watch_of(view->owners, partition),
				   .target = assign_of(list->targets.assign, partition)});
	return code;
}

static void give_stray(struct partition_list *list,
                       const struct owners_watch_entry *entry)
{
	give(list, &(struct partition_list_note){.what = PARTITION_LIST_PARTITION,
	                                         .key = entry->key,
	                                         .stray = true,
	                                         .entry = entry});
}

static bool is_stray(const struct partition_list *list,
                     const struct owners_watch_entry *entry)
{
	return !entry->is_partition || entry->partition >= list->count;
}

static enum pl_code give_partitions(struct partition_list *list,
                                    const struct shards_view *view, struct pl_err *err)
{
	const struct owners_watch_entry *entry;
	struct owners_walk walk;
	enum pl_code code = PL_OK;

	for (uint32_t p = 0; p < list->count && code == PL_OK; p++)
		code = give_partition(list, view, p, err);
	owners_walk_begin(view->owners, &walk);
	while (code == PL_OK && (entry = owners_walk_next(&walk)) != NULL)
		if (is_stray(list, entry))
			give_stray(list, entry);
	return code;
}

static enum pl_code give_changed(struct partition_list *list,
                                 const struct shards_view *view, struct pl_span key,
                                 struct pl_err *err)
{
	const struct owners_watch_entry *entry = owners_watch_get(view->owners, key);
	struct keys_id id;

	if (entry != NULL && is_stray(list, entry))
		give_stray(list, entry);
	else if (keys_parse(key, &id, NULL) == PL_OK && id.partition < list->count)
		return give_partition(list, view, id.partition, err);
	else
		give(list, &(struct partition_list_note){.what = PARTITION_LIST_GONE,
		                                         .key = key});
	return PL_OK;
}

/* -- by shard ---------------------------------------------------------------- */

static void on_share(void *ctx, const struct shard_share *share)
{
	give(ctx,
	     &(struct partition_list_note){.what = PARTITION_LIST_SHARE, .share = share});
}

static enum pl_code give_shares(struct partition_list *list,
                                const struct shards_view *view, struct pl_err *err)
{
	if (shard_shares_count(view, list->targets.assign, list->count, on_share, list) ==
	    PL_OK)
		return PL_OK;
	return pl_err_set(err, PL_NOMEM, "count by shard");
}

/* -- all ---------------------------------------------------------------------- */

static enum pl_code give_all(struct partition_list *list, const struct shards_view *view,
                             struct pl_err *err)
{
	enum pl_code code;

	give(list, &(struct partition_list_note){.what = PARTITION_LIST_BEGIN});
	code = list->opts.shares ? give_shares(list, view, err)
	                         : give_partitions(list, view, err);
	if (code == PL_OK)
		give(list, &(struct partition_list_note){.what = PARTITION_LIST_END});
	return code;
}

static enum pl_code refresh(struct partition_list *list, const struct shards_view *view,
                            bool *changed, struct pl_err *err)
{
	*changed = false;
	if (!list->opts.targets)
		return PL_OK;
	return partition_targets_refresh(&list->targets, view, changed, err);
}

static enum pl_code on_note(void *ctx, const struct shards_view *view,
                            const struct shards_view_note *note, struct pl_err *err)
{
	struct partition_list *list = ctx;
	enum pl_code code = PL_OK;
	bool changed;

	switch (note->what) {
	case SHARDS_VIEW_ALL:
		code = refresh(list, view, &changed, err);
		return code == PL_OK ? give_all(list, view, err) : code;
	case SHARDS_VIEW_SHARD:
		code = refresh(list, view, &changed, err);
		return code == PL_OK && changed ? give_all(list, view, err) : code;
	case SHARDS_VIEW_OWNER:
		return list->opts.shares ? give_all(list, view, err)
		                         : give_changed(list, view, note->name, err);
	case SHARDS_VIEW_TROUBLE:
		give(list, &(struct partition_list_note){.what = PARTITION_LIST_TROUBLE,
		                                         .err = note->err});
		break;
	case SHARDS_VIEW_FAILED:
	case SHARDS_VIEW_STOPPED:
		break;
	}
	return PL_OK;
}

/* -- life ---------------------------------------------------------------------- */

static void on_done(void *ctx, const struct pl_err *err)
{
	struct partition_list *list = ctx;
	const struct partition_list_opts opts = list->opts;

	partition_targets_done(&list->targets);
	free(list);
	opts.done(opts.ctx, err);
}

enum pl_code partition_list_start(const struct service *service,
                                  const struct partition_list_opts *opts,
                                  struct partition_list **out, struct pl_err *err)
{
	struct partition_list *list = pl_calloc(1, sizeof *list);
	struct shards_report_opts report = {.wanted = SHARDS_VIEW_OWNERS,
	                                    .follow = opts->follow,
	                                    .note = on_note,
	                                    .done = on_done,
	                                    .ctx = list};

	if (list == NULL)
		return pl_err_set(err, PL_NOMEM, "list the partitions");
	list->opts = *opts;
	list->opts.targets = opts->targets || opts->shares;
	list->count = service->partitions;
	if (list->opts.targets)
		report.wanted |= SHARDS_VIEW_ROSTER | SHARDS_VIEW_CONFIG;
	if (partition_targets_init(&list->targets, list->count, err) != PL_OK) {
		free(list);
		return err->code;
	}
	if (shards_report_start(service, &report, &list->report, err) != PL_OK) {
		partition_targets_done(&list->targets);
		free(list);
		return err->code;
	}
	*out = list;
	return PL_OK;
}

void partition_list_cancel(struct partition_list *list)
{
	shards_report_cancel(list->report);
}
