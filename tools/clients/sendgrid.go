package main

import "github.com/sendgrid/sendgrid-go/helpers/eventwebhook"

const (
	sendGridKey = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEO75fRuu1apjzXFuVoYEjlRReTTfQp84znEzYnipUsQ8dZUOGCT186bzJt2r9" +
		"m6mJN9BzqI8pJUm9LaKqc/JKvA=="
	sendGridSigningKey = "whsk_MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgKcBglzXBXhmAhn6iMT7XJ/Z5uRh2Ue2PW8lbZo2WxQ6h" +
		"RANCAAQ7vl9G67VqmPNcW5WhgSOVFF5NN9CnzjOcTNieKlSxDx1lQ4YJPXzpvMm3av2bqYk30HOojyklSb0toqpz8kq8"
)

func init() {
	add("sendgrid", library{
		Provider:      "sendgrid",
		Secret:        sendGridKey,
		SigningSecret: sendGridSigningKey,
		Verify:        verifySendGrid,
	})
}

func verifySendGrid(r request, secret string) error {
	key, err := eventwebhook.ConvertPublicKeyBase64ToECDSA(secret)
	if err != nil {
		return err
	}
	accepted, err := eventwebhook.VerifySignature(key, []byte(r.Body), r.Headers["x-twilio-email-event-webhook-signature"],
		r.Headers["x-twilio-email-event-webhook-timestamp"])
	if err != nil {
		return err
	}
	return unless(accepted)
}
