package providers

import "holdfast/event"

// A definition is one YAML file as it is written. Fields of type jq hold the source of an expression, whose input is
// {headers, query, path, body}, with the variables $root (the batch's envelope without its items, or null) and $item
// (within `each` of an entity mapping).
type definition struct {
	Name      string   `yaml:"name"`
	Extends   string   `yaml:"extends"`
	Title     string   `yaml:"title"`
	Docs      string   `yaml:"docs"`
	Paths     []string `yaml:"paths"`
	BodyLimit int      `yaml:"body_limit"`
	// Secrets names the secrets of the schemes that name none, so that a definition can extend another with its own.
	Secrets    string                `yaml:"secrets"`
	Auth       []schemeDefinition    `yaml:"auth"`
	Challenges []challengeDefinition `yaml:"challenges"`
	Keep       keepDefinition        `yaml:"keep"`
	Decode     []decodeDefinition    `yaml:"decode"`
	Batch      *batchDefinition      `yaml:"batch"`
	Source     jq                    `yaml:"source"`
	Type       jq                    `yaml:"type"`
	// Unsigned is the reason why type, source and entities may come from something that the signature does not cover.
	Unsigned   string             `yaml:"unsigned"`
	Key        *keyDefinition     `yaml:"key"`
	Dedupe     *duration          `yaml:"dedupe"`
	Redelivery string             `yaml:"redelivery"`
	Redrive    redriveDefinition  `yaml:"redrive"`
	OccurredAt []timeDefinition   `yaml:"occurred_at"`
	Entities   []entityDefinition `yaml:"entities"`
	Priority   string             `yaml:"priority"`
	// Lane is workflow (default: each event is one), or bulk: batches take the events from the inbox.
	Lane    string    `yaml:"lane"`
	Timeout *duration `yaml:"timeout"`
	// OnTimeout is retry (default: a time-out says nothing of the event), or fail.
	OnTimeout  string               `yaml:"on_timeout"`
	Retry      *retryDefinition     `yaml:"retry"`
	Overrides  []overrideDefinition `yaml:"overrides"`
	Rate       *rateDefinition      `yaml:"rate"`
	ClientRate *rateDefinition      `yaml:"client_rate"`
	Replies    repliesDefinition    `yaml:"replies"`
	Questions  []questionDefinition `yaml:"questions"`
	Redact     []jq                 `yaml:"redact"`
	// Samples make an event of each type, for `holdfast send` and for tests.
	Samples map[string]sampleDefinition `yaml:"samples"`
}

// sampleDefinition makes one event. The input of Body is {id, now, rfc3339}: a text that is new every time, and the time in
// unix seconds and as RFC 3339. In Headers, {id} stands for the id.
type sampleDefinition struct {
	Body    jq                `yaml:"body"`
	Headers map[string]string `yaml:"headers"`
}

// jq is the source of an expression.
type jq string

// duration is an event.Duration that reads "30s", "1h30m", "7d" or "forever" (which is 0).
type duration event.Duration

// schemeDefinition is one way to authenticate; exactly one of its fields is set. A definition's schemes are
// alternatives.
type schemeDefinition struct {
	HMAC    *hmacDefinition    `yaml:"hmac"`
	Ed25519 *ed25519Definition `yaml:"ed25519"`
	Token   *tokenDefinition   `yaml:"token"`
	Basic   *basicDefinition   `yaml:"basic"`
	JWT     *jwtDefinition     `yaml:"jwt"`
	Address *addressDefinition `yaml:"address"`
}

// signedDefinition is what the signing schemes share: where the parts of the signed content are.
type signedDefinition struct {
	Secrets string `yaml:"secrets"`
	// Signed is the template of the signed content: {body} {timestamp} {id} {url} {params}, and anything literal.
	Signed string `yaml:"signed"`
	// KeyPrefix is cut off a secret before it is decoded ("whsec_").
	KeyPrefix string               `yaml:"key_prefix"`
	Signature signatureDefinition  `yaml:"signature"`
	Timestamp *timestampDefinition `yaml:"timestamp"`
	ID        *idDefinition        `yaml:"id"`
	// BodyHash names the query parameter with the hex SHA-256 of a body that {params} does not cover.
	BodyHash string `yaml:"body_hash"`
}

