#include "shardsched/shard/settings/settings.h"

#include <stdlib.h>
#include <string.h>

#include "shardsched/framework/profile.h"
#include "shardsched/plugins/plugins.h"
#include "store/keys/names.h"

enum { PROFILES_TEXT_MAX = 1 << 20, BACKOFF_FIRST_MS = 1000, BACKOFF_MAX_MS = 10000 };

static const struct pl_json_range backoff_range = {1, 3600000};
static const struct pl_json_range weight_range = {1, QUEUE_WEIGHT_MAX};
static const struct pl_json_range batch_range = {1, SETTINGS_BATCH_MAX};
static const struct pl_json_range inflight_range = {1, SETTINGS_INFLIGHT_MAX};
static const struct pl_json_range cache_range = {1 << 20, INT64_C(1) << 40};
static const struct pl_json_range plugin_budget_range = {1, 3600000};

static const char *const sort_words[] = {
	[QUEUE_BY_PRIORITY] = "priority",
	[QUEUE_BY_SLA] = "sla",
};

static const char *const of_kubernetes[] = {"apiVersion", "kind", "profiles", NULL};

/* -- profiles ---------------------------------------------------------------------- */

/* Copies the members of Kubernetes into a document of their own; the paths in it are the
 * same as in the whole. */
static enum pl_code read_profiles(struct pl_json json, struct pl_arena *arena,
                                  struct sched_settings *out, struct pl_err *err)
{
	struct pl_json_out text;
	struct pl_buf buf;
	size_t list = 0, list_end = 0;
	enum pl_code code;

	pl_buf_init(&buf, PROFILES_TEXT_MAX);
	pl_json_out_init(&text, &buf);
	pl_json_out_object(&text);
	for (unsigned i = 0; of_kubernetes[i] != NULL; i++) {
		struct pl_json member = pl_json_member(json, of_kubernetes[i]);

		if (member.node == NULL)
			continue;
		pl_json_out_name(&text, of_kubernetes[i]);
		list = buf.len;
		pl_json_out_value(&text, member);
		list_end = buf.len;
	}
	pl_json_out_end(&text);
	code = pl_json_out_done(&text);
	if (code == PL_OK) {
		out->profiles = pl_arena_dup(arena, pl_buf_span(&buf));
		code = out->profiles.at == NULL ? PL_NOMEM : PL_OK;
	}
	/* The array was written last, if it is there at all. */
	if (code == PL_OK && pl_json_count(pl_json_member(json, "profiles")) > 0)
		out->list = pl_span(out->profiles.at + list, list_end - list);
	pl_buf_done(&buf);
	if (code != PL_OK)
		return pl_json_fail(json, code, err, "the profiles are too large");
	return PL_OK;
}

/* The order of the queue that the profiles ask for; all of them ask for the same. */
static enum pl_code check_profiles(struct pl_span text, enum queue_sort *sort,
                                   struct pl_err *err)
{
	struct model model;
	struct profiles profiles = {0};
	const struct plugin *row;
	enum pl_code code;

	model_init(&model);
	code = profiles_parse(&model, &plugins, text, &profiles, err);
	if (code == PL_OK) {
		row = plugins.row[profiles.at[0].at[POINT_QUEUE_SORT].plugin[0]];
		*sort = *(const enum queue_sort *)row->sort;
		profiles_drop(&profiles);
	}
	model_done(&model);
	return code;
}

/* -- queue and shard --------------------------------------------------------------- */

static int compare_weights(const void *a, const void *b)
{
	const struct settings_weight *left = a, *right = b;

	return pl_span_cmp(left->namespace, right->namespace);
}

static enum pl_code read_weight(struct pl_json list, struct pl_json entry,
                                struct pl_arena *arena, struct settings_weight *out,
                                struct pl_err *err)
{
	struct pl_span namespace = pl_span_str(pl_json_key(entry));
	struct pl_err why = {0};
	int64_t weight = 0;
	enum pl_code code;

	if (names_check(NAMES_NAMESPACE, namespace, &why) != PL_OK)
		return pl_json_fail(list, PL_INVALID, err, "%s", why.msg);
	code = pl_json_as_int(entry, weight_range, &weight, err);
	if (code != PL_OK)
		return code;
	*out = (struct settings_weight){pl_arena_dup(arena, namespace), (uint32_t)weight};
	return out->namespace.at == NULL ? pl_json_fail(entry, PL_NOMEM, err, "no room")
	                                 : PL_OK;
}

