/*
 * Names of what belongs to a member cluster, as the API spells them.
 *
 *	node n-1 of cluster east       east:n-1
 *	node n-1 of cluster default    n-1
 *
 * No name in Kubernetes has a colon, so the spelling can be read back in one way only;
 * and a cluster that joins changes no name that was there before (ADR 28).
 */
#ifndef COORD_API_OBJECTS_MEMBER_NAME_H
#define COORD_API_OBJECTS_MEMBER_NAME_H

#include "store/base/err.h"
#include "store/base/span.h"

#define MEMBER_NAME_HOME "default" /* the cluster whose things have their plain names */

enum { MEMBER_NAME_SIZE = 63 + 1 + 253 + 1 };

/* Writes the API's name and a NUL behind it; returns its length. cluster and name are
 * such as keys can have. */
size_t member_name_join(struct pl_span cluster, struct pl_span name,
                        char out[MEMBER_NAME_SIZE]);

/* *cluster is static or borrows from text, as *name does. Whether keys can have them is
 * not checked. */
void member_name_split(struct pl_span text, struct pl_span *cluster,
                       struct pl_span *name);

#endif
