/*
 * The disruption budgets that people make of the scene's pods, by their numbers:
 *
 *	budget b: b-<b> of one namespace; it covers one or two groups of pods there, or
 *	all of its pods
 *
 * Some cover what has a low priority, so that preemption meets them; some pods are
 *covered by several. What a budget covers never changes, its rule does.
 */
#ifndef TESTS_SHARDLAB_PDB_H
#define TESTS_SHARDLAB_PDB_H

#include "tests/sim/scene.h"

enum { PDB_COUNT = 18, PDB_RULES = 7, PDB_JSON_SIZE = 512 };

void pdb_name(unsigned budget, char out[SCENE_NAME_SIZE]);
void pdb_space(unsigned budget, char out[SCENE_NAME_SIZE]);
/* PDB_COUNT: none of ours. */
unsigned pdb_of(struct pl_span namespace, struct pl_span name);
bool pdb_covers(unsigned budget, uint32_t pod);
/* As it is submitted with one of the rules. */
void pdb_json(unsigned budget, unsigned rule, char out[PDB_JSON_SIZE]);

#endif
