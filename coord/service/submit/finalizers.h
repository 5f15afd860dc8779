/* Whether a stored object has finalizers: it does not go before they are gone. */
#ifndef COORD_SERVICE_SUBMIT_FINALIZERS_H
#define COORD_SERVICE_SUBMIT_FINALIZERS_H

#include "store/base/span.h"

/* json is any value; one that is no object has none. */
bool has_finalizers(struct pl_span json);

#endif
