/* The reports of the session and their error texts. */
#include "coord/session/session_impl.h"

static void explain_trouble(const struct session *s, const struct session_action *action,
                            struct pl_err *err)
{
	const char *id = (const char *)s->self.id.at;

	switch (action->why) {
	case SESSION_WHY_LEASE:
		pl_err_set(err, action->code, "lease of shard %s: %s", id,
		           pl_code_name(action->code));
		break;
	case SESSION_WHY_REQUEST:
		*err = s->err;
		break;
	case SESSION_WHY_REMOVED:
		pl_err_set(err, action->code,
		           "%s was removed although its lease lives; putting it again",
		           s->key.at);
		break;
	case SESSION_WHY_TAKEN:
		pl_err_set(err, action->code,
		           "shard id %s is taken by %s; watching whether it lives", id,
		           s->other);
		break;
	case SESSION_WHY_UNCERTAIN:
		pl_err_set(err, action->code,
		           "%s is of %s and has no lease, so it will not go by itself: "
		           "delete that key if that shard is gone",
		           s->key.at, s->other);
		break;
	}
}

static void explain_down(const struct session *s, enum pl_code code, struct pl_err *err)
{
	const char *id = (const char *)s->self.id.at;

	if (code == PL_EXISTS)
		pl_err_set(err, code, "shard id %s is now of %s", id, s->other);
	else if (code == PL_NOLEASE)
		pl_err_set(err, code, "shard %s: the store has ended its lease", id);
	else
		pl_err_set(err, code, "shard %s: its lease was not renewed in time", id);
}

void session_report(struct session *s, const struct session_action *action,
                    enum session_what what)
{
	struct session_note note = {.what = what, .lease = action->lease};
	struct pl_err err;

	note.err = &err;
	switch (what) {
	case SESSION_UP:
		note.err = NULL;
		note.revision = action->revision;
		note.safe_until_ms = action->until_ms;
		break;
	case SESSION_DOUBT:
		pl_err_set(&err, action->code,
		           "keep-alives of shard " PL_SPAN_FMT " fail",
		           PL_SPAN_ARG(s->self.id));
		note.safe_until_ms = action->until_ms;
		break;
	case SESSION_DOWN:
		explain_down(s, action->code, &err);
		break;
	case SESSION_TROUBLE:
		explain_trouble(s, action, &err);
		break;
	case SESSION_REFUSED:
		pl_err_set(&err, PL_EXISTS,
		           "shard id " PL_SPAN_FMT
		           " is in use: %s, which renews its lease",
		           PL_SPAN_ARG(s->self.id), s->other);
		break;
	case SESSION_CLOSED:
		PL_UNREACHABLE("reported by finish");
	}
	s->fn(s->ctx, &note);
}
