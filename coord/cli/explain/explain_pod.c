/*
 * placet explain pod: where a pod of the live system would go now, and why, with what its
 * state says. All is read at one revision, and judged by the same engine as the shards'.
 */
#include "coord/cli/explain/explain_pod.h"

#include <stdio.h>

#include "coord/cli/explain/explain_print.h"
#include "coord/cli/output/message.h"
#include "coord/cli/pods/pods_args.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/listing.h"
#include "coord/config/config_record.h"
#include "coord/membership/holder.h"
#include "coord/membership/membership.h"
#include "shardsched/model/parse.h"
#include "shardsched/records/gang_record.h"
#include "shardsched/records/pod_location.h"
#include "store/base/clock.h"
#include "store/base/num.h"
#include "store/keys/partition.h"
#include "store/kv/calls.h"

enum { ARENA_CHUNK = 1 << 16, OPT_SEED = OPTIONS_OWN_FIRST };

struct explain_pod_cmd {
	struct explain_pod pod;
	struct store_session *session;
	struct engine *engine;
	struct progress progress;
	bool nowhere;
};

/* -- keys, at the revision ------------------------------------------------ */

/* The value, in the pod's arena; at NULL: not there. The first one sets the revision. */
static enum pl_code read_key(struct explain_pod_cmd *ask, const struct keys_id *id,
                             struct pl_span *out, struct pl_err *err)
{
	struct kv_result result;
	struct keys_text key;
	struct kv_req req;
	enum pl_code code = keys_build(id, &key, err);

	if (code != PL_OK)
		return code;
	req = kv_op_get(kv_key(keys_span(&key)));
	req.get.revision = ask->pod.revision;
	pl_arena_reset(&ask->session->arena);
	code = store_session_call(ask->session, &req, &result, err);
	if (code != PL_OK)
		return code;
	if (ask->pod.revision == 0)
		ask->pod.revision = result.header.revision;
	*out = (struct pl_span){0};
	if (result.get.count == 0)
		return PL_OK;
	*out = pl_arena_dup(&ask->pod.arena, result.get.records[0].value);
	return out->at == NULL ? pl_err_set(err, PL_NOMEM, "keep a value") : PL_OK;
}

/* -- the pod -------------------------------------------------------------- */

static enum pl_code pod_not_found(const struct explain_pod_cmd *ask, struct pl_err *err)
{
	const struct explain_pod *pod = &ask->pod;

	return pl_err_set(err, PL_NOTFOUND,
	                  "there is no pod " PL_SPAN_FMT "/" PL_SPAN_FMT
	                  " (placet get pods -n " PL_SPAN_FMT ")",
	                  PL_SPAN_ARG(pod->namespace), PL_SPAN_ARG(pod->name),
	                  PL_SPAN_ARG(pod->namespace));
}

/* Follows the pointer, if the pod stands with its group. */
static enum pl_code read_spec(struct explain_pod_cmd *ask, struct pl_err *err)
{
	struct explain_pod *pod = &ask->pod;
	struct keys_id id = {
		.kind = KEYS_SPEC, .scope = pod->namespace, .name = pod->name};
	bool is_pointer = false;
	enum pl_code code = partition_of_pod(pod->namespace, pod->name, pod->partitions,
	                                     &pod->named, err);

	id.partition = pod->partition = pod->named;
	if (code == PL_OK)
		code = read_key(ask, &id, &pod->spec, err);
	if (code != PL_OK)
		return code;
	if (pod->spec.at == NULL)
		return pod_not_found(ask, err);
	code = pointer_parse(pod->spec, &is_pointer, &pod->partition, err);
	if (code != PL_OK || !is_pointer) {
		pod->partition = pod->named;
		return code == PL_OK ? PL_OK : pl_err_wrap(err, "the pod's key");
	}
	id.partition = pod->partition;
	if (pod->partition >= pod->partitions)
		return pl_err_set(err, PL_INVALID,
		                  "the pointer of the pod names partition %u of %u",
		                  pod->partition, pod->partitions);
	code = read_key(ask, &id, &pod->spec, err);
	if (code == PL_OK && pod->spec.at == NULL)
		return pl_err_set(err, PL_NOTFOUND,
		                  "the pod's name points to partition %u, and it is not "
		                  "there; see placet fsck",
		                  pod->partition);
	return code;
}

