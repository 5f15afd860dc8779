#include <stdio.h>
#include <unistd.h>

#include "coord/daemon/event_log.h"
#include "store/base/log.h"
#include "tests/harness/t.h"

static struct event_log event_log;
static int fds[2];

static void begin(void)
{
	struct pl_log_options log = {.format = PL_LOG_TEXT, .level = PL_LOG_INFO};

	T_EQ(pipe(fds), 0);
	log.fd = fds[1];
	pl_log_setup(&log);
	event_log_init(&event_log, "s-0");
}

/* The lines that were logged since the last call. */
static const char *logged(void)
{
	static char text[65536];
	ssize_t got;

	T_EQ(write(fds[1], "\n", 1), 1); /* there is something to read */
	got = read(fds[0], text, sizeof text - 1);
	T_TRUE(got > 0);
	text[got - 1] = 0;
	return text;
}

static unsigned count(const char *text, const char *words)
{
	unsigned found = 0;

	while ((text = strstr(text, words)) != NULL) {
		text += strlen(words);
		found++;
	}
	return found;
}

static void tell(enum shard_what what, uint32_t p, enum claims_why why, uint64_t now_ms)
{
	struct shard_note note = {
		.what = what, .partition = p, .epoch = 7 + p, .why = why};

	event_log_note(&event_log, &note, now_ms);
}

T_CASE(partitions_are_summed_up_when_quiet)
{
	const char *text;

	begin();
	for (uint32_t p = 0; p < 100; p++)
		tell(SHARD_OWN, p, CLAIMS_KEPT, 1000 + p);
	T_EQ(event_log_deadline_ms(&event_log), 1099 + EVENT_LOG_QUIET_MS);
	event_log_due(&event_log, 1500);
	T_STR(logged(), "");
	event_log_due(&event_log, 2099);
	text = logged();
	T_EQ(count(text, "\n"), 1);
	T_TRUE(strstr(text, "shard.owns shard=s-0 partitions=100 gained=100 lost=0"));
	T_EQ(event_log_deadline_ms(&event_log), UINT64_MAX);
	for (uint32_t p = 0; p < 30; p++)
		tell(SHARD_LOST, p,
		     p < 10   ? CLAIMS_HANDED_OVER
		     : p < 17 ? CLAIMS_FENCED
		              : CLAIMS_GONE,
		     5000);
	event_log_due(&event_log, 6000);
	text = logged();
	T_EQ(count(text, "\n"), 3);
	T_TRUE(strstr(text, "shard.lost shard=s-0 partitions=7 why=fenced"));
	T_TRUE(strstr(text, "shard.lost shard=s-0 partitions=13 why=gone"));
	T_TRUE(strstr(text, "shard.owns shard=s-0 partitions=70 gained=0 lost=30"));
}

T_CASE(partitions_that_never_rest_are_summed_up_too)
{
	begin();
	for (uint32_t i = 0; i < 25; i++) {
		event_log_due(&event_log, 1000 + i * 500);
		tell(SHARD_OWN, i, CLAIMS_KEPT, 1000 + i * 500);
	}
	T_EQ(count(logged(), "shard.owns"), 1);
}

T_CASE(an_end_does_not_wait)
{
	const enum shard_what ends[] = {SHARD_DRAINED, SHARD_CLOSED};
	const char *text;

	for (unsigned i = 0; i < 2; i++) {
		begin();
		tell(SHARD_OWN, 1, CLAIMS_KEPT, 1000);
		tell(SHARD_LOST, 1, CLAIMS_HANDED_OVER, 1000);
		tell(ends[i], 0, CLAIMS_KEPT, 1000);
		text = logged();
		T_TRUE(strstr(text, "shard.owns shard=s-0 partitions=0 gained=1 lost=1"));
		T_EQ(count(text, "\n"), 2);
	}
}

T_CASE(a_lease_that_was_not_revoked_is_logged)
{
	struct pl_err err;
	struct shard_note note = {.what = SHARD_CLOSED, .err = &err};

	begin();
	pl_err_set(&err, PL_TIMEOUT, "left behind");
	event_log_note(&event_log, &note, 1000);
	T_TRUE(strstr(logged(), "shard.unrevoked shard=s-0"));
	note.err = NULL;
	event_log_note(&event_log, &note, 1000);
	T_EQ(count(logged(), "unrevoked"), 0);
}

static void trouble(const char *part, enum pl_code code, const char *msg, uint64_t now_ms)
{
	struct pl_err err;
	struct shard_note note = {.what = SHARD_TROUBLE, .part = part, .err = &err};

	pl_err_set(&err, code, "%s", msg);
	event_log_note(&event_log, &note, now_ms);
}

T_CASE(the_same_trouble_is_logged_once_a_minute)
{
	const char *text;

	begin();
	for (uint64_t ms = 0; ms < UINT64_C(2) * EVENT_LOG_AGAIN_MS; ms += 500) {
		trouble("meta", PL_AUTH, "no such password", 1000 + ms);
		trouble("roster", PL_DENIED, "not for you", 1000 + ms);
	}
	text = logged();
	T_EQ(count(text, "shard.trouble"), 4);
	T_EQ(count(text, "check user and password"), 2);
	T_EQ(count(text, "grant the user a role"), 2);
	T_EQ(count(text, "repeated=0"), 2);
	T_EQ(count(text, "repeated=119"), 2);
	/* The advice that the error contains is not logged twice. */
	trouble("meta", PL_AUTH, "wrong: check user and password", 121000);
	T_EQ(count(logged(), "check user and password"), 1);
	/* Another trouble is logged at once. */
	trouble("meta", PL_UNAVAIL, "refused", 121000);
	T_EQ(count(logged(), "shard.trouble"), 1);
}

/* With more kinds than are told apart, none is left out. */
T_CASE(many_kinds_of_trouble)
{
	begin();
	for (unsigned i = 0; i < 2 * EVENT_LOG_TROUBLES; i++) {
		char text[16];

		(void)snprintf(text, sizeof text, "number %u", i);
		trouble("meta", PL_IO, text, 1000 + i);
	}
	T_EQ(count(logged(), "shard.trouble"), 2 * EVENT_LOG_TROUBLES);
}
