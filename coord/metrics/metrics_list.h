/*
 * THE list of placetd's metrics, in the order in which they are shown. The file that
 * includes it defines METRIC(ID, TYPE, name, unit, bounds, labels, help): metrics_table.h
 * makes an enum of it, metrics_table.c the definitions. A label stands with the number of
 * values that it may have.
 *
 * kube-scheduler's and kube-apiserver's names stand where their users graph them, so that
 * their dashboards and alerts work; Placet's own begin with placet_.
 */

/* -- decisions, by kube-scheduler's names ---------------------------------------------- */

METRIC(SCHEDULE_ATTEMPTS, COUNTER, "scheduler_schedule_attempts_total", "", NULL,
       LABELS2("result", 3, "profile", 8),
       "Attempts to schedule a pod, by result: scheduled (a node was found), unschedulable "
       "(no node fits), error. A gang that finds no room counts as one.")
METRIC(ATTEMPT_SECONDS, HISTOGRAM, "scheduler_scheduling_attempt_duration_seconds",
       "seconds", &bounds_ns, LABELS2("result", 3, "profile", 8),
       "How long attempts took, from the queue to the decision. The first attempts of each "
       "turn are measured, so all of a shard that has little to do.")
METRIC(POD_ATTEMPTS, HISTOGRAM, "scheduler_pod_scheduling_attempts", "", &bounds_few,
       LABELS0, "Attempts that pods took until they were bound.")
METRIC(SLI_SECONDS, HISTOGRAM, "scheduler_pod_scheduling_sli_duration_seconds", "seconds",
       &bounds_ms, LABELS1("attempts", 16),
       "From the pod's coming to the shard's queue until it was bound, the store's answer "
       "included, by attempts.")
METRIC(POINT_SECONDS, HISTOGRAM, "scheduler_framework_extension_point_duration_seconds",
       "seconds", &bounds_ns, LABELS3("extension_point", 12, "status", 3, "profile", 8),
       "What all plugins of an extension point took in one decision; one decision in 16 is "
       "measured.")
METRIC(PLUGIN_SECONDS, HISTOGRAM, "scheduler_plugin_execution_duration_seconds",
       "seconds", &bounds_ns, LABELS2("plugin", 48, "extension_point", 12),
       "What a plugin took at an extension point, over all nodes of one decision; one "
       "decision in 16 is measured.")
METRIC(PENDING_PODS, GAUGE, "scheduler_pending_pods", "", NULL, LABELS1("queue", 4),
       "Pods that wait: active (to be tried), backoff, unschedulable (for an event that can "
       "help), gated. A gang counts as one.")
METRIC(QUEUE_INCOMING, COUNTER, "scheduler_queue_incoming_pods_total", "", NULL,
       LABELS2("queue", 4, "event", 7), "Pods that came to a queue, by what moved them.")
METRIC(PREEMPTION_ATTEMPTS, COUNTER, "scheduler_preemption_attempts_total", "", NULL,
       LABELS0, "Searches for pods that could make room.")
METRIC(PREEMPTION_VICTIMS, HISTOGRAM, "scheduler_preemption_victims", "", &bounds_few,
       LABELS0, "Pods that were chosen to make room for one.")
METRIC(UNSCHEDULABLE_PODS, GAUGE, "scheduler_unschedulable_pods", "", NULL,
       LABELS2("plugin", 48, "profile", 8),
       "Pods that wait because no node fits, by plugin that refused nodes; a pod counts for "
       "each of them.")
METRIC(SCHEDULE_FAILED, COUNTER, "scheduler_pod_schedule_failed_total", "", NULL,
       LABELS1("reason", 6),
       "Attempts that ended without a binding: unschedulable, preempting, error; and "
       "decisions that were not committed: conflict, handover, withdrawn.")
METRIC(CACHE_SIZE, GAUGE, "scheduler_cache_size", "", NULL, LABELS1("type", 3),
       "What shards know: nodes, pods, assumed_pods (decided, not committed).")

