package config

import (
	"log/slog"
	"time"
)

// The comments of the fields in this file are the text of docs/configuration.md: after a change run
// `go generate ./internal/config`.

// Config is everything that can be configured.
type Config struct {
	Ingress    Ingress
	Operator   Operator
	Database   Database
	Temporal   Temporal
	Payloads   Payloads
	Worker     Worker
	Deliveries Deliveries
	Proxy      Proxy
	Replay     Replay
	Recovery   Recovery
	Providers  Providers
	Retention  Retention
	Notify     Notify
	Log        Log
	Telemetry  Telemetry
	Debug      Debug
	Dev        Dev

	// environ gives the environment as it was at load. It is a function, and no map, so that nothing that prints a
	// Config can reach the values.
	environ func() environment
	// renamed lists the variables that are set by a former name.
	renamed []Renamed
}

// Ingress is the public HTTP side that receives webhooks.
type Ingress struct {
	// Addr is the address to listen on. Port 0 picks a free port. Use a proxy for TLS and HTTP/2.
	Addr string `env:"HOLDFAST_INGRESS_ADDR" envDefault:"127.0.0.1:8080"`
	// BodyLimit lowers the limit of request bodies, for definitions without body_limit or maximum: 4MiB if the provider has a
	// secret, 256KiB otherwise. It can't raise them: use body_limit. Larger requests get 413.
	BodyLimit ByteSize `env:"HOLDFAST_INGRESS_BODY_LIMIT" example:"256KiB"`
	// BodyMemory bounds the memory for the bodies of all requests, from the first byte to the response. A client address gets a
	// quarter, and a quarter is kept for bodies up to 256 KiB. Beyond it, requests get 503 with Retry-After. Decoding takes up to
	// seven times the largest body besides.
	BodyMemory ByteSize `env:"HOLDFAST_INGRESS_BODY_MEMORY" envDefault:"256MiB"`
	// AckBudget is how long a response waits for Temporal. If Temporal hasn't confirmed the start by then, the event is committed
	// to the inbox and acknowledged. Must be shorter than the start timeout.
	AckBudget time.Duration `env:"HOLDFAST_INGRESS_ACK_BUDGET" envDefault:"400ms" above:"0s"`
	// Ack is what a 2xx needs: "either", the event is in Temporal or in PostgreSQL; "stored", it is in both, so that the loss of
	// either one loses nothing. With "stored" a request is refused with 503 while one of them is down, and no definition may have
	// the bulk lane.
	Ack Ack `env:"HOLDFAST_INGRESS_ACK" envDefault:"either"`
	// MaxStarts is the max number of concurrent workflow starts per process; while starts take over 100 ms, it falls to 12 at most.
	// Further events wait for up to half of the ACK budget, then go to the inbox. The inbox drains with up to half of these starts
	// if live events don't need them, and with a quarter in any case once events have waited for long.
	MaxStarts int `env:"HOLDFAST_INGRESS_MAX_STARTS" envDefault:"32" min:"1"`
	// StartTimeout is the timeout of the call that starts an event's workflow. The call continues if the request ends.
	StartTimeout time.Duration `env:"HOLDFAST_INGRESS_START_TIMEOUT" envDefault:"2s"`
	// HandlerBudget is the time limit for handling a request once it is read. After it the response is 503. Must be longer than
	// the start timeout.
	HandlerBudget time.Duration `env:"HOLDFAST_INGRESS_HANDLER_BUDGET" envDefault:"3s"`
	// MaxConnections is the max number of concurrent connections. Further ones are refused.
	MaxConnections int `env:"HOLDFAST_INGRESS_MAX_CONNECTIONS" envDefault:"4096" min:"1"`
	// MaxConnsPerIP is the max number of connections per client address; 0 means no limit. Behind a proxy, this is the proxy's
	// address.
	MaxConnsPerIP int `env:"HOLDFAST_INGRESS_MAX_CONNS_PER_IP" envDefault:"0" min:"0"`
	// HeaderTimeout is the timeout for reading request headers, from the first byte.
	HeaderTimeout time.Duration `env:"HOLDFAST_INGRESS_HEADER_TIMEOUT" envDefault:"5s" above:"0s"`
	// BodyTimeout is how long a body may take after the headers, however slow it is. After it, the body must have arrived at
	// 64 KiB/s or more on average since then.
	BodyTimeout time.Duration `env:"HOLDFAST_INGRESS_BODY_TIMEOUT" envDefault:"10s" above:"0s"`
	// WriteTimeout is the timeout for writing a response.
	WriteTimeout time.Duration `env:"HOLDFAST_INGRESS_WRITE_TIMEOUT" envDefault:"10s" above:"0s"`
	// IdleTimeout is how long an idle connection stays open.
	IdleTimeout time.Duration `env:"HOLDFAST_INGRESS_IDLE_TIMEOUT" envDefault:"60s" above:"0s"`
	// TrustedProxies are comma-separated addresses or networks (CIDR) of proxies whose X-Forwarded-For is trusted. The client is
	// the last address in the header that isn't one of them. Empty: the connection's address.
	TrustedProxies AddressList `env:"HOLDFAST_INGRESS_TRUSTED_PROXIES" example:"10.0.0.0/8,192.168.1.7"`
	// SelfTest serves GET /webhooks/_selftest, which shows the state of the ingress to everyone who can reach this port, without
	// provider names or secrets. Computed once a second max.
	SelfTest bool `env:"HOLDFAST_INGRESS_SELF_TEST" envDefault:"true"`
	// PublicURL is the URL of this server as senders see it. Required for schemes that sign the URL, such as Twilio.
	PublicURL string `env:"HOLDFAST_INGRESS_PUBLIC_URL" example:"https://hooks.example.com"`
	// AllowPrivateHandlers allows question handlers (Retell's call_inbound) on loopback and private networks. If false, only
	// public addresses are allowed.
	AllowPrivateHandlers bool `env:"HOLDFAST_INGRESS_ALLOW_PRIVATE_HANDLERS" envDefault:"false"`
	// DispatcherToken is the bearer token for clients of an outbound dispatcher, who may then publish to /events, read
	// /events/{id} by the IDs of publishers, and manage /subscriptions of published events on this port. Publishers get 400 for
	// malformed events. Requires a database. Empty: none of this is served. See docs/deliveries.md.
	DispatcherToken Secret `env:"HOLDFAST_DISPATCHER_TOKEN" example:"5f0c…"`
	// DrainDelay is how long requests are still accepted after a stop signal while /readyz and /health already report 503, so that
	// a load balancer can react.
	DrainDelay time.Duration `env:"HOLDFAST_INGRESS_DRAIN_DELAY" envDefault:"0s" min:"0s"`
	// ShutdownGrace is how long accepted requests may take to finish after that. Must be at least the handler budget.
	ShutdownGrace time.Duration `env:"HOLDFAST_INGRESS_SHUTDOWN_GRACE" envDefault:"10s"`
}

