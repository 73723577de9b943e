package archtest

import (
	"slices"
	"strings"
)

const module = "holdfast"

// anything allows every import of its kind.
const anything = "*"

// Rule defines what one package may import.
type Rule struct {
	// Package is its path relative to the module.
	Package string
	// Why is the reason for the rule, printed on a violation.
	Why string
	// Ours are the packages of this module that it may import, by path relative to the module.
	Ours []string
	// Libraries are the allowed prefixes of imports from other modules.
	Libraries []string
	// Never lists paths that are forbidden although the fields above would allow them, or that deserve their own reason.
	Never []Ban
	// OnlyTests marks a package without code.
	OnlyTests bool
}

// Ban forbids a path and everything below it, and says why.
type Ban struct{ Path, Why string }

func list(names string) []string { return strings.Fields(names) }

// never forbids paths for one reason.
func never(why string, paths ...string) (bans []Ban) {
	for _, path := range paths {
		bans = append(bans, Ban{path, why})
	}
	return bans
}

// otelAPI is the part of OpenTelemetry that instrumented code needs; the SDK and the exporters belong to internal/telemetry.
var otelAPI = list("go.opentelemetry.io/otel! go.opentelemetry.io/otel/attribute go.opentelemetry.io/otel/codes " +
	"go.opentelemetry.io/otel/metric go.opentelemetry.io/otel/propagation go.opentelemetry.io/otel/trace")

func withOtel(libraries string) []string { return append(list(libraries), otelAPI...) }

const (
	whyNoStore    = "it changes PostgreSQL through its own interface, so that tests can make the store fail and it can be replaced"
	whyNoIO       = "a workflow is replayed: anything that its history doesn't determine makes the replay differ"
	whyNoTemporal = "rows must mean the same whatever writes them; orchestration belongs to workflows"
	whyOneDoor    = "a command is a client of the operator API, so that it does the same with --operator and without"
	whyNoProcess  = "a tool works next to running processes and runs none itself"
	whyPure       = "a definition is data and its engine a pure function: no I/O"
	whyPlumbing   = "plumbing doesn't know the domain; internal/process copies values between them"
	whyCommand    = "a command parses its arguments and prints; the domain does the work"
	whyAction     = "an action has the same meaning on the command line and in the API, with any store and sender"
)

// The bans that several packages share.
var (
	neverStore      = never(whyNoStore, "holdfast/persistence", "github.com/jackc/pgx")
	neverTemporal   = never(whyNoTemporal, "go.temporal.io")
	neverInOperator = slices.Concat(neverStore, never(whyNoTemporal, "go.temporal.io/sdk/client"))
	neverInSQL      = slices.Concat(neverTemporal, never("tables are independent of HTTP responses", "github.com/gofiber/fiber"))
)