/* -- decisions, Placet's own -------------------------------------------------------------- */

METRIC(PODS_DECIDED, COUNTER, "placet_pods_decided_total", "", NULL, LABELS0,
       "Decisions that found a node.")
METRIC(PODS_BOUND, COUNTER, "placet_pods_bound_total", "", NULL, LABELS0,
       "Placements that were committed.")
METRIC(NAMESPACE_PENDING, GAUGE, "placet_namespace_pending_pods", "", NULL,
       LABELS1("namespace", 100), "Pods that wait or are on their way, by namespace.")
METRIC(PODS_TERMINATED, COUNTER, "placet_pods_terminated_total", "", NULL, LABELS0,
       "Pods that were asked to leave their nodes.")
METRIC(PODS_ENDED, COUNTER, "placet_pods_ended_total", "", NULL, LABELS0,
       "Pods that left their nodes, or ended without one.")
METRIC(PREEMPTIONS, COUNTER, "placet_preemptions_committed_total", "", NULL, LABELS0,
       "Transactions that made room by preemption.")
METRIC(RESERVATIONS, COUNTER, "placet_reservation_deadlines_total", "", NULL,
       LABELS1("change", 2), "Deadlines of reservations that were renewed, or lapsed.")
METRIC(PLUGIN_OVERRUNS, COUNTER, "placet_plugin_overruns_total", "", NULL, LABELS0,
       "Decisions that failed because a plugin took longer than shard.plugin_budget_ms.")
METRIC(MALFORMED, COUNTER, "placet_malformed_values_total", "", NULL, LABELS0,
       "Values in the store that made no sense and were set aside.")
METRIC(WAITING_PODS, GAUGE, "placet_decided_waiting_pods", "", NULL, LABELS0,
       "Pods that are decided and in no transaction yet.")
METRIC(REMOTE_NODES, GAUGE, "placet_remote_nodes", "", NULL, LABELS0,
       "Nodes of other shards on which pods can be placed.")
METRIC(QUEUE_CLASSES, GAUGE, "placet_queue_classes", "", NULL, LABELS1("state", 2),
       "Classes of equal pods in the queue: all, and those that wait for an event.")
METRIC(QUEUE_EVENTS, COUNTER, "placet_queue_events_total", "", NULL,
       LABELS1("outcome", 5),
       "Events for the queue (seen), and what came of them: pods that were woken, helped "
       "while they were in flight, tried because they had waited long (flushed), or taken "
       "back as in vain (recalled).")
METRIC(TURN_SECONDS, HISTOGRAM, "placet_turn_duration_seconds", "seconds", &bounds_ns,
       LABELS0, "Turns of the scheduling loop that decided pods.")

/* -- commits ---------------------------------------------------------------------------- */

METRIC(COMMITS, COUNTER, "placet_commits_total", "", NULL, LABELS1("outcome", 5),
       "Transactions that commit placements, by answer: applied, conflict, unknown (asked "
       "again), fenced, refused.")
METRIC(COMMIT_PODS, HISTOGRAM, "placet_commit_batch_pods", "", &bounds_pods, LABELS0,
       "Placements in a transaction that was applied.")
METRIC(BATCH_SIZE, LEVEL, "placet_commit_batch_limit_pods", "", NULL,
       LABELS1("shard", 257),
       "Placements that a transaction may have now, as adapted to conflicts.")
METRIC(COMMITS_IN_FLIGHT, GAUGE, "placet_commits_in_flight", "", NULL, LABELS0,
       "Transactions that are not answered.")
METRIC(PLACEMENT_CONFLICTS, COUNTER, "placet_placement_conflicts_total", "", NULL,
       LABELS1("cause", 8), "Placements that were decided again, by what had changed.")
