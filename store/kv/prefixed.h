/*
 * A prefixed kv: all of its keys lie under a root in another kv.
 *
 * The root is put in front of every key on the way in, and taken off in every record,
 * event and lease key list on the way out. No key outside the root can be read, watched,
 * compared or written through a prefixed kv. Things without a key belong to the whole
 * store all the same: revisions, compaction, leases (revoking one deletes its keys
 * wherever they are), status.
 */
#ifndef STORE_KV_PREFIXED_H
#define STORE_KV_PREFIXED_H

#include "store/kv/kv.h"

/* Copies root, which may be empty. From here on kv is closed through *out. */
PL_NODISCARD enum pl_code prefixed_open(struct kv *kv, struct pl_span root,
                                        struct kv **out, struct pl_err *err);

#endif
