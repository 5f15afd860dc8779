/* The fan-out of changes, over a memory store on virtual time and exchanges that keep what
 * they are sent. */
#include <stdlib.h>

#include "coord/api/watch/watch_hub.h"
#include "store/base/fault.h"
#include "store/base/json.h"
#include "tests/support/store/memkv/kit.h"

#define MAP(name) "/objects/core/configmaps/shop/" name
#define BODY(name, data)                                                               \
	"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name \
	"\",\"namespace\":\"shop\",\"labels\":{\"in\":\"" data "\"}}}"

enum { STORY_SIZE = 65536, SOON = 5, LONG_MS = 3600 * 1000 };

/* -- exchanges ------------------------------------------------------------------------- */

struct http_exchange {
	struct watcher *watcher;
	struct pl_buf text;
	size_t unread;   /* bytes that are pending */
	unsigned pieces; /* sends */
	bool begun, ended;
};

void http_stream_begin(struct http_exchange *exchange, int status,
                       const struct http_field *fields, size_t count)
{
	(void)fields;
	T_EQ(status, 200);
	T_EQ(count, 1);
	T_TRUE(!exchange->begun);
	exchange->begun = true;
}

void http_stream_send(struct http_exchange *exchange, struct http_blob *blob)
{
	T_TRUE(exchange->begun);
	if (pl_buf_add(&exchange->text, pl_span(blob->at, blob->len)) != PL_OK)
		exchange->ended = true; /* as a server without memory cuts it */
	exchange->unread += blob->len;
	exchange->pieces++;
}

void http_stream_end(struct http_exchange *exchange)
{
	exchange->ended = true;
}

size_t http_exchange_pending(const struct http_exchange *exchange)
{
	return exchange->unread;
}

/* -- the fixture ------------------------------------------------------------------------- */

static struct {
	struct kit kit;
	struct kv *own; /* of the sources */
	struct sources sources;
	struct watch_hub hub;
	bool closed;
} fix;

static int64_t wall_ms(void *ctx)
{
	(void)ctx;
	return 1000;
}

static uint64_t now_ms(void *ctx)
{
	(void)ctx;
	return kv_now_ms(fix.own);
}

static void on_changed(void *ctx, enum source_kind kind,
                       const struct source_change *change)
{
	(void)ctx;
	watch_hub_changed(&fix.hub, kind, change);
}

static void on_lost(void *ctx, enum source_kind kind, const struct pl_err *err)
{
	(void)ctx;
	watch_hub_lost(&fix.hub, kind, err);
}

static void on_progress(void *ctx, enum source_kind kind, int64_t revision)
{
	(void)ctx;
	(void)kind;
	(void)revision;
}

static void on_synced(void *ctx, enum source_kind kind)
{
	(void)ctx;
	(void)kind;
}

static void on_closed(void *ctx)
{
	(void)ctx;
	fix.closed = true;
}

static void run_on(uint64_t ms)
{
	kit_until(&fix.kit, fix.kit.now_ms + ms);
}

static void up_with(uint32_t window)
{
	struct sources_opts opts = {.partitions = 4,
	                            .window_changes = window,
	                            .fns = {.changed = on_changed,
	                                    .progress = on_progress,
	                                    .synced = on_synced,
	                                    .lost = on_lost,
	                                    .closed = on_closed}};

	memset(&fix, 0, sizeof fix);
	kit_open(&fix.kit, NULL);
	T_OK(memkv_session(fix.kit.mem, &fix.own, &fix.kit.err), &fix.kit.err);
	opts.kv = fix.own;
	fix.hub = (struct watch_hub){.sources = &fix.sources,
	                             .timers = kv_timers(fix.own),
	                             .wall_ms = wall_ms,
	                             .now_ms = now_ms};
	T_OK(watch_hub_init(&fix.hub, &fix.kit.err), &fix.kit.err);
	T_OK(sources_open(&opts, &fix.sources, &fix.kit.err), &fix.kit.err);
	run_on(SOON);
	T_TRUE(sources_synced(&fix.sources));
}

static void up(void)
{
	up_with(0);
}

