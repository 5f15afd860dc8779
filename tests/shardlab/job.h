/*
 * Programs that are run: commands that end, and daemons that do not. What they print goes
 * to a file. They die with us, however we end.
 */
#ifndef TESTS_SHARDLAB_JOB_H
#define TESTS_SHARDLAB_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { JOB_ARGS_MAX = 48, JOB_PATH_SIZE = 256, JOB_TEXT_SIZE = 400 };
/* What a sanitizer ends a program with. */
enum { JOB_SANITIZER = 99 };

struct job {
	pid_t pid;        /* 0: it does not run */
	int status;       /* as of a shell: 128 and the signal's number */
	uint64_t kill_ms; /* when it is killed, if it still runs; 0: never */
	bool overdue;     /* it was */
	char log[JOB_PATH_SIZE];
};

/* argv ends with NULL. env: "NAME=value", ends with NULL, beside our own; may be NULL.
 * False: it could not be started. */
bool job_start(struct job *job, const char *log, const char *const argv[],
               const char *const env[]);
/* Takes note of its end. True: it has ended, or never ran. */
bool job_over(struct job *job, uint64_t now_ms);
void job_signal(const struct job *job, int signum);
/* Kills it and waits for that. */
void job_kill(struct job *job);

/* The end of what it printed, on one line. Returns text. */
const char *job_tail(const struct job *job, char text[JOB_TEXT_SIZE]);
/* A sanitizer complained there, or an assert. */
bool job_log_is_bad(const char *log, char text[JOB_TEXT_SIZE]);

#endif
