#include "shardsched/records/pod_state.h"

#include "shardsched/records/value_reader.h"
#include "shardsched/records/value_writer.h"
#include "store/base/utf8.h"
#include "store/keys/names.h"

#define STATE_PHASE_WORD(phase, word) [STATE_##phase] = (word),
static const char *const phase_words[STATE_PHASES] = {STATE_PHASE_MAP(STATE_PHASE_WORD)};

const char *state_phase_word(enum state_phase phase)
{
	PL_ASSERT((unsigned)phase < STATE_PHASES);
	return phase_words[phase];
}

#define STATE_WORD(name, word) (word),
static const char *const ask_words[STATE_ASKS] = {STATE_ASK_MAP(STATE_WORD)};
static const char *const ended_words[STATE_ENDEDS] = {STATE_ENDED_MAP(STATE_WORD)};

const char *state_ask_word(enum state_ask ask)
{
	PL_ASSERT((unsigned)ask < STATE_ASKS);
	return ask_words[ask];
}

const char *state_ended_word(enum state_ended ended)
{
	PL_ASSERT((unsigned)ended < STATE_ENDEDS);
	return ended_words[ended];
}

/* -- what follows ------------------------------------------------------------------ */

/* A pod that has run to its end is not run again; one that was stopped before is. */
static enum state_transition end_of_ended(const struct pod_state *state)
{
	bool terminating = state->phase == STATE_TERMINATING;

	if (state->awaits_finalizers)
		return STATE_TRANSITION_FINISH;
	if (state->ask == STATE_ASK_DELETE || (terminating && !state->next_pending))
		return STATE_TRANSITION_REMOVE;
	if (state->ended == STATE_ENDED_SUCCEEDED)
		return STATE_TRANSITION_FINISH;
	return terminating || state->ended == STATE_ENDED_GONE ? STATE_TRANSITION_PENDING
	                                                       : STATE_TRANSITION_FINISH;
}

enum state_transition state_transition(const struct pod_state *state)
{
	if (!state_has_place(state))
		return state->ask == STATE_ASK_DELETE && !state->awaits_finalizers
		               ? STATE_TRANSITION_REMOVE
		               : STATE_TRANSITION_NONE;
	if (state->ended != STATE_ENDED_NOT)
		return end_of_ended(state);
	if (state->phase == STATE_BOUND && state->ask != STATE_ASK_NONE)
		return STATE_TRANSITION_TERMINATE;
	return STATE_TRANSITION_NONE;
}

/* NULL: the state is possible. */
static const char *state_violation(const struct pod_state *state)
{
	bool placed = state->node.len > 0;

	if (placed != (state->cluster.len > 0))
		return "want cluster and node, or none";
	if (state_has_place(state) && !placed)
		return "want a node in this phase";
	if (state->phase == STATE_PENDING && placed)
		return "want no node in this phase";
	if (state->ended != STATE_ENDED_NOT && !state_has_place(state))
		return "what has no place has not ended";
	if (state->next_pending && state->phase != STATE_TERMINATING)
		return "want no next in this phase";
	if (state->awaits_finalizers && state->ask != STATE_ASK_DELETE)
		return "what awaits finalizers is asked to go";
	if ((state->nominated_node.len > 0) != (state->nominated_cluster.len > 0))
		return "nominated: want cluster and node";
	if (state->nominated_node.len > 0 && state->phase != STATE_PENDING)
		return "want nothing nominated in this phase";
	return NULL;
}

/* -- printing ---------------------------------------------------------------------- */

#define PUT_NAME(out, name, text)                         \
	do {                                              \
		VALUE_WRITER_LIT(out, "\"" name "\":\""); \
		value_writer_word(out, text, TEXT_NAME);  \
		VALUE_WRITER_LIT(out, "\",");             \
	} while (0)

/* Adds the text in quotes; it almost never needs an escape. */
static void put_text(struct value_writer *out, struct pl_span text)
{
	if (text_is(text, TEXT_PLAIN)) {
		VALUE_WRITER_LIT(out, "\"");
		value_writer_raw(out, text.at, text.len);
		VALUE_WRITER_LIT(out, "\"");
	} else {
		value_writer_escaped(out, text);
	}
	VALUE_WRITER_LIT(out, ",");
}

/* Cuts the message so that it can be read again: a byte that is no UTF-8 becomes
 * three. */
