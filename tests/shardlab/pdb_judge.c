#include "tests/shardlab/pdb_judge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"
#include "store/base/json.h"

enum {
	NOTES_MAX = 256,
	RULE_SIZE = 32,
	/* So long may somebody write who has seen what we have not, or as he may not:
	 * beyond the TTL. */
	UNSURE_MS = 10000,
};

const char *const pdb_tally_text[PDB_TALLIES] = {
#define PDB_TALLY_TEXT(name, text) [PDB_##name] = (text),
	PDB_TALLY_MAP(PDB_TALLY_TEXT)};

/* What a pod counted as since a revision. */
struct since {
	int64_t rev, state_rev; /* 0: no state */
	bool expected, healthy;
};

struct pod {
	struct since *at;
	uint32_t count, room;
	uint64_t past_ms; /* until then it may be evicted past its budgets */
};

struct note {
	uint32_t pod;
	int64_t state_rev;
};

struct value {
	bool there, counted;
	char rule[RULE_SIZE];
	int64_t expected, desired, healthy, allowed;
	struct note note[NOTES_MAX];
	uint32_t notes;
};

struct budget {
	struct value was, is;
	bool touched;
	bool spoilt, bad; /* somebody may write garbage there; and that is there */
	int64_t view;     /* no count is of an earlier revision */
	uint64_t unsure_ms;
};

struct pdb_judge {
	struct world *world;
	struct pl_arena arena;
	uint32_t pods;
	struct pod *pod;
	uint64_t *node_past_ms;
	struct budget budget[PDB_COUNT];
	bool *disturbed;
	int64_t revision;
	uint64_t tally[PDB_TALLIES];
};

#define FAIL(judge, b, fmt, ...)                                          \
	check_fail((judge)->world, "budgets", "b-%u, @%" PRId64 ": " fmt, \
	           (unsigned)((b) - (judge)->budget), (judge)->revision, __VA_ARGS__)

static unsigned number(const struct pdb_judge *judge, const struct budget *budget)
{
	return (unsigned)(budget - judge->budget);
}

static uint64_t now_ms(const struct pdb_judge *judge)
{
	return judge->world->agenda.now_ms;
}

/* -- life ------------------------------------------------------------------------- */

static void *room(size_t count, size_t size)
{
	void *at = pl_calloc(count, size);

	PL_ASSERT(at != NULL);
	return at;
}

struct pdb_judge *pdb_judge_new(struct world *world, uint32_t pods)
{
	struct pdb_judge *judge = room(1, sizeof *judge);

	judge->world = world;
	judge->pods = pods;
	judge->pod = room(pods, sizeof *judge->pod);
	judge->disturbed = room(pods, sizeof *judge->disturbed);
	judge->node_past_ms = room(world->stock->nodes, sizeof *judge->node_past_ms);
	pl_arena_init(&judge->arena, 0, 0);
	return judge;
}

void pdb_judge_free(struct pdb_judge *judge)
{
	for (uint32_t i = 0; i < judge->pods; i++)
		free(judge->pod[i].at);
	free(judge->pod);
	free(judge->disturbed);
	free(judge->node_past_ms);
	pl_arena_done(&judge->arena);
	free(judge);
}

const uint64_t *pdb_judge_tally(const struct pdb_judge *judge)
{
	return judge->tally;
}

void pdb_judge_past(struct pdb_judge *judge, uint32_t pod, uint64_t until_ms)
{
	judge->pod[pod].past_ms = until_ms;
}

void pdb_judge_past_node(struct pdb_judge *judge, uint32_t node, uint64_t until_ms)
{
	judge->node_past_ms[node] = until_ms;
}

static bool may_be_past(const struct pdb_judge *judge, uint32_t i)
{
	uint32_t node = judge->world->stock->was_pod[i].node;

	return now_ms(judge) < judge->pod[i].past_ms ||
	       (node != STOCK_NONE && now_ms(judge) < judge->node_past_ms[node]);
}

