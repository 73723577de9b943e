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
	Redrive    Redrive
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
}

// Ingress is the public HTTP side, which receives webhooks.
type Ingress struct {
	// Addr is the address to listen on. A port of 0 takes any free one. TLS and HTTP/2 belong to a proxy in front.
	Addr string `env:"HOLDFAST_INGRESS_ADDR" envDefault:"127.0.0.1:8080"`
	// BodyLimit is the largest request body that is read; beyond it the answer is 413. Temporal holds the body as the
	// input of a workflow, so more than 1MiB is refused here.
	BodyLimit ByteSize `env:"HOLDFAST_INGRESS_BODY_LIMIT" envDefault:"256KiB"`
	// AckBudget is how long an answer waits for Temporal. What it has not confirmed by then is committed to the inbox as well,
	// and acknowledged. It is shorter than the start timeout.
	AckBudget time.Duration `env:"HOLDFAST_INGRESS_ACK_BUDGET" envDefault:"400ms"`
	// MaxStarts is how many starts may be under way at the same time in one process; further events go to the inbox at once.
	// The inbox is drained within the half of it that live events leave free; what has waited there for long has a quarter of it,
	// whatever they would take.
	MaxStarts int `env:"HOLDFAST_INGRESS_MAX_STARTS" envDefault:"32"`
	// StartTimeout bounds the call that starts the workflow of an event. It is cut loose from the request.
	StartTimeout time.Duration `env:"HOLDFAST_INGRESS_START_TIMEOUT" envDefault:"2s"`
	// HandlerBudget bounds the whole work on a request once it is read, and so the time to a 503. It is longer than the
	// start timeout.
	HandlerBudget time.Duration `env:"HOLDFAST_INGRESS_HANDLER_BUDGET" envDefault:"3s"`
	// MaxConnections is how many connections are served at the same time; further ones are refused. Times the body
	// limit, it bounds the memory that bodies can take. A larger body_limit of a definition counts instead where it has a secret.
	MaxConnections int `env:"HOLDFAST_INGRESS_MAX_CONNECTIONS" envDefault:"4096"`
	// MaxConnsPerIP is how many connections one address may hold; 0 is no limit. Behind a proxy it counts the proxy.
	MaxConnsPerIP int `env:"HOLDFAST_INGRESS_MAX_CONNS_PER_IP" envDefault:"0"`
	// HeaderTimeout bounds reading the headers of a request, from its first byte on.
	HeaderTimeout time.Duration `env:"HOLDFAST_INGRESS_HEADER_TIMEOUT" envDefault:"5s"`
	// BodyTimeout bounds reading the body after them.
	BodyTimeout time.Duration `env:"HOLDFAST_INGRESS_BODY_TIMEOUT" envDefault:"10s"`
	// WriteTimeout bounds writing a response.
	WriteTimeout time.Duration `env:"HOLDFAST_INGRESS_WRITE_TIMEOUT" envDefault:"10s"`
	// IdleTimeout is how long a connection may wait for its next request.
	IdleTimeout time.Duration `env:"HOLDFAST_INGRESS_IDLE_TIMEOUT" envDefault:"60s"`
	// TrustedProxies are the addresses or networks (CIDR), separated by commas, whose word in X-Forwarded-For is believed:
	// the client is the last address in it that is not itself one of these. Empty: none, and the address of the connection
	// counts.
	TrustedProxies AddressList `env:"HOLDFAST_INGRESS_TRUSTED_PROXIES" example:"10.0.0.0/8,192.168.1.7"`
	// SelfTest serves GET /webhooks/_selftest, which tells anybody who reaches this port how the ingress is doing: no names
	// of providers, no secrets, and computed at most once a second.
	SelfTest bool `env:"HOLDFAST_INGRESS_SELF_TEST" envDefault:"true"`
	// PublicURL is how senders see this server. Only schemes that sign the URL (Twilio) need it.
	PublicURL string `env:"HOLDFAST_INGRESS_PUBLIC_URL" example:"https://hooks.example.com"`
	// AllowPrivateHandlers lets the handlers that answer questions (Retell's call_inbound) stand on loopback or a private
	// network. Where it is false, only addresses of the public internet are reached.
	AllowPrivateHandlers bool `env:"HOLDFAST_INGRESS_ALLOW_PRIVATE_HANDLERS" envDefault:"false"`
	// DispatcherToken serves the clients of an outbound dispatcher on this port: with it as a bearer token they publish to /events,
	// read /events/{id} by the IDs that publishers gave, and manage /subscriptions of published events. It opens nothing else. Who
	// publishes with it hears of a malformed event by 400. It needs a database. Empty: none of this is served. See
	// docs/deliveries.md.
	DispatcherToken Secret `env:"HOLDFAST_DISPATCHER_TOKEN" example:"5f0c…"`
	// DrainDelay is how long requests are still accepted after a stop signal while /readyz and /health already say no, so that a
	// load balancer can look away. 0: not at all.
	DrainDelay time.Duration `env:"HOLDFAST_INGRESS_DRAIN_DELAY" envDefault:"0s"`
	// ShutdownGrace is how long requests that were accepted may take to finish after that. It is at least the handler
	// budget.
	ShutdownGrace time.Duration `env:"HOLDFAST_INGRESS_SHUTDOWN_GRACE" envDefault:"10s"`
}

