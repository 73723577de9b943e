// Package frame has what the console's pages share: rendering, confirmations, streams and links, the scripts and styles, and the
// login page.
//
// It must not depend on any page's content.
package frame