/* -- values ----------------------------------------------------------------------- */

static bool read_rule(struct pl_json spec, struct value *out)
{
	static const char *const kinds[] = {"minAvailable", "maxUnavailable"};

	for (unsigned i = 0; i < 2; i++) {
		struct pl_json amount = pl_json_member(spec, kinds[i]);
		const char *text = NULL;
		int64_t count = 0;

		if (pl_json_type(amount) == PL_JSON_ABSENT)
			continue;
		if (pl_json_as_string(amount, &text, NULL) == PL_OK)
			(void)snprintf(out->rule, RULE_SIZE, "%s %s", kinds[i], text);
		else if (pl_json_int(spec, kinds[i], PL_JSON_REQUIRED, &count, NULL) ==
		         PL_OK)
			(void)snprintf(out->rule, RULE_SIZE, "%s %" PRId64, kinds[i],
			               count);
		return out->rule[0] != 0;
	}
	return false;
}

static bool read_notes(struct pl_json notes, struct pl_span namespace, uint32_t pods,
                       struct value *out)
{
	const struct scene scene = {.pods = pods};

	PL_JSON_EACH (note, notes) {
		const char *rev = NULL;
		struct note *next = &out->note[out->notes];

		if (out->notes++ == NOTES_MAX ||
		    pl_json_as_string(note, &rev, NULL) != PL_OK)
			return false;
		next->pod =
			scene_pod_of(&scene, namespace, pl_span_str(pl_json_key(note)));
		next->state_rev = strtoll(rev, NULL, 10);
		if (next->pod == UINT32_MAX)
			return false;
	}
	return true;
}

static bool read_value(struct pdb_judge *judge, struct pl_span namespace,
                       struct pl_span text, struct value *out)
{
	struct pl_json root, object, spec, status;

	*out = (struct value){.there = true};
	pl_arena_reset(&judge->arena);
	if (pl_json_parse(&judge->arena, text, NULL, &root, NULL) != PL_OK)
		return false;
	object = pl_json_member(root, "budget");
	spec = pl_json_member(object, "spec");
	status = pl_json_member(root, "status");
	out->counted = pl_json_type(status) == PL_JSON_OBJECT;
	if (out->counted && (pl_json_int(status, "expected", PL_JSON_OPTIONAL,
	                                 &out->expected, NULL) != PL_OK ||
	                     pl_json_int(status, "desired", PL_JSON_OPTIONAL,
	                                 &out->desired, NULL) != PL_OK ||
	                     pl_json_int(status, "healthy", PL_JSON_OPTIONAL,
	                                 &out->healthy, NULL) != PL_OK ||
	                     pl_json_int(status, "allowed", PL_JSON_OPTIONAL,
	                                 &out->allowed, NULL) != PL_OK))
		return false;
	return read_rule(spec, out) &&
	       read_notes(pl_json_member(root, "disrupted"), namespace, judge->pods, out);
}

/* As by the rule's own words; percentages are rounded up. */
static int64_t desired(const char *rule, int64_t expected)
{
	const char *amount = strchr(rule, ' ') + 1;
	int64_t count = strtoll(amount, NULL, 10);

	if (strchr(amount, '%') != NULL)
		count = (count * expected + 99) / 100;
	if (strncmp(rule, "min", 3) == 0)
		return count;
	return expected > count ? expected - count : 0;
}

static int64_t allowed(const char *rule, int64_t expected, int64_t healthy)
{
	int64_t want = desired(rule, expected);

	return expected == 0 || healthy < want ? 0 : healthy - want;
}

static void check_sums(struct pdb_judge *judge, const struct budget *budget)
{
	const struct value *is = &budget->is;

	if (is->counted && (is->desired != desired(is->rule, is->expected) ||
	                    is->allowed != allowed(is->rule, is->expected, is->healthy)))
		FAIL(judge, budget,
		     "of %" PRId64 " pods %" PRId64 " are healthy; %s, it says %" PRId64
		     " are desired and %" PRId64 " allowed",
		     is->expected, is->healthy, is->rule, is->desired, is->allowed);
}

