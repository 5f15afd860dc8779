/*
 * Named places where a test can make a call fail.
 *
 * Torture: arm a point with nth = 1, 2, 3, ... and run the scenario each time
 * until pl_fault_fired() says that the n-th hit was never reached. Unarmed, a
 * hit costs one load of a thread-local. State is per thread.
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
	X(FILE_READ, "file.read")     /* a file of ours */           \
	X(SPAWN, "spawn")             /* a child process */          \
	X(PORT, "port")               /* a free port gets taken */

#define PL_FAULT_ENUM(name, text) PL_FAULT_##name,
enum pl_fault { PL_FAULT_MAP(PL_FAULT_ENUM) PL_FAULT_COUNT };

const char *pl_fault_name(enum pl_fault point);

/* The nth hit from now on fails (1: the next), once. 0 disarms. */
void pl_fault_arm(enum pl_fault point, uint64_t nth);
bool pl_fault_fired(enum pl_fault point);
uint64_t pl_fault_hits(enum pl_fault point);
void pl_fault_reset(void);

/* Asked by the code under test; true: behave as if the call had failed. */
bool pl_fault_hit(enum pl_fault point);

#endif
