/*
 * etcd tells its errors apart by their texts: many share a gRPC status, and only the text
 * says whether a request got as far as the log. "No" in the last column means that etcd
 * 3.4 raises the error before the request is proposed, or while it is applied but before
 * anything of it has been written. Where that is not certain, or the text is unknown, the
 * answer is "maybe".
 */
#include "store/etcd/status.h"

#include <stdio.h>

enum { NO = false, MAYBE = true };

/* A final '*' in a text matches any rest. */
static const struct status_row {
	const char *text;
	enum pl_code code;
	enum status_next next;
	bool maybe_applied;
} rows[] = {
	/* the cluster's condition */
	{"no leader", PL_NOLEADER, STATUS_ELSEWHERE, NO}, /* sent because of hasleader */
	{"not leader", PL_NOLEADER, STATUS_ELSEWHERE, NO},
	{"leader changed", PL_NOLEADER, STATUS_SAME, MAYBE}, /* 3.4: reads only */
	{"raft proposal dropped", PL_NOLEADER, STATUS_SAME, NO},
	{"request timed out*", PL_TIMEOUT, STATUS_ELSEWHERE, MAYBE},
	{"request cancelled", PL_UNAVAIL, STATUS_SAME, MAYBE},
	{"server stopped", PL_UNAVAIL, STATUS_ELSEWHERE, MAYBE},
	{"raft: stopped", PL_UNAVAIL, STATUS_ELSEWHERE, MAYBE},
	{"not capable", PL_UNAVAIL, STATUS_ELSEWHERE, NO}, /* still starting */
	{"rpc not supported for learner", PL_UNAVAIL, STATUS_ELSEWHERE, NO},
	{"unhealthy cluster", PL_UNAVAIL, STATUS_ELSEWHERE, NO},
	{"too many requests", PL_THROTTLED, STATUS_SAME, NO},
	{"database space exceeded", PL_NOSPACE, STATUS_GIVE_UP, MAYBE}, /* see header */
	{"no space", PL_NOSPACE, STATUS_GIVE_UP, MAYBE},
	{"corrupt cluster", PL_CORRUPT, STATUS_GIVE_UP, NO},
	{"not a primary lessor", PL_NOLEADER, STATUS_SAME, MAYBE},

	/* the request */
	{"key is not provided", PL_INVALID, STATUS_GIVE_UP, NO},
	{"value is provided", PL_INVALID, STATUS_GIVE_UP, NO},
	{"lease is provided", PL_INVALID, STATUS_GIVE_UP, NO},
	{"key not found", PL_NOTFOUND, STATUS_GIVE_UP, NO}, /* value or lease kept */
	{"duplicate key given in txn request", PL_INVALID, STATUS_GIVE_UP, NO},
	{"too many operations in txn request", PL_LIMIT, STATUS_GIVE_UP, NO},
	{"request is too large", PL_LIMIT, STATUS_GIVE_UP, NO},
	{"grpc: received message larger than max*", PL_LIMIT, STATUS_GIVE_UP, NO},
	/* The answer is too large for the client: the request was applied. */
	{"grpc: trying to send message larger than max*", PL_LIMIT, STATUS_GIVE_UP,
         MAYBE},
	{"required revision has been compacted", PL_COMPACTED, STATUS_GIVE_UP, NO},
	{"required revision is a future revision", PL_FUTURE, STATUS_GIVE_UP, NO},
	{"requested lease not found", PL_NOLEASE, STATUS_GIVE_UP, NO},
	{"lease not found", PL_NOLEASE, STATUS_GIVE_UP, NO},
	{"lease already exists", PL_EXISTS, STATUS_GIVE_UP, NO},
	{"too large lease TTL", PL_INVALID, STATUS_GIVE_UP, NO},

	/* the user */
	{"authentication failed*", PL_AUTH, STATUS_GIVE_UP, NO},
	{"invalid auth token", PL_AUTH, STATUS_TOKEN, NO},
	{"user name is empty", PL_AUTH, STATUS_TOKEN, NO}, /* the request had no token */
	/* Users or roles have changed since the token was issued. */
	{"revision of auth store is old", PL_AUTH, STATUS_TOKEN, NO},
	{"revision in header is old", PL_AUTH, STATUS_TOKEN, NO},
	{"authentication is not enabled", PL_AUTH, STATUS_NO_TOKEN, NO},
	{"permission denied", PL_DENIED, STATUS_GIVE_UP, NO},

	/* watches */
	{"watch canceled", PL_UNAVAIL, STATUS_SAME, NO},
	{"watcher range is empty", PL_INVALID, STATUS_GIVE_UP, NO},
	/* Two of our watches at once: the next stream starts without either. */
	{"duplicate watch ID provided on the WatchStream", PL_UNAVAIL, STATUS_SAME, NO},
};

