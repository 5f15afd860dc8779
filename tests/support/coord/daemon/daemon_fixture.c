#include "tests/support/coord/daemon/daemon_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "store/kv/keys.h"
#include "store/net/unconst.h"

/* -- processes --------------------------------------------------------------------- */

static _Noreturn void run_child(const char *const argv[], const char *log)
{
	int fd = open(log, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd >= 0) {
		(void)dup2(fd, STDOUT_FILENO);
		(void)dup2(fd, STDERR_FILENO);
		execv(argv[0], unconst(argv));
	}
	_exit(127);
}

enum pl_code daemon_fixture_start(struct daemon_fixture_process *process, const char *log,
                                  const char *const args[], struct pl_err *err)
{
	const char *argv[DAEMON_FIXTURE_ARGS_MAX + 2] = {getenv("PLACETD")};
	unsigned count = 1;
	pid_t pid;

	if (argv[0] == NULL)
		return pl_err_set(err, PL_INVALID, "PLACETD does not name the program");
	while (args[count - 1] != NULL && count <= DAEMON_FIXTURE_ARGS_MAX) {
		argv[count] = args[count - 1];
		count++;
	}
	pid = fork();
	if (pid < 0)
		return pl_err_set(err, PL_IO, "fork: %s", strerror(errno));
	if (pid == 0)
		run_child(argv, log);
	process->pid = pid;
	(void)snprintf(process->log, sizeof process->log, "%s", log);
	return PL_OK;
}

void daemon_fixture_signal(const struct daemon_fixture_process *process, int signum)
{
	PL_ASSERT(process->pid > 0);
	(void)kill(process->pid, signum);
}

