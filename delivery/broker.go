package delivery

import (
	"regexp"
	"strings"

	"holdfast/providers/definition"
)

// Connection is how a broker or a service that takes messages is reached. Its secret, such as the password of User, is that of
// the destination: stored by the API, or in a variable.
type Connection struct {
	// URL has the hosts of a broker, separated by commas, and no user: nats://a:4222,b:4222. Its schemes are those of the kind.
	URL string `json:"url"`
	// User authenticates with the secret.
	User string `json:"user,omitempty"`
	// Secrets names the environment variable with the secret. Only admins may set it, as HTTP.Secrets. If empty, the secret stored
	// through the API is used; it may be missing.
	Secrets string `json:"secrets,omitempty"`
	// CA, Certificate and Key are those of HTTP.
	CA          string `json:"ca,omitempty"`
	Certificate string `json:"certificate,omitempty"`
	Key         string `json:"key,omitempty"`
	// Proxy is that of HTTP.
	Proxy string `json:"proxy,omitempty"`
}

// NATS is a stream of NATS JetStream. A delivery succeeds when the stream's servers have written the message.
type NATS struct {
	Connection `yaml:",inline"`

	// Stream must store what is sent: a confirmation by another one is a failure.
	Stream string `json:"stream"`
	// Subject is a jq expression over Message.Input that returns the subject, at most 255 bytes.
	Subject JQ `json:"subject"`
}

// RabbitMQ is an exchange. A delivery succeeds when each queue that the message was routed to has it; without such a queue it
// fails.
type RabbitMQ struct {
	Connection `yaml:",inline"`

	// Exchange may be "", the default exchange, whose routing keys are names of queues.
	Exchange string `json:"exchange,omitempty"`
	// RoutingKey is a jq expression over Message.Input that returns the routing key, at most 255 bytes.
	RoutingKey JQ `json:"routing_key"`
}

// Kafka is a topic. A delivery succeeds when all replicas in sync have the record.
type Kafka struct {
	Connection `yaml:",inline"`

	Topic string `json:"topic"`
	// PartitionKey is a jq expression over Message.Input. Records with one key go to one partition; an empty one lets any take it.
	PartitionKey JQ `json:"partition_key,omitempty"`
	// Mechanism of SASL, for a User; SCRAM-SHA-512 by default.
	Mechanism string `json:"mechanism,omitempty" jsonschema:"enum=,enum=SCRAM-SHA-512,enum=SCRAM-SHA-256,enum=PLAIN"`
}

// S3 is a bucket of a service with the API of S3. A delivery succeeds when the service has stored an object. Its URL is that of
// the service, User the ID of an access key, and the secret that key.
type S3 struct {
	Connection `yaml:",inline"`

	Bucket string `json:"bucket"`
	Region string `json:"region,omitempty"`
	// Object is a jq expression over Message.Input that returns the object's name, at most 1,024 bytes. A name that exists is
	// overwritten. By default it is PROVIDER/DAY/ID, with the delivery's ID.
	Object JQ `json:"object,omitempty"`
}

// PubSub is a topic of Google Pub/Sub. A delivery succeeds when the service has answered with the message's ID. Its URL is that
// of the service, and the secret the JSON key of a service account. Without a secret, the machine's own identity is used.
type PubSub struct {
	Connection `yaml:",inline"`

	// Topic is its whole name, projects/PROJECT/topics/NAME.
	Topic string `json:"topic"`
	// OrderingKey is a jq expression over Message.Input that returns at most 1,024 bytes. Subscriptions with ordering deliver
	// messages with one key in the order of their publication; an empty one has none.
	OrderingKey JQ `json:"ordering_key,omitempty"`
}

// SQS is a queue of Amazon SQS. A delivery succeeds when the service has answered that it has the message. Its URL is that of the
// queue without its name, User the ID of an access key, and the secret that key.
type SQS struct {
	Connection `yaml:",inline"`

	// Queue is the queue's name. That of a FIFO queue ends with .fifo.
	Queue string `json:"queue"`
	// Group is a jq expression over Message.Input that returns the message's group. In a FIFO queue, a message with an empty one is
	// a group of its own.
	Group JQ `json:"group,omitempty"`
}

