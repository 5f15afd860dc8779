/* Books against memkv, which does as etcd does. */
#include "shardsched/ledger/book.h"
#include "shardsched/ledger/home.h"
#include "store/base/fault.h"
#include "store/etcd/codec.h"
#include "store/memkv/kit.h"

#define L(text) PL_SPAN_LIT(text)

static struct kit kit;
static struct pl_arena arena;
static struct book book;
static struct kv_result answer; /* the last one */

#define SPEC "/schedules/0003/web/app-1/spec"
#define STATE "/schedules/0003/web/app-1/state"
#define POINTER "/schedules/0009/web/app-1/spec"
#define NODE "/nodes/0005/east/n-1"
#define ALLOC "/alloc/0005/east/n-1"
#define SHAPE "/groups/nodes"

static const struct kv_limits no_limits;

static struct book_pod app(void)
{
	return (struct book_pod){.partition = 3, .space = L("web"), .name = L("app-1")};
}

static struct book_node n1(void)
{
	return (struct book_node){.partition = 5, .cluster = L("east"), .name = L("n-1")};
}

static struct book_decided decided(int64_t spec_rev, int64_t state_rev, const char *state)
{
	return (struct book_decided){.pod = app(),
	                             .spec_rev = spec_rev,
	                             .state_rev = state_rev,
	                             .state = pl_span_str(state)};
}

static void up(void)
{
	kit_open(&kit, NULL);
	pl_arena_init(&arena, 4096, 0);
	book_begin(&book, &arena, no_limits);
}

static void down(void)
{
	pl_arena_done(&arena);
	kit_close(&kit);
}

/* A book for the next entries. */
static void begin(void)
{
	book_begin(&book, &arena, no_limits);
}

static bool commit(void)
{
	struct kv_req req;

	book_req(&book, &req);
	T_OK(kit_call(&kit, &req), &kit.err);
	answer = kit.result;
	return answer.txn.succeeded;
}

static struct book_found found(uint32_t entry)
{
	struct book_found out;

	T_TRUE(book_answer(&book, &answer, entry, &out));
	return out;
}

static const char *value_at(const char *key)
{
	static char text[128];

	T_EQ(kit_get_at(&kit, kv_key(kit_key(key)), 0), PL_OK);
	if (kit.result.get.count == 0)
		return NULL;
	(void)snprintf(text, sizeof text, PL_SPAN_FMT,
	               PL_SPAN_ARG(kit.result.get.records[0].value));
	return text;
}

static void delete (const char *key)
{
	T_EQ(kit_delete(&kit, kv_key(kit_key(key))), 1);
}

static void is_record(const struct kv_record *record, int64_t revision, const char *value)
{
	T_TRUE(record != NULL);
	T_EQ(record->mod_revision, revision);
	T_SPAN(record->value, pl_span_str(value));
}

/* -- pods -------------------------------------------------------------------------- */

T_CASE(a_new_pod_is_submitted_once)
{
	struct book_pod pod = app();

	up();
	T_TRUE(book_submit(&book, &pod, 3, L("{spec}")));
	T_TRUE(commit());
	T_EQ(found(0).verdict, BOOK_OURS);
	T_STR(value_at(SPEC), "{spec}");
	T_EQ(value_at(POINTER), NULL);
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_OURS);
	begin();
	T_TRUE(book_submit(&book, &pod, 3, L("{other}")));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_NEWER);
	is_record(found(0).spec, 2, "{spec}");
	T_TRUE(found(0).state == NULL && found(0).pointer == NULL);
	T_STR(value_at(SPEC), "{spec}");
	down();
}

T_CASE(a_pod_away_from_its_name_has_a_pointer)
{
	struct book_pod pod = app(), elsewhere = app();

	up();
	T_TRUE(book_submit(&book, &pod, 9, L("{spec}")));
	T_TRUE(commit());
	T_STR(value_at(SPEC), "{spec}");
	T_STR(value_at(POINTER), "{\"v\":1,\"at\":3}");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_OURS);
	is_record(found(0).pointer, 2, "{\"v\":1,\"at\":3}");
	/* The same name, of another group; and without one. */
	begin();
	elsewhere.partition = 4;
	T_TRUE(book_submit(&book, &elsewhere, 9, L("{other}")));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_NEWER);
	T_TRUE(found(0).spec == NULL);
	is_record(found(0).pointer, 2, "{\"v\":1,\"at\":3}");
	begin();
	elsewhere.partition = 9;
	T_TRUE(book_submit(&book, &elsewhere, 9, L("{other}")));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_NEWER);
	is_record(found(0).spec, 2, "{\"v\":1,\"at\":3}");
	down();
}

