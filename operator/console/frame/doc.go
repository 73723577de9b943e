// Package frame is what the pages of the console share: how one is drawn, asked about, followed and led to, the scripts and
// styles beside it, and the page for logging in.
//
// It must never know what a page is about.
package frame