static enum pl_code read_state(struct explain_pod_cmd *ask, struct pl_err *err)
{
	struct explain_pod *pod = &ask->pod;
	const struct keys_id id = {.kind = KEYS_STATE,
	                           .partition = pod->partition,
	                           .scope = pod->namespace,
	                           .name = pod->name};
	struct pl_span value;
	enum pl_code code = read_key(ask, &id, &value, err);

	if (code != PL_OK || value.at == NULL)
		return code;
	pod->has_state =
		state_parse(value, &pod->arena, &pod->state, &pod->malformed) == PL_OK;
	return PL_OK;
}

/* -- who judges it, and by what ------------------------------------------- */

struct partition_owners {
	struct explain_pod_cmd *ask;
	struct pl_span *of; /* by partition */
};

static enum pl_code on_owner(void *ctx, const struct kv_record *record,
                             struct pl_err *err)
{
	struct partition_owners *list = ctx;
	struct holder holder;
	struct keys_id id;

	if (keys_parse(record->key, &id, NULL) != PL_OK || id.kind != KEYS_OWNER ||
	    id.partition >= list->ask->pod.partitions ||
	    holder_parse(record->value, &holder, NULL) != PL_OK)
		return PL_OK;
	list->of[id.partition] =
		pl_arena_dup(&list->ask->pod.arena, pl_span_str(holder.shard));
	return list->of[id.partition].at == NULL
	               ? pl_err_set(err, PL_NOMEM, "keep the owners")
	               : PL_OK;
}

static enum pl_code read_owners(struct explain_pod_cmd *ask, struct pl_err *err)
{
	struct explain_pod *pod = &ask->pod;
	struct partition_owners list = {
		.ask = ask,
		.of = pl_arena_zalloc(&pod->arena, pod->partitions, sizeof *list.of)};
	int64_t revision = pod->revision;
	enum pl_code code;

	pod->own = pl_arena_zalloc(&pod->arena, pod->partitions, sizeof *pod->own);
	if (list.of == NULL || pod->own == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the owners");
	code = session_list(ask->session, PL_SPAN_LIT("/partitions/"), &revision,
	                    on_owner, &list, err);
	if (code != PL_OK)
		return code;
	pod->owner = list.of[pod->partition];
	for (uint32_t p = 0; p < pod->partitions; p++)
		pod->own[p] = pod->owner.len > 0 && pl_span_eq(list.of[p], pod->owner);
	return PL_OK;
}

/* The version that its shard runs; the current one where that is not known. */
static enum pl_code read_running(struct explain_pod_cmd *ask, struct pl_err *err)
{
	struct explain_pod *pod = &ask->pod;
	const struct keys_id id = {.kind = KEYS_SHARD, .name = pod->owner};
	struct pl_span value = {0};
	struct membership member;
	enum pl_code code = pod->owner.len == 0 ? PL_OK : read_key(ask, &id, &value, err);

	if (code != PL_OK || value.at == NULL ||
	    membership_parse(pod->owner, value, &pod->arena, &member, NULL) != PL_OK)
		return code;
	pod->config = 0;
	for (uint32_t i = 0; i < member.config_count; i++)
		if (pl_span_eq(member.config[i].name, PL_SPAN_LIT("scheduler")))
			pod->config = member.config[i].version;
	return PL_OK;
}

static enum pl_code read_current(struct explain_pod_cmd *ask, struct pl_err *err)
{
	struct explain_pod *pod = &ask->pod;
	const struct keys_id id = {.kind = KEYS_CONFIG_CURRENT,
	                           .name = PL_SPAN_LIT("scheduler")};
	struct pl_span value;
	enum pl_code code = read_key(ask, &id, &value, err);

