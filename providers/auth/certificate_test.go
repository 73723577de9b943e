package auth

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth/denial"
	"holdfast/providers/definition"
)

// notification returns an SNS message from the host of a region, signed with the key of this process.
func notification(t *testing.T, p *Authenticator, topic, host string) *Request {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"Type": "Notification", "MessageId": "m1", "TopicArn": topic, "Message": "hello", "Timestamp": "2025-10-09T08:53:20.000Z",
		"SigningCertURL": "https://" + host + "/SimpleNotificationService-1.pem", "Signature": "",
	})
	require.NoError(t, err)
	r := &Request{Method: "POST", Path: "/webhooks/sns", Body: body}
	r.SetHeader("content-type", "text/plain; charset=UTF-8")
	require.NoError(t, p.schemes[0].sign(r, []string{topic}, clock))
	return r
}

// The certificate must have a name that SNS has in the region of the host: SNS of another region can't vouch for it.
func TestTheNamesOnACertificateOfSNS(t *testing.T) {
	t.Parallel()
	const topic = "arn:aws:sns:us-west-2:123456789012:Sample"
	for host, names := range map[string][]string{
		"sns.us-west-2.amazonaws.com":     {"sns.amazonaws.com", "sns.us-west-2.amazonaws.com", "sns-signing.us-west-2.amazonaws.com"},
		"sns.us-gov-east-1.amazonaws.com": {"sns-us-gov-west-1.amazonaws.com"},
		"sns.cn-north-1.amazonaws.com.cn": {"sns-cn-north-1.amazonaws.com.cn", "sns.cn-north-1.amazonaws.com.cn"},
	} {
		var asked []CertificateAt
		p := senderOf(t, "sns", topic).WithCertificates(func(at CertificateAt) (*rsa.PublicKey, error) {
			asked = append(asked, at)
			return TrialCertificates(at)
		})
		require.NoError(t, p.Authenticate(notification(t, p, topic, host), clock))
		require.Len(t, asked, 1)
		require.Equal(t, "https://"+host+"/SimpleNotificationService-1.pem", asked[0].URL)
		require.Subset(t, asked[0].Names, names)
		require.Contains(t, asked[0].Issuers, "crt.*.amazontrust.com")
		for _, name := range asked[0].Names {
			require.NotContains(t, name, "*")
			require.NotContains(t, strings.ReplaceAll(name, "us-gov-west-1", ""), "eu-west-1")
		}
	}
}

// A fault of the certificate is the reason of the refusal; a failed fetch is not a fault.
func TestAForeignCertificateIsRefused(t *testing.T) {
	t.Parallel()
	const topic = "arn:aws:sns:us-west-2:123456789012:Sample"
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		key    *rsa.PublicKey
		err    error
		reason denial.Reason
		found  string
	}{
		"wrong":              {err: &denial.Error{Reason: denial.WrongCertificate, Found: "the certificate has expired"}, reason: denial.WrongCertificate, found: "has expired"},
		"unavailable":        {err: &denial.Error{Reason: denial.NoCertificate, Found: "no answer in time"}, reason: denial.NoCertificate, found: "no answer in time"},
		"any other error":    {err: errors.New("boom"), reason: denial.NoCertificate},
		"with a short key":   {key: &short.PublicKey, reason: denial.WrongCertificate, found: "too short"},
		"another sender's":   {key: &newRSA().PublicKey, reason: denial.BadSignature},
		"with the right key": {key: &trialRSA().PublicKey},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := senderOf(t, "sns", topic).WithCertificates(func(CertificateAt) (*rsa.PublicKey, error) { return c.key, c.err })
			err := p.Authenticate(notification(t, p, topic, "sns.us-west-2.amazonaws.com"), clock)
			if c.reason == "" {
				require.NoError(t, err)
				return
			}
			var denied *denial.Error
			require.ErrorAs(t, err, &denied)
			require.Equal(t, c.reason, denied.Reason)
			require.Contains(t, denied.Detail(), c.found)
			if c.found != "" {
				require.Equal(t, "field SigningCertURL of the body", denied.Part)
			}
		})
	}
}

// A definition without certificate names would accept any certificate that its hosts serve.
func TestACertificateNeedsNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		names, issuers []string
		mistake        string
	}{
		{nil, nil, "auth[0].certificate.names: must be given"},
		{[]string{"sender.*.acme.com"}, nil, "no host has one"},
		{[]string{"sender.acme.com"}, []string{"localhost"}, "auth[0].certificate.issuers"},
		{[]string{"sender.acme.com"}, []string{"crt.acme.com"}, ""},
	} {
		d := &definition.Certificate{
			URL: definition.Where{Header: "x-url"}, Hosts: []string{"certs.acme.com"}, Path: "/*", Names: c.names, Issuers: c.issuers,
		}
		d.Secrets, d.Signed, d.Signature = "ACME_ACCOUNT", "{secret}{body}", definition.Signature{Header: "x-signature"}
		var p definition.Problems
		newCertificate(&p, "auth[0].certificate", d)
		if c.mistake == "" {
			require.NoError(t, p.Err())
			continue
		}
		require.ErrorContains(t, p.Err(), c.mistake)
	}
}
