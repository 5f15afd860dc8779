/*
 * A job is a program that runs: a command that ends, or a daemon. Its output goes to a
 * file. It dies with this process, however that ends.
 */
#ifndef TESTS_SHARDLAB_JOB_H
#define TESTS_SHARDLAB_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { JOB_ARGS_MAX = 48, JOB_PATH_SIZE = 256, JOB_TEXT_SIZE = 400 };
/* exit status of a program that a sanitizer ended */
enum { JOB_SANITIZER = 99 };

struct job {
	pid_t pid;        /* 0: the program does not run */
	int status;       /* as a shell reports it: 128 plus the signal's number */
	uint64_t kill_ms; /* time at which the program is killed, if it still runs; 0:
			   * never */
	bool overdue;     /* the program was killed at that time */
	char log[JOB_PATH_SIZE];
};

/* argv ends with NULL. env: "NAME=value" entries in addition to our environment, ending
 * with NULL; may be NULL. Returns false if the program could not be started. */
bool job_start(struct job *job, const char *log, const char *const argv[],
               const char *const env[]);
/* Reaps the program. True: it has ended, or never ran. */
bool job_over(struct job *job, uint64_t now_ms);
void job_signal(const struct job *job, int signum);
/* Kills the program and waits for its end. */
void job_kill(struct job *job);

/* Writes the end of its output to text, as one line. Returns text. */
const char *job_tail(const struct job *job, char text[JOB_TEXT_SIZE]);
/* A sanitizer or an assertion complains in the log. */
bool job_log_is_bad(const char *log, char text[JOB_TEXT_SIZE]);

#endif