/* -- what pods were --------------------------------------------------------------- */

static struct since now_of(const struct stock_pod *pod, int64_t revision)
{
	bool over = pod->phase == STOCK_SUCCEEDED || pod->phase == STOCK_FAILED ||
	            pod->unwanted;
	bool there = pod->has_spec && !pod->bad_spec;

	return (struct since){.rev = revision,
	                      .state_rev = pod->state_rev,
	                      .expected = there && !over,
	                      .healthy = there && pod->phase == STOCK_BOUND &&
	                                 !pod->asked && !pod->ended};
}

static void remember(struct pdb_judge *judge, uint32_t i, int64_t revision)
{
	struct pod *pod = &judge->pod[i];
	struct since now = now_of(&judge->world->stock->pod[i], revision);

	if (pod->count == pod->room) {
		pod->room = pod->room == 0 ? 16 : pod->room * 2;
		pod->at = pl_realloc(pod->at, pod->room * sizeof *pod->at);
		PL_ASSERT(pod->at != NULL);
	}
	pod->at[pod->count++] = now;
}

/* As it stood at that revision. */
static struct since at_view(const struct pod *pod, int64_t view)
{
	for (uint32_t i = pod->count; i > 0; i--)
		if (pod->at[i - 1].rev <= view)
			return pod->at[i - 1];
	return (struct since){0};
}

/* The first revision after that at which some pod of the budget changed. */
static int64_t next_view(const struct pdb_judge *judge, unsigned budget, int64_t view)
{
	int64_t next = INT64_MAX;

	for (uint32_t i = 0; i < judge->pods; i++) {
		const struct pod *pod = &judge->pod[i];

		if (pod->count == 0 || pod->at[pod->count - 1].rev <= view ||
		    !pdb_covers(budget, i))
			continue;
		for (uint32_t k = pod->count; k > 0 && pod->at[k - 1].rev > view; k--)
			if (pod->at[k - 1].rev < next)
				next = pod->at[k - 1].rev;
	}
	return next;
}

static const struct note *note_of(const struct value *value, uint32_t pod)
{
	for (uint32_t i = 0; i < value->notes; i++)
		if (value->note[i].pod == pod)
			return &value->note[i];
	return NULL;
}

/* At that revision the pod was not any more what was given up. */
static bool is_seen(const struct pdb_judge *judge, const struct note *note, int64_t view)
{
	struct since then = at_view(&judge->pod[note->pod], view);

	return then.state_rev > note->state_rev ||
	       (view >= note->state_rev && then.state_rev != note->state_rev);
}

/* -- who counts ------------------------------------------------------------------- */

/* What was written is the count as of that revision. */
static bool is_count_of(const struct pdb_judge *judge, const struct budget *budget,
                        int64_t view)
{
	int64_t expected = 0, healthy = 0;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < judge->pods; i++) {
		struct since then;

		if (!pdb_covers(number(judge, budget), i))
			continue;
		then = at_view(&judge->pod[i], view);
		expected += then.expected;
		healthy += then.healthy;
	}
	for (uint32_t i = 0; i < budget->was.notes; i++) {
		const struct note *note = &budget->was.note[i];
		const struct note *still = note_of(&budget->is, note->pod);
		bool seen = is_seen(judge, note, view);

		if (seen != (still == NULL) ||
		    (still != NULL && still->state_rev != note->state_rev))
			return false;
		kept += !seen;
		healthy -= !seen && at_view(&judge->pod[note->pod], view).healthy;
	}
	return kept == budget->is.notes && expected == budget->is.expected &&
	       healthy == budget->is.healthy;
}

