/*
 * A file of static tokens, in the format of kube-apiserver's --token-auth-file: a line
 * each with a token, its user, the user's uid and, if it has some, its groups.
 *
 *	31ada4fd-adec,ann,uid-1,"dev,ops"
 *
 * A file of one line with one field is a bare token: who sends it is "placet:token", with
 * the group system:masters.
 *
 * Invariants: the file is good as a whole or not used. Messages name lines and columns,
 * never what stands there. Tokens are not kept, only their digests under a key that this
 * process draws, so that the time of a search says nothing about them.
 */
#ifndef COORD_ACCESS_AUTHN_TOKEN_FILE_H
#define COORD_ACCESS_AUTHN_TOKEN_FILE_H

#include "coord/access/base/identity.h"

enum {
	TOKEN_FILE_BYTES_MAX = 4 << 20,
	TOKEN_FILE_TOKENS_MAX = 20000,
	TOKEN_FILE_TOKEN_MAX = 4096,
};

#define TOKEN_FILE_BARE_USER "placet:token"

struct token_file;

PL_NODISCARD enum pl_code token_file_parse(struct pl_span text, struct token_file **out,
                                           struct pl_err *err);
void token_file_free(struct token_file *file);
size_t token_file_count(const struct token_file *file);
bool token_file_is_bare(const struct token_file *file);

/* PL_NOTFOUND: the file does not have the token. PL_NOMEM. */
PL_NODISCARD enum pl_code token_file_identify(const struct token_file *file,
                                              struct pl_span token,
                                              struct pl_arena *arena,
                                              struct identity *out, struct pl_err *err);

#endif