static enum pl_code read_weights(struct pl_json queue, struct pl_arena *arena,
                                 struct sched_settings *out, struct pl_err *err)
{
	struct pl_json list = {0};
	struct settings_weight *weight;
	size_t count, i = 0;
	enum pl_code code =
		pl_json_object(queue, "weights", PL_JSON_OPTIONAL, &list, err);

	count = pl_json_count(list);
	if (code != PL_OK || count == 0)
		return code;
	if (count > SETTINGS_WEIGHTS_MAX)
		return pl_json_fail(list, PL_LIMIT, err, "more than %d namespaces",
		                    SETTINGS_WEIGHTS_MAX);
	weight = pl_arena_zalloc(arena, count, sizeof *weight);
	if (weight == NULL)
		return pl_json_fail(list, PL_NOMEM, err, "no room");
	PL_JSON_EACH (entry, list) {
		code = read_weight(list, entry, arena, &weight[i++], err);
		if (code != PL_OK)
			return code;
	}
	qsort(weight, count, sizeof *weight, compare_weights);
	out->weight = weight;
	out->weights = (uint32_t)count;
	return PL_OK;
}

/* A sort that contradicts the profiles is refused: one of the two would be ignored. */
static enum pl_code read_sort(struct pl_json queue, struct sched_settings *out,
                              struct pl_err *err)
{
	enum queue_sort of_profiles = out->sort;
	const char *word = NULL;
	enum pl_code code = pl_json_string(queue, "sort", PL_JSON_OPTIONAL, &word, err);

	if (code != PL_OK || word == NULL)
		return code;
	out->sort_given = true;
	out->sort = strcmp(word, sort_words[QUEUE_BY_SLA]) == 0 ? QUEUE_BY_SLA
	                                                        : QUEUE_BY_PRIORITY;
	if (strcmp(word, sort_words[out->sort]) != 0)
		return pl_json_fail(pl_json_member(queue, "sort"), PL_INVALID, err,
		                    "want priority or sla");
	if (of_profiles == QUEUE_BY_SLA && out->sort == QUEUE_BY_PRIORITY)
		return pl_json_fail(pl_json_member(queue, "sort"), PL_INVALID, err,
		                    "the profiles sort by SLASort");
	return PL_OK;
}

static enum pl_code read_backoff(struct pl_json queue, struct sched_settings *out,
                                 struct pl_err *err)
{
	int64_t first = 0, max = 0;
	enum pl_code code = pl_json_int_in(queue, "backoff_first_ms", PL_JSON_OPTIONAL,
	                                   backoff_range, &first, err);

	if (code == PL_OK)
		code = pl_json_int_in(queue, "backoff_max_ms", PL_JSON_OPTIONAL,
		                      backoff_range, &max, err);
	if (code != PL_OK)
		return code;
	if (first > (max != 0 ? max : BACKOFF_MAX_MS))
		return pl_json_fail(pl_json_member(queue, "backoff_first_ms"), PL_INVALID,
		                    err, "is over backoff_max_ms, %lld",
		                    (long long)(max != 0 ? max : BACKOFF_MAX_MS));
	out->backoff_first_ms = (uint64_t)first;
	out->backoff_max_ms = (uint64_t)max;
	return PL_OK;
}

static enum pl_code read_queue(struct pl_json json, struct pl_arena *arena,
                               struct sched_settings *out, struct pl_err *err)
{
	static const char *const known[] = {
		"sort", "fair", "weights", "backoff_first_ms", "backoff_max_ms", NULL};
	struct pl_json queue = {0};
	enum pl_code code = pl_json_object(json, "queue", PL_JSON_OPTIONAL, &queue, err);

	if (code != PL_OK || queue.node == NULL)
		return code;
	code = pl_json_only(queue, known, err);
	if (code == PL_OK)
		code = read_sort(queue, out, err);
	if (code == PL_OK)
		code = pl_json_bool(queue, "fair", PL_JSON_OPTIONAL, &out->fair, err);
	if (code == PL_OK)
		code = read_weights(queue, arena, out, err);
	if (code == PL_OK)
		code = read_backoff(queue, out, err);
	if (code == PL_OK && out->weights > 0 && !out->fair)
		code = pl_json_fail(pl_json_member(queue, "weights"), PL_INVALID, err,
		                    "mean nothing without fair: true");
	return code;
}