/* Each pod may be as of another revision. */
static bool is_mix(const struct pdb_judge *judge, const struct budget *budget)
{
	int64_t expected = 0, healthy = 0;

	for (uint32_t i = 0; i < judge->pods; i++) {
		const struct pod *pod = &judge->pod[i];
		const struct note *note = note_of(&budget->is, i);
		bool least = true, most = false;

		if (!pdb_covers(number(judge, budget), i))
			continue;
		for (uint32_t k = 0; k < pod->count; k++) {
			const struct since *then = &pod->at[k];

			if (then->rev >= judge->revision ||
			    (k + 1 < pod->count && pod->at[k + 1].rev <= budget->view))
				continue;
			least = least && then->expected;
			most = most ||
			       (then->healthy &&
			        (note == NULL || then->state_rev > note->state_rev));
		}
		expected += least && pod->count > 0;
		healthy += most;
	}
	for (uint32_t i = 0; i < budget->was.notes; i++)
		if (note_of(&budget->is, budget->was.note[i].pod) == NULL &&
		    !is_seen(judge, &budget->was.note[i], judge->revision - 1))
			return false;
	return budget->is.allowed <= allowed(budget->is.rule, expected, healthy);
}

static bool is_spoilt(const struct pdb_judge *judge, const struct budget *budget)
{
	for (uint32_t i = 0; i < judge->pods; i++)
		if (judge->world->stock->pod[i].spoilt &&
		    pdb_covers(number(judge, budget), i))
			return true;
	return false;
}

static void check_counted(struct pdb_judge *judge, struct budget *budget)
{
	unsigned b = number(judge, budget);
	int64_t view = budget->view;

	judge->tally[PDB_COUNTED]++;
	if (!budget->is.counted)
		FAIL(judge, budget, "%s", "is written by nobody whom we know");
	if (is_spoilt(judge, budget))
		budget->unsure_ms = now_ms(judge) + UNSURE_MS;
	while (view < judge->revision && !is_count_of(judge, budget, view))
		view = next_view(judge, b, view);
	if (view < judge->revision) {
		budget->view = view;
		return;
	}
	if (now_ms(judge) < budget->unsure_ms)
		return;
	judge->tally[PDB_MIXED]++;
	if (!is_mix(judge, budget))
		FAIL(judge, budget,
		     "%" PRId64 " pods, %" PRId64 " healthy, %" PRId64
		     " allowed, %u noted: that is no count of its pods since @%" PRId64,
		     budget->is.expected, budget->is.healthy, budget->is.allowed,
		     budget->is.notes, budget->view);
}

/* -- who changes ------------------------------------------------------------------ */

static bool same_notes(const struct value *a, const struct value *b)
{
	for (uint32_t i = 0; i < a->notes; i++) {
		const struct note *other = note_of(b, a->note[i].pod);

		if (other == NULL || other->state_rev != a->note[i].state_rev)
			return false;
	}
	return a->notes == b->notes;
}

static void check_changed(struct pdb_judge *judge, struct budget *budget)
{
	const struct value *was = &budget->was, *is = &budget->is;

	judge->tally[PDB_CHANGED]++;
	if (is->counted != was->counted || is->expected != was->expected ||
	    is->healthy != was->healthy || !same_notes(was, is))
		FAIL(judge, budget, "%s",
		     "what was counted is another when it is changed");
}

static void check_made(struct pdb_judge *judge, struct budget *budget)
{
	judge->tally[PDB_MADE]++;
	if (budget->is.counted || budget->is.notes > 0)
		FAIL(judge, budget, "%s", "it is new, and counted");
	budget->view = judge->revision;
	budget->unsure_ms = 0;
}

/* -- who disturbs ----------------------------------------------------------------- */

static bool is_disturbed(const struct stock_pod *was, const struct stock_pod *is)
{
	if (was->phase != STOCK_BOUND || was->asked || was->ended || !was->has_spec)
		return false;
	if (is->phase == STOCK_BOUND)
		return is->asked && !is->unwanted;
	return is->phase == STOCK_TERMINATING && !is->asked &&
	       strcmp(is->reason, "preempted") == 0;
}

