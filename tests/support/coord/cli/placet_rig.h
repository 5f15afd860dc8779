/* A placet rig runs the placet command against an etcd of the test's own, which
 * holds what shards would have written. */
#ifndef TESTS_SUPPORT_COORD_CLI_PLACET_RIG_H
#define TESTS_SUPPORT_COORD_CLI_PLACET_RIG_H

#include <stdio.h>

#include "tests/harness/t.h"
#include "tests/support/store/etcd/etcd_rig.h"

enum { PLACET_OUTPUT_MAX = 1 << 18, PLACET_LEASE = 0x1234 };

struct placet_rig {
	struct etcd_rig rig;
	char out[PLACET_OUTPUT_MAX]; /* stdout of the last command, then stderr */
	char said[PLACET_OUTPUT_MAX];
};

extern struct placet_rig placet_rig;

/* An etcd with PLACET_LEASE and, unless partitions is 0, a /placet/meta. */
void placet_up(unsigned partitions);
void placet_down(void);

void placet_put(const char *key, const char *value);        /* under no lease */
void placet_put_leased(const char *key, const char *value); /* under PLACET_LEASE */
void placet_delete(const char *key);

/* An active shard of weight 1 that started in the far future, so that its age is 0s;
 * partitions as "0,1,2". */
void placet_shard(const char *id, const char *partitions);
void placet_owner(unsigned partition, const char *shard);

/* Returns the exit status. input NULL: stdin is empty. */
int placet_run(const char *input, const char *const args[]);
#define PLACET(...) placet_run(NULL, (const char *const[]){__VA_ARGS__, NULL})

/* Runs the command with a terminal as stdin, at which the text is typed. */
int placet_run_typed(const char *typed, const char *const args[]);

/* Checks that stdout, or stderr, of the last command has these words, or has not. */
void placet_prints(const char *words);
void placet_says(const char *words);
void placet_prints_not(const char *words);

/* A command that keeps running: its output is read line by line. */
struct placet_running {
	pid_t pid;
	FILE *out; /* stdout and stderr */
	char line[1 << 14];
};

void placet_start(struct placet_running *running, const char *const args[]);
/* Starts it with a terminal as stdout and stderr. */
void placet_start_at_terminal(struct placet_running *running, const char *const args[]);
/* Reads until a line has the words; it is in running->line. */
void placet_await(struct placet_running *running, const char *words);
/* Reads to the end and gives the exit status. */
int placet_end(struct placet_running *running);
void placet_kill(struct placet_running *running);

#endif
