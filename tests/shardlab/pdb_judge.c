#include "tests/shardlab/pdb_judge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"
#include "store/base/json.h"

enum {
	NOTES_MAX = 256,
	RULE_SIZE = 32,
	/* A write may be based on a view that is so much older than ours: more than the
	 * TTL. */
	UNSURE_MS = 10000,
};

const char *const pdb_tally_text[PDB_TALLIES] = {
#define PDB_TALLY_TEXT(name, text) [PDB_##name] = (text),
	PDB_TALLY_MAP(PDB_TALLY_TEXT)};

/* A pod as it was from a revision on. */
struct pdb_pod_since {
	int64_t rev, state_rev; /* 0: no state */
	bool expected, healthy;
};

struct pdb_pod {
	struct pdb_pod_since *at;
	uint32_t count, room;
	uint64_t ignore_until_ms; /* until that time the pod may be evicted whatever its
				   * budgets allow */
};

struct pdb_note {
	uint32_t pod;
	int64_t state_rev;
};

struct pdb_value {
	bool there, counted;
	char rule[RULE_SIZE];
	int64_t expected, desired, healthy, allowed;
	struct pdb_note note[NOTES_MAX];
	uint32_t notes;
};

struct pdb_budget {
	struct pdb_value was, is;
	bool touched;
	bool corrupted, bad; /* corrupted: malformed values are expected; bad: the value
			      * is malformed */
	int64_t view;        /* counts are never based on an earlier revision than this */
	uint64_t unsure_ms;
};

struct pdb_judge {
	struct world *world;
	struct pl_arena arena;
	uint32_t pods;
	struct pdb_pod *pod;
	uint64_t *node_ignore_until_ms;
	struct pdb_budget budget[PDB_COUNT];
	bool *disturbed;
	int64_t revision;
	uint64_t tally[PDB_TALLIES];
};

#define FAIL(judge, b, fmt, ...)                                          \
	check_fail((judge)->world, "budgets", "b-%u, @%" PRId64 ": " fmt, \
	           (unsigned)((b) - (judge)->budget), (judge)->revision, __VA_ARGS__)

static unsigned read_number(const struct pdb_judge *judge,
                            const struct pdb_budget *budget)
{
	return (unsigned)(budget - judge->budget);
}

static uint64_t now_ms(const struct pdb_judge *judge)
{
	return judge->world->agenda.now_ms;
}

/* -- lifetime --------------------------------------------------------------------- */

static void *alloc_zeroed(size_t count, size_t size)
{
	void *at = pl_calloc(count, size);

	PL_ASSERT(at != NULL);
	return at;
}

struct pdb_judge *pdb_judge_new(struct world *world, uint32_t pods)
{
	struct pdb_judge *judge = alloc_zeroed(1, sizeof *judge);

	judge->world = world;
	judge->pods = pods;
	judge->pod = alloc_zeroed(pods, sizeof *judge->pod);
	judge->disturbed = alloc_zeroed(pods, sizeof *judge->disturbed);
	judge->node_ignore_until_ms =
		alloc_zeroed(world->mirror->nodes, sizeof *judge->node_ignore_until_ms);
	pl_arena_init(&judge->arena, 0, 0);
	return judge;
}

void pdb_judge_free(struct pdb_judge *judge)
{
	for (uint32_t i = 0; i < judge->pods; i++)
		free(judge->pod[i].at);
	free(judge->pod);
	free(judge->disturbed);
	free(judge->node_ignore_until_ms);
	pl_arena_done(&judge->arena);
	free(judge);
}

const uint64_t *pdb_judge_tally(const struct pdb_judge *judge)
{
	return judge->tally;
}

void pdb_judge_ignore_pod(struct pdb_judge *judge, uint32_t pod, uint64_t until_ms)
{
	judge->pod[pod].ignore_until_ms = until_ms;
}

void pdb_judge_ignore_node(struct pdb_judge *judge, uint32_t node, uint64_t until_ms)
{
	judge->node_ignore_until_ms[node] = until_ms;
}

