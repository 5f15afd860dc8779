/* A host: a network namespace with an address behind a TUN device. */
#ifndef TESTS_FAULTLAB_WIRE_HOST_H
#define TESTS_FAULTLAB_WIRE_HOST_H

#include "store/base/err.h"
#include "tests/faultlab/wire.h"

enum { WIRE_MTU = 1500 };

struct wire_host {
	int netns_fd;
	int tun_fd; /* non-blocking; works from every namespace */
	char ip[WIRE_IP_SIZE];
};

/* Opens a host, and leaves the calling thread in its namespace. PL_UNSUPPORTED: not
 * allowed. */
PL_NODISCARD enum pl_code wire_host_make(struct wire_host *host, unsigned index,
                                         struct pl_err *err);
void wire_host_done(struct wire_host *host);

#endif
