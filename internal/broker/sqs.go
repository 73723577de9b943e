package broker

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// SQS is a client of a queue of Amazon SQS.
type SQS struct {
	*sqs.Client

	// URL is the queue's.
	URL       string
	transport *http.Transport
}

// NewSQS returns a client of a queue, without connecting. User is the ID of an access key, and Secret that key. maxAnswer bounds
// a response in bytes. The error completes a sentence that begins with the name of the URL's field.
func NewSQS(c Connection, queue string, maxAnswer int64, more ...func(*sqs.Options)) (*SQS, error) {
	if len(c.Hosts) != 1 || c.Path == "" || strings.Contains(c.Path, "/") {
		return nil, errors.New("must be the queue's URL without its name: https://sqs.REGION.amazonaws.com/ACCOUNT")
	}
	endpoint, transport := c.origin(), c.HTTPTransport()
	credentials := aws.Credentials{AccessKeyID: c.User, SecretAccessKey: c.Secret}
	client := sqs.New(sqs.Options{
		Region: regionOf(c.Hosts[0]), BaseEndpoint: &endpoint,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return credentials, nil }),
		HTTPClient: &http.Client{
			Transport:     limited{transport, maxAnswer},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, more...)
	return &SQS{Client: client, URL: endpoint + "/" + c.Path + "/" + queue, transport: transport}, nil
}

// Close closes the idle connections.
func (s *SQS) Close() { s.transport.CloseIdleConnections() }

// origin returns the URL of the only host. It has no default port, which the URLs of queues don't have either.
func (c Connection) origin() string {
	if c.Secure {
		return "https://" + strings.TrimSuffix(c.Hosts[0], ":443")
	}
	return "http://" + strings.TrimSuffix(c.Hosts[0], ":80")
}

// regionOf returns the region in the name of a host, such as sqs.eu-central-1.amazonaws.com. Emulators have any.
func regionOf(host string) string {
	name, _, err := net.SplitHostPort(host)
	labels := strings.Split(name, ".")
	at := slices.IndexFunc(labels, func(label string) bool { return label == "sqs" || label == "sqs-fips" })
	if err != nil || at < 0 || at+1 == len(labels) {
		return "us-east-1"
	}
	return labels[at+1]
}

// SQSAnswer returns the status and the code of an error that the service has answered; 0 and "" for any other error.
func SQSAnswer(err error) (status int, code string) {
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		status = answer.HTTPStatusCode()
	}
	if named, ok := errors.AsType[smithy.APIError](err); ok && status > 0 {
		code = named.ErrorCode()
	}
	return status, code
}

// IsMissingInSQS reports whether the service has no such queue.
func IsMissingInSQS(err error) bool {
	_, code := SQSAnswer(err)
	return code == "QueueDoesNotExist" || code == "AWS.SimpleQueueService.NonExistentQueue"
}

// IsRefusedBySQS reports whether the service refuses the credentials, what they may do, or the queue's key.
func IsRefusedBySQS(err error) bool {
	status, code := SQSAnswer(err)
	return status == http.StatusUnauthorized || status == http.StatusForbidden || slices.Contains(refusals, code) ||
		strings.HasPrefix(code, "Kms") && code != "KmsThrottled"
}

// refusals are the codes that don't come with the status 401 or 403 everywhere.
var refusals = []string{
	"AccessDenied", "AccessDeniedException", "ExpiredTokenException", "IncompleteSignature", "InvalidClientTokenId",
	"InvalidSecurity", "InvalidSignatureException", "MissingAuthenticationTokenException", "SignatureDoesNotMatch",
	"UnrecognizedClientException",
}
