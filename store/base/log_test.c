#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/base/arena.h"
#include "store/base/fault.h"
#include "store/base/json.h"
#include "store/base/log.h"
#include "tests/harness/t.h"

static char said[1 << 20];
static int fd;

static int64_t at_one_time(void)
{
	return INT64_C(1795225013007); /* 2026-11-21T01:36:53.007Z */
}

static void begin(enum pl_log_format format, enum pl_log_level level)
{
	struct pl_log_options options = {
		.format = format, .level = level, .wall_ms = at_one_time};

	fd = memfd_create("log", MFD_CLOEXEC);
	T_TRUE(fd >= 0);
	options.fd = fd;
	pl_log_setup(&options);
}

static void wrote(const char *want)
{
	ssize_t got = pread(fd, said, sizeof said - 1, 0);

	T_TRUE(got >= 0);
	said[got] = 0;
	T_STR(said, want);
	T_EQ(ftruncate(fd, 0), 0);
	T_EQ(lseek(fd, 0, SEEK_SET), 0);
}

static void everything(void)
{
	struct pl_err err = {0};

	pl_err_set(&err, PL_TIMEOUT, "no answer");
	PL_LOG(PL_LOG_WARN, "etcd.reconnect", pl_log_str("endpoint", "10.0.0.1:2379"),
	       pl_log_int("delay_ms", -20), pl_log_uint("lag", UINT64_MAX),
	       pl_log_double("load", 0.25), pl_log_bool("leader", true),
	       pl_log_str("say", "a \"b\"\n\x1b[2Jé\xff"), pl_log_str("none", NULL),
	       pl_log_secret("password", PL_SPAN_LIT("hunter2")),
	       pl_log_secret("token", PL_SPAN_LIT("")), pl_log_err("err", &err));
}

T_CASE(text_lines_are_readable)
{
	begin(PL_LOG_TEXT, PL_LOG_DEBUG);
	everything();
	wrote("01:36:53.007 WARN  etcd.reconnect endpoint=10.0.0.1:2379 delay_ms=-20 "
	      "lag=18446744073709551615 load=0.25 leader=true "
	      "say=\"a \\\"b\\\"\\x0a\\x1b[2Jé\\xff\" none=\"\" password=(secret) "
	      "token=(none) err=\"deadline exceeded: no answer\"\n");
	PL_LOG_EVENT(PL_LOG_INFO, "up");
	wrote("01:36:53.007 INFO  up\n");
}

T_CASE(json_lines_carry_all_fields)
{
	begin(PL_LOG_JSON, PL_LOG_DEBUG);
	everything();
	wrote("{\"ts\":\"2026-11-21T01:36:53.007Z\",\"level\":\"warn\","
	      "\"event\":\"etcd.reconnect\",\"endpoint\":\"10.0.0.1:2379\","
	      "\"delay_ms\":-20,\"lag\":\"18446744073709551615\",\"load\":0.25,"
	      "\"leader\":true,\"say\":\"a \\\"b\\\"\\n\\u001b[2Jé\xef\xbf\xbd\","
	      "\"none\":\"\",\"password\":\"(secret)\",\"token\":\"(none)\","
	      "\"err_code\":\"deadline exceeded\",\"err\":\"deadline exceeded: no answer\"}\n");
	PL_LOG(PL_LOG_INFO, "x", pl_log_double("nan", (double)NAN));
	wrote("{\"ts\":\"2026-11-21T01:36:53.007Z\",\"level\":\"info\",\"event\":\"x\","
	      "\"nan\":null}\n");
}

static unsigned asked;

static int64_t ask(void)
{
	return ++asked;
}

T_CASE(fields_below_the_level_are_not_evaluated)
{
	begin(PL_LOG_TEXT, PL_LOG_WARN);
	PL_LOG(PL_LOG_INFO, "quiet", pl_log_int("n", ask()));
	wrote("");
	T_EQ(asked, 0);
	T_TRUE(!pl_log_on(PL_LOG_INFO) && pl_log_on(PL_LOG_WARN));
	PL_LOG(PL_LOG_ERROR, "loud", pl_log_int("n", ask()));
	wrote("01:36:53.007 ERROR loud n=1\n");
	begin(PL_LOG_TEXT, PL_LOG_OFF);
	PL_LOG(PL_LOG_ERROR, "loud", pl_log_int("n", ask()));
	wrote("");
}