	if (code == PL_OK && value.at != NULL)
		(void)!config_current_parse(value, &pod->arena, &pod->config_current,
		                            &pod->config_err);
	pod->config = pod->config_current;
	return code;
}

static void use_settings(struct explain_pod *pod, const struct sched_settings *settings)
{
	pod->profiles = settings->profiles;
	pod->sort = settings->sort;
}

static enum pl_code read_config(struct explain_pod_cmd *ask, struct pl_err *err)
{
	struct explain_pod *pod = &ask->pod;
	struct keys_id id = {.kind = KEYS_CONFIG, .name = PL_SPAN_LIT("scheduler")};
	struct config_value value;
	struct pl_span json;
	enum pl_code code = read_current(ask, err);

	if (code == PL_OK)
		code = read_running(ask, err);
	if (code != PL_OK || pod->config == 0)
		return code;
	id.version = pod->config;
	code = read_key(ask, &id, &json, err);
	if (code != PL_OK)
		return code;
	if (json.at == NULL)
		pl_err_set(&pod->config_err, PL_NOTFOUND, "version %llu is not there",
		           (unsigned long long)pod->config);
	else if (config_record_value(CONFIG_SCHEDULER, pod->config, json, &pod->arena,
	                             &value, &pod->config_err) == PL_OK)
		use_settings(pod, &value.scheduler);
	if (pod->config_err.code != PL_OK)
		pod->config = 0;
	return PL_OK;
}

/* -- deciding ------------------------------------------------------------- */

static void count_owned_nodes(struct explain_pod_cmd *ask,
                              const struct engine_decision *decision)
{
	const struct snapshot *snapshot = engine_snapshot(ask->engine);
	struct explain_pod *pod = &ask->pod;
	bool fits = !decision->gated && decision->outcome.result == CYCLE_NODE;
	struct pl_bitset feasible = {0};

	if (fits)
		feasible = cycle_feasible(engine_cycle(ask->engine));
	for (uint32_t slot = 0; slot < snapshot->slots; slot++) {
		if (!pl_bitset_has(snapshot->open, slot) ||
		    !pod->own[store_snapshot_partition(&pod->cluster, slot)])
			continue;
		pod->own_nodes++;
		pod->own_feasible += fits && pl_bitset_has(feasible, slot);
	}
}

static enum pl_code print_answer(struct explain_pod_cmd *ask,
                                 const struct explain *explain, struct pl_err *err)
{
	struct pl_buf out;
	enum pl_code code = PL_OK;

	progress_end(&ask->progress);
	pl_buf_init(&out, EXPLAIN_OUT_MAX);
	switch (ask->pod.format) {
	case EXPLAIN_TEXT:
		code = explain_pod_text(&ask->pod, explain, &out);
		break;
	case EXPLAIN_JSON:
		code = explain_pod_json(&ask->pod, explain, &out, err);
		break;
	case EXPLAIN_DOT:
		code = explain == NULL ? PL_OK : explain_dot(explain, &out);
		break;
	}
	if (code != PL_OK && err->code == PL_OK)
		pl_err_set(err, code, "print the explanation");
	if (code == PL_OK)
		code = print_result(&out, err);
	pl_buf_done(&out);
	return code;
}

/* How far it has come, if it is too large for one transaction and under way. */
static enum pl_code read_gang(struct explain_pod_cmd *ask, struct pl_span gang,
                              struct pl_err *err)
{
	struct explain_pod *pod = &ask->pod;
	const struct keys_id id = {
		.kind = KEYS_GANG, .scope = pod->namespace, .name = gang};
	struct gang_record record;
	struct pl_err malformed = {0};
	struct keys_text text;
	struct pl_span value;
	enum pl_code code;

	pod->gang = gang;
	if (keys_build(&id, &text, NULL) != PL_OK)
		return PL_OK;
	code = read_key(ask, &id, &value, err);
	if (code != PL_OK || value.at == NULL)
		return code;
	code = gang_record_parse(value, &pod->arena, &record, &malformed);
	pod->gang_phase =
		pl_span_str(code == PL_OK ? gang_phase_word(record.phase) : "malformed");
	return PL_OK;
}

static enum pl_code decide_pod(struct explain_pod_cmd *ask, const struct pod *pod,
                               struct pl_err *err)
{
	const struct model *model = engine_model(ask->engine);
	struct engine_decision decision;
	struct explain explain;
	enum pl_code code = engine_decide(ask->engine, pod, &decision, err);