static void down(void)
{
	watch_hub_done(&fix.hub);
	sources_close(&fix.sources);
	run_on(SOON);
	T_TRUE(fix.closed);
	kit_close_session(&fix.kit, fix.own);
	kit_close(&fix.kit);
}

static int64_t put(const char *key, const char *value)
{
	int64_t revision = kit_put(&fix.kit, key, value);

	run_on(SOON);
	return revision;
}

/* In one transaction, of one revision. */
static int64_t put_both(const char *first, const char *second, const char *body)
{
	struct kv_req ops[] = {kv_op_put(pl_span_str(first), pl_span_str(body)),
	                       kv_op_put(pl_span_str(second), pl_span_str(body))};
	struct kv_req req = {.op = KV_TXN, .txn = {.then = ops, .then_count = 2}};

	T_EQ(kit_call(&fix.kit, &req), PL_OK);
	run_on(SOON);
	return fix.kit.result.header.revision;
}

static struct watch_opts maps(void)
{
	return (struct watch_opts){
		.resource = schema_resource_find((struct pl_span){0}, PL_SPAN_LIT("v1"),
	                                         PL_SPAN_LIT("configmaps")),
		.namespace = PL_SPAN_LIT("shop"),
		.timeout_ms = LONG_MS};
}

static enum pl_code try_begin(const struct watch_opts *opts,
                              struct http_exchange *exchange)
{
	struct pl_err err = {0};

	*exchange = (struct http_exchange){0};
	pl_buf_init(&exchange->text, 64 << 20);
	return watch_begin(&fix.hub, opts, exchange, &exchange->watcher, &err);
}

static void begin(const struct watch_opts *opts, struct http_exchange *exchange)
{
	T_EQ(try_begin(opts, exchange), PL_OK);
	T_TRUE(exchange->begun);
}

static void gone(struct http_exchange *exchange)
{
	watcher_gone(exchange->watcher);
	pl_buf_done(&exchange->text);
}

static const char *text_at(struct pl_json value, const char *first, const char *second)
{
	const char *text = "";
	struct pl_json at = pl_json_member(value, first);

	if (second != NULL && at.node != NULL)
		at = pl_json_member(at, second);
	if (at.node == NULL || pl_json_as_string(at, &text, NULL) != PL_OK)
		return "";
	return text;
}

/* "added a@5 bookmark@7", and forgets it. */
static const char *told(struct http_exchange *exchange)
{
	static char story[STORY_SIZE];
	struct pl_span rest = pl_buf_span(&exchange->text);
	struct pl_arena arena;
	size_t len = 0;

	story[0] = 0;
	pl_arena_init(&arena, 0, 0);
	while (rest.len > 0) {
		const uint8_t *end = memchr(rest.at, '\n', rest.len);
		struct pl_json event = {0}, object;
		const char *type;

		T_TRUE(end != NULL);
		T_OK(pl_json_parse(&arena, pl_span(rest.at, (size_t)(end - rest.at)),
		                   NULL, &event, &fix.kit.err),
		     &fix.kit.err);
		type = text_at(event, "type", NULL);
		object = pl_json_member(event, "object");
		len += (size_t)snprintf(story + len, sizeof story - len, "%s%s %s@%s%s",
		                        len == 0 ? "" : " ", type,
		                        text_at(object, "metadata", "name"),
		                        text_at(object, "metadata", "resourceVersion"),
		                        text_at(object, "reason", NULL));
		T_TRUE(len < sizeof story);
		rest = pl_span(end + 1, rest.len - (size_t)(end + 1 - rest.at));
	}
	pl_arena_done(&arena);
	pl_buf_clear(&exchange->text, SIZE_MAX);
	exchange->pieces = 0;
	return story;
}

/* -- changes ------------------------------------------------------------------------------ */

