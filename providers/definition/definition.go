package definition

import (
	"slices"

	"holdfast/event"
)

// Definition is one YAML file as written. Fields of type JQ have the source of an expression, whose input is {headers, query,
// path, body}, with the variables $root (the batch's envelope without its items, or null) and $item (within `each` of an entity
// mapping).
type Definition struct {
	Name    string `yaml:"name"`
	Extends string `yaml:"extends"`
	Title   string `yaml:"title"`
	Docs    string `yaml:"docs"`
	// Sources are the evidence for the definition. They aren't inherited: a definition that extends it has its own.
	Sources []Source `yaml:"sources"`
	// Why explains the keys and entities.
	Why       Why      `yaml:"why"`
	Paths     []string `yaml:"paths"`
	BodyLimit int      `yaml:"body_limit"`
	Maximum   *Maximum `yaml:"maximum"`
	// Gzip accepts compressed bodies: plain if the signature covers the body before compression, wire if it covers what is sent.
	Gzip string `yaml:"gzip"`
	// Secrets is the default secret name of the schemes, so that a definition can extend another with its own.
	Secrets string   `yaml:"secrets"`
	Auth    []Scheme `yaml:"auth"`
	// Queues are read by the ingress: each message is handled like a request, without authentication.
	Queues     []Queue     `yaml:"queues"`
	Challenges []Challenge `yaml:"challenges"`
	Keep       Keep        `yaml:"keep"`
	Decode     []Decode    `yaml:"decode"`
	Batch      *Batch      `yaml:"batch"`
	// Get is events if a GET with a signature over its URL is an event. Its query is the body, as a form.
	Get    string `yaml:"get"`
	Source JQ     `yaml:"source"`
	Type   JQ     `yaml:"type"`
	// Empty and NotObject say what happens to an authentic request without a body, and to one whose body is JSON but not an object:
	// refuse (default), ignore (it is acknowledged, but no event), or keep (it becomes a dead letter).
	Empty     string `yaml:"empty"`
	NotObject string `yaml:"not_object"`
	// Untyped is accept (default: the type is unknown), or reject.
	Untyped string    `yaml:"untyped"`
	Refuse  []Refusal `yaml:"refuse"`
	// Unsigned is the reason why type, source and entities may depend on what the signature doesn't cover.
	Unsigned   string    `yaml:"unsigned"`
	Key        *Key      `yaml:"key"`
	Dedupe     *Duration `yaml:"dedupe"`
	Redelivery string    `yaml:"redelivery"`
	Replay     Replay    `yaml:"replay"`
	OccurredAt []Time    `yaml:"occurred_at"`
	Entities   []Entity  `yaml:"entities"`
	Priority   string    `yaml:"priority"`
	// Lane is workflow (default: one for each event), or bulk: batches process the events from the inbox.
	Lane    string    `yaml:"lane"`
	Timeout *Duration `yaml:"timeout"`
	// OnTimeout is retry (default: a timeout says nothing about the event), or fail.
	OnTimeout  string     `yaml:"on_timeout"`
	Retry      *Retry     `yaml:"retry"`
	Overrides  []Override `yaml:"overrides"`
	Rate       *Rate      `yaml:"rate"`
	SourceRate *Rate      `yaml:"source_rate"`
	ClientRate *Rate      `yaml:"client_rate"`
	Replies    Replies    `yaml:"replies"`
	Questions  []Question `yaml:"questions"`
	Redact     []JQ       `yaml:"redact"`
	API        *API       `yaml:"api"`
	Recover    *Recover   `yaml:"recover"`
	Fetch      []Fetch    `yaml:"fetch"`
	// Samples have an event of each type, for `holdfast send` and for tests.
	Samples map[string]Sample `yaml:"samples"`
}

// Sample generates an event. The input of Body is {id, now, rfc3339}: a unique text, and the time in unix seconds and as RFC
// 3339. In Headers, {id} stands for the id.
type Sample struct {
	Body    JQ                `yaml:"body"`
	Headers map[string]string `yaml:"headers"`
	// Item generates the same event as it is in the provider's list of events. Its input is that of Body.
	Item JQ `yaml:"item"`
}