static struct pl_span cut_message(struct pl_span text, size_t most)
{
	size_t at = 0, len = 0;

	while (at < text.len) {
		size_t taken = pl_utf8_char(text.at + at, text.len - at);

		len += taken == 0 ? 3 : taken;
		if (len > most)
			break;
		at += taken == 0 ? 1 : taken;
	}
	return pl_span(text.at, at);
}

static void put_place(struct value_writer *out, const struct pod_state *state)
{
	if (state->node.len > 0) {
		PUT_NAME(out, "cluster", state->cluster);
		PUT_NAME(out, "node", state->node);
	}
	if (state->nominated_node.len > 0) {
		VALUE_WRITER_LIT(out, "\"nominated\":{\"cluster\":\"");
		value_writer_word(out, state->nominated_cluster, TEXT_NAME);
		VALUE_WRITER_LIT(out, "\",\"node\":\"");
		value_writer_word(out, state->nominated_node, TEXT_NAME);
		VALUE_WRITER_LIT(out, "\"},");
	}
	if (state->shard.len > 0)
		PUT_NAME(out, "shard", state->shard);
	if (state->epoch != 0) {
		VALUE_WRITER_LIT(out, "\"epoch\":\"");
		value_writer_number(out, (uint64_t)state->epoch);
		VALUE_WRITER_LIT(out, "\",");
	}
	if (state->attempts != 0) {
		VALUE_WRITER_LIT(out, "\"attempts\":");
		value_writer_number(out, state->attempts);
		VALUE_WRITER_LIT(out, ",");
	}
}

static void put_reason(struct value_writer *out, const struct pod_state *state)
{
	if (state->reason.len > 0) {
		VALUE_WRITER_LIT(out, "\"reason\":");
		put_text(out, cut_message(state->reason, STATE_WORD_MAX));
	}
	if (state->message.len > 0) {
		VALUE_WRITER_LIT(out, "\"message\":");
		put_text(out, cut_message(state->message, STATE_MESSAGE_MAX));
	}
}

/* Words that need no escaping. */
#define PUT_WORD(out, name, word)                            \
	do {                                                 \
		const char *text_ = (word);                  \
		VALUE_WRITER_LIT(out, "\"" name "\":\"");    \
		value_writer_raw(out, text_, strlen(text_)); \
		VALUE_WRITER_LIT(out, "\",");                \
	} while (0)

static void put_termination(struct value_writer *out, const struct pod_state *state)
{
	if (state->ask != STATE_ASK_NONE)
		PUT_WORD(out, "ask", state_ask_word(state->ask));
	if (state->ended != STATE_ENDED_NOT)
		PUT_WORD(out, "ended", state_ended_word(state->ended));
	if (state->next_pending)
		PUT_WORD(out, "next", state_phase_word(STATE_PENDING));
	if (state->awaits_finalizers)
		PUT_WORD(out, "awaits", "finalizers");
}

static void put_state(struct value_writer *out, const struct pod_state *state)
{

	VALUE_WRITER_LIT(out, "{\"v\":1,");
	if (state->uid.len > 0) {
		VALUE_WRITER_LIT(out, "\"uid\":");
		put_text(out, state->uid);
	}
	PUT_WORD(out, "phase", state_phase_word(state->phase));
	put_termination(out, state);
	put_place(out, state);
	put_reason(out, state);
	VALUE_WRITER_LIT(out, "\"since\":");
	value_writer_stamp(out, state->since_ms);
	value_writer_close(out, '}');
}

enum pl_code state_print(const struct pod_state *state, struct pl_buf *buf,
                         struct pl_err *err)
{
	const char *why = state_violation(state);
	struct value_writer out;
	enum pl_code code;

	if (state->epoch < 0)
		why = "want an epoch of 0 or more";
	if (why != NULL)
		return pl_err_set(err, PL_INVALID, "state %s: %s",
		                  state_phase_word(state->phase), why);
	value_writer_begin(&out, buf);
	put_state(&out, state);
	if (cut_message(state->uid, STATE_WORD_MAX).len < state->uid.len)
		value_writer_fail(&out, PL_LIMIT);
	code = value_writer_end(&out, STATE_BYTES_MAX);
	return code == PL_OK
	               ? PL_OK
	               : pl_err_set(err, code, "state %s: %s",
	                            state_phase_word(state->phase), pl_code_name(code));
}