// Operator is the private HTTP side: health, metrics, the operator API and the console.
type Operator struct {
	// Addr is the address to listen on. Roles that serve the API need tokens for any address that isn't loopback.
	Addr string `env:"HOLDFAST_OPERATOR_ADDR" envDefault:"127.0.0.1:8081"`
	// Tokens are name:role:sha256 entries of API tokens, separated by commas or newlines. Create one with `holdfast token new`.
	// Roles: viewer, operator, integrator, admin. Empty: every user of this machine has full access.
	Tokens Secret `env:"HOLDFAST_OPERATOR_TOKENS" example:"ada:admin:a3f1…"`
	// TemporalWeb are comma-separated origins of Temporal Web that may decrypt payloads through this port. The console links to
	// the first. `holdfast dev` sets its own.
	TemporalWeb OriginList `env:"HOLDFAST_OPERATOR_TEMPORAL_WEB" example:"https://temporal.example.com"`
	// ChangesOrigins are comma-separated origins whose pages may read the change feed (GET /changes) with a token. Empty: only
	// this port's own.
	ChangesOrigins OriginList `env:"HOLDFAST_OPERATOR_CHANGES_ORIGINS" example:"https://app.example.com"`
	// Prefix is the path under which a proxy serves this port, if it isn't the root. It works whether or not the proxy strips it.
	Prefix URLPath `env:"HOLDFAST_OPERATOR_PREFIX" example:"/holdfast"`
	// TraceURL is the URL of a trace in your tracing tool, with {trace_id} in place of the ID. The console links to it.
	TraceURL string `env:"HOLDFAST_OPERATOR_TRACE_URL" example:"https://jaeger.example.com/trace/{trace_id}"`
	// MaxConns is the size of the API's own connection pool, which is separate from the pool for events.
	MaxConns int `env:"HOLDFAST_OPERATOR_MAX_CONNS" envDefault:"4" min:"1"`
	// StatementTimeout is the time limit for one SQL statement of the API.
	StatementTimeout time.Duration `env:"HOLDFAST_OPERATOR_STATEMENT_TIMEOUT" envDefault:"5s" above:"0s"`
}

