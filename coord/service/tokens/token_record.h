/*
 * An issued token and its record.
 *
 *	placet.<id>.<secret>     what its owner has: the secret is 32 random bytes
 *	/access/tokens/<id>      what the store has: whose it is, and the secret's digest
 *
 * Invariants: the store never holds a secret, and a secret never stands in a log, a key or
 * a list. A record that makes no sense is no record: its token is refused.
 */
#ifndef COORD_SERVICE_TOKENS_TOKEN_RECORD_H
#define COORD_SERVICE_TOKENS_TOKEN_RECORD_H

#include <stdint.h>

#include "store/base/arena.h"
#include "store/base/buf.h"

enum {
	TOKEN_GROUPS_MAX = 64,
	TOKEN_HASH_BYTES = 32,
	TOKEN_SECRET_LEN = 43, /* 32 bytes in base64url */
	TOKEN_ID_MAX = 63,
	TOKEN_TEXT_SIZE = 7 + TOKEN_ID_MAX + 1 + TOKEN_SECRET_LEN + 1,
	TOKEN_RECORD_MAX = 128 << 10,
	TOKEN_BY_MAX = 1024,
};

struct token_record {
	struct pl_span user;
	const struct pl_span *groups;
	size_t group_count;
	int64_t created_ms;
	int64_t expires_ms; /* 0: never */
	struct pl_span by;  /* name of the maker; may be empty */
	uint8_t hash[TOKEN_HASH_BYTES];
};

/* PL_INVALID: the message names the field. Borrows from the arena. */
PL_NODISCARD enum pl_code token_record_parse(struct pl_span json, struct pl_arena *arena,
                                             struct token_record *out,
                                             struct pl_err *err);
PL_NODISCARD enum pl_code token_record_print(const struct token_record *record,
                                             struct pl_buf *out, struct pl_err *err);

/* Whether a record may be issued: names are fit for an identity, and none begins with
 * "system:" but the group system:masters. */
PL_NODISCARD enum pl_code token_record_check(const struct token_record *record,
                                             struct pl_err *err);

/* Makes a secret: the token's text, and its digest for the record. PL_IO: the system has
 * no random bytes. id must be a name that a key can have. */
PL_NODISCARD enum pl_code token_make(struct pl_span id, char text[TOKEN_TEXT_SIZE],
                                     uint8_t hash[TOKEN_HASH_BYTES], struct pl_err *err);
/* Whether a bearer token begins as an issued one. */
bool token_is_issued(struct pl_span text);
/* Cuts an issued token. False: it has another form. */
PL_NODISCARD bool token_split(struct pl_span text, struct pl_span *id,
                              struct pl_span *secret);
/* PL_NOMEM. */
PL_NODISCARD enum pl_code token_hash(struct pl_span secret,
                                     uint8_t hash[TOKEN_HASH_BYTES]);

#endif