T_CASE(a_first_decision_compares_the_spec)
{
	struct book_decided first;
	int64_t rev;

	up();
	rev = kit_put(&kit, SPEC, "spec");
	first = decided(rev, 0, "bound");
	T_TRUE(book_put_state(&book, &first));
	rev = kit_put(&kit, SPEC, "edited");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_NEWER);
	is_record(found(0).spec, rev, "edited");
	T_TRUE(found(0).state == NULL);
	T_EQ(value_at(STATE), NULL);
	begin();
	first.spec_rev = rev;
	T_TRUE(book_put_state(&book, &first));
	T_TRUE(commit());
	T_STR(value_at(STATE), "bound");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_OURS);
	is_record(found(0).state, answer.header.revision, "bound");
	down();
}

T_CASE(a_first_decision_fails_when_there_is_a_state)
{
	struct book_decided first;
	int64_t rev;

	up();
	first = decided(kit_put(&kit, SPEC, "spec"), 0, "bound");
	rev = kit_put(&kit, STATE, "theirs");
	T_TRUE(book_put_state(&book, &first));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_NEWER);
	is_record(found(0).state, rev, "theirs");
	T_STR(value_at(STATE), "theirs");
	down();
}

T_CASE(a_first_decision_fails_when_the_pod_is_gone)
{
	struct book_decided first;

	up();
	first = decided(kit_put(&kit, SPEC, "spec"), 0, "bound");
	T_EQ(kit_delete(&kit, kv_key(kit_key(SPEC))), 1);
	T_TRUE(book_put_state(&book, &first));
	T_EQ(book.compares, 1);
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_GONE);
	T_EQ(value_at(STATE), NULL);
	down();
}

/* What stands below its name, and is neither spec nor state, must not keep it from being
 * decided about. */
T_CASE(a_pod_that_is_crowded_is_decided_key_by_key)
{
	struct book_decided first;

	up();
	first = decided(kit_put(&kit, SPEC, "spec"), 0, "bound");
	kit_put(&kit, SPEC "-old", "a copy that somebody made");
	T_TRUE(book_put_state(&book, &first));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_NEWER);
	T_TRUE(found(0).crowded);
	begin();
	first.crowded = true;
	T_TRUE(book_put_state(&book, &first));
	T_EQ(book.compares, 2);
	T_TRUE(commit());
	T_STR(value_at(STATE), "bound");
	down();
}

T_CASE(a_later_decision_compares_the_state)
{
	struct book_decided next;
	int64_t spec, state;

	up();
	spec = kit_put(&kit, SPEC, "spec");
	state = kit_put(&kit, STATE, "pending");
	next = decided(0, state, "bound");
	T_TRUE(book_put_state(&book, &next));
	state = kit_put(&kit, STATE, "deleting");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_NEWER);
	is_record(found(0).state, state, "deleting");
	is_record(found(0).spec, spec, "spec");
	begin();
	next.state_rev = state;
	T_TRUE(book_put_state(&book, &next));
	delete (STATE);
	delete (SPEC);
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_GONE);
	T_TRUE(found(0).spec == NULL && found(0).state == NULL);
	T_EQ(value_at(STATE), NULL);
	down();
}

T_CASE(a_deleted_pod_leaves_nothing)
{
	struct book_decided last;

	up();
	kit_put(&kit, SPEC, "spec");
	kit_put(&kit, POINTER, "{\"v\":1,\"at\":3}");
	kit_put(&kit, "/schedules/0003/web/app-10/spec", "other");
	last = decided(0, kit_put(&kit, STATE, "terminating"), "");
	T_TRUE(book_delete_pod(&book, &last, 9));
	T_TRUE(commit());
	T_EQ(value_at(SPEC), NULL);
	T_EQ(value_at(STATE), NULL);
	T_EQ(value_at(POINTER), NULL);
	T_STR(value_at("/schedules/0003/web/app-10/spec"), "other");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_GONE);
	/* Submitted again meanwhile: the one that was to go is gone. */
	kit_put(&kit, SPEC, "again");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_GONE);
	T_TRUE(found(0).spec != NULL);
	T_STR(value_at(SPEC), "again");
	down();
}

