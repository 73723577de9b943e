package definition

import "holdfast/event"

// Definition is one YAML file as it is written. Fields of type JQ hold the source of an expression, whose input is
// {headers, query, path, body}, with the variables $root (the batch's envelope without its items, or null) and $item
// (within `each` of an entity mapping).
type Definition struct {
	Name    string `yaml:"name"`
	Extends string `yaml:"extends"`
	Title   string `yaml:"title"`
	Docs    string `yaml:"docs"`
	// Sources are what the definition is made from. They are of this definition alone: what extends it has its own.
	Sources []Source `yaml:"sources"`
	// Why has the reasons for keys and entities.
	Why       Why      `yaml:"why"`
	Paths     []string `yaml:"paths"`
	BodyLimit int      `yaml:"body_limit"`
	// Secrets names the secrets of the schemes that name none, so that a definition can extend another with its own.
	Secrets    string      `yaml:"secrets"`
	Auth       []Scheme    `yaml:"auth"`
	Challenges []Challenge `yaml:"challenges"`
	Keep       Keep        `yaml:"keep"`
	Decode     []Decode    `yaml:"decode"`
	Batch      *Batch      `yaml:"batch"`
	Source     JQ          `yaml:"source"`
	Type       JQ          `yaml:"type"`
	// Untyped is accept (default: the type is unknown), or reject.
	Untyped string    `yaml:"untyped"`
	Refuse  []Refusal `yaml:"refuse"`
	// Unsigned is the reason why type, source and entities may come from something that the signature does not cover.
	Unsigned   string    `yaml:"unsigned"`
	Key        *Key      `yaml:"key"`
	Dedupe     *Duration `yaml:"dedupe"`
	Redelivery string    `yaml:"redelivery"`
	Redrive    Redrive   `yaml:"redrive"`
	OccurredAt []Time    `yaml:"occurred_at"`
	Entities   []Entity  `yaml:"entities"`
	Priority   string    `yaml:"priority"`
	// Lane is workflow (default: each event is one), or bulk: batches take the events from the inbox.
	Lane    string    `yaml:"lane"`
	Timeout *Duration `yaml:"timeout"`
	// OnTimeout is retry (default: a time-out says nothing of the event), or fail.
	OnTimeout  string     `yaml:"on_timeout"`
	Retry      *Retry     `yaml:"retry"`
	Overrides  []Override `yaml:"overrides"`
	Rate       *Rate      `yaml:"rate"`
	SourceRate *Rate      `yaml:"source_rate"`
	ClientRate *Rate      `yaml:"client_rate"`
	Replies    Replies    `yaml:"replies"`
	Questions  []Question `yaml:"questions"`
	Redact     []JQ       `yaml:"redact"`
	// Samples make an event of each type, for `holdfast send` and for tests.
	Samples map[string]Sample `yaml:"samples"`
}

// Sample makes one event. The input of Body is {id, now, rfc3339}: a text that is new every time, and the time in
// unix seconds and as RFC 3339. In Headers, {id} stands for the id.
type Sample struct {
	Body    JQ                `yaml:"body"`
	Headers map[string]string `yaml:"headers"`
}

// JQ is the source of an expression.
type JQ string

// Duration is an event.Duration that reads "30s", "1h30m", "7d" or "forever" (which is 0).
type Duration event.Duration

// Challenge answers a handshake, which is not an event.
type Challenge struct {
	Method string `yaml:"method"` // POST (default), GET, HEAD
	// Auth is what authenticates this handshake, in place of the definition's schemes.
	Auth *Scheme `yaml:"auth"`
	// Open is the reason why anybody is answered.
	Open string `yaml:"open"`
	When JQ     `yaml:"when"`
	// HMAC is a text whose HMAC-SHA256 by the secret that has authenticated the request is .hmac in Reply, in hex.
	HMAC        JQ            `yaml:"hmac"`
	Reply       JQ            `yaml:"reply"`
	Headers     map[string]JQ `yaml:"headers"`
	Status      int           `yaml:"status"`
	ContentType string        `yaml:"content_type"`
}

// Refusal is a condition under which a request is answered with 400 and its events are not stored. It holds where When gives
// true.
type Refusal struct {
	When    JQ     `yaml:"when"`
	Message string `yaml:"message"`
}

// Keep names what a receipt keeps of the request beside the body.
type Keep struct {
	Headers []string `yaml:"headers"`
	Query   []string `yaml:"query"`
}

// Decode is one rule of how a body is read; the first whose ContentType fits is used.
type Decode struct {
	ContentType string `yaml:"content_type"`
	As          string `yaml:"as"` // json, form, text
	// JSONField is a field of a form that, where it is present, holds the JSON that is the body.
	JSONField string `yaml:"json_field"`
	// RubyFields are top-level fields whose text is Ruby's Hash#inspect (or JSON) and is read in place.
	RubyFields []string `yaml:"ruby_fields"`
}

// Batch splits a request: Items is the dotted path to the array of events; "." is the body, which may as well be one event.
type Batch struct {
	Items string `yaml:"items"`
}