// JQ is the source of an expression.
type JQ string

// Duration is an event.Duration written as "30s", "1h30m", "7d" or "forever" (which is 0).
type Duration event.Duration

// Challenge answers a handshake, which is not an event.
type Challenge struct {
	Method string `yaml:"method"` // POST (default), GET, HEAD, OPTIONS
	// Auth authenticates this handshake instead of the definition's schemes.
	Auth *Scheme `yaml:"auth"`
	// Open is the reason why the handshake needs no authentication.
	Open string `yaml:"open"`
	When JQ     `yaml:"when"`
	// HMAC is a text. Its HMAC-SHA256 with the secret that has authenticated the request is .hmac in Reply.
	HMAC JQ `yaml:"hmac"`
	// HMACEncoding is hex (default) or base64.
	HMACEncoding string        `yaml:"hmac_encoding"`
	Reply        JQ            `yaml:"reply"`
	Headers      map[string]JQ `yaml:"headers"`
	Status       int           `yaml:"status"`
	ContentType  string        `yaml:"content_type"`
}

// Refusal is a condition under which a request is answered with 400 and its events aren't stored. It holds if When returns
// true.
type Refusal struct {
	When    JQ     `yaml:"when"`
	Message string `yaml:"message"`
}

// Keep lists what a receipt keeps of the request in addition to the body.
type Keep struct {
	Headers []string `yaml:"headers"`
	Query   []string `yaml:"query"`
}

// Decode is a rule for decoding a body; the first whose ContentType matches is used.
type Decode struct {
	ContentType string `yaml:"content_type"`
	As          string `yaml:"as"` // json, form, multipart, text, jwt (the payload of a signed token)
	// JSONField is a form field that, if present, contains the JSON body.
	JSONField string `yaml:"json_field"`
	// JWTField is the dotted path of a signed token in a JSON body, whose payload is the body.
	JWTField string `yaml:"jwt_field"`
	// Tokens are dotted paths, within the payload of a token, of further tokens. Their payloads take their places.
	Tokens []string `yaml:"tokens"`
	// RubyFields are top-level fields whose text is Ruby's Hash#inspect (or JSON) and is parsed in place.
	RubyFields []string `yaml:"ruby_fields"`
}

// Batch splits a request. Items is the dotted path to the array of events; "." is the body, which may also be a single event.
type Batch struct {
	Items string `yaml:"items"`
	// Parts cuts an event with long lists into several events.
	Parts *Parts `yaml:"parts"`
}

// Parts cuts the lists of an event (an item, or the body) into events with Size of their elements each, in order. Every part has
// the rest of the event. Lists are dotted paths from the event, which may lead through lists.
type Parts struct {
	Lists []string `yaml:"lists"`
	Size  int      `yaml:"size"`
}

// Key defines how an event is identified.
type Key struct {
	// Parts are expressions; the last may be the word body_sha256, for the hash of the body.
	Parts          []Part    `yaml:"parts"`
	Fallback       string    `yaml:"fallback"` // body_sha256
	FallbackWindow *Duration `yaml:"fallback_window"`
	// Varies are the dotted paths of body values that may differ between deliveries of one event; * is the whole body.
	Varies []string `yaml:"varies"`
	// Delivery is the sender's delivery ID, the same in every retry. It is part of a guessed key. If the key isn't declared as
	// guessed, the same body with another delivery ID is a conflict.
	Delivery JQ `yaml:"delivery"`
	// Certainty is certain if the parts identify one event: an authenticated ID, or a combination that the provider documents as
	// unique per event and stable across retries. It is guessed if two events can have the same parts: then the delivery ID, if
	// any, and the hash of the body without Varies are part of the key. Unset, the key is made as before this field existed.
	Certainty string `yaml:"certainty"`
	// InDoubt determines what happens to an event with a guessed key whose content arrived before: accept marks it, hold makes it
	// a dead letter of class in_doubt.
	InDoubt string `yaml:"in_doubt"`
	// RetrySpan is the documented time from the first to the last attempt of one delivery. A guessed key without a delivery ID
	// counts as a duplicate for this long plus an hour.
	RetrySpan *Duration `yaml:"retry_span"`
	// Hash is bytes (default), or json: the hash in a guessed key is that of the JSON value, so that a copy of the body stored as
	// JSON has the same key. php_json also treats an empty object as an empty list, like a copy made by PHP.
	Hash string `yaml:"hash"`
	// Flood is how many events with equal content are accepted per day; the rest are held. The default is 100.
	Flood int `yaml:"flood"`
	// Before is the key that the previous release made. Events that have it are recognized until this field is removed.
	Before *Key `yaml:"before"`
	// Unsigned is the reason why the key may depend on what the signature doesn't cover.
	Unsigned string `yaml:"unsigned"`
}

