/*
 * A load on an API server: connections that send one request after the other, in a
 * process of their own.
 *
 * Closed: each connection sends its next request when it has the answer to the last one.
 * Open (rate > 0): request i is due at start + i / rate, whatever became of those before
 * it; it waits until a connection is free, and its latency begins when it is due.
 */
#ifndef BENCH_API_API_LOAD_H
#define BENCH_API_API_LOAD_H

#include "bench/api/conn.h"
#include "bench/api/objects.h"
#include "bench/live/child.h"

enum { API_LOAD_CONNS_MAX = 256, API_LOAD_PATH_SIZE = 256, API_LOAD_TEXT_SIZE = 256 };

enum api_load_what {
	API_LOAD_CREATE_PODS,
	API_LOAD_CREATE_NODES,
	API_LOAD_CREATE_NAMESPACE,
	API_LOAD_BIND,      /* pods that were created with timeless names, to nodes */
	API_LOAD_BULK_PODS, /* a List of pods in each request */
	API_LOAD_FETCH,     /* GET of path; "%u" in it: a number below `of` */
	API_LOAD_PAGES,     /* GET of path in pages; one request is the whole list */
	API_LOAD_DELETE,    /* DELETE of path */
};

struct api_load_opts {
	enum api_load_what what;
	uint16_t port;
	const char *ca_file, *token;
	uint32_t conns;
	uint32_t count;   /* objects, or requests; 0: until api_load_stop() */
	uint32_t first;   /* number of the first one */
	uint32_t each;    /* objects in a request of API_LOAD_BULK_PODS */
	double rate;      /* 0: closed */
	uint32_t of;      /* objects that API_LOAD_FETCH chooses from */
	bool timeless;    /* names do not tell when a creation was due */
	bool keeps;       /* looks into the bodies of lists */
	uint32_t items;   /* that a list must have; 0: any */
	const char *name; /* of a namespace */
	char path[API_LOAD_PATH_SIZE]; /* of the collection, or of what is fetched */
};

struct api_load_result {
	double wall_s, cpu_s;
	uint64_t done, failed; /* objects; requests of which the status was an error */
	double p50_ms, p99_ms, p999_ms, max_ms;
	double late_p99_ms;            /* from due to sent */
	uint64_t bytes;                /* of bodies */
	char text[API_LOAD_TEXT_SIZE]; /* the first failure, or the revision of a list */
	int stop;                      /* set by api_load_stop() */
};

/* opts must last until the child has ended. */
void api_load_start(struct child *child, uv_loop_t *loop,
                    const struct api_load_opts *opts);
void api_load_stop(struct child *child);
/* Waits for the end; a failed request ends the bench when none may fail. */
void api_load_wait(struct child *child, bool none_fails, struct api_load_result *out);
/* All three. */
void api_load_run(uv_loop_t *loop, const struct api_load_opts *opts,
                  struct api_load_result *out);

#endif
