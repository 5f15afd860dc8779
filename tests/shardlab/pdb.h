/*
 * The disruption budgets that users make for the scenario's pods, by their numbers:
 *
 *	budget b: b-<b> of one namespace; it covers one or two groups of pods there, or
 *	all of its pods
 *
 * Some cover pods of low priority, so that preemption meets them; some pods are covered
 * by several. The pods that a budget covers never change, its rule does.
 */
#ifndef TESTS_SHARDLAB_PDB_H
#define TESTS_SHARDLAB_PDB_H

#include "tests/sim/scenario.h"

enum { PDB_COUNT = 18, PDB_RULES = 7, PDB_JSON_SIZE = 512 };

void pdb_name(unsigned budget, char out[SCENARIO_NAME_SIZE]);
void pdb_namespace(unsigned budget, char out[SCENARIO_NAME_SIZE]);
/* PDB_COUNT: not one of these budgets. */
unsigned pdb_of(struct pl_span namespace, struct pl_span name);
bool pdb_covers(unsigned budget, uint32_t pod);
/* The JSON to submit for the budget with that rule. */
void pdb_json(unsigned budget, unsigned rule, char out[PDB_JSON_SIZE]);

#endif
