#include <stdlib.h>

#include "shardsched/snapshot/views_inner.h"
#include "store/base/alloc.h"

/* Copies the counts to the fields that users of the tally read. */
void tally_publish(struct tally_inner *tally)
{
	tally->tally.in_domain = tally->counts.count;
	tally->tally.others = tally->counts.others;
}

void tallies_add(struct matcher_inner *matcher, uint32_t slot, uint32_t pods)
{
	PL_LIST_EACH (at, &matcher->tallies) {
		struct tally_inner *tally =
			PL_LIST_ITEM(at, struct tally_inner, of_matcher);

		domain_counts_add(&tally->counts, slot, pods);
		tally->tally.others = tally->counts.others;
	}
}

void tallies_sub(struct matcher_inner *matcher, uint32_t slot, uint32_t pods)
{
	PL_LIST_EACH (at, &matcher->tallies) {
		struct tally_inner *tally =
			PL_LIST_ITEM(at, struct tally_inner, of_matcher);

		domain_counts_sub(&tally->counts, slot, pods);
		tally->tally.others = tally->counts.others;
	}
}

static struct tally_inner *tally_find(const struct matcher *matcher, uint32_t key)
{
	PL_LIST_EACH (at, &matcher->inner->tallies) {
		struct tally_inner *tally =
			PL_LIST_ITEM(at, struct tally_inner, of_matcher);

		if (tally->tally.column->key == key)
			return tally;
	}
	return NULL;
}

struct tally_count {
	const struct snapshot *snapshot;
	struct tally_inner *tally;
};

static enum pl_code count_view(void *ctx, struct spec_view_inner *view)
{
	const struct tally_count *count = ctx;
	const struct matcher_inner *matcher = matcher_inner(count->tally->tally.matcher);
	const struct placed_pod *placed = count->snapshot->placed;

	if (!matcher_has_view(matcher, view))
		return PL_OK;
	for (uint32_t at = view->view.first_pod; at != SNAPSHOT_NONE;
	     at = placed[at].next_of_view)
		if (matcher_counts(matcher, placed[at].flags))
			domain_counts_add(&count->tally->counts, placed[at].node, 1);
	return PL_OK;
}

static void count_all(const struct snapshot *snapshot, struct tally_inner *tally)
{
	struct tally_count count = {snapshot, tally};

	(void)views_each(snapshot->inner->views, &tally->tally.matcher->inner->rule,
	                 count_view, &count);
}

/* The tally takes one use of the matcher. */
static enum pl_code tally_new(struct snapshot *snapshot, struct matcher *matcher,
                              uint32_t key, struct tally_inner **out, struct pl_err *err)
{
	struct tally_inner *made = pl_calloc(1, sizeof *made);
	enum pl_code code;

	if (made == NULL)
		return pl_err_set(err, PL_NOMEM, "count pods by a label");
	code = view_column_join(snapshot, &made->counts, key, false, err);
	if (code != PL_OK) {
		free(made);
		return code;
	}
	made->tally.inner = made;
	made->tally.matcher = matcher;
	made->tally.column = made->counts.column;
	matcher->users++;
	pl_list_init(&made->idle);
	pl_list_add_tail(&matcher->inner->tallies, &made->of_matcher);
	count_all(snapshot, made);
	tally_publish(made);
	*out = made;
	return PL_OK;
}

void tally_free(struct snapshot *snapshot, struct tally_inner *tally)
{
	/* A freed tally has left its list. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	PL_ASSERT(tally->tally.users == 0);
	pl_list_del(&tally->of_matcher);
	pl_list_del(&tally->idle);
	view_column_leave(snapshot, &tally->counts);
	matcher_close(snapshot, tally->tally.matcher);
	free(tally);
}

enum pl_code tally_open(struct snapshot *snapshot, struct matcher *matcher,
                        uint32_t topology_key, struct tally **out, struct pl_err *err)
{
	struct tally_inner *tally = tally_find(matcher, topology_key);
	enum pl_code code;

	if (tally == NULL) {
		code = tally_new(snapshot, matcher, topology_key, &tally, err);
		if (code != PL_OK)
			return code;
	}
	PL_ASSERT(tally != NULL);
	if (tally->tally.users++ == 0 && !pl_list_empty(&tally->idle)) {
		pl_list_del(&tally->idle);
		snapshot->inner->views->idle_tallies_count--;
	}
	*out = &tally->tally;
	return PL_OK;
}

void tally_close(struct snapshot *snapshot, struct tally *tally)
{
	struct views *views = snapshot->inner->views;
	struct pl_list *oldest;

	PL_ASSERT(tally->users > 0);
	if (--tally->users > 0)
		return;
	pl_list_add_tail(&views->idle_tallies, &tally->inner->idle);
	views->idle_tallies_count++;
	while (views->idle_tallies_count > views_idle_max(snapshot)) {
		oldest = views->idle_tallies.next;
		views->idle_tallies_count--;
		tally_free(snapshot, PL_LIST_ITEM(oldest, struct tally_inner, idle));
	}
}

uint32_t tally_inside(const struct tally *tally)
{
	return tally->inner->counts.inside;
}

void tally_refresh(const struct snapshot *snapshot, const struct tally *tally)
{
	domain_counts_refresh(&tally->inner->counts, snapshot->slots);
}

const uint64_t *tally_nodes(const struct tally *tally)
{
	return domain_counts_nodes(&tally->inner->counts);
}
