// Package webhook makes outbound HTTP requests to user-supplied addresses: a Sender for deliveries, and a general Client.
//
//	target, message ──▶ body (raw, envelope, jq) ──▶ sign ──▶ dial, if the guard allows ──▶ response ──▶ result
//
// It reaches only public addresses unless configured otherwise, follows no redirects, and bounds every wait and read. It must not
// depend on when an attempt is due or where deliveries are stored.
package webhook
