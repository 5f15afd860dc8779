#include "coord/cli/pods/wait_unbound.h"

#include <inttypes.h>

#include "coord/cli/config/config_session.h"
#include "coord/cli/output/message.h"
#include "coord/service/pods/known_schedulers.h"
#include "coord/service/pods/pod_gates.h"
#include "shardsched/records/pod_state.h"
#include "store/kv/calls.h"

enum { SPEC, STATE, KEYS_OF_ONE, OPS = WAIT_UNBOUND_MAX * KEYS_OF_ONE };

bool wait_unbound_add(struct wait_unbound *left, struct pl_span key, uint32_t partition)
{
	struct wait_unbound_pod *pod;

	if (left->count == WAIT_UNBOUND_MAX)
		return false;
	pod = &left->pod[left->count++];
	PL_ASSERT(key.len <= sizeof pod->key);
	pod->partition = partition;
	pod->len = key.len;
	memcpy(pod->key, key.at, key.len);
	return true;
}

static struct pl_span name_of(const struct wait_unbound_pod *pod)
{
	return pl_span(pod->key, pod->len);
}

static void key_of(const struct wait_unbound_pod *pod, enum keys_kind kind,
                   struct keys_text *out)
{
	const uint8_t *slash = memchr(pod->key, '/', pod->len);
	size_t namespace = (size_t)(slash - pod->key);
	struct keys_id id = {.kind = kind,
	                     .partition = pod->partition,
	                     .scope = pl_span(pod->key, namespace),
	                     .name = pl_span(slash + 1, pod->len - namespace - 1)};

	if (keys_build(&id, out, NULL) != PL_OK)
		PL_UNREACHABLE("a pod's name");
}

static enum pl_code read_all(const struct wait_unbound *left,
                             struct store_session *session, struct kv_result *out)
{
	struct keys_text text[OPS];
	struct kv_req op[OPS];
	struct kv_req req = {
		.op = KV_TXN,
		.txn = {.then = op, .then_count = (size_t)left->count * KEYS_OF_ONE}};
	struct pl_err err;

	for (unsigned i = 0; i < left->count; i++) {
		key_of(&left->pod[i], KEYS_SPEC, &text[i * KEYS_OF_ONE + SPEC]);
		key_of(&left->pod[i], KEYS_STATE, &text[i * KEYS_OF_ONE + STATE]);
	}
	for (size_t i = 0; i < req.txn.then_count; i++)
		op[i] = kv_op_get(kv_key(keys_span(&text[i])));
	pl_arena_reset(&session->arena);
	return store_session_call(session, &req, out, &err);
}

static void print_state(struct pl_span name, struct pl_span value, struct pl_arena *arena)
{
	struct pl_err err = {0};
	struct pod_state state;

	if (state_parse(value, arena, &state, &err) != PL_OK)
		print_message("not bound: " PL_SPAN_FMT " (its state is malformed: %s)",
		              PL_SPAN_ARG(name), err.msg);
	else if (state.reason.len == 0)
		print_message("not bound: " PL_SPAN_FMT " (%s)", PL_SPAN_ARG(name),
		              state_phase_word(state.phase));
	else
		print_message(
			"not bound: " PL_SPAN_FMT " (" PL_SPAN_FMT "%s" PL_SPAN_FMT ")",
			PL_SPAN_ARG(name), PL_SPAN_ARG(state.reason),
			state.message.len == 0 ? "" : ": ", PL_SPAN_ARG(state.message));
}

/* The pod has no state. */
static void print_undecided(struct pl_span name, struct pl_span spec,
                            const struct known_schedulers *known_schedulers,
                            struct pl_arena *arena)
{
	struct pl_span missing = known_schedulers_missing(known_schedulers, spec, arena);

	if (missing.len > 0)
		print_message("not bound: " PL_SPAN_FMT
		              " (spec.schedulerName: no shard schedules for '" PL_SPAN_FMT
		              "': the configuration scheduler has no profile "
		              "of that name)",
		              PL_SPAN_ARG(name), PL_SPAN_ARG(missing));
	else
		print_message("not bound: " PL_SPAN_FMT " (no shard has decided it yet)",
		              PL_SPAN_ARG(name));
}

static void print_pod(struct pl_span name, const struct kv_result *of,
                      const struct known_schedulers *known_schedulers,
                      struct pl_arena *arena)
{
	const struct kv_get_result *spec = &of[SPEC].get, *state = &of[STATE].get;

	if (spec->count > 0 && pod_has_gates(spec->records[0].value))
		print_message("not bound: " PL_SPAN_FMT
		              " (pod.gated: waiting for scheduling "
		              "gates)",
		              PL_SPAN_ARG(name));
	else if (state->count > 0)
		print_state(name, state->records[0].value, arena);
	else if (spec->count > 0)
		print_undecided(name, spec->records[0].value, known_schedulers, arena);
	else
		print_message("not bound: " PL_SPAN_FMT " (it does not exist)",
		              PL_SPAN_ARG(name));
}

/* A configuration that can not be read makes the schedulers unknown. */
static struct known_schedulers read_schedulers(struct store_session *session)
{
	struct config_found found;
	struct pl_json content;
	struct pl_err err;

	if (config_session_read(session, CONFIG_SCHEDULER, 0, &found, &err) != PL_OK ||
	    config_content(CONFIG_SCHEDULER, &found, &session->arena, &content, &err) !=
	            PL_OK)
		return (struct known_schedulers){0};
	return known_schedulers_of(content);
}

void wait_unbound_print(const struct wait_unbound *left, uint64_t total,
                        struct store_session *session)
{
	struct kv_result result;
	struct known_schedulers known_schedulers = {0};
	bool is_read = left->count > 0 && read_all(left, session, &result) == PL_OK;

	if (is_read)
		known_schedulers = read_schedulers(session);
	for (unsigned i = 0; i < left->count; i++)
		if (is_read)
			print_pod(name_of(&left->pod[i]),
			          &result.txn.results[(size_t)i * KEYS_OF_ONE],
			          &known_schedulers, &session->arena);
		else
			print_message("not bound: " PL_SPAN_FMT,
			              PL_SPAN_ARG(name_of(&left->pod[i])));
	if (total > left->count)
		print_message("... and %" PRIu64 " more", total - left->count);
}
