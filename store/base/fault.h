/*
 * Fault points: named places where a test can make a call fail.
 *
 * A torture test arms a point with nth = 1, 2, 3, ... and runs its scenario each time,
 * until pl_fault_fired() says that the scenario does not reach the nth hit any more. A
 * hit of a point that is not armed costs one load of a thread-local variable. The state
 * belongs to the thread.
 */
#ifndef STORE_BASE_FAULT_H
#define STORE_BASE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#define PL_FAULT_MAP(X)                                              \
	X(ALLOC, "alloc")             /* any heap allocation */      \
	X(NET_CONNECT, "net.connect") /* a connection attempt */     \
	X(NET_READ, "net.read")       /* bytes from a socket */      \
	X(NET_WRITE, "net.write")     /* bytes to a socket */        \
	X(TLS_INIT, "tls.init")       /* a TLS context or session */ \
	X(FILE_READ, "file.read")     /* a file that Placet owns */  \
	X(SPAWN, "spawn")             /* a child process */          \
	X(PORT, "port")               /* a free port gets taken */

#define PL_FAULT_ENUM(name, text) PL_FAULT_##name,
enum pl_fault { PL_FAULT_MAP(PL_FAULT_ENUM) PL_FAULT_COUNT };

const char *pl_fault_name(enum pl_fault point);

/* Makes the nth hit from now on fail, once (1: the next hit). 0 disarms the point. */
void pl_fault_arm(enum pl_fault point, uint64_t nth);
bool pl_fault_fired(enum pl_fault point);
uint64_t pl_fault_hits(enum pl_fault point);
void pl_fault_reset(void);

/* Asked by the code under test. True: the code behaves as if the call had failed. */
bool pl_fault_hit(enum pl_fault point);

#endif