static void check_noted(struct pdb_judge *judge, struct budget *budget, uint32_t i)
{
	const struct stock_pod *was = &judge->world->stock->was_pod[i];
	const struct note *note = note_of(&budget->is, i);
	bool preempted = judge->world->stock->pod[i].phase == STOCK_TERMINATING;
	bool past = may_be_past(judge, i);
	bool may = budget->was.counted && budget->was.allowed > 0;

	if (note == NULL || note->state_rev != was->state_rev)
		FAIL(judge, budget, "p-%u is disturbed, and is not noted as of @%" PRId64,
		     i, was->state_rev);
	if (!may && !preempted && !past)
		FAIL(judge, budget, "p-%u is evicted; it allows %" PRId64 "%s", i,
		     budget->was.allowed,
		     budget->was.counted ? "" : " and was never counted");
	judge->tally[preempted ? may ? PDB_PREEMPTED : PDB_OVERDRAWN
	             : may     ? PDB_EVICTED
	                       : PDB_PAST]++;
}

static void check_disturbed(struct pdb_judge *judge, struct budget *budget)
{
	const struct stock *stock = judge->world->stock;
	const struct value *was = &budget->was, *is = &budget->is;
	int64_t count = 0, evicted = 0, healthy;
	uint32_t fresh = 0;

	if (!budget->touched || !is->there || strcmp(was->rule, is->rule) != 0)
		FAIL(judge, budget, "%s",
		     "its pods are disturbed, and it is not lowered");
	for (uint32_t k = 0; k < stock->touched_pods; k++) {
		uint32_t i = stock->touched_pod[k];

		if (!judge->disturbed[i] || !pdb_covers(number(judge, budget), i))
			continue;
		check_noted(judge, budget, i);
		count++;
		evicted += stock->pod[i].phase == STOCK_BOUND && !may_be_past(judge, i);
		fresh += note_of(was, i) == NULL;
	}
	healthy = was->healthy > count ? was->healthy - count : 0;
	if (is->counted != was->counted || is->expected != was->expected ||
	    is->healthy != healthy || is->notes != was->notes + fresh)
		FAIL(judge, budget,
		     "%" PRId64 " are disturbed: of %" PRId64 " healthy %" PRId64
		     " are left, %u noted of %u",
		     count, was->healthy, is->healthy, is->notes, was->notes);
	if (evicted > was->allowed)
		FAIL(judge, budget, "%" PRId64 " are evicted, it allows %" PRId64,
		     evicted, was->allowed);
}

/* -- a revision ------------------------------------------------------------------- */

void pdb_judge_event(struct pdb_judge *judge, const struct keys_id *id,
                     const struct kv_event *event)
{
	unsigned b = pdb_of(id->scope, id->name);
	struct budget *budget;

	if (b == PDB_COUNT)
		return;
	budget = &judge->budget[b];
	budget->touched = true;
	judge->revision = event->record.mod_revision;
	budget->is = (struct value){0};
	budget->bad = !event->is_delete &&
	              !read_value(judge, id->scope, event->record.value, &budget->is);
	if (budget->bad)
		budget->is = (struct value){0};
	if (budget->bad && !budget->spoilt)
		FAIL(judge, budget, "makes no sense: " PL_SPAN_FMT,
		     PL_SPAN_ARG(event->record.value));
}

void pdb_judge_spoil(struct pdb_judge *judge, unsigned budget, bool spoilt)
{
	judge->budget[budget].spoilt = spoilt;
}

bool pdb_judge_is_bad(const struct pdb_judge *judge, unsigned budget)
{
	return judge->budget[budget].bad;
}

