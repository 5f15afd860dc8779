/*
 * Fake plugins for tests, on a real snapshot.
 *
 * There are FAKES rows; fake[i] says what each does. Where a real plugin would look at a
 * node, a fake one computes from the number of the slot.
 */
#ifndef TESTS_SUPPORT_SHARDSCHED_FRAMEWORK_FRAMEWORK_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_FRAMEWORK_FRAMEWORK_RIG_H

#include "shardsched/framework/local_stage.h"
#include "store/base/rng.h"
#include "tests/support/shardsched/snapshot/snapshot_rig.h"

enum {
	FAKES = 6,
	FAKE_BLIND = 2, /* does not look at pods */
	FAKE_FIRST_GLOBAL = 4,
	FAKE_SORT = FAKES,
	FAKE_BIND,
	FAKE_ROWS
};

struct fake_plugin {
	/* refuses slots with slot % mod == rest; mod 0: none */
	uint32_t refuses_mod, refuses_rest;
	/* refuses nodes with that many pods or more, or with fewer; follows moves */
	uint32_t pods_max, pods_min;
	uint32_t narrow_mod; /* narrows to slots that are 0 modulo it; 0: all */
	enum verdict_code pre_filter, pre_score;
	uint32_t score_mod; /* scores slot * 7 % mod; 0: scores 0 */
	int64_t score_plus;
	size_t arena_bytes; /* bytes of the arena that its PreFilter takes */
	uint64_t takes_ns;  /* how far the clock moves in each call of its filter */
	unsigned asked;     /* filter calls */
	int moved;          /* sum of the deltas */
};

static struct fake_plugin fake[FAKES];
static uint64_t fake_now_ns;
static bool fake_local; /* no global plugin may be called now */
static struct profiles profiles;
static struct fw_class *class;

static inline bool fake_refuses(unsigned n, const struct snapshot *on, uint32_t slot)
{
	const struct fake_plugin *is = &fake[n];

	if (is->refuses_mod != 0 && slot % is->refuses_mod == is->refuses_rest)
		return true;
	return (is->pods_max != 0 && on->row[slot].pods >= is->pods_max) ||
	       on->row[slot].pods < is->pods_min;
}

static inline int64_t fake_score(unsigned n, uint32_t slot)
{
	int64_t score =
		fake[n].score_mod == 0 ? 0 : (int64_t)slot * 7 % fake[n].score_mod;

	return score + fake[n].score_plus;
}

static inline void fake_filter(unsigned n, const struct plugin_call *call,
                               struct node_span span)
{
	T_TRUE(!fake_local || n < FAKE_FIRST_GLOBAL);
	fake[n].asked++;
	fake_now_ns += fake[n].takes_ns;
	SPAN_EACH_WORD(i, span)
	for (uint64_t left = span.bits[i]; left != 0; left &= left - 1) {
		uint32_t bit = (uint32_t)__builtin_ctzll(left);

		if (fake_refuses(n, call->snapshot, (span.word + i) * 64 + bit))
			span.bits[i] &= ~(UINT64_C(1) << bit);
	}
}

static inline void fake_why(unsigned n, const struct plugin_call *call, uint32_t slot,
                            struct verdict *verdict)
{
	if (fake_refuses(n, call->snapshot, slot))
		verdict_add(verdict, VERDICT_UNSCHEDULABLE,
		            &(struct reason){.code = REASON_FIT_CPU, .detail = n});
}

static inline bool fake_scores(unsigned n, struct node_span span, int64_t *score)
{
	bool any = false;

	SPAN_EACH_WORD(i, span)
	/* slots with a clear bit get an absurd score */
	for (uint32_t bit = 0; bit < 64; bit++) {
		bool is = (span.bits[i] >> bit & 1) != 0;

		score[i * 64 + bit] =
			is ? fake_score(n, (span.word + i) * 64 + bit) : INT64_MAX - bit;
		any |= is && score[i * 64 + bit] != 0;
	}
	/* The scores must not be read then. */
	for (uint32_t i = 0; !any && i < span.words * 64; i++)
		score[i] = INT64_MAX - i;
	return any;
}

static inline enum verdict_code fake_pre_filter(unsigned n,
                                                const struct plugin_call *call,
                                                struct plugin_narrow *narrow,
                                                struct verdict *verdict)
{
	const struct snapshot *on = call->snapshot;

	T_TRUE(fake[n].arena_bytes == 0 ||
	       pl_arena_alloc(call->arena, fake[n].arena_bytes) != NULL);
	if (fake[n].pre_filter != VERDICT_SUCCESS)
		verdict_add(verdict, fake[n].pre_filter,
		            &(struct reason){.code = REASON_AFFINITY_NAMES});
	if (fake[n].narrow_mod == 0)
		return fake[n].pre_filter;
	T_OK(pl_bitset_make(call->arena, on->capacity, &narrow->only), NULL);
	for (uint32_t slot = 0; slot < on->slots; slot += fake[n].narrow_mod)
		pl_bitset_add(narrow->only, slot);
	return fake[n].pre_filter;
}

