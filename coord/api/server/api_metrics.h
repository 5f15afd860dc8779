/*
 * The counts of the API: requests by what was asked and answered, what is under way, watches,
 * connections. Of the API's thread. Values of labels come from the table of resources and
 * from Kubernetes' words, never from a client.
 */
#ifndef COORD_API_SERVER_API_METRICS_H
#define COORD_API_SERVER_API_METRICS_H

#include "coord/api/server/api_server_int.h"

/* The call is over; what works on its answer is still there. */
void api_metrics_gone(const struct api_call *call);

#endif
