#include "coord/service/nodes/node_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"
#include "store/kv/cache/cache.h"
#include "store/kv/keys.h"

/* The orders of the caches are "cluster/name 0007", so that the keys of one node are
 * neighbours, whatever partition they stand in. The blank comes before all bytes of a
 * name, so "n-1" comes before "n-1-a". */
enum { PARTITION_SIZE = 5, CLUSTER_LEVELS = 3 };

enum half { HALF_NODE, HALF_ALLOC, HALVES };

/* The half of a node info that one key holds. */
struct node_half {
	struct node_info info;
	size_t note_len;
	char note[PL_ERR_MSG_SIZE];
};

struct half_list {
	struct node_watch *watch;
	enum half half;
	struct cache *cache; /* NULL: it has stopped */
	struct cache_listener listener;
	struct keys_text prefix;
	uint32_t partition; /* that is listed, of one cluster's nodes */
};

struct node_watch {
	const struct service *service;
	const struct node_filter *filter;
	node_watch_fn *fn;
	void *ctx;
	struct node_reader reader;
	struct half_list list[HALVES];
	bool whole, stopping;
};

/* -- keys ------------------------------------------------------------------------- */

static enum keys_kind kind_of(enum half half)
{
	return half == HALF_NODE ? KEYS_NODE : KEYS_ALLOC;
}

static bool is_wanted(void *ctx, struct pl_span key)
{
	const struct half_list *list = ctx;
	struct keys_id id;

	return keys_parse(key, &id, NULL) == PL_OK && id.kind == kind_of(list->half) &&
	       node_filter_names(list->watch->filter, id.scope, id.name);
}

static size_t order_of(void *ctx, struct pl_span key, uint8_t *out)
{
	char text[CACHE_ORDER_MAX];
	struct keys_id id;
	int len;

	(void)ctx;
	if (keys_parse(key, &id, NULL) != PL_OK)
		PL_UNREACHABLE("a key that was parsed before");
	len = snprintf(text, sizeof text, PL_SPAN_FMT "/" PL_SPAN_FMT " %04u",
	               PL_SPAN_ARG(id.scope), PL_SPAN_ARG(id.name), id.partition);
	PL_ASSERT(len > 0 && (size_t)len < sizeof text);
	memcpy(out, text, (size_t)len);
	return (size_t)len;
}

/* "cluster/name " */
static struct pl_span name_of(const struct cache_entry *entry)
{
	struct pl_span order = cache_entry_order(entry);

	return pl_span(order.at, order.len - (PARTITION_SIZE - 1));
}

/* -- values ----------------------------------------------------------------------- */

static enum pl_code parse_half(void *ctx, const struct kv_record *record, void **object,
                               size_t *bytes)
{
	struct half_list *list = ctx;
	struct node_reader *reader = &list->watch->reader;
	struct node_half *half = pl_calloc(1, sizeof *half);
	struct pl_err why = {0};
	struct keys_id id;
	enum pl_code code;

	if (half == NULL)
		return PL_NOMEM;
	if (keys_parse(record->key, &id, NULL) != PL_OK)
		PL_UNREACHABLE("a key that was parsed before");
	half->info.partition = id.partition;
	code = list->half == HALF_NODE
	               ? node_reader_node(reader, record->value, &half->info, &why)
	               : node_reader_alloc(reader, record->value, &half->info, &why);
	if (code == PL_NOMEM) {
		free(half);
		return code;
	}
	if (code != PL_OK)
		half->note_len =
			(size_t)snprintf(half->note, sizeof half->note, "%s", why.msg);
	*bytes += sizeof *half;
	*object = half;
	return PL_OK;
}

static struct pl_span note_of(const struct node_half *half)
{
	return half == NULL ? (struct pl_span){0} : pl_span(half->note, half->note_len);
}