// Operator is the private HTTP side: health, metrics and the API for operators.
type Operator struct {
	// Addr is the address to listen on. Without tokens the roles that serve the API refuse any that is not on loopback.
	Addr string `env:"HOLDFAST_OPERATOR_ADDR" envDefault:"127.0.0.1:8081"`
	// Tokens are who may call the API, as name:role:sha256 entries separated by commas or line ends; `holdfast token new`
	// makes one. Roles: viewer, operator, integrator, admin. Empty: whoever is on this machine may do everything.
	Tokens Secret `env:"HOLDFAST_OPERATOR_TOKENS" example:"ada:admin:a3f1…"`
	// TemporalWeb are the origins of Temporal Web, separated by commas, whose pages may ask this port to decrypt payloads.
	// The console links to the first. Empty: none. `holdfast dev` names the one that it starts.
	TemporalWeb OriginList `env:"HOLDFAST_OPERATOR_TEMPORAL_WEB" example:"https://temporal.example.com"`
	// ChangesOrigins are the origins, separated by commas, whose pages may read the change feed (GET /changes, as a page, a stream
	// or a WebSocket) with a token of their own. Empty: none but this port's.
	ChangesOrigins OriginList `env:"HOLDFAST_OPERATOR_CHANGES_ORIGINS" example:"https://app.example.com"`
	// Prefix is the path under which a proxy shows this port, if it is not the whole of a host. The console's links and cookies
	// carry it; whether the proxy takes it off requests makes no difference.
	Prefix URLPath `env:"HOLDFAST_OPERATOR_PREFIX" example:"/holdfast"`
	// TraceURL is the address of a trace in what shows yours, with {trace_id} where its ID belongs. The console links to it.
	TraceURL string `env:"HOLDFAST_OPERATOR_TRACE_URL" example:"https://jaeger.example.com/trace/{trace_id}"`
	// MaxConns is the size of the API's own connection pool, so that operators and events never wait for each other.
	MaxConns int `env:"HOLDFAST_OPERATOR_MAX_CONNS" envDefault:"4"`
	// StatementTimeout is how long one statement of the API may run before PostgreSQL ends it.
	StatementTimeout time.Duration `env:"HOLDFAST_OPERATOR_STATEMENT_TIMEOUT" envDefault:"5s"`
}

// Database is the PostgreSQL that holds events, entities and dead letters.
type Database struct {
	// URL is the address of the database. `holdfast dev` starts a private one where it is empty; every other role that
	// stores or reads events needs it. An ingress without it has no inbox, and so cannot accept events while Temporal is down.
	// Behind PgBouncer it needs default_query_exec_mode=cache_describe: see docs/pgbouncer.md.
	URL Secret `env:"DATABASE_URL" example:"postgres://holdfast@127.0.0.1:5432/holdfast"`
	// MaxConns is the size of the connection pool of one process; 0 follows the worker's slots, so that a step never
	// waits for a connection.
	MaxConns int `env:"HOLDFAST_DATABASE_MAX_CONNS" envDefault:"0"`
	// StatementTimeout is how long one statement may run before PostgreSQL ends it.
	StatementTimeout time.Duration `env:"HOLDFAST_DATABASE_STATEMENT_TIMEOUT" envDefault:"15s"`
	// LockTimeout is how long one statement may wait for a lock; shorter than the statement timeout.
	LockTimeout time.Duration `env:"HOLDFAST_DATABASE_LOCK_TIMEOUT" envDefault:"5s"`
}