T_CASE(a_pod_without_a_state_is_deleted_by_its_spec)
{
	struct book_decided last;

	up();
	last = decided(kit_put(&kit, SPEC, "spec"), 0, "");
	T_TRUE(book_delete_pod(&book, &last, 3));
	kit_put(&kit, SPEC, "edited");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_NEWER);
	T_STR(value_at(SPEC), "edited");
	begin();
	last.spec_rev = memkv_revision(kit.mem);
	T_TRUE(book_delete_pod(&book, &last, 3));
	kit_put(&kit, STATE, "bound");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_NEWER);
	T_STR(value_at(SPEC), "edited");
	delete (STATE);
	T_TRUE(commit());
	T_EQ(value_at(SPEC), NULL);
	down();
}

/* -- nodes ------------------------------------------------------------------------- */

T_CASE(an_alloc_is_put_against_the_one_that_was_seen)
{
	struct book_node node = n1();
	int64_t at, rev;

	up();
	at = kit_put(&kit, NODE, "node");
	rev = kit_put(&kit, ALLOC, "1");
	T_TRUE(book_put_alloc(&book, &node, rev, L("2")));
	T_TRUE(commit());
	T_STR(value_at(ALLOC), "2");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_OURS);
	is_record(found(0).alloc, rev + 1, "2");
	is_record(found(0).node, at, "");
	rev = kit_put(&kit, ALLOC, "3");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_NEWER);
	is_record(found(0).alloc, rev, "3");
	delete (ALLOC);
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_GONE);
	T_EQ(value_at(ALLOC), NULL);
	down();
}

T_CASE(a_node_comes_and_goes_with_its_alloc)
{
	struct book_node node = n1();
	int64_t node_rev, alloc_rev;

	up();
	T_TRUE(book_put_node(&book, &node, 0, 0, L("node"), L("alloc")));
	T_TRUE(commit());
	node_rev = answer.header.revision;
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_OURS);
	is_record(found(0).node, node_rev, "node");
	is_record(found(0).alloc, node_rev, "alloc");
	/* Somebody commits to it, so what was decided about the Node is old. */
	alloc_rev = kit_put(&kit, ALLOC, "taken");
	begin();
	T_TRUE(book_put_node(&book, &node, node_rev, node_rev, L("cordoned"), L("")));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_NEWER);
	T_STR(value_at(NODE), "node");
	begin();
	T_TRUE(book_put_node(&book, &node, node_rev, alloc_rev, L("cordoned"),
	                     L("taken+")));
	T_TRUE(commit());
	T_STR(value_at(NODE), "cordoned");
	T_STR(value_at(ALLOC), "taken+");
	begin();
	T_TRUE(book_delete_node(&book, &node, node_rev, alloc_rev));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_NEWER);
	node_rev = found(0).node->mod_revision;
	begin();
	T_TRUE(book_delete_node(&book, &node, node_rev, node_rev));
	T_TRUE(commit());
	T_EQ(value_at(NODE), NULL);
	T_EQ(value_at(ALLOC), NULL);
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_GONE);
	down();
}

T_CASE(a_node_that_somebody_changed_alone_is_newer_all_the_same)
{
	struct book_node node = n1();
	int64_t node_rev, alloc_rev;

	up();
	node_rev = kit_put(&kit, NODE, "node");
	alloc_rev = kit_put(&kit, ALLOC, "alloc");
	kit_put(&kit, NODE, "by hand");
	T_TRUE(book_put_node(&book, &node, node_rev, alloc_rev, L("mine"), L("mine")));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_NEWER);
	begin();
	T_TRUE(book_delete_node(&book, &node, node_rev, alloc_rev));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_NEWER);
	T_STR(value_at(NODE), "by hand");
	down();
}

static int64_t revision_at(const char *key)
{
	return value_at(key) == NULL ? 0 : kit.result.get.records[0].mod_revision;
}

T_CASE(whoever_writes_a_node_puts_the_shape_of_the_nodes_once)
{
	struct book_node node = n1(), other = n1();
	int64_t revision;

	up();
	other.name = L("n2");
	T_TRUE(book_put_node(&book, &node, 0, 0, L("node"), L("alloc")));
	T_TRUE(book_put_node(&book, &other, 0, 0, L("node"), L("alloc")));
	T_TRUE(commit());
	revision = answer.header.revision;
	T_EQ(revision_at(SHAPE), revision);
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_OURS);
	T_EQ(found(1).verdict, BOOK_OURS);
	begin();
	T_TRUE(book_put_alloc(&book, &node, revision, L("taken")));
	T_TRUE(commit());
	T_EQ(revision_at(SHAPE), revision);
	begin();
	T_TRUE(book_delete_node(&book, &other, revision, revision));
	T_TRUE(commit());
	T_TRUE(revision_at(SHAPE) > revision);
	down();
}