T_CASE(a_watch_tells_what_follows_its_revision)
{
	struct watch_opts opts = maps();
	struct http_exchange all, later;

	up();
	opts.revision = put(MAP("a"), BODY("a", "x")); /* 2 */
	begin(&opts, &all);
	T_STR(told(&all), "");
	(void)put(MAP("a"), BODY("a", "y"));
	(void)put(MAP("b"), BODY("b", "x"));
	T_EQ(kit_delete(&fix.kit, kv_key(pl_span_str(MAP("a")))), 1);
	(void)put("/objects/core/configmaps/other/a", BODY("a", "x"));
	begin(&opts, &later);
	T_STR(told(&all), "MODIFIED a@3 ADDED b@4 DELETED a@5");
	T_STR(told(&later), "MODIFIED a@3 ADDED b@4 DELETED a@5");
	gone(&all);
	gone(&later);
	down();
}

T_CASE(a_selector_makes_changes_of_its_own)
{
	struct watch_opts opts = maps();
	struct http_exchange some;

	up();
	opts.revision = put(MAP("z"), BODY("z", "x"));
	opts.label_selector = PL_SPAN_LIT("in=x");
	begin(&opts, &some);
	(void)put(MAP("a"), BODY("a", "y"));
	T_STR(told(&some), "");
	(void)put(MAP("a"), BODY("a", "x"));
	(void)put(MAP("a"), BODY("a", "x"));
	(void)put(MAP("a"), BODY("a", "y"));
	T_STR(told(&some), "ADDED a@4 MODIFIED a@5 DELETED a@6");
	gone(&some);
	down();
}

T_CASE(a_watch_cannot_begin_before_the_window_or_in_the_future)
{
	struct watch_opts opts = maps();
	struct http_exchange none;

	up_with(2);
	for (unsigned i = 0; i < 5; i++)
		(void)put(MAP("a"), BODY("a", "x"));
	opts.revision = 2;
	T_EQ(try_begin(&opts, &none), PL_COMPACTED);
	opts.revision = 100;
	T_EQ(try_begin(&opts, &none), PL_FUTURE);
	opts.revision = 6;
	opts.label_selector = PL_SPAN_LIT("in in");
	T_EQ(try_begin(&opts, &none), PL_INVALID);
	T_EQ(fix.hub.by_key.count, 0);
	down();
}

T_CASE(without_a_revision_and_initial_objects_a_watch_begins_now)
{
	struct watch_opts opts = maps();
	struct http_exchange all;

	up();
	(void)put(MAP("a"), BODY("a", "x"));
	begin(&opts, &all);
	(void)put(MAP("b"), BODY("b", "x"));
	T_STR(told(&all), "ADDED b@3");
	gone(&all);
	down();
}

/* -- revisions that changed several objects ------------------------------------------------ */

/* The first stream ended between the two. */
T_CASE(a_cut_stream_goes_on_with_the_whole_revision)
{
	struct watch_opts opts = maps();
	struct http_exchange first, again, one;
	int64_t revision;

	up();
	opts.revision = put(MAP("z"), BODY("z", "x")); /* 2 */
	begin(&opts, &first);
	revision = put_both(MAP("a"), MAP("b"), BODY("a", "x"));
	(void)put(MAP("c"), BODY("c", "x"));
	T_STR(told(&first), "ADDED a@3 ADDED b@3 ADDED c@4");
	opts.revision = revision;
	begin(&opts, &again);
	T_STR(told(&again), "ADDED a@3 ADDED b@3 ADDED c@4");
	/* A watch of one of them has been told all. */
	opts.name = PL_SPAN_LIT("a");
	begin(&opts, &one);
	T_STR(told(&one), "");
	gone(&first);
	gone(&again);
	gone(&one);
	down();
}

T_CASE(a_revision_of_one_object_is_not_told_again)
{
	struct watch_opts opts = maps();
	struct http_exchange all, here;

	up();
	(void)put(MAP("z"), BODY("z", "x"));
	opts.revision = put_both(MAP("a"), "/objects/core/configmaps/other/a",
	                         BODY("a", "x")); /* 3 */
	begin(&opts, &here);
	T_STR(told(&here), "");
	opts.namespace = (struct pl_span){0};
	begin(&opts, &all);
	T_STR(told(&all), "ADDED a@3 ADDED a@3");
	opts.label_selector = PL_SPAN_LIT("in=y");
	gone(&all);
	begin(&opts, &all);
	T_STR(told(&all), "");
	gone(&all);
	gone(&here);
	down();
}

