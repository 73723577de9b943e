package definition

// Scheme is one way to authenticate; exactly one of its fields other than When is set. A definition's schemes are alternatives.
type Scheme struct {
	// When has a header of the request choose the scheme.
	When        *Choice      `yaml:"when"`
	HMAC        *HMAC        `yaml:"hmac"`
	Hash        *HMAC        `yaml:"hash"` // without a key: the content has the secret
	Ed25519     *PublicKey   `yaml:"ed25519"`
	ECDSA       *PublicKey   `yaml:"ecdsa"`
	RSA         *PublicKey   `yaml:"rsa"`
	Certificate *Certificate `yaml:"certificate"`
	Token       *Token       `yaml:"token"`
	Basic       *Basic       `yaml:"basic"`
	JWT         *JWT         `yaml:"jwt"`
	Address     *Address     `yaml:"address"`
	// Proxied is a client certificate that a trusted proxy has verified.
	Proxied *Proxied `yaml:"client_certificate"`
}

// Choice is the value of a header, or of a field of it (key=…,algorithm=…), that chooses a scheme.
type Choice struct {
	Header string `yaml:"header"`
	Field  string `yaml:"field"`
	Value  string `yaml:"value"`
}

// Signing is shared by the signing schemes: where the parts of the signed content are.
type Signing struct {
	Secrets string `yaml:"secrets"`
	// Signed is the template of the signed content: {body} {timestamp} {id} {url} {path} {params} {method} {crc32} {secret},
	// {body_sha256} in hex, {body_sha256:base64}, {body_sha256:base64url},
	// {url:normalized}, {url:decoded}, {header:NAME}, {query:NAME}, both also as {header:NAME|BEFORE|AFTER} for a value that may be
	// missing, {sorted:PATH}, {listed:NAME}, {field:PATH}, {line:PATH}, {line:PATH=A|B} and
	// {lines:PATH}, and literal text.
	Signed string `yaml:"signed"`
	// Partial is the reason why the signature may leave out parts of the body.
	Partial string `yaml:"partial"`
	// KeyPrefix is removed from a secret before it is decoded ("whsec_").
	KeyPrefix string     `yaml:"key_prefix"`
	Signature Signature  `yaml:"signature"`
	Timestamp *Timestamp `yaml:"timestamp"`
	ID        *ID        `yaml:"id"`
	// BodyHash names the query parameter with the hex SHA-256 of a body that {params} doesn't cover.
	BodyHash string `yaml:"body_hash"`
}

// HMAC is a keyed hash over the signed content.
type HMAC struct {
	Signing   `yaml:",inline"`
	Algorithm string `yaml:"algorithm"` // sha256 (default), sha1, sha512
	Encoding  string `yaml:"encoding"`  // hex (default), base64, base64url without padding
	Key       string `yaml:"key"`       // text (default), base64, base64url, hex, sha1 (the hash of the secret)
}

// PublicKey is a signature over the signed content that a public key verifies.
type PublicKey struct {
	Signing  `yaml:",inline"`
	Encoding string `yaml:"encoding"` // base64 (default), hex
	Key      string `yaml:"key"`      // base64 (default), hex
}

// Certificate is an RSA signature whose key is in a certificate that the sender publishes.
type Certificate struct {
	Signing   `yaml:",inline"`
	Algorithm string `yaml:"algorithm"` // sha256 (default), sha1
	// URL is where the request names the certificate.
	URL Where `yaml:"url"`
	// Hosts may serve it: names in which * is an AWS region. Path is a pattern of its path.
	Hosts []string `yaml:"hosts"`
	Path  string   `yaml:"path"`
	// Names lists DNS names; the certificate must have one of them. A * is the region in the name of the host.
	Names []string `yaml:"names"`
	// Issuers are hosts from which issuer certificates may be fetched, if the sender's host doesn't serve them. A * is one label.
	Issuers []string `yaml:"issuers"`
	// Account is a value of the request that must be one of the secrets, since the sender signs for all its customers.
	Account Where `yaml:"account"`
}

// Where is a header, or a dotted path of the body.
type Where struct {
	Header string `yaml:"header"`
	Body   string `yaml:"body"`
}

// Signature defines how the signature header is parsed.
type Signature struct {
	Header string `yaml:"header"`
	// Repeated allows the header several times, and Numbered up to this many with a number after its name: one signature has to
	// be valid.
	Repeated bool `yaml:"repeated"`
	Numbered int  `yaml:"numbered"`
	// Query is the query parameter with the signature, instead of a header.
	Query string `yaml:"query"`
	// Body is the dotted path of the signature in the body, instead of a header.
	Body string `yaml:"body"`
	// Grammar is plain (the value), prefix (Prefix, then the value), pairs (k=v list with Separator; signatures under Field),
	// list (signatures with Separator, after the time if there is one) or versions (space-separated Field,signature).
	Grammar string `yaml:"grammar"`
	Prefix  string `yaml:"prefix"`
	// Separator is one character, followed by a space if the sender may add one.
	Separator string `yaml:"separator"`
	// Assign separates name and value of a pair: = by default.
	Assign string `yaml:"assign"`
	// Field is the name of the signatures; * for pairs with any name.
	Field string `yaml:"field"`
	// Exact accepts only the pairs timestamp and signature, once each and in this order, in lower case.
	Exact bool `yaml:"exact"`
}