// Database is the PostgreSQL with events, entities and dead letters.
type Database struct {
	// URL is the connection URL. Required for every role that stores or reads events. `holdfast dev` starts its own database if
	// it is empty. An ingress without a database has no inbox and can't accept events while Temporal is down. For PgBouncer, add
	// default_query_exec_mode=cache_describe (docs/pgbouncer.md).
	URL Secret `env:"DATABASE_URL" example:"postgres://holdfast@127.0.0.1:5432/holdfast"`
	// MaxConns is the size of the connection pool per process. 0: as many as the worker slots need.
	MaxConns int `env:"HOLDFAST_DATABASE_MAX_CONNS" envDefault:"0" min:"0"`
	// StatementTimeout is the time limit for one SQL statement.
	StatementTimeout time.Duration `env:"HOLDFAST_DATABASE_STATEMENT_TIMEOUT" envDefault:"15s"`
	// LockTimeout is how long a statement may wait for a lock. Must be shorter than the statement timeout.
	LockTimeout time.Duration `env:"HOLDFAST_DATABASE_LOCK_TIMEOUT" envDefault:"5s" above:"0s"`
}

// Temporal configures the connection to Temporal, with Temporal's own variables. The others (TLS, API key, …) are listed below.
type Temporal struct {
	// Address is host and port of the frontend service. Calls are spread over all addresses that the host's name has. If it is
	// empty, `holdfast dev` starts its own server, and other roles use 127.0.0.1:7233.
	Address string `env:"TEMPORAL_ADDRESS" example:"temporal.internal:7233"`
	// Namespace is the namespace of the workflows. It must exist. Its retention limits how long you can read and reset finished
	// runs.
	Namespace string `env:"TEMPORAL_NAMESPACE" envDefault:"default"`
	// DeploymentName is the worker deployment. Each run then stays with the build that began it. Temporal's worker controller
	// sets it. Such a worker gets no tasks until its build is current or ramping (docs/upgrades.md). Empty: no worker versioning.
	DeploymentName string `env:"TEMPORAL_DEPLOYMENT_NAME" example:"holdfast"`
	// WorkerBuildID is the worker's build in the deployment. Each release needs a new one. Set it together with the deployment
	// name.
	WorkerBuildID string `env:"TEMPORAL_WORKER_BUILD_ID" example:"2026-11-22.1"`
}

// Versioned means that all workers run one build of a deployment.
func (t Temporal) Versioned() bool { return t.DeploymentName != "" }

// Payloads configures encryption of what Temporal stores in histories: events' bodies and headers, results, failures, memos and
// summaries. All roles and tools of an installation need the same keys.
type Payloads struct {
	// Keys are AES-256 keys as id:base64 entries, separated by commas or newlines. Create one with `holdfast payload-key new`.
	// The first key encrypts, all of them decrypt. To rotate them, see docs/encryption.md. Empty: no encryption.
	Keys Secret `env:"HOLDFAST_PAYLOAD_KEYS" example:"2026-01:q83v…"`
}

