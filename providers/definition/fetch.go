package definition

// Fetch is a GET at the provider's API for the current state of what an event names. The first that matches an event applies.
type Fetch struct {
	// Types are the event types; all by default.
	Types []string `yaml:"types"`
	// Path is a template of the names in Values.
	Path string `yaml:"path"`
	// Values are read from the event. If one of them is nothing, the fetch doesn't apply.
	Values map[string]JQ `yaml:"values"`
	// Answer is the dotted path of the state in the answer; "." by default.
	Answer string `yaml:"answer"`
	// Gone says what a 404 means: keep (default) or delete.
	Gone string `yaml:"gone"`
	// Also are up to two more GETs, for what the states before them name.
	Also []AlsoFetch `yaml:"also"`
}

// AlsoFetch is a GET for what a fetched state names. Its own state is .also.NAME in the expressions.
type AlsoFetch struct {
	Name   string        `yaml:"name"`
	Path   string        `yaml:"path"`
	Values map[string]JQ `yaml:"values"`
	Answer string        `yaml:"answer"`
}
