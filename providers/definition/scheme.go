package definition

// Scheme is one way to authenticate; exactly one of its fields is set. A definition's schemes are
// alternatives.
type Scheme struct {
	HMAC    *HMAC    `yaml:"hmac"`
	Ed25519 *Ed25519 `yaml:"ed25519"`
	Token   *Token   `yaml:"token"`
	Basic   *Basic   `yaml:"basic"`
	JWT     *JWT     `yaml:"jwt"`
	Address *Address `yaml:"address"`
}

// Signing is what the signing schemes share: where the parts of the signed content are.
type Signing struct {
	Secrets string `yaml:"secrets"`
	// Signed is the template of the signed content: {body} {timestamp} {id} {url} {params}, and anything literal.
	Signed string `yaml:"signed"`
	// KeyPrefix is cut off a secret before it is decoded ("whsec_").
	KeyPrefix string     `yaml:"key_prefix"`
	Signature Signature  `yaml:"signature"`
	Timestamp *Timestamp `yaml:"timestamp"`
	ID        *ID        `yaml:"id"`
	// BodyHash names the query parameter with the hex SHA-256 of a body that {params} does not cover.
	BodyHash string `yaml:"body_hash"`
}

// HMAC is a keyed hash over the signed content.
type HMAC struct {
	Signing   `yaml:",inline"`
	Algorithm string `yaml:"algorithm"` // sha256 (default), sha1
	Encoding  string `yaml:"encoding"`  // hex (default), base64
	Key       string `yaml:"key"`       // text (default), base64
}

// Ed25519 is a signature over the signed content that a public key verifies.
type Ed25519 struct {
	Signing `yaml:",inline"`
}

// Signature says how to read the header with the signatures.
type Signature struct {
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

// Timestamp says where the signed time is: in a header, or in a field of the signature header's pairs.
type Timestamp struct {
	Header    string    `yaml:"header"`
	Field     string    `yaml:"field"`
	Unit      string    `yaml:"unit"` // s (default), ms
	Tolerance *Duration `yaml:"tolerance"`
}

// ID says where the signed name of a message is.
type ID struct {
	Header string `yaml:"header"`
}

// Token is a secret that a request carries as it is.
type Token struct {
	Secrets string `yaml:"secrets"`
	In      string `yaml:"in"` // header, bearer, query, path, body
	Name    string `yaml:"name"`
}

// Basic is HTTP basic authentication.
type Basic struct {
	Secrets string `yaml:"secrets"`
	User    string `yaml:"user"`
}

// JWT is a bearer token that is signed with HS256.
type JWT struct {
	Secrets string            `yaml:"secrets"`
	Leeway  *Duration         `yaml:"leeway"`
	Claims  map[string]string `yaml:"claims"`
}

// Address accepts requests from networks. They stand where secrets stand, since they differ from one
// installation to the next.
type Address struct {
	Networks string `yaml:"networks"`
}