// Worker is the side that processes events.
type Worker struct {
	// SlotsCritical is the max number of concurrent steps of critical events per process.
	SlotsCritical int `env:"HOLDFAST_WORKER_SLOTS_CRITICAL" envDefault:"4" min:"1"`
	// SlotsHigh is the same for events of high priority.
	SlotsHigh int `env:"HOLDFAST_WORKER_SLOTS_HIGH" envDefault:"4" min:"1"`
	// SlotsNormal is the same for all other events.
	SlotsNormal int `env:"HOLDFAST_WORKER_SLOTS_NORMAL" envDefault:"8" min:"1"`
	// SlotsDeadLetter is the max number of dead letters recorded concurrently. Separate slots keep a flood of events from
	// delaying them.
	SlotsDeadLetter int `env:"HOLDFAST_WORKER_SLOTS_DEAD_LETTER" envDefault:"2" min:"1"`
	// SlotsReplay is the max number of concurrent steps of replayed events. Separate slots keep a replay from slowing live
	// events down.
	SlotsReplay int `env:"HOLDFAST_WORKER_SLOTS_REPLAY" envDefault:"2" min:"1"`
	// SlotsBulk is the max number of concurrent batches of the bulk lane.
	SlotsBulk int `env:"HOLDFAST_WORKER_SLOTS_BULK" envDefault:"2" min:"1"`
	// Pollers is how many polls for tasks each queue has open, at least 2. With 0, each queue has 2 to 20, depending on the load;
	// the SDK adjusts the number ten times a second, which takes CPU even while idle.
	Pollers int `env:"HOLDFAST_WORKER_POLLERS" envDefault:"0"`
	// StickyCache is how many running workflows a process keeps in memory. Others are replayed from their history.
	StickyCache int `env:"HOLDFAST_WORKER_STICKY_CACHE" envDefault:"2000" min:"1"`
	// Grace is how long running steps may take to finish after a stop signal. Unfinished steps run again on another worker.
	Grace time.Duration `env:"HOLDFAST_WORKER_GRACE" envDefault:"20s" above:"0s"`
}

// Deliveries configures how a worker delivers events. Destinations and subscriptions are data, not configuration: see
// docs/deliveries.md.
type Deliveries struct {
	// Slots is the max number of concurrent attempts per process, plus as many for attempts that take longer than 2 s. A
	// destination gets half of them max, and one slot until an attempt has succeeded within 2 s. 0: this process delivers
	// nothing.
	Slots int `env:"HOLDFAST_DELIVERIES_SLOTS" envDefault:"128" min:"0"`
	// AllowedNetworks are comma-separated addresses and networks (CIDR) of endpoints outside the public internet that deliveries
	// may reach. `holdfast dev` allows loopback.
	AllowedNetworks NetworkList `env:"HOLDFAST_DELIVERIES_ALLOWED_NETWORKS" example:"10.20.0.0/16,192.168.1.7"`
	// Certificates is the absolute path of the folder with the files of http.ca, http.certificate and http.key. Files outside it
	// and files over 1 MiB aren't read. Empty: destinations can't use such files.
	Certificates string `env:"HOLDFAST_DELIVERIES_CERTIFICATES" example:"/etc/holdfast/certificates"`
	// Grace is how long running attempts may take to finish after a stop signal. Unfinished ones are attempted again on another
	// worker and don't count.
	Grace time.Duration `env:"HOLDFAST_DELIVERIES_GRACE" envDefault:"15s" min:"0s"`
}

// Proxy configures the forward proxies through which deliveries, requests to providers' APIs and certificate downloads leave. See
// docs/forward-proxy.md.
type Proxy struct {
	// List has the proxies that destinations can name: name=URL, separated by commas or white space. The schemes are http, https
	// (both with CONNECT) and socks5; the URL may have a user and a password. A parameter resolve=HOST, which can be repeated, lets
	// the proxy resolve that host's name, without the check for private addresses. All processes need the same value.
	List Secret `env:"HOLDFAST_PROXIES" example:"office=http://user:password@10.0.0.5:3128,eu=socks5://10.1.0.5:1080"`
	// Default is the name of the proxy for destinations that name none, for requests to providers' APIs and for certificate
	// downloads. Empty: they connect directly. Variables such as HTTPS_PROXY have no effect on these.
	Default string `env:"HOLDFAST_PROXY" example:"office"`
}