T_CASE(what_is_bumped_compares_nothing_and_is_put_with_the_rest)
{
	struct book_node node = n1();
	int64_t alloc_rev;

	up();
	alloc_rev = kit_put(&kit, ALLOC, "alloc");
	T_TRUE(book_bump(&book, L("/groups/a/t1"), L("first")));
	T_TRUE(book_put_alloc(&book, &node, alloc_rev, L("taken")));
	kit_put(&kit, "/groups/a/t1", "somebody's");
	T_TRUE(commit());
	T_STR(value_at("/groups/a/t1"), "first");
	T_TRUE(!commit()); /* the alloc is another now */
	T_EQ(found(0).verdict, BOOK_SAME);
	T_EQ(found(0).record, NULL);
	T_EQ(found(1).verdict, BOOK_OURS);
	T_EQ(revision_at("/groups/a/t1"), revision_at(ALLOC));
	down();
}

/* -- many in one ------------------------------------------------------------------- */

enum { MANY = 4 };

struct placement {
	struct book_decided pod;
	struct book_node node;
	int64_t alloc_rev;
	char name[2][8], spec[64], state[64], alloc[64];
};

static struct placement many[MANY];

static void put_many(void)
{
	for (unsigned i = 0; i < MANY; i++) {
		struct placement *place = &many[i];

		(void)snprintf(place->name[0], 8, "app-%u", i);
		(void)snprintf(place->name[1], 8, "n-%u", i);
		(void)snprintf(place->spec, 64, "/schedules/0003/web/app-%u/spec", i);
		(void)snprintf(place->state, 64, "/schedules/0003/web/app-%u/state", i);
		(void)snprintf(place->alloc, 64, "/alloc/0005/east/n-%u", i);
		place->pod = decided(kit_put(&kit, place->spec, "spec"), 0, "bound");
		place->pod.pod.name = pl_span_str(place->name[0]);
		place->node = n1();
		place->node.name = pl_span_str(place->name[1]);
		place->alloc_rev = kit_put(&kit, place->alloc, "alloc");
	}
}

static void book_many(void)
{
	begin();
	for (unsigned i = 0; i < MANY; i++) {
		T_TRUE(book_put_state(&book, &many[i].pod));
		T_TRUE(book_put_alloc(&book, &many[i].node, many[i].alloc_rev,
		                      L("alloc+")));
	}
	T_EQ(book.entries, 2 * MANY);
}

T_CASE(one_that_does_not_hold_fails_all_and_is_named)
{
	for (unsigned bad = 0; bad < 2 * MANY; bad++) {
		int64_t before, changed;
		const char *key;

		up();
		put_many();
		book_many();
		key = bad % 2 == 0 ? many[bad / 2].spec : many[bad / 2].alloc;
		changed = kit_put(&kit, key, "changed");
		before = memkv_revision(kit.mem);
		T_TRUE(!commit());
		T_EQ(memkv_revision(kit.mem), before);
		for (unsigned i = 0; i < 2 * MANY; i++) {
			struct book_found got = found(i);

			T_EQ(got.verdict, i == bad ? BOOK_NEWER : BOOK_SAME);
			if (i == bad)
				is_record(i % 2 == 0 ? got.spec : got.alloc, changed,
				          "changed");
		}
		down();
	}
}

T_CASE(what_was_applied_unknown_is_known_when_sent_again)
{
	up();
	put_many();
	book_many();
	T_TRUE(book_put(&book, L("/groups/web/t"), 0, L("4")));
	T_TRUE(commit());
	/* The answer is lost; meanwhile a node and a pod have changed again. */
	kit_put(&kit, many[1].alloc, "later");
	delete (many[2].state);
	delete (many[2].spec);
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_OURS);
	T_EQ(found(3).verdict, BOOK_NEWER);
	T_EQ(found(4).verdict, BOOK_GONE);
	T_EQ(found(5).verdict, BOOK_OURS);
	T_EQ(found(2 * MANY).verdict, BOOK_OURS);
	down();
}

