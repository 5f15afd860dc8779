#include "tests/shardlab/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/net/unconst.h"

enum { LINE_SIZE = 4096 };

static _Noreturn void run_child(const char *log, const char *const argv[],
                                const char *const env[])
{
	int out = open(log, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (; env != NULL && *env != NULL; env++)
		(void)putenv(unconst(*env));
	if (out >= 0 && in >= 0) {
		(void)dup2(in, STDIN_FILENO);
		(void)dup2(out, STDOUT_FILENO);
		(void)dup2(out, STDERR_FILENO);
		(void)execvp(argv[0], unconst(argv));
	}
	_exit(127);
}

bool job_start(struct job *job, const char *log, const char *const argv[],
               const char *const env[])
{
	pid_t pid = fork();

	if (pid < 0)
		return false;
	if (pid == 0)
		run_child(log, argv, env);
	*job = (struct job){.pid = pid};
	(void)snprintf(job->log, sizeof job->log, "%s", log);
	return true;
}

static void reap_job(struct job *job, int status)
{
	job->pid = 0;
	job->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool job_over(struct job *job, uint64_t now_ms)
{
	int status = 0;

	if (job->pid == 0)
		return true;
	if (waitpid(job->pid, &status, WNOHANG) == job->pid) {
		reap_job(job, status);
		return true;
	}
	if (job->kill_ms != 0 && now_ms >= job->kill_ms && !job->overdue) {
		job->overdue = true;
		job_signal(job, SIGKILL);
	}
	return false;
}

void job_signal(const struct job *job, int signum)
{
	if (job->pid > 0)
		(void)kill(job->pid, signum);
}

void job_kill(struct job *job)
{
	int status = 0;

	if (job->pid == 0)
		return;
	job_signal(job, SIGKILL);
	while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	reap_job(job, status);
}

const char *job_tail(const struct job *job, char text[JOB_TEXT_SIZE])
{
	FILE *file = fopen(job->log, "re");
	size_t len = 0;

	if (file != NULL) {
		if (fseek(file, -(long)(JOB_TEXT_SIZE - 1), SEEK_END) != 0)
			rewind(file);
		len = fread(text, 1, JOB_TEXT_SIZE - 1, file);
		(void)fclose(file);
	}
	while (len > 0 && text[len - 1] == '\n')
		len--;
	text[len] = 0;
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\n')
			text[i] = '|';
	return text;
}

bool job_log_is_bad(const char *log, char text[JOB_TEXT_SIZE])
{
	static const char *const words[] = {"Sanitizer", "runtime error:", "PL_ASSERT",
	                                    "assertion"};
	FILE *file = fopen(log, "re");
	char line[LINE_SIZE];
	bool bad = false;

	while (file != NULL && !bad && fgets(line, sizeof line, file) != NULL)
		for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
			bad = bad || strstr(line, words[i]) != NULL;
	if (file != NULL)
		(void)fclose(file);
	if (bad)
		(void)snprintf(text, JOB_TEXT_SIZE, "%.*s", JOB_TEXT_SIZE - 1, line);
	return bad;
}
