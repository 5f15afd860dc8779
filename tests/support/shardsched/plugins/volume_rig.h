/* Fixture of the tests of volume plugins: a cluster from JSON, and one plugin that is
 * asked. */
#ifndef TESTS_SUPPORT_SHARDSCHED_PLUGINS_VOLUME_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_PLUGINS_VOLUME_RIG_H

#include <stdlib.h>

#include "shardsched/plugins/plugins.h"
#include "tests/support/shardsched/snapshot/snapshot_rig.h"

static struct pl_arena cycle_arena;
static struct pod pod;
static struct pod_self self;
static struct plugin_call call;
static struct verdict pod_verdict;
static struct plugin_narrow narrow;
static void *state;

/* PUT_OBJECT(claim, "{...}"); quotes are written as ' */
#define PUT_OBJECT(noun, text)                                                       \
	do {                                                                         \
		struct parse parse_ = {.model = &model, .arena = &arena};            \
		char room_[4096];                                                    \
		struct noun it_;                                                     \
		T_OK(noun##_parse(&parse_, json_of(room_, text), &it_, &err), &err); \
		T_OK(catalog_put_##noun(&snapshot.catalog, &it_, &err), &err);       \
		pl_arena_reset(&arena);                                              \
	} while (0)

static inline void begin_volumes(void)
{
	begin();
	pl_arena_init(&cycle_arena, 1 << 16, 0);
}

static inline void let_go(void)
{
	free(state);
	state = NULL;
	pod_drop(&model, &pod);
	pl_arena_reset(&cycle_arena);
}

static inline void end_volumes(void)
{
	let_go();
	pl_arena_done(&cycle_arena);
	end();
}

/* Sets the pod that is asked about. */
static inline void ask(const char *text)
{
	let_go();
	pod = pod_from(text);
	self = (struct pod_self){
		.name = pod.name, .uid = pod.uid, .nominated = SNAPSHOT_NONE};
}

/* Runs pre_filter, and keeps its state for what follows. */
static inline enum verdict_code prepare(const struct plugin *row)
{
	free(state);
	state = calloc(1, row->state_size + 1);
	T_TRUE(state != NULL);
	pl_arena_reset(&cycle_arena);
	call = (struct plugin_call){.snapshot = &snapshot,
	                            .spec = pod.spec,
	                            .pod = &self,
	                            .state = state,
	                            .arena = &cycle_arena,
	                            .change = &snapshot};
	verdict_clear(&pod_verdict);
	narrow = (struct plugin_narrow){{0}};
	return row->pre_filter(&call, &narrow, &pod_verdict);
}

/* The sentences of the verdict, a line each. */
static inline const char *sentences(const struct verdict *verdict)
{
	static char text[1024];
	struct pl_buf buf;

	pl_buf_init(&buf, sizeof text - 1);
	for (uint32_t i = 0; i < verdict->count; i++) {
		T_OK(reason_print(&model.strings, &verdict->reason[i], &buf), NULL);
		T_OK(pl_buf_add_str(&buf, i + 1 < verdict->count ? "; " : ""), NULL);
	}
	(void)snprintf(text, sizeof text, "%.*s", (int)pl_buf_span(&buf).len,
	               (const char *)pl_buf_span(&buf).at);
	pl_buf_done(&buf);
	return text;
}

/* The plugin's sentences about a node, "" if it has none; prepare comes first. */
static inline const char *node_reasons(const struct plugin *row, uint32_t slot)
{
	uint64_t bits[SNAPSHOT_PAD / 64];
	struct node_span span = {0, SNAPSHOT_PAD / 64, bits};
	struct verdict verdict;

	memset(bits, 0xff, sizeof bits);
	span.words = (snapshot.slots + 63) / 64;
	bits[span.words - 1] = snapshot.live.word[span.words - 1];
	verdict_clear(&verdict);
	row->filter(&call, span);
	row->why(&call, slot, &verdict);
	T_EQ(bits[slot / 64] >> slot % 64 & 1, verdict.code == VERDICT_SUCCESS);
	return sentences(&verdict);
}

#endif