// Table is the import table of the architecture.
var Table = []Rule{
	{Package: "event", Why: "the shared vocabulary: every package imports it, so it imports none"},
	{Package: "event/eventtype",
		Why:       "a type means the same in a file, in the API and for a published event, with any store",
		Ours:      list("event"),
		Libraries: list("github.com/santhosh-tekuri/jsonschema/v6"),
		Never:     never("a schema is data: references are never followed to files or the network", "os", "net")},
	{Package: "event/fold",
		Why:  "an entity's state depends on its changes only, not on where they are stored or who reads them",
		Ours: list("event")},
	{Package: "event/operation",
		Why:  "one vocabulary for the operations that operators start, shared by API, workflows and store",
		Ours: list("event event/retention")},
	{Package: "event/oversight", Why: "one vocabulary for what operators see, shared by API, store and console",
		Ours: list("event")},
	{Package: "event/retention", Why: "one vocabulary for what is kept and for how long, shared by purge, archive and API",
		Ours: list("event")},
	{Package: "event/shape", Why: "what events look like depends on their bodies only, not on who keeps or shows it",
		Ours: list("event")},
	{Package: "event/tally", Why: "counters that several packages add to are created once, and sets of labels kept once",
		Libraries: withOtel("github.com/hashicorp/golang-lru/v2")},
	{Package: "providers/definition",
		Why:       "a definition file is data: it can be read and checked without anything that acts on it",
		Ours:      list("event internal/word"),
		Libraries: list("github.com/goccy/go-yaml"),
		Never: slices.Concat(never(whyPure, "os/exec", "net"),
			never("the file system is a parameter, so that built-in files are read in the same way", "os"))},
	{Package: "providers/decode", Why: "decoding depends only on the bytes and the definition's decoding rules",
		Ours:      list("event providers/definition providers/auth/jws"),
		Libraries: list("golang.org/x/sync"), // for the turns of large bodies
		Never:     never(whyPure, "os", "net/http")},
	{Package: "providers/jq", Why: "an expression depends only on its input, not on the definition that contains it",
		Ours:      list("event providers/decode"),
		Libraries: list("github.com/itchyny/gojq"),
		Never:     never(whyPure, "os", "net")},
	{Package: "providers/auth/denial",
		Why:  "the reasons for a refusal go to operators and logs, and must not contain parts of the request or secrets",
		Ours: list("internal/word")},
	{Package: "providers/auth/jws",
		Why:   "tokens and keys are read in one way, by the scheme that verifies them and by what fetches the keys",
		Never: never(whyPure, "os", "net")},
	{Package: "providers/auth/urlform", Why: "which forms of a URL senders sign is independent of the scheme"},
	{Package: "providers/auth",
		Why:   "authentication must be small enough to review in one sitting, so it uses only the standard library",
		Ours:  list("event providers/auth/denial providers/auth/jws providers/auth/urlform providers/definition providers/decode"),
		Never: slices.Concat(never("secrets come from a function that the caller passes", "os"), never(whyPure, "net/http"))},
	{Package: "providers/mapping", Why: "an event's meaning is a pure function of receipt, body and definition",
		Ours:  list("event/shape event providers/definition providers/decode providers/jq providers/auth"),
		Never: never(whyPure, "os", "net/http")},
	{Package: "providers/recovery",
		Why:   "which request reads a page, and what the page means, depends on the definition and the answer only",
		Ours:  list("event providers/definition providers/decode providers/jq providers/auth providers/mapping"),
		Never: never(whyPure, "os", "net/http")},
	{Package: "providers/client", Why: "one page over HTTP, with the caller's transport and secrets",
		Ours:      list("providers/auth providers/recovery"),
		Libraries: list("golang.org/x/oauth2"),
		Never:     never("secrets come from a function that the caller passes", "os")},
	{Package: "providers/receiving",
		Why:   "what is done with a request before an event is read from it, by its headers, its size and its bytes",
		Ours:  list("event providers/definition providers/decode providers/jq providers/auth providers/mapping"),
		Never: never(whyPure, "os")},
	{Package: "providers/reading", Why: "which events a request has, and what they mean, doesn't depend on how it was received",
		Ours: list("event/shape event providers/definition providers/decode providers/jq providers/auth providers/mapping " +
			"providers/recovery"),
		Never: never(whyPure, "os", "net/http")},
	{Package: "providers",
		Why: "a definition is data and its engine a pure function, so that it can be tried without a server",
		Ours: list("event/shape event event/operation providers/definition providers/decode providers/jq providers/auth " +
			"providers/auth/jws " +
			"providers/mapping providers/recovery providers/reading providers/receiving"),
		Never: never(whyPure, "os/exec")},
	{Package: "internal/lint/infer", Why: "rules about the fields of a body are general: they are independent of definitions"},
	{Package: "internal/lint", Why: "lint runs definitions through their public API, as users do",
		Ours: list("event internal/lint/infer internal/word providers providers/definition providers/decode providers/jq " +
			"providers/auth providers/auth/denial providers/mapping providers/reading providers/receiving"),
		Never: never(whyPure, "os/exec")},
	{Package: "ingress", Why: "HTTP only: it receives, limits and answers; the intake decides where an event is committed",
		// delivery, for the handlers that answer questions; runs, for the terms of a response.
		Ours: list("event event/eventtype event/oversight event/tally providers providers/auth providers/auth/denial " +
			"providers/decode ingress/intake ingress/limits ingress/queues workflows/runs delivery/webhook providers/reading " +
			"providers/receiving"),
		Libraries: withOtel("github.com/gofiber/fiber/v2 github.com/valyala/fasthttp github.com/google/uuid " +
			"github.com/hashicorp/golang-lru/v2 golang.org/x/time"),
		Never: slices.Concat(neverStore, neverTemporal)},
	{Package: "ingress/limits", Why: "what a client may use is independent of how a request arrives, and of how it is refused",
		Ours:      list("event providers providers/reading providers/receiving"),
		Libraries: list("github.com/hashicorp/golang-lru/v2 golang.org/x/time"),
		Never:     slices.Concat(neverStore, neverTemporal, never("a limit is independent of how a request arrives", "net/http"))},
	{Package: "ingress/intake", Why: "an event is committed if one store can commit it, independent of how it was received",
		Ours:      list("event event/oversight event/tally workflows/runs"),
		Libraries: withOtel("github.com/google/uuid github.com/sony/gobreaker/v2 golang.org/x/sync"),
		Never:     slices.Concat(neverStore, neverTemporal, never("a commit is independent of how a request arrives", "net"))},
	{Package: "ingress/queues", Why: "which queues are read, and when a message is acknowledged, is independent of what it means",
		Ours: list("event event/oversight event/tally internal/broker internal/clienttls internal/proxy providers/receiving"),
		Libraries: withOtel("github.com/aws/aws-sdk-go-v2 github.com/nats-io/nats.go github.com/rabbitmq/amqp091-go " +
			"github.com/twmb/franz-go " +
			"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb google.golang.org/grpc"),
		Never: slices.Concat(neverStore, neverTemporal)},
	{Package: "workflows/runs",
		Why:  "all calls to Temporal's client are here, so that its limits and errors are handled in one place",
		Ours: list("event event/operation event/oversight workflows"),
		Libraries: list("github.com/google/uuid golang.org/x/sync go.temporal.io/sdk/client go.temporal.io/sdk/converter " +
			"go.temporal.io/sdk/temporal go.temporal.io/api"),
		Never: slices.Concat(neverStore, never("a run is independent of the response to a request", "net/http"))},
	{Package: "workflows", Why: "orchestration only: no configuration, no I/O; activities are referenced by name and payload",
		Ours: list("event event/operation event/retention delivery activities activities/background"),
		Libraries: list("go.temporal.io/sdk/workflow go.temporal.io/sdk/temporal go.temporal.io/sdk/worker " +
			"go.temporal.io/sdk/converter go.temporal.io/sdk/log go.temporal.io/api/enums"),
		Never: never(whyNoIO, "net", "os", "database/sql", "math/rand", "crypto/rand", "log", "sync", "holdfast/internal")},
	{Package: "activities", Why: "steps are called by Temporal and call interfaces; they start and store nothing directly",
		Ours: list("event event/oversight event/tally providers providers/reading"),
		Libraries: withOtel("go.temporal.io/sdk/activity go.temporal.io/sdk/temporal go.temporal.io/sdk/converter " +
			"go.temporal.io/sdk/interceptor go.temporal.io/sdk/log"),
		Never: neverStore},
	{Package: "activities/background", Why: "operations start runs and wait for them; the steps of an event are elsewhere",
		Ours:      list("event/shape activities activities/reconcile delivery event event/operation event/oversight event/retention"),
		Libraries: withOtel("go.temporal.io/sdk/activity golang.org/x/sync"),
		Never:     neverStore},
	{Package: "activities/eventlist", Why: "how a list becomes events is independent of where the events go",
		Ours: list("activities event event/operation providers providers/auth providers/decode providers/definition " +
			"providers/recovery providers/client providers/reading"),
		Never: neverStore},
	{Package: "activities/fetcher", Why: "how a state is fetched is independent of where it is stored, and of what it changes",
		Ours:      list("activities event providers providers/recovery providers/client"),
		Libraries: list("go.temporal.io/sdk/activity"),
		Never:     neverStore},
	{Package: "operator/maintenance", Why: whyAction,
		Ours:  list("activities/reconcile event event/oversight event/retention"),
		Never: slices.Concat(neverStore, neverTemporal)},
	{Package: "operator/launch", Why: whyAction,
		Ours: list("delivery event event/fold event/operation event/oversight")},
	{Package: "activities/reconcile", Why: "the sweep and a restore compare the stores in the same way, through interfaces",
		Ours:      list("event event/operation"),
		Libraries: list("golang.org/x/sync")},
	{Package: "operator/importer", Why: "import files are parsed without the code that stores or applies their records",
		Ours:      list("event event/operation event/retention internal/word providers providers/auth providers/reading"),
		Libraries: list("github.com/google/uuid"),
		Never: slices.Concat(neverStore, neverTemporal,
			never("the file is a parameter, so that it can be standard input", "os"))},
	{Package: "internal/ledger", Why: "the record of sent events and its checks are independent of sender and store",
		Ours: list("event")},
	{Package: "internal/ledger/check",
		Why: "the ledger's checks share the format of rows with the writers, but none of their code; tests and bench run them",
		// ledger, for comparing stored events with sent ones.
		Ours:      list("delivery event internal/ledger persistence/entities persistence/postgres"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "internal/archive",
		Why:       "archive files have the format of import files; their source and destination are interfaces",
		Ours:      list("event/operation event/oversight event/retention"),
		Libraries: list("github.com/google/uuid github.com/klauspost/compress github.com/minio/minio-go/v7")},
	{Package: "event/feed", Why: "a vocabulary and a hub, independent of how changes are stored or sent"},
	{Package: "delivery",
		Why:       "the vocabulary of deliveries, with the IDs (UUIDv5) that endpoints see; attempts and storage are elsewhere",
		Ours:      list("event providers/decode providers/definition providers/jq"),
		Libraries: list("github.com/google/uuid github.com/hashicorp/golang-lru/v2"),
		Never:     slices.Concat(never("the packages below make attempts", "net/http"), never(whyPure, "os"))},
	{Package: "delivery/webhook", Why: "outbound HTTP: how an attempt is made, not when or for which delivery",
		Ours: list("event delivery internal/clienttls internal/proxy providers/auth providers/auth/denial providers/auth/jws " +
			"providers/definition"),
		Libraries: withOtel("github.com/hashicorp/golang-lru/v2 golang.org/x/sync golang.org/x/time")},
	{Package: "internal/proxy", Why: "a connection through a proxy is independent of what is sent, and of what may be reached"},
	{Package: "internal/clienttls", Why: "how a client proves who it is with a certificate is independent of where that is stored"},
	{Package: "internal/broker", Why: "a broker is reached in the same way by what sends to it and by what reads from it",
		Libraries: list("github.com/aws/aws-sdk-go-v2 github.com/aws/smithy-go github.com/nats-io/nats.go " +
			"github.com/nats-io/nkeys github.com/rabbitmq/amqp091-go github.com/twmb/franz-go " +
			"cloud.google.com/go/compute/metadata golang.org/x/oauth2 google.golang.org/grpc")},
	{Package: "delivery/handoff",
		Why:  "how an event starts or signals a workflow in the user's Temporal, not when or for which delivery",
		Ours: list("event delivery providers/jq"),
		Libraries: withOtel("go.temporal.io/sdk go.temporal.io/api google.golang.org/grpc google.golang.org/protobuf " +
			"github.com/google/uuid"),
		Never: neverStore},
	{Package: "delivery/queue", Why: "how an event reaches a queue of a broker, not when or for which delivery",
		Ours: list("delivery delivery/webhook internal/broker"),
		Libraries: withOtel("github.com/aws/aws-sdk-go-v2 github.com/nats-io/nats.go github.com/rabbitmq/amqp091-go " +
			"github.com/twmb/franz-go " +
			"github.com/minio/minio-go/v7 golang.org/x/sync cloud.google.com/go/pubsub/v2/apiv1/pubsubpb google.golang.org/grpc " +
			"google.golang.org/protobuf"),
		Never: neverStore},
	{Package: "delivery/dispatch", Why: "deliveries are leased and settled as rows, with any sender and any store",
		Ours:      list("event event/oversight event/tally delivery"),
		Libraries: withOtel("github.com/google/uuid golang.org/x/sync"),
		Never:     slices.Concat(neverStore, neverTemporal)},
	{Package: "delivery/declared", Why: "a declaration means the same in a file, in the API and in an import, with any store",
		Ours:  list("delivery event event/eventtype"),
		Never: slices.Concat(neverStore, neverTemporal)},
	{Package: "delivery/admin", Why: whyAction,
		Ours:      list("event event/oversight delivery providers providers/definition providers/reading"),
		Libraries: list("github.com/google/uuid"),
		Never:     neverStore},
	{Package: "persistence/persistencetest", Why: "the tests of all stores have the same database, and no product code has it",
		Ours:      list("delivery event event/operation event/oversight internal/devstack/stacktest migrations persistence"),
		Libraries: list("github.com/google/uuid github.com/jackc/pgx/v5 github.com/stretchr/testify")},
	{Package: "persistence/postgres/session", Why: "migrations and stores rely on the same settings of a session"},
	{Package: "persistence/postgres", Why: "connections and error classes don't depend on tables",
		Ours:      list("event persistence/postgres/session"),
		Libraries: list("github.com/jackc/pgx/v5 github.com/jackc/puddle/v2 golang.org/x/sys/unix"),
		Never:     neverInSQL},
	{Package: "persistence/audit",
		Why:       "an audit entry is written in the transaction of the change that it records, and is independent of its content",
		Ours:      list("event/oversight persistence/postgres"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/errorlog", Why: "errors are recorded next to processing and never stop it",
		Ours:      list("event event/oversight persistence/postgres"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/eventtypes", Why: "types are stored as declared, whoever checks events against them",
		Ours:      list("event event/eventtype event/oversight persistence/audit persistence/postgres"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/minutes", Why: "counts depend neither on why a request is refused nor on what a rule is",
		Ours:      list("event event/oversight persistence/postgres"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/bulk", Why: "operations of all kinds are stored in the same way",
		Ours:      list("event event/operation event/oversight persistence/audit persistence/postgres"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/rates", Why: "rates are counted in rows, independent of what they limit",
		Ours:      list("event persistence/postgres"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/changes",
		Why:       "a change event is written in the transaction of its cause, and not interpreted here",
		Ours:      list("event/feed persistence/postgres"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/entities", Why: "an entity's state is the fold of its changes, whatever their source",
		Ours:      list("event event/fold event/feed persistence/postgres"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/names", Why: "names of one entity are matched by the names alone",
		Ours:      list("event persistence/entities"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/records", Why: "an event's row is parsed in one place, so that readers don't import the writer",
		Ours:      list("event persistence/postgres"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/outbox", Why: "deliveries are leased and settled as rows, whatever queued them",
		Ours:      list("delivery event event/oversight persistence/changes persistence/audit persistence/postgres"),
		Libraries: list("github.com/google/uuid github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/subscriptions", Why: "subscriptions add deliveries to the outbox and process none of them",
		Ours: list("delivery event event/operation event/oversight persistence/audit persistence/bulk " +
			"persistence/outbox persistence/postgres"),
		Libraries: list("github.com/jackc/pgx/v5 golang.org/x/sync"),
		Never:     neverInSQL},
	{Package: "persistence/duplicates", Why: "what repeats an event is counted and listed, whoever finds it",
		Ours:      list("event persistence/postgres"),
		Libraries: list("github.com/google/uuid github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/keys", Why: "whose a key is depends on the receipts alone, not on what is written with it",
		Ours:      list("event event/operation persistence/postgres"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/decisions",
		Why: "what an operator decided about an event is stored, and its effects undone, in one place",
		Ours: list("event event/feed event/oversight persistence/audit persistence/changes persistence/entities persistence/keys " +
			"persistence/names persistence/postgres"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/lanes", Why: "rows of the inbox leave it in the transaction that writes their event",
		Ours:      list("event persistence/postgres persistence/records"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/writer",
		Why: "there is one writer of events, and everything that changes an event's effects goes through it",
		Ours: list("event event/operation event/feed internal/batch persistence/changes persistence/entities " +
			"persistence/decisions persistence/duplicates persistence/keys persistence/lanes persistence/names persistence/postgres " +
			"persistence/records persistence/subscriptions"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/rebuilds",
		Why: "events that are read again go through the writer, which doesn't know a rebuild's progress",
		Ours: list("event event/fold event/operation event/oversight persistence/entities persistence/fetches persistence/audit " +
			"persistence/bulk persistence/keys persistence/minutes persistence/postgres persistence/records persistence/writer"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/recoveries",
		Why:       "it keeps missed events until they are started; reading a list and starting events needs no SQL",
		Ours:      list("event event/operation event/oversight persistence/audit persistence/bulk persistence/postgres"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/observed", Why: "samples are read and shapes kept as they are, whatever a definition reads",
		Ours:      list("event event/shape persistence/postgres persistence/records"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/fetches", Why: "it stores what was fetched; the API and the meaning of a state need no SQL",
		Ours:      list("event persistence/postgres"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/deadletters", Why: "dead letters depend on the writer, never the other way round",
		Ours: list("delivery event event/operation event/oversight event/retention persistence/audit " +
			"persistence/fetches persistence/bulk persistence/decisions persistence/keys persistence/lanes " +
			"persistence/outbox persistence/postgres persistence/records persistence/writer"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/inbox", Why: "an event leaves the inbox as a run, or as a dead letter whose key is claimed",
		Ours: list("event event/oversight internal/batch persistence/audit persistence/deadletters " +
			"persistence/decisions persistence/duplicates persistence/keys persistence/lanes persistence/postgres " +
			"persistence/records persistence/writer"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/imports", Why: "imported records are kept here until they are written, or become dead letters",
		Ours: list("event event/fold event/operation event/oversight persistence/audit persistence/deadletters " +
			"persistence/fetches persistence/bulk persistence/postgres persistence/writer"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/read", Why: "readers parse rows with the package that owns them, and write nothing",
		// events are listed by the status of their deliveries
		Ours: list("event event/fold event/oversight persistence/entities persistence/inbox persistence/postgres " +
			"persistence/records delivery persistence/outbox"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence/upkeep", Why: "each package that owns rows defines how they are removed",
		Ours: list("persistence/observed event event/oversight event/retention persistence/changes persistence/deadletters " +
			"persistence/decisions persistence/duplicates persistence/entities " +
			"persistence/audit persistence/fetches persistence/minutes persistence/outbox persistence/postgres persistence/rates " +
			"persistence/records"),
		Libraries: list("github.com/jackc/pgx/v5"),
		Never:     neverInSQL},
	{Package: "persistence",
		Why: "each package below owns its tables and is independent of its callers; the store only opens and joins them",
		Ours: list("persistence/observed persistence/audit persistence/changes persistence/deadletters persistence/decisions " +
			"persistence/duplicates persistence/entities " +
			"persistence/errorlog persistence/eventtypes persistence/fetches persistence/imports persistence/inbox persistence/minutes " +
			"persistence/outbox persistence/postgres persistence/rates persistence/read persistence/rebuilds persistence/recoveries " +
			"persistence/subscriptions persistence/upkeep persistence/writer"),
		Libraries: list("github.com/jackc/pgx/v5/pgxpool"),
		Never:     neverInSQL},
	{Package: "migrations", Why: "numbered SQL must run the same in ten years, so it doesn't depend on code that changes",
		// session, so that no setting of a role changes what the SQL means.
		Ours:      list("persistence/postgres/session"),
		Libraries: list("github.com/pressly/goose/v3 github.com/jackc/pgx/v5")},
	{Package: "operator/access", Why: "access control is independent of the resources that it protects",
		Ours: list("event/oversight internal/word")},
	{Package: "operator/httpapi", Why: "all handlers parse requests and write errors in the same way",
		// feed, for its followers' errors.
		Ours:      list("delivery/declared event event/operation event/oversight internal/word event/feed operator/access"),
		Libraries: list("github.com/gofiber/fiber/v2 github.com/google/uuid"),
		Never:     neverInOperator},
	{Package: "operator/api/deliveryapi", Why: "the API of deliveries uses interfaces, independent of ingress and senders",
		Ours:      list("delivery delivery/admin delivery/declared event event/operation event/oversight operator/httpapi"),
		Libraries: list("github.com/gofiber/fiber/v2 github.com/google/uuid"),
		Never:     neverInOperator},
	{Package: "operator/api/eventtypeapi", Why: "types are declared independent of what publishing does with them",
		Ours:      list("delivery/declared event/eventtype event/oversight operator/httpapi"),
		Libraries: list("github.com/gofiber/fiber/v2"),
		Never:     neverInOperator},
	{Package: "operator/api", Why: "the API uses interfaces, and leaves authentication to the server",
		Ours: list("activities/reconcile delivery event event/fold event/operation event/oversight internal/printable internal/word " +
			"event/feed event/retention operator/api/definitionapi operator/api/deliveryapi operator/api/eventtypeapi " +
			"operator/httpapi operator/importer operator/maintenance providers"),
		Libraries: list("github.com/gofiber/fiber/v2 github.com/fasthttp/websocket github.com/valyala/fasthttp " +
			"github.com/google/uuid"),
		Never: neverInOperator},
	{Package: "operator/api/definitionapi", Why: "a definition is tried without a store",
		Ours:      list("event event/shape internal/lint operator/httpapi providers providers/definition"),
		Libraries: list("github.com/gofiber/fiber/v2 github.com/google/uuid"),
		Never:     neverInOperator},
	{Package: "operator/dispatcher",
		Why: "it is the API in the dispatcher's format, limited to what its clients may use, on either port",
		Ours: list("delivery event event/eventtype event/oversight operator/access operator/api operator/api/deliveryapi " +
			"operator/httpapi"),
		Libraries: list("github.com/gofiber/fiber/v2 github.com/valyala/fasthttp github.com/google/uuid"),
		Never:     neverInOperator},
	{Package: "operator/agents", Why: "agents are clients of the operator API, with their caller's role",
		Ours: list("event event/operation event/oversight internal/lint internal/printable operator/api " +
			"operator/api/definitionapi operator/httpapi providers/mapping"),
		Libraries: list("github.com/modelcontextprotocol/go-sdk"),
		Never:     neverInOperator},
	{Package: "operator/guard", Why: "who may send a request is independent of what it does",
		// api, for the subprotocol with the token of a WebSocket.
		Ours:      list("event event/oversight operator/access operator/api operator/httpapi"),
		Libraries: list("github.com/gofiber/fiber/v2 github.com/valyala/fasthttp"),
		Never:     neverInOperator},
	{Package: "operator", Why: "it serves the handlers that it is given, and authenticates their callers",
		Ours: list("event event/oversight operator/access operator/agents operator/api operator/guard operator/httpapi"),
		Libraries: withOtel("github.com/gofiber/fiber/v2 github.com/valyala/fasthttp golang.org/x/sync " +
			"google.golang.org/grpc/test/bufconn"),
		Never: neverInOperator},
	{Package: "operator/console/frame", Why: "the layout that all pages share is independent of their content",
		Ours:      list("event event/feed internal/printable operator/access operator/guard operator/httpapi"),
		Libraries: list("github.com/gofiber/fiber/v2"),
		Never:     neverInOperator},
	{Package: "operator/console/plot", Why: "plots depend only on the values of the metrics",
		// number formats
		Ours: list("operator/console/frame")},
	{Package: "operator/console/gaps",
		Why:   "rules are compared with their events and samples in one place, for every page that warns",
		Ours:  list("event/oversight internal/lint internal/word operator/api operator/console/frame providers"),
		Never: neverInOperator},
	{Package: "operator/console/eventtypes", Why: "the pages of event types need nothing of the other pages",
		Ours:      list("event/eventtype operator/api/eventtypeapi operator/console/frame operator/guard operator/httpapi"),
		Libraries: list("github.com/gofiber/fiber/v2"),
		Never:     neverInOperator},
	{Package: "docs", Why: "the program has the pages of its version; who serves them, renders them"},
	{Package: "docs/examples/endpoint", Why: "users copy it: it uses nothing of Holdfast",
		Libraries: list("github.com/standard-webhooks/standard-webhooks/libraries")},
	{Package: "docs/examples/worker", Why: "users copy it: it uses nothing of Holdfast",
		Libraries: list("go.temporal.io/sdk/client go.temporal.io/sdk/worker go.temporal.io/sdk/workflow")},
	{Package: "operator/console/manual", Why: "the documentation is the same on every page, and needs neither a store nor the API",
		Ours:      list("docs"),
		Libraries: list("github.com/yuin/goldmark"),
		Never:     neverInOperator},
	{Package: "operator/console", Why: "it is a user interface of the API, which decides what a user may see and do",
		// the content of a definition, and its result for a request
		Ours: list("delivery delivery/admin event event/feed event/fold event/operation event/oversight internal/printable " +
			"internal/word operator/api operator/api/definitionapi operator/api/deliveryapi " +
			"operator/console/eventtypes operator/console/frame " +
			"operator/console/gaps operator/console/manual " +
			"operator/console/plot " +
			"operator/access operator/guard operator/httpapi providers providers/auth providers/auth/denial internal/lint"),
		Libraries: withOtel("github.com/gofiber/fiber/v2 github.com/valyala/fasthttp github.com/google/uuid"),
		Never:     neverInOperator},
	{Package: "internal/printable", Why: "foreign text is made safe in the same way for terminals and browsers"},
	{Package: "internal/batch", Why: "calls share a run in the same way, whatever the run does",
		// the error of a run that panicked, which stores pass on as it is
		Ours: list("event")},
	{Package: "internal/word", Why: "names from a closed set are parsed in the same way in flags, requests and files"},
	{Package: "internal/config", Why: whyPlumbing,
		// checks keys and proxies at load; suggests names
		Ours:      list("internal/payloadcodec internal/proxy internal/word"),
		Libraries: list(anything)},
	{Package: "internal/payloadcodec",
		Why: "encryption must be small enough to review in one sitting, and is independent of the payloads",
		Libraries: list("go.temporal.io/api/common go.temporal.io/sdk/converter go.temporal.io/sdk/temporal " +
			"go.temporal.io/sdk/workflow google.golang.org/protobuf")},
	{Package: "internal/telemetry", Why: whyPlumbing,
		Libraries: list(anything)},
	{Package: "internal/buildinfo", Why: "it is read before anything else runs"},
	{Package: "internal/config/reference",
		Why:  "the page of all variables is generated from their declarations, never by the product",
		Ours: list("internal/config")},
	{Package: "internal/devstack/child", Why: "any server can be supervised as a child process",
		Libraries: list("github.com/shirou/gopsutil/v4")},
	{Package: "internal/devstack", Why: whyPlumbing,
		Ours:      list("internal/devstack/child"),
		Libraries: list(anything)},
	{Package: "internal/devstack/program", Why: "it builds the product for any test"},
	{Package: "internal/devstack/temporalserver",
		Why:       "tests and the benchmark run a Temporal server as in production; the product doesn't",
		Ours:      list("internal/devstack internal/devstack/child"),
		Libraries: list("go.temporal.io/api go.temporal.io/sdk/client google.golang.org/protobuf")},
	{Package: "internal/devstack/stacktest", Why: whyPlumbing,
		Ours:      list("internal/devstack internal/devstack/child"),
		Libraries: list(anything)},
	{Package: "internal/devstack/stacktest/share", Why: "servers that packages' tests share end with the program that runs them",
		Ours: list("internal/devstack/stacktest")},
	{Package: "internal/devstack/proxytest", Why: "tests of several packages connect through the same proxies; the product doesn't",
		Libraries: list("github.com/stretchr/testify")},
	{Package: "internal/devstack/brokertest", Why: "tests of several packages use the same brokers; the product doesn't",
		Ours: list("internal/devstack/child"),
		Libraries: list("github.com/aws/aws-sdk-go-v2 github.com/nats-io/nats-server/v2 github.com/stretchr/testify " +
			"github.com/twmb/franz-go/pkg/kfake " +
			"cloud.google.com/go/pubsub/v2 google.golang.org/grpc")},
	{Package: "internal/devstack/fakeapi",
		Why: "lists of events for tests and demonstrations are made from the providers' documentation, not from the definitions"},
	{Package: "internal/devstack/faulttest", Why: "tests of deployments share their load, stand-ins and tables; the product doesn't",
		Ours:      list("internal/ledger"),
		Libraries: list("github.com/stretchr/testify")},
	{Package: "internal/notify", Why: whyPlumbing,
		// writes durations
		Ours:      list("internal/word"),
		Libraries: list(anything)},
	{Package: "internal/archtest", Why: "the check of the code doesn't depend on the checked code"},
	{Package: "internal/stores", Why: "processes and tools open their stores and clients in the same way",
		Ours: list("internal/archive delivery delivery/admin delivery/handoff delivery/queue delivery/webhook event/oversight " +
			"event/retention internal/buildinfo internal/config internal/notify internal/telemetry migrations persistence " +
			"workflows/runs " +
			"workflows"),
		Libraries: list("go.temporal.io/api go.temporal.io/sdk/client go.temporal.io/sdk/interceptor! " +
			"go.temporal.io/sdk/temporal")},
	{Package: "internal/process/operatorapi",
		Why: "the operator API is assembled from given parts, for every process that serves it and every command that uses it",
		Ours: list("activities/reconcile event/oversight event/retention operator/importer operator/maintenance " +
			"delivery/admin event event/feed event/operation internal/config internal/doctor internal/stores " +
			"internal/payloadcodec internal/telemetry operator operator/access operator/api operator/api/definitionapi " +
			"operator/api/deliveryapi operator/api/eventtypeapi " +
			"internal/lint operator/console operator/console/plot operator/dispatcher persistence persistence/imports providers " +
			"providers/auth providers/definition operator/launch workflows/runs providers/receiving"),
		Libraries: list("go.temporal.io/sdk/client google.golang.org/grpc"),
		Never:     never("production processes start no servers", "holdfast/internal/devstack")},
	{Package: "internal/process", Why: "it wires the roles together, and needs only a configuration to run",
		Ours: list("activities activities/eventlist activities/fetcher activities/background delivery delivery/dispatch " +
			"delivery/handoff delivery/queue " +
			"delivery/webhook event event/eventtype event/operation event/oversight ingress ingress/intake " +
			"ingress/limits ingress/queues " +
			"internal/buildinfo internal/config " +
			"internal/stores internal/notify internal/payloadcodec internal/process/operatorapi internal/telemetry " +
			"migrations operator operator/access operator/api persistence providers internal/lint providers/client " +
			"workflows/runs workflows providers/definition providers/reading providers/receiving"),
		Libraries: list("go.temporal.io/sdk/client go.temporal.io/sdk/interceptor! go.temporal.io/sdk/worker"),
		Never:     never("production processes start no servers", "holdfast/internal/devstack")},
	{Package: "internal/dev", Why: "`holdfast dev` is a process with servers next to it, not a role",
		Ours: list("delivery event event/oversight internal/config internal/devstack " +
			"internal/devstack/child internal/stores internal/process internal/process/operatorapi internal/telemetry " +
			"persistence providers " +
			"providers/auth workflows"),
		Libraries: list("github.com/standard-webhooks/standard-webhooks/libraries golang.org/x/sync " +
			"go.temporal.io/sdk/worker go.temporal.io/sdk/workflow")},
	{Package: "internal/doctor", Why: "it examines an installation and returns findings; callers print them",
		Ours: list("delivery event event/operation event/oversight event/feed internal/config internal/stores " +
			"internal/word migrations persistence persistence/read providers internal/lint activities/reconcile workflows/runs " +
			"workflows providers/receiving ingress/queues"),
		Libraries: list("github.com/google/uuid go.temporal.io/api go.temporal.io/sdk/client"),
		Never:     never("it must work when processes are down", "holdfast/internal/process")},
	{Package: "internal/cli", Why: "all commands have the same form",
		// operators assembles the API that commands use if they are given none.
		Ours: list("event event/operation internal/printable internal/word internal/config " +
			"internal/process/operatorapi internal/telemetry operator/api operator/httpapi providers providers/auth"),
		Libraries: list("github.com/spf13/cobra github.com/spf13/pflag golang.org/x/term")},
	{Package: "internal/cli/admin", Why: whyCommand,
		Ours: list("activities/reconcile event event/operation event/oversight event/retention internal/word internal/buildinfo " +
			"internal/cli internal/config internal/doctor internal/telemetry internal/payloadcodec operator/access operator/api"),
		Libraries: list("github.com/spf13/cobra"),
		Never:     never(whyNoProcess, "holdfast/internal/process")},
	{Package: "internal/cli/events", Why: whyCommand,
		Ours: list("event event/fold event/operation internal/cli internal/cli/deadletter internal/cli/destination operator/api " +
			"operator/api/deliveryapi operator/httpapi providers providers/recovery"),
		Libraries: list("github.com/spf13/cobra"),
		Never:     never(whyNoProcess, "holdfast/internal/process")},
	{Package: "internal/cli/agent", Why: whyCommand,
		Ours:      list("internal/buildinfo internal/cli internal/config operator/agents"),
		Libraries: list("github.com/spf13/cobra github.com/modelcontextprotocol/go-sdk"),
		Never:     never("agents have a token but no database", "holdfast/persistence")},
	{Package: "internal/cli/deadletter", Why: whyCommand,
		Ours:      list("event event/operation internal/cli operator/api"),
		Libraries: list("github.com/spf13/cobra github.com/google/uuid")},
	{Package: "internal/cli/destination", Why: whyCommand,
		Ours: list("delivery delivery/admin delivery/declared event event/operation internal/cli operator/importer " +
			"operator/api/deliveryapi operator/httpapi providers/definition"),
		Libraries: list("github.com/spf13/cobra github.com/goccy/go-yaml"),
		Never:     never(whyNoProcess, "holdfast/internal/process")},
	{Package: "internal/cli/eventtype", Why: whyCommand,
		Ours: list("delivery/declared event event/eventtype internal/cli internal/cli/destination operator/api/eventtypeapi " +
			"providers/definition"),
		Libraries: list("github.com/spf13/cobra github.com/goccy/go-yaml"),
		Never:     never(whyNoProcess, "holdfast/internal/process")},
	{Package: "internal/cli/importer", Why: whyCommand,
		Ours: list("delivery delivery/admin delivery/declared event event/operation internal/archive internal/cli " +
			"internal/cli/destination internal/movein operator/api operator/api/deliveryapi operator/httpapi operator/importer"),
		Libraries: list("github.com/spf13/cobra github.com/google/uuid"),
		Never:     never(whyNoProcess, "holdfast/internal/process")},
	{Package: "internal/movein", Why: "another gateway's API is read without knowing where its data goes",
		Ours:  list("delivery event"),
		Never: never("it reads other systems and changes nothing", "holdfast/operator", "holdfast/persistence")},
	{Package: "internal/cli/definition", Why: "a definition can be tried without a server",
		Ours: list("event/oversight internal/cli internal/config internal/word operator/httpapi providers providers/auth " +
			"providers/auth/denial providers/definition internal/lint providers/receiving ingress/queues"),
		Libraries: list("github.com/spf13/cobra")},
	{Package: "internal/cli/listen", Why: "it follows a Holdfast from outside through its API, and changes nothing there",
		Ours:      list("event event/feed internal/cli internal/config operator/api providers providers/auth"),
		Libraries: list("github.com/spf13/cobra"),
		Never:     never("developers have a token but no database", "holdfast/persistence")},
	{Package: "internal/cli/observed", Why: whyCommand,
		Ours:      list("event/shape internal/cli operator/api/definitionapi operator/httpapi"),
		Libraries: list("github.com/spf13/cobra"),
		Never:     never(whyNoProcess, "holdfast/internal/process")},
	{Package: "internal/cli/load", Why: "an event is sent as its provider would send it, whichever process receives it",
		Ours:      list("internal/word internal/cli internal/config event providers providers/auth providers/reading"),
		Libraries: list("github.com/spf13/cobra github.com/google/uuid"),
		Never:     never("a sender that shares code with the ingress shares its bugs", "holdfast/ingress")},
	{Package: "cmd/holdfast", Why: "it lists the commands and does nothing else",
		Ours: list("internal/cli internal/cli/deadletter internal/cli/definition internal/cli/listen internal/cli/load " +
			"internal/cli/observed " +
			"internal/cli/importer internal/cli/admin internal/cli/agent internal/cli/destination internal/cli/events " +
			"internal/cli/eventtype internal/config " +
			"internal/dev internal/stores internal/process"),
		Libraries: list("github.com/spf13/cobra"),
		Never:     never("the binary contains no test code", "holdfast/internal/devstack/stacktest")},
	{Package: "bench", Why: "it measures the built binary from outside, and isn't part of it",
		Ours:      list("bench/ab bench/baseline bench/peers bench/phases bench/suite"),
		Libraries: list("github.com/spf13/cobra")},
	{Package: "bench/phases", Why: "each phase measures one thing, and leaves servers and reports to the suite",
		Ours: list("bench/console bench/figures bench/lab bench/loadgen bench/scale bench/suite delivery event event/operation " +
			"event/retention internal/devstack/program persistence"),
		Libraries: list("github.com/google/uuid github.com/jackc/pgx/v5")},
	{Package: "bench/console", Why: "the console's pages are asked for by HTTP, from a database that no other phase needs",
		Ours:      list("bench/figures bench/lab bench/suite delivery event persistence"),
		Libraries: list("github.com/jackc/pgx/v5")},
	{Package: "bench/scale", Why: "what is counted in two sizes needs the lab and the store, and none of the other phases",
		Ours: list("bench/figures bench/lab bench/suite internal/devstack persistence providers")},
	{Package: "bench/ab", Why: "another revision is known by its commands, environment and counters only, whatever its tables are",
		Ours: list("bench/figures bench/lab bench/suite internal/devstack/program internal/ledger")},
	{Package: "bench/suite", Why: "servers, loads and reports are the same for all phases",
		Ours: list("bench/baseline bench/figures bench/lab bench/loadgen delivery event/oversight internal/devstack/fakeapi " +
			"internal/ledger internal/ledger/check persistence providers providers/reading"),
		Libraries: list("github.com/jackc/pgx/v5")},
	{Package: "bench/cmd/holdfast-bench",
		Why: "sent events are checked against the ledger and the database, whichever process received them",
		Ours: list("bench/loadgen bench/visibility internal/buildinfo internal/cli internal/config internal/ledger " +
			"internal/ledger/check internal/stores providers providers/auth"),
		Libraries: list("github.com/spf13/cobra")},
	{Package: "bench/loadgen", Why: "it only sends what providers send; the ledger checks what became of it",
		Ours:      list("providers providers/auth internal/ledger providers/reading"),
		Libraries: list("github.com/valyala/fasthttp github.com/HdrHistogram/hdrhistogram-go"),
		Never:     never("a sender that shares code with the ingress shares its bugs", "holdfast/ingress")},
	{Package: "bench/visibility",
		Why:       "the ledger's queries to Temporal are separate, so that the ledger itself doesn't need Temporal",
		Ours:      list("internal/ledger workflows"),
		Libraries: list("go.temporal.io/api")},
	{Package: "bench/figures", Why: "results are presented in the same way for all measurements"},
	{Package: "bench/lab", Why: "starting and measuring servers is independent of what is measured",
		Ours: list("workflows internal/devstack internal/devstack/temporalserver providers"),
		Libraries: list("github.com/jackc/pgx/v5 go.temporal.io google.golang.org/protobuf github.com/nats-io/nats-server/v2 " +
			"github.com/nats-io/nats.go github.com/twmb/franz-go")},
	{Package: "bench/peers", Why: "other systems are started and measured in the same way as Holdfast, from outside",
		Ours: list("bench/figures bench/lab bench/loadgen delivery event/oversight internal/devstack/child internal/ledger " +
			"persistence providers")},
	{Package: "bench/baseline", Why: "the programs that the product is compared with share only the event with it",
		Ours: list("event"),
		Libraries: list("go.temporal.io google.golang.org/grpc github.com/google/uuid github.com/jackc/pgx/v5 " +
			"github.com/valyala/fasthttp"),
		Never: never("a baseline must not share code with the product", "holdfast/workflows", "holdfast/ingress")},
	{Package: "e2e", OnlyTests: true, Why: "the product is tested from outside, as programs"},
	{Package: "e2e/chaos", OnlyTests: true, Why: "the product is tested from outside, as programs, during faults"},
	{Package: "e2e/cluster", OnlyTests: true, Why: "the chart is tested from outside, in a cluster"},
	{Package: "e2e/compose", OnlyTests: true, Why: "the product is tested from outside, as containers"},
	{Package: "e2e/drill", OnlyTests: true, Why: "a page's commands are run as they stand"},
	{Package: "e2e/soak", OnlyTests: true, Why: "the product is tested from outside, as programs, and judged by what it answered"},
	{Package: "e2e/versions", OnlyTests: true, Why: "tests of e2e run on other versions of the servers"},
	{Package: "e2e/console", OnlyTests: true, Why: "the console is tested from outside, in a browser"},
	{Package: "e2e/importer", OnlyTests: true, Why: "imports are tested from outside, with databases of other systems"},
	{Package: "e2e/clients", OnlyTests: true,
		Why: "signatures of the providers' own libraries are tested against an ingress in this process"},
	{Package: "workflows/histories", OnlyTests: true,
		Why: "the coverage of replayed histories is measured apart from the tests of workflows"},
	{Package: "deploy", OnlyTests: true, Why: "deployment files are tested here and contain no code"},
}