	if (code == PL_NOTFOUND)
		return pl_err_set(
			err, PL_INVALID,
			"spec.schedulerName: nobody schedules for '" PL_SPAN_FMT
			"': the configuration scheduler has no profile of that name",
			PL_SPAN_ARG(model_text(model, pod->spec->template->scheduler)));
	if (code != PL_OK)
		return code;
	if (pod->spec->template->gang != 0)
		code = read_gang(ask, model_text(model, pod->spec->template->gang), err);
	if (code != PL_OK)
		return code;
	ask->nowhere = decision.gated || decision.outcome.result != CYCLE_NODE;
	count_owned_nodes(ask, &decision);
	explain_make(ask->engine, pod, &decision, &explain);
	return print_answer(ask, &explain, err);
}

static enum pl_code judge_pod(struct explain_pod_cmd *ask, struct pl_err *err)
{
	struct field_errors errors;
	struct parse parse = {.model = engine_model(ask->engine),
	                      .arena = &ask->pod.arena,
	                      .errors = &errors,
	                      .scope = VALIDATE_STORED};
	struct pod pod;
	enum pl_code code = pod_parse(&parse, ask->pod.spec, &pod, err);

	if (code != PL_OK)
		return pl_err_wrap(err, "the pod's spec");
	if (pod.node != 0)
		code = pl_err_set(err, PL_INVALID,
		                  "spec.nodeName: somebody else has put it on a node; "
		                  "there is nothing to decide");
	else
		code = decide_pod(ask, &pod, err);
	pod_drop(parse.model, &pod);
	return code;
}

static void on_other_record(void *ctx, const struct keys_id *id,
                            const struct kv_record *record)
{
	struct explain_pod *pod = ctx;

	if (id->partition < pod->partitions)
		explain_queue_add(&pod->queue, id, record);
}

/* Of the pods of its shard. */
static void count_waiting(struct explain_pod_cmd *ask)
{
	struct explain_pod *pod = &ask->pod;
	bool waits = !pod->has_state || pod->state.phase == STATE_PENDING;
	char *self = pl_arena_alloc(&pod->arena, KEYS_SIZE_MAX);

	pod->queue = (struct explain_queue){
		.model = engine_model(ask->engine), .sort = pod->sort, .own = pod->own};
	explain_queue_init(&pod->queue);
	if (pod->owner.len == 0 || !waits || self == NULL)
		return;
	(void)snprintf(self, KEYS_SIZE_MAX, "%04u/" PL_SPAN_FMT "/" PL_SPAN_FMT,
	               pod->partition, PL_SPAN_ARG(pod->namespace),
	               PL_SPAN_ARG(pod->name));
	pod->queue.self = pl_span_str(self);
	explain_queue_set_pod(&pod->queue, pod->spec);
	pod->cluster.other = on_other_record;
	pod->cluster.other_ctx = pod;
}

static enum pl_code read_and_judge(struct explain_pod_cmd *ask, struct pl_err *err)
{
	const struct engine_opts opts = {.config = ask->pod.profiles,
	                                 .seed = (uint64_t)ask->pod.seed,
	                                 .scope = VALIDATE_STORED,
	                                 .keep_scores = true,
	                                 .keep_candidates = true};
	struct explain_pod *pod = &ask->pod;
	enum pl_code code = engine_new(&opts, &ask->engine, err);

	if (code != PL_OK)
		return code;
	pod->cluster = (struct store_snapshot){.session = ask->session,
	                                       .engine = ask->engine,
	                                       .progress = &ask->progress,
	                                       .revision = pod->revision,
	                                       .partition = pod->partition,
	                                       .namespace = pod->namespace,
	                                       .name = pod->name};
	count_waiting(ask);
	code = store_snapshot_read(&pod->cluster, err);
	if (code == PL_OK)
		code = judge_pod(ask, err);
	store_snapshot_done(&pod->cluster);
	explain_queue_done(&pod->queue);
	engine_free(ask->engine);
	return code;
}

static bool pod_has_run(const struct explain_pod *pod)
{
	return pod->has_state &&
	       (pod->state.phase == STATE_SUCCEEDED || pod->state.phase == STATE_FAILED);
}

static enum pl_code explain_pod_run(void *ctx, const struct cli_session *cli,
                                    struct pl_err *err)
{
	struct explain_pod_cmd *ask = ctx;
	const struct pods_args given = {.namespace = ask->pod.namespace_option};
	enum pl_code code;

