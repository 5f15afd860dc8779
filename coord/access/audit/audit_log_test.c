#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coord/access/audit/audit_log.h"
#include "store/base/json.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"

static char path[256];
static struct pl_err err;

static int64_t wall_ms(void)
{
	return 1000;
}

/* A fresh file name; the folder goes with the case's process. */
static void begin(void)
{
	char folder[] = "/tmp/audit-XXXXXX";

	T_TRUE(mkdtemp(folder) != NULL);
	(void)snprintf(path, sizeof path, "%s/audit.log", folder);
}

static struct audit_log *open_log(uint64_t file_bytes, uint32_t keep, size_t queue)
{
	const struct audit_log_opts opts = {.path = path,
	                                    .file_bytes = file_bytes,
	                                    .keep = keep,
	                                    .queue_bytes = queue,
	                                    .wall_ms = wall_ms};
	struct audit_log *log = NULL;

	T_OK(audit_log_open(&opts, &log, &err), &err);
	return log;
}

static struct pl_span groups[40];
static struct identity ann = {.via = IDENTITY_ISSUED};

static struct audit_event event_of(const char *name)
{
	static struct access_attributes asked;

	ann.user = PL_SPAN_LIT("ann");
	groups[0] = PL_SPAN_LIT("team");
	ann.groups = groups;
	ann.group_count = 1;
	ann.credential = PL_SPAN_LIT("k3j2");
	asked = (struct access_attributes){.is_resource = true,
	                                   .verb = PL_SPAN_LIT("create"),
	                                   .resource = PL_SPAN_LIT("pods"),
	                                   .namespace = PL_SPAN_LIT("shop"),
	                                   .name = pl_span_str(name)};
	return (struct audit_event){.at_ms = 1000,
	                            .id = PL_SPAN_LIT("id-1"),
	                            .user = &ann,
	                            .asked = &asked,
	                            .source = PL_SPAN_LIT("127.0.0.1:4711"),
	                            .code = 201,
	                            .duration_us = 812};
}

static const char *line_of(const struct audit_event *event)
{
	static char text[AUDIT_LINE_MAX];
	struct pl_buf buf;

	pl_buf_init(&buf, sizeof text - 1);
	T_EQ(audit_line(event, &buf), PL_OK);
	memcpy(text, buf.at, buf.len);
	text[buf.len] = 0;
	pl_buf_done(&buf);
	return text;
}

/* The whole text of a file; "": there is none. */
static const char *text_of(const char *suffix)
{
	static char text[1 << 20];
	char name[300];
	FILE *file;
	size_t len = 0;

	(void)snprintf(name, sizeof name, "%s%s", path, suffix);
	file = fopen(name, "re");
	if (file != NULL) {
		len = fread(text, 1, sizeof text - 1, file);
		(void)fclose(file);
	}
	text[len] = 0;
	return text;
}

static unsigned lines_in(const char *suffix)
{
	unsigned count = 0;

	for (const char *at = text_of(suffix); *at != 0; at++)
		count += *at == '\n';
	return count;
}

T_CASE(a_line_says_who_did_what)
{
	struct audit_event event = event_of("web");
	struct identity root = identity_local();

	T_STR(line_of(&event),
	      "{\"v\":1,\"time\":\"1970-01-01T00:00:01.000Z\",\"id\":\"id-1\",\"user\":"
	      "\"ann\",\"groups\":[\"team\"],\"via\":\"issued-token\",\"credential\":"
	      "\"k3j2\",\"verb\":\"create\",\"resource\":\"pods\",\"namespace\":\"shop\","
	      "\"name\":\"web\",\"source\":\"127.0.0.1:4711\",\"code\":201,"
	      "\"duration_us\":812}\n");
	event.impersonator = &root;
	T_TRUE(strstr(line_of(&event), "\"impersonator\":{\"user\":\"placet:local\"") !=
	       NULL);
}

T_CASE(a_path_and_a_stranger_are_told)
{
	const struct access_attributes asked = {.verb = PL_SPAN_LIT("get"),
	                                        .path = PL_SPAN_LIT("/metrics")};
	const struct audit_event event = {.asked = &asked,
	                                  .code = 401,
	                                  .reason = PL_SPAN_LIT("the token is unknown")};

	T_STR(line_of(&event),
	      "{\"v\":1,\"time\":\"1970-01-01T00:00:00.000Z\",\"user\":\"\",\"groups\":[],"
	      "\"via\":\"anonymous\",\"verb\":\"get\",\"path\":\"/metrics\",\"code\":401,"
	      "\"reason\":\"the token is unknown\",\"duration_us\":0}\n");
}

/* With any bytes in the texts: one line, that is JSON, with these texts in it as far as they are
 * UTF-8. */
