/*
 * Nodes by one label: for each slot which of the key's values it has, as a small dense
 * number. Serves node affinity (compare numbers, not strings) and topology (the number
 * is the domain). Made when somebody asks for the key, kept up with the nodes, and
 * dropped some time after its last user is gone.
 *
 * Value 0: the node has no such label, or there is no node. Numbers of values that no
 * node has any more are given again.
 *
 * Who asks for domains and not for values gets another column where these are not the
 * same (node_is_domain): there each node that has the label has a number of its own, and
 * no number is found by its value.
 */
#ifndef SHARDSCHED_SNAPSHOT_LABEL_COLUMN_H
#define SHARDSCHED_SNAPSHOT_LABEL_COLUMN_H

#include "shardsched/snapshot/snapshot.h"

struct label_value {
	uint32_t text;  /* string; 0: this number is free */
	uint32_t nodes; /* that have it */
};

enum { LABEL_COLUMNS_MAX = 1024 };

struct label_column {
	uint32_t key;
	uint32_t users;
	uint32_t *value;            /* by slot, as long as the snapshot's columns */
	struct label_value *domain; /* by number, from 1 */
	uint32_t domains_end;       /* numbers ever used are below */
	uint32_t domains;           /* values that some node has */
	uint64_t epoch;             /* grows when a node's value changes */
	bool by_node;
	struct label_column_inner *inner;
};

/* With a use more. PL_LIMIT: too many keys; PL_NOMEM. O(nodes) the first time. */
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

/* The number of that value, 0: no node has it. Not of a column by node. */
uint32_t label_column_find(const struct label_column *column, uint32_t text);

#endif
