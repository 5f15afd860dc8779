/* Fixture of the tests of plugins: one plugin at work on a snapshot, as in a cycle, and
 * random clusters. */
#ifndef TESTS_SUPPORT_SHARDSCHED_PLUGINS_PLUGIN_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_PLUGINS_PLUGIN_RIG_H

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "shardsched/plugins/plugins.h"
#include "store/base/fault.h"
#include "store/base/rng.h"
#include "tests/support/shardsched/snapshot/snapshot_rig.h"

/* A class of pods as one plugin sees it. */
struct plugin_rig {
	const struct plugin *row;
	struct pod pod;
	void *args;
	struct pod_self self;
	struct pl_arena cycle;
	struct plugin_call call;
};

/* Number of the plugin's own allocation that is to fail; 0: none. */
static uint64_t rig_fails;

static inline enum pl_code rig_args(struct plugin_rig *rig, const char *text,
                                    struct pl_err *why)
{
	struct pl_json json = {0};
	struct pl_arena room;
	char quoted[4096];
	enum pl_code code;

	pl_arena_init(&room, 0, 0);
	if (text != NULL)
		T_OK(pl_json_parse(&room, json_of(quoted, text), NULL, &json, &err),
		     &err);
	rig->args = calloc(1, rig->row->args_size + 1);
	pl_fault_arm(PL_FAULT_ALLOC, rig_fails);
	code = rig->row->args_parse == NULL
	               ? PL_OK
	               : rig->row->args_parse(&model, json, rig->args, why);
	pl_arena_done(&room);
	return code;
}

static inline void rig_begin_pod(struct plugin_rig *rig, const struct plugin *row,
                                 const char *pod)
{
	*rig = (struct plugin_rig){.row = row, .pod = pod_from(pod)};
	pl_arena_init(&rig->cycle, 1 << 16, 0);
	rig->call = (struct plugin_call){.snapshot = &snapshot,
	                                 .spec = rig->pod.spec,
	                                 .pod = &rig->self,
	                                 .arena = &rig->cycle};
}

static inline enum pl_code rig_open_class(struct plugin_rig *rig)
{
	rig->call.args = rig->args;
	rig->call.class_state = calloc(1, rig->row->class_state_size + 1);
	rig->call.state = calloc(1, rig->row->state_size + 1);
	return rig->row->open == NULL ? PL_OK
	                              : rig->row->open(&snapshot, &rig->call, &err);
}

static inline void rig_free(struct plugin_rig *rig)
{
	if (rig->args != NULL && rig->row->args_drop != NULL)
		rig->row->args_drop(&model, rig->args);
	free(rig->args);
	free(rig->call.class_state);
	free(rig->call.state);
	pl_arena_done(&rig->cycle);
	pod_drop(&model, &rig->pod);
}

static inline void rig_open(struct plugin_rig *rig, const struct plugin *row,
                            const char *pod, const char *args)
{
	rig_begin_pod(rig, row, pod);
	T_OK(rig_args(rig, args, &err), &err);
	T_OK(rig_open_class(rig), &err);
}

static inline void rig_close(struct plugin_rig *rig)
{
	if (rig->row->close != NULL)
		rig->row->close(&snapshot, &rig->call);
	rig_free(rig);
}

/* Begins a cycle: *set are the nodes to look at. */
static inline enum verdict_code rig_pre_filter(struct plugin_rig *rig,
                                               struct pl_bitset *set,
                                               struct verdict *verdict)
{
	struct plugin_narrow narrow = {0};
	enum verdict_code code = VERDICT_SUCCESS;

	pl_arena_reset(&rig->cycle);
	memset(rig->call.state, 0, rig->row->state_size + 1);
	verdict_clear(verdict);
	T_OK(pl_bitset_make(&rig->cycle, snapshot.live.bits, set), NULL);
	pl_bitset_copy(*set, snapshot.live);
	if (rig->row->pre_filter != NULL)
		code = rig->row->pre_filter(&rig->call, &narrow, verdict);
	if (narrow.only.word != NULL)
		pl_bitset_and(*set, narrow.only);
	return code;
}

static inline bool rig_why(struct plugin_rig *rig, uint32_t slot, struct verdict *verdict)
{
	verdict_clear(verdict);
	rig->row->why(&rig->call, slot, verdict);
	T_EQ(verdict->code != VERDICT_SUCCESS, verdict->count > 0);
	return verdict->code == VERDICT_SUCCESS;
}