int daemon_fixture_wait(struct daemon_fixture_process *process)
{
	int status = 0;
	pid_t got;

	PL_ASSERT(process->pid > 0);
	do {
		got = waitpid(process->pid, &status, 0);
	} while (got < 0 && errno == EINTR);
	process->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool daemon_fixture_log_has(const struct daemon_fixture_process *process,
                            const char *words)
{
	FILE *file = fopen(process->log, "re");
	char line[8192];
	bool has = false;

	while (file != NULL && !has && fgets(line, sizeof line, file) != NULL)
		has = strstr(line, words) != NULL;
	if (file != NULL)
		(void)fclose(file);
	return has;
}

/* -- the view ---------------------------------------------------------------------- */

PL_PRINTF(2, 3)
static void complain(struct daemon_fixture_view *view, const char *fmt, ...)
{
	va_list args;

	if (view->wrong[0] != 0)
		return;
	va_start(args, fmt);
	(void)vsnprintf(view->wrong, sizeof view->wrong, fmt, args);
	va_end(args);
}

static void owner_gone(struct daemon_fixture_view *view, uint32_t p, uint64_t now_ns)
{
	struct daemon_fixture_owner *owner = &view->owner[p];

	if (owner->shard[0] == 0)
		return;
	owner->shard[0] = 0;
	owner->gone_ns = now_ns;
	view->owned--;
}

/* Takes the shard's id out of {"v":1,"shard":"east-0"} without the code under test. */
static bool shard_in(struct pl_span json, char out[DAEMON_FIXTURE_ID_SIZE])
{
	const char *name = "\"shard\":\"";
	const uint8_t *at = memmem(json.at, json.len, name, strlen(name));
	size_t left, len;

	if (at == NULL)
		return false;
	at += strlen(name);
	left = json.len - (size_t)(at - json.at);
	for (len = 0; len < left && at[len] != '"'; len++) {
	}
	if (len == 0 || len == left || len >= DAEMON_FIXTURE_ID_SIZE)
		return false;
	memcpy(out, at, len);
	out[len] = 0;
	return true;
}

static void owner_came(struct daemon_fixture_view *view, uint32_t p,
                       const struct kv_record *record, uint64_t now_ns)
{
	struct daemon_fixture_owner *owner = &view->owner[p];

	if (owner->shard[0] != 0 || record->create_revision != record->mod_revision)
		complain(view, "partition %u: overwritten at revision %lld, was %s's", p,
		         (long long)record->mod_revision, owner->shard);
	if (record->create_revision <= owner->last_epoch)
		complain(view, "partition %u: epoch %lld behind %lld", p,
		         (long long)record->create_revision,
		         (long long)owner->last_epoch);
	if (record->lease == 0)
		complain(view, "partition %u: owned without a lease", p);
	view->owned += owner->shard[0] == 0;
	if (!shard_in(record->value, owner->shard)) {
		complain(view, "partition %u: no owner in '%.*s'", p,
		         (int)record->value.len, (const char *)record->value.at);
		(void)snprintf(owner->shard, sizeof owner->shard, "?");
	}
	owner->epoch = record->create_revision;
	owner->last_epoch = record->create_revision;
	owner->lease = record->lease;
	if (owner->gone_ns != 0 && now_ns - owner->gone_ns > view->gap_ns_max)
		view->gap_ns_max = now_ns - owner->gone_ns;
	owner->gone_ns = 0;
	view->moves++;
}

static struct daemon_fixture_shard *shard_find(const struct daemon_fixture_view *view,
                                               struct pl_span id)
{
	for (unsigned i = 0; i < view->shard_count; i++)
		if (pl_span_eq(id, pl_span_str(view->shard[i].id)))
			return unconst(&view->shard[i]);
	return NULL;
}

static void shard_changed(struct daemon_fixture_view *view, const struct keys_id *id,
                          const struct kv_event *event)
{
	struct daemon_fixture_shard *shard = shard_find(view, id->name);

	if (shard == NULL) {
		if (view->shard_count == DAEMON_FIXTURE_SHARDS_MAX ||
		    id->name.len >= DAEMON_FIXTURE_ID_SIZE)
			return;
		shard = &view->shard[view->shard_count++];
		memcpy(shard->id, id->name.at, id->name.len);
	}
	shard->there = !event->is_delete;
	(void)snprintf(shard->record, sizeof shard->record, "%.*s",
	               event->is_delete ? 0 : (int)event->record.value.len,
	               (const char *)event->record.value.at);
}

static void apply_event(struct daemon_fixture_view *view, const struct kv_event *event,
                        uint64_t now_ns)
{
	struct keys_id id;

	if (keys_parse(event->record.key, &id, NULL) != PL_OK)
		return;
	if (id.kind == KEYS_SHARD)
		shard_changed(view, &id, event);
	if (id.kind != KEYS_OWNER || id.partition >= view->partitions)
		return;
	if (event->is_delete)
		owner_gone(view, id.partition, now_ns);
	else
		owner_came(view, id.partition, &event->record, now_ns);
}

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	struct daemon_fixture_view *view = ctx;
	uint64_t now_ns = uv_hrtime();

	if (note->what == KV_WATCH_END) {
		view->ended = true;
		view->watch = NULL;
		if (note->err->code != PL_CANCELED)
			complain(view, "the view ended: %s", note->err->msg);
		return;
	}
	for (size_t i = 0; i < note->count; i++)
		apply_event(view, &note->events[i], now_ns);
}

enum pl_code daemon_fixture_view_open(struct daemon_fixture_view *view, struct kv *kv,
                                      uint32_t partitions, struct pl_err *err)
{
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("/")),
	                           .from_revision = 1};

	PL_ASSERT(partitions <= KEYS_PARTITIONS_MAX);
	memset(view, 0, sizeof *view);
	view->partitions = partitions;
	return kv_watch(kv, &req, on_note, view, &view->watch, err);
}

void daemon_fixture_view_reset(struct daemon_fixture_view *view)
{
	view->moves = 0;
	view->gap_ns_max = 0;
}

uint32_t daemon_fixture_owns(const struct daemon_fixture_view *view, const char *id)
{
	uint32_t count = 0;

	for (uint32_t p = 0; p < view->partitions; p++)
		count += strcmp(view->owner[p].shard, id) == 0;
	return count;
}

uint32_t daemon_fixture_owns_with(const struct daemon_fixture_view *view,
                                  const char *start)
{
	uint32_t count = 0;

	for (uint32_t p = 0; p < view->partitions; p++)
		count += strncmp(view->owner[p].shard, start, strlen(start)) == 0;
	return count;
}

const char *daemon_fixture_record(const struct daemon_fixture_view *view, const char *id)
{
	const struct daemon_fixture_shard *shard = shard_find(view, pl_span_str(id));

	return shard != NULL && shard->there ? shard->record : NULL;
}