T_CASE(what_others_wrote_alike_is_not_taken_for_ours)
{
	up();
	put_many();
	book_many();
	T_TRUE(book_put(&book, L("/groups/web/t"), 0, L("4")));
	kit_put(&kit, "/groups/web/t", "4");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_SAME);
	T_EQ(found(2 * MANY).verdict, BOOK_NEWER);
	/* Alone there is nothing else to go by. */
	begin();
	T_TRUE(book_put(&book, L("/groups/web/t"), 0, L("4")));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_OURS);
	down();
}

T_CASE(other_keys_are_expected_and_put)
{
	int64_t rev;

	up();
	rev = kit_put(&kit, "/groups/registry", "r");
	T_TRUE(book_expect(&book, L("/groups/registry"), rev));
	T_TRUE(book_put(&book, L("/groups/web/t"), 0, L("1")));
	T_TRUE(commit());
	T_STR(value_at("/groups/web/t"), "1");
	begin();
	T_TRUE(book_expect(&book, L("/groups/registry"), rev));
	T_TRUE(book_put(&book, L("/groups/web/t"), answer.header.revision, L("2")));
	rev = kit_put(&kit, "/groups/registry", "r2");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_NEWER);
	is_record(found(0).record, rev, "r2");
	T_EQ(found(1).verdict, BOOK_SAME);
	T_STR(value_at("/groups/web/t"), "1");
	down();
}

T_CASE(another_key_goes_as_it_was_seen)
{
	int64_t rev;

	up();
	rev = kit_put(&kit, "/budgets/web/b", "1");
	T_TRUE(book_delete(&book, L("/budgets/web/b"), rev));
	(void)kit_put(&kit, "/budgets/web/b", "2");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BOOK_NEWER);
	rev = found(0).record->mod_revision;
	begin();
	T_TRUE(book_delete(&book, L("/budgets/web/b"), rev));
	T_TRUE(commit());
	T_TRUE(value_at("/budgets/web/b") == NULL);
	T_TRUE(!commit()); /* sent again, it did not go by us */
	T_EQ(found(0).verdict, BOOK_GONE);
	down();
}

T_CASE(an_answer_to_something_else_is_no_answer)
{
	struct book_pod pod = app();
	struct kv_result other = {.op = KV_PUT};
	struct book_found out;

	up();
	T_TRUE(book_submit(&book, &pod, 3, L("{}")));
	T_TRUE(!book_answer(&book, &other, 0, &out));
	other = (struct kv_result){.op = KV_TXN};
	T_TRUE(!book_answer(&book, &other, 0, &out));
	other.txn.succeeded = true;
	T_TRUE(!book_answer(&book, &other, 0, &out));
	down();
}

/* -- limits ------------------------------------------------------------------------ */

/* What etcd's encoder makes of it. */
static size_t encoded(void)
{
	struct kv_req req;
	struct pl_buf buf;
	size_t bytes;

	book_req(&book, &req);
	pl_buf_init(&buf, 8 << 20);
	T_OK(codec_encode(&req, &buf, NULL, &kit.err), &kit.err);
	bytes = buf.len;
	pl_buf_done(&buf);
	return bytes;
}

static bool add_any(unsigned i, struct pl_span value)
{
	char name[260];
	struct book_pod pod = {.partition = 4095, .space = L("web")};
	struct book_node node = {.partition = 4095, .cluster = L("east")};
	struct book_decided old = {.spec_rev = INT64_MAX, .state = value};
	int len;

	memset(name, 'x', sizeof name);
	len = snprintf(name, sizeof name, "app-%u", i);
	name[len] = 'x';
	pod.name = pl_span(name, (size_t)len + i % 200);
	node.name = pod.name;
	old.pod = pod;
	old.state_rev = i % 2 == 0 ? 0 : INT64_MAX;
	switch (i % 10) {
	case 0:
		return book_submit(&book, &pod, 7, value);
	case 1:
	case 2:
		return book_put_state(&book, &old);
	case 3:
		return book_delete_pod(&book, &old, 7);
	case 4:
		return book_put_alloc(&book, &node, INT64_MAX, value);
	case 5:
		return book_put_node(&book, &node, INT64_MAX, INT64_MAX, value, value);
	case 6:
		return book_delete_node(&book, &node, INT64_MAX, INT64_MAX);
	case 7:
		return book_delete(&book, pod.name, INT64_MAX);
	case 8:
		return book_expect(&book, pod.name, INT64_MAX);
	default:
		return book_put(&book, pod.name, INT64_MAX, value);
	}
}

static void check_counts(const struct book *before)
{
	T_EQ(book.entries, before->entries);
	T_EQ(book.compares, before->compares);
	T_EQ(book.thens, before->thens);
	T_EQ(book.otherwises, before->otherwises);
	T_EQ(book.bytes, before->bytes);
}

