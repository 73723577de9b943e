// Package payloadcodec encrypts what Temporal stores: inputs, results, failures, memos and summaries.
//
// Workflow IDs, search attributes, names, times and the types of failures are never payloads, so it can't hide them. It doesn't
// depend on the content of payloads.
package payloadcodec
