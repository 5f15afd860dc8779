/*
 * A stable uid: a UUID computed from texts, the same in every process and every time. Its
 * form is that of version 5 (RFC 9562), its hash is pl_hash. And a short hash that may
 * stand in a name.
 */
#ifndef SHARDSCHED_EXPAND_STABLE_UID_H
#define SHARDSCHED_EXPAND_STABLE_UID_H

#include <stdint.h>

#include "store/base/span.h"

enum { UID_SIZE = 37, STABLE_UID_PARTS_MAX = 4, STABLE_UID_WORD_SIZE = 11 };

/* "6ba7b810-9dad-51d1-80b4-00c04fd430c8". The order of the parts counts, and where each
 * ends. */
void stable_uid_print(const struct pl_span *parts, unsigned count, char out[UID_SIZE]);

/* Ten letters and digits that spell no word: "7d9f8c6b5x". */
void stable_uid_word(uint64_t hash, char out[STABLE_UID_WORD_SIZE]);

#endif