#define FAKE_FUNCTIONS(n)                                                            \
	static void why_##n(const struct plugin_call *call, uint32_t slot,           \
	                    struct verdict *verdict)                                 \
	{                                                                            \
		fake_why(n, call, slot, verdict);                                    \
	}                                                                            \
	static bool score_##n(const struct plugin_call *call, struct node_span span, \
	                      int64_t *score)                                        \
	{                                                                            \
		(void)call;                                                          \
		return fake_scores(n, span, score);                                  \
	}                                                                            \
	static enum verdict_code pre_filter_##n(const struct plugin_call *call,      \
	                                        struct plugin_narrow *narrow,        \
	                                        struct verdict *verdict)             \
	{                                                                            \
		return fake_pre_filter(n, call, narrow, verdict);                    \
	}                                                                            \
	static enum verdict_code pre_score_##n(const struct plugin_call *call,       \
	                                       struct pl_bitset set,                 \
	                                       struct verdict *verdict)              \
	{                                                                            \
		(void)call, (void)set, (void)verdict;                                \
		return fake[n].pre_score;                                            \
	}                                                                            \
	static void moved_##n(const struct plugin_call *call,                        \
	                      const struct placed_pod *pod, int delta)               \
	{                                                                            \
		(void)call, (void)pod;                                               \
		fake[n].moved += delta;                                              \
	}

/* The second plugin has no filter and is called node by node. */
#define FAKE_FILTER(n)                                                                \
	static void filter_##n(const struct plugin_call *call, struct node_span span) \
	{                                                                             \
		fake_filter(n, call, span);                                           \
	}

FAKE_FILTER(0)
FAKE_FILTER(2)
FAKE_FILTER(3)
FAKE_FILTER(4)
FAKE_FILTER(5)

FAKE_FUNCTIONS(0)
FAKE_FUNCTIONS(1)
FAKE_FUNCTIONS(2)
FAKE_FUNCTIONS(3)
FAKE_FUNCTIONS(4)
FAKE_FUNCTIONS(5)

/* Half of the score, rounded down. */
static void fake_normalize(const struct plugin_call *call, struct pl_bitset feasible,
                           int64_t *score)
{
	(void)call;
	PL_BITSET_EACH (slot, feasible)
		score[slot] /= 2;
}

static enum verdict_code fake_bind(const struct plugin_call *call, uint32_t slot,
                                   struct verdict *verdict)
{
	(void)call, (void)slot, (void)verdict;
	return VERDICT_SUCCESS;
}

static const enum queue_sort fake_sort = QUEUE_BY_PRIORITY;

#define FAKE_ROW(n)                                                       \
	.why = why_##n, .score = score_##n, .pre_filter = pre_filter_##n, \
	.pre_score = pre_score_##n, .moved = moved_##n, .state_size = 24, \
	.events = (n) == FAKE_BLIND ? 0 : QUEUE_ON(POD_REMOVED)

static const struct plugin fake_0 = {
	.name = "Zero", .filter = filter_0, .weight = 1, FAKE_ROW(0)};
static const struct plugin fake_1 = {.name = "One", .weight = 3, FAKE_ROW(1)};
static const struct plugin fake_2 = {.name = "Two",
                                     .filter = filter_2,
                                     .weight = 2,
                                     .normal = PLUGIN_BY_MAX,
                                     FAKE_ROW(2)};
static const struct plugin fake_3 = {.name = "Three",
                                     .filter = filter_3,
                                     .weight = 5,
                                     .normal = PLUGIN_BY_MAX_DOWN,
                                     FAKE_ROW(3)};
static const struct plugin fake_4 = {.name = "Four",
                                     .filter = filter_4,
                                     .weight = 7,
                                     .global = true,
                                     .normal = PLUGIN_BY_ITSELF,
                                     .normalize = fake_normalize,
                                     FAKE_ROW(4)};
static const struct plugin fake_5 = {.name = "Five",
                                     .filter = filter_5,
                                     .weight = 1,
                                     .global = true,
                                     .normal = PLUGIN_BY_MAX,
                                     FAKE_ROW(5)};
static const struct plugin fake_row_sort = {.name = "Sort", .sort = &fake_sort};
static const struct plugin fake_row_bind = {.name = "Bind", .bind = fake_bind};

static const struct plugin *const fake_rows[] = {&fake_0,        &fake_1,       &fake_2,
                                                 &fake_3,        &fake_4,       &fake_5,
                                                 &fake_row_sort, &fake_row_bind};
static const struct plugin_table fake_table = {fake_rows, FAKE_ROWS, 0xff};

/* Adds nodes until there are count. */
static inline void put_nodes(uint32_t count)
{
	char text[200];

	for (uint32_t i = snapshot.slots; i < count; i++) {
		(void)snprintf(text, sizeof text,
		               "{'metadata':{'name':'n%u'},'status':{'capacity':{'cpu':"
		               "'4','memory':'8Gi','pods':'110'}}}",
		               i);
		T_EQ(put_node(text), i);
	}
}

/* Adds nodes, parses the profiles, and opens a class of the first profile. */
static inline void rig_begin(uint32_t nodes, const char *config, const char *pod_text)
{
	struct pod pod;
	char room[4096];

	memset(fake, 0, sizeof fake);
	begin();
	put_nodes(nodes);
	T_OK(profiles_parse(&model, &fake_table, json_of(room, config), &profiles, &err),
	     &err);
	pod = pod_from(pod_text);
	T_OK(fw_class_open(&snapshot, &profiles.at[0], pod.spec, &class, &err), &err);
	pod_drop(&model, &pod);
}

static inline void rig_end(void)
{
	fw_class_close(&snapshot, class);
	profiles_drop(&profiles);
	end();
}

#endif
