/* An error: a code for programs and a sentence for people. */
#ifndef STORE_BASE_ERR_H
#define STORE_BASE_ERR_H

#include <stdarg.h>

#include "store/base/compiler.h"

/* All codes in one list, so that none lacks its name and its advice. X(code, name, what
 * to do about it) */
#define PL_ERR_MAP(X)                                                                    \
	X(NOMEM, "out of memory", "give the process more memory")                        \
	X(INVALID, "invalid argument", "correct the request")                            \
	X(NOTFOUND, "not found", "check the name")                                       \
	X(EXISTS, "already exists", "choose another name")                               \
	X(CONFLICT, "compare failed", "read again and decide again")                     \
	X(TIMEOUT, "deadline exceeded",                                                  \
	  "check that the server is up and not overloaded")                              \
	X(UNAVAIL, "service unavailable", "check the endpoint and the network")          \
	X(CANCELED, "canceled", "start it again if it is still wanted")                  \
	X(PROTO, "malformed message", "check that the endpoint is what it should be")    \
	X(UNKNOWN, "outcome unknown", "read the keys before deciding what happened")     \
	X(BUSY, "too much in flight", "wait for room")                                   \
	X(LIMIT, "over a limit", "make the request smaller")                             \
	X(COMPACTED, "revision compacted", "list again and watch from there")            \
	X(FUTURE, "revision in the future",                                              \
	  "list again: the store may have been restored")                                \
	X(REWOUND, "store rewound or replaced", "drop caches and epochs and list again") \
	X(NOLEADER, "store has no leader", "wait, or restore a majority of the members") \
	X(NOSPACE, "store is out of space",                                              \
	  "compact, defragment, then disarm the NOSPACE alarm")                          \
	X(THROTTLED, "store has too many requests", "slow down")                         \
	X(CORRUPT, "store reports corruption", "replace the corrupt member")             \
	X(AUTH, "not authenticated", "check user and password")                          \
	X(DENIED, "permission denied", "grant the user a role for these keys")           \
	X(TLS, "TLS failed", "check the certificates, their names and dates")            \
	X(NOLEASE, "lease not found", "grant a new lease")                               \
	X(FENCED, "not the owner any more", "give the partition up")                     \
	X(UNSUPPORTED, "not supported", "use a newer server")                            \
	X(IO, "input/output error", "see the message")

#define PL_ERR_ENUM(name, text, advice) PL_##name,
enum pl_code { PL_OK = 0, PL_ERR_MAP(PL_ERR_ENUM) PL_CODE_COUNT };

enum { PL_ERR_MSG_SIZE = 240 };

/* Lies in the caller's frame or inside the failed object, never on the heap, because
 * reporting "out of memory" must not need memory. */
struct pl_err {
	enum pl_code code;
	/* The same as code, or, when code is PL_UNKNOWN, what left the outcome unknown
	 * (PL_TIMEOUT, PL_NOSPACE, ...). */
	enum pl_code cause;
	char msg[PL_ERR_MSG_SIZE];
};

/* Returns code, so that a failing function ends in a single line. err may be NULL when
 * the caller only branches on the code. */
PL_PRINTF(3, 4)
enum pl_code pl_err_set(struct pl_err *err, enum pl_code code, const char *fmt, ...);

/* Puts what was attempted in front of the message: "load pmap: key /s/p/7: not found".
 * Returns err->code. err must not be NULL. */
PL_PRINTF(2, 3) enum pl_code pl_err_wrap(struct pl_err *err, const char *fmt, ...);

/* Makes code PL_UNKNOWN and keeps the old code as the cause: the request may or may not
 * have taken effect. */
enum pl_code pl_err_unknown(struct pl_err *err);

const char *pl_code_name(enum pl_code code);

/* Advice for the reader of the error, as half a sentence. */
const char *pl_code_advice(enum pl_code code);

#endif
