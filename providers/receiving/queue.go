package receiving

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"holdfast/providers/auth"
	"holdfast/providers/definition"
)

// The brokers of queues.
const (
	NATS     = "nats"
	RabbitMQ = "rabbitmq"
	Kafka    = "kafka"
	PubSub   = "pubsub"
	SQS      = "sqs"
)

// queueSchemes has the schemes of each broker's URLs.
var queueSchemes = map[string][]string{
	NATS:     {"nats://", "tls://"},
	RabbitMQ: {"amqp://", "amqps://"},
	Kafka:    {"kafka://", "kafkas://"},
	PubSub:   {"https://", "http://"},
	SQS:      {"https://", "http://"},
}

// secureSchemes has the scheme with TLS for each one without.
var secureSchemes = map[string]string{"nats://": "tls://", "amqp://": "amqps://", "kafka://": "kafkas://", "http://": "https://"}

// validSubscription is the name of a subscription of Google Pub/Sub.
var validSubscription = regexp.MustCompile(`^projects/[^/\s]+/subscriptions/[^/\s]+$`)

// Queue is a queue that an ingress reads.
type Queue struct {
	definition.Queue

	// Provider is the name of its definition.
	Provider string
}

// Label names the queue among all: provider, broker and name.
func (q Queue) Label() string { return q.Provider + ": " + q.Broker + " " + q.Name }

// How many messages of a queue are read ahead. Together they need up to the broker's max message size times this number.
const (
	defaultPrefetch = 32
	maxPrefetch     = 1000
)

// newAuthenticator returns one that accepts no HTTP request for a definition without schemes that reads queues.
func (c compiler) newAuthenticator(d *definition.Definition, paths []auth.Path) *auth.Authenticator {
	if len(d.Auth) == 0 && len(d.Queues) > 0 {
		return auth.OnlyQueued(paths)
	}
	return auth.New(&c.Problems, d.Auth, d.Secrets, paths)
}

func (c compiler) newQueues(d *definition.Definition) (all []Queue) {
	for i, q := range d.Queues {
		at := fmt.Sprintf("queues[%d]", i)
		if !c.Required(at+".broker", q.Broker) {
			continue
		}
		q.Broker = c.OneOf(at+".broker", q.Broker, NATS, RabbitMQ, Kafka, SQS, PubSub)
		c.checkQueueURL(at+".url", q)
		if c.Required(at+".name", q.Name) && q.Broker == PubSub {
			c.checkPubSub(at, q)
		}
		c.checkQueueSecrets(at, q)
		c.checkOnly(at+".group", q.Group != "", q.Broker, NATS, Kafka)
		c.checkOnly(at+".subjects", len(q.Subjects) > 0, q.Broker, NATS)
		c.checkOnly(at+".mechanism", q.Mechanism != "", q.Broker, Kafka)
		if q.Broker == Kafka {
			q.Mechanism = c.OneOf(at+".mechanism", q.Mechanism, "SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")
		}
		if q.Broker == SQS {
			c.Required(at+".user", q.User)
			c.Required(at+".secrets", q.Secrets)
		}
		if q.Prefetch < 0 || q.Prefetch > maxPrefetch {
			c.Add(at+".prefetch", "want 1 to %d messages", maxPrefetch)
		}
		if q.Prefetch == 0 {
			q.Prefetch = defaultPrefetch
		}
		if q.Group == "" {
			q.Group = "holdfast-" + d.Name
		}
		one := Queue{q, d.Name}
		if slices.ContainsFunc(all, func(other Queue) bool { return other.Label() == one.Label() }) {
			c.Add(at+".name", "%s %s is listed twice", q.Broker, q.Name)
		}
		all = append(all, one)
	}
	return all
}

// checkQueueSecrets checks the names of variables. Without TLS, certificates would silently not be used.
func (c compiler) checkQueueSecrets(at string, q definition.Queue) {
	for _, variable := range []struct{ field, name string }{
		{".secrets", q.Secrets}, {".authorities", q.Authorities}, {".certificate", q.Certificate}, {".key", q.Key},
	} {
		if variable.name != "" {
			c.SecretName(at+variable.field, variable.name)
		}
	}
	if (q.Certificate == "") != (q.Key == "") {
		c.Add(at+".certificate", "and key must both be set, or neither")
	}
	for plain, secure := range secureSchemes {
		if (q.Authorities != "" || q.Certificate != "") && strings.HasPrefix(q.URL, plain) {
			c.Add(at+".url", "must begin with %s, because certificates need TLS", secure)
		}
	}
}

func (c compiler) checkPubSub(at string, q definition.Queue) {
	if !validSubscription.MatchString(q.Name) {
		c.Add(at+".name", "must be projects/PROJECT/subscriptions/NAME")
	}
	if q.User != "" {
		c.Add(at+".user", "isn't used: the key under secrets names the account")
	}
	if strings.Contains(q.URL, ",") {
		c.Add(at+".url", "must have one host")
	}
	if q.Proxy != "" && q.Secrets == "" && strings.HasPrefix(q.URL, "https://") {
		c.Add(at+".proxy", "needs secrets: the machine's identity can't be asked for through a proxy")
	}
}

func (c compiler) checkQueueURL(at string, q definition.Queue) {
	known := queueSchemes[q.Broker]
	switch {
	case !c.Required(at, q.URL):
	case strings.Contains(q.URL, "@"):
		c.Add(at, "must not have credentials: name the user under user, and the variable with the password under secrets")
	case !slices.ContainsFunc(known, func(scheme string) bool { return strings.HasPrefix(q.URL, scheme) }):
		c.Add(at, "must begin with %s", strings.Join(known, " or "))
	}
}

// checkOnly reports a field that is set, and that only some brokers have.
func (c compiler) checkOnly(at string, set bool, broker string, having ...string) {
	if set && !slices.Contains(having, broker) {
		c.Add(at, "is for %s only", strings.Join(having, " and "))
	}
}

// Queues returns the queues that an ingress reads under the definition. Don't change them.
func (g *Gate) Queues() []Queue { return g.queues }