// Timestamp is where the signed time is: in a header, in a field of the signature header's pairs, or in the body.
type Timestamp struct {
	Header    string    `yaml:"header"`
	Field     string    `yaml:"field"`
	Body      string    `yaml:"body"`
	Unit      string    `yaml:"unit"` // s (default), ms, s_or_ms, rfc3339, rfc3339_utc, http_date
	Tolerance *Duration `yaml:"tolerance"`
}

// ID is where the signed message ID is.
type ID struct {
	Header string `yaml:"header"`
}

// Token is a secret that a request contains verbatim.
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

// JWT is a signed token.
type JWT struct {
	// Secrets are shared secrets, or public keys if the algorithm has those. With Keys they are the accounts.
	Secrets string `yaml:"secrets"`
	// Algorithm is the only one that is accepted: HS256 (default), RS256, ES256 or ES512.
	Algorithm string `yaml:"algorithm"`
	// Keys is where the sender publishes its keys.
	Keys *PublishedKeys `yaml:"keys"`
	// Account is the claim that must be one of the secrets, since the sender signs for all its customers with the same keys.
	Account string `yaml:"account"`
	// Audience is the variable with the allowed audiences.
	Audience string `yaml:"audience"`
	// Header contains the token; by default it is a bearer token.
	Header string `yaml:"header"`
	// Body is the dotted path of a token in the body that doesn't cover the body.
	Body string `yaml:"body"`
	// Payload is the dotted path of the token whose payload is the event; "." is the body.
	Payload string            `yaml:"payload"`
	Leeway  *Duration         `yaml:"leeway"`
	Claims  map[string]string `yaml:"claims"`
	// MaxAge is how long a token without an expiry is valid after it was issued.
	MaxAge *Duration `yaml:"max_age"`
	// BodyHash and URLHash name the claims with the SHA-256 of the body and of the URL.
	BodyHash string `yaml:"body_hash"`
	URLHash  string `yaml:"url_hash"`
	// HashEncoding is that of the hashes: hex (default), base64, base64url; the last two with or without padding.
	HashEncoding string `yaml:"hash_encoding"`
	// Fields are values that the token's header must have.
	Fields map[string]string `yaml:"fields"`
	// Detached is the template of what a token in a header signs that leaves out its payload: {method}, {path}, {header:NAME},
	// {query:NAME}, {body}, literal text, and {named:FIELD}, the headers that a field of the token's header names. Then Account is
	// the variable of the path that has one of the secrets.
	Detached string `yaml:"detached"`
	// Chain accepts certificates in the token's header instead of Keys.
	Chain *CertificateChain `yaml:"chain"`
}

// CertificateChain are certificates in a token's header (x5c) that must lead to a pinned root.
type CertificateChain struct {
	// Roots are PEM blocks.
	Roots []string `yaml:"roots"`
	// Leaf and Issuer are the OIDs of extensions that the signer's certificate and its issuer's must have.
	Leaf   string `yaml:"leaf"`
	Issuer string `yaml:"issuer"`
	// SignedAt is the claim with the time of signing, in unix ms, at which the certificates must have been valid. By default they
	// must be valid now.
	SignedAt string `yaml:"signed_at"`
}

// PublishedKeys are the public keys of a sender at a fixed address: a set (JWKS), or an API that returns one key.
type PublishedKeys struct {
	// URL is https. Its host may have one {VARIABLE}, such as a customer's domain.
	URL string `yaml:"url"`
	// Post are the fields of a JSON request for one key: text, a {VARIABLE}, or {kid} for the key's ID.
	Post map[string]string `yaml:"post"`
	// Answer is the dotted path of the key in the answer to Post.
	Answer string `yaml:"answer"`
	// Unknown is a field's value in an answer with the status 400 that says there is no such key, such as an error code. Any other
	// 400 can be about our credentials: the sender is asked to retry. 404 always says that there is none.
	Unknown string `yaml:"unknown"`
}

// Proxied is a client certificate that a trusted proxy has verified and describes in a header. The header of anyone else is
// removed.
type Proxied struct {
	// Secrets are the accepted values of the header, such as fingerprints.
	Secrets string `yaml:"secrets"`
	Header  string `yaml:"header"`
}

// Address accepts requests from networks. They are configured like secrets, since they differ between installations.
type Address struct {
	Networks string `yaml:"networks"`
}