// Key says how an event is identified.
type Key struct {
	// Parts are expressions; the last may be the word body_sha256, for the hash of the body.
	Parts          []Part    `yaml:"parts"`
	Fallback       string    `yaml:"fallback"` // body_sha256
	FallbackWindow *Duration `yaml:"fallback_window"`
	// Varies are the dotted paths of values in the body that may differ between deliveries of one event; * is the whole body.
	Varies []string `yaml:"varies"`
	// Delivery is the sender's ID of the delivery, the same in every retry. It is part of a guessed key. Where nothing says that the
	// key is guessed, the same body with another delivery ID is a conflict.
	Delivery JQ `yaml:"delivery"`
	// Certainty is certain if the parts identify one event: an authenticated ID, or a combination that the provider documents as
	// unique per event and stable across retries. It is guessed if two events can have the same parts: then the delivery ID, if
	// there is one, and the hash of the body without Varies are part of the key. Left out, the key is made as before there was
	// this field.
	Certainty string `yaml:"certainty"`
	// InDoubt says what becomes of an event with a guessed key whose content arrived before: accept marks it, hold makes it a dead
	// letter of class in_doubt.
	InDoubt string `yaml:"in_doubt"`
	// RetrySpan is the documented time from the first to the last attempt of one delivery. A guessed key without a delivery ID
	// counts as a duplicate for this long plus an hour.
	RetrySpan *Duration `yaml:"retry_span"`
	// Hash is bytes (default), or json: the hash in a guessed key is that of the JSON value, so that a copy of the body that
	// somebody keeps as JSON has the same key. php_json also takes an empty object for an empty list, as a copy by PHP has it.
	Hash string `yaml:"hash"`
	// Flood is how many events with equal content a day are accepted; the rest are held. The default is 100.
	Flood int `yaml:"flood"`
	// Before is the key that the release before made. Events that have it are recognized until it is removed here.
	Before *Key `yaml:"before"`
	// Unsigned is the reason why the key may come from something that the signature does not cover.
	Unsigned string `yaml:"unsigned"`
}

// Part is one part of a key: an expression alone, or with a mark that it may be empty.
type Part struct {
	Expr     JQ   `yaml:"expr"`
	Optional bool `yaml:"optional"`
}

// Time is one place to look for the time of an event, with the units in which it may be written there.
type Time struct {
	Expr  JQ       `yaml:"expr"`
	Units []string `yaml:"units"`
	// Strict: a value that is no plausible time makes the event a dead letter.
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
	// Scope says where the ID is unique: at the provider, or within the source of the event, which then is part of it.
	Scope    string   `yaml:"scope"`
	Op       string   `yaml:"op"`
	DeleteOn []string `yaml:"delete_on"`
	State    JQ       `yaml:"state"`
	// Related leads from fields of the state to the kinds of other entities, whose IDs are the names in the field's object.
	Related map[string]string `yaml:"related"`
	Version JQ                `yaml:"version"`
}

// IDs are the names of an entity, best first: one expression, or a list of them. The first that an event has is the ID, and the
// others are names of the same entity.
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

// Redrive says when dead events are run again by themselves; what it leaves out is configured for all providers. A
// text alone is that of Automatic.
type Redrive struct {
	// Automatic is on (default), or off, which leaves them to the operators.
	Automatic string `yaml:"automatic"`
	// Base is the pause before the first attempt; it doubles with each.
	Base     *Duration `yaml:"base"`
	Attempts int       `yaml:"attempts"`
	// Classes are those of the failures that are tried again: transient, failed, rejected.
	Classes []string `yaml:"classes"`
}

// Override changes parts of the definition for some types of event; the first one that fits applies.
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

// Rate allows Requests in every span of Per (1s to 1h), all of them at once if need be. What comes beyond is answered
// with 429 and Retry-After, and not stored. `rate` is for all authentic requests of the provider, `source_rate` for those of each
// source: the processes of an installation share both. `client_rate` is for each address (of IPv6: each /64) that sends to the
// provider, authentic or not, and each process counts for itself. The text "none" allows any number.
type Rate struct {
	Requests int      `yaml:"requests"`
	Per      Duration `yaml:"per"`
}

// Unlimited is what `rate: none` has in place of Requests: no bound, not even the rate that is configured for all providers.
const Unlimited = -1

// Replies is the table of statuses; 0 means the default. The first two are 2xx, the others 4xx or 5xx: a sender must
// never read that something is stored which is not.
type Replies struct {
	Accepted    int `yaml:"accepted"`     // an event is durable: 202
	Duplicate   int `yaml:"duplicate"`    // all events of the request were there before: 200
	Unauthentic int `yaml:"unauthentic"`  // no scheme lets the request in: 401
	TooLarge    int `yaml:"too_large"`    // the body is over the limit: 413
	Invalid     int `yaml:"invalid"`      // a condition of refuse holds: 400
	RateLimited int `yaml:"rate_limited"` // a rate is exceeded: 429, with Retry-After
	Unavailable int `yaml:"unavailable"`  // nothing could be stored: 503, with Retry-After
	// Body makes the body of every 2xx to events. Its input is the usual one. Nothing and null are an empty body; a text is the body
	// as it stands, unless ContentType is JSON.
	Body JQ `yaml:"body"`
	// ContentType is that of Body: application/json by default.
	ContentType string `yaml:"content_type"`
}

// Question is for events whose sender waits for an answer. They are stored and processed like any other; once they
// are durable, the answer comes from the handler within the deadline, or else from the fallback expression.
type Question struct {
	Types []string `yaml:"types"`
	// Handler is the variable with the URL that the raw body is posted to. Its answer is passed on if it is of
	// ContentType, has a 2xx and comes in time.
	Handler string `yaml:"handler"`
	// Deadline counts from the arrival of the request: 5s (default), at most 1m.
	Deadline *Duration `yaml:"deadline"`
	// Fallback gives the answer where there is no handler, or none that answers; its input is that of all expressions.
	// Nothing and null are an empty body; a text is the body as it stands, unless ContentType is JSON.
	Fallback JQ  `yaml:"fallback"`
	Status   int `yaml:"status"` // of the answer: 200 (default), or another 2xx
	// ContentType is that of the answer, the handler's too: application/json by default.
	ContentType string `yaml:"content_type"`
}