/* Used for texts that match no row. */
static const struct by_status {
	const char *name;
	enum pl_code code;
	enum status_next next;
	bool maybe_applied;
} by_status[] = {
	[GRPC_OK] = {"OK", PL_OK, STATUS_GIVE_UP, MAYBE},
	[GRPC_CANCELLED] = {"Canceled", PL_UNAVAIL, STATUS_SAME, MAYBE},
	[GRPC_UNKNOWN] = {"Unknown", PL_UNAVAIL, STATUS_ELSEWHERE, MAYBE},
	[GRPC_INVALID_ARGUMENT] = {"InvalidArgument", PL_INVALID, STATUS_GIVE_UP, NO},
	[GRPC_DEADLINE_EXCEEDED] = {"DeadlineExceeded", PL_TIMEOUT, STATUS_ELSEWHERE,
                                    MAYBE},
	[GRPC_NOT_FOUND] = {"NotFound", PL_NOTFOUND, STATUS_GIVE_UP, NO},
	[GRPC_ALREADY_EXISTS] = {"AlreadyExists", PL_EXISTS, STATUS_GIVE_UP, NO},
	[GRPC_PERMISSION_DENIED] = {"PermissionDenied", PL_DENIED, STATUS_GIVE_UP, NO},
	[GRPC_RESOURCE_EXHAUSTED] = {"ResourceExhausted", PL_THROTTLED, STATUS_SAME,
                                     MAYBE},
	[GRPC_FAILED_PRECONDITION] = {"FailedPrecondition", PL_INVALID, STATUS_GIVE_UP,
                                      NO},
	[GRPC_ABORTED] = {"Aborted", PL_UNAVAIL, STATUS_SAME, MAYBE},
	[GRPC_OUT_OF_RANGE] = {"OutOfRange", PL_INVALID, STATUS_GIVE_UP, NO},
	[GRPC_UNIMPLEMENTED] = {"Unimplemented", PL_UNSUPPORTED, STATUS_GIVE_UP, NO},
	[GRPC_INTERNAL] = {"Internal", PL_UNAVAIL, STATUS_ELSEWHERE, MAYBE},
	[GRPC_UNAVAILABLE] = {"Unavailable", PL_UNAVAIL, STATUS_ELSEWHERE, MAYBE},
	[GRPC_DATA_LOSS] = {"DataLoss", PL_CORRUPT, STATUS_GIVE_UP, MAYBE},
	[GRPC_UNAUTHENTICATED] = {"Unauthenticated", PL_AUTH, STATUS_TOKEN, NO},
};

enum { STATUS_COUNT = sizeof by_status / sizeof by_status[0] };

const char *status_grpc_name(uint32_t grpc_status)
{
	return grpc_status < STATUS_COUNT ? by_status[grpc_status].name : NULL;
}

static bool skip_prefix(struct pl_span *text, const char *prefix)
{
	struct pl_span start = pl_span_str(prefix);

	if (!pl_span_starts(*text, start))
		return false;
	text->at += start.len;
	text->len -= start.len;
	return true;
}

/* "etcdserver: mvcc: text" and "mvcc: text" mean the same. */
static struct pl_span strip_prefixes(struct pl_span text)
{
	while (skip_prefix(&text, "etcdserver: ") || skip_prefix(&text, "mvcc: ") ||
	       skip_prefix(&text, "auth: "))
		;
	return text;
}

static bool row_matches(const struct status_row *row, struct pl_span text)
{
	struct pl_span want = pl_span_str(row->text);

	if (want.at[want.len - 1] != '*')
		return pl_span_eq(text, want);
	want.len--;
	return pl_span_starts(text, want);
}

static const struct status_row *row_of(struct pl_span text)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (row_matches(&rows[i], text))
			return &rows[i];
	return NULL;
}