// Temporal says where the workflows run. Its variables are Temporal's own; the rest of them (TLS, API key, …) is listed
// below.
type Temporal struct {
	// Address is host and port of the frontend service. `holdfast dev` starts a server of its own where it is empty; every
	// other role then takes 127.0.0.1:7233.
	Address string `env:"TEMPORAL_ADDRESS" example:"temporal.internal:7233"`
	// Namespace is the namespace that the workflows run in. It must exist; its retention bounds how long a finished event
	// can be read and reset.
	Namespace string `env:"TEMPORAL_NAMESPACE" envDefault:"default"`
	// DeploymentName makes a worker one of a worker deployment of Temporal: a run stays with the build that has begun it. Temporal's
	// worker controller sets it. Such a worker gets no work until its build is the current or the ramping one: docs/upgrades.md.
	// Empty: workers have no versions, and any of them goes on with any run.
	DeploymentName string `env:"TEMPORAL_DEPLOYMENT_NAME" example:"holdfast"`
	// WorkerBuildID is which build of the deployment the worker is. Each release needs another. It goes with the deployment name.
	WorkerBuildID string `env:"TEMPORAL_WORKER_BUILD_ID" example:"2026-11-22.1"`
}

// Versioned says that workers are those of one build of a deployment.
func (t Temporal) Versioned() bool { return t.DeploymentName != "" }

// Payloads says how the payloads that Temporal keeps in its histories are encrypted: the bodies and headers of events, results,
// failures, memos and summaries. Every role and tool of an installation needs the same keys.
type Payloads struct {
	// Keys are AES-256 keys as id:base64 entries separated by commas or line ends; `holdfast payload-key new` makes one. The
	// first one encrypts, all of them decrypt: docs/encryption.md says how to change them. Empty: Temporal keeps payloads in
	// clear.
	Keys Secret `env:"HOLDFAST_PAYLOAD_KEYS" example:"2026-01:q83v…"`
}

// Worker is the side that processes events.
type Worker struct {
	// SlotsCritical is how many steps of critical events run at the same time in one process.
	SlotsCritical int `env:"HOLDFAST_WORKER_SLOTS_CRITICAL" envDefault:"4"`
	// SlotsHigh is the same for events of high priority.
	SlotsHigh int `env:"HOLDFAST_WORKER_SLOTS_HIGH" envDefault:"4"`
	// SlotsNormal is the same for all other events.
	SlotsNormal int `env:"HOLDFAST_WORKER_SLOTS_NORMAL" envDefault:"8"`
	// SlotsDeadLetter is how many dead letters are recorded at the same time. They have slots of their own so that a flood
	// of events cannot hold up the record of what failed.
	SlotsDeadLetter int `env:"HOLDFAST_WORKER_SLOTS_DEAD_LETTER" envDefault:"2"`
	// SlotsRedrive is how many steps of redriven events run at the same time. They have slots of their own so that a bulk
	// redrive leaves live events their latency.
	SlotsRedrive int `env:"HOLDFAST_WORKER_SLOTS_REDRIVE" envDefault:"2"`
	// SlotsBulk is how many batches of the bulk lane run at the same time.
	SlotsBulk int `env:"HOLDFAST_WORKER_SLOTS_BULK" envDefault:"2"`
	// StickyCache is how many running workflows one process keeps in memory; a workflow that falls out is read again from
	// its history.
	StickyCache int `env:"HOLDFAST_WORKER_STICKY_CACHE" envDefault:"2000"`
	// Grace is how long steps that have begun may take to finish after a stop signal. What is not finished by then is
	// run again elsewhere.
	Grace time.Duration `env:"HOLDFAST_WORKER_GRACE" envDefault:"20s"`
}

// Deliveries says how a worker delivers what subscriptions match. What is delivered where is no configuration: see
// docs/deliveries.md.
type Deliveries struct {
	// Slots is how many attempts one process has under way at the same time, with as many again for attempts that take longer than
	// 2 s. A destination gets half of them at most, and one slot until an attempt has succeeded within 2 s. 0: this process delivers
	// nothing.
	Slots int `env:"HOLDFAST_DELIVERIES_SLOTS" envDefault:"128"`
	// AllowedNetworks are addresses and networks (CIDR), separated by commas, that endpoints may stand in although they are not of
	// the public internet. Empty: none. `holdfast dev` allows loopback.
	AllowedNetworks NetworkList `env:"HOLDFAST_DELIVERIES_ALLOWED_NETWORKS" example:"10.20.0.0/16,192.168.1.7"`
	// Certificates is the folder with the files that destinations may name as http.ca, http.certificate and http.key: an absolute
	// path. Neither a path nor a link leads out of it, and a file of more than 1 MiB isn't read. Empty: destinations name no files.
	Certificates string `env:"HOLDFAST_DELIVERIES_CERTIFICATES" example:"/etc/holdfast/certificates"`
	// Grace is how long attempts that have begun may take to finish after a stop signal. What is not finished by then is
	// attempted again elsewhere, and counts nowhere.
	Grace time.Duration `env:"HOLDFAST_DELIVERIES_GRACE" envDefault:"15s"`
}