static inline bool rig_alone(struct plugin_rig *rig, uint32_t slot)
{
	uint64_t bits = UINT64_C(1) << slot % 64;

	rig->row->filter(&rig->call, (struct node_span){slot / 64, 1, &bits});
	T_EQ(bits & ~(UINT64_C(1) << slot % 64), 0);
	return bits != 0;
}

/* Filters all nodes at once and each alone, and asks why: all must agree. Returns the
 * nodes that are left; all, if the plugin skips. */
static inline struct pl_bitset rig_filter(struct plugin_rig *rig)
{
	struct pl_bitset set, left;
	struct verdict verdict;
	enum verdict_code code = rig_pre_filter(rig, &set, &verdict);

	T_OK(pl_bitset_make(&rig->cycle, set.bits, &left), NULL);
	if (code == VERDICT_UNRESOLVABLE || code == VERDICT_UNSCHEDULABLE) {
		T_EQ(verdict.code, code);
		return left;
	}
	T_TRUE(code == VERDICT_SUCCESS || code == VERDICT_SKIP);
	pl_bitset_copy(left, set);
	if (rig->row->filter == NULL)
		return left;
	rig->row->filter(
		&rig->call,
		(struct node_span){0, (uint32_t)pl_bitset_words(left.bits), left.word});
	PL_BITSET_EACH (slot, set) {
		bool fits = rig_why(rig, (uint32_t)slot, &verdict);

		if (code == VERDICT_SKIP)
			T_TRUE(fits);
		if (rig->row->refusal == PLUGIN_REFUSES_UNRESOLVABLE && !fits)
			T_EQ(verdict.code, VERDICT_UNRESOLVABLE);
		if (rig->row->refusal == PLUGIN_REFUSES_UNSCHEDULABLE && !fits)
			T_EQ(verdict.code, VERDICT_UNSCHEDULABLE);
		T_EQ(pl_bitset_has(left, slot), fits);
		T_EQ(rig_alone(rig, (uint32_t)slot), fits);
	}
	return left;
}

static inline void rig_score_span(struct plugin_rig *rig, struct node_span span,
                                  int64_t *out)
{
	if (!rig->row->score(&rig->call, span, out))
		memset(out, 0, (size_t)span.words * 64 * sizeof *out);
}

/* Scores the nodes, normalised where the plugin does so; false: skipped. Each node alone
 * must score the same. */
static inline bool rig_score(struct plugin_rig *rig, struct pl_bitset feasible,
                             int64_t *out)
{
	int64_t one[64];
	struct verdict verdict;

	verdict_clear(&verdict);
	if (rig->row->pre_score != NULL) {
		enum verdict_code code =
			rig->row->pre_score(&rig->call, feasible, &verdict);

		if (code == VERDICT_SKIP)
			return false;
		T_EQ(code, VERDICT_SUCCESS);
	}
	rig_score_span(rig,
	               (struct node_span){0, (uint32_t)pl_bitset_words(feasible.bits),
	                                  feasible.word},
	               out);
	PL_BITSET_EACH (slot, feasible) {
		uint64_t bits = UINT64_C(1) << slot % 64;

		rig_score_span(rig, (struct node_span){(uint32_t)slot / 64, 1, &bits},
		               one);
		T_EQ(one[slot % 64], out[slot]);
	}
	if (rig->row->normalize != NULL)
		rig->row->normalize(&rig->call, feasible, out);
	return true;
}

/* -- text by chance ---------------------------------------------------------------------
 */

static struct pl_rng rng;

struct line_text {
	size_t len;
	char at[4096];
};

PL_PRINTF(2, 3) static inline void add(struct line_text *text, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text->at + text->len, sizeof text->at - text->len, format, args);
	va_end(args);
	T_TRUE(len >= 0 && (size_t)len < sizeof text->at - text->len);
	text->len += (size_t)len;
}

/* Removes the comma behind the last element. */
static inline void end_list(struct line_text *text, const char *with)
{
	if (text->at[text->len - 1] == ',')
		text->len--;
	add(text, "%s", with);
}

static inline bool chance(unsigned percent)
{
	return pl_rng_chance(&rng, percent, 100);
}

static inline unsigned below(unsigned bound)
{
	return (unsigned)pl_rng_below(&rng, bound);
}

#define ONE_OF(...)                                                     \
	((const char *const[]){__VA_ARGS__})[below(                     \
		(unsigned)(sizeof((const char *const[]){__VA_ARGS__}) / \
	                   sizeof(const char *)))]

#endif