static enum pl_code read_shard(struct pl_json json, struct sched_settings *out,
                               struct pl_err *err)
{
	static const char *const known[] = {"batch", "inflight", "cache_bytes",
	                                    "plugin_budget_ms", NULL};
	struct pl_json shard = {0};
	int64_t batch_size = 0, inflight = 0, cache = 0, budget = 0;
	enum pl_code code = pl_json_object(json, "shard", PL_JSON_OPTIONAL, &shard, err);

	if (code != PL_OK || shard.node == NULL)
		return code;
	code = pl_json_only(shard, known, err);
	if (code == PL_OK)
		code = pl_json_int_in(shard, "batch", PL_JSON_OPTIONAL, batch_range,
		                      &batch_size, err);
	if (code == PL_OK)
		code = pl_json_int_in(shard, "inflight", PL_JSON_OPTIONAL, inflight_range,
		                      &inflight, err);
	if (code == PL_OK)
		code = pl_json_int_in(shard, "cache_bytes", PL_JSON_OPTIONAL, cache_range,
		                      &cache, err);
	if (code == PL_OK)
		code = pl_json_int_in(shard, "plugin_budget_ms", PL_JSON_OPTIONAL,
		                      plugin_budget_range, &budget, err);
	out->batch_size = (uint32_t)batch_size;
	out->inflight = (uint32_t)inflight;
	out->cache_bytes = (uint64_t)cache;
	out->plugin_budget_ms = (uint32_t)budget;
	return code;
}

enum pl_code settings_read(struct pl_json json, struct pl_arena *arena,
                           struct sched_settings *out, struct pl_err *err)
{
	static const char *const known[] = {"apiVersion", "kind",  "profiles",
	                                    "queue",      "shard", NULL};
	struct sched_settings settings = {0};
	enum pl_code code = pl_json_only(json, known, err);

	if (code == PL_OK)
		code = read_profiles(json, arena, &settings, err);
	if (code == PL_OK)
		code = check_profiles(settings.profiles, &settings.sort, err);
	if (settings.list.len == 0) /* the default profile, however it is written */
		settings.profiles = (struct pl_span){0};
	if (code == PL_OK)
		code = read_queue(json, arena, &settings, err);
	if (code == PL_OK)
		code = read_shard(json, &settings, err);
	if (code == PL_OK)
		*out = settings;
	return code;
}

/* -- printing ---------------------------------------------------------------------- */

static void put_int(struct pl_json_out *out, const char *name, uint64_t value)
{
	if (value == 0)
		return;
	pl_json_out_name(out, name);
	pl_json_out_int(out, (int64_t)value);
}

static void print_backoff(const struct sched_settings *settings, struct pl_json_out *out)
{
	uint64_t first = settings->backoff_first_ms, max = settings->backoff_max_ms;

	if (max == 0)
		max = BACKOFF_MAX_MS;
	if (first == 0)
		first = max < BACKOFF_FIRST_MS ? max : BACKOFF_FIRST_MS;
	put_int(out, "backoff_first_ms", first);
	put_int(out, "backoff_max_ms", max);
}

static void print_queue(const struct sched_settings *settings, struct pl_json_out *out)
{
	pl_json_out_name(out, "queue");
	pl_json_out_object(out);
	pl_json_out_name(out, "sort");
	pl_json_out_str(out, sort_words[settings->sort]);
	pl_json_out_name(out, "fair");
	pl_json_out_bool(out, settings->fair);
	if (settings->weights > 0) {
		pl_json_out_name(out, "weights");
		pl_json_out_object(out);
		for (uint32_t i = 0; i < settings->weights; i++) {
			pl_json_out_name_span(out, settings->weight[i].namespace);
			pl_json_out_int(out, settings->weight[i].weight);
		}
		pl_json_out_end(out);
	}
	print_backoff(settings, out);
	pl_json_out_end(out);
}

void settings_print(const struct sched_settings *settings, struct pl_json_out *out)
{
	static const char fallback[] = "[{\"schedulerName\":\"default-scheduler\"}]";

	pl_json_out_object(out);
	pl_json_out_name(out, "profiles");
	pl_json_out_raw(out,
	                settings->list.len > 0 ? settings->list : pl_span_str(fallback));
	print_queue(settings, out);
	pl_json_out_name(out, "shard");
	pl_json_out_object(out);
	put_int(out, "batch", settings->batch_size);
	put_int(out, "inflight", settings->inflight);
	put_int(out, "cache_bytes", settings->cache_bytes);
	put_int(out, "plugin_budget_ms", settings->plugin_budget_ms);
	pl_json_out_end(out);
	pl_json_out_end(out);
}
