/*
 * A kv whose keys all lie under a root of another kv.
 *
 * The root goes in front of every key on the way in and is taken off in every
 * record, event and lease key list on the way out. No key outside the root can
 * be read, watched, compared or written through it. What has no key is the whole
 * store's all the same: revisions, compaction, leases (revoking one deletes its
 * keys wherever they are), status.
 */
#ifndef STORE_KV_PREFIXED_H
#define STORE_KV_PREFIXED_H

#include "store/kv/kv.h"

/* Copies root, which may be empty. From here on kv is closed through *out. */
PL_NODISCARD enum pl_code prefixed_open(struct kv *kv, struct pl_span root,
                                        struct kv **out, struct pl_err *err);

#endif