// Replay configures automatic replays of dead letters and sweeps. The intervals are those of Temporal schedules, which
// `holdfast migrate` creates and updates.
type Replay struct {
	// Automatic enables automatic replays. A definition can disable them for its provider (replay: off), or set base, attempts
	// and classes.
	Automatic bool `env:"HOLDFAST_REPLAY_AUTOMATIC" envDefault:"true"`
	// Base is the delay between the failure and the first automatic replay. It doubles each time, ± 20 %.
	Base time.Duration `env:"HOLDFAST_REPLAY_BASE" envDefault:"1h" above:"0s"`
	// Attempts is the number of automatic replays per dead letter. After that it is exhausted and needs an operator.
	Attempts int `env:"HOLDFAST_REPLAY_ATTEMPTS" envDefault:"3" min:"1"`
	// Rejected also replays rejected events. They fail again unless the definition has changed.
	Rejected bool `env:"HOLDFAST_REPLAY_REJECTED" envDefault:"false"`
	// Rate is the max number of automatic replays started per second.
	Rate float64 `env:"HOLDFAST_REPLAY_RATE" envDefault:"10"`
	// Interval is how often due dead letters are replayed.
	Interval time.Duration `env:"HOLDFAST_REPLAY_INTERVAL" envDefault:"1m" min:"1s"`
	// SweepInterval is how often a sweep looks for terminated and stuck runs.
	SweepInterval time.Duration `env:"HOLDFAST_REPLAY_SWEEP_INTERVAL" envDefault:"5m" min:"1s"`
}

// Recovery configures the recovery of events that never arrived, from the providers for which a credential is configured. The
// interval is that of a Temporal schedule, which `holdfast migrate` creates and updates.
type Recovery struct {
	// Interval is how often the lists of events are read, from where the last recovery ended. Once a day everything in them is read.
	Interval time.Duration `env:"HOLDFAST_RECOVERY_INTERVAL" envDefault:"15m" min:"1s"`
	// Redeliver names the providers, separated by commas, that may be asked to send missed events again. Their credential must be
	// able to write. Empty: none is asked. Workers read it.
	Redeliver NameList `env:"HOLDFAST_RECOVERY_REDELIVER" example:"github,gitlab"`
}

// Providers configures the definitions of providers.
type Providers struct {
	// Dir is a directory with definitions (*.yaml) that extend or override the built-in ones. Empty: only the built-in ones.
	Dir string `env:"HOLDFAST_PROVIDERS_DIR" example:"/etc/holdfast/providers"`
	// Rate is the rate limit of each provider whose definition has no `rate`: requests, a slash and a span from 1s to 1h.
	// Requests above it get 429 with Retry-After and aren't stored, so set `rate: none` for senders that don't retry. Empty: no
	// limit.
	Rate Rate `env:"HOLDFAST_PROVIDERS_RATE" example:"100/1m"`
}

// Retention configures how long data is kept; 0s means forever. Workers purge older data in small batches. Idempotency keys are
// kept for their definition's dedupe window.
type Retention struct {
	// Events is how long processed events are kept, with their bodies. Entities keep their state but lose their history, and
	// redeliveries are still recognized. Events that need attention, or whose last run Temporal can still reset, are kept. See
	// docs/retention.md.
	Events time.Duration `env:"HOLDFAST_RETENTION_EVENTS" envDefault:"0s" min:"0s"`
	// DeadLetters is how long resolved and discarded dead letters are kept. Open ones are never purged.
	DeadLetters time.Duration `env:"HOLDFAST_RETENTION_DEAD_LETTERS" envDefault:"2160h" min:"0s"`
	// ErrorLog is how long entries of the error log are kept.
	ErrorLog time.Duration `env:"HOLDFAST_RETENTION_ERROR_LOG" envDefault:"720h" min:"0s"`
	// AuditLog is how long audit entries are kept.
	AuditLog time.Duration `env:"HOLDFAST_RETENTION_AUDIT_LOG" envDefault:"8760h" min:"0s"`
	// Changes is how far the change feed goes back, 30 days max. Readers that were away for longer must resynchronize.
	Changes time.Duration `env:"HOLDFAST_RETENTION_CHANGES" envDefault:"168h" min:"0s"`
	// Archive is where a purge archives events and dead letters: file:///folder, or s3://bucket/prefix with optional ?region= and
	// ?endpoint=https://host. S3 credentials come from AWS's usual places. Workers and the command line need the same value.
	// Empty: no archive. See docs/retention.md.
	Archive string `env:"HOLDFAST_ARCHIVE" example:"s3://company-webhooks/holdfast?region=eu-central-1"`
	// Interval is how often expired data is purged.
	Interval time.Duration `env:"HOLDFAST_RETENTION_INTERVAL" envDefault:"1h" former:"HOLDFAST_RETENTION_EVERY" above:"0s"`
}

