/*
 * A label column: for each slot, which value of one key the node has, as a small dense
 * number. Node affinity compares these numbers instead of strings; for topology the
 * number is the domain.
 *
 * A column is made when a key is first asked for, updated with the nodes, and dropped
 * some time after its last user is gone.
 *
 * Invariants: value 0 stands for a node without the label, or for no node; a number whose
 * value no node has is free and is reused.
 *
 * Topology keys for which each node is a domain of its own (node_is_domain) have another
 * column: there each node with the label has its own number, and no number is found by a
 * value.
 */
#ifndef SHARDSCHED_SNAPSHOT_LABEL_COLUMN_H
#define SHARDSCHED_SNAPSHOT_LABEL_COLUMN_H

#include "shardsched/snapshot/snapshot.h"

struct label_value {
	uint32_t text;  /* string; 0: this number is free */
	uint32_t nodes; /* nodes with that value */
};

enum { LABEL_COLUMNS_MAX = 1024 };

struct label_column {
	uint32_t key;
	uint32_t users;
	uint32_t *value;            /* by slot; as long as the snapshot's columns */
	struct label_value *domain; /* by number, from 1 */
	uint32_t domains_end;       /* numbers ever used are below */
	uint32_t domains;           /* number of values that some node has */
	uint64_t epoch;             /* grows when a node's value changes */
	bool by_node;
	struct label_column_inner *inner;
};

/* Opens the column with one use more. PL_LIMIT: too many keys; PL_NOMEM. O(nodes) the
 * first time. */
PL_NODISCARD enum pl_code label_column_open(struct snapshot *snapshot, uint32_t key,
                                            struct label_column **out,
                                            struct pl_err *err);
/* The same for a topology key. */
PL_NODISCARD enum pl_code label_column_open_domains(struct snapshot *snapshot,
                                                    uint32_t key,
                                                    struct label_column **out,
                                                    struct pl_err *err);
/* NULL does nothing. */
void label_column_close(struct snapshot *snapshot, struct label_column *column);

/* The number of that value; 0: no node has it. Not for columns where each node is a
 * domain. */
uint32_t label_column_find(const struct label_column *column, uint32_t text);

#endif
