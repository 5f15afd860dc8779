/* The API of placet up: its first placetd serves it, and a kubeconfig lets kubectl find
 * it. */
#ifndef COORD_CLI_UP_UP_API_H
#define COORD_CLI_UP_UP_API_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/err.h"

enum { UP_API_PATH_SIZE = 4096 };

struct up_api {
	uint64_t port;          /* 0: any that is free */
	const char *kubeconfig; /* NULL: a file in a directory of our own */
	/* The rest is set while the API is served. */
	char listen[32]; /* "127.0.0.1:6443" */
	char url[40];
	char dir[64]; /* "": none */
	char path[UP_API_PATH_SIZE];
	bool written; /* the kubeconfig is there */
};

/* Chooses the port. */
PL_NODISCARD enum pl_code up_api_prepare(struct up_api *api, struct pl_err *err);
/* Whether it is ready to serve; waits for at most half a second for an answer. */
bool up_api_ready(const struct up_api *api);
/* Writes the kubeconfig, and prints the lines "api URL" and "kubeconfig PATH". */
PL_NODISCARD enum pl_code up_api_tell(struct up_api *api, struct pl_err *err);
/* Removes what this has written. */
void up_api_done(struct up_api *api);

#endif