type hmacDefinition struct {
	signedDefinition `yaml:",inline"`
	Algorithm        string `yaml:"algorithm"` // sha256 (default), sha1
	Encoding         string `yaml:"encoding"`  // hex (default), base64
	Key              string `yaml:"key"`       // text (default), base64
}

type ed25519Definition struct {
	signedDefinition `yaml:",inline"`
}

// signatureDefinition says how to read the header with the signatures.
type signatureDefinition struct {
	Header string `yaml:"header"`
	// Grammar is plain (the value), prefix (Prefix, then the value), pairs (k=v list with Separator; signatures under
	// Field) or versions (space-separated Field,signature).
	Grammar   string `yaml:"grammar"`
	Prefix    string `yaml:"prefix"`
	Separator string `yaml:"separator"`
	Field     string `yaml:"field"`
	// Exact accepts of the pairs only timestamp and signature, once each and in this order, in lower case.
	Exact bool `yaml:"exact"`
}

// timestampDefinition says where the signed time is: in a header, or in a field of the signature header's pairs.
type timestampDefinition struct {
	Header    string    `yaml:"header"`
	Field     string    `yaml:"field"`
	Unit      string    `yaml:"unit"` // s (default), ms
	Tolerance *duration `yaml:"tolerance"`
}

type idDefinition struct {
	Header string `yaml:"header"`
}

type tokenDefinition struct {
	Secrets string `yaml:"secrets"`
	In      string `yaml:"in"` // header, bearer, query, path, body
	Name    string `yaml:"name"`
}

type basicDefinition struct {
	Secrets string `yaml:"secrets"`
	User    string `yaml:"user"`
}

type jwtDefinition struct {
	Secrets string            `yaml:"secrets"`
	Leeway  *duration         `yaml:"leeway"`
	Claims  map[string]string `yaml:"claims"`
}

// addressDefinition accepts requests from networks. They stand where secrets stand, since they differ from one
// installation to the next.
type addressDefinition struct {
	Networks string `yaml:"networks"`
}

type challengeDefinition struct {
	When        jq     `yaml:"when"`
	Reply       jq     `yaml:"reply"`
	Status      int    `yaml:"status"`
	ContentType string `yaml:"content_type"`
}

// keepDefinition names what a receipt keeps of the request beside the body.
type keepDefinition struct {
	Headers []string `yaml:"headers"`
	Query   []string `yaml:"query"`
}

// decodeDefinition is one rule of how a body is read; the first whose ContentType fits is used.
type decodeDefinition struct {
	ContentType string `yaml:"content_type"`
	As          string `yaml:"as"` // json, form, text
	// JSONField is a field of a form that, where it is present, holds the JSON that is the body.
	JSONField string `yaml:"json_field"`
	// RubyFields are top-level fields whose text is Ruby's Hash#inspect (or JSON) and is read in place.
	RubyFields []string `yaml:"ruby_fields"`
}

// batchDefinition splits a request: Items is the dotted path to the array of events.
type batchDefinition struct {
	Items string `yaml:"items"`
}

type keyDefinition struct {
	// Parts are expressions; the last may be the word body_sha256, for the hash of the body.
	Parts          []partDefinition `yaml:"parts"`
	Fallback       string           `yaml:"fallback"` // body_sha256
	FallbackWindow *duration        `yaml:"fallback_window"`
	// Varies are the dotted paths of values in the body that may differ between deliveries of one event; * is the whole body.
	Varies []string `yaml:"varies"`
	// Delivery is what the sender calls a delivery: the same body under another name is a conflict, where the body is the key.
	Delivery jq `yaml:"delivery"`
	// Unsigned is the reason why the key may come from something that the signature does not cover.
	Unsigned string `yaml:"unsigned"`
}

// partDefinition is one part of a key: an expression alone, or with a mark that it may be empty.
type partDefinition struct {
	Expr     jq   `yaml:"expr"`
	Optional bool `yaml:"optional"`
}

// timeDefinition is one place to look for the time of an event, with the units in which it may be written there.
type timeDefinition struct {
	Expr  jq       `yaml:"expr"`
	Units []string `yaml:"units"`
}

