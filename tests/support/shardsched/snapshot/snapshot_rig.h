/*
 * For tests of the snapshot: a model, a snapshot, and objects from JSON.
 */
#ifndef TESTS_SUPPORT_SHARDSCHED_SNAPSHOT_SNAPSHOT_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_SNAPSHOT_SNAPSHOT_RIG_H

#include <stdio.h>

#include "shardsched/model/parse.h"
#include "shardsched/snapshot/snapshot_inner.h"
#include "tests/harness/t.h"

static struct model model;
static struct pl_arena arena;
static struct snapshot snapshot;
static struct pl_err err;

static inline void begin(void)
{
	model_init(&model);
	pl_arena_init(&arena, 1 << 16, 0);
	T_OK(snapshot_init(&snapshot, &model, &err), &err);
}

static inline void end(void)
{
	snapshot_check(&snapshot);
	snapshot_done(&snapshot);
	pl_arena_done(&arena);
	model_done(&model); /* asserts that nothing is left */
}

/* Replaces each ' by a double quote. */
static inline struct pl_span json_of(char *room, const char *text)
{
	size_t len = strlen(text);

	T_TRUE(len < 4096);
	for (size_t i = 0; i <= len; i++)
		room[i] = (char)(text[i] == '\'' ? '"' : text[i]);
	return pl_span(room, len);
}

static inline struct node node_from(const char *text)
{
	struct parse parse = {.model = &model, .arena = &arena};
	struct node node;
	char room[4096];

	T_OK(node_parse(&parse, json_of(room, text), &node, &err), &err);
	pl_arena_reset(&arena);
	return node;
}

static inline struct pod pod_from(const char *text)
{
	struct parse parse = {.model = &model, .arena = &arena};
	struct pod pod;
	char room[4096];

	T_OK(pod_parse(&parse, json_of(room, text), &pod, &err), &err);
	pl_arena_reset(&arena);
	return pod;
}

static inline uint32_t id(const char *text)
{
	return strings_find(&model.strings, pl_span_str(text));
}

/* Gives the slot. */
static inline uint32_t put_node(const char *text)
{
	struct node node = node_from(text);
	uint32_t slot;

	T_OK(snapshot_node_add(&snapshot, 0, &node, &slot, &err), &err);
	node_drop(&model, &node);
	return slot;
}

static inline void change_node(uint32_t slot, const char *text)
{
	struct node node = node_from(text);

	T_OK(snapshot_node_change(&snapshot, slot, &node, &err), &err);
	node_drop(&model, &node);
}

static inline struct pod_on_node on_node(const struct pod *pod)
{
	return (struct pod_on_node){
		.spec = pod->spec, .name = pod->name, .uid = pod->uid};
}

/* Gives its number. */
static inline uint32_t put_pod(uint32_t slot, const char *text)
{
	struct pod pod = pod_from(text);
	struct pod_on_node there = on_node(&pod);
	uint32_t placed;

	T_OK(snapshot_pod_add(&snapshot, slot, &there, &placed, &err), &err);
	pod_drop(&model, &pod);
	return placed;
}

#endif