METRIC(COMMIT_CONFLICTS, COUNTER, "placet_commit_conflicts_total", "", NULL,
       LABELS1("cause", 8),
       "Transactions that failed, by cause; one counts for each of its causes.")
METRIC(EXCLUDED_NODES, GAUGE, "placet_excluded_nodes", "", NULL, LABELS0,
       "Nodes on which nothing is placed for a while because they kept refusing.")
METRIC(ATOMIC_BATCHES, COUNTER, "placet_atomic_batches_total", "", NULL,
       LABELS1("outcome", 2),
       "Pods that are committed whole or not at all: sent, failed.")
METRIC(ECHOES, COUNTER, "placet_commit_echoes_total", "", NULL, LABELS0,
       "Events of a shard's own commits, which are not decoded.")

/* -- partitions and members --------------------------------------------------------------- */

METRIC(PARTITIONS, LEVEL, "placet_partitions", "", NULL, LABELS0,
       "Partitions of the store.")
METRIC(PARTITIONS_OWNED, GAUGE, "placet_partitions_owned", "", NULL,
       LABELS1("shard", 257), "Partitions that a shard owns.")
METRIC(PARTITIONS_OPEN, GAUGE, "placet_partitions_open", "", NULL, LABELS1("shard", 257),
       "Of these, how many are listed and decided.")
METRIC(PARTITION_CHANGES, COUNTER, "placet_partition_changes_total", "", NULL,
       LABELS2("change", 4, "reason", 8),
       "Partitions that were taken (own), asked for (quiesce), fenced or lost, by reason.")
METRIC(OPENING_SECONDS, HISTOGRAM, "placet_partition_opening_duration_seconds", "seconds",
       &bounds_ms, LABELS0, "From owning a partition until its pods were decided.")
METRIC(SHARD_STATE, GAUGE, "placet_shard_state", "", NULL,
       LABELS2("shard", 257, "state", 3), "1 for the state that a shard is in.")
METRIC(SHARD_EVENTS, COUNTER, "placet_shard_events_total", "", NULL, LABELS1("event", 16),
       "What happened to shards: up, doubt, down (sessions), refused, rewound, malformed, "
       "config, swept, balanced, ...")
METRIC(TROUBLES, COUNTER, "placet_troubles_total", "", NULL, LABELS1("part", 48),
       "Failures that are tried again, by part.")
METRIC(LEASE_SECONDS, GAUGE, "placet_lease_safe_seconds", "seconds", NULL,
       LABELS1("shard", 257), "How long a shard may act under its lease; 0: it has none.")
METRIC(MEMBERS, LEVEL, "placet_members", "", NULL, LABELS0, "Shards that are registered.")
METRIC(IMBALANCE, LEVEL, "placet_load_imbalance_ratio", "ratio", NULL, LABELS0,
       "Load of the fullest member over the mean.")
METRIC(LEADING, GAUGE, "placet_leader", "", NULL, LABELS1("role", 4),
       "1 while a shard of this process leads: balancer, janitor, budgets.")
METRIC(MOVES, COUNTER, "placet_balancer_moves_total", "", NULL, LABELS0,
       "Partitions that the balancer moved.")
METRIC(GUARDED_WRITES, COUNTER, "placet_guarded_writes_total", "", NULL,
       LABELS1("outcome", 3), "Writes with a fence: sent, fenced, refused before.")

/* -- the store ---------------------------------------------------------------------------- */

METRIC(KV_SECONDS, HISTOGRAM, "placet_etcd_request_duration_seconds", "seconds",
       &bounds_us, LABELS2("client", 3, "operation", 12),
       "Calls to etcd, retries included, by operation.")
METRIC(KV_REQUESTS, COUNTER, "placet_etcd_requests_total", "", NULL,
       LABELS3("client", 3, "operation", 12, "code", 32),
       "Calls to etcd, by how they ended.")
METRIC(KV_STARTED, COUNTER, "placet_etcd_requests_started_total", "", NULL,
       LABELS2("client", 3, "operation", 12), "Calls to etcd that were begun.")