/* The window does not have it whole: a client that is sent away would list for ever. */
T_CASE(the_first_revision_of_a_window_is_not_told_again)
{
	struct watch_opts opts = maps();
	struct http_exchange all;

	up_with(1);
	(void)put(MAP("z"), BODY("z", "x"));
	opts.revision = put_both(MAP("a"), MAP("b"), BODY("a", "x"));
	begin(&opts, &all);
	T_STR(told(&all), "");
	(void)put(MAP("c"), BODY("c", "x"));
	T_STR(told(&all), "ADDED c@4");
	gone(&all);
	down();
}

/* Spec and state of a pod are one object, also where a revision changes both of many. */
T_CASE(pods_that_go_together_are_told_once_each)
{
	enum { PODS = 200 };
	struct watch_opts opts = maps();
	struct http_exchange all;
	char key[100];
	unsigned count = 0;

	up();
	for (unsigned i = 0; i < PODS; i++) {
		(void)snprintf(key, sizeof key, "/schedules/000%u/shop/p-%u/spec", i % 4,
		               i);
		(void)kit_put(&fix.kit, key, "{\"kind\":\"Pod\",\"spec\":{}}");
		(void)snprintf(key, sizeof key, "/schedules/000%u/shop/p-%u/state", i % 4,
		               i);
		opts.revision = put(key, "{\"v\":1}");
	}
	opts.resource = schema_resource_find((struct pl_span){0}, PL_SPAN_LIT("v1"),
	                                     PL_SPAN_LIT("pods"));
	begin(&opts, &all);
	T_STR(told(&all), "");
	T_EQ(kit_delete(&fix.kit, kv_prefix(PL_SPAN_LIT("/schedules/"))), 2 * PODS);
	run_on(SOON);
	for (const char *at = told(&all); (at = strstr(at, "DELETED p-")) != NULL; at++)
		count++;
	T_EQ(count, PODS);
	gone(&all);
	down();
}

/* -- many watchers ------------------------------------------------------------------------- */

enum { MANY = 40 }; /* ten milliseconds between two sends */

T_CASE(many_watchers_are_sent_revisions_in_one_piece)
{
	static struct http_exchange all[MANY];
	struct watch_opts opts = maps();

	up();
	opts.revision = put(MAP("z"), BODY("z", "x"));
	for (unsigned i = 0; i < MANY; i++)
		begin(&opts, &all[i]);
	run_on(1000);
	(void)put_both(MAP("a"), MAP("b"), BODY("a", "x"));
	/* After a quiet time at once, and whole. */
	for (unsigned i = 0; i < MANY; i++) {
		T_EQ(all[i].pieces, 1);
		T_STR(told(&all[i]), "ADDED a@3 ADDED b@3");
	}
	(void)kit_put(&fix.kit, MAP("a"), BODY("a", "y"));
	(void)kit_put(&fix.kit, MAP("c"), BODY("c", "x"));
	run_on(1);
	T_EQ(all[0].pieces, 0);
	run_on(10);
	for (unsigned i = 0; i < MANY; i++) {
		T_EQ(all[i].pieces, 1);
		T_STR(told(&all[i]), "MODIFIED a@4 ADDED c@5");
	}
	/* One that joins is told everything once. */
	(void)kit_put(&fix.kit, MAP("d"), BODY("d", "x"));
	run_on(1);
	opts.revision = 5;
	gone(&all[1]);
	begin(&opts, &all[1]);
	run_on(20);
	T_STR(told(&all[0]), "ADDED d@6");
	T_STR(told(&all[1]), "ADDED d@6");
	T_EQ(fix.hub.watchers, MANY);
	for (unsigned i = 0; i < MANY; i++)
		gone(&all[i]);
	down();
}

/* -- bookmarks and initial objects ---------------------------------------------------------- */

T_CASE(bookmarks_come_every_minute_to_those_who_want_them)
{
	struct watch_opts opts = maps();
	struct http_exchange with, without;

	up();
	opts.revision = put(MAP("a"), BODY("a", "x"));
	begin(&opts, &without);
	opts.bookmarks = true;
	begin(&opts, &with);
	(void)put_both(MAP("b"), MAP("c"), BODY("b", "x"));
	run_on(WATCH_BOOKMARK_MS + 2000);
	T_STR(told(&without), "ADDED b@3 ADDED c@3");
	T_STR(told(&with), "ADDED b@3 ADDED c@3 BOOKMARK @3");
	run_on(WATCH_BOOKMARK_MS);
	T_STR(told(&with), "BOOKMARK @3");
	T_STR(told(&without), "");
	gone(&with);
	gone(&without);
	down();
}

