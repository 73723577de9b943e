package auth

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth/denial"
)

// A message that AWS signed can't be read as another: the signed text has no lengths, so only one value may have line breaks.
func TestSNSTextIsReadInOneWay(t *testing.T) {
	t.Parallel()
	const ours, id = "arn:aws:sns:us-west-2:123456789012:Sample", "22b80b92-fdea"
	message := func(over map[string]any) map[string]any {
		m := map[string]any{
			"Type": "Notification", "MessageId": id, "TopicArn": ours, "Message": "a\nMessageId\nb\n", "Timestamp": "2025-10-09T08:53:20.000Z",
			"SigningCertURL": "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-1.pem", "Signature": "",
		}
		for name, value := range over {
			m[name] = value
		}
		return m
	}
	p := senderOf(t, "sns", ours).WithCertificates(TrialCertificates)
	for name, c := range map[string]struct {
		over   map[string]any
		reason denial.Reason
	}{
		"line breaks in message and subject": {map[string]any{"Subject": "a\nb"}, ""},
		"a subject that is a name":           {map[string]any{"Subject": "Timestamp"}, ""},
		"another topic's, behind its type": {map[string]any{
			"Type": "Notification\nTimestamp\nx\nTopicArn\narn:aws:sns:us-west-2:1:Other\nType\nNotification"}, denial.MalformedHeader},
		"another type":               {map[string]any{"Type": "Other"}, denial.MalformedHeader},
		"no type":                    {map[string]any{"Type": nil}, denial.MalformedHeader},
		"no message ID":              {map[string]any{"MessageId": nil}, denial.MalformedHeader},
		"a message ID of two lines":  {map[string]any{"MessageId": "a\nb"}, denial.MalformedHeader},
		"a time of two lines":        {map[string]any{"Timestamp": "a\nb"}, denial.MalformedHeader},
		"a token of two lines":       {map[string]any{"Token": "a\nb"}, denial.MalformedHeader},
		"a URL of two lines":         {map[string]any{"SubscribeURL": "a\rb"}, denial.MalformedHeader},
		"an ID within the subject":   {map[string]any{"Subject": "a\nMessageId\nb"}, denial.MalformedHeader},
		"a time within the subject":  {map[string]any{"Subject": "a\nTimestamp\nb", "Timestamp": nil}, denial.MalformedHeader},
		"a bucket called sns":        {map[string]any{"SigningCertURL": "https://sns.s3.amazonaws.com/SimpleNotificationService-1.pem"}, denial.ForeignCertificate},
		"such a bucket, by region":   {map[string]any{"SigningCertURL": "https://sns.s3-us-west-2.amazonaws.com/SimpleNotificationService-1.pem"}, denial.ForeignCertificate},
		"a region of the government": {map[string]any{"SigningCertURL": "https://sns.us-gov-west-1.amazonaws.com/SimpleNotificationService-1.pem"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, err := json.Marshal(message(c.over))
			require.NoError(t, err)
			r := &Request{Method: "POST", Path: "/webhooks/sns", Body: body}
			r.SetHeader("content-type", "text/plain; charset=UTF-8")
			require.NoError(t, p.schemes[0].sign(r, []string{ours}, clock))
			err = p.Authenticate(r, clock)
			if c.reason == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			require.Equal(t, c.reason, denial.ReasonOf(err))
		})
	}
}