// The kinds of destinations, which are also the names of their fields.
const (
	KindHTTP     = "http"
	KindTemporal = "temporal"
	KindNATS     = "nats"
	KindRabbitMQ = "rabbitmq"
	KindKafka    = "kafka"
	KindS3       = "s3"
	KindPubSub   = "pubsub"
	KindSQS      = "sqs"
)

// kinds returns the kinds that are set. A valid destination has one.
func (d Destination) kinds() (set []string) {
	for _, one := range []struct {
		kind  string
		isSet bool
	}{
		{KindHTTP, d.HTTP != nil},
		{KindTemporal, d.Temporal != nil},
		{KindNATS, d.NATS != nil},
		{KindRabbitMQ, d.RabbitMQ != nil},
		{KindKafka, d.Kafka != nil},
		{KindS3, d.S3 != nil},
		{KindPubSub, d.PubSub != nil},
		{KindSQS, d.SQS != nil},
	} {
		if one.isSet {
			set = append(set, one.kind)
		}
	}
	return set
}

// Kind returns the kind of a destination; "" if it has none.
func (d Destination) Kind() string {
	if set := d.kinds(); len(set) > 0 {
		return set[0]
	}
	return ""
}

// Broker returns the connection of a destination that is a queue; nil for endpoints and task queues. It must not be changed: see
// WithBroker.
func (d Destination) Broker() *Connection {
	switch {
	case d.NATS != nil:
		return &d.NATS.Connection
	case d.RabbitMQ != nil:
		return &d.RabbitMQ.Connection
	case d.Kafka != nil:
		return &d.Kafka.Connection
	case d.S3 != nil:
		return &d.S3.Connection
	case d.PubSub != nil:
		return &d.PubSub.Connection
	case d.SQS != nil:
		return &d.SQS.Connection
	}
	return nil
}

// WithBroker returns a copy with a changed connection; the destination itself if it is no queue.
func (d Destination) WithBroker(change func(*Connection)) Destination {
	switch {
	case d.NATS != nil:
		own := *d.NATS
		d.NATS = &own
	case d.RabbitMQ != nil:
		own := *d.RabbitMQ
		d.RabbitMQ = &own
	case d.Kafka != nil:
		own := *d.Kafka
		d.Kafka = &own
	case d.S3 != nil:
		own := *d.S3
		d.S3 = &own
	case d.PubSub != nil:
		own := *d.PubSub
		d.PubSub = &own
	case d.SQS != nil:
		own := *d.SQS
		d.SQS = &own
	default:
		return d
	}
	change(d.Broker())
	return d
}

// Link returns what endpoints and queues have in common, in the form of an endpoint: URL, variable, TLS and proxy. It is nil for
// a task queue.
func (d Destination) Link() *HTTP {
	c := d.Broker()
	if c == nil {
		return d.HTTP
	}
	return &HTTP{URL: c.URL, Secrets: c.Secrets, CA: c.CA, Certificate: c.Certificate, Key: c.Key, Proxy: c.Proxy}
}

// schemes are those of each kind's URL.
var schemes = map[string][]string{
	KindNATS: {"nats", "tls"}, KindRabbitMQ: {"amqp", "amqps"}, KindKafka: {"kafka", "kafkas"},
	KindS3: {"https", "http"}, KindSQS: {"https", "http"}, KindPubSub: {"https", "http"},
}

// checkBroker checks the fields of a queue.
func (d Destination) checkBroker(p *definition.Problems) {
	kind, c := d.Kind(), d.Broker()
	if p.Required(kind+".url", c.URL) {
		checkBrokerURL(p, kind, c.URL)
	}
	checkLine(p, kind+".user", c.User)
	d.Link().checkTLS(p, kind)
	switch {
	case d.NATS != nil:
		checkStream(p, d.NATS.Stream)
		checkRequired(p, "nats.subject", d.NATS.Subject)
	case d.RabbitMQ != nil:
		if len(d.RabbitMQ.Exchange) > maxName {
			p.Add("rabbitmq.exchange", "is longer than %d bytes", maxName)
		}
		checkRequired(p, "rabbitmq.routing_key", d.RabbitMQ.RoutingKey)
	case d.Kafka != nil:
		if p.Required("kafka.topic", d.Kafka.Topic) && len(d.Kafka.Topic) > maxName {
			p.Add("kafka.topic", "is longer than %d bytes", maxName)
		}
		checkJQ(p, "kafka.partition_key", d.Kafka.PartitionKey)
		p.OneOf("kafka.mechanism", d.Kafka.Mechanism, "SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")
	case d.S3 != nil:
		if p.Required("s3.bucket", d.S3.Bucket) {
			checkLine(p, "s3.bucket", d.S3.Bucket)
		}
		checkLine(p, "s3.region", d.S3.Region)
		if strings.Contains(c.URL, ",") {
			p.Add("s3.url", "must have one host")
		}
		p.Required("s3.user", d.S3.User)
		checkJQ(p, "s3.object", d.S3.Object)
	case d.PubSub != nil:
		d.PubSub.check(p)
	case d.SQS != nil:
		d.SQS.check(p)
	}
}