T_CASE(nothing_breaks_out_of_a_line)
{
	static uint8_t bytes[3000];
	struct pl_arena arena;
	struct pl_json json = {0};
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	for (unsigned round = 0; round < 300; round++) {
		struct audit_event event = event_of("web");
		size_t len = (size_t)pl_rng_between(&rng, 1, sizeof bytes);
		struct access_attributes asked = *event.asked;
		const char *line;

		for (size_t i = 0; i < len; i++)
			bytes[i] = (uint8_t)(pl_rng_chance(&rng, 1, 2)
			                             ? pl_rng_between(&rng, 1, 255)
			                             : (uint8_t) "\"\n\r\\{},\x7f"
			                                       [pl_rng_below(&rng, 8)]);
		asked.name = asked.verb = asked.namespace = pl_span(bytes, len);
		event.asked = &asked;
		event.agent = event.reason = pl_span(bytes, len);
		ann.user = ann.groups == groups ? pl_span(bytes, len) : ann.user;
		line = line_of(&event);
		T_TRUE(strchr(line, '\n') == line + strlen(line) - 1);
		pl_arena_init(&arena, 0, 0);
		T_OK(pl_json_parse(&arena, pl_span_str(line), NULL, &json, &err), &err);
		T_EQ(pl_json_count(json), 16);
		pl_arena_done(&arena);
	}
}

T_CASE(long_texts_and_many_groups_are_cut)
{
	static char longer[AUDIT_TEXT_MAX + 100];
	struct audit_event event = event_of(longer);

	memset(longer, 'x', sizeof longer - 1);
	event.agent = pl_span(longer, sizeof longer - 1);
	for (unsigned i = 0; i < 40; i++)
		groups[i] = PL_SPAN_LIT("g");
	ann.group_count = 40;
	T_TRUE(strlen(line_of(&event)) < AUDIT_TEXT_MAX + 700);
	T_TRUE(strstr(line_of(&event), "\"groups_more\":8") != NULL);
}

T_CASE(lines_are_written_and_files_kept)
{
	struct audit_log_counts counts;
	struct audit_log *log;
	unsigned kept = 0;

	begin();
	log = open_log(1000, 3, 0);
	for (unsigned i = 0; i < 50; i++) {
		const struct audit_event event = event_of("web");

		audit_log_add(log, &event);
	}
	audit_log_counts(log, &counts);
	T_EQ(counts.lines, 50);
	T_EQ(counts.dropped, 0);
	audit_log_close(log);
	kept = lines_in("") + lines_in(".1") + lines_in(".2") + lines_in(".3");
	T_EQ(lines_in(".1"), 4);
	T_EQ(kept, 14);
	T_EQ(lines_in(".4"), 0);
	T_TRUE(strlen(text_of(".1")) <= 1000);
	/* The log goes on where it was. */
	kept = lines_in("");
	log = open_log(1 << 20, 3, 0);
	{
		const struct audit_event event = event_of("web");

		audit_log_add(log, &event);
	}
	audit_log_close(log);
	T_EQ(lines_in(""), kept + 1);
}

T_CASE(a_file_that_can_not_be_renamed_grows)
{
	char older[300], line[4096];
	struct audit_event event = event_of("web");
	struct audit_log_counts counts;
	struct audit_log *log;
	unsigned lines = 0;
	FILE *file;

	begin();
	(void)snprintf(older, sizeof older, "%s.1", path);
	T_EQ(mkdir(older, 0700), 0);
	log = open_log(1000, 1, 0);
	for (unsigned i = 0; i < 20; i++)
		audit_log_add(log, &event);
	audit_log_counts(log, &counts);
	T_EQ(counts.dropped, 0);
	audit_log_close(log);
	file = fopen(path, "re");
	T_TRUE(file != NULL);
	while (fgets(line, sizeof line, file) != NULL)
		lines++;
	(void)fclose(file);
	T_EQ(lines, 20);
}

T_CASE(the_file_is_the_owners)
{
	struct stat about;

	begin();
	audit_log_close(open_log(0, 0, 0));
	T_EQ(stat(path, &about), 0);
	T_EQ(about.st_mode & 0777, 0600);
}

T_CASE(dropped_lines_are_told)
{
	struct audit_log_counts counts;
	struct audit_log *log;
	uint64_t told = 0, whole = 0;

	begin();
	log = open_log(0, 0, 1200); /* four lines */
	for (unsigned i = 0; i < 3000; i++) {
		const struct audit_event event = event_of("web");

		audit_log_add(log, &event);
	}
	audit_log_counts(log, &counts);
	T_EQ(counts.lines + counts.dropped, 3000);
	T_REACHED(counts.dropped > 0);
	audit_log_close(log);
	for (const char *at = text_of(""); *at != 0; at = strchr(at, '\n') + 1) {
		const char *dropped = strstr(at, "\"dropped\":");

		if (dropped != NULL && dropped < strchr(at, '\n')) {
			told += strtoull(dropped + strlen("\"dropped\":"), NULL, 10);
		} else {
			whole++;
		}
	}
	T_EQ(told, counts.dropped);
	T_EQ(whole, counts.lines);
}

T_CASE(a_file_that_can_not_be_made)
{
	const struct audit_log_opts opts = {.path = "/nowhere/at/all/audit.log"};
	struct audit_log *log = NULL;

	T_CODE(audit_log_open(&opts, &log, &err), PL_IO, &err);
	T_STR(err.msg, "/nowhere/at/all/audit.log: No such file or directory");
	audit_log_add(NULL, NULL);
	audit_log_close(NULL);
}