type entityDefinition struct {
	Types    []string `yaml:"types"`
	When     jq       `yaml:"when"`
	Each     jq       `yaml:"each"`
	Kind     string   `yaml:"kind"`
	KindFrom jq       `yaml:"kind_from"`
	ID       jq       `yaml:"id"`
	// Scope says where the ID is unique: at the provider, or within the source of the event, which then is part of it.
	Scope    string   `yaml:"scope"`
	Op       string   `yaml:"op"`
	DeleteOn []string `yaml:"delete_on"`
	State    jq       `yaml:"state"`
	// Related leads from fields of the state to the kinds of other entities, whose IDs are the names in the field's object.
	Related map[string]string `yaml:"related"`
	Version jq                `yaml:"version"`
}

type retryDefinition struct {
	Attempts    *int       `yaml:"attempts"`
	Delays      []duration `yaml:"delays"`
	Initial     *duration  `yaml:"initial"`
	Coefficient float64    `yaml:"coefficient"`
	Maximum     *duration  `yaml:"maximum"`
	Jitter      *float64   `yaml:"jitter"`
}

// redriveDefinition says when dead events are run again by themselves; what it leaves out is configured for all providers. A
// text alone is that of Automatic.
type redriveDefinition struct {
	// Automatic is on (default), or off, which leaves them to the operators.
	Automatic string `yaml:"automatic"`
	// Base is the pause before the first attempt; it doubles with each.
	Base     *duration `yaml:"base"`
	Attempts int       `yaml:"attempts"`
	// Classes are those of the failures that are tried again: transient, failed, rejected.
	Classes []string `yaml:"classes"`
}

// overrideDefinition changes parts of the definition for some types of event; the first one that fits applies.
type overrideDefinition struct {
	Types      []string           `yaml:"types"`
	Ignore     bool               `yaml:"ignore"`
	Key        *keyDefinition     `yaml:"key"`
	Dedupe     *duration          `yaml:"dedupe"`
	OccurredAt []timeDefinition   `yaml:"occurred_at"`
	Entities   []entityDefinition `yaml:"entities"`
	Priority   string             `yaml:"priority"`
	Lane       string             `yaml:"lane"`
	Timeout    *duration          `yaml:"timeout"`
	OnTimeout  string             `yaml:"on_timeout"`
	Retry      *retryDefinition   `yaml:"retry"`
}

// rateDefinition allows Requests in every span of Per (1s to 1h), all of them at once if need be. What comes beyond is answered
// with 429 and Retry-After, and not stored. `rate` holds for all requests of the provider that are authentic, `client_rate` for
// each address (of IPv6: each /64) that sends to it, authentic or not. Each process counts for itself.
type rateDefinition struct {
	Requests int      `yaml:"requests"`
	Per      duration `yaml:"per"`
}

// repliesDefinition is the table of statuses; 0 means the default. The first two are 2xx, the others 4xx or 5xx: a sender must
// never be told that something is stored which is not.
type repliesDefinition struct {
	Accepted    int `yaml:"accepted"`     // an event is durable: 202
	Duplicate   int `yaml:"duplicate"`    // all events of the request were there before: 200
	Unauthentic int `yaml:"unauthentic"`  // no scheme lets the request in: 401
	TooLarge    int `yaml:"too_large"`    // the body is over the limit: 413
	RateLimited int `yaml:"rate_limited"` // a rate is exceeded: 429, with Retry-After
	Unavailable int `yaml:"unavailable"`  // nothing could be stored: 503, with Retry-After
	// Body makes the body of every 2xx to events. Its input is the usual one.
	Body jq `yaml:"body"`
}

// questionDefinition is for events whose sender waits for an answer. They are stored and processed like any other; once they
// are durable, the answer comes from the handler within the deadline, or else from the fallback expression.
type questionDefinition struct {
	Types []string `yaml:"types"`
	// Handler is the variable with the URL that the raw body is posted to. Its answer is passed on if it is JSON, has a 2xx
	// and comes in time.
	Handler string `yaml:"handler"`
	// Deadline counts from the arrival of the request: 5s (default), at most 1m.
	Deadline *duration `yaml:"deadline"`
	// Fallback gives the answer where there is no handler, or none that answers; its input is that of all expressions.
	Fallback jq  `yaml:"fallback"`
	Status   int `yaml:"status"` // of the answer: 200 (default), or another 2xx
}
