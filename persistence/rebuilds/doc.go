// Package rebuilds reads stored events again, page by page, with the definitions of today: what they say differently is given to
// the writer of events, in the transaction that moves the cursor; of a dry run only what would differ is kept.
//
// It must never know what a definition says, or when the next page comes.
package rebuilds
