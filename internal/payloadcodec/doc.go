// Package payloadcodec encrypts what Temporal keeps: inputs, results, failures, memos and summaries.
//
// Workflow IDs, search attributes, names, times and the types of failures are never payloads, so it cannot hide them. It
// knows nothing of what it encrypts.
package payloadcodec
