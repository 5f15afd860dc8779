/* A node as a row: what its Node can take, and what its alloc says is taken. */
#ifndef COORD_CLI_NODES_NODE_ROW_H
#define COORD_CLI_NODES_NODE_ROW_H

#include "coord/cli/output/output.h"
#include "coord/service/input/label_query.h"
#include "shardsched/model/model.h"
#include "store/keys/keys.h"

enum { NODE_ROW_STATE = 2 }; /* the column that says "gone" */

extern const struct output_schema node_schema;

struct node_amounts {
	int64_t pods, cpu_milli, memory;
};

struct node_found {
	struct pl_span cluster, name;
	struct pl_span node_note, alloc_note; /* why one makes no sense */
	uint32_t partition, taints, holds;
	uint64_t generation;
	struct node_amounts used, most;
	bool has_node, has_alloc, cordoned;
	bool selected; /* its labels are those that are asked for */
};

/* For many of them, one after the other. */
struct node_reader {
	const struct label_query *query;
	struct model model;
	struct pl_arena scratch;
};

void node_reader_init(struct node_reader *reader, const struct label_query *query);
void node_reader_done(struct node_reader *reader);

/* It stands no more, or is another. */
void node_found_clear_node(struct node_found *found);
void node_found_clear_alloc(struct node_found *found);

/* All but the notes. PL_NOMEM, or why it makes no sense; has_node and has_alloc are set
 * all the same. */
PL_NODISCARD enum pl_code node_reader_node(struct node_reader *reader,
                                           struct pl_span value, struct node_found *out,
                                           struct pl_err *why);
PL_NODISCARD enum pl_code node_reader_alloc(struct node_reader *reader,
                                            struct pl_span value, struct node_found *out,
                                            struct pl_err *why);

/* The row borrows from the arena and from what was found. PL_NOMEM. */
PL_NODISCARD enum pl_code node_row(const struct node_found *found, struct pl_arena *arena,
                                   struct output_row *out);

#endif