// Part is one part of a key: an expression, optionally marked as allowed to be empty.
type Part struct {
	Expr     JQ   `yaml:"expr"`
	Optional bool `yaml:"optional"`
}

// Time is a possible place of an event's time, with its possible units.
type Time struct {
	Expr  JQ       `yaml:"expr"`
	Units []string `yaml:"units"`
	// Strict makes the event a dead letter if the value isn't a plausible time.
	Strict bool `yaml:"strict"`
}

// Entity maps an event to a change of an entity.
type Entity struct {
	Types    []string `yaml:"types"`
	When     JQ       `yaml:"when"`
	Each     JQ       `yaml:"each"`
	Kind     string   `yaml:"kind"`
	KindFrom JQ       `yaml:"kind_from"`
	ID       IDs      `yaml:"id"`
	// Scope is where the ID is unique: at the provider, or within the source of the event, which is then part of it.
	Scope    string   `yaml:"scope"`
	Op       string   `yaml:"op"`
	DeleteOn []string `yaml:"delete_on"`
	State    JQ       `yaml:"state"`
	// Related maps fields of the state to the kinds of other entities. The names in the field's object are their IDs.
	Related map[string]string `yaml:"related"`
	Version JQ                `yaml:"version"`
	// Fetched rules apply only if the state was fetched, which is .fetched in their expressions.
	Fetched bool `yaml:"fetched"`
}

// IDs are the names of an entity, best first: one expression, or a list of them. The first that an event has is the ID, and the
// others are aliases of the entity.
type IDs []JQ

// Retry is a list of delays, or a backoff.
type Retry struct {
	Attempts    *int       `yaml:"attempts"`
	Delays      []Duration `yaml:"delays"`
	Initial     *Duration  `yaml:"initial"`
	Coefficient float64    `yaml:"coefficient"`
	Maximum     *Duration  `yaml:"maximum"`
	Jitter      *float64   `yaml:"jitter"`
}

// Replay sets the automatic replay of dead events; unset values use the global configuration. A plain text sets Automatic.
type Replay struct {
	// Automatic is on (default), or off, which leaves dead events to the operators.
	Automatic string `yaml:"automatic"`
	// Base is the pause before the first attempt; it doubles with each.
	Base     *Duration `yaml:"base"`
	Attempts int       `yaml:"attempts"`
	// Classes are the failure classes that are retried: transient, failed, rejected.
	Classes []string `yaml:"classes"`
}

// Override changes parts of the definition for some event types; the first one that matches applies.
type Override struct {
	Types      []string  `yaml:"types"`
	Ignore     bool      `yaml:"ignore"`
	Key        *Key      `yaml:"key"`
	Dedupe     *Duration `yaml:"dedupe"`
	OccurredAt []Time    `yaml:"occurred_at"`
	Entities   []Entity  `yaml:"entities"`
	Priority   string    `yaml:"priority"`
	Lane       string    `yaml:"lane"`
	Timeout    *Duration `yaml:"timeout"`
	OnTimeout  string    `yaml:"on_timeout"`
	Retry      *Retry    `yaml:"retry"`
}