T_CASE(a_watch_ends_with_its_time_behind_a_bookmark)
{
	struct watch_opts opts = maps();
	struct http_exchange with, without;

	up();
	opts.revision = put(MAP("a"), BODY("a", "x"));
	opts.timeout_ms = 5000;
	begin(&opts, &without);
	opts.bookmarks = true;
	begin(&opts, &with);
	run_on(4000);
	T_TRUE(!with.ended && !without.ended);
	run_on(3000);
	T_TRUE(with.ended && without.ended);
	T_STR(told(&with), "BOOKMARK @2");
	T_STR(told(&without), "");
	(void)put(MAP("b"), BODY("b", "x")); /* told to none */
	gone(&with);
	gone(&without);
	down();
}

T_CASE(initial_objects_come_first_and_a_bookmark_says_that_they_have_come)
{
	struct watch_opts opts = maps();
	struct http_exchange all;

	up();
	(void)put(MAP("a"), BODY("a", "x"));
	(void)put(MAP("b"), BODY("b", "x"));
	opts.initial = opts.initial_end = opts.bookmarks = true;
	begin(&opts, &all);
	T_TRUE(memmem(all.text.at, all.text.len, "\"k8s.io/initial-events-end\":\"true\"",
	              34) != NULL);
	T_STR(told(&all), "ADDED a@2 ADDED b@3 BOOKMARK @3");
	(void)put(MAP("a"), BODY("a", "y"));
	T_STR(told(&all), "MODIFIED a@4");
	gone(&all);
	down();
}

/* Others come between pieces of a long walk, also when it finds nothing. */
T_CASE(a_long_walk_lets_others_come_first)
{
	struct watch_opts opts = maps();
	struct http_exchange all, none, left;
	char key[100];

	up();
	for (unsigned i = 0; i < WATCH_TURN_OBJECTS + 10; i++) {
		(void)snprintf(key, sizeof key, MAP("m-%u"), i);
		(void)kit_put(&fix.kit, key, BODY("m", "x"));
	}
	run_on(SOON);
	opts.initial = opts.initial_end = true;
	begin(&opts, &all);
	T_EQ(all.pieces, WATCH_TURN_OBJECTS);
	T_TRUE(strstr(told(&all), "BOOKMARK") == NULL);
	opts.label_selector = PL_SPAN_LIT("in=y");
	begin(&opts, &none);
	begin(&opts, &left);
	T_STR(told(&none), "");
	gone(&left); /* before its next turn */
	run_on(1);
	T_EQ(all.pieces, 10 + 1);
	T_TRUE(strstr(told(&all), " BOOKMARK @") != NULL);
	T_STR(told(&none), "BOOKMARK @1011");
	gone(&all);
	gone(&none);
	down();
}

/* -- slow readers ----------------------------------------------------------------------------- */

/* The objects are those of one revision, and changes since come behind them. */
T_CASE(initial_objects_wait_for_a_slow_reader)
{
	struct watch_opts opts = maps();
	struct http_exchange slow;

	up();
	(void)put(MAP("a"), BODY("a", "x"));
	(void)put(MAP("b"), BODY("b", "x"));
	opts.initial = opts.initial_end = true;
	T_EQ(try_begin(&opts, &slow), PL_OK);
	gone(&slow);
	slow = (struct http_exchange){.unread = WATCH_AHEAD_BYTES};
	pl_buf_init(&slow.text, 64 << 20);
	T_OK(watch_begin(&fix.hub, &opts, &slow, &slow.watcher, &fix.kit.err),
	     &fix.kit.err);
	T_STR(told(&slow), "");
	T_EQ(kit_delete(&fix.kit, kv_key(pl_span_str(MAP("b")))), 1);
	(void)put(MAP("a"), BODY("a", "y"));
	slow.unread = WATCH_AHEAD_BYTES - 1; /* room for one */
	watcher_room(slow.watcher);
	T_STR(told(&slow), "ADDED a@2");
	slow.unread = 0;
	watcher_room(slow.watcher);
	T_STR(told(&slow), "ADDED b@3 DELETED b@4 MODIFIED a@5 BOOKMARK @5");
	gone(&slow);
	down();
}