// Redrive says when dead letters are run again without anybody asking for it, and how often runs are looked after. The
// intervals are those of schedules in Temporal, which `holdfast migrate` creates and changes.
type Redrive struct {
	// Automatic says whether open dead letters are run again by themselves. A definition can turn it off for its provider
	// (redrive: off), and have a base, attempts and classes of its own.
	Automatic bool `env:"HOLDFAST_REDRIVE_AUTOMATIC" envDefault:"true"`
	// Base is the pause between a failure and the first automatic attempt. It doubles with each, and is spread by 20 %.
	Base time.Duration `env:"HOLDFAST_REDRIVE_BASE" envDefault:"1h"`
	// Attempts is how many automatic attempts a dead letter gets. Then it is exhausted, until somebody replays it.
	Attempts int `env:"HOLDFAST_REDRIVE_ATTEMPTS" envDefault:"3"`
	// Rejected says whether events that were rejected are tried again as well. They are at fault themselves, so without a
	// new definition they fail again.
	Rejected bool `env:"HOLDFAST_REDRIVE_REJECTED" envDefault:"false"`
	// Rate is how many automatic attempts are started a second, at most.
	Rate float64 `env:"HOLDFAST_REDRIVE_RATE" envDefault:"10"`
	// Interval is the pause between two looks for what is due, and so by how much an attempt may come late.
	Interval time.Duration `env:"HOLDFAST_REDRIVE_INTERVAL" envDefault:"1m"`
	// SweepInterval is the pause between two sweeps, which find runs that were terminated or are stuck.
	SweepInterval time.Duration `env:"HOLDFAST_REDRIVE_SWEEP_INTERVAL" envDefault:"5m"`
}

// Providers says where the definitions of providers come from.
type Providers struct {
	// Dir is a directory with definitions (*.yaml) that extend or override the built-in ones. Empty: only the built-in
	// ones.
	Dir string `env:"HOLDFAST_PROVIDERS_DIR" example:"/etc/holdfast/providers"`
	// Rate is the rate of each provider whose definition has no `rate`: requests, a slash and a span from 1s to 1h. Requests beyond
	// it get 429 with Retry-After and aren't stored, so a sender that doesn't retry loses them: give its definition `rate: none`.
	// Empty: such providers have no rate.
	Rate Rate `env:"HOLDFAST_PROVIDERS_RATE" example:"100/1m"`
}

// Retention says how long what is stored is kept; 0s is for ever. A worker purges what is older, in small batches, so that
// nothing has to wait for it. Idempotency keys are not configured here: each is kept for the dedupe window of its definition.
type Retention struct {
	// Events is how long processed events are kept, with their bodies. Entities keep their state when they go, though not how
	// they came to it, and keys still tell their redeliveries. An event that waits for somebody is never too old, nor is one
	// whose last run Temporal can still reset. See docs/retention.md.
	Events time.Duration `env:"HOLDFAST_RETENTION_EVENTS" envDefault:"0s"`
	// DeadLetters is how long resolved and discarded dead letters are kept. The others are never removed by age.
	DeadLetters time.Duration `env:"HOLDFAST_RETENTION_DEAD_LETTERS" envDefault:"2160h"`
	// ErrorLog is how long entries of the error log are kept.
	ErrorLog time.Duration `env:"HOLDFAST_RETENTION_ERROR_LOG" envDefault:"720h"`
	// AuditLog is how long audit entries are kept.
	AuditLog time.Duration `env:"HOLDFAST_RETENTION_AUDIT_LOG" envDefault:"8760h"`
	// Changes is how long the change feed goes back, 30 days at most. Who follows it and was away for longer has to begin anew.
	Changes time.Duration `env:"HOLDFAST_RETENTION_CHANGES" envDefault:"168h"`
	// Archive is where events and dead letters are kept before they are removed: file:///folder, or s3://bucket/prefix, with
	// ?region= and ?endpoint=https://host as needed. Credentials of S3 come from where all of AWS's programs take them. Every worker
	// and the command line need the same. Empty: what is removed is gone. See docs/retention.md.
	Archive string `env:"HOLDFAST_ARCHIVE" example:"s3://company-webhooks/holdfast?region=eu-central-1"`
	// Every is the pause between two purges.
	Every time.Duration `env:"HOLDFAST_RETENTION_EVERY" envDefault:"1h"`
}