/* How many of its pods are; -1: one of them is spoilt. */
static int disturbed_of(const struct pdb_judge *judge, const struct budget *budget)
{
	const struct stock *stock = judge->world->stock;
	int count = 0;

	for (uint32_t k = 0; k < stock->touched_pods; k++) {
		uint32_t i = stock->touched_pod[k];

		if (!judge->disturbed[i] || !pdb_covers(number(judge, budget), i))
			continue;
		if (stock->pod[i].spoilt)
			return -1;
		count++;
	}
	return count;
}

static void see_budget(struct pdb_judge *judge, struct budget *budget)
{
	int disturbed = disturbed_of(judge, budget);

	if (budget->touched && budget->is.there)
		check_sums(judge, budget);
	if (!budget->was.there) {
		if (budget->is.there)
			check_made(judge, budget);
	} else if (disturbed < 0) {
		budget->unsure_ms = now_ms(judge) + UNSURE_MS;
	} else if (disturbed > 0) {
		check_disturbed(judge, budget);
	} else if (budget->touched && !budget->is.there) {
		judge->tally[PDB_DELETED]++;
	} else if (budget->touched && strcmp(budget->was.rule, budget->is.rule) != 0) {
		check_changed(judge, budget);
	} else if (budget->touched) {
		check_counted(judge, budget);
	}
	if (budget->touched)
		budget->was = budget->is;
	budget->touched = false;
}

void pdb_judge_see(struct pdb_judge *judge, int64_t revision)
{
	const struct stock *stock = judge->world->stock;

	judge->revision = revision;
	for (uint32_t k = 0; k < stock->touched_pods; k++) {
		uint32_t i = stock->touched_pod[k];

		remember(judge, i, revision);
		judge->disturbed[i] = is_disturbed(&stock->was_pod[i], &stock->pod[i]);
	}
	for (unsigned b = 0; b < PDB_COUNT; b++)
		see_budget(judge, &judge->budget[b]);
}

void pdb_judge_reset(struct pdb_judge *judge)
{
	for (unsigned b = 0; b < PDB_COUNT; b++)
		judge->budget[b] = (struct budget){.spoilt = judge->budget[b].spoilt};
	for (uint32_t i = 0; i < judge->pods; i++)
		judge->pod[i].count = 0;
}

void pdb_judge_listed(struct pdb_judge *judge, int64_t revision)
{
	judge->revision = revision;
	for (uint32_t i = 0; i < judge->pods; i++)
		remember(judge, i, revision);
	for (unsigned b = 0; b < PDB_COUNT; b++) {
		struct budget *budget = &judge->budget[b];

		budget->was = budget->is;
		budget->touched = false;
		budget->view = revision;
		budget->unsure_ms = now_ms(judge) + UNSURE_MS;
	}
}

/* -- when all is calm ------------------------------------------------------------- */

bool pdb_judge_stands(const struct pdb_judge *judge, unsigned budget)
{
	return judge->budget[budget].is.there;
}

static bool is_settled(const struct pdb_judge *judge, const struct budget *budget)
{
	const struct value *is = &budget->is;
	int64_t expected = 0, healthy = 0;

	for (uint32_t i = 0; i < judge->pods; i++) {
		struct since now = now_of(&judge->world->stock->pod[i], 0);

		if (!pdb_covers(number(judge, budget), i))
			continue;
		expected += now.expected;
		healthy += now.healthy;
	}
	return is->counted && is->expected == expected && is->healthy == healthy &&
	       is->notes == 0;
}

bool pdb_judge_settled(const struct pdb_judge *judge, char *why, size_t size)
{
	for (unsigned b = 0; b < PDB_COUNT; b++) {
		const struct budget *budget = &judge->budget[b];

		if (!budget->is.there || is_settled(judge, budget))
			continue;
		(void)snprintf(why, size,
		               "b-%u is not what its pods are: %" PRId64
		               " expected, %" PRId64 " healthy, %u noted%s",
		               b, budget->is.expected, budget->is.healthy,
		               budget->is.notes,
		               budget->is.counted ? "" : ", not counted");
		return false;
	}
	return true;
}