METRIC(KV_REFUSED, COUNTER, "placet_etcd_requests_refused_total", "", NULL,
       LABELS2("client", 3, "operation", 12), "Calls that could not be begun.")
METRIC(KV_IN_FLIGHT, GAUGE, "placet_etcd_requests_in_flight", "", NULL,
       LABELS2("client", 3, "operation", 12), "Calls to etcd that are not answered.")
METRIC(KV_SENT, COUNTER, "placet_etcd_request_bytes_total", "bytes", NULL,
       LABELS2("client", 3, "operation", 12), "Keys and values in requests.")
METRIC(KV_RECEIVED, COUNTER, "placet_etcd_response_bytes_total", "bytes", NULL,
       LABELS2("client", 3, "operation", 12), "Keys and values in answers.")
METRIC(KV_COMPARES, COUNTER, "placet_etcd_compares_failed_total", "", NULL,
       LABELS1("client", 3), "Transactions whose compares did not hold.")
METRIC(KV_WATCHES, GAUGE, "placet_etcd_watches", "", NULL, LABELS1("client", 3),
       "Watches that are open.")
METRIC(KV_WATCH_EVENTS, COUNTER, "placet_etcd_watch_events_total", "", NULL,
       LABELS2("client", 3, "event", 6),
       "What watches did: started, events, notes, progress, resumed.")
METRIC(KV_WATCH_ENDED, COUNTER, "placet_etcd_watches_ended_total", "", NULL,
       LABELS2("client", 3, "code", 32), "Watches that ended, by why.")
METRIC(KV_WATCH_BYTES, COUNTER, "placet_etcd_watch_received_bytes_total", "bytes", NULL,
       LABELS1("client", 3), "Keys and values of events.")
METRIC(CLIENT_EVENTS, COUNTER, "placet_etcd_client_events_total", "", NULL,
       LABELS2("client", 3, "event", 8),
       "What happened to clients of etcd: retries, reconnects, failovers, timeouts, unknown "
       "outcomes, tokens, resumed watches.")
METRIC(RELISTS, COUNTER, "placet_relists_total", "", NULL, LABELS1("of", 2),
       "Lists that were begun: of the parts of partitions, of views.")
METRIC(WATCH_LAG_SECONDS, HISTOGRAM, "placet_watch_lag_seconds", "seconds", &bounds_ms,
       LABELS0, "From a commit's answer until a watch showed it.")
METRIC(WATCH_LAG_REVISIONS, LEVEL, "placet_watch_lag_revisions", "", NULL,
       LABELS1("shard", 257),
       "Revisions between the newest that an answer has shown and the newest that a watch "
       "has; an idle watch says its revision every 10 s.")

/* -- the fleet ----------------------------------------------------------------------------- */

METRIC(NODES_BY_USE, GAUGE, "placet_nodes_by_use", "", NULL,
       LABELS3("cluster", 32, "resource", 3, "use", 11),
       "A shard's own nodes by how much of a resource is in use: use=0.1 is up to a tenth, "
       "use=over more than there is. Ranges without nodes are left out.")

/* -- the API, by kube-apiserver's names ------------------------------------------------------ */

METRIC(API_REQUESTS, COUNTER, "apiserver_request_total", "", NULL,
       LABELS7("verb", 12, "group", 24, "version", 8, "resource", 64, "subresource", 24,
               "scope", 3, "code", 48),
       "Requests of the API, by what was asked and answered.")
METRIC(API_SECONDS, HISTOGRAM, "apiserver_request_duration_seconds", "seconds",
       &bounds_api, LABELS4("verb", 12, "resource", 64, "subresource", 24, "scope", 3),
       "From the whole request until its answer had left, without watches.")
METRIC(API_IN_FLIGHT, GAUGE, "apiserver_current_inflight_requests", "", NULL,
       LABELS1("request_kind", 2),
       "Requests under way, without watches: mutating, readOnly.")