/* Finds the limit, the last number, in "grpc: received message larger than max (1572961
 * vs. 1572864)". */
static uint64_t find_limit(struct pl_span text)
{
	uint64_t limit = 0;

	if (!skip_prefix(&text, "grpc: received message larger than max ("))
		return 0;
	while (text.len > 0 && !skip_prefix(&text, " vs. "))
		text = pl_span(text.at + 1, text.len - 1);
	for (; text.len > 0 && *text.at >= '0' && *text.at <= '9';
	     text.at++, text.len--) {
		if (limit > (UINT64_MAX - 9) / 10)
			return 0;
		limit = limit * 10 + (uint64_t)(*text.at - '0');
	}
	return limit;
}

struct status status_of(uint32_t grpc_status, struct pl_span text)
{
	struct status status = {.code = PL_PROTO,
	                        .next = STATUS_GIVE_UP,
	                        .maybe_applied = true,
	                        .grpc = grpc_status};
	const struct status_row *row;

	if (grpc_status == GRPC_OK) {
		status.code = PL_OK;
		return status;
	}
	text = strip_prefixes(text);
	row = row_of(text);
	if (row != NULL) {
		status.code = row->code;
		status.next = row->next;
		status.maybe_applied = row->maybe_applied;
		status.limit_bytes = find_limit(text);
	} else if (grpc_status < STATUS_COUNT) {
		status.code = by_status[grpc_status].code;
		status.next = by_status[grpc_status].next;
		status.maybe_applied = by_status[grpc_status].maybe_applied;
	}
	return status;
}

/* Parses Go's text for a gRPC error and leaves the description in text. An unknown name,
 * and any other text, count as GRPC_UNKNOWN. */
static uint32_t reason_status(struct pl_span *text)
{
	struct pl_span rest = *text;
	uint32_t number = GRPC_UNKNOWN;
	size_t len = 0;

	if (!skip_prefix(&rest, "rpc error: code = "))
		return GRPC_UNKNOWN;
	while (len < rest.len && rest.at[len] != ' ')
		len++;
	for (uint32_t i = 1; i < STATUS_COUNT; i++)
		if (pl_span_eq(pl_span(rest.at, len), pl_span_str(by_status[i].name)))
			number = i;
	rest = pl_span(rest.at + len, rest.len - len);
	if (!skip_prefix(&rest, " desc = "))
		return GRPC_UNKNOWN;
	*text = rest;
	return number;
}

struct status status_of_reason(struct pl_span reason)
{
	uint32_t number = reason_status(&reason);

	if (reason.len == 0 && number == GRPC_UNKNOWN)
		return (struct status){
			.code = PL_CANCELED, .next = STATUS_SAME, .grpc = GRPC_CANCELLED};
	return status_of(number, reason);
}

/* Makes text printable: other bytes become '?', and its length is bounded. */
static const char *print_visible(struct pl_span text, char *out, size_t size)
{
	size_t len = text.len < size - 1 ? text.len : size - 1;

	for (size_t i = 0; i < len; i++)
		out[i] =
			(char)(text.at[i] >= ' ' && text.at[i] <= '~' ? text.at[i] : '?');
	out[len] = 0;
	return out;
}

enum pl_code status_err(const struct status *status, bool is_write, struct pl_span text,
                        struct pl_err *err)
{
	const char *name = status_grpc_name(status->grpc);
	char words[101], number[16];

	PL_ASSERT(status->code != PL_OK);
	(void)reason_status(&text);
	if (text.len == 0)
		text = pl_span_str(pl_code_name(status->code));
	if (name == NULL) {
		(void)snprintf(number, sizeof number, "%u", (unsigned)status->grpc);
		name = number;
	}
	(void)print_visible(text, words, sizeof words);
	if (is_write && status->maybe_applied) {
		pl_err_set(err, PL_UNKNOWN,
		           "%s (%s), and it may have been applied: %s; %s", words, name,
		           pl_code_advice(PL_UNKNOWN), pl_code_advice(status->code));
		if (err != NULL)
			err->cause = status->code;
		return PL_UNKNOWN;
	}
	return pl_err_set(err, status->code, "%s (%s): %s", words, name,
	                  pl_code_advice(status->code));
}
