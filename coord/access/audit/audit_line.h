/*
 * A line of the audit log: who did what, from where, and how it ended. Pure.
 *
 *	{"v":1,"time":"2026-11-28T12:00:00.123Z","id":"6f1c...","user":"ann",
 *	 "groups":["team-shop","system:authenticated"],"via":"issued-token",
 *	 "credential":"k3j2","verb":"create","group":"","resource":"pods",
 *	 "namespace":"shop","name":"web","source":"10.0.0.7:41312","code":201,
 *	 "duration_us":812}
 *
 * Fields that are empty are left out, but for user, verb and code. impersonator stands there
 * when user is one that an admin acts as: it has the sender.
 *
 * Invariants: always one line, whatever bytes come from outside: text is escaped as JSON, and
 * cut at AUDIT_TEXT_MAX; of groups the first AUDIT_GROUPS_MAX are shown. No secret is in a
 * line: a credential is shown by its id.
 */
#ifndef COORD_ACCESS_AUDIT_AUDIT_LINE_H
#define COORD_ACCESS_AUDIT_AUDIT_LINE_H

#include "coord/access/base/attributes.h"
#include "coord/access/base/identity.h"
#include "store/base/buf.h"

enum { AUDIT_TEXT_MAX = 1024, AUDIT_GROUPS_MAX = 32, AUDIT_LINE_MAX = 128 << 10 };

struct audit_event {
	int64_t at_ms;
	struct pl_span id;
	const struct identity *user; /* the one whose rights were used; NULL: not known */
	const struct identity *impersonator; /* NULL: none */
	const struct access_attributes *asked;
	struct pl_span source; /* address */
	struct pl_span agent;
	int code;              /* of HTTP; 0: the client went before it was answered */
	struct pl_span reason; /* why it was refused, or allowed */
	uint64_t duration_us;
};

/* Appends the line and a newline. PL_NOMEM; PL_LIMIT: the buffer's maximum. */
PL_NODISCARD enum pl_code audit_line(const struct audit_event *event, struct pl_buf *out);
/* The line that stands for lines that were dropped. */
PL_NODISCARD enum pl_code audit_dropped_line(int64_t at_ms, uint64_t count,
                                             struct pl_buf *out);

#endif
