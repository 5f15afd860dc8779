/*
 * The emptying of namespaces that terminate.
 */
#ifndef COORD_API_VERBS_NAMESPACE_H
#define COORD_API_VERBS_NAMESPACE_H

#include "coord/api/verbs/change.h"

struct namespace_emptier;

/* Looks for namespaces that terminate, now and whenever it is told of one. */
PL_NODISCARD enum pl_code namespace_emptier_open(struct api *api,
                                                 struct namespace_emptier **out,
                                                 struct pl_err *err);
/* A namespace, or something in one that terminates, has changed. */
void namespace_emptier_kick(struct namespace_emptier *emptier);
/* Operations under way end; closed is called later, once. */
void namespace_emptier_close(struct namespace_emptier *emptier, void (*closed)(void *ctx),
                             void *ctx);

#endif