/* -- reading ----------------------------------------------------------------------- */

static struct pl_span text_of(struct value_reader *in, struct pl_json root,
                              const char *name, size_t most)
{
	struct pl_span text = value_reader_text(in, root, name);

	if (text.len > most)
		value_reader_refuse(in, pl_json_member(root, name),
		                    "want at most %zu bytes", most);
	return text;
}

static struct pl_span name_of(struct value_reader *in, struct pl_json root,
                              const char *name, enum names_kind kind)
{
	struct pl_span text = value_reader_text(in, root, name);
	struct pl_err why = {0};

	if (text.len > 0 && names_check(kind, text, &why) != PL_OK)
		value_reader_refuse(in, pl_json_member(root, name), "%s", why.msg);
	return text;
}

static int64_t number_of(struct value_reader *in, struct pl_json root, const char *name,
                         int64_t most)
{
	struct pl_json_range range = {0, most};
	int64_t value = 0;

	if (in->code == PL_OK)
		in->code = pl_json_int_in(root, name, PL_JSON_OPTIONAL, range, &value,
		                          in->err);
	return value;
}

/* Which of the words the member is; 0 where it is missing and may be. */
static unsigned word_of(struct value_reader *in, struct pl_json root, const char *name,
                        const char *const *words, unsigned count)
{
	struct pl_span word = value_reader_text(in, root, name);

	for (unsigned i = 0; i < count; i++)
		if (pl_span_eq(word, pl_span_str(words[i])))
			return i;
	value_reader_refuse(in, pl_json_member(root, name), "no pod is in that %s", name);
	return 0;
}

static enum state_phase phase_of(struct value_reader *in, struct pl_json root)
{
	(void)value_reader_word(in, root, "phase");
	return (enum state_phase)word_of(in, root, "phase", phase_words, STATE_PHASES);
}

static bool next_of(struct value_reader *in, struct pl_json root)
{
	const char *const words[] = {"", state_phase_word(STATE_PENDING)};

	return word_of(in, root, "next", words, 2) == 1;
}

static bool awaits_of(struct value_reader *in, struct pl_json root)
{
	static const char *const words[] = {"", "finalizers"};

	return word_of(in, root, "awaits", words, 2) == 1;
}

enum pl_code state_parse(struct pl_span value, struct pl_arena *arena,
                         struct pod_state *out, struct pl_err *err)
{
	struct value_reader in;
	struct pl_json root = value_reader_begin(&in, arena, value, STATE_BYTES_MAX, err);
	struct pod_state state = {
		.phase = phase_of(&in, root),
		.ask = (enum state_ask)word_of(&in, root, "ask", ask_words, STATE_ASKS),
		.ended = (enum state_ended)word_of(&in, root, "ended", ended_words,
	                                           STATE_ENDEDS),
		.next_pending = next_of(&in, root),
		.awaits_finalizers = awaits_of(&in, root),
		.uid = text_of(&in, root, "uid", STATE_WORD_MAX),
		.cluster = name_of(&in, root, "cluster", NAMES_CLUSTER),
		.node = name_of(&in, root, "node", NAMES_NODE),
		.shard = name_of(&in, root, "shard", NAMES_SHARD),
		.epoch = number_of(&in, root, "epoch", INT64_MAX),
		.attempts = (uint32_t)number_of(&in, root, "attempts", UINT32_MAX),
		.reason = text_of(&in, root, "reason", STATE_WORD_MAX),
		.message = text_of(&in, root, "message", STATE_MESSAGE_MAX),
		.since_ms = value_reader_stamp(&in, root, "since"),
	};
	struct pl_json nominated = value_reader_object(&in, root, "nominated");
	const char *why;

	if (nominated.node != NULL) {
		state.nominated_cluster =
			name_of(&in, nominated, "cluster", NAMES_CLUSTER);
		state.nominated_node = name_of(&in, nominated, "node", NAMES_NODE);
		if (state.nominated_node.len == 0)
			value_reader_refuse(&in, nominated, "want cluster and node");
	}
	why = state_violation(&state);
	if (why != NULL)
		value_reader_refuse(&in, root, "%s", why);
	if (in.code == PL_OK)
		*out = state;
	return in.code;
}