static bool may_ignore_budgets(const struct pdb_judge *judge, uint32_t i)
{
	uint32_t node = judge->world->mirror->was_pod[i].node;

	return now_ms(judge) < judge->pod[i].ignore_until_ms ||
	       (node != MIRROR_NONE && now_ms(judge) < judge->node_ignore_until_ms[node]);
}

/* -- values ----------------------------------------------------------------------- */

static bool read_rule(struct pl_json spec, struct pdb_value *out)
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
                       struct pdb_value *out)
{
	const struct scenario scenario = {.pods = pods};

	PL_JSON_EACH (note, notes) {
		const char *rev = NULL;
		struct pdb_note *next = &out->note[out->notes];

		if (out->notes++ == NOTES_MAX ||
		    pl_json_as_string(note, &rev, NULL) != PL_OK)
			return false;
		next->pod = scenario_pod_of(&scenario, namespace,
		                            pl_span_str(pl_json_key(note)));
		next->state_rev = strtoll(rev, NULL, 10);
		if (next->pod == UINT32_MAX)
			return false;
	}
	return true;
}

static bool read_value(struct pdb_judge *judge, struct pl_span namespace,
                       struct pl_span text, struct pdb_value *out)
{
	struct pl_json root, object, spec, status;

	*out = (struct pdb_value){.there = true};
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

/* The budget's rule applied to the number of expected pods; percentages are rounded
 * up. */
static int64_t desired_of(const char *rule, int64_t expected)
{
	const char *amount = strchr(rule, ' ') + 1;
	int64_t count = strtoll(amount, NULL, 10);

	if (strchr(amount, '%') != NULL)
		count = (count * expected + 99) / 100;
	if (strncmp(rule, "min", 3) == 0)
		return count;
	return expected > count ? expected - count : 0;
}

static int64_t allowed_of(const char *rule, int64_t expected, int64_t healthy)
{
	int64_t want = desired_of(rule, expected);

	return expected == 0 || healthy < want ? 0 : healthy - want;
}

static void check_sums(struct pdb_judge *judge, const struct pdb_budget *budget)
{
	const struct pdb_value *is = &budget->is;

	if (is->counted &&
	    (is->desired != desired_of(is->rule, is->expected) ||
	     is->allowed != allowed_of(is->rule, is->expected, is->healthy)))
		FAIL(judge, budget,
		     "of %" PRId64 " pods %" PRId64 " are healthy; %s, it says %" PRId64
		     " are desired and %" PRId64 " allowed",
		     is->expected, is->healthy, is->rule, is->desired, is->allowed);
}

/* -- pods at earlier revisions ---------------------------------------------------- */

static struct pdb_pod_since now_of(const struct mirror_pod *pod, int64_t revision)
{
	bool over = pod->phase == MIRROR_SUCCEEDED || pod->phase == MIRROR_FAILED ||
	            pod->unwanted;
	bool there = pod->has_spec && !pod->bad_spec;

