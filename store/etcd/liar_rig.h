/*
 * Tests only: a client of a liar, one of each a case, and what most cases do.
 */
#ifndef STORE_ETCD_LIAR_RIG_H
#define STORE_ETCD_LIAR_RIG_H

#include "store/etcd/liar.h"
#include "store/etcd/rig.h"
#include "tests/harness/t.h"

extern struct rig rig;
extern struct liar liar;

void up_with(liar_fn *fn, const struct etcd_opts *opts);
void up(liar_fn *fn);
void down(void);

/* To their ends; rig.err is the error. */
enum pl_code get(uint64_t timeout_ms);
enum pl_code put(uint64_t timeout_ms);
enum pl_code keep(uint64_t timeout_ms);

/* The cause is gone: everything works. */
void recovers(void);

bool is_unary(const struct liar_call *call);
bool is_silent(struct liar *it, struct liar_call *call, struct pl_span message);
bool says_404(struct liar *it, struct liar_call *call, struct pl_span message);

#endif