// Notify says who is told of failures and outages.
type Notify struct {
	// URLs are the channels, separated by white space, in the form of github.com/nicholas-fedor/shoutrrr: Telegram, Slack,
	// Discord, e-mail (smtp), a generic webhook and many more. They hold tokens, so they are one secret. Empty: nobody is
	// told.
	URLs Secret `env:"HOLDFAST_NOTIFY_URLS" example:"generic+https://alerts.internal/hook"`
	// Every is the pause between two messages about events: what has failed meanwhile is told in one, with counts.
	Every time.Duration `env:"HOLDFAST_NOTIFY_EVERY" envDefault:"1m"`
	// Report is how often the channels are told what came, what failed and what waits, beside the time before: daily (at 07:00 UTC),
	// weekly (on Mondays) or off. It also shows that the channels still work.
	Report ReportPeriod `env:"HOLDFAST_NOTIFY_REPORT" envDefault:"weekly"`
	// OutageAfter is how long Temporal or the database must be away before a process tells it, by itself.
	OutageAfter time.Duration `env:"HOLDFAST_NOTIFY_OUTAGE_AFTER" envDefault:"30s"`
	// OutageRepeat is the least time between two messages of a process about outages of the same store.
	OutageRepeat time.Duration `env:"HOLDFAST_NOTIFY_OUTAGE_REPEAT" envDefault:"15m"`
}

// Log says what is logged, to standard error.
type Log struct {
	// Level is the least level that is logged: debug, info, warn or error.
	Level slog.Level `env:"HOLDFAST_LOG_LEVEL" envDefault:"info"`
	// Format is the form of the lines: json, for machines, or text, for people.
	Format LogFormat `env:"HOLDFAST_LOG_FORMAT" envDefault:"json"`
}

// Telemetry says what is exported over OTLP. Its variables are OpenTelemetry's own, and the exporters read the rest of
// them (headers, protocol, sampling, resource attributes). Metrics are served to Prometheus on the operator port anyway.
type Telemetry struct {
	// Endpoint is where traces and metrics are sent.
	Endpoint string `env:"OTEL_EXPORTER_OTLP_ENDPOINT" example:"http://127.0.0.1:4318"`
	// TracesEndpoint is where traces are sent instead.
	TracesEndpoint string `env:"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" example:"http://127.0.0.1:4318/v1/traces"`
	// MetricsEndpoint is where metrics are sent instead.
	MetricsEndpoint string `env:"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT" example:"http://127.0.0.1:4318/v1/metrics"`
	// TracesExporter is the exporter of traces: otlp, console or none. Empty: otlp if there is an endpoint, else none.
	TracesExporter string `env:"OTEL_TRACES_EXPORTER" example:"otlp"`
	// MetricsExporter is the exporter of metrics beside Prometheus: otlp, console or none. Empty: otlp if there is an
	// endpoint, else none.
	MetricsExporter string `env:"OTEL_METRICS_EXPORTER" example:"otlp"`
	// Disabled turns every export over OTLP off.
	Disabled bool `env:"OTEL_SDK_DISABLED" envDefault:"false"`
}

// Debug is for people who look into a process.
type Debug struct {
	// Addr is where profiles of CPU, memory and goroutines are served, in the form of Go's pprof. They tell what the process
	// does and hold, so nothing but loopback is accepted. Empty: nowhere.
	Addr string `env:"HOLDFAST_DEBUG_ADDR" example:"127.0.0.1:6060"`
}

// Dev configures what `holdfast dev` (`make run`) starts. Everything it starts listens on loopback only.
type Dev struct {
	// Dir is the directory that holds all data: PostgreSQL's, Temporal's and the built tools.
	Dir string `env:"HOLDFAST_DEV_DIR" envDefault:".holdfast"`
	// TemporalPort is the port of Temporal's frontend service.
	TemporalPort Port `env:"HOLDFAST_DEV_TEMPORAL_PORT" envDefault:"7233"`
	// TemporalUIPort is the port of Temporal Web.
	TemporalUIPort Port `env:"HOLDFAST_DEV_TEMPORAL_UI_PORT" envDefault:"8233"`
	// PostgresPort is the port of PostgreSQL; 0 takes any free one.
	PostgresPort Port `env:"HOLDFAST_DEV_POSTGRES_PORT" envDefault:"0"`
}