var validTopic = regexp.MustCompile(`^projects/[^/\s]{1,255}/topics/[^/\s]{1,255}$`)

func (t PubSub) check(p *definition.Problems) {
	if p.Required("pubsub.topic", t.Topic) && !validTopic.MatchString(t.Topic) {
		p.Add("pubsub.topic", "must be projects/PROJECT/topics/NAME")
	}
	if strings.Contains(t.URL, ",") {
		p.Add("pubsub.url", "must have one host")
	}
	if t.User != "" {
		p.Add("pubsub.user", "isn't used: the secret, a service account's JSON key, names the account")
	}
	checkJQ(p, "pubsub.ordering_key", t.OrderingKey)
}

func (s SQS) check(p *definition.Problems) {
	_, rest, _ := strings.Cut(s.URL, "://")
	if host, account, _ := strings.Cut(rest, "/"); s.URL != "" &&
		(strings.Contains(host, ",") || account == "" || strings.Contains(account, "/")) {
		p.Add("sqs.url", "must be the queue's URL without its name, such as https://sqs.eu-central-1.amazonaws.com/123456789012")
	}
	p.Required("sqs.user", s.User)
	if p.Required("sqs.queue", s.Queue) && !validQueue.MatchString(s.Queue) {
		p.Add("sqs.queue", "must be 1 to 80 of A-Z, a-z, 0-9, - and _; the name of a FIFO queue ends with .fifo")
	}
	checkJQ(p, "sqs.group", s.Group)
}

var validQueue = regexp.MustCompile(`^[A-Za-z0-9_-]{1,75}(\.fifo|[A-Za-z0-9_-]{0,5})$`)

// maxName bounds the names of exchanges, topics, streams, buckets and users, in bytes.
const maxName = 255

func checkLine(p *definition.Problems, field, text string) {
	if strings.ContainsAny(text, "\r\n\x00") || len(text) > maxName {
		p.Add(field, "must be one line of at most %d bytes", maxName)
	}
}

func checkStream(p *definition.Problems, name string) {
	if p.Required("nats.stream", name) && (len(name) > maxName || strings.ContainsAny(name, " \t\r\n\x00.*>/\\")) {
		p.Add("nats.stream", "must be the name of a stream: no spaces, dots, * or >, and at most %d bytes", maxName)
	}
}

func checkRequired(p *definition.Problems, field string, source JQ) {
	if p.Required(field, string(source)) {
		checkJQ(p, field, source)
	}
}

// checkBrokerURL never repeats the URL, which may hold a pasted password.
func checkBrokerURL(p *definition.Problems, kind, text string) {
	field := kind + ".url"
	for _, scheme := range schemes[kind] {
		rest, ok := strings.CutPrefix(text, scheme+"://")
		switch {
		case !ok:
		case strings.Contains(rest, "@"):
			p.Add(field, "must have no user and no password: use %s.user, and give the password as the destination's secret", kind)
		case rest == "" || rest[0] == '/' || strings.ContainsAny(rest, "?# \r\n\t\x00"):
			p.Add(field, "must have hosts, separated by commas, and neither query nor fragment")
		case len(text) > maxURL:
			p.Add(field, "is longer than %d bytes", maxURL)
		}
		if ok {
			return
		}
	}
	p.Add(field, "must begin with %s", strings.Join(schemes[kind], ":// or ")+"://")
}

// hostsOf returns the scheme and the hosts of an address.
func hostsOf(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	hosts, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + hosts
}
