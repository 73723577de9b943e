package queue

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/propagation"

	"holdfast/delivery"
)

// Names of headers. Brokers keep them next to the message.
const (
	headerID        = "webhook-id" // the delivery's, as at an endpoint
	headerEvent     = "holdfast-event-id"
	headerDuplicate = "holdfast-possible-duplicate-of"
	headerContent   = "content-type"
)

// message is what a broker gets.
type message struct {
	id          string
	body        []byte
	contentType string
	// attributes are those of a CloudEvent in binary mode.
	attributes []delivery.Attribute
	// headers are the others, without the content type.
	headers []header
	// key is the subject, the routing key, the partition or ordering key, the group, or the name of an object.
	key       string
	eventType string
}

type header struct{ name, value string }

// build returns the message of an attempt. The error is an *event.Error or a *failed.
func (s *Sender) build(ctx context.Context, t delivery.Target, j delivery.Job, m delivery.Message) (message, error) {
	body, err := s.expressions.Body(ctx, t.Subscription, m)
	if err != nil {
		return message{}, err
	}
	key, err := s.key(ctx, t.Destination, m)
	if err != nil {
		return message{}, err
	}
	if t.Destination.S3 != nil && key == "" {
		key = objectName(j, m)
	}
	out := message{
		id: j.ID(), body: body.Bytes, contentType: body.ContentType, attributes: body.Attributes, key: key,
		eventType: m.Type, headers: []header{{headerID, j.ID()}, {headerEvent, m.Receipt.ID}},
	}
	if m.PossibleDuplicateOf != "" {
		out.headers = append(out.headers, header{headerDuplicate, m.PossibleDuplicateOf})
	}
	trace := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, trace)
	for _, name := range trace.Keys() {
		out.headers = append(out.headers, header{name, trace[name]})
	}
	return out, checkKey(t.Destination, key)
}

// key evaluates the expression for the message's key.
func (s *Sender) key(ctx context.Context, to delivery.Destination, m delivery.Message) (string, error) {
	field, source := "nats.subject", delivery.JQ("")
	switch {
	case to.NATS != nil:
		source = to.NATS.Subject
	case to.RabbitMQ != nil:
		field, source = "rabbitmq.routing_key", to.RabbitMQ.RoutingKey
	case to.Kafka != nil:
		field, source = "kafka.partition_key", to.Kafka.PartitionKey
	case to.S3 != nil:
		field, source = "s3.object", to.S3.Object
	case to.PubSub != nil:
		field, source = "pubsub.ordering_key", to.PubSub.OrderingKey
	case to.SQS != nil:
		field, source = "sqs.group", to.SQS.Group
	}
	if source == "" {
		return "", nil
	}
	value, err := s.expressions.Name(ctx, field, source, m.Input())
	if err != nil {
		return "", err
	}
	if value == nil && (to.Kafka != nil || to.SQS != nil || to.PubSub != nil) {
		return "", nil
	}
	text, ok := value.(string)
	if !ok {
		return "", final(codeName, field+" must return a string")
	}
	return text, nil
}

// maxKey bounds subjects and routing keys, in bytes. A longer routing key would close the connection.
const maxKey = 255

func checkKey(to delivery.Destination, key string) error {
	switch {
	case to.Kafka != nil, to.SQS != nil:
		return nil
	case to.S3 != nil && !isObject(key):
		return final(codeName, "s3.object must return at most 1,024 bytes that don't begin with /, without . and .. as folders")
	case to.S3 != nil:
		return nil
	case to.PubSub != nil && len(key) > maxOrderingKey:
		return final(codeName, "pubsub.ordering_key must return at most 1,024 bytes: use an ID, or a hash of the value")
	case to.PubSub != nil:
		return nil
	case len(key) > maxKey:
		return final(codeName, "the subject or routing key is longer than 255 bytes")
	case to.NATS != nil && !isSubject(key):
		return final(codeName, "nats.subject must return words that are separated by dots, without spaces, * and >")
	}
	return nil
}

// isObject reports whether an object can have a name. Services and proxies that resolve dots would write it elsewhere, even into
// another bucket.
func isObject(name string) bool {
	if len(name) > maxObject || strings.TrimSpace(name) == "" || strings.HasPrefix(name, "/") || strings.ContainsRune(name, 0) {
		return false
	}
	for folder := range strings.SplitSeq(name, "/") {
		if folder == "." || folder == ".." {
			return false
		}
	}
	return true
}

// isSubject reports whether a message can be published on a subject.
func isSubject(text string) bool {
	if strings.ContainsAny(text, " \t\r\n\x00*>") || strings.HasPrefix(text, "$") {
		return false
	}
	for word := range strings.SplitSeq(text, ".") {
		if word == "" {
			return false
		}
	}
	return true
}
