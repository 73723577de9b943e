package archtest

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

// otelAPI is the part of OpenTelemetry that instrumented code needs; the SDK and the exporters belong to internal/telemetry.
var otelAPI = []string{
	"go.opentelemetry.io/otel!", "go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/codes",
	"go.opentelemetry.io/otel/metric", "go.opentelemetry.io/otel/propagation", "go.opentelemetry.io/otel/trace",
}

func libraries(paths ...string) []string { return append(paths, otelAPI...) }

const (
	whyNoStore = "its effect on PostgreSQL goes through an interface of its own, so that the store can fail, change and be " +
		"replaced without it"
	whyNoIO       = "a workflow is replayed: whatever is not decided by its history makes the replay differ"
	whyNoTemporal = "rows must mean the same whoever writes them; orchestration stands in workflows"
	whyNoProcess  = "a tool works beside whatever runs, and runs none of it"
	whyPure       = "a definition runs nothing and reaches nowhere: it is data, and its engine a pure function"
	whyPlumbing   = "plumbing serves the domain and knows nothing of it; internal/process copies values between them"
)

// neverInSQL is forbidden in every package below persistence.
var neverInSQL = []Ban{
	{"go.temporal.io", whyNoTemporal},
	{"github.com/gofiber/fiber", "how a request is answered is no business of a table"},
}

