/* VolumeBindingArgs, as kube-scheduler reads them. */
#ifndef SHARDSCHED_PLUGINS_VOLUME_BINDING_H
#define SHARDSCHED_PLUGINS_VOLUME_BINDING_H

#include <stdint.h>

struct volume_binding_args {
	int64_t timeout_s; /* how long binding waits for the pod's volumes */
};

#endif
