/*
 * Rule locks: what a writer other than a shard adds to a transaction that places a pod, or
 * that changes the labels of a placed one, so that decisions which other shards make under
 * rules about it meanwhile are refused (docs/keys.md).
 *
 *	rule_locks_read(&locks, namespace, ...)   the registries as read; the global one, too
 *	rule_locks_begin(&locks)                  a transaction
 *	rule_locks_add(&locks, spec, ...)         pod after pod
 *	rule_locks_build(&locks, &builder)        adds compares and puts
 *
 * The transaction compares each registry that a pod was matched with, and puts the locks
 * of the terms that find the pod and of the anti-affinity that it carries. Terms that it
 * carries and that are not registered are registered by it. Locks that are too many for a
 * transaction are replaced as shards do (docs/shard/rules.md, Coarse locks).
 *
 * A term is matched whatever the labels of namespaces are, so one with a namespaceSelector
 * may be put for nothing, which costs its deciders another try.
 *
 * Registries are kept parsed, by their revision, for the next transactions. One thread
 * uses it.
 */
#ifndef SHARDSCHED_RECORDS_RULE_LOCKS_H
#define SHARDSCHED_RECORDS_RULE_LOCKS_H

#include "shardsched/records/rule_registry.h"
#include "shardsched/records/txn_builder.h"

enum { RULE_LOCKS_REGISTRIES_MAX = 128 };

struct locks_registry;

struct rule_locks {
	struct model *model;
	const char *writer;    /* noted in the locks; no longer than a name may be */
	struct pl_arena arena; /* of the transaction */
	struct locks_registry *at[RULE_LOCKS_REGISTRIES_MAX];
	uint32_t count;
};

/* The model and writer are borrowed until rule_locks_done. */
void rule_locks_init(struct rule_locks *locks, struct model *model, const char *writer);
void rule_locks_done(struct rule_locks *locks);

/* The registry of that namespace, empty for the global one, as it stands: rev 0, it does
 * not exist. A malformed value counts as an empty registry. Between two transactions
 * only. PL_NOMEM. */
PL_NODISCARD enum pl_code rule_locks_read(struct rule_locks *locks,
                                          struct pl_span namespace, int64_t rev,
                                          struct pl_span value, struct pl_err *err);
/* Whether that registry was read and is kept. */
bool rule_locks_knows(const struct rule_locks *locks, struct pl_span namespace);
/* The registries of this transaction are outdated, and are to be read again. */
void rule_locks_forget(struct rule_locks *locks);

/* Forgets what was added. */
void rule_locks_begin(struct rule_locks *locks);
/* Both registries of the pod's namespace were read. PL_LIMIT: a registry has no room for
 * a term that the pod carries; PL_NOMEM. */
PL_NODISCARD enum pl_code rule_locks_add(struct rule_locks *locks,
                                         const struct spec *spec, struct pl_err *err);
/* Whether the transaction registers terms. */
bool rule_locks_registers(const struct rule_locks *locks);
/* False: not all of it fits, or builder.code says what failed. */
bool rule_locks_build(struct rule_locks *locks, struct txn_builder *builder);

#endif
