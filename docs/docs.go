// Package docs embeds the documentation, so that the console serves the pages of the running version. It must not read them.
package docs

import "embed"

// Pages has the pages for users, such as replay.md.
//
//go:embed *.md
var Pages embed.FS

// Images has the pictures that pages show, such as images/now.webp.
//
//go:embed images/*.webp
var Images embed.FS