/* How many entries of a kind are taken. */
static void fill(unsigned kind, unsigned want)
{
	book_begin(&book, &arena, no_limits);
	for (unsigned i = 0; add_any(10 * i + kind, L("v")); i++)
		T_TRUE(i < want);
	T_EQ(book.entries, want);
	T_EQ(book.code, PL_OK);
}

T_CASE(operations_are_bounded_and_entries_whole)
{
	up();
	for (uint32_t ops = 1; ops < 140; ops += ops < 12 ? 1 : 16) {
		struct book before;
		unsigned i = 0;

		pl_arena_reset(&arena);
		book_begin(&book, &arena, (struct kv_limits){.txn_ops = ops});
		do
			before = book;
		while (add_any(i++, L("v")));
		check_counts(&before);
		T_EQ(book.code, book.entries == 0 ? PL_LIMIT : PL_OK);
		T_TRUE(book.compares <= ops && book.thens <= ops &&
		       book.otherwises <= ops);
		T_TRUE(book.otherwises + 2 > ops || book.compares + 2 > ops ||
		       book.thens + (book.shape_bumped ? 2 : 3) > ops);
	}
	fill(1, 128); /* one of each for a state */
	fill(2, 128); /* and for a first decision; two compares where it is crowded */
	fill(3, 64);  /* two deletions for a pod with a pointer */
	fill(4, 64);  /* two reads for an alloc */
	down();
}

/* The guard puts two compares in front for each. */
T_CASE(there_is_room_for_the_fences_of_all_partitions)
{
	struct kv_limits limits = {.txn_ops = 18, .fences = 3};

	up();
	book_begin(&book, &arena, limits);
	for (uint32_t i = 0; i < 18; i++) {
		struct book_decided it = decided(0, 7, "{}");
		char name[16];
		uint32_t fences = i + 1 < 3 ? 3 : i + 1;

		(void)snprintf(name, sizeof name, "app-%u", i);
		it.pod.partition = i;
		it.pod.name = pl_arena_dup(&arena, pl_span_str(name));
		T_EQ(book_put_state(&book, &it), i + 1 + 2 * (fences - 3) <= 18);
	}
	T_EQ(book.entries, 8);
	T_EQ(book.fences, 8);
	T_EQ(book.code, PL_OK);
	book_begin(&book, &arena, limits);
	for (uint32_t i = 0; i < 18; i++) {
		struct book_decided it = decided(0, 7, "{}");

		it.pod.partition = i % 3;
		T_TRUE(book_put_state(&book, &it));
	}
	T_EQ(book.fences, 3);
	down();
}

T_CASE(bytes_are_counted_from_above_and_not_by_far)
{
	static char text[5000];
	static const size_t lens[] = {0, 1, 100, 127, 128, 5000};

	memset(text, 'v', sizeof text);
	up();
	for (unsigned l = 0; l < sizeof lens / sizeof lens[0]; l++) {
		uint32_t most = 200000;
		struct book before;
		unsigned i = 0;
		size_t bytes, parts;

		pl_arena_reset(&arena);
		book_begin(&book, &arena,
		           (struct kv_limits){.txn_ops = 100000, .request_bytes = most});
		do
			before = book;
		while (add_any(i++, pl_span(text, lens[l])));
		check_counts(&before);
		T_EQ(book.code, PL_OK);
		bytes = encoded();
		parts = book.compares + book.thens + book.otherwises;
		T_TRUE(bytes + 128 <= book.bytes && book.bytes <= most);
		T_TRUE(book.bytes <=
		       bytes + 128 + parts * 20 + (size_t)300 * book.entries);
		T_TRUE(book.bytes + 12000 > most);
	}
	down();
}

T_CASE(without_memory_an_entry_is_not_there)
{
	for (uint64_t nth = 1;; nth++) {
		struct book before;
		unsigned i = 0;
		bool fired;

		pl_arena_init(&arena, 64, 0);
		book_begin(&book, &arena, no_limits);
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		do
			before = book;
		while (i < 70 && add_any(i++, L("v")));
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		if (book.code == PL_NOMEM) {
			check_counts(&before);
			T_TRUE(!add_any(i, L("v")));
		}
		T_EQ(fired, book.code == PL_NOMEM);
		pl_arena_done(&arena);
		if (!fired) {
			T_TRUE(nth > 20);
			break;
		}
	}
}