METRIC(API_LONG, GAUGE, "apiserver_longrunning_requests", "", NULL,
       LABELS4("verb", 2, "group", 24, "version", 8, "resource", 64),
       "Watches of the API.")
METRIC(API_WATCH_EVENTS, COUNTER, "placet_api_watch_events_total", "", NULL,
       LABELS1("event", 3),
       "Changes for watches (encoded), copies of them that were sent (delivered), and "
       "watches that were cut because their client did not read.")
METRIC(API_READY, LEVEL, "placet_api_ready", "", NULL, LABELS0,
       "1 while the API serves objects.")
METRIC(HTTP_OPEN, GAUGE, "placet_http_connections", "", NULL, LABELS0,
       "Connections of the API that are open.")
METRIC(HTTP_EXCHANGES, GAUGE, "placet_http_exchanges", "", NULL, LABELS0,
       "Requests and watches that are open.")
METRIC(HTTP_CONNS, COUNTER, "placet_http_connections_total", "", NULL,
       LABELS1("outcome", 2), "Connections that were accepted, or refused.")
METRIC(HTTP_REQUESTS, COUNTER, "placet_http_requests_total", "", NULL,
       LABELS1("outcome", 3), "Requests that were handed over, bad ones, and those cut.")
METRIC(HTTP_BYTES, COUNTER, "placet_http_bytes_total", "bytes", NULL,
       LABELS1("direction", 2), "Bytes of the API's connections: in, out.")
METRIC(HTTP_HELD, GAUGE, "placet_http_held_bytes", "bytes", NULL, LABELS0,
       "Bodies, and what waits to be sent.")

/* -- the process ----------------------------------------------------------------------------- */

METRIC(LOOP_LAG, HISTOGRAM, "placet_loop_lag_seconds", "seconds", &bounds_us,
       LABELS1("thread", 258), "How much later than it was due a thread's timer came.")
METRIC(LOOP_BUSY, LEVEL, "placet_loop_busy_ratio", "ratio", NULL, LABELS1("thread", 258),
       "Share of the time since the last scrape in which the thread's loop did not wait.")
METRIC(MEMORY, GAUGE, "placet_memory_bytes", "bytes", NULL, LABELS1("kind", 3),
       "Resident memory: anonymous (the heap), file (the program), and peak, the most so far.")
METRIC(BUILD_INFO, LEVEL, "placet_build_info", "", NULL,
       LABELS2("version", 2, "compiler", 2), "1; the labels say what runs.")
METRIC(CPU_SECONDS, COUNTER, "process_cpu_seconds_total", "seconds", NULL, LABELS0,
       "CPU time of the process.")
METRIC(RESIDENT, GAUGE, "process_resident_memory_bytes", "bytes", NULL, LABELS0,
       "Resident memory.")
METRIC(VIRTUAL, GAUGE, "process_virtual_memory_bytes", "bytes", NULL, LABELS0,
       "Virtual memory.")
METRIC(START_SECONDS, GAUGE, "process_start_time_seconds", "seconds", NULL, LABELS0,
       "When the process started, in seconds since 1970.")
METRIC(OPEN_FDS, GAUGE, "process_open_fds", "", NULL, LABELS0, "Open descriptors.")
METRIC(MAX_FDS, GAUGE, "process_max_fds", "", NULL, LABELS0,
       "Descriptors that may be open.")
METRIC(THREADS_MISSING, GAUGE, "placet_scrape_threads_missing", "", NULL, LABELS0,
       "Threads that did not answer this scrape in time and are left out of it.")
METRIC(THREADS, GAUGE, "placet_scrape_threads", "", NULL, LABELS0,
       "Threads that answered this scrape.")
METRIC(DROPPED, COUNTER, "placet_scrape_samples_dropped_total", "", NULL, LABELS0,
       "Samples for which this scrape had no memory.")