T_CASE(level_names_parse_and_print)
{
	enum pl_log_level level = PL_LOG_INFO;
	struct pl_err err = {0};

	for (int i = 0; i <= PL_LOG_OFF; i++) {
		const char *name = pl_log_level_name((enum pl_log_level)i);

		T_OK(pl_log_level_parse(pl_span_str(name), &level, &err), &err);
		T_EQ(level, i);
	}
	T_CODE(pl_log_level_parse(PL_SPAN_LIT("WARN"), &level, &err), PL_INVALID, &err);
	T_STR(err.msg, "want debug, info, warn, error or off, got 'WARN'");
}

T_CASE(colour_only_when_wanted)
{
	struct pl_log_options options = {.level = PL_LOG_INFO,
	                                 .wall_ms = at_one_time,
	                                 .colour = PL_LOG_COLOUR_ALWAYS};

	begin(PL_LOG_TEXT, PL_LOG_INFO);
	options.fd = fd;
	pl_log_setup(&options);
	PL_LOG_EVENT(PL_LOG_WARN, "x");
	wrote("01:36:53.007 \x1b[33mWARN \x1b[0m x\n");
}

T_CASE(long_values_and_lines_are_cut)
{
	static char text[3000];
	struct pl_span euro = PL_SPAN_LIT("\xe2\x82\xac");
	struct pl_log_field fields[20];
	struct pl_arena arena;
	struct pl_json root;
	const char *value = NULL;

	for (size_t i = 0; i + 3 <= sizeof text; i += 3)
		memcpy(text + i, euro.at, euro.len);
	begin(PL_LOG_JSON, PL_LOG_INFO);
	PL_LOG(PL_LOG_INFO, "x", pl_log_span("long", pl_span(text, sizeof text)));
	T_TRUE(pread(fd, said, sizeof said, 0) > 0);
	pl_arena_init(&arena, 0, 0);
	T_OK(pl_json_parse(&arena, pl_span_str(said), NULL, &root, NULL), NULL);
	T_OK(pl_json_string(root, "long", PL_JSON_REQUIRED, &value, NULL), NULL);
	T_EQ(strlen(value), 1023);
	pl_arena_done(&arena);
	T_EQ(ftruncate(fd, 0), 0);
	T_EQ(lseek(fd, 0, SEEK_SET), 0);
	for (int i = 0; i < 20; i++)
		fields[i] = pl_log_span("long", pl_span(text, sizeof text));
	pl_log_write(PL_LOG_INFO, "x", fields, 20);
	wrote("{\"ts\":\"2026-11-21T01:36:53.007Z\",\"level\":\"info\",\"event\":\"x\","
	      "\"log_cut\":true}\n");
}

T_CASE(logging_takes_no_memory)
{
	begin(PL_LOG_JSON, PL_LOG_INFO);
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	errno = 42;
	everything();
	T_EQ(errno, 42);
	T_TRUE(!pl_fault_fired(PL_FAULT_ALLOC));
}

T_CASE(a_reader_that_is_gone_does_no_harm)
{
	struct pl_log_options options = {.fd = -1, .level = PL_LOG_INFO};

	pl_log_setup(&options);
	PL_LOG_EVENT(PL_LOG_ERROR, "lost");
}

static void *log_many(void *arg)
{
	for (int i = 0; i < 500; i++)
		PL_LOG(PL_LOG_DEBUG, "many", pl_log_int("n", i), pl_log_str("who", arg));
	return NULL;
}