// Rate allows Requests in every span of Per (1s to 1h), possibly all at once. Further requests are answered with 429 and
// Retry-After, and not stored. `rate` is for all authentic requests of the provider, `source_rate` for those of each source:
// the processes of an installation share both. `client_rate` is for each address (for IPv6: each /64) that sends to the
// provider, authentic or not, and each process counts for itself. The text "none" allows any number.
type Rate struct {
	Requests int      `yaml:"requests"`
	Per      Duration `yaml:"per"`
}

// MaxBodyLimit is the largest limit of a request's body that a definition can set, in bytes.
const MaxBodyLimit = event.MaxBody

// Unlimited is the value of Requests for `rate: none`: no limit, not even the one configured for all providers.
const Unlimited = -1

// Replies is the table of statuses; 0 means the default. The first two are 2xx, the others 4xx or 5xx: a sender must never be
// told that an event is stored if it isn't.
type Replies struct {
	Accepted    int `yaml:"accepted"`     // an event is durable: 202
	Duplicate   int `yaml:"duplicate"`    // all events of the request are duplicates: 200
	Unauthentic int `yaml:"unauthentic"`  // no scheme authenticates the request: 401
	TooLarge    int `yaml:"too_large"`    // the body is over the limit: 413
	Invalid     int `yaml:"invalid"`      // a refuse condition holds: 400
	RateLimited int `yaml:"rate_limited"` // over a rate: 429, with Retry-After
	Unavailable int `yaml:"unavailable"`  // no store available: 503, with Retry-After
	// Body returns the body of every 2xx to events. Its input is the usual one. No value and null are an empty body; a text is
	// the body verbatim, unless ContentType is JSON.
	Body JQ `yaml:"body"`
	// ContentType is the content type of Body: application/json by default.
	ContentType string `yaml:"content_type"`
}

// Question is for events whose sender waits for an answer. They are stored and processed like any other; once they are durable,
// the answer comes from the handler within the deadline, or else from the fallback expression.
type Question struct {
	Types []string `yaml:"types"`
	// Handler is the variable with the URL that receives the raw body by POST. Its answer is passed on if it is of ContentType, a
	// 2xx, and in time.
	Handler string `yaml:"handler"`
	// Deadline counts from the arrival of the request: 5s (default), at most 1m.
	Deadline *Duration `yaml:"deadline"`
	// Fallback returns the answer if there is no handler, or none that answers; its input is that of all expressions. No value
	// and null are an empty body; a text is the body verbatim, unless ContentType is JSON.
	Fallback JQ  `yaml:"fallback"`
	Status   int `yaml:"status"` // of the answer: 200 (default), or another 2xx
	// ContentType is the content type of every answer, including the handler's: application/json by default.
	ContentType string `yaml:"content_type"`
}

// The values of Gzip.
const (
	GzipPlain = "plain"
	GzipWire  = "wire"
)

// Lane is how a durable event is processed.
type Lane string

// The lanes of a definition.
const (
	// LaneWorkflow gives the event a workflow of its own.
	LaneWorkflow Lane = "workflow"
	// LaneBulk leaves the event in the inbox, where a batch processes it together with others. If it fails there, it gets a
	// workflow of its own.
	LaneBulk Lane = "bulk"
)

// Origin says where the definition of a provider comes from.
type Origin string

// The origins of a definition.
const (
	// OriginBuiltIn: a file of the built-in catalogue.
	OriginBuiltIn Origin = "built-in"
	// OriginOverridden: a user's file with the name of a built-in one, which extends or replaces it.
	OriginOverridden Origin = "overridden"
	// OriginOwn: a user's file with a name of its own.
	OriginOwn Origin = "own"
)

// HasBulk reports whether some or all events go to the bulk lane.
func (d *Definition) HasBulk() bool {
	return Lane(d.Lane) == LaneBulk ||
		slices.ContainsFunc(d.Overrides, func(o Override) bool { return Lane(o.Lane) == LaneBulk })
}