static struct node_info merge_halves(struct pl_span name, const struct node_half *node,
                                     const struct node_half *alloc)
{
	const uint8_t *slash = memchr(name.at, '/', name.len);
	size_t len = (size_t)(slash - name.at);
	struct node_info info = {0};

	if (node != NULL)
		info = node->info;
	if (node == NULL && alloc != NULL)
		info.partition = alloc->info.partition;
	if (alloc != NULL) {
		info.has_alloc = true;
		info.holds = alloc->info.holds;
		info.generation = alloc->info.generation;
		info.used = alloc->info.used;
	}
	info.cluster = pl_span(name.at, len);
	info.name = pl_span(slash + 1, name.len - len - 2);
	info.node_note = note_of(node);
	info.alloc_note = note_of(alloc);
	return info;
}

/* The last of two partitions with the same key counts. */
static const struct node_half *find_half(const struct node_watch *watch, enum half half,
                                         struct pl_span name)
{
	const struct node_half *found = NULL;
	const struct cache_entry *entry;
	struct cache_range range;

	if (cache_range_begin(watch->list[half].cache, kv_prefix(name), 0, &range) !=
	    PL_OK)
		PL_UNREACHABLE("a range of the present");
	while ((entry = cache_range_next(&range)) != NULL)
		found = entry->object;
	return found;
}

/* -- notes ------------------------------------------------------------------------ */

static void emit_note(struct node_watch *watch, enum node_watch_what what,
                      const struct node_info *info, const struct pl_err *err)
{
	watch->fn(watch->ctx,
	          &(struct node_watch_note){.what = what, .info = info, .err = err});
}

static void report_node(struct node_watch *watch, const struct cache_entry *entry)
{
	struct pl_span name = name_of(entry);
	const struct node_half *node = find_half(watch, HALF_NODE, name);
	const struct node_half *alloc = find_half(watch, HALF_ALLOC, name);
	struct node_info info = merge_halves(name, node, alloc);

	emit_note(watch,
	          node == NULL && alloc == NULL ? NODE_WATCH_GONE : NODE_WATCH_NODE,
	          &info, NULL);
}

static void watch_free(struct node_watch *watch)
{
	node_reader_done(&watch->reader);
	free(watch);
}

static void on_stopped(struct half_list *list)
{
	struct node_watch *watch = list->watch;
	node_watch_fn *fn = watch->fn;
	void *ctx = watch->ctx;

	list->cache = NULL;
	if (watch->list[HALF_NODE].cache != NULL || watch->list[HALF_ALLOC].cache != NULL)
		return;
	watch_free(watch);
	fn(ctx, &(struct node_watch_note){.what = NODE_WATCH_STOPPED});
}

static void on_note(void *ctx, const struct cache_note *note)
{
	struct half_list *list = ctx;
	struct node_watch *watch = list->watch;

	switch (note->type) {
	case CACHE_ADDED:
	case CACHE_UPDATED:
	case CACHE_DELETED:
		if (watch->whole)
			report_node(watch,
			            note->after == NULL ? note->before : note->after);
		break;
	case CACHE_SYNCED:
		if (watch->whole || !cache_synced(watch->list[HALF_NODE].cache) ||
		    !cache_synced(watch->list[HALF_ALLOC].cache))
			break;
		watch->whole = true;
		emit_note(watch, NODE_WATCH_WHOLE, NULL, NULL);
		break;
	case CACHE_PROGRESS:
		break;
	case CACHE_LOST:
	case CACHE_TROUBLE:
		emit_note(watch, NODE_WATCH_TROUBLE, NULL, note->err);
		break;
	case CACHE_STOPPED:
		on_stopped(list);
		break;
	}
}

/* -- life ------------------------------------------------------------------------- */

/* A single cluster has a prefix in each partition. */
static bool next_prefix(void *ctx, bool first, struct pl_span *prefix)
{
	struct half_list *list = ctx;
	const struct node_watch *watch = list->watch;
	struct keys_id id = {.kind = kind_of(list->half),
	                     .scope = watch->filter->cluster};

	list->partition = first ? 0 : list->partition + 1;
	id.partition = list->partition;
	if (list->partition >= watch->service->partitions)
		return false;
	if (keys_prefix(&id, CLUSTER_LEVELS, &list->prefix, NULL) != PL_OK)
		PL_UNREACHABLE("a cluster that was checked");
	*prefix = keys_span(&list->prefix);
	return true;
}

