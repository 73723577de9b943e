// Package ledger is what a sender of webhooks writes down of what it sends and of the answers that it gets, so that it can
// be checked afterwards what became of each event. The discipline is Jepsen's: a request stands in the ledger before it goes
// out, and an answer that never came proves nothing in either direction.
//
// A ledger is a file of JSON lines, only ever appended to. A run begins with a line of its own; then there is one line for
// each event of each request before it is sent, and one for each answer:
//
//	{"run":"7e57a0c4","started":"2025-11-21T12:00:00Z","seed":7}
//	{"seq":1,"at":"2025-11-21T12:00:01.000001Z","kind":"event","provider":"stripe","key":"evt_7e57a0c4000000001","sha256":"…"}
//	{"seq":1,"status":202,"ns":1234567}
//
// A sender may be killed at any moment: what it had sent by then is in the file, only the last answers may be missing, and a
// last line may be cut. It knows nothing of how requests are sent, nor of where events are stored.
package ledger