	return (struct pdb_pod_since){.rev = revision,
	                              .state_rev = pod->state_rev,
	                              .expected = there && !over,
	                              .healthy = there && pod->phase == MIRROR_BOUND &&
	                                         !pod->asked && !pod->ended};
}

static void push_since(struct pdb_judge *judge, uint32_t i, int64_t revision)
{
	struct pdb_pod *pod = &judge->pod[i];
	struct pdb_pod_since now = now_of(&judge->world->mirror->pod[i], revision);

	if (pod->count == pod->room) {
		pod->room = pod->room == 0 ? 16 : pod->room * 2;
		pod->at = pl_realloc(pod->at, pod->room * sizeof *pod->at);
		PL_ASSERT(pod->at != NULL);
	}
	pod->at[pod->count++] = now;
}

/* Returns the pod as it stood at that revision. */
static struct pdb_pod_since at_view(const struct pdb_pod *pod, int64_t view)
{
	for (uint32_t i = pod->count; i > 0; i--)
		if (pod->at[i - 1].rev <= view)
			return pod->at[i - 1];
	return (struct pdb_pod_since){0};
}

/* Returns the first revision after `view` at which a pod of the budget changed. */
static int64_t next_view(const struct pdb_judge *judge, unsigned budget, int64_t view)
{
	int64_t next = INT64_MAX;

	for (uint32_t i = 0; i < judge->pods; i++) {
		const struct pdb_pod *pod = &judge->pod[i];

		if (pod->count == 0 || pod->at[pod->count - 1].rev <= view ||
		    !pdb_covers(budget, i))
			continue;
		for (uint32_t k = pod->count; k > 0 && pod->at[k - 1].rev > view; k--)
			if (pod->at[k - 1].rev < next)
				next = pod->at[k - 1].rev;
	}
	return next;
}

static const struct pdb_note *note_of(const struct pdb_value *value, uint32_t pod)
{
	for (uint32_t i = 0; i < value->notes; i++)
		if (value->note[i].pod == pod)
			return &value->note[i];
	return NULL;
}

/* At that revision the pod was no longer in the state that the note holds. */
static bool is_seen(const struct pdb_judge *judge, const struct pdb_note *note,
                    int64_t view)
{
	struct pdb_pod_since then = at_view(&judge->pod[note->pod], view);

	return then.state_rev > note->state_rev ||
	       (view >= note->state_rev && then.state_rev != note->state_rev);
}

/* -- counting --------------------------------------------------------------------- */

/* The budget's count is the count of its pods at that revision. */
static bool is_count_of(const struct pdb_judge *judge, const struct pdb_budget *budget,
                        int64_t view)
{
	int64_t expected = 0, healthy = 0;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < judge->pods; i++) {
		struct pdb_pod_since then;

		if (!pdb_covers(read_number(judge, budget), i))
			continue;
		then = at_view(&judge->pod[i], view);
		expected += then.expected;
		healthy += then.healthy;
	}
	for (uint32_t i = 0; i < budget->was.notes; i++) {
		const struct pdb_note *note = &budget->was.note[i];
		const struct pdb_note *still = note_of(&budget->is, note->pod);
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

/* Each pod may be counted as of a different revision. */
static bool is_mix(const struct pdb_judge *judge, const struct pdb_budget *budget)
{
	int64_t expected = 0, healthy = 0;

	for (uint32_t i = 0; i < judge->pods; i++) {
		const struct pdb_pod *pod = &judge->pod[i];
		const struct pdb_note *note = note_of(&budget->is, i);
		bool least = true, most = false;

		if (!pdb_covers(read_number(judge, budget), i))
			continue;
		for (uint32_t k = 0; k < pod->count; k++) {
			const struct pdb_pod_since *then = &pod->at[k];

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
	return budget->is.allowed <= allowed_of(budget->is.rule, expected, healthy);
}

static bool is_corrupted(const struct pdb_judge *judge, const struct pdb_budget *budget)
{
	for (uint32_t i = 0; i < judge->pods; i++)
		if (judge->world->mirror->pod[i].corrupted &&
		    pdb_covers(read_number(judge, budget), i))
			return true;
	return false;
}

static void check_counted(struct pdb_judge *judge, struct pdb_budget *budget)
{
	unsigned b = read_number(judge, budget);
	int64_t view = budget->view;

	judge->tally[PDB_COUNTED]++;
	if (!budget->is.counted)
		FAIL(judge, budget, "%s", "is written by an unknown writer");
	if (is_corrupted(judge, budget))
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
		     " allowed, %u noted: not a count of its pods since @%" PRId64,
		     budget->is.expected, budget->is.healthy, budget->is.allowed,
		     budget->is.notes, budget->view);
}

/* -- changes by users ------------------------------------------------------------- */

static bool same_notes(const struct pdb_value *a, const struct pdb_value *b)
{
	for (uint32_t i = 0; i < a->notes; i++) {
		const struct pdb_note *other = note_of(b, a->note[i].pod);

		if (other == NULL || other->state_rev != a->note[i].state_rev)
			return false;
	}
	return a->notes == b->notes;
}

static void check_changed(struct pdb_judge *judge, struct pdb_budget *budget)
{
	const struct pdb_value *was = &budget->was, *is = &budget->is;

	judge->tally[PDB_CHANGED]++;
	if (is->counted != was->counted || is->expected != was->expected ||
	    is->healthy != was->healthy || !same_notes(was, is))
		FAIL(judge, budget, "%s", "the counts change with the rule");
}

static void check_made(struct pdb_judge *judge, struct pdb_budget *budget)
{
	judge->tally[PDB_MADE]++;
	if (budget->is.counted || budget->is.notes > 0)
		FAIL(judge, budget, "%s", "it is new, and has counts");
	budget->view = judge->revision;
	budget->unsure_ms = 0;
}

/* -- disruptions ------------------------------------------------------------------ */

static bool is_disturbed(const struct mirror_pod *was, const struct mirror_pod *is)
{
	if (was->phase != MIRROR_BOUND || was->asked || was->ended || !was->has_spec)
		return false;
	if (is->phase == MIRROR_BOUND)
		return is->asked && !is->unwanted;
	return is->phase == MIRROR_TERMINATING && !is->asked &&
	       strcmp(is->reason, "preempted") == 0;
}

static void check_noted(struct pdb_judge *judge, struct pdb_budget *budget, uint32_t i)
{
	const struct mirror_pod *was = &judge->world->mirror->was_pod[i];
	const struct pdb_note *note = note_of(&budget->is, i);
	bool preempted = judge->world->mirror->pod[i].phase == MIRROR_TERMINATING;
	bool ignore_budgets = may_ignore_budgets(judge, i);
	bool may = budget->was.counted && budget->was.allowed > 0;

	if (note == NULL || note->state_rev != was->state_rev)
		FAIL(judge, budget, "p-%u is disrupted, and is not noted as of @%" PRId64,
		     i, was->state_rev);
	if (!may && !preempted && !ignore_budgets)
		FAIL(judge, budget, "p-%u is evicted; it allows %" PRId64 "%s", i,
		     budget->was.allowed,
		     budget->was.counted ? "" : " and was never counted");
	judge->tally[preempted ? may ? PDB_PREEMPTED : PDB_OVERDRAWN
	             : may     ? PDB_EVICTED
	                       : PDB_IGNORED]++;
}

static void check_disturbed(struct pdb_judge *judge, struct pdb_budget *budget)
{
	const struct mirror *mirror = judge->world->mirror;
	const struct pdb_value *was = &budget->was, *is = &budget->is;
	int64_t count = 0, evicted = 0, healthy;
	uint32_t added = 0;

	if (!budget->touched || !is->there || strcmp(was->rule, is->rule) != 0)
		FAIL(judge, budget, "%s",
		     "its pods are disrupted, and it is not lowered");
	for (uint32_t k = 0; k < mirror->touched_pods; k++) {
		uint32_t i = mirror->touched_pod[k];

		if (!judge->disturbed[i] || !pdb_covers(read_number(judge, budget), i))
			continue;
		check_noted(judge, budget, i);
		count++;
		evicted += mirror->pod[i].phase == MIRROR_BOUND &&
		           !may_ignore_budgets(judge, i);
		added += note_of(was, i) == NULL;
	}
	healthy = was->healthy > count ? was->healthy - count : 0;
	if (is->counted != was->counted || is->expected != was->expected ||
	    is->healthy != healthy || is->notes != was->notes + added)
		FAIL(judge, budget,
		     "%" PRId64 " are disrupted: of %" PRId64 " healthy %" PRId64
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
	struct pdb_budget *budget;

	if (b == PDB_COUNT)
		return;
	budget = &judge->budget[b];
	budget->touched = true;
	judge->revision = event->record.mod_revision;
	budget->is = (struct pdb_value){0};
	budget->bad = !event->is_delete &&
	              !read_value(judge, id->scope, event->record.value, &budget->is);
	if (budget->bad)
		budget->is = (struct pdb_value){0};
	if (budget->bad && !budget->corrupted)
		FAIL(judge, budget, "is malformed: " PL_SPAN_FMT,
		     PL_SPAN_ARG(event->record.value));
}

void pdb_judge_corrupt(struct pdb_judge *judge, unsigned budget, bool corrupted)
{
	judge->budget[budget].corrupted = corrupted;
}

bool pdb_judge_is_bad(const struct pdb_judge *judge, unsigned budget)
{
	return judge->budget[budget].bad;
}

/* Returns how many pods of the budget are disturbed; -1: one of them is corrupted. */
static int disturbed_of(const struct pdb_judge *judge, const struct pdb_budget *budget)
{
	const struct mirror *mirror = judge->world->mirror;
	int count = 0;

	for (uint32_t k = 0; k < mirror->touched_pods; k++) {
		uint32_t i = mirror->touched_pod[k];

		if (!judge->disturbed[i] || !pdb_covers(read_number(judge, budget), i))
			continue;
		if (mirror->pod[i].corrupted)
			return -1;
		count++;
	}
	return count;
}

static void observe_budget(struct pdb_judge *judge, struct pdb_budget *budget)
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

void pdb_judge_observe(struct pdb_judge *judge, int64_t revision)
{
	const struct mirror *mirror = judge->world->mirror;

	judge->revision = revision;
	for (uint32_t k = 0; k < mirror->touched_pods; k++) {
		uint32_t i = mirror->touched_pod[k];

		push_since(judge, i, revision);
		judge->disturbed[i] = is_disturbed(&mirror->was_pod[i], &mirror->pod[i]);
	}
	for (unsigned b = 0; b < PDB_COUNT; b++)
		observe_budget(judge, &judge->budget[b]);
}

void pdb_judge_reset(struct pdb_judge *judge)
{
	for (unsigned b = 0; b < PDB_COUNT; b++)
		judge->budget[b] =
			(struct pdb_budget){.corrupted = judge->budget[b].corrupted};
	for (uint32_t i = 0; i < judge->pods; i++)
		judge->pod[i].count = 0;
}

void pdb_judge_listed(struct pdb_judge *judge, int64_t revision)
{
	judge->revision = revision;
	for (uint32_t i = 0; i < judge->pods; i++)
		push_since(judge, i, revision);
	for (unsigned b = 0; b < PDB_COUNT; b++) {
		struct pdb_budget *budget = &judge->budget[b];

		budget->was = budget->is;
		budget->touched = false;
		budget->view = revision;
		budget->unsure_ms = now_ms(judge) + UNSURE_MS;
	}
}

/* -- recovery --------------------------------------------------------------------- */

bool pdb_judge_has_pods(const struct pdb_judge *judge, unsigned budget)
{
	return judge->budget[budget].is.there;
}

static bool is_converged(const struct pdb_judge *judge, const struct pdb_budget *budget)
{
	const struct pdb_value *is = &budget->is;
	int64_t expected = 0, healthy = 0;

	for (uint32_t i = 0; i < judge->pods; i++) {
		struct pdb_pod_since now = now_of(&judge->world->mirror->pod[i], 0);

		if (!pdb_covers(read_number(judge, budget), i))
			continue;
		expected += now.expected;
		healthy += now.healthy;
	}
	return is->counted && is->expected == expected && is->healthy == healthy &&
	       is->notes == 0;
}

bool pdb_judge_converged(const struct pdb_judge *judge, char *why, size_t size)
{
	for (unsigned b = 0; b < PDB_COUNT; b++) {
		const struct pdb_budget *budget = &judge->budget[b];

		if (!budget->is.there || is_converged(judge, budget))
			continue;
		(void)snprintf(why, size,
		               "b-%u does not fit its pods: %" PRId64
		               " expected, %" PRId64 " healthy, %u noted%s",
		               b, budget->is.expected, budget->is.healthy,
		               budget->is.notes,
		               budget->is.counted ? "" : ", not counted");
		return false;
	}
	return true;
}