T_CASE(a_reader_that_is_slower_than_the_window_lists_again)
{
	struct watch_opts opts = maps();
	struct http_exchange slow;

	up_with(3);
	(void)put(MAP("a"), BODY("a", "x"));
	opts.initial = true;
	slow = (struct http_exchange){.unread = WATCH_AHEAD_BYTES};
	pl_buf_init(&slow.text, 64 << 20);
	T_OK(watch_begin(&fix.hub, &opts, &slow, &slow.watcher, &fix.kit.err),
	     &fix.kit.err);
	for (unsigned i = 0; i < 10; i++)
		(void)put(MAP("a"), BODY("a", "y"));
	slow.unread = 0;
	watcher_room(slow.watcher);
	T_STR(told(&slow), "ERROR @Expired");
	T_TRUE(slow.ended);
	T_EQ(fix.hub.cut, 1);
	gone(&slow);
	down();
}

/* -- ends -------------------------------------------------------------------------------------- */

T_CASE(a_store_that_was_restored_ends_all_watches)
{
	struct watch_opts opts = maps();
	struct http_exchange live, other;
	const struct pl_err err = {.code = PL_REWOUND};

	up();
	opts.revision = put(MAP("a"), BODY("a", "x"));
	begin(&opts, &live);
	opts.resource = schema_resource_find((struct pl_span){0}, PL_SPAN_LIT("v1"),
	                                     PL_SPAN_LIT("nodes"));
	opts.namespace = (struct pl_span){0};
	opts.initial = true;
	begin(&opts, &other);
	watch_hub_lost(&fix.hub, SOURCE_OBJECTS, &err);
	T_STR(told(&live), "ERROR @Expired");
	T_TRUE(live.ended && !other.ended);
	gone(&live);
	gone(&other);
	down();
}

T_CASE(a_stop_ends_streams_and_none_begins_any_more)
{
	static struct http_exchange all[MANY];
	struct watch_opts opts = maps();
	struct http_exchange late;

	up();
	opts.revision = put(MAP("a"), BODY("a", "x"));
	for (unsigned i = 0; i < MANY; i++)
		begin(&opts, &all[i]);
	(void)put(MAP("b"), BODY("b", "x"));
	(void)kit_put(&fix.kit, MAP("c"), BODY("c", "x"));
	run_on(1); /* waits to be sent */
	watch_hub_stop(&fix.hub);
	for (unsigned i = 0; i < MANY; i++) {
		T_TRUE(all[i].ended);
		T_STR(told(&all[i]), "ADDED b@3 ADDED c@4");
	}
	T_EQ(try_begin(&opts, &late), PL_UNAVAIL);
	T_TRUE(!late.begun);
	for (unsigned i = 0; i < MANY; i++)
		gone(&all[i]);
	down();
}

T_CASE(every_allocation_of_a_watch_may_fail)
{
	struct watch_opts opts = maps();
	struct http_exchange all;

	up();
	opts.revision = put(MAP("a"), BODY("a", "x"));
	(void)put(MAP("b"), BODY("b", "x"));
	for (unsigned nth = 1;; nth++) {
		enum pl_code code;

		bool fired;

		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = try_begin(&opts, &all);
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		if (!fired) {
			T_EQ(code, PL_OK);
			T_STR(told(&all), "ADDED b@3");
			gone(&all);
			break;
		}
		T_TRUE(code == PL_OK || code == PL_NOMEM);
		if (code == PL_OK) { /* cut, if it could not be told */
			T_TRUE(all.ended || strcmp(told(&all), "ADDED b@3") == 0);
			gone(&all);
		}
		T_EQ(fix.hub.watchers, 0);
		T_EQ(fix.hub.by_key.count, 0);
	}
	down();
}
