// Package rebuilds parses stored events again, page by page, with today's definitions. Events that differ are passed to the
// writer of events, in the transaction that moves the cursor; a dry run only stores what would differ.
//
// It must not depend on the content of definitions, or on the pace of the pages.
package rebuilds
