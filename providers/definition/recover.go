package definition

// API is how the provider's API is called. Credentials are names of secrets, like everything secret in a definition.
type API struct {
	// Host is a host name. {NAME} stands for the value of a variable, for providers with a host per customer:
	// "{CHARGEBEE_SITE}.chargebee.com".
	Host string `yaml:"host"`
	// Headers are templates: {NAME} stands for a secret, {target} for the target of the walk. A header whose target is missing is
	// left out.
	Headers map[string]string `yaml:"headers"`
	Basic   *APIBasic         `yaml:"basic"`
	OAuth   *OAuth            `yaml:"oauth"`
	// Rate is for all processes of an installation together.
	Rate *Rate `yaml:"rate"`
}

// APIBasic is HTTP basic authentication at the provider's API; User and Password are names of secrets. Without a Password it is
// empty.
type APIBasic struct {
	User     string `yaml:"user"`
	Password string `yaml:"password"`
}

// OAuth gets bearer tokens with client credentials; Client and Secret are names of secrets.
type OAuth struct {
	// Host is the host of the token endpoint, if it isn't the API's.
	Host   string `yaml:"host"`
	Path   string `yaml:"path"`
	Client string `yaml:"client"`
	Secret string `yaml:"secret"`
	// Scope lists the requested scopes, separated by spaces. Without it, the provider decides.
	Scope string `yaml:"scope"`
}

// Recover describes the provider's list of events, or its log of deliveries, from which missed events are recovered.
type Recover struct {
	// Path and the values of Query are templates of {from}, {to}, {cursor} and {target}. A parameter whose cursor or target is
	// missing is left out.
	Path  string            `yaml:"path"`
	Query map[string]string `yaml:"query"`
	// Post returns the JSON body of a POST, for lists that GET can't read. Its input is {from, to, cursor, target}.
	Post JQ `yaml:"post"`
	// Reads declares that the POST changes nothing at the provider.
	Reads bool `yaml:"reads"`
	// Items is the dotted path of the list in the answer; "." is the answer.
	Items string   `yaml:"items"`
	Next  Next     `yaml:"next"`
	Time  ItemTime `yaml:"time"`
	Order string   `yaml:"order"` // newest_first, oldest_first
	// Body is the body of the webhook with an item: JSON in which {item}, or {item.PATH}, stands for the text of the item, or of a
	// part of it. The default is {item}.
	Body string `yaml:"body"`
	// Headers are headers of the webhook: templates of {item.PATH}. One whose part is missing is left out.
	Headers map[string]string `yaml:"headers"`
	// Detail is one more GET for each missed event, for lists whose items lack the body.
	Detail *Detail `yaml:"detail"`
	// Redeliver is the path of a POST with which the provider sends a missed event again: a template of {target} and {item.PATH}.
	Redeliver string `yaml:"redeliver"`
	// Delivered reports whether the item was delivered, so that it isn't missed. Its input is {item}.
	Delivered JQ `yaml:"delivered"`
	// Delivery is for guessed keys: the delivery ID of an item, with which the key begins. Its input is {item}.
	Delivery JQ `yaml:"delivery"`
	// Types are the event types that are recovered. By default they are those that have arrived by webhook.
	Types []string `yaml:"types"`
	// Reach is how far back the list goes.
	Reach *Duration `yaml:"reach"`
	// Overlap is how much later than its time an item may appear in the list: 1h by default.
	Overlap *Duration `yaml:"overlap"`
	// Settle is the age from which a walk reads items: 5m by default.
	Settle *Duration `yaml:"settle"`
	// Retrying is the age up to which the provider may still deliver an event.
	Retrying *Duration `yaml:"retrying"`
}

// Detail is the GET for the body of an item.
type Detail struct {
	// Path is a template of {target} and {item.PATH}.
	Path string `yaml:"path"`
	// Body is the dotted path of the webhook's body in the answer; a number is a position in a list. A text is the body itself.
	Body string `yaml:"body"`
}

// Next is where the next page of a list is; one of Cursor, URL and Link is set. A plain text sets Cursor. Nothing is the end of
// the list.
type Next struct {
	// Cursor returns the cursor. Its input is {answer, cursor}.
	Cursor JQ `yaml:"cursor"`
	// URL returns the URL of the next page. It has the same input as Cursor.
	URL JQ `yaml:"url"`
	// Link takes the URL of the next page from the Link header.
	Link bool `yaml:"link"`
	// Parameter is the query parameter of the URL that is the cursor. Without it, the query of the URL replaces the list's. Nothing
	// else is taken from the URL.
	Parameter string `yaml:"parameter"`
}

// ItemTime is where an item's time is; its input is {item}. {from} and {to} have the same unit.
type ItemTime struct {
	Expr JQ     `yaml:"expr"`
	Unit string `yaml:"unit"` // rfc3339, unix_s, unix_ms
}
