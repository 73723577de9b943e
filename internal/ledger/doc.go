// Package ledger records what a sender of webhooks sends and the answers that it gets, so that the fate of each event can be
// checked afterwards. The discipline is Jepsen's: a request is in the ledger before it is sent, and an answer that never came
// proves nothing in either direction.
//
// A ledger is an append-only file of JSON lines. A run begins with its own line, followed by one line for each event of each
// request before it is sent, and one for each answer:
//
//	{"run":"7e57a0c4","started":"2025-11-21T12:00:00Z","seed":7}
//	{"seq":1,"at":"2025-11-21T12:00:01.000001Z","kind":"event","provider":"stripe","key":"evt_7e57a0c4000000001","sha256":"…"}
//	{"seq":1,"status":202,"ns":1234567}
//
// A sender may be killed at any moment: what it had sent by then is in the file, only the last answers may be missing, and the
// last line may be incomplete. The package doesn't depend on how requests are sent, nor on where events are stored.
package ledger