// Notify configures notifications of failures and outages.
type Notify struct {
	// URLs are whitespace-separated channels in the format of github.com/nicholas-fedor/shoutrrr: Telegram, Slack, Discord,
	// e-mail (smtp), a generic webhook and more. Empty: no notifications.
	URLs Secret `env:"HOLDFAST_NOTIFY_URLS" example:"generic+https://alerts.internal/hook"`
	// Interval is how often a message about failed events is sent, if there are any. One message summarizes all of them.
	Interval time.Duration `env:"HOLDFAST_NOTIFY_INTERVAL" envDefault:"1m" former:"HOLDFAST_NOTIFY_EVERY" above:"0s"`
	// Report is how often channels get a report of received, failed and waiting events, compared with the period before: daily
	// (07:00 UTC), weekly (Mondays) or off.
	Report ReportPeriod `env:"HOLDFAST_NOTIFY_REPORT" envDefault:"weekly"`
	// OutageAfter is how long Temporal or the database must be down before a process sends a message.
	OutageAfter time.Duration `env:"HOLDFAST_NOTIFY_OUTAGE_AFTER" envDefault:"30s" min:"0s"`
	// OutageRepeat is the min interval between two messages of a process about outages of the same store.
	OutageRepeat time.Duration `env:"HOLDFAST_NOTIFY_OUTAGE_REPEAT" envDefault:"15m" min:"0s"`
}

// Log configures the log on standard error.
type Log struct {
	// Level is the min level: debug, info, warn or error.
	Level slog.Level `env:"HOLDFAST_LOG_LEVEL" envDefault:"info"`
	// Format is the format: json or text.
	Format LogFormat `env:"HOLDFAST_LOG_FORMAT" envDefault:"json"`
}

// Telemetry configures the export over OTLP, with OpenTelemetry's own variables. The exporters also read the others (headers,
// protocol, sampling, resource attributes). Prometheus can always scrape metrics on the operator port.
type Telemetry struct {
	// Endpoint is where traces and metrics are sent.
	Endpoint string `env:"OTEL_EXPORTER_OTLP_ENDPOINT" example:"http://127.0.0.1:4318"`
	// TracesEndpoint overrides it for traces.
	TracesEndpoint string `env:"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" example:"http://127.0.0.1:4318/v1/traces"`
	// MetricsEndpoint overrides it for metrics.
	MetricsEndpoint string `env:"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT" example:"http://127.0.0.1:4318/v1/metrics"`
	// TracesExporter is the exporter of traces: otlp, console or none. Empty: otlp if there is an endpoint, else none.
	TracesExporter string `env:"OTEL_TRACES_EXPORTER" example:"otlp"`
	// MetricsExporter is the exporter of metrics in addition to Prometheus: otlp, console or none. Empty: otlp if there is an
	// endpoint, else none.
	MetricsExporter string `env:"OTEL_METRICS_EXPORTER" example:"otlp"`
	// Disabled disables all exports over OTLP.
	Disabled bool `env:"OTEL_SDK_DISABLED" envDefault:"false"`
}

// Debug is for debugging a process.
type Debug struct {
	// Addr is the loopback address of an HTTP server with Go profiles (pprof). Empty: no server.
	Addr string `env:"HOLDFAST_DEBUG_ADDR" example:"127.0.0.1:6060"`
}

// Dev configures what `holdfast dev` (`make run`) starts. All of it listens on loopback only.
type Dev struct {
	// Dir is the directory of all data and built tools.
	Dir string `env:"HOLDFAST_DEV_DIR" envDefault:".holdfast"`
	// TemporalPort is the port of Temporal's frontend service.
	TemporalPort Port `env:"HOLDFAST_DEV_TEMPORAL_PORT" envDefault:"7233"`
	// TemporalUIPort is the port of Temporal Web.
	TemporalUIPort Port `env:"HOLDFAST_DEV_TEMPORAL_UI_PORT" envDefault:"8233"`
	// PostgresPort is the port of PostgreSQL; 0 picks a free port.
	PostgresPort Port `env:"HOLDFAST_DEV_POSTGRES_PORT" envDefault:"0"`
}
