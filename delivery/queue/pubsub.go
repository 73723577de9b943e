package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"holdfast/delivery"
	"holdfast/internal/broker"
)

// What Pub/Sub takes, in bytes.
const (
	maxPubSub      = 10_000_000 // a request with one message
	maxAttribute   = 1024       // the value of an attribute
	maxOrderingKey = 1024
)

// pubsubClient publishes to a topic with one call for each attempt. Google's client for messages would bundle those of several
// attempts, which then have one fate, and would pause an ordering key after a failure.
type pubsubClient struct {
	conn   *broker.PubSub
	topics pubsubpb.PublisherClient
	topic  string
}

func connectPubSub(c broker.Connection, to delivery.PubSub) (client, error) {
	conn, err := broker.DialPubSub(c)
	if err != nil {
		return nil, blocked(codeCredentials, err.Error())
	}
	return &pubsubClient{conn, pubsubpb.NewPublisherClient(conn), to.Topic}, nil
}

func (c *pubsubClient) publish(ctx context.Context, m message) (string, error) {
	out := &pubsubpb.PubsubMessage{Data: m.body, Attributes: pubsubAttributes(m), OrderingKey: m.key}
	request := &pubsubpb.PublishRequest{Topic: c.topic, Messages: []*pubsubpb.PubsubMessage{out}}
	if err := checkPubSub(request); err != nil {
		return "", err
	}
	answer, err := c.topics.Publish(ctx, request)
	switch {
	case err != nil:
		return "", c.failure(ctx, err)
	case len(answer.GetMessageIds()) != 1 || answer.GetMessageIds()[0] == "":
		return "", bad(codeRefused, "the service's answer has no ID of the message; it may be stored, and the next attempt repeats it")
	}
	return codeStored, nil
}

// pubsubAttributes returns the attributes of a message. There is at least one, so that its body may be empty. One that isn't
// UTF-8 could not be sent.
func pubsubAttributes(m message) map[string]string {
	all := map[string]string{headerContent: m.contentType}
	if m.attributes != nil { // CloudEvents' binding reads either
		all["ce-datacontenttype"] = m.contentType
	}
	for _, one := range m.attributes {
		all["ce-"+one.Name] = one.Value
	}
	for _, one := range m.headers {
		all[one.name] = one.value
	}
	for name, value := range all {
		all[name] = strings.ToValidUTF8(value, "\uFFFD")
	}
	return all
}

// checkPubSub refuses what the service would refuse.
func checkPubSub(request *pubsubpb.PublishRequest) error {
	for name, value := range request.GetMessages()[0].GetAttributes() {
		if len(value) > maxAttribute {
			return final(codeName, fmt.Sprintf("the attribute %s is longer than the 1,024 bytes that Pub/Sub takes; "+
				"with body: cloudevents, the attributes of CloudEvents are in the body", name))
		}
	}
	if proto.Size(request) > maxPubSub {
		return final(codeTooLarge, "the message is larger than the 10 MB that Pub/Sub takes: let the subscription's body select less")
	}
	return nil
}

func (c *pubsubClient) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return unconfirmed(ctx)
	}
	switch code := status.Code(err); code {
	case codes.NotFound:
		return blocked(codeNoQueue, "pubsub.topic doesn't exist")
	case codes.Unauthenticated, codes.PermissionDenied:
		return blocked(codeCredentials, "the service refuses the credentials, or they don't allow this topic: check the secret and "+
			"the role Pub/Sub Publisher; without a secret, 169.254.169.254 must be in HOLDFAST_DELIVERIES_ALLOWED_NETWORKS")
	case codes.ResourceExhausted:
		return busy(codeBlocked, "the service asks for a lower rate: a quota is used up")
	case codes.InvalidArgument:
		return final(codeRefused, "the service refuses the message: it may not match the topic's schema")
	case codes.DeadlineExceeded:
		return bad(codeTimeout, "the service didn't confirm the message in time; it may be stored, and the next attempt repeats it")
	case codes.Unavailable, codes.Canceled:
		if cause := c.conn.Failure(); cause != nil {
			return cause
		}
		return lost()
	default:
		return bad(codeRefused, "the service answered "+code.String())
	}
}

func (c *pubsubClient) check(ctx context.Context) ([]delivery.Finding, error) {
	topic, err := c.topics.GetTopic(ctx, &pubsubpb.GetTopicRequest{Topic: c.topic})
	if status.Code(err) == codes.PermissionDenied {
		return []delivery.Finding{{About: "topic", OK: true, Text: "not checked: that needs the role Pub/Sub Viewer"}}, nil
	}
	if err != nil {
		return nil, c.failure(ctx, err)
	}
	found := []delivery.Finding{{About: "topic", OK: true, Text: c.topic + " exists; the service's answer confirms a message"}}
	readers, err := c.topics.ListTopicSubscriptions(ctx, &pubsubpb.ListTopicSubscriptionsRequest{Topic: c.topic, PageSize: 1})
	if err == nil && len(readers.GetSubscriptions()) == 0 && topic.GetMessageRetentionDuration() == nil {
		found = append(found, delivery.Finding{
			About: "topic", Text: "it has no subscription and no retention: messages are confirmed and dropped. Create a subscription",
		})
	}
	return found, nil
}

// isUsable is always true: the client connects again automatically.
func (c *pubsubClient) isUsable() bool { return true }

func (c *pubsubClient) close() { _ = c.conn.Close() } // nothing is pending

// firstJSON returns the first JSON value of a text: the new key, while two are in use. A text without one is returned as it is.
func firstJSON(text string) string {
	var value json.RawMessage
	if json.NewDecoder(strings.NewReader(text)).Decode(&value) != nil {
		return text
	}
	return string(value)
}