static enum pl_code open_half(struct node_watch *watch, enum half half,
                              struct pl_err *err)
{
	struct half_list *list = &watch->list[half];
	const struct keys_id id = {.kind = kind_of(half)};
	struct cache_opts opts = {.list = {.prefix_ctx = list},
	                          .wants = is_wanted,
	                          .order = order_of,
	                          .parse = parse_half,
	                          .free_object = free,
	                          .ctx = list,
	                          .drop_values = true,
	                          .bytes_max = SIZE_MAX};
	struct keys_text prefix;
	enum pl_code code = keys_prefix(&id, 1, &prefix, err);

	list->watch = watch;
	list->half = half;
	opts.list.keys = kv_prefix(keys_span(&prefix));
	if (watch->filter->cluster.len > 0 && watch->filter->name_count == 0)
		opts.list.next_prefix = next_prefix;
	if (code == PL_OK)
		code = cache_open(watch->service->kv, &opts, &list->cache, err);
	if (code == PL_OK)
		cache_listen(list->cache, &list->listener, on_note, list);
	return code;
}

enum pl_code node_watch_open(const struct service *service,
                             const struct node_filter *filter, node_watch_fn *fn,
                             void *ctx, struct node_watch **out, struct pl_err *err)
{
	struct node_watch *watch = pl_calloc(1, sizeof *watch);

	if (watch == NULL)
		return pl_err_set(err, PL_NOMEM, "watch nodes");
	watch->service = service;
	watch->filter = filter;
	watch->fn = fn;
	watch->ctx = ctx;
	node_reader_init(&watch->reader, filter->query);
	if (open_half(watch, HALF_NODE, err) != PL_OK) {
		watch_free(watch);
		return err->code;
	}
	*out = watch;
	if (open_half(watch, HALF_ALLOC, err) == PL_OK)
		return PL_OK;
	/* The half that stands would have to stop first: it does so silently. */
	cache_unlisten(&watch->list[HALF_NODE].listener);
	cache_stop(watch->list[HALF_NODE].cache);
	watch_free(watch);
	return err->code;
}

void node_watch_stop(struct node_watch *watch)
{
	for (unsigned i = 0; i < HALVES; i++)
		if (watch->list[i].cache != NULL)
			cache_stop(watch->list[i].cache);
}

/* -- reading ---------------------------------------------------------------------- */

/* The entries of one name in one cache; the last of them counts. */
static const struct node_half *take_name(struct cache_range *range,
                                         const struct cache_entry **next,
                                         struct pl_span name)
{
	const struct node_half *half = NULL;

	while (*next != NULL && pl_span_eq(name_of(*next), name)) {
		half = (*next)->object;
		*next = cache_range_next(range);
	}
	return half;
}

void node_watch_each(const struct node_watch *watch,
                     bool (*fn)(void *ctx, const struct node_info *info), void *ctx)
{
	const struct cache_entry *next[HALVES];
	struct cache_range range[HALVES];
	bool more = true;

	for (unsigned i = 0; i < HALVES; i++) {
		if (cache_range_begin(watch->list[i].cache, kv_all_keys(), 0,
		                      &range[i]) != PL_OK)
			PL_UNREACHABLE("a range of the present");
		next[i] = cache_range_next(&range[i]);
	}
	while (more && (next[HALF_NODE] != NULL || next[HALF_ALLOC] != NULL)) {
		const struct cache_entry *a = next[HALF_NODE], *b = next[HALF_ALLOC];
		bool first = b == NULL ||
		             (a != NULL && pl_span_cmp(name_of(a), name_of(b)) <= 0);
		struct pl_span name = name_of(first ? a : b);
		const struct node_half *node =
			take_name(&range[HALF_NODE], &next[HALF_NODE], name);
		const struct node_half *alloc =
			take_name(&range[HALF_ALLOC], &next[HALF_ALLOC], name);
		struct node_info info = merge_halves(name, node, alloc);

		more = fn(ctx, &info);
	}
}
