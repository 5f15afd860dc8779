/*
 * Node info: one node as its two keys show it, the Node (what it can take) and the
 * alloc (what is taken). A key whose value is malformed leaves a note with the reason.
 */
#ifndef COORD_SERVICE_NODES_NODE_INFO_H
#define COORD_SERVICE_NODES_NODE_INFO_H

#include "coord/service/input/label_query.h"
#include "shardsched/model/model.h"
#include "store/base/arena.h"

struct node_amounts {
	int64_t pods, cpu_milli, memory;
};

struct node_info {
	struct pl_span cluster, name;
	struct pl_span node_note,
		alloc_note; /* why the value is malformed; empty: it is not */
	uint32_t partition, taints, holds;
	uint64_t generation;
	struct node_amounts used, most;
	bool has_node, has_alloc, cordoned;
	bool selected; /* the Node has the labels that are asked for */
};

/* A static word: "malformed", "no-node", "no-alloc", "cordoned", "ready". */
const char *node_info_state(const struct node_info *info);
bool node_info_is_malformed(const struct node_info *info);

/* The key is gone, or its value is about to be read again. */
void node_info_clear_node(struct node_info *info);
void node_info_clear_alloc(struct node_info *info);

/* Reads the values of many nodes one after another. */
struct node_reader {
	const struct label_query *query; /* NULL: any labels */
	struct model model;
	struct pl_arena scratch; /* of one value */
};

void node_reader_init(struct node_reader *reader, const struct label_query *query);
void node_reader_done(struct node_reader *reader);

/* Fills in all but the notes; has_node and has_alloc also on failure. PL_NOMEM, or
 * why the value is malformed. */
PL_NODISCARD enum pl_code node_reader_node(struct node_reader *reader,
                                           struct pl_span value, struct node_info *out,
                                           struct pl_err *why);
PL_NODISCARD enum pl_code node_reader_alloc(struct node_reader *reader,
                                            struct pl_span value, struct node_info *out,
                                            struct pl_err *why);

#endif
