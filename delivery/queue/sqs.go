package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"holdfast/delivery"
	"holdfast/internal/broker"
)

const (
	// maxSQS bounds a message with its attributes, in bytes.
	maxSQS = 1 << 20
	// maxSQSAnswer bounds a response in bytes. Those to a sender have a few hundred.
	maxSQSAnswer = 1 << 20
	// maxGroup bounds the ID of a group, in characters.
	maxGroup = 128
)

// sqsClient sends each message on its own. The service answers once it has stored it.
type sqsClient struct {
	queue  *broker.SQS
	isFIFO bool
}

func connectSQS(c broker.Connection, to delivery.SQS) (client, error) {
	queue, err := broker.NewSQS(c, to.Queue, maxSQSAnswer, func(o *sqs.Options) { o.Retryer = aws.NopRetryer{} })
	if err != nil {
		return nil, blocked("address", "sqs.url "+err.Error())
	}
	return &sqsClient{queue: queue, isFIFO: strings.HasSuffix(to.Queue, ".fifo")}, nil
}

func (c *sqsClient) publish(ctx context.Context, m message) (string, error) {
	body, attributes := string(m.body), sqsAttributes(m)
	if err := checkSQS(body, attributes); err != nil {
		return "", err
	}
	in := &sqs.SendMessageInput{QueueUrl: &c.queue.URL, MessageBody: &body, MessageAttributes: attributes}
	if group := groupOf(m.key); group != "" {
		in.MessageGroupId = &group
	}
	if c.isFIFO {
		in.MessageDeduplicationId = &m.id
		if in.MessageGroupId == nil {
			in.MessageGroupId = &m.id
		}
	}
	stored, err := c.queue.SendMessage(ctx, in)
	if err == nil && aws.ToString(stored.MessageId) == "" {
		err = bad(codeRefused, "the service hasn't answered with the ID of a message")
	}
	return codeStored, sqsFailure(ctx, err)
}

// sqsAttributes returns the headers and the content type. The service refuses empty values, and those that aren't text.
func sqsAttributes(m message) map[string]types.MessageAttributeValue {
	all := map[string]types.MessageAttributeValue{}
	for _, one := range append([]header{{headerContent, m.contentType}}, m.headers...) {
		if one.value != "" && isText(one.value) {
			all[one.name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(one.value)}
		}
	}
	return all
}

func checkSQS(body string, attributes map[string]types.MessageAttributeValue) error {
	if body == "" || !isText(body) {
		return final(codeBody, "SQS takes no empty body, and none with bytes that aren't UTF-8 text or with control characters: set "+
			"body to "+delivery.BodyCloudEvents+", which encodes any bytes")
	}
	size := len(body)
	for name, one := range attributes {
		size += len(name) + len(*one.DataType) + len(*one.StringValue)
	}
	if size > maxSQS {
		return final(codeTooLarge, fmt.Sprintf("the message has %d bytes with its attributes, and SQS takes %d: set body to an "+
			"expression that returns less, such as an ID", size, maxSQS))
	}
	return nil
}

// isText reports whether the service takes a text: it must consist of characters of XML 1.0.
func isText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\ufffe' || r == '\uffff'
	})
}

// groupOf returns the ID of a group: the key, or its hash if the service doesn't take it as an ID.
func groupOf(key string) string {
	if len(key) <= maxGroup && !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return key
	}
	hash := sha256.Sum256([]byte(key))
	return hex.EncodeToString(hash[:])
}

func sqsFailure(ctx context.Context, err error) error {
	status, code := broker.SQSAnswer(err)
	switch {
	case err == nil:
		return nil
	case broker.IsMissingInSQS(err):
		return blocked(codeNoQueue, "sqs.queue doesn't exist in this account and region")
	case broker.IsRefusedBySQS(err):
		return blocked(codeCredentials, "the service refuses the credentials, or they don't allow this: check sqs.user, the secret, "+
			"this machine's clock, and the policies of the queue and of its key; keys with a session token (ASIA…) can't be used")
	case slices.Contains(throttles, code), status == http.StatusTooManyRequests:
		return busy(codeBlocked, "the service asks for a lower rate")
	case code == "InvalidMessageContents":
		return final(codeBody, "the service refuses the characters of the body: set body to "+delivery.BodyCloudEvents)
	case strings.HasPrefix(code, "InvalidParameterValue") && strings.Contains(err.Error(), "shorter than"):
		return final(codeTooLarge, "the message is larger than the queue's MaximumMessageSize: raise it, or set body to an expression "+
			"that returns less")
	case status > 0:
		return bad(codeRefused, fmt.Sprintf("the service answered %d %.100s", status, code))
	case ctx.Err() != nil:
		return unconfirmed(ctx)
	}
	return err
}

// throttles are the codes for too many requests.
var throttles = []string{"KmsThrottled", "RequestThrottled", "ThrottlingException", "Throttling", "OverLimit"}

func (c *sqsClient) check(ctx context.Context) ([]delivery.Finding, error) {
	found, err := c.queue.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &c.queue.URL, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		return nil, sqsFailure(ctx, err)
	}
	text := c.queue.URL + " exists"
	if size, err := strconv.Atoi(found.Attributes[string(types.QueueAttributeNameMaximumMessageSize)]); err == nil {
		text += fmt.Sprintf(", and takes messages of at most %d bytes", size)
	}
	return []delivery.Finding{{About: "queue", OK: true, Text: text}}, nil
}

func (c *sqsClient) isUsable() bool { return true }

func (c *sqsClient) close() { c.queue.Close() }