T_CASE(lines_of_threads_stay_whole)
{
	static char names[][9] = {"aaaaaaaa", "bbbbbbbb", "cccccccc", "dddddddd"};
	pthread_t thread[4];
	unsigned lines = 0;
	ssize_t got;

	begin(PL_LOG_TEXT, PL_LOG_DEBUG);
	for (int i = 0; i < 4; i++)
		T_EQ(pthread_create(&thread[i], NULL, log_many, names[i]), 0);
	for (int i = 0; i < 4; i++)
		T_EQ(pthread_join(thread[i], NULL), 0);
	got = pread(fd, said, sizeof said - 1, 0);
	T_TRUE(got > 0);
	said[got] = 0;
	for (char *line = strtok(said, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		unsigned n;
		char who[16];

		// NOLINTNEXTLINE(cert-err34-c): a line of ours
		T_EQ(sscanf(line, "01:36:53.007 DEBUG many n=%u who=%15s", &n, who), 2);
		T_EQ(strlen(who), 8);
		lines++;
	}
	T_EQ(lines, 2000);
}

static int64_t now_ms;

static int64_t at_now(void)
{
	return now_ms;
}

static unsigned lines_of(const char *text)
{
	unsigned count = 0;

	for (; *text != 0; text++)
		count += *text == '\n';
	return count;
}

T_CASE(an_event_that_comes_too_often_is_suppressed_and_says_so)
{
	ssize_t got;

	begin(PL_LOG_TEXT, PL_LOG_INFO);
	now_ms = at_one_time();
	pl_log_setup(&(struct pl_log_options){
		.fd = fd, .level = PL_LOG_INFO, .wall_ms = at_now});
	for (unsigned i = 0; i < PL_LOG_BURST + 7; i++)
		PL_LOG_EVENT(PL_LOG_WARN, "flood");
	PL_LOG_EVENT(PL_LOG_INFO, "calm");
	got = pread(fd, said, sizeof said - 1, 0);
	T_TRUE(got > 0);
	said[got] = 0;
	T_EQ(lines_of(said), PL_LOG_BURST + 1);
	T_TRUE(strstr(said, "INFO  calm\n") != NULL);
	T_EQ(ftruncate(fd, 0), 0);
	T_EQ(lseek(fd, 0, SEEK_SET), 0);

	now_ms += PL_LOG_WINDOW_MS - 1;
	PL_LOG_EVENT(PL_LOG_WARN, "flood");
	wrote("");
	now_ms++;
	PL_LOG(PL_LOG_WARN, "flood", pl_log_int("n", 1));
	PL_LOG_EVENT(PL_LOG_WARN, "flood");
	wrote("01:37:03.007 WARN  flood n=1 suppressed=8\n01:37:03.007 WARN  flood\n");
}

T_CASE(a_clock_that_is_set_back_does_not_silence_an_event)
{
	begin(PL_LOG_JSON, PL_LOG_INFO);
	now_ms = at_one_time();
	pl_log_setup(&(struct pl_log_options){.fd = fd,
	                                      .format = PL_LOG_JSON,
	                                      .level = PL_LOG_INFO,
	                                      .wall_ms = at_now});
	for (unsigned i = 0; i < PL_LOG_BURST + 1; i++)
		PL_LOG_EVENT(PL_LOG_WARN, "flood");
	T_EQ(ftruncate(fd, 0), 0);
	T_EQ(lseek(fd, 0, SEEK_SET), 0);
	now_ms -= 3600 * 1000;
	PL_LOG_EVENT(PL_LOG_WARN, "flood");
	wrote("{\"ts\":\"2026-11-21T00:36:53.007Z\",\"level\":\"warn\",\"event\":\"flood\","
	      "\"suppressed\":1}\n");
}

T_CASE(the_level_changes_while_running)
{
	begin(PL_LOG_TEXT, PL_LOG_INFO);
	PL_LOG_EVENT(PL_LOG_DEBUG, "quiet");
	pl_log_set_level(PL_LOG_DEBUG);
	T_EQ(pl_log_level_now(), PL_LOG_DEBUG);
	PL_LOG_EVENT(PL_LOG_DEBUG, "loud");
	wrote("01:36:53.007 DEBUG loud\n");
	pl_log_set_level(PL_LOG_OFF);
	PL_LOG_EVENT(PL_LOG_ERROR, "quiet");
	wrote("");
}

T_CASE(what_a_person_has_switched_on_is_written_whatever_the_level_is)
{
	const struct pl_log_field field = pl_log_int("n", 7);
	ssize_t got;

	begin(PL_LOG_TEXT, PL_LOG_OFF);
	pl_log_always("access", &field, 1);
	wrote("01:36:53.007 INFO  access n=7\n");
	for (unsigned i = 0; i < PL_LOG_BURST * 2; i++)
		pl_log_always("access", &field, 1);
	got = pread(fd, said, sizeof said - 1, 0);
	T_TRUE(got > 0);
	said[got] = 0;
	T_EQ(lines_of(said), PL_LOG_BURST * 2);
}