	ask->session = cli->session;
	ask->pod.partitions = cli->meta.partitions;
	ask->pod.now_ms = pl_clock_wall_ms();
	progress_init(&ask->progress, pl_clock_ms());
	pl_arena_init(&ask->pod.arena, ARENA_CHUNK, 0);
	code = pods_args_name(&given, cli->options->args[0], &ask->pod.namespace,
	                      &ask->pod.name, err);
	if (code == PL_OK)
		code = read_spec(ask, err);
	if (code == PL_OK)
		code = read_state(ask, err);
	if (code == PL_OK)
		code = read_owners(ask, err);
	if (code == PL_OK)
		code = read_config(ask, err);
	if (code == PL_OK)
		code = pod_has_run(&ask->pod) ? print_answer(ask, NULL, err)
		                              : read_and_judge(ask, err);
	progress_end(&ask->progress);
	pl_arena_done(&ask->pod.arena);
	return code;
}

/* -- the command line ----------------------------------------------------- */

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct explain_pod_cmd *ask = ctx;
	struct pods_args given = {0};
	enum pl_code code = PL_OK;

	switch (opt) {
	case 'o':
		return explain_format_parse(arg, &ask->pod.format, err);
	case OPT_SEED:
		if (pl_num_i64_in(pl_span_str(arg), 0, INT64_MAX, &ask->pod.seed, NULL) ==
		    PL_OK)
			return PL_OK;
		return pl_err_set(err, PL_INVALID, "--seed %s: want a number", arg);
	default:
		code = pods_args_set(&given, PODS_ARGS_SPACE, arg, err);
		ask->pod.namespace_option = given.namespace;
		return code;
	}
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	const struct explain_pod_cmd *ask = ctx;
	const struct pods_args given = {.namespace = ask->pod.namespace_option};
	struct pl_span namespace, name;

	return pods_args_name(&given, options->args[0], &namespace, &name, err);
}

static const struct option own[] = {
	{"namespace", required_argument, NULL, 'n'},
	{"output", required_argument, NULL, 'o'},
	{"seed", required_argument, NULL, OPT_SEED},
	{NULL, 0, NULL, 0},
};

static const struct options_spec spec = {
	.words = "explain pod",
	.usage = "<namespace>/<name> [options]",
	.about =
		"Why a pod is where it is, or nowhere. Tells what its state says, and then\n"
		"what a shard would decide now that owned every node: what each filter\n"
		"refuses in each cluster, the nearest nodes and what would make it fit, what\n"
		"each plugin gives to the best ones, who would have to go. A pod that has a\n"
		"node is judged as if it were nowhere. Everything is read at one revision;\n"
		"nothing is changed. At 5,000 nodes and 50,000 pods that takes some seconds.\n",
	.help = "  -n, --namespace NAME   of a name without one (default default)\n"
		"  -o, --output FORMAT    text, json or dot (default text)\n"
		"  --seed N               chance between equally good nodes (default 0)\n",
	.example = "  placet explain pod shop/web-1\n"
		   "  placet explain pod shop/web-1 -o json | jq '.decision.clusters'\n"
		   "  placet explain pod shop/web-1 -o dot | dot -Tsvg > web-1.svg\n",
	.exits = "0 it has a node or would get one, 1 it would not or it could not be\n"
		 "told, 2 wrong usage",
	.args_min = 1,
	.args_max = 1,
	.own = own,
	.take = set_option,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct explain_pod_cmd ask = {.nowhere = false};
	enum exit_code code = cli_session_run(&spec, argc, argv, explain_pod_run, &ask);

	if (code == EXIT_OK && ask.nowhere && !ask.pod.has_state)
		return EXIT_FAILED;
	if (code == EXIT_OK && ask.nowhere && !state_has_place(&ask.pod.state))
		return EXIT_FAILED;
	return code;
}

const struct command explain_pod_command = {
	.words = "explain pod",
	.summary = "why a pod of the live system is where it is, or nowhere",
	.run = run_command};
