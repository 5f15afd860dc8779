/* The table of all plugins: one line here, one file for each. */
#ifndef SHARDSCHED_PLUGINS_PLUGINS_H
#define SHARDSCHED_PLUGINS_PLUGINS_H

#include "shardsched/framework/plugin.h"

/* X(row, in the default profile): first in the order of kube-scheduler's default filters,
 * then the plugins that only score or do other things. The index is the plugin's bit in
 * masks. The first queueSort plugin of a profile decides the order of its pods. */
#define PLUGINS_MAP(X)                      \
	X(plugin_priority_sort, true)       \
	X(plugin_sla_sort, false)           \
	X(plugin_scheduling_gates, true)    \
	X(plugin_node_unschedulable, true)  \
	X(plugin_node_name, true)           \
	X(plugin_taint_toleration, true)    \
	X(plugin_node_affinity, true)       \
	X(plugin_node_ports, true)          \
	X(plugin_fit, true)                 \
	X(plugin_volume_restrictions, true) \
	X(plugin_ebs_limits, true)          \
	X(plugin_gce_pd_limits, true)       \
	X(plugin_node_volume_limits, true)  \
	X(plugin_azure_disk_limits, true)   \
	X(plugin_volume_binding, true)      \
	X(plugin_volume_zone, true)         \
	X(plugin_pod_topology_spread, true) \
	X(plugin_inter_pod_affinity, true)  \
	X(plugin_default_preemption, true)  \
	X(plugin_balanced_allocation, true) \
	X(plugin_image_locality, true)      \
	X(plugin_default_binder, true)

#define PLUGINS_ENUM(row, enabled) index_of_##row,
enum plugins_index { PLUGINS_MAP(PLUGINS_ENUM) PLUGINS_COUNT };

#define PLUGINS_EXTERN(row, enabled) extern const struct plugin row;
PLUGINS_MAP(PLUGINS_EXTERN)

/* All rows, in that order. */
extern const struct plugin_table plugins;

#endif