// Table is the import table of the architecture.
var Table = []Rule{
	{
		Package: "event",
		Why:     "the vocabulary is spoken by every package, so it depends on none",
	},
	{
		Package: "event/fold",
		Why:     "what an entity is follows from its changes alone, wherever they are stored and whoever asks",
		Ours:    []string{"event"},
	},
	{
		Package: "event/operation",
		Why:     "what operators start has one vocabulary, whoever starts, runs and stores it",
		Ours:    []string{"event", "event/retention"},
	},
	{
		Package: "event/oversight",
		Why:     "what operators see has one vocabulary, whoever tells, stores and shows it",
		Ours:    []string{"event"},
	},
	{
		Package: "event/retention",
		Why:     "what is kept, and for how long, has one vocabulary, whoever removes, archives and shows it",
		Ours:    []string{"event"},
	},
	{
		Package:   "event/tally",
		Why:       "a counter that several parts of the product add to is created once",
		Libraries: libraries(),
	},
	{
		Package:   "providers/definition",
		Why:       "what a file may say is data, which can be read and be wrong without anything that acts on it",
		Ours:      []string{"event", "internal/word"},
		Libraries: []string{"github.com/goccy/go-yaml"},
		Never:     []Ban{{"os/exec", whyPure}, {"net", whyPure}, {"os", "a file system is given, so that the built-in files are one"}},
	},
	{
		Package: "providers/decode",
		Why:     "how bytes become values depends on nothing but the rule for them",
		Ours:    []string{"event", "providers/definition"},
		Never:   []Ban{{"os", whyPure}, {"net/http", whyPure}},
	},
	{
		Package:   "providers/jq",
		Why:       "an expression sees its input and nothing else, not even the definition that it stands in",
		Ours:      []string{"event", "providers/decode"},
		Libraries: []string{"github.com/itchyny/gojq"},
		Never:     []Ban{{"os", whyPure}, {"net", whyPure}},
	},
	{
		Package: "providers/auth/denial",
		Why:     "why somebody was refused is told to operators and logs, without what was asked and by which secret",
	},
	{
		Package: "providers/auth",
		Why:     "what decides who gets in is small enough to be read at once, and uses the standard library alone",
		Ours:    []string{"event", "providers/auth/denial", "providers/definition", "providers/decode"},
		Never:   []Ban{{"os", "secrets come from the function that the caller gives"}, {"net/http", whyPure}},
	},
	{
		Package: "providers/mapping",
		Why:     "what an event means is a pure function of the receipt, the body and the definition",
		Ours:    []string{"event", "providers/definition", "providers/decode", "providers/jq", "providers/auth"},
		Never:   []Ban{{"os", whyPure}, {"net/http", whyPure}},
	},
	{
		Package: "providers",
		Why:     "a definition is data and its engine a pure function: it can be tried out without any server",
		Ours: []string{"event", "event/operation", "providers/definition", "providers/decode", "providers/jq", "providers/auth",
			"providers/mapping"},
		Never: []Ban{{"os/exec", whyPure}},
	},
	{
		Package: "providers/lint",
		Why:     "what is found in a definition is found by those who run it, through what they show to everybody",
		Ours: []string{"event", "providers", "providers/definition", "providers/decode", "providers/jq", "providers/auth",
			"providers/auth/denial", "providers/mapping"},
		Never: []Ban{{"os/exec", whyPure}},
	},
	{
		Package: "ingress",
		Why:     "HTTP only: it receives, limits and answers, and leaves it to the intake where an event is committed",
		// delivery, for the handlers that answer questions; runs, for the terms of a response.
		Ours: []string{"event", "event/oversight", "providers", "providers/auth", "providers/auth/denial", "providers/definition",
			"ingress/intake", "workflows/runs", "delivery/webhook"},
		Libraries: libraries("github.com/gofiber/fiber/v2", "github.com/valyala/fasthttp",
			"github.com/google/uuid",
			"github.com/hashicorp/golang-lru/v2", "golang.org/x/time"),
		Never: []Ban{
			{"holdfast/persistence", whyNoStore}, {"github.com/jackc/pgx", whyNoStore}, {"go.temporal.io", whyNoTemporal},
		},
	},
	{
		Package:   "ingress/intake",
		Why:       "an event is committed as long as one store can commit, whoever has received it and however it was sent",
		Ours:      []string{"event", "event/oversight", "event/tally", "workflows/runs"},
		Libraries: libraries("github.com/google/uuid", "github.com/sony/gobreaker/v2", "golang.org/x/sync"),
		Never: []Ban{
			{"holdfast/persistence", whyNoStore}, {"github.com/jackc/pgx", whyNoStore}, {"go.temporal.io", whyNoTemporal},
			{"net", "how a request comes in is no business of a commit"},
		},
	},
	{
		Package: "workflows/runs",
		Why:     "calls to Temporal's client stand here, so that its limits and errors are known in one place",
		Ours:    []string{"event", "event/operation", "event/oversight", "workflows"},
		Libraries: []string{"github.com/google/uuid", "golang.org/x/sync", "go.temporal.io/sdk/client",
			"go.temporal.io/sdk/converter", "go.temporal.io/sdk/temporal", "go.temporal.io/api"},
		Never: []Ban{
			{"holdfast/persistence", whyNoStore}, {"github.com/jackc/pgx", whyNoStore},
			{"net/http", "how a request is answered is no business of a run"},
		},
	},
	{
		Package: "workflows",
		Why:     "orchestration only: it reads no configuration, does no I/O, and refers to activities by name and payload",
		Ours:    []string{"event", "event/operation", "event/retention", "delivery", "activities", "activities/operations"},
		Libraries: []string{"go.temporal.io/sdk/workflow", "go.temporal.io/sdk/temporal", "go.temporal.io/sdk/worker",
			"go.temporal.io/sdk/converter", "go.temporal.io/sdk/log", "go.temporal.io/api/enums"},
		Never: []Ban{
			{"net", whyNoIO}, {"os", whyNoIO}, {"database/sql", whyNoIO}, {"math/rand", whyNoIO},
			{"crypto/rand", whyNoIO}, {"log", whyNoIO}, {"sync", whyNoIO}, {"holdfast/internal", whyNoIO},
		},
	},
	{
		Package: "activities",
		Why:     "a step is called by Temporal and calls what it is given; it starts nothing and stores nothing by itself",
		Ours:    []string{"event", "event/oversight", "event/tally", "providers"},
		Libraries: libraries("go.temporal.io/sdk/activity", "go.temporal.io/sdk/temporal", "go.temporal.io/sdk/converter",
			"go.temporal.io/sdk/interceptor", "go.temporal.io/sdk/log"),
		Never: []Ban{{"holdfast/persistence", whyNoStore}, {"github.com/jackc/pgx", whyNoStore}},
	},
	{
		Package: "activities/operations",
		Why:     "what runs events again starts runs and waits for them; how a step is done stands elsewhere",
		Ours: []string{"activities", "activities/reconcile", "delivery", "event", "event/operation", "event/oversight",
			"event/retention"},
		Libraries: libraries("go.temporal.io/sdk/activity"),
		Never:     []Ban{{"holdfast/persistence", whyNoStore}, {"github.com/jackc/pgx", whyNoStore}},
	},
	{
		Package: "operator/redrive",
		Why:     "what an operator does means the same from the command line and from the API, whatever stores and runs it",
		Ours:    []string{"event", "event/fold", "event/operation", "event/oversight"},
	},
	{
		Package: "activities/reconcile",
		Why:     "what one store lacks means the same to the sweep and after a restore, whatever the stores are",
		Ours:    []string{"event", "event/operation"},
	},
	{
		Package: "operator/importer",
		Why:     "what a file says is known without anything that keeps or applies it",
		Ours: []string{"event", "event/operation", "event/retention", "internal/word", "providers",
			"providers/auth"},
		Libraries: []string{"github.com/google/uuid"},
		Never: []Ban{
			{"holdfast/persistence", whyNoStore}, {"github.com/jackc/pgx", whyNoStore}, {"go.temporal.io", whyNoTemporal},
			{"os", "a file is given, so that standard input is one"},
		},
	},
	{
		Package: "internal/ledger",
		Why:     "what was sent is written down and judged the same, whoever sends it and wherever it is stored",
		Ours:    []string{"event"},
	},
	{
		Package:   "internal/ledger/visibility",
		Why:       "what Temporal knows of a ledger is asked for here, so that the ledger itself needs none",
		Ours:      []string{"internal/ledger", "workflows"},
		Libraries: []string{"go.temporal.io/api"},
	},
	{
		Package:   "persistence/archive",
		Why:       "what is kept in files is a line that an import reads; where it comes from and goes to is given",
		Ours:      []string{"event/operation", "event/oversight", "event/retention"},
		Libraries: []string{"github.com/google/uuid", "github.com/klauspost/compress", "github.com/minio/minio-go/v7"},
	},
	{
		Package:   "internal/loadgen",
		Why:       "it sends what providers send and knows nothing of what becomes of it: that is judged from the ledger",
		Ours:      []string{"providers", "providers/auth", "internal/ledger"},
		Libraries: []string{"github.com/valyala/fasthttp", "github.com/HdrHistogram/hdrhistogram-go"},
		Never:     []Ban{{"holdfast/ingress", "a sender that shares code with the receiver shares its mistakes"}},
	},
	{
		Package: "event/feed",
		Why:     "what is told of an event is a vocabulary and a hub: not where it is stored, nor how it is sent",
	},
	{
		Package: "delivery",
		Why: "the vocabulary of what goes out, with the IDs (UUIDv5) that receivers see: not how an attempt is made, nor where " +
			"deliveries are stored",
		Ours:      []string{"event", "providers/decode", "providers/definition", "providers/jq"},
		Libraries: []string{"github.com/google/uuid", "github.com/hashicorp/golang-lru/v2"},
		Never:     []Ban{{"net/http", "how an attempt is made stands below"}, {"os", whyPure}},
	},
	{
		Package:   "delivery/webhook",
		Why:       "outbound HTTP: how an attempt is made, not when or for whom",
		Ours:      []string{"event", "delivery", "providers/auth", "providers/auth/denial", "providers/definition", "providers/jq"},
		Libraries: libraries("github.com/hashicorp/golang-lru/v2", "golang.org/x/sync", "golang.org/x/time"),
	},
	{
		Package: "delivery/handoff",
		Why:     "how an event becomes a workflow or a signal in somebody's own Temporal, not when or for whom",
		Ours:    []string{"event", "delivery", "providers/jq"},
		Libraries: libraries("go.temporal.io/sdk", "go.temporal.io/api", "google.golang.org/grpc", "google.golang.org/protobuf",
			"github.com/google/uuid"),
		Never: []Ban{{"holdfast/persistence", whyNoStore}, {"github.com/jackc/pgx", whyNoStore}},
	},
	{
		Package:   "delivery/dispatch",
		Why:       "what waits is worked off by rows alone, whatever an attempt is and wherever rows are",
		Ours:      []string{"event", "event/oversight", "delivery"},
		Libraries: libraries("github.com/google/uuid", "golang.org/x/sync"),
		Never: []Ban{
			{"holdfast/persistence", whyNoStore}, {"github.com/jackc/pgx", whyNoStore}, {"go.temporal.io", whyNoTemporal},
		},
	},
	{
		Package:   "delivery/admin",
		Why:       "what an operator does means the same from the command line and from the API, whatever stores and sends it",
		Ours:      []string{"event", "event/oversight", "delivery", "providers", "providers/definition"},
		Libraries: []string{"github.com/google/uuid"},
		Never:     []Ban{{"holdfast/persistence", whyNoStore}, {"github.com/jackc/pgx", whyNoStore}},
	},
	{
		Package:   "persistence/postgres",
		Why:       "how PostgreSQL is spoken to, and what its errors mean, depends on no table",
		Ours:      []string{"event"},
		Libraries: []string{"github.com/jackc/pgx/v5", "github.com/jackc/puddle/v2"},
		Never:     neverInSQL,
	},
	{
		Package:   "persistence/audit",
		Why:       "an audit entry is written in the transaction of the change that it records, and knows nothing else of it",
		Ours:      []string{"event/oversight", "persistence/postgres"},
		Libraries: []string{"github.com/jackc/pgx/v5"},
		Never:     neverInSQL,
	},
	{
		Package:   "persistence/errorlog",
		Why:       "what failed is recorded next to the flow, and never stops it",
		Ours:      []string{"event", "event/oversight", "persistence/postgres"},
		Libraries: []string{"github.com/jackc/pgx/v5"},
		Never:     neverInSQL,
	},
	{
		Package:   "persistence/operations",
		Why:       "operations of every kind are kept in one way, whatever they do",
		Ours:      []string{"event", "event/operation", "event/oversight", "persistence/audit", "persistence/postgres"},
		Libraries: []string{"github.com/jackc/pgx/v5"},
		Never:     neverInSQL,
	},
	{
		Package:   "persistence/rates",
		Why:       "a rate is counted by rows alone, whatever it bounds",
		Ours:      []string{"event", "persistence/postgres"},
		Libraries: []string{"github.com/jackc/pgx/v5"},
		Never:     neverInSQL,
	},
	{
		Package:   "persistence/changes",
		Why:       "what happened is told by whoever makes it happen, in its own transaction, and is not judged here",
		Ours:      []string{"event/feed", "persistence/postgres"},
		Libraries: []string{"github.com/jackc/pgx/v5"},
		Never:     neverInSQL,
	},
	{
		Package:   "persistence/entities",
		Why:       "the state of an entity is the fold of its changes, whoever brings them",
		Ours:      []string{"event", "event/fold", "event/feed", "persistence/postgres"},
		Libraries: []string{"github.com/jackc/pgx/v5"},
		Never:     neverInSQL,
	},
	{
		Package:   "persistence/names",
		Why:       "which names are one is known from the names alone, whatever happens to what they name",
		Ours:      []string{"event", "persistence/entities"},
		Libraries: []string{"github.com/jackc/pgx/v5"},
		Never:     neverInSQL,
	},
	{
		Package:   "persistence/records",
		Why:       "the row of an event reads the same to everybody, so that whoever reads one needs nobody who writes",
		Ours:      []string{"event", "persistence/postgres"},
		Libraries: []string{"github.com/jackc/pgx/v5"},
		Never:     neverInSQL,
	},
	{
		Package: "persistence/outbox",
		Why:     "what waits and what has ended is worked off by rows alone, whoever has queued it",
		Ours: []string{"delivery", "event", "event/oversight", "persistence/changes", "persistence/audit",
			"persistence/postgres"},
		Libraries: []string{"github.com/google/uuid", "github.com/jackc/pgx/v5"},
		Never:     neverInSQL,
	},
	{
		Package: "persistence/subscriptions",
		Why:     "who says where events go gives deliveries to the outbox, and works off none of them",
		Ours: []string{"delivery", "event", "event/operation", "event/oversight", "persistence/audit",
			"persistence/operations", "persistence/outbox", "persistence/postgres"},
		Libraries: []string{"github.com/jackc/pgx/v5", "golang.org/x/sync"},
		Never:     neverInSQL,
	},
	{
		Package: "persistence/writer",
		Why:     "there is one writer of events, and all that touches what an event did goes through it",
		Ours: []string{"event", "event/operation", "event/oversight", "event/feed", "persistence/changes", "persistence/entities",
			"persistence/audit", "persistence/names", "persistence/postgres", "persistence/records",
			"persistence/subscriptions"},
		Libraries: []string{"github.com/google/uuid", "github.com/jackc/pgx/v5"},
		Never:     neverInSQL,
	},
	{
		Package: "persistence/rebuilds",
		Why:     "what is read again goes the way of all events; how far a rebuild has come is no business of the writer",
		Ours: []string{"event", "event/fold", "event/operation", "event/oversight", "persistence/entities",
			"persistence/audit", "persistence/operations", "persistence/postgres", "persistence/records", "persistence/writer"},
		Libraries: []string{"github.com/jackc/pgx/v5"},
		Never:     neverInSQL,
	},
	{
		Package: "persistence/deadletters",
		Why:     "a dead letter is what the writer could not do, never the other way round",
		Ours: []string{"delivery", "event", "event/operation", "event/oversight", "event/retention", "persistence/audit",
			"persistence/operations", "persistence/outbox", "persistence/postgres", "persistence/records", "persistence/writer"},
		Libraries: []string{"github.com/jackc/pgx/v5"},
		Never:     neverInSQL,
	},
	{
		Package: "persistence/inbox",
		Why:     "what leaves the inbox without a run is a dead letter whose key is claimed; nothing else is known of it",
		Ours: []string{"event", "persistence/deadletters", "persistence/postgres", "persistence/records",
			"persistence/writer"},
		Libraries: []string{"github.com/jackc/pgx/v5"},
		Never:     neverInSQL,
	},
	{
		Package: "persistence/imports",
		Why:     "what is brought is kept here until the writer has it; what it cannot read is a dead letter",
		Ours: []string{"event", "event/fold", "event/operation", "event/oversight", "persistence/audit", "persistence/deadletters",
			"persistence/operations", "persistence/postgres", "persistence/writer"},
		Libraries: []string{"github.com/jackc/pgx/v5"},
		Never:     neverInSQL,
	},
	{
		Package: "persistence/read",
		Why:     "who reads takes the form of a row from the room that has it, and changes nothing",
		Ours: []string{"event", "event/fold", "event/oversight", "persistence/entities", "persistence/inbox",
			"persistence/postgres", "persistence/records",
			"delivery", "persistence/outbox"}, // events are listed by the status of their deliveries
		Libraries: []string{"github.com/jackc/pgx/v5"},
		Never:     neverInSQL,
	},
	{
		Package: "persistence/upkeep",
		Why:     "what goes is named by the room that keeps it",
		Ours: []string{"event", "event/oversight", "event/retention", "persistence/changes", "persistence/deadletters",
			"persistence/entities", "persistence/audit", "persistence/outbox", "persistence/postgres", "persistence/rates",
			"persistence/records", "persistence/writer"},
		Libraries: []string{"github.com/jackc/pgx/v5"},
		Never:     neverInSQL,
	},
	{
		Package: "persistence/ledgers",
		Why:     "a judge of what is stored shares the form of rows with those who write them, and none of their ways",
		// ledger, for comparing stored events with sent ones.
		Ours:      []string{"delivery", "event", "internal/ledger", "persistence/entities", "persistence/postgres"},
		Libraries: []string{"github.com/jackc/pgx/v5"},
		Never:     neverInSQL,
	},
	{
		Package: "persistence",
		Why:     "each package below has its tables and knows none of its callers; the store only opens and joins them",
		Ours: []string{"persistence/audit", "persistence/changes", "persistence/deadletters", "persistence/entities",
			"persistence/errorlog", "persistence/imports", "persistence/inbox", "persistence/ledgers", "persistence/outbox",
			"persistence/postgres", "persistence/rates", "persistence/read", "persistence/rebuilds", "persistence/subscriptions",
			"persistence/upkeep", "persistence/writer"},
		Libraries: []string{"github.com/jackc/pgx/v5/pgxpool"},
		Never:     neverInSQL,
	},
	{
		Package:   "migrations",
		Why:       "numbered SQL must run the same in ten years, whatever has become of the code around it",
		Libraries: []string{"github.com/pressly/goose/v3", "github.com/jackc/pgx/v5"},
	},
	{
		Package: "operator/access",
		Why:     "who gets in is decided without knowing what for",
		Ours:    []string{"event/oversight", "internal/word"},
	},
	{
		Package: "operator/httpapi",
		Why:     "a request is read, and refused, in one way, whatever it asks for and whoever may ask",
		// feed, for its followers' errors.
		Ours:      []string{"event", "event/operation", "event/oversight", "internal/word", "event/feed", "operator/access"},
		Libraries: []string{"github.com/gofiber/fiber/v2", "github.com/google/uuid"},
		Never: []Ban{
			{"holdfast/persistence", whyNoStore}, {"github.com/jackc/pgx", whyNoStore},
			{"go.temporal.io/sdk/client", whyNoTemporal},
		},
	},
	{
		Package: "operator/api/deliveryapi",
		Why:     "what goes out is shown and changed through interfaces, whatever came in and however an attempt is made",
		Ours: []string{"delivery", "delivery/admin", "event", "event/operation", "event/oversight",
			"operator/httpapi"},
		Libraries: []string{"github.com/gofiber/fiber/v2", "github.com/google/uuid"},
		Never: []Ban{
			{"holdfast/persistence", whyNoStore}, {"github.com/jackc/pgx", whyNoStore},
			{"go.temporal.io/sdk/client", whyNoTemporal},
		},
	},
	{
		Package: "operator/api",
		Why:     "it shows what it is given through interfaces of its own, to whoever has been let in",
		Ours: []string{"delivery", "event", "event/fold", "event/operation", "event/oversight", "internal/word", "event/feed",
			"operator/api/deliveryapi", "operator/httpapi"},
		Libraries: []string{"github.com/gofiber/fiber/v2", "github.com/fasthttp/websocket", "github.com/valyala/fasthttp",
			"github.com/google/uuid"},
		Never: []Ban{
			{"holdfast/persistence", whyNoStore}, {"github.com/jackc/pgx", whyNoStore},
			{"go.temporal.io/sdk/client", whyNoTemporal},
		},
	},
	{
		Package: "operator/dispatcher",
		Why:     "it is the API in the form that a dispatcher's clients know, for no more than is theirs, on whichever port shows it",
		Ours: []string{"delivery", "event", "event/oversight", "operator/access", "operator/api", "operator/api/deliveryapi",
			"operator/httpapi"},
		Libraries: []string{"github.com/gofiber/fiber/v2", "github.com/valyala/fasthttp", "github.com/google/uuid"},
		Never: []Ban{
			{"holdfast/persistence", whyNoStore}, {"github.com/jackc/pgx", whyNoStore},
			{"go.temporal.io/sdk/client", whyNoTemporal},
		},
	},
	{
		Package:   "operator",
		Why:       "it serves what it is given, and lets in who may have it",
		Ours:      []string{"event", "event/oversight", "operator/access", "operator/api", "operator/httpapi"},
		Libraries: libraries("github.com/gofiber/fiber/v2", "github.com/valyala/fasthttp", "golang.org/x/sync"),
		Never: []Ban{
			{"holdfast/persistence", whyNoStore}, {"github.com/jackc/pgx", whyNoStore},
			{"go.temporal.io/sdk/client", whyNoTemporal},
		},
	},
	{
		Package:   "operator/console/frame",
		Why:       "what all pages share is drawn without knowing what a page is about",
		Ours:      []string{"event", "event/feed", "internal/printable", "operator", "operator/access", "operator/httpapi"},
		Libraries: []string{"github.com/gofiber/fiber/v2"},
		Never: []Ban{
			{"holdfast/persistence", whyNoStore}, {"github.com/jackc/pgx", whyNoStore},
			{"go.temporal.io/sdk/client", whyNoTemporal},
		},
	},
	{
		Package: "operator/console/plot",
		Why:     "what is drawn of the metrics depends on nothing but their values",
		Ours:    []string{"operator/console/frame"}, // number formats
	},
	{
		Package: "operator/console",
		Why:     "it is one more face of the API, which decides what somebody sees and may do",
		Ours: []string{"delivery", "delivery/admin", "event", "event/feed", "event/fold", "event/operation", "event/oversight",
			"operator",
			"operator/access", "operator/api", "operator/api/deliveryapi", "operator/console/frame", "operator/console/plot",
			"operator/httpapi",
			// the content of a definition, and its result for a request
			"providers", "providers/auth", "providers/auth/denial", "providers/lint"},
		Libraries: libraries("github.com/gofiber/fiber/v2", "github.com/valyala/fasthttp", "github.com/google/uuid"),
		Never: []Ban{
			{"holdfast/persistence", whyNoStore}, {"github.com/jackc/pgx", whyNoStore},
			{"go.temporal.io/sdk/client", whyNoTemporal},
		},
	},
	{
		Package: "internal/printable",
		Why:     "a text of somebody else is shown alike in a terminal and in a browser",
	},
	{
		Package: "internal/word",
		Why:     "a text that names one of a closed set is read alike from a command line, a request and a file",
	},
	{
		Package:   "internal/config",
		Why:       whyPlumbing,
		Ours:      []string{"internal/payloadcodec", "internal/word"}, // checks keys at load; suggests names
		Libraries: []string{anything},
	},
	{
		Package: "internal/payloadcodec",
		Why:     "what encrypts is small enough to be read at once, and blind to what it encrypts",
		Libraries: []string{"go.temporal.io/api/common", "go.temporal.io/sdk/converter", "go.temporal.io/sdk/temporal",
			"go.temporal.io/sdk/workflow", "google.golang.org/protobuf"},
	},
	{
		Package:   "internal/telemetry",
		Why:       whyPlumbing,
		Libraries: []string{anything},
	},
	{
		Package:   "internal/buildinfo",
		Why:       "it is read before anything else runs",
		Libraries: nil,
	},
	{
		Package: "internal/config/reference",
		Why:     "the page of all variables is written from what is declared, and never by the product",
		Ours:    []string{"internal/config"},
	},
	{
		Package:   "internal/devstack/child",
		Why:       "a child process is kept running whatever server it is",
		Libraries: []string{"github.com/shirou/gopsutil/v4"},
	},
	{
		Package:   "internal/devstack",
		Why:       whyPlumbing,
		Ours:      []string{"internal/devstack/child"},
		Libraries: []string{anything},
	},
	{
		Package: "internal/devstack/program",
		Why:     "it builds the product, whoever is to run it",
	},
	{
		Package:   "internal/devstack/temporalserver",
		Why:       "a Temporal server as of production is run for tests and the benchmark, and never by the product",
		Ours:      []string{"internal/devstack", "internal/devstack/child"},
		Libraries: []string{"go.temporal.io/api", "go.temporal.io/sdk/client", "google.golang.org/protobuf"},
	},
	{
		Package:   "internal/devstack/stacktest",
		Why:       whyPlumbing,
		Ours:      []string{"internal/devstack", "internal/devstack/child"},
		Libraries: []string{anything},
	},
	{
		Package:   "internal/notify",
		Why:       whyPlumbing,
		Libraries: []string{anything},
	},
	{
		Package: "internal/archtest",
		Why:     "a judge of the code depends on none of it",
	},
	{
		Package: "internal/installation",
		Why:     "what all processes and tools share is opened in one way, whoever asks for it",
		Ours: []string{"persistence/archive", "delivery/admin", "delivery/handoff", "delivery/webhook", "event/oversight",
			"event/retention", "internal/buildinfo", "internal/config", "internal/notify", "internal/telemetry", "migrations",
			"persistence", "workflows/runs", "workflows"},
		Libraries: []string{"go.temporal.io/api", "go.temporal.io/sdk/client", "go.temporal.io/sdk/interceptor!",
			"go.temporal.io/sdk/temporal"},
	},
	{
		Package: "internal/process/operators",
		Why:     "what people see of a process is made of parts that are given, and is served by whoever has them",
		Ours: []string{"delivery/admin", "event", "event/feed", "internal/config", "internal/doctor", "internal/installation",
			"internal/payloadcodec", "internal/telemetry", "operator", "operator/access", "operator/api",
			"operator/api/deliveryapi", "operator/console", "operator/console/plot", "operator/dispatcher", "persistence",
			"providers", "providers/auth", "providers/definition", "operator/redrive", "workflows/runs"},
		Libraries: []string{"go.temporal.io/sdk/client"},
		Never:     []Ban{{"holdfast/internal/devstack", "what runs in production starts no servers"}},
	},
	{
		Package: "internal/process",
		Why:     "it wires the roles together, and can be run by whoever has a configuration",
		Ours: []string{"activities", "activities/operations", "delivery", "delivery/dispatch", "delivery/handoff",
			"delivery/webhook", "event", "event/operation", "event/oversight", "ingress", "ingress/intake", "internal/buildinfo",
			"internal/config", "internal/installation", "internal/notify", "internal/payloadcodec",
			"internal/process/operators", "internal/telemetry", "migrations", "operator", "operator/access", "operator/api",
			"persistence", "providers", "providers/lint", "workflows/runs", "workflows"},
		Libraries: []string{"go.temporal.io/sdk/client", "go.temporal.io/sdk/interceptor!", "go.temporal.io/sdk/worker"},
		Never:     []Ban{{"holdfast/internal/devstack", "what runs in production starts no servers"}},
	},
	{
		Package: "internal/dev",
		Why:     "one machine with everything on it is a process beside servers, and no role of its own",
		Ours: []string{"delivery", "event", "event/oversight", "internal/config", "internal/devstack",
			"internal/devstack/child", "internal/installation", "internal/process", "internal/process/operators",
			"persistence", "providers", "providers/auth", "workflows"},
		Libraries: []string{"github.com/standard-webhooks/standard-webhooks/libraries", "golang.org/x/sync",
			"go.temporal.io/sdk/worker", "go.temporal.io/sdk/workflow"},
	},
	{
		Package: "internal/doctor",
		Why:     "it looks at an installation as it is, and shows nothing by itself",
		Ours: []string{"delivery", "event", "event/operation", "event/oversight", "event/feed", "internal/config",
			"internal/installation", "internal/word", "migrations", "persistence", "providers", "providers/lint", "activities/reconcile",
			"workflows/runs", "workflows"},
		Libraries: []string{"github.com/google/uuid", "go.temporal.io/api", "go.temporal.io/sdk/client"},
		Never:     []Ban{{"holdfast/internal/process", "a patient that is down is examined as well"}},
	},
	{
		Package: "internal/cli",
		Why:     "all commands have one form, whatever they are about",
		// --json prints the operator API's views.
		Ours: []string{"delivery", "event", "event/operation", "event/oversight", "internal/printable", "internal/word",
			"internal/config", "internal/installation", "operator/httpapi", "persistence", "providers",
			"providers/auth", "operator/redrive", "workflows/runs"},
		Libraries: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/google/uuid", "go.temporal.io/api",
			"go.temporal.io/sdk/client", "golang.org/x/term"},
		Never: []Ban{{"holdfast/internal/process", whyNoProcess}},
	},
	{
		Package: "internal/cli/operate",
		Why:     "a command asks and prints; what is asked for stands in the domain",
		// moving and providers, for an expunge that folds entities from the archive.
		Ours: []string{"persistence/archive", "event", "event/operation", "event/oversight", "event/retention", "internal/word",
			"internal/buildinfo", "internal/cli", "internal/config", "internal/doctor", "internal/installation",
			"internal/payloadcodec", "operator/importer", "operator/access", "providers", "activities/reconcile", "workflows/runs"},
		Libraries: []string{"github.com/spf13/cobra"},
		Never:     []Ban{{"holdfast/internal/process", whyNoProcess}},
	},
	{
		Package: "internal/cli/events",
		Why:     "a command asks and prints; what is asked for stands in the domain",
		Ours: []string{"event", "event/fold", "event/operation", "internal/cli",
			"internal/cli/deadletter", "internal/cli/destination", "operator/api", "operator/api/deliveryapi", "operator/httpapi",
			"providers", "operator/redrive"},
		Libraries: []string{"github.com/spf13/cobra"},
		Never:     []Ban{{"holdfast/internal/process", whyNoProcess}},
	},
	{
		Package:   "internal/cli/deadletter",
		Why:       "a command asks and prints; what is asked for stands in the domain",
		Ours:      []string{"event", "event/operation", "event/oversight", "internal/cli", "operator/api", "operator/redrive"},
		Libraries: []string{"github.com/spf13/cobra", "github.com/google/uuid"},
	},
	{
		Package: "internal/cli/destination",
		Why:     "a command asks and prints; what is asked for stands in the domain",
		Ours: []string{"delivery", "delivery/admin", "delivery/webhook", "event", "event/operation", "event/oversight",
			"internal/cli", "internal/installation", "operator/importer",
			"operator/api/deliveryapi", "operator/httpapi", "providers", "providers/definition", "operator/redrive"},
		Libraries: []string{"github.com/spf13/cobra", "github.com/goccy/go-yaml"},
		Never:     []Ban{{"holdfast/internal/process", whyNoProcess}},
	},
	{
		Package: "internal/cli/importer",
		Why:     "a command asks and prints; what is asked for stands in the domain",
		Ours: []string{"persistence/archive", "event/operation", "internal/cli", "internal/cli/destination", "operator/importer",
			"providers"},
		Libraries: []string{"github.com/spf13/cobra"},
		Never:     []Ban{{"holdfast/internal/process", whyNoProcess}},
	},
	{
		Package: "internal/cli/definition",
		Why:     "a definition can be tried out without any server",
		Ours: []string{"event/oversight", "internal/cli", "internal/config", "operator/httpapi", "providers",
			"providers/auth", "providers/auth/denial", "providers/definition", "providers/lint"},
		Libraries: []string{"github.com/spf13/cobra"},
	},
	{
		Package:   "internal/cli/listen",
		Why:       "it follows a Holdfast from outside, by its API alone, and changes nothing there",
		Ours:      []string{"event", "event/feed", "internal/cli", "internal/config", "providers", "providers/auth"},
		Libraries: []string{"github.com/spf13/cobra"},
		Never:     []Ban{{"holdfast/persistence", "who develops against events has a token and no database"}},
	},
	{
		Package: "internal/cli/load",
		Why:     "what is sent is judged from the ledger and from what is stored, whoever received it",
		Ours: []string{"internal/word", "internal/cli", "internal/config", "internal/installation", "event", "internal/ledger",
			"internal/ledger/visibility", "internal/loadgen", "persistence", "providers", "providers/auth"},
		Libraries: []string{"github.com/spf13/cobra", "github.com/google/uuid"},
		Never:     []Ban{{"holdfast/ingress", "a sender that shares code with the receiver shares its mistakes"}},
	},
	{
		Package: "cmd/holdfast",
		Why:     "it names the commands, and does nothing by itself",
		Ours: []string{"internal/cli", "internal/cli/deadletter", "internal/cli/definition", "internal/cli/listen",
			"internal/cli/load", "internal/cli/importer", "internal/cli/operate", "internal/cli/destination", "internal/cli/events",
			"internal/config", "internal/dev", "internal/installation", "internal/process"},
		Libraries: []string{"github.com/spf13/cobra"},
		Never:     []Ban{{"holdfast/internal/devstack/stacktest", "the binary carries no code for tests"}},
	},
	{
		Package: "bench",
		Why:     "it measures the built binary from outside, and is no part of it",
		Ours: []string{"bench/figures", "bench/lab", "bench/yardstick", "delivery", "event", "event/oversight", "internal/ledger",
			"internal/devstack/program", "internal/loadgen", "persistence", "providers"},
		Libraries: []string{"github.com/spf13/cobra", "github.com/google/uuid", "github.com/jackc/pgx/v5"},
	},
	{
		Package: "bench/figures",
		Why:     "what was found is shown in the same way whatever was measured",
	},
	{
		Package:   "bench/lab",
		Why:       "how servers are started and measured does not depend on what is measured",
		Ours:      []string{"workflows", "internal/devstack", "internal/devstack/temporalserver"},
		Libraries: []string{"github.com/jackc/pgx/v5", "go.temporal.io", "google.golang.org/protobuf"},
	},
	{
		Package: "bench/yardstick",
		Why:     "what the product is compared with shares the event with the product and nothing else",
		Ours:    []string{"event"},
		Libraries: []string{"go.temporal.io", "google.golang.org/grpc", "github.com/google/uuid", "github.com/jackc/pgx/v5",
			"github.com/valyala/fasthttp"},
		Never: []Ban{
			{"holdfast/workflows", "an opponent that shares code with the product is none"},
			{"holdfast/ingress", "an opponent that shares code with the product is none"},
		},
	},
	{
		Package:   "e2e",
		Why:       "the whole is tested as programs from the outside",
		OnlyTests: true,
	},
	{
		Package:   "e2e/chaos",
		Why:       "the whole is tested as programs from the outside, while they fail",
		OnlyTests: true,
	},
	{
		Package:   "e2e/console",
		Why:       "the console is tested in a browser, on the program from the outside",
		OnlyTests: true,
	},
	{
		Package:   "e2e/importer",
		Why:       "moving in is tested with old databases, on the program from the outside",
		OnlyTests: true,
	},
	{
		Package:   "e2e/clients",
		Why:       "what the providers' own libraries sign is held against the ingress alone, in this process",
		OnlyTests: true,
	},
	{
		Package:   "workflows/histories",
		Why:       "what is measured while histories are replayed is not mixed with what the tests of workflows execute",
		OnlyTests: true,
	},
	{
		Package:   "deploy",
		Why:       "what is deployed is checked, not programmed",
		OnlyTests: true,
	},
}
